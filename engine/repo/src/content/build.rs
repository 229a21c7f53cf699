//! Trees out of what a walk found, from the deepest level up, each level on all cores.

use crate::content::delta::ObjectSource;
use crate::content::disk;
use crate::content::error::{ContentError, Result};
use crate::content::scan::{CachedDir, Content, Leaf, Leaves, Node, Scan};
use gemel_object::{Encoded, Gid, Limits, Mode, ObjectError, TreeBuilder};
use gemel_store::{NewObject, Writer};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Mutex;

/// Where trees go.
pub(crate) trait TreeSink: Sync {
    /// Takes a tree; `base` is the one recorded at the same place.
    ///
    /// # Errors
    /// Those of the store.
    fn tree(&self, tree: Encoded, base: Option<Gid>) -> Result<()>;
}

impl TreeSink for Writer<'_> {
    fn tree(&self, tree: Encoded, base: Option<Gid>) -> Result<()> {
        self.put(NewObject { id: tree.id, bytes: tree.bytes, base: base.filter(|base| *base != tree.id) })?;
        Ok(())
    }
}

/// Keeps trees that are not recorded, so that they can be compared without being stored.
pub(crate) struct Overlay<'s> {
    below: &'s dyn ObjectSource,
    trees: Mutex<HashMap<Gid, Vec<u8>>>,
}

impl<'s> Overlay<'s> {
    /// Trees over those of `below`.
    pub(crate) fn new(below: &'s dyn ObjectSource) -> Overlay<'s> {
        Overlay { below, trees: Mutex::new(HashMap::new()) }
    }

    fn trees(&self) -> std::sync::MutexGuard<'_, HashMap<Gid, Vec<u8>>> {
        self.trees.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl TreeSink for Overlay<'_> {
    fn tree(&self, tree: Encoded, base: Option<Gid>) -> Result<()> {
        if base != Some(tree.id) {
            self.trees().insert(tree.id, tree.bytes);
        }
        Ok(())
    }
}

impl ObjectSource for Overlay<'_> {
    fn read_object(&self, id: &Gid) -> gemel_store::Result<Vec<u8>> {
        let held = self.trees().get(id).cloned();
        held.map_or_else(|| self.below.read_object(id), Ok)
    }
}

/// Makes the trees of all directories that are not settled, and answers the root's.
///
/// # Errors
/// `Limit` and `Object` naming the directory; those of the sink.
pub(crate) fn build(scan: &mut Scan, sink: &dyn TreeSink, limits: &Limits) -> Result<Gid> {
    let mut root = None;
    for level in scan.levels.clone().into_iter().rev() {
        let trees: Vec<Option<Gid>> = level
            .clone()
            .into_par_iter()
            .map_init(TreeBuilder::new, |builder, number| match scan.nodes[number].settled {
                true => Ok(scan.nodes[number].tree),
                false => tree_of(scan, number, builder, sink, limits),
            })
            .collect::<Result<_>>()?;
        for (number, tree) in level.zip(trees) {
            scan.nodes[number].tree = tree;
            root = tree;
        }
    }
    root.ok_or_else(|| ContentError::Unstable { path: ".".to_owned() })
}

/// The tree of one directory whose subdirectories have theirs; none without content, except at the root.
fn tree_of(
    scan: &Scan,
    number: usize,
    builder: &mut TreeBuilder,
    sink: &dyn TreeSink,
    limits: &Limits,
) -> Result<Option<Gid>> {
    let failed = |source| object_failure(&disk::text(&scan.path(number)), source);
    let node = &scan.nodes[number];
    let empty = Leaves::default();
    let leaves = if let Content::Fresh(leaves) = &node.content { leaves } else { &empty };
    builder.clear();
    let mut subdirs = scan.nodes[node.children.clone()].iter().filter_map(with_tree).peekable();
    let files = leaves.items().iter().filter_map(|leaf| Some((leaves.name(leaf), leaf.mode(), leaf.blob?)));
    for (name, mode, target) in files {
        while let Some((name, tree)) = subdirs.next_if(|(subdir, _)| *subdir < name) {
            push(builder, name, Mode::Directory, &tree).map_err(failed)?;
        }
        push(builder, name, mode, &target).map_err(failed)?;
    }
    for (name, tree) in subdirs {
        push(builder, name, Mode::Directory, &tree).map_err(failed)?;
    }
    if builder.is_empty() && number != 0 {
        return Ok(None);
    }
    let tree = builder.finish(limits).map_err(failed)?;
    let id = tree.id;
    sink.tree(tree, node.recorded)?;
    Ok(Some(id))
}

fn with_tree(node: &Node) -> Option<(&[u8], Gid)> {
    Some((node.name.as_slice(), node.tree?))
}

fn push(builder: &mut TreeBuilder, name: &[u8], mode: Mode, target: &Gid) -> Result<(), ObjectError> {
    let text =
        std::str::from_utf8(name).map_err(|_| ObjectError::InvalidTreeName { index: builder.len() })?;
    builder.push(text, mode, target)
}

/// An object that could not be made for `path`: over a limit, or against a rule.
pub(crate) fn object_failure(path: &str, source: ObjectError) -> ContentError {
    let place = if path.is_empty() { "." } else { path };
    match source {
        ObjectError::LimitExceeded { limit, max, found, .. } => {
            ContentError::Limit { what: format!("{} of {place}", limit.name()), found, limit: max }
        }
        ObjectError::RefCountExceeded { max, found } => {
            ContentError::Limit { what: format!("max_refs_per_object of {place}"), found, limit: max }
        }
        source => ContentError::Object { path: place.to_owned(), source },
    }
}

/// What [`settle`] asks of a cached tree.
pub(crate) trait Stored {
    /// Whether a directory of the cache needs no tree made: `recorded` is the one recorded at its place.
    ///
    /// # Errors
    /// Those of the store.
    fn needs_nothing(&self, cached: &CachedDir<'_>, recorded: Option<Gid>) -> Result<bool>;
    /// Whether every known file of a directory that needs work may keep its blob.
    ///
    /// # Errors
    /// Those of the store.
    fn vouches(&self, cached: &CachedDir<'_>) -> Result<bool>;
    /// Whether a known file may keep its blob.
    ///
    /// # Errors
    /// Those of the store.
    fn holds(&self, leaf: &Leaf) -> Result<bool>;
}

/// Finds the directories that keep the tree the stat cache knows. The others get lists of their own, in which files
/// that the cache knows and the store does not are to be read: a cache may be older or newer than the store.
///
/// # Errors
/// Those of the store.
pub(crate) fn settle(scan: &mut Scan, stored: &dyn Stored) -> Result<()> {
    for number in 0..scan.nodes.len() {
        let node = &scan.nodes[number];
        let cached = node.cached.and_then(|cached| scan.cached(cached));
        let inherited = number != 0 && scan.nodes[node.parent].settled;
        let settled = inherited
            || match (&cached, node.clean) {
                (Some(cached), true) => stored.needs_nothing(cached, node.recorded)?,
                _ => false,
            };
        if settled {
            let tree = cached.and_then(|cached| cached.tree());
            let node = &mut scan.nodes[number];
            (node.settled, node.tree) = (true, tree);
            continue;
        }
        let vouched = cached.as_ref().map_or(Ok(true), |cached| stored.vouches(cached))?;
        let mut leaves = match &node.content {
            Content::Cached(_) => cached.map_or_else(Leaves::default, |cached| copied(&cached)),
            Content::Fresh(_) => match &mut scan.nodes[number].content {
                Content::Fresh(leaves) => std::mem::take(leaves),
                Content::Cached(_) => continue,
            },
        };
        if !vouched {
            leaves.forget_unless(|leaf| stored.holds(leaf))?;
        }
        scan.nodes[number].content = Content::Fresh(leaves);
    }
    Ok(())
}

/// The list of a cached directory, all known.
fn copied(cached: &CachedDir<'_>) -> Leaves {
    let mut leaves = Leaves::default();
    for entry in cached.entries() {
        leaves.push_known(entry.name(), entry.stat(), entry.blob());
    }
    leaves
}
