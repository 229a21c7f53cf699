//! What stands where a checkout wants to write, besides the content it knows of: ignored files, configuration, nested
//! repositories, links in place of directories.

use super::plan::{Step, by_dir, leaf};
use crate::content::delta::Leaf;
use crate::content::disk::{self, Dir, Kind, Stat};
use crate::content::error::{ContentError, Result};
use crate::content::read::{HashOnly, Reader};
use gemel_object::{Limits, blob_header};
use gemel_store::Store;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::Path;

/// What stands at a path to be written.
#[derive(Debug)]
pub(super) enum Standing {
    /// Exactly what would be written.
    Same,
    /// Another file, link or special file.
    Leaf(Stat),
    /// No directory where one is needed: at this path.
    Above(String),
    /// A directory.
    Tree {
        /// Files in it that are no content.
        leftovers: Vec<String>,
        /// Repository metadata in it.
        metadata: Vec<String>,
    },
}

/// Looks for what is in the way.
pub(super) struct InTheWay<'a> {
    pub(super) root: &'a Dir,
    pub(super) target: &'a Path,
    pub(super) store: &'a Store,
    pub(super) limits: &'a Limits,
    /// Paths that are removed anyway.
    pub(super) gone: &'a BTreeSet<String>,
    /// Their inodes: where names are folded, what is to be removed can be met under the name to be written.
    pub(super) gone_inodes: &'a HashSet<u64>,
}

/// Files named as being in the way of one path; to refuse, these are enough.
const MAX_LEFTOVERS: usize = 1000;

impl InTheWay<'_> {
    /// What stands where nothing was known to stand, by position in `write`.
    pub(super) fn look(&self, write: &[String], steps: &[Step]) -> Result<Vec<(usize, Standing)>> {
        let unknown: Vec<usize> = (0..write.len()).filter(|&at| steps[at].replaces.is_none()).collect();
        let groups = by_dir(unknown.iter().map(|&at| write[at].as_str()));
        let found: Vec<Vec<(usize, Standing)>> = groups
            .par_iter()
            .map(|(dir, group)| {
                let group: Vec<usize> = group.iter().map(|&at| unknown[at]).collect();
                self.look_in_one(dir, &group, write, steps)
            })
            .collect::<Result<_>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The same for paths of one directory.
    fn look_in_one(
        &self,
        path: &str,
        group: &[usize],
        write: &[String],
        steps: &[Step],
    ) -> Result<Vec<(usize, Standing)>> {
        let Some(&first) = group.first() else { return Ok(Vec::new()) };
        let dir = match self.root.beneath(path.as_bytes()) {
            Ok(dir) => dir,
            // Everything above is a directory, up to one that is not there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) if disk::is_absent(&error) => {
                let blocked = self.blocked_at(path)?.filter(|above| !self.gone.contains(above));
                return Ok(blocked.map(|above| (first, Standing::Above(above))).into_iter().collect());
            }
            Err(error) => return Err(self.failed("open", path, error)),
        };
        let mut found = Vec::new();
        for &at in group {
            let whole = &write[at];
            let name = whole.get(path.len()..).unwrap_or_default().trim_start_matches('/').as_bytes();
            let stat = dir.stat(name).map_err(|error| self.failed("stat", whole, error))?;
            let Some(stat) = stat else { continue };
            if stat.kind.is_leaf() && self.gone_inodes.contains(&stat.ino) {
                continue;
            }
            let standing = match stat.kind {
                Kind::Directory => self.tree(whole)?,
                _ if self.is_same(&dir, name, path, &stat, leaf(&steps[at]))? => Standing::Same,
                _ => Standing::Leaf(stat),
            };
            found.push((at, standing));
        }
        Ok(found)
    }

    /// The first path at or above `path` that is no directory.
    fn blocked_at(&self, path: &str) -> Result<Option<String>> {
        let mut base = self.root.beneath(b"").map_err(|error| self.failed("open", "", error))?;
        let mut end = 0;
        for name in path.split('/') {
            end += name.len() + usize::from(end > 0);
            let so_far = path.get(..end).unwrap_or(path);
            match base.stat(name.as_bytes()).map_err(|error| self.failed("stat", so_far, error))? {
                None => return Ok(None),
                Some(stat) if stat.kind != Kind::Directory => return Ok(Some(so_far.to_owned())),
                Some(_) => {
                    base =
                        base.beneath(name.as_bytes()).map_err(|error| self.failed("open", so_far, error))?;
                }
            }
        }
        Ok(None)
    }

    /// What is in a directory that a file shall replace, apart from what is removed anyway.
    fn tree(&self, path: &str) -> Result<Standing> {
        let (mut leftovers, mut metadata) = (Vec::new(), Vec::new());
        let mut open = vec![path.as_bytes().to_vec()];
        while let Some(at) = open.pop() {
            let listed = self.root.beneath(&at).and_then(|dir| dir.list().map(|listing| (dir, listing)));
            let (dir, listing) = match listed {
                Ok(listed) => listed,
                Err(error) if disk::is_absent(&error) => continue,
                Err(error) => return Err(self.failed("list", &disk::text(&at), error)),
            };
            for (name, hint) in listing.iter() {
                let whole = disk::join(&at, name);
                let shown = disk::text(&whole);
                if matches!(name, b".git" | b".gemel") {
                    metadata.push(shown);
                } else if dir.is_dir(name, hint).map_err(|error| self.failed("stat", &shown, error))? {
                    open.push(whole);
                } else if !self.gone.contains(&shown) && leftovers.len() < MAX_LEFTOVERS {
                    leftovers.push(shown);
                }
            }
        }
        Ok(Standing::Tree { leftovers, metadata })
    }

    /// Whether a file or link is already what would be written.
    fn is_same(&self, dir: &Dir, name: &[u8], path: &str, stat: &Stat, wanted: Leaf) -> Result<bool> {
        let limits = self.limits;
        if stat.kind.mode() != Some(wanted.0) {
            return Ok(false);
        }
        let Ok(header) = blob_header(stat.size, limits) else { return Ok(false) };
        if self.store.len_bytes(&wanted.1)? != header.envelope_len() {
            return Ok(false);
        }
        let reader = Reader { dir, name, path: path.as_bytes(), limits };
        let read = reader.read(stat, None, &HashOnly)?;
        Ok(read.is_some_and(|content| content.blob == wanted.1))
    }

    fn failed(&self, op: &'static str, path: &str, source: io::Error) -> ContentError {
        ContentError::Io { op, path: disk::shown(self.target, path.as_bytes()), source }
    }
}
