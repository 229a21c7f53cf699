//! What a new commit takes over from the Git tree of its first parent because no state holds it: gitlinks, empty folders,
//! the tracked `.gemel` folder, and a root `.gitignore` that was not deleted (git interchange, section 2.2.3).

use super::content::Content;
use super::natives::decoded;
use crate::import::tree::{self, EntryKind};
use crate::object::{ObjectKind, TreeItem, digits, hash_body, tree_body};
use crate::{GitError, Result};
use gemel_object::families::{Change, Operation};
use gemel_object::{Gid, Limits, Mode, OpType, Tree};
use gemel_store::Store;
use gix::ObjectId;
use std::collections::BTreeMap;

/// Names in the root that captures never record.
const METADATA: &str = ".gemel";
const IGNORE: &str = ".gitignore";

/// Digits of the mode, and the object.
pub(super) type Item = (String, ObjectId);

/// Entries by path, with the names that states give them.
pub(super) type Carry = BTreeMap<String, Item>;

/// What the commit with the root tree `root` hands on. `body` answers the bytes of trees that may hold something to be
/// carried; for others `None`.
///
/// # Errors
/// `Damaged`; those of `body`.
pub(super) fn of_git_tree(
    root: ObjectId,
    body: &mut dyn FnMut(&ObjectId) -> Result<Option<Vec<u8>>>,
) -> Result<Carry> {
    let mut carry = Carry::new();
    let mut stack = vec![(String::new(), root)];
    while let Some((path, id)) = stack.pop() {
        let Some(bytes) = body(&id)? else { continue };
        let parsed = tree::parse(&bytes, id.kind()).map_err(|detail| GitError::Damaged {
            oid: id.to_string(),
            at: path.clone(),
            detail,
        })?;
        for entry in &parsed.entries {
            let is_root = path.is_empty();
            let inner = if is_root { entry.name.to_string() } else { format!("{path}/{}", entry.name) };
            let special = is_root && (&*entry.name == METADATA || &*entry.name == IGNORE);
            match entry.kind {
                EntryKind::Content(mode) if special => {
                    carry.insert(inner, (digits(mode).to_owned(), entry.id));
                }
                EntryKind::Content(Mode::Directory) if entry.id.is_empty_tree() => {
                    carry.insert(inner, (digits(Mode::Directory).to_owned(), entry.id));
                }
                EntryKind::Content(Mode::Directory) => stack.push((inner, entry.id)),
                EntryKind::Content(_) => {}
                EntryKind::Gitlink => {
                    carry.insert(inner, ("160000".to_owned(), entry.id));
                }
            }
        }
    }
    Ok(carry)
}

/// Adds what the root of a state holds and no later state may.
///
/// # Errors
/// Those of the store.
pub(super) fn add_of_state(carry: &mut Carry, content: &Content<'_>, root: &Gid) -> Result<()> {
    let bytes = content.store.read(root)?;
    let tree = decoded(root, Tree::decode(&bytes, content.limits))?;
    for name in [METADATA, IGNORE] {
        if let Some(entry) = tree.get(name)
            && let Some(id) = content.names.get(&entry.target)
        {
            carry.insert(name.to_owned(), (digits(entry.mode).to_owned(), *id));
        }
    }
    Ok(())
}

/// Drops what the state occupies, and the ignore file if the change deleted it.
///
/// # Errors
/// Those of the store.
pub(super) fn keep_free(
    carry: &mut Carry,
    content: &Content<'_>,
    root: &Gid,
    change: &Change<'_>,
) -> Result<()> {
    if carry.contains_key(IGNORE) && deletes_ignore_file(content.store, change)? {
        carry.remove(IGNORE);
    }
    let mut dropped = Vec::new();
    for path in carry.keys() {
        if is_occupied(content, root, path)? {
            dropped.push(path.clone());
        }
    }
    for path in dropped {
        carry.remove(&path);
    }
    Ok(())
}

fn deletes_ignore_file(store: &Store, change: &Change<'_>) -> Result<bool> {
    for id in change.operations().iter() {
        let bytes = store.read(&id)?;
        let operation = decoded(&id, Operation::decode(&bytes, &Limits::DEFAULT))?;
        let gone = match operation.op_type() {
            OpType::DeleteFile => operation.subject_path(),
            OpType::RenamePath => operation.from(),
            _ => None,
        };
        if gone == Some(IGNORE) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a state has something at `path`, or a file on the way to it.
fn is_occupied(content: &Content<'_>, root: &Gid, path: &str) -> Result<bool> {
    let mut at = *root;
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        let bytes = content.store.read(&at)?;
        let tree = decoded(&at, Tree::decode(&bytes, content.limits))?;
        match tree.get(name) {
            None => return Ok(false),
            Some(entry) if entry.mode == Mode::Directory && names.peek().is_some() => at = entry.target,
            Some(_) => return Ok(true),
        }
    }
    Ok(true)
}

/// A folder of the tree being made.
struct Folder {
    tree: Option<Gid>,
    items: BTreeMap<String, Item>,
}

/// A Git tree that is to be written: its name and its body.
pub(super) type NewTree = (ObjectId, Vec<u8>);

/// The root tree of a state with `carry` in it: its name, and the bodies of the folders that differ, deepest first.
///
/// # Errors
/// `Absent`; those of the store.
pub(super) fn with(content: &Content<'_>, root: &Gid, carry: &Carry) -> Result<(ObjectId, Vec<NewTree>)> {
    let mut folders: BTreeMap<Vec<&str>, Folder> = BTreeMap::new();
    folders.insert(Vec::new(), Folder { tree: Some(*root), items: BTreeMap::new() });
    for (path, item) in carry {
        let names: Vec<&str> = path.split('/').collect();
        let Some((last, above)) = names.split_last() else { continue };
        for depth in 1..=above.len() {
            let (way, up) =
                (above.get(..depth).unwrap_or_default(), above.get(..depth - 1).unwrap_or_default());
            if folders.contains_key(way) {
                continue;
            }
            let tree = match folders.get(up).and_then(|folder| folder.tree) {
                Some(parent) => {
                    let bytes = content.store.read(&parent)?;
                    let tree = decoded(&parent, Tree::decode(&bytes, content.limits))?;
                    tree.get(way.last().copied().unwrap_or_default()).map(|entry| entry.target)
                }
                None => None,
            };
            folders.insert(way.to_vec(), Folder { tree, items: BTreeMap::new() });
        }
        if let Some(folder) = folders.get_mut(above) {
            folder.items.insert((*last).to_owned(), item.clone());
        }
    }
    let mut ways: Vec<Vec<&str>> = folders.keys().cloned().collect();
    ways.sort_by_key(|way| std::cmp::Reverse(way.len()));
    let (mut bodies, mut name) = (Vec::new(), ObjectId::null(content.format));
    for way in ways {
        let Some(folder) = folders.remove(&way) else { continue };
        let body = body_of(content, &folder)?;
        name = hash_body(content.format, ObjectKind::Tree, &body);
        bodies.push((name, body));
        if let Some((last, above)) = way.split_last()
            && let Some(parent) = folders.get_mut(above)
        {
            parent.items.insert((*last).to_owned(), (digits(Mode::Directory).to_owned(), name));
        }
    }
    Ok((name, bodies))
}

fn body_of(content: &Content<'_>, folder: &Folder) -> Result<Vec<u8>> {
    let bytes = folder.tree.map(|id| Ok::<_, GitError>((id, content.store.read(&id)?))).transpose()?;
    let mut entries: BTreeMap<&str, (&str, ObjectId)> = BTreeMap::new();
    if let Some((id, bytes)) = &bytes {
        for entry in decoded(id, Tree::decode(bytes, content.limits))?.iter() {
            let absent =
                || GitError::Absent { what: entry.target.to_string(), at: format!("{} in {id}", entry.name) };
            let name = match folder.items.contains_key(entry.name) {
                true => continue,
                false => content.names.get(&entry.target).ok_or_else(absent)?,
            };
            entries.insert(entry.name, (digits(entry.mode), *name));
        }
    }
    entries.extend(folder.items.iter().map(|(name, (mode, id))| (&**name, (&**mode, *id))));
    let mut items: Vec<TreeItem<'_>> =
        entries.iter().map(|(name, (mode, id))| TreeItem { name: name.as_bytes(), mode, id }).collect();
    let mut body = Vec::new();
    tree_body(&mut items, &mut body);
    Ok(body)
}
