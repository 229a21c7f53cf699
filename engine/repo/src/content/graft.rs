//! A tree with some paths made different, without a directory of files: only trees above those paths are read.

use crate::content::build::{TreeSink, object_failure};
use crate::content::delta::{Leaf, ObjectSource};
use crate::content::error::Result;
use crate::content::scan::decode_tree;
use gemel_object::{Gid, Limits, Mode, TreeBuilder};
use std::collections::BTreeMap;

/// Entries of a directory by name.
pub(crate) type Entries = BTreeMap<String, (Mode, Gid)>;

/// The entries of a tree; none without one.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn entries(source: &dyn ObjectSource, tree: Option<Gid>) -> Result<Entries> {
    let Some(id) = tree else { return Ok(Entries::new()) };
    let envelope = source.read_object(&id)?;
    let tree = decode_tree(&id, &envelope)?;
    Ok(tree.iter().map(|entry| (entry.name.to_owned(), (entry.mode, entry.target))).collect())
}

/// A directory above an edited path.
struct Dir {
    entries: Entries,
    tree: Option<Gid>,
}

/// `base` with every path of `edits` as it says: a file or link, or nothing. Directories that lose all content go. The
/// caller sees to it that no path is both a file and a directory. Answers the root tree.
///
/// # Errors
/// `Store`, `CorruptObject`; `Limit` and `Object` naming the directory; those of the sink.
pub(crate) fn graft(
    source: &dyn ObjectSource,
    base: Option<Gid>,
    edits: &BTreeMap<String, Option<Leaf>>,
    sink: &dyn TreeSink,
    limits: &Limits,
) -> Result<Gid> {
    let mut dirs: BTreeMap<(usize, String), Dir> = BTreeMap::new();
    dirs.insert((0, String::new()), Dir { entries: entries(source, base)?, tree: base });
    for path in edits.keys() {
        let slashes = path.match_indices('/').map(|(at, _)| at);
        for (depth, at) in slashes.enumerate() {
            let key = (depth + 1, path.get(..at).unwrap_or_default().to_owned());
            if dirs.contains_key(&key) {
                continue;
            }
            let (above, name) = key.1.rsplit_once('/').unwrap_or(("", &key.1));
            let entry = dirs.get(&(depth, above.to_owned())).and_then(|dir| dir.entries.get(name));
            let tree = entry.filter(|(mode, _)| *mode == Mode::Directory).map(|(_, id)| *id);
            dirs.insert(key, Dir { entries: entries(source, tree)?, tree });
        }
    }
    let mut files: BTreeMap<&str, Vec<(&str, Option<Leaf>)>> = BTreeMap::new();
    for (path, leaf) in edits {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        files.entry(dir).or_default().push((name, *leaf));
    }
    let mut builder = TreeBuilder::new();
    // The deepest first, so that a directory finds those in it finished.
    while let Some(((depth, path), mut dir)) = dirs.pop_last() {
        for (name, leaf) in files.get(path.as_str()).into_iter().flatten() {
            match leaf {
                Some(leaf) => drop(dir.entries.insert((*name).to_owned(), *leaf)),
                None if dir.entries.get(*name).is_some_and(|(mode, _)| *mode != Mode::Directory) => {
                    dir.entries.remove(*name);
                }
                None => {}
            }
        }
        let tree = if dir.entries.is_empty() && depth > 0 {
            None
        } else {
            builder.clear();
            let failed = |source| object_failure(&path, source);
            for (name, (mode, target)) in &dir.entries {
                builder.push(name, *mode, target).map_err(failed)?;
            }
            let tree = builder.finish(limits).map_err(failed)?;
            let id = tree.id;
            sink.tree(tree, dir.tree)?;
            Some(id)
        };
        let Some(above) = depth.checked_sub(1) else {
            if let Some(root) = tree {
                return Ok(root);
            }
            break;
        };
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if let Some(parent) = dirs.get_mut(&(above, parent.to_owned())) {
            match tree {
                Some(tree) => drop(parent.entries.insert(name.to_owned(), (Mode::Directory, tree))),
                None if dir.tree.is_some() => drop(parent.entries.remove(name)),
                None => {}
            }
        }
    }
    // Not reached: the root is always there and always has a tree.
    Err(crate::content::ContentError::Unstable { path: ".".to_owned() })
}
