//! What a walk found: directories in the order of the walk, each with its files and links.

use super::cache::DirFlags;
use crate::content::disk::Stat;
use crate::content::error::Result;
use crate::content::ignore::RuleDigest;
use gemel_object::{Gid, Mode};
use std::ops::Range;

/// A directory.
#[derive(Debug)]
pub(crate) struct Node {
    /// Its parent; the root is its own.
    pub(crate) parent: usize,
    /// Its name; empty for the root.
    pub(crate) name: Vec<u8>,
    /// Its stat, taken before it was listed.
    pub(crate) stat: Stat,
    /// Digest of the rules that apply in it.
    pub(crate) rules: RuleDigest,
    /// What else is known.
    pub(crate) flags: DirFlags,
    /// The tree the recorded state has there.
    pub(crate) recorded: Option<Gid>,
    /// Its number in the stat cache.
    pub(crate) cached: Option<usize>,
    /// Its files and links.
    pub(crate) content: Content,
    /// Its subdirectories.
    pub(crate) children: Range<usize>,
    /// Whether nothing in it or below differs from the stat cache.
    pub(crate) clean: bool,
    /// Whether `tree` is that of the stat cache and nothing has to be made for it or below.
    pub(crate) settled: bool,
    /// Its tree, once known; none without content.
    pub(crate) tree: Option<Gid>,
}

/// The files and links of a directory.
#[derive(Debug)]
pub(crate) enum Content {
    /// Exactly those of this directory of the stat cache.
    Cached(usize),
    /// These.
    Fresh(Leaves),
}

/// Files and links of one directory, ascending by name.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    names: Vec<u8>,
    items: Vec<Leaf>,
    /// Those still to be read: position, and a stored blob they probably resemble.
    pub(crate) pending: Vec<(usize, Option<Gid>)>,
}

/// A file or link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    name_at: usize,
    name_end: usize,
    /// Its stat, taken when it was listed.
    pub(crate) stat: Stat,
    /// Its content, once known; none if it was gone when it was to be read.
    pub(crate) blob: Option<Gid>,
    /// Whether `blob` is what `stat` stands for.
    pub(crate) settled: bool,
}

impl Leaf {
    /// Its mode in a tree.
    pub(crate) fn mode(&self) -> Mode {
        self.stat.kind.mode().unwrap_or(Mode::File)
    }
}

impl Leaves {
    /// Adds a file or link whose content is known.
    pub(crate) fn push_known(&mut self, name: &[u8], stat: Stat, blob: Gid) {
        self.push(name, stat, Some(blob));
    }

    /// Adds a file or link that has to be read.
    pub(crate) fn push_pending(&mut self, name: &[u8], stat: Stat, base: Option<Gid>) {
        self.pending.push((self.items.len(), base));
        self.push(name, stat, None);
    }

    fn push(&mut self, name: &[u8], stat: Stat, blob: Option<Gid>) {
        let name_at = self.names.len();
        self.names.extend_from_slice(name);
        self.items.push(Leaf { name_at, name_end: self.names.len(), stat, blob, settled: true });
    }

    /// The name of `leaf`, one of these.
    pub(crate) fn name(&self, leaf: &Leaf) -> &[u8] {
        self.names.get(leaf.name_at..leaf.name_end).unwrap_or_default()
    }

    /// All of them.
    pub(crate) fn items(&self) -> &[Leaf] {
        &self.items
    }

    /// One of them.
    pub(crate) fn item_mut(&mut self, position: usize) -> Option<&mut Leaf> {
        self.items.get_mut(position)
    }

    /// Makes known files pending again unless `keeps` says otherwise.
    ///
    /// # Errors
    /// Those of `keeps`.
    pub(crate) fn forget_unless(&mut self, keeps: impl Fn(&Leaf) -> Result<bool>) -> Result<()> {
        for (position, leaf) in self.items.iter_mut().enumerate() {
            if leaf.blob.is_some() && !keeps(leaf)? {
                leaf.blob = None;
                self.pending.push((position, None));
            }
        }
        Ok(())
    }

    /// Gives pending files the blob that `blob_of` knows for their name and stat.
    pub(crate) fn take_known(&mut self, blob_of: impl Fn(&[u8], &Stat) -> Option<Gid>) {
        let (names, items) = (&self.names, &mut self.items);
        self.pending.retain(|(position, _)| {
            let Some(leaf) = items.get_mut(*position) else { return false };
            let name = names.get(leaf.name_at..leaf.name_end).unwrap_or_default();
            leaf.blob = blob_of(name, &leaf.stat);
            leaf.blob.is_none()
        });
    }
}

/// The path of directory `number`, below the root.
pub(crate) fn path_of(nodes: &[Node], number: usize) -> Vec<u8> {
    path_to(nodes, number, &[])
}

/// The path of `name` in directory `number`; that of the directory itself when there is no name.
pub(crate) fn path_to(nodes: &[Node], number: usize, name: &[u8]) -> Vec<u8> {
    let chain =
        || std::iter::successors(Some(number), |&at| Some(nodes[at].parent)).take_while(|&at| at != 0);
    let len = chain().map(|at| nodes[at].name.len() + 1).sum::<usize>() + name.len();
    let mut path = vec![0; len];
    let mut end = len;
    let mut put = |part: &[u8]| {
        path[end - part.len()..end].copy_from_slice(part);
        end -= part.len();
    };
    put(name);
    for at in chain() {
        // After the last name stands a slash only when another follows.
        if at != number || !name.is_empty() {
            put(b"/");
        }
        put(&nodes[at].name);
    }
    path.drain(..end);
    path
}
