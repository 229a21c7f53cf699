//! Commits as changes (git interchange, sections 1.5, 1.6 and 1.8).

use super::discover::{Delta, Found, Leaf};
use super::ids::Made;
use super::keep::RawObject;
use super::people::People;
use super::select::{Commit, Parent};
use super::source::{Reader, Source};
use crate::object::ObjectKind;
use crate::{GitError, Result};
use gemel_object::families::{
    Change, Mapping, NewChange, NewLoss, NewMapping, NewOperation, NewOperationResult, NewState,
};
use gemel_object::{
    Encoded, Family, Gid, Limits, MappingKind, Mode, ObjectError, OpType, ResultStatus, Strings,
    blob_envelope,
};
use gemel_repo::RepoError;
use gemel_store::{NewObject, Store, Writer};
use rayon::prelude::*;

/// Mappings of commits are named here.
pub(crate) const COMMITS: &str = "refs/mappings/import/git_commit/";
/// Mappings of root trees are named here.
pub(crate) const TREES: &str = "refs/mappings/import/git_tree/";

/// What an import cannot know of a commit.
const UNKNOWN: [&str; 5] = [
    "intent unknown",
    "claims unknown",
    "evidence unknown",
    "residuals unknown",
    "verification scope unknown",
];

/// What is told of a commit whose parents lie behind a shallow boundary.
pub(crate) const SHALLOW_LOSS: &str = "parents omitted (shallow boundary)";

/// Commits whose parts are made at the same time.
const BLOCK: usize = 1024;

/// What one commit became.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) change: Gid,
    pub(crate) state: Gid,
    pub(crate) producer: Gid,
    /// Whether the change was there before: a commit that this store had written.
    pub(crate) relinked: bool,
    pub(crate) commit_mapping: Gid,
    pub(crate) tree_mapping: Gid,
    /// Mapping of its body.
    pub(crate) raw_mapping: Gid,
}

/// Counts for the report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) relinked: u64,
    pub(crate) ignored_trailers: u64,
    pub(crate) unknown_producers: u64,
}

/// What making changes needs.
pub(crate) struct Changes<'a> {
    pub(crate) store: &'a Store,
    pub(crate) writer: &'a Writer<'a>,
    pub(crate) limits: &'a Limits,
    pub(crate) source: &'a Source,
    pub(crate) commits: &'a [Commit],
    pub(crate) found: &'a Found,
    pub(crate) git_import: Gid,
}

/// The parts of a commit that do not depend on its parents.
struct Parts {
    producer: Gid,
    state: Encoded,
    operations: Vec<Encoded>,
    /// Losses that come before the five unknowns.
    losses: Vec<String>,
    /// The commit's own bytes, as a blob.
    body: Encoded,
}

impl Changes<'_> {
    /// Writes a change with its operations, state and mappings for every commit, in import order.
    ///
    /// # Errors
    /// `Unfit`, `Damaged`; those of the store.
    pub(crate) fn write(&self, people: &mut People, advance: &dyn Fn(u64)) -> Result<(Vec<Done>, Counts)> {
        let mut done: Vec<Done> = Vec::with_capacity(self.commits.len());
        let mut counts = Counts::default();
        let mut waiting: (&[Commit], Vec<Parts>) = Default::default();
        for (block, at) in self.commits.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let producers = block.iter().map(|commit| {
                let facts = &commit.facts;
                counts.unknown_producers += u64::from(facts.author.is_unknown());
                people
                    .producer(&facts.author, facts.time_ms, self.limits)
                    .map_err(unfit("the author", commit))
            });
            let producers: Vec<Gid> = producers.collect::<Result<_>>()?;
            for encoded in std::mem::take(&mut people.objects) {
                self.put(encoded)?;
            }
            let parts = || -> Result<Vec<Parts>> {
                let part = |reader: &mut Reader, n| self.parts(reader, at + n, producers[n]);
                (0..block.len()).into_par_iter().map_init(|| self.source.reader(), part).collect()
            };
            // What has to be done in order goes on beside what has not.
            let (finished, parts) =
                rayon::join(|| self.finish_all(std::mem::take(&mut waiting), &mut done, &mut counts), parts);
            finished?;
            waiting = (block, parts?);
            advance(block.len() as u64);
        }
        self.finish_all(waiting, &mut done, &mut counts)?;
        for encoded in std::mem::take(&mut people.objects) {
            self.put(encoded)?;
        }
        Ok((done, counts))
    }

    fn finish_all(
        &self,
        (block, parts): (&[Commit], Vec<Parts>),
        done: &mut Vec<Done>,
        counts: &mut Counts,
    ) -> Result<()> {
        for (commit, parts) in block.iter().zip(parts) {
            let one = self.finish(commit, parts, done, counts)?;
            done.push(one);
        }
        Ok(())
    }

    fn put(&self, encoded: Encoded) -> Result<Gid> {
        let id = encoded.id;
        self.writer.put(NewObject { id, bytes: encoded.bytes, base: None })?;
        Ok(id)
    }

    /// Writes what is told of one commit next to each other: the same names stand in all of it.
    fn beside(&self, encoded: Encoded) -> Result<Gid> {
        let id = encoded.id;
        self.writer.put_beside(NewObject { id, bytes: encoded.bytes, base: None })?;
        Ok(id)
    }

    fn parts(&self, reader: &mut Reader, at: usize, producer: Gid) -> Result<Parts> {
        let commit = &self.commits[at];
        let root = match self.found.ids.made_of(&commit.facts.tree) {
            Made::Object(id, _) | Made::Empty(id) => id,
            Made::Nothing | Made::Lost => {
                return Err(GitError::Missing {
                    oid: commit.facts.tree.to_string(),
                    at: format!("tree of commit {}", commit.id),
                });
            }
        };
        let state = NewState { root_tree: Some(root), ..NewState::default() };
        let state = state.encode(self.limits).map_err(unfit("the state", commit))?;
        let mut losses = self.gitlinks(commit);
        let operations = self.operations(commit, &self.found.deltas[at], producer, &mut losses)?;
        if commit.shallow {
            losses.push(SHALLOW_LOSS.to_owned());
        }
        let body = reader.body(&commit.id, ObjectKind::Commit, &String::new)?;
        let body = blob_envelope(body, self.limits).map_err(unfit("the body", commit))?;
        Ok(Parts { producer, state, operations, losses, body })
    }

    fn gitlinks(&self, commit: &Commit) -> Vec<String> {
        let of = |tree: Option<gix::ObjectId>| {
            let number = tree.and_then(|tree| self.found.ids.get(&tree));
            number.and_then(|number| self.found.gitlinks.get(&number)).into_iter().flatten()
        };
        let parent = commit.parents.first().and_then(|parent| match parent {
            Parent::Selected(place) => self.commits.get(*place as usize).map(|parent| parent.facts.tree),
            Parent::Known(_) => self.found.known_trees.get(commit.facts.parents.first()?).copied(),
        });
        of(Some(commit.facts.tree))
            .chain(of(parent))
            .map(|path| format!("gitlink {path} omitted (submodule content unavailable)"))
            .collect()
    }

    fn operations(
        &self,
        commit: &Commit,
        deltas: &[Delta],
        producer: Gid,
        losses: &mut Vec<String>,
    ) -> Result<Vec<Encoded>> {
        let leaf = |leaf: Option<Leaf>| -> Result<Option<(Mode, Gid)>> {
            let Some((mode, number)) = leaf else { return Ok(None) };
            match self.found.ids.made(number) {
                Made::Object(id, _) => Ok(Some((mode, id))),
                Made::Lost => Ok(None),
                Made::Nothing | Made::Empty(_) => Err(GitError::Missing {
                    oid: self.found.ids.name(number).to_string(),
                    at: format!("a file of commit {}", commit.id),
                }),
            }
        };
        let mut sides = Vec::with_capacity(deltas.len());
        for delta in deltas {
            let path = self.found.paths.text(delta.path);
            let (before, after) = (leaf(delta.before)?, leaf(delta.after)?);
            if let (Some((_, number)), None) = (delta.after, after) {
                losses.push(self.found.lost.get(&number).map_or_else(
                    || format!("file {path} omitted (missing in the Git repository)"),
                    |bytes| format!("file {path} omitted ({bytes} bytes, over the object limit)"),
                ));
            }
            if before != after {
                sides.push((path, before, after));
            }
        }
        let steps = steps(&sides);
        let others = commit.parents.len() as u64 + 3;
        if steps.len() as u64 + others > self.limits.max_refs_per_object {
            losses.push(format!("operations omitted ({} of them, over the reference limit)", steps.len()));
            return Ok(Vec::new());
        }
        let made = steps.iter().map(|step| step.encode(producer, commit.facts.time_ms, self.limits));
        made.collect::<Result<_, _>>().map_err(unfit("an operation", commit))
    }

    /// The parts that depend on the parents, in order.
    fn finish(&self, commit: &Commit, parts: Parts, done: &[Done], counts: &mut Counts) -> Result<Done> {
        let of_parent = |parent: &Parent| match parent {
            Parent::Selected(place) => done.get(*place as usize).map(|parent| (parent.change, parent.state)),
            Parent::Known(change) => self.found.known_states.get(change).map(|state| (*change, *state)),
        };
        let parents: Vec<(Gid, Gid)> = commit.parents.iter().filter_map(of_parent).collect();
        let causal: Vec<Gid> = parents.iter().map(|(change, _)| *change).collect();
        let original = self.relinked(commit, &causal, counts)?;
        let (change, state) = match original {
            Some((change, state)) => (change, state),
            None => {
                let state = self.put(parts.state)?;
                let ids: Vec<Gid> = parts.operations.iter().map(|operation| operation.id).collect();
                for operation in parts.operations {
                    self.put(operation)?;
                }
                let change = NewChange {
                    summary: Some(&commit.facts.summary),
                    input_state: parents.first().map(|(_, state)| *state),
                    operations: (!ids.is_empty()).then_some(&ids[..]),
                    resulting_state: Some(state),
                    producer: Some(parts.producer),
                    causal_parents: (!causal.is_empty()).then_some(&causal[..]),
                    created_at: Some(commit.facts.time_ms),
                    ..NewChange::default()
                };
                (self.put(change.encode(self.limits).map_err(unfit("the change", commit))?)?, state)
            }
        };
        let unknown: &[&str] = if original.is_some() { &[] } else { &UNKNOWN };
        let losses: Vec<&str> =
            parts.losses.iter().map(String::as_str).chain(unknown.iter().copied()).collect();
        let map = |kind, from: &str, to| {
            NewMapping {
                kind: Some(kind),
                from: Some(from),
                to: Some(to),
                loss: Some(NewLoss {
                    known_loss: Some(Strings::Borrowed(&losses)),
                    unknowns: Some(Strings::Borrowed(&[])),
                    fabricated: Some(Strings::Borrowed(&[])),
                    ..NewLoss::default()
                }),
                producer: Some(self.git_import),
                created_at: Some(0),
                ..NewMapping::default()
            }
            .encode(self.limits)
            .map_err(unfit("the mapping", commit))
        };
        let raw =
            RawObject { kind: ObjectKind::Commit, id: commit.id, part: None, blob: self.beside(parts.body)? };
        let raw_mapping = raw.mapping(self.git_import, self.limits).map_err(unfit("the mapping", commit))?;
        let commit_mapping = map(MappingKind::GitCommit, &commit.id.to_string(), change)?;
        let tree_mapping = map(MappingKind::GitTree, &commit.facts.tree.to_string(), state)?;
        Ok(Done {
            change,
            state,
            producer: parts.producer,
            relinked: original.is_some(),
            raw_mapping: self.beside(raw_mapping)?,
            commit_mapping: self.beside(commit_mapping)?,
            tree_mapping: self.beside(tree_mapping)?,
        })
    }

    /// The change that a commit says it is, with its state, if everything that it holds agrees (threat T-19).
    fn relinked(&self, commit: &Commit, causal: &[Gid], counts: &mut Counts) -> Result<Option<(Gid, Gid)>> {
        let trailers = &commit.facts.trailers;
        counts.ignored_trailers += trailers.odd_versions;
        let Some(first) = trailers.changes.first() else { return Ok(None) };
        let original = match trailers.changes.len() {
            1 => self.agrees(first, commit, causal)?,
            _ => None,
        };
        match original {
            Some(_) => counts.relinked += 1,
            None => counts.ignored_trailers += trailers.changes.len() as u64,
        }
        Ok(original)
    }

    fn agrees(&self, text: &str, commit: &Commit, causal: &[Gid]) -> Result<Option<(Gid, Gid)>> {
        let Some(id) = Gid::parse(text).ok().filter(|id| id.family() == Family::Change) else {
            return Ok(None);
        };
        if !self.store.contains(&id)? {
            return Ok(None);
        }
        let bytes = self.store.read(&id)?;
        let Ok(change) = Change::decode(&bytes, self.limits) else { return Ok(None) };
        let Some(state) = change.resulting_state() else { return Ok(None) };
        let mut own: Vec<Gid> = change.causal_parents().iter().collect();
        let mut theirs = causal.to_vec();
        own.sort_unstable();
        theirs.sort_unstable();
        let root = |state: &Gid| gemel_repo::content::root_tree(self.store, state).ok();
        let same_tree = root(&state).is_some_and(|tree| match self.found.ids.made_of(&commit.facts.tree) {
            Made::Object(made, _) | Made::Empty(made) => made == tree,
            Made::Nothing | Made::Lost => false,
        });
        let agrees = same_tree
            && own == theirs
            && change.summary().trim_end_matches('\n') == commit.facts.trailers.message;
        Ok(agrees.then_some((id, state)))
    }
}

/// The change a commit mapping points to.
///
/// # Errors
/// Those of the store.
pub(crate) fn mapped(store: &Store, mapping: &Gid) -> Result<Option<Gid>> {
    let bytes = store.read(mapping)?;
    let to = Mapping::decode(&bytes, &Limits::DEFAULT).ok().map(|mapping| mapping.to());
    Ok(to.filter(|to| to.family() == Family::Change))
}

fn unfit(what: &'static str, commit: &Commit) -> impl Fn(ObjectError) -> GitError + use<> {
    let commit = commit.id.to_string();
    move |e| GitError::Unfit { what, commit: commit.clone(), detail: e.to_string() }
}

type Sides<'p> = (&'p str, Option<(Mode, Gid)>, Option<(Mode, Gid)>);

/// One operation to be.
enum Step<'p> {
    Create(&'p str, Gid),
    Write(&'p str, Gid, Gid),
    Delete(&'p str, Gid),
    Rename(&'p str, &'p str, Gid),
}

/// The operations of a commit, by path (renames by their new one). Moves are found as release 0.12 finds them, which
/// misses some: operations are part of a change's identity.
fn steps<'p>(sides: &[Sides<'p>]) -> Vec<Step<'p>> {
    let deleted: Vec<usize> = (0..sides.len()).filter(|at| sides[*at].2.is_none()).collect();
    let created: Vec<usize> = (0..sides.len()).filter(|at| sides[*at].1.is_none()).collect();
    let (mut renamed_to, mut renamed_from) = (vec![None; sides.len()], vec![false; sides.len()]);
    let (mut i, mut j) = (0, 0);
    while let (Some(&from), Some(&to)) = (deleted.get(i), created.get(j)) {
        let key = |leaf: Option<(Mode, Gid)>| leaf.map(|(mode, id)| (mode.bits(), id));
        match key(sides[from].1).cmp(&key(sides[to].2)) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                renamed_to[to] = Some(from);
                renamed_from[from] = true;
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    let mut steps = Vec::with_capacity(sides.len());
    for (at, (path, before, after)) in sides.iter().enumerate() {
        steps.push(match (before, after, renamed_to[at]) {
            (None, Some((_, id)), Some(from)) => Step::Rename(sides[from].0, path, *id),
            (None, Some((_, id)), None) => Step::Create(path, *id),
            (Some((_, old)), Some((_, new)), _) => Step::Write(path, *old, *new),
            (Some((_, old)), None, _) if !renamed_from[at] => Step::Delete(path, *old),
            _ => continue,
        });
    }
    steps
}

impl Step<'_> {
    fn encode(&self, producer: Gid, at_ms: i64, limits: &Limits) -> Result<Encoded, ObjectError> {
        let (op_type, path, old, new) = match self {
            Step::Create(path, new) => (OpType::CreateFile, path, None, Some(*new)),
            Step::Write(path, old, new) => (OpType::WriteFile, path, Some(*old), Some(*new)),
            Step::Delete(path, old) => (OpType::DeleteFile, path, Some(*old), None),
            Step::Rename(_, path, id) => (OpType::RenamePath, path, Some(*id), Some(*id)),
        };
        let (old, new) = (old.as_slice(), new.as_slice());
        let base = NewOperation {
            op_type: Some(op_type),
            subject_path: Some(path),
            input_refs: (!old.is_empty()).then_some(old),
            output_refs: (!new.is_empty()).then_some(new),
            result: Some(NewOperationResult {
                status: Some(ResultStatus::Ok),
                ..NewOperationResult::default()
            }),
            producer: Some(producer),
            started_at: Some(at_ms),
            ended_at: Some(at_ms),
            ..NewOperation::default()
        };
        match self {
            Step::Rename(from, to, _) => {
                NewOperation { from: Some(from), to: Some(to), ..base }.encode(limits)
            }
            _ => NewOperation { content: new.first().copied(), ..base }.encode(limits),
        }
    }
}

/// As an error of the repository, for objects that no commit stands for.
pub(crate) fn object_error(family: Family) -> impl Fn(ObjectError) -> GitError {
    move |source| GitError::Repo(RepoError::Object { family, source })
}
