//! What each commit changed, and where each tree and file was first met: one comparison with the first parent a commit,
//! newest first, on all cores. Only folders that differ are read.

use super::ids::{Ids, Paths};
use super::select::{Commit, Parent};
use super::source::{Reader, Source};
use super::tree::{self, EntryKind, GitTree};
use crate::object::ObjectKind;
use crate::{GitError, Result};
use gemel_object::{Gid, Mode};
use gemel_repo::facts::Progress;
use gix::ObjectId;
use gix::hash::Kind;
use gix::hashtable::{HashMap, HashSet};
use rayon::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Commits compared by one thread in a row, at least and at most: neighbours share trees, and the first ones of a run are far
/// from what the thread has read.
const RUN: (usize, usize) = (192, 1024);
/// Runs for each thread that are wished for.
const RUNS: usize = 16;
/// Bytes of trees each thread keeps.
const KEPT_BYTES: usize = 48 << 20;

/// A file or link on one side: mode and number of the blob.
pub(crate) type Leaf = (Mode, u32);

/// A path in which a commit differs from its first parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delta {
    pub(crate) path: u32,
    pub(crate) before: Option<Leaf>,
    pub(crate) after: Option<Leaf>,
}

/// A tree, where it was met first.
#[derive(Debug)]
pub(crate) struct TreeUse {
    pub(crate) tree: u32,
    pub(crate) path: u32,
    /// Its folders.
    pub(crate) children: Vec<u32>,
}

/// A file, where it was met first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlobUse {
    pub(crate) blob: u32,
    pub(crate) path: u32,
    /// The commit, by its place in the import order.
    pub(crate) commit: u32,
}

/// Everything the selected commits hold.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) format: Kind,
    pub(crate) ids: Ids,
    pub(crate) paths: Paths,
    /// By commit, in import order; each ascending by path.
    pub(crate) deltas: Vec<Vec<Delta>>,
    /// Each tree once, newest first.
    pub(crate) trees: Vec<TreeUse>,
    /// Trees that followed each other in one folder, by their numbers; newest first.
    pub(crate) tree_pairs: Vec<(u32, u32)>,
    /// Each file once, newest first.
    pub(crate) blobs: Vec<BlobUse>,
    /// Files of trees that name an entry twice: only their bytes are kept.
    pub(crate) unnamed: Vec<u32>,
    /// Paths of the gitlinks in a tree and below, of trees that have any.
    pub(crate) gitlinks: BTreeMap<u32, Vec<String>>,
    /// Lengths of files over the object limit.
    pub(crate) lost: BTreeMap<u32, u64>,
    /// Root trees of commits imported before that selected ones stand on.
    pub(crate) known_trees: HashMap<ObjectId, ObjectId>,
    /// Results of the changes of those commits.
    pub(crate) known_states: BTreeMap<Gid, Gid>,
}

impl Found {
    /// Nothing found yet in a repository of that format.
    pub(crate) fn new(format: Kind) -> Found {
        Found {
            format,
            ids: Ids::default(),
            paths: Paths::default(),
            deltas: Vec::new(),
            trees: Vec::new(),
            tree_pairs: Vec::new(),
            blobs: Vec::new(),
            unnamed: Vec::new(),
            gitlinks: BTreeMap::new(),
            lost: BTreeMap::new(),
            known_trees: HashMap::default(),
            known_states: BTreeMap::new(),
        }
    }
}

/// Compares every commit with its first parent.
///
/// # Errors
/// `Missing`, `Damaged`.
pub(crate) fn discover(
    source: &Source,
    commits: &[Commit],
    found: &mut Found,
    progress: &dyn Progress,
) -> Result<()> {
    found.deltas = vec![Vec::new(); commits.len()];
    let known_trees = found.known_trees.clone();
    let first_parent_tree = |commit: &Commit| base_tree(commit, commits, &known_trees);
    let mut merger = Merger { found, trees: HashSet::default(), blobs: HashSet::default() };
    // A few runs at a time, so that results do not pile up.
    let threads = rayon::current_num_threads().max(1);
    let run = (commits.len() / (threads * RUNS)).clamp(RUN.0, RUN.1);
    let runs: Vec<&[Commit]> = commits.rchunks(run).collect();
    let width = threads * 4;
    let mut at = commits.len();
    for some in runs.chunks(width) {
        let done: Vec<Result<Vec<RawCommit>>> = some
            .par_iter()
            .map(|run| {
                let mut comparer = Comparer::new(source);
                let compare = |commit: &Commit| {
                    progress.advance(1);
                    comparer.compare(commit, first_parent_tree(commit))
                };
                run.iter().rev().map(compare).collect()
            })
            .collect();
        for run in done {
            for raw in run? {
                at -= 1;
                merger.take(at, raw);
            }
        }
    }
    Ok(())
}

/// The tree of the first parent: of a selected one, or what `known` says of one imported before.
pub(crate) fn base_tree(
    commit: &Commit,
    commits: &[Commit],
    known: &HashMap<ObjectId, ObjectId>,
) -> Option<ObjectId> {
    match commit.parents.first()? {
        Parent::Selected(place) => commits.get(*place as usize).map(|parent| parent.facts.tree),
        Parent::Known(_) => known.get(commit.facts.parents.first()?).copied(),
    }
}

/// What one commit showed, before numbers are given.
#[derive(Default)]
struct RawCommit {
    deltas: Vec<RawDelta>,
    trees: Vec<RawTree>,
    tree_pairs: Vec<(ObjectId, ObjectId)>,
    unnamed: Vec<ObjectId>,
}

struct RawDelta {
    path: String,
    before: Option<(Mode, ObjectId)>,
    after: Option<(Mode, ObjectId)>,
}

struct RawTree {
    path: String,
    id: ObjectId,
    children: Vec<ObjectId>,
}

/// Gives numbers, in the order of commits.
struct Merger<'f> {
    found: &'f mut Found,
    trees: HashSet<ObjectId>,
    blobs: HashSet<ObjectId>,
}

impl Merger<'_> {
    fn take(&mut self, at: usize, raw: RawCommit) {
        let found = &mut *self.found;
        let mut deltas = Vec::with_capacity(raw.deltas.len());
        for delta in raw.deltas {
            let path = found.paths.number(&delta.path);
            let mut leaf =
                |leaf: Option<(Mode, ObjectId)>| leaf.map(|(mode, id)| (mode, found.ids.number(id)));
            let (before, after) = (leaf(delta.before), leaf(delta.after));
            if let (Some((_, id)), Some((_, blob))) = (delta.after, after)
                && self.blobs.insert(id)
            {
                found.blobs.push(BlobUse { blob, path, commit: at as u32 });
            }
            deltas.push(Delta { path, before, after });
        }
        found.deltas[at] = deltas;
        for tree in raw.trees {
            if self.trees.insert(tree.id) {
                let children = tree.children.into_iter().map(|id| found.ids.number(id)).collect();
                found.trees.push(TreeUse {
                    tree: found.ids.number(tree.id),
                    path: found.paths.number(&tree.path),
                    children,
                });
            }
        }
        for (before, after) in raw.tree_pairs {
            let pair = (found.ids.number(before), found.ids.number(after));
            found.tree_pairs.push(pair);
        }
        for id in raw.unnamed {
            let number = found.ids.number(id);
            found.unnamed.push(number);
        }
    }
}

/// What a thread has made of trees lately.
#[derive(Debug)]
struct Recent<T> {
    kept: HashMap<ObjectId, (Rc<T>, usize)>,
    oldest: VecDeque<ObjectId>,
    bytes: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Recent<T> {
        Recent { kept: HashMap::default(), oldest: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Recent<T> {
    fn get(&self, id: &ObjectId) -> Option<Rc<T>> {
        self.kept.get(id).map(|(made, _)| made.clone())
    }

    fn keep(&mut self, id: ObjectId, made: Rc<T>, bytes: usize) {
        self.bytes += bytes;
        while self.bytes > KEPT_BYTES {
            let Some(oldest) = self.oldest.pop_front() else { break };
            self.bytes -= self.kept.remove(&oldest).map_or(0, |(_, bytes)| bytes);
        }
        self.oldest.push_back(id);
        self.kept.insert(id, (made, bytes));
    }
}

/// A tree as it is compared.
#[derive(Debug, Default)]
struct Parsed {
    /// Names one behind the other.
    names: String,
    /// Ascending by name.
    entries: Vec<ParsedEntry>,
    /// Files of entries whose name another has: only the bytes of the tree hold them.
    unnamed: Vec<ObjectId>,
}

#[derive(Debug)]
struct ParsedEntry {
    /// Where its name ends; it begins where the one before ends.
    name_end: usize,
    kind: EntryKind,
    id: ObjectId,
}

impl Parsed {
    fn of(tree: &GitTree<'_>) -> Parsed {
        let mut parsed = Parsed::default();
        parsed.entries.reserve_exact(tree.entries.len());
        for entry in &tree.entries {
            parsed.names.push_str(&entry.name);
            let name_end = parsed.names.len();
            parsed.entries.push(ParsedEntry { name_end, kind: entry.kind, id: entry.id });
        }
        let files = tree.repeated.iter().filter(|entry| entry.kind != EntryKind::Gitlink);
        parsed.unnamed.extend(files.map(|entry| entry.id));
        parsed
    }

    fn bytes(&self) -> usize {
        self.names.len() + self.entries.len() * size_of::<ParsedEntry>()
    }

    /// Name and entry at a place.
    fn get(&self, at: usize) -> Option<(&str, &ParsedEntry)> {
        let entry = self.entries.get(at)?;
        let start = at.checked_sub(1).and_then(|before| self.entries.get(before)).map_or(0, |e| e.name_end);
        Some((self.names.get(start..entry.name_end)?, entry))
    }
}

/// Compares trees for one thread.
pub(crate) struct Comparer<'s> {
    source: &'s Source,
    reader: Reader,
    bodies: Recent<Vec<u8>>,
    parsed: Recent<Parsed>,
    /// Trees whose facts this thread has told.
    told: HashSet<ObjectId>,
}

impl<'s> Comparer<'s> {
    pub(crate) fn new(source: &'s Source) -> Comparer<'s> {
        Comparer {
            source,
            reader: source.reader(),
            bodies: Recent::default(),
            parsed: Recent::default(),
            told: HashSet::default(),
        }
    }

    /// The body of a tree.
    pub(crate) fn tree(&mut self, id: &ObjectId, at: &dyn Fn() -> String) -> Result<Rc<Vec<u8>>> {
        if let Some(body) = self.bodies.get(id) {
            return Ok(body);
        }
        let body = Rc::new(read_tree(&mut self.reader, id, at)?.to_vec());
        self.bodies.keep(*id, body.clone(), body.len());
        Ok(body)
    }

    fn parsed(&mut self, id: &ObjectId, at: &dyn Fn() -> String) -> Result<Rc<Parsed>> {
        if let Some(parsed) = self.parsed.get(id) {
            return Ok(parsed);
        }
        let body = read_tree(&mut self.reader, id, at)?;
        let tree = tree::parse(body, self.source.kind).map_err(|detail| GitError::Damaged {
            oid: id.to_string(),
            at: at(),
            detail,
        })?;
        let parsed = Rc::new(Parsed::of(&tree));
        self.parsed.keep(*id, parsed.clone(), parsed.bytes());
        Ok(parsed)
    }

    fn compare(&mut self, commit: &Commit, base: Option<ObjectId>) -> Result<RawCommit> {
        let mut raw = RawCommit::default();
        let mut stack = vec![(String::new(), base, Some(commit.facts.tree))];
        if base == Some(commit.facts.tree) {
            return Ok(raw);
        }
        while let Some((path, before, after)) = stack.pop() {
            let at = || format!("folder {} of commit {}", shown(&path), commit.id);
            let old = before.map(|id| self.parsed(&id, &at)).transpose()?.unwrap_or_default();
            let new = after.map(|id| self.parsed(&id, &at)).transpose()?.unwrap_or_default();
            if let Some(id) = after
                && self.told.insert(id)
            {
                raw.tell(&path, id, &new);
            }
            raw.tree_pairs.extend(before.zip(after));
            let mut subfolders = Vec::new();
            merge(&old, &new, |name, before, after| {
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
                let dir = |side: Option<(Mode, ObjectId)>| {
                    side.and_then(|(mode, id)| (mode == Mode::Directory).then_some(id))
                };
                let leaf = |side: Option<(Mode, ObjectId)>| side.filter(|(mode, _)| *mode != Mode::Directory);
                let (old_dir, new_dir) = (dir(before), dir(after));
                let (before, after) = (leaf(before), leaf(after));
                if before.is_some() || after.is_some() {
                    raw.deltas.push(RawDelta { path: path.clone(), before, after });
                }
                if old_dir != new_dir {
                    subfolders.push((path, old_dir, new_dir));
                }
            });
            stack.append(&mut subfolders);
        }
        raw.deltas.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(raw)
    }
}

impl RawCommit {
    fn tell(&mut self, path: &str, id: ObjectId, tree: &Parsed) {
        let folders = tree.entries.iter().filter(|entry| entry.kind == EntryKind::Content(Mode::Directory));
        let children = folders.map(|entry| entry.id).collect();
        self.trees.push(RawTree { path: path.to_owned(), id, children });
        self.unnamed.extend_from_slice(&tree.unnamed);
    }
}

fn read_tree<'r>(reader: &'r mut Reader, id: &ObjectId, at: &dyn Fn() -> String) -> Result<&'r [u8]> {
    match reader.body(id, ObjectKind::Tree, at) {
        // Git knows the empty tree without having it.
        Err(GitError::Missing { .. }) if id.is_empty_tree() => Ok(&[]),
        read => read,
    }
}

/// Walks two trees by name and tells where they differ. Gitlinks are no content.
fn merge(
    old: &Parsed,
    new: &Parsed,
    mut differs: impl FnMut(&str, Option<(Mode, ObjectId)>, Option<(Mode, ObjectId)>),
) {
    let content = |(_, entry): (&str, &ParsedEntry)| match entry.kind {
        EntryKind::Content(mode) => Some((mode, entry.id)),
        EntryKind::Gitlink => None,
    };
    let (mut in_old, mut in_new) = (0, 0);
    loop {
        let (before, after) = (old.get(in_old), new.get(in_new));
        let order = match (before, after) {
            (None, None) => return,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.0.cmp(b.0),
        };
        let (before, after) = (before.filter(|_| order.is_le()), after.filter(|_| order.is_ge()));
        (in_old, in_new) = (in_old + usize::from(before.is_some()), in_new + usize::from(after.is_some()));
        let Some((name, _)) = before.or(after) else { return };
        let (before, after) = (before.and_then(content), after.and_then(content));
        if before != after {
            differs(name, before, after);
        }
    }
}

pub(crate) fn shown(path: &str) -> &str {
    if path.is_empty() { "/" } else { path }
}
