//! What two trees differ in, by path (workflow, sections 4.4 and 17).

use crate::content::checkout::{Alike, may_collide};
use crate::content::error::{ContentError, Result};
use crate::content::scan::decode_tree;
use gemel_object::families::State;
use gemel_object::{Entry, Family, Gid, Limits, Mode, Object, ObjectError, Tree, blob_envelope};
use gemel_store::Store;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A file or link on one side: its mode, never `Directory`, and its blob.
pub type Leaf = (Mode, Gid);

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathDelta {
    /// Canonical path.
    pub path: String,
    /// What the first side holds there.
    pub before: Option<Leaf>,
    /// What the second side holds there.
    pub after: Option<Leaf>,
}

/// A moved file: positions in the list of deltas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The deletion.
    pub from: usize,
    /// The creation.
    pub to: usize,
}

/// Where objects are read.
pub trait ObjectSource: Sync {
    /// The whole envelope of an object.
    ///
    /// # Errors
    /// As [`Store::read`].
    fn read_object(&self, id: &Gid) -> gemel_store::Result<Vec<u8>>;
}

impl ObjectSource for Store {
    fn read_object(&self, id: &Gid) -> gemel_store::Result<Vec<u8>> {
        self.read(id)
    }
}

/// Files and links that differ between two trees, by path. Equal subtrees are not read.
///
/// # Errors
/// `Store`, `CorruptObject`; `Limit` for trees that expand without end.
pub fn delta_trees(
    source: &dyn ObjectSource,
    before: Option<Gid>,
    after: Option<Gid>,
) -> Result<Vec<PathDelta>> {
    Ok(compare_trees(source, before, after, Watch::Nothing)?.deltas)
}

/// The root tree of a state.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn root_tree(store: &Store, state: &Gid) -> Result<Gid> {
    let envelope = store.read(state)?;
    let state_view = State::decode(&envelope, &Limits::DEFAULT).map_err(|error| corrupt(state, &error))?;
    Ok(state_view.root_tree())
}

/// What lies at `path` below a tree: a file, a link or a folder.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn entry_at(store: &Store, tree: Gid, path: &str) -> Result<Option<Leaf>> {
    if !gemel_object::is_canonical_path(path.as_bytes()) {
        return Ok(None);
    }
    let mut found = (Mode::Directory, tree);
    for segment in path.split('/') {
        if found.0 != Mode::Directory {
            return Ok(None);
        }
        let envelope = store.read(&found.1)?;
        let tree = Tree::decode(&envelope, &Limits::DEFAULT).map_err(|error| corrupt(&found.1, &error))?;
        match tree.get(segment) {
            Some(entry) => found = (entry.mode, entry.target),
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// The body of a blob. For content of any size there is [`Store::stream_blob`].
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn read_blob(store: &Store, id: &Gid) -> Result<Vec<u8>> {
    let mut envelope = store.read(id)?;
    let object = Object::parse(&envelope, &Limits::DEFAULT).map_err(|error| corrupt(id, &error))?;
    if object.family() != Family::Blob {
        return Err(ContentError::CorruptObject { id: *id, detail: "not a blob".to_owned() });
    }
    let body_at = object.body_offset();
    envelope.drain(..body_at);
    Ok(envelope)
}

fn corrupt(id: &Gid, error: &ObjectError) -> ContentError {
    ContentError::CorruptObject { id: *id, detail: error.to_string() }
}

/// Paths a comparison may look at.
const MAX_PATHS: u64 = 10_000_000;
/// Bytes of all paths together.
const MAX_PATH_BYTES: u64 = 1 << 30;
/// Bytes of one path.
const MAX_PATH_LEN: u64 = 1 << 20;

/// What two trees differ in.
#[derive(Debug, Default)]
pub(crate) struct TreeDelta {
    /// Files and links, by path.
    pub(crate) deltas: Vec<PathDelta>,
    /// Directories that differ and are empty on the second side, by path. Only with [`Watch::Names`].
    pub(crate) empty_dirs: Vec<String>,
    /// Directories that differ and whose names on the second side some file system may not tell apart. Only with
    /// [`Watch::Names`].
    pub(crate) alike: Vec<Alike>,
}

/// What a comparison looks at besides files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Nothing.
    Nothing,
    /// What a checkout has to know of directories.
    Names,
}

/// Two directories to be compared.
struct Pair {
    path: String,
    before: Option<Gid>,
    after: Option<Gid>,
}

/// What comparing two directories gave.
#[derive(Default)]
struct Compared {
    found: TreeDelta,
    deeper: Vec<Pair>,
}

/// As [`delta_trees`], with what `watch` asks for. Level by level, all cores, no recursion; what trees that hold each
/// other many times expand to is bounded.
///
/// # Errors
/// As [`delta_trees`].
pub(crate) fn compare_trees(
    source: &dyn ObjectSource,
    before: Option<Gid>,
    after: Option<Gid>,
    watch: Watch,
) -> Result<TreeDelta> {
    let mut all = TreeDelta::default();
    let spent = Spent::default();
    let mut level = vec![Pair { path: String::new(), before, after }];
    while !level.is_empty() {
        let mut next = Vec::new();
        // In slices, of which equal pairs are read once.
        for slice in level.chunks_mut(SLICE) {
            slice.sort_unstable_by_key(|pair| (pair.before, pair.after));
            let groups: Vec<&[Pair]> =
                slice.chunk_by(|a, b| (a.before, a.after) == (b.before, b.after)).collect();
            let compared: Vec<Compared> = groups
                .par_iter()
                .map(|group| compare_group(source, group, watch, &spent))
                .collect::<Result<_>>()?;
            for compared in compared {
                all.deltas.extend(compared.found.deltas);
                all.empty_dirs.extend(compared.found.empty_dirs);
                all.alike.extend(compared.found.alike);
                next.extend(compared.deeper);
            }
        }
        level = next;
    }
    all.deltas.par_sort_unstable_by(|a, b| a.path.cmp(&b.path));
    all.empty_dirs.sort_unstable();
    Ok(all)
}

/// Directories compared before the limits are looked at.
const SLICE: usize = 4096;

fn within(what: &str, found: u64, limit: u64) -> Result<()> {
    if found > limit { Err(ContentError::Limit { what: what.to_owned(), found, limit }) } else { Ok(()) }
}

/// Compares two directories that stand beside each other at one or more paths.
fn compare_group(source: &dyn ObjectSource, group: &[Pair], watch: Watch, spent: &Spent) -> Result<Compared> {
    let mut compared = Compared::default();
    let Some(first) = group.first().filter(|pair| pair.before != pair.after) else { return Ok(compared) };
    let longest = group.iter().map(|pair| pair.path.len()).max().unwrap_or(0);
    within("length of a path", longest as u64, MAX_PATH_LEN)?;
    let read = |id: Option<Gid>| -> Result<Option<(Gid, Vec<u8>)>> {
        id.map(|id| Ok((id, source.read_object(&id)?))).transpose()
    };
    let (before, after) = (read(first.before)?, read(first.after)?);
    if watch == Watch::Names
        && let Some((id, envelope)) = &after
    {
        let tree = decode_tree(id, envelope)?;
        group.iter().for_each(|pair| compared.look_at_names(&pair.path, &tree));
    }
    let (before, after) = (entries_of(before.as_ref())?, entries_of(after.as_ref())?);
    spent.add(group, before.len() + after.len())?;
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return Ok(compared),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => one.name.as_bytes().cmp(other.name.as_bytes()),
        };
        let old = if order == Ordering::Greater { None } else { before.next() };
        let new = if order == Ordering::Less { None } else { after.next() };
        group.iter().for_each(|pair| compared.note(&pair.path, old, new));
    }
}

fn entries_of(read: Option<&(Gid, Vec<u8>)>) -> Result<Vec<Entry<'_>>> {
    let Some((id, envelope)) = read else { return Ok(Vec::new()) };
    Ok(decode_tree(id, envelope)?.iter().collect())
}

/// What a comparison has met so far, counted before it is held.
#[derive(Default)]
struct Spent {
    paths: AtomicU64,
    path_bytes: AtomicU64,
}

impl Spent {
    /// Counts `entries` at each of some places.
    fn add(&self, group: &[Pair], entries: usize) -> Result<()> {
        let entries = entries as u64;
        let paths = entries.saturating_mul(group.len() as u64);
        let bytes = group.iter().map(|pair| pair.path.len() as u64).fold(0, u64::saturating_add);
        let paths = self.paths.fetch_add(paths, Relaxed).saturating_add(paths);
        within("paths in a tree", paths, MAX_PATHS)?;
        let bytes = bytes.saturating_mul(entries);
        let bytes = self.path_bytes.fetch_add(bytes, Relaxed).saturating_add(bytes);
        within("bytes of paths in a tree", bytes, MAX_PATH_BYTES)
    }
}

impl Compared {
    /// Notes what a checkout has to know of a directory.
    fn look_at_names(&mut self, path: &str, tree: &Tree<'_>) {
        if tree.is_empty() && !path.is_empty() {
            self.found.empty_dirs.push(path.to_owned());
        }
        if may_collide(tree.iter().map(|entry| entry.name)) {
            let names = tree.iter().map(|entry| entry.name.to_owned()).collect();
            self.found.alike.push(Alike { dir: path.to_owned(), names });
        }
    }

    /// Notes what one name is on both sides.
    fn note(&mut self, dir: &str, old: Option<&Entry<'_>>, new: Option<&Entry<'_>>) {
        let Some(name) = old.or(new).map(|entry| entry.name) else { return };
        let tree = |entry: &&Entry<'_>| entry.mode == Mode::Directory;
        let leaf = |entry: Option<&Entry<'_>>| {
            entry.filter(|entry| !tree(entry)).map(|entry| (entry.mode, entry.target))
        };
        let (before, after) = (leaf(old), leaf(new));
        let below = |entry: Option<&Entry<'_>>| entry.filter(tree).map(|entry| entry.target);
        let (tree_before, tree_after) = (below(old), below(new));
        let path = || if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
        if before != after {
            self.found.deltas.push(PathDelta { path: path(), before, after });
        }
        if tree_before != tree_after {
            self.deeper.push(Pair { path: path(), before: tree_before, after: tree_after });
        }
    }
}

/// Pairs deleted and created paths of the same mode and blob: equal base names first, then path order; empty files
/// never (workflow, section 4.4). Ascending by target.
pub fn pair_renames(deltas: &[PathDelta]) -> Vec<Rename> {
    let empty = blob_envelope(&[], &Limits::DEFAULT).ok().map(|blob| blob.id);
    let mut groups: BTreeMap<Leaf, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (position, delta) in deltas.iter().enumerate() {
        match (delta.before, delta.after) {
            (Some(gone), None) if Some(gone.1) != empty => groups.entry(gone).or_default().0.push(position),
            (None, Some(new)) if Some(new.1) != empty => groups.entry(new).or_default().1.push(position),
            _ => {}
        }
    }
    let mut renames = Vec::new();
    for (mut gone, mut new) in groups.into_values().filter(|(gone, new)| !gone.is_empty() && !new.is_empty())
    {
        gone.sort_by(|a, b| deltas[*a].path.cmp(&deltas[*b].path));
        new.sort_by(|a, b| deltas[*a].path.cmp(&deltas[*b].path));
        pair_group(deltas, gone, new, &mut renames);
    }
    renames.sort_by(|a, b| deltas[a.to].path.cmp(&deltas[b.to].path));
    renames
}

/// Pairs the paths of one content, both lists by path.
fn pair_group(deltas: &[PathDelta], gone: Vec<usize>, new: Vec<usize>, renames: &mut Vec<Rename>) {
    let mut by_name: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
    for to in &new {
        by_name.entry(base_name(&deltas[*to].path)).or_default().push_back(*to);
    }
    let mut taken = BTreeSet::new();
    let mut left = Vec::new();
    for from in gone {
        match by_name.get_mut(base_name(&deltas[from].path)).and_then(VecDeque::pop_front) {
            Some(to) => {
                taken.insert(to);
                renames.push(Rename { from, to });
            }
            None => left.push(from),
        }
    }
    let rest = new.into_iter().filter(|to| !taken.contains(to));
    renames.extend(left.into_iter().zip(rest).map(|(from, to)| Rename { from, to }));
}

fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(content: &str) -> Leaf {
        (Mode::File, blob_envelope(content.as_bytes(), &Limits::DEFAULT).unwrap().id)
    }

    fn renamed(list: &[(&str, &str, bool)]) -> Vec<(String, String)> {
        let delta = |&(path, content, new): &(&str, &str, bool)| {
            let leaf = Some(blob(content));
            let (before, after) = if new { (None, leaf) } else { (leaf, None) };
            PathDelta { path: path.to_owned(), before, after }
        };
        let deltas: Vec<_> = list.iter().map(delta).collect();
        let text = |at: usize| deltas[at].path.clone();
        pair_renames(&deltas).iter().map(|rename| (text(rename.from), text(rename.to))).collect()
    }

    #[test]
    fn equal_names_first_then_path_order_and_empty_files_never() {
        let pairs = renamed(&[
            ("a/one", "x", false),
            ("a/two", "x", false),
            ("b/zwei", "x", true),
            ("c/one", "x", true),
            ("gone", "", false),
            ("new", "", true),
            ("odd", "y", false),
        ]);
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(pairs, [pair("a/two", "b/zwei"), pair("a/one", "c/one")]);
    }

    #[test]
    fn five_renames_are_five() {
        let mut list = Vec::new();
        for (from, content) in [("e", "1"), ("d", "2"), ("c", "3"), ("b", "4"), ("a", "5")] {
            list.push((from, content, false));
        }
        for (to, content) in [("v", "3"), ("w", "1"), ("x", "5"), ("y", "2"), ("z", "4")] {
            list.push((to, content, true));
        }
        assert_eq!(renamed(&list).len(), 5);
    }
}
