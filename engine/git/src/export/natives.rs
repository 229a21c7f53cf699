//! Changes that came from no commit: which of them are exported, in which order, and what is known of each.

use super::Format;
use super::commits::Commits;
use super::raw::{HashMapOfGid, HashSetOfGid, visit};
use super::target::Target;
use crate::import::changes::COMMITS;
use crate::{GitError, Result};
use gemel_object::families::{Change, Mapping, Trajectory};
use gemel_object::{Family, Gid, Limits};
use gemel_repo::RepoError;
use gemel_repo::names::Kind as NameKind;
use gemel_store::{RefValue, Refs, Store};
use gix::ObjectId;
use gix::hashtable::HashSet;

/// Mappings of exported commits are named here.
pub(super) const EXPORTED: &str = "refs/mappings/export/git_commit/";

/// What stands for a change in Git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// A commit with this name: of the raw ones, or one that the target has.
    Commit(ObjectId),
    /// The commit to be made, by its place in the list.
    Native(usize),
}

/// A change that becomes a commit.
#[derive(Clone, Debug)]
pub(super) struct Native {
    pub(super) change: Gid,
    pub(super) state: Gid,
    pub(super) root: Gid,
    pub(super) parents: Vec<Standing>,
}

/// Everything between imported or exported commits and head, parents first.
#[derive(Debug, Default)]
pub(super) struct Natives {
    pub(super) list: Vec<Native>,
    /// What head is; `None` without a head.
    pub(super) head: Option<Standing>,
    /// Commits that changes were exported as before.
    pub(super) exported: HashMapOfGid<Vec<ObjectId>>,
    /// Changes that stand on which commit, for those at which the walk ended.
    pub(super) ends: Vec<(ObjectId, Gid)>,
}

/// Which changes came from, or went to, which commits.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) imported: HashMapOfGid<Vec<ObjectId>>,
    pub(super) exported: HashMapOfGid<Vec<ObjectId>>,
    /// The exported ones.
    pub(super) exported_commits: HashSet<ObjectId>,
}

impl Known {
    /// Reads the mappings of commits.
    ///
    /// # Errors
    /// `Mapping`; those of the store.
    pub(super) fn read(store: &Store, refs: &Refs, format: Format) -> Result<Known> {
        let exported = mapped(store, refs, EXPORTED)?;
        let exported_commits = exported.values().flatten().copied().collect();
        let imported =
            if format == Format::Two { mapped(store, refs, COMMITS)? } else { HashMapOfGid::default() };
        Ok(Known { imported, exported, exported_commits })
    }
}

/// Commits by change, ascending, as the mappings under `prefix` say.
fn mapped(store: &Store, refs: &Refs, prefix: &str) -> Result<HashMapOfGid<Vec<ObjectId>>> {
    let mut commits: HashMapOfGid<Vec<ObjectId>> = HashMapOfGid::default();
    for (name, value) in refs.scan(prefix)? {
        let RefValue::Id(mapping) = value? else { continue };
        let hex = name.get(prefix.len()..).unwrap_or_default();
        let id = ObjectId::from_hex(hex.as_bytes()).map_err(|_| GitError::Mapping {
            name: name.clone(),
            id: mapping,
            detail: "the name is not that of a Git object".to_owned(),
        })?;
        commits.entry(mapping).or_default().push(id);
    }
    let mappings: Vec<Gid> = commits.keys().copied().collect();
    let mut by_change: HashMapOfGid<Vec<ObjectId>> = HashMapOfGid::default();
    let make = |mapping: &Gid, envelope: &[u8]| {
        let Ok(decoded) = Mapping::decode(envelope, &Limits::DEFAULT) else { return Ok(None) };
        let from = ObjectId::from_hex(decoded.from().as_bytes()).ok();
        let named = commits.get(mapping).into_iter().flatten().filter(|id| Some(**id) == from);
        Ok(Some((decoded.to(), named.copied().collect())))
    };
    visit(store, &mappings, &make, &mut |found: Option<(Gid, Vec<ObjectId>)>| {
        let Some((change, ids)) = found.filter(|(to, _)| to.family() == Family::Change) else { return };
        by_change.entry(change).or_default().extend(ids);
    })?;
    by_change.values_mut().for_each(|ids| ids.sort_unstable());
    Ok(by_change)
}

/// Selects what head stands on, parents before children, each change once. `present` are commits the target has.
///
/// # Errors
/// `Absent` for a commit whose bytes are nowhere; `Refused` for a change without a state; those of the store.
pub(super) fn select(
    store: &Store,
    head: Option<Gid>,
    known: Known,
    commits: &Commits<'_>,
    target: &Target,
    present: &HashSet<ObjectId>,
    format: Format,
) -> Result<Natives> {
    let mut natives = Natives { exported: known.exported, ..Natives::default() };
    let Some(head) = head else { return Ok(natives) };
    let mut standing: HashMapOfGid<Standing> = HashMapOfGid::default();
    let mut open: HashSetOfGid = HashSetOfGid::default();
    let mut stack = vec![(head, false)];
    let mut read: HashMapOfGid<(Native, Vec<Gid>)> = HashMapOfGid::default();
    while let Some((change, parents_done)) = stack.pop() {
        if standing.contains_key(&change) {
            continue;
        }
        if !parents_done {
            let end = match format {
                Format::One => None,
                Format::Two => end_of(&change, &known.imported, &natives.exported, commits, target, present)?,
            };
            if let Some(commit) = end {
                natives.ends.push((commit, change));
                standing.insert(change, Standing::Commit(commit));
                continue;
            }
            if !open.insert(change) {
                continue;
            }
            let (native, causal) = facts(store, &change)?;
            stack.push((change, true));
            stack.extend(
                causal.iter().rev().filter(|parent| !standing.contains_key(parent)).map(|p| (*p, false)),
            );
            read.insert(change, (native, causal));
            continue;
        }
        let Some((mut native, causal)) = read.remove(&change) else { continue };
        native.parents = causal.iter().filter_map(|parent| standing.get(parent).copied()).collect();
        standing.insert(change, Standing::Native(natives.list.len()));
        natives.list.push(native);
    }
    natives.head = standing.get(&head).copied();
    Ok(natives)
}

/// The commit at which the walk ends: one that was imported, or exported and is in the target.
fn end_of(
    change: &Gid,
    imported: &HashMapOfGid<Vec<ObjectId>>,
    exported: &HashMapOfGid<Vec<ObjectId>>,
    commits: &Commits<'_>,
    target: &Target,
    present: &HashSet<ObjectId>,
) -> Result<Option<ObjectId>> {
    if let Some(ids) = imported.get(change) {
        if let Some(other) = ids.iter().find(|_| ids.iter().all(|id| id.kind() != target.format)) {
            let reason = format!(
                "{change} came from commit {other}, which a repository that names its objects by {} cannot hold: {}",
                target.format,
                target.path.display()
            );
            return Err(GitError::Refused { reason });
        }
        let ids: Vec<ObjectId> = ids.iter().copied().filter(|id| id.kind() == target.format).collect();
        if let Some(id) = ids.iter().find(|id| commits.index.commits.contains_key(*id)) {
            return Ok(Some(*id));
        }
        for id in &ids {
            if target.has(id)? {
                return Ok(Some(*id));
            }
        }
        let id = ids.first().map(ObjectId::to_string).unwrap_or_default();
        let at = format!(
            "{change}; an older release imported it without its bytes: import the Git repository again, or use --format 1"
        );
        return Err(GitError::Absent { what: format!("commit {id}"), at });
    }
    Ok(exported.get(change).into_iter().flatten().find(|id| present.contains(*id)).copied())
}

fn facts(store: &Store, id: &Gid) -> Result<(Native, Vec<Gid>)> {
    let bytes = store.read(id)?;
    let change = decoded(id, Change::decode(&bytes, &Limits::DEFAULT))?;
    let Some(state) = change.resulting_state() else {
        return Err(GitError::Refused {
            reason: format!("{id} has no resulting state, so no commit can be made of it"),
        });
    };
    let root = gemel_repo::content::root_tree(store, &state).map_err(RepoError::from)?;
    let native = Native { change: *id, state, root, parents: Vec::new() };
    Ok((native, change.causal_parents().iter().collect()))
}

/// A decoded object, or the error that names it.
///
/// # Errors
/// `Repo`.
pub(super) fn decoded<T>(id: &Gid, found: Result<T, gemel_object::ObjectError>) -> Result<T> {
    found.map_err(|e| GitError::Repo(RepoError::CorruptObject { id: *id, detail: e.to_string() }))
}

/// For each of `changes` the version of a trajectory that added it.
///
/// # Errors
/// Those of the store.
pub(super) fn trajectories(store: &Store, refs: &Refs, changes: &HashSetOfGid) -> Result<HashMapOfGid<Gid>> {
    let mut found: HashMapOfGid<Gid> = HashMapOfGid::default();
    let mut lines: Vec<(u64, Gid)> = Vec::new();
    for (name, value) in refs.scan(NameKind::Trajectory.namespace())? {
        if let (Some((NameKind::Trajectory, number)), RefValue::Id(id)) = (NameKind::of_name(&name), value?) {
            lines.push((number, id));
        }
    }
    lines.sort_unstable();
    let mut seen = HashSetOfGid::default();
    for (_, version) in lines {
        let mut next = Some(version);
        while let Some(id) = next.filter(|id| found.len() < changes.len() && seen.insert(*id)) {
            let bytes = store.read(&id)?;
            let trajectory = decoded(&id, Trajectory::decode(&bytes, &Limits::DEFAULT))?;
            for change in trajectory.added_changes().iter().filter(|change| changes.contains(change)) {
                found.entry(change).or_insert(id);
            }
            next = trajectory.previous();
        }
    }
    Ok(found)
}
