//! The end of a run: trajectories, names, mappings and head, in one ref transaction.

use super::changes::{COMMITS, Done, TREES, object_error};
use super::keep::{self, RawObject};
use super::people::People;
use super::select::{Parent, Selection};
use super::source::{Head, Source};
use super::{HeadOutcome, ImportOptions};
use crate::{GitError, Result};
use gemel_object::families::{NewTrajectory, Trajectory};
use gemel_object::{Encoded, Family, Gid, Limits, blob_envelope};
use gemel_repo::Repo;
use gemel_repo::history::leads_to;
use gemel_repo::names::{Allocator, Kind};
use gemel_store::{NewObject, RefValue, Refs, WriteReport, Writer};
use gix::ObjectId;
use gix::bstr::BString;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Changes listed by one version of a trajectory.
const CHANGES_PER_VERSION: usize = 50_000;

/// Everything a run made.
pub(super) struct Plan<'a> {
    pub(super) repo: &'a Repo,
    pub(super) source: &'a Source,
    pub(super) options: &'a ImportOptions,
    pub(super) limits: &'a Limits,
    pub(super) selection: &'a Selection,
    pub(super) done: &'a [Done],
    pub(super) kept: &'a [RawObject],
    pub(super) people: &'a People,
    pub(super) tip: Option<ObjectId>,
    pub(super) taken: &'a BTreeMap<BString, ObjectId>,
    /// Of the refs that the run began with.
    pub(super) sequence: u64,
}

/// What was published.
pub(super) struct Outcome {
    pub(super) trajectories: u64,
    pub(super) mappings: u64,
    pub(super) head: HeadOutcome,
    pub(super) tip: Option<Gid>,
    pub(super) written: WriteReport,
}

/// A line of work: a trajectory begun or continued.
struct Line {
    /// `None`: begun by this run.
    name: Option<String>,
    producer: Option<Gid>,
    first: Option<Encoded>,
    /// The version that the next one follows.
    previous: Gid,
    /// Changes beyond the first version's, with the time of the last.
    more: Vec<Gid>,
    last_ms: i64,
}

impl Plan<'_> {
    /// Writes what is left and publishes all.
    ///
    /// # Errors
    /// `Refused` when another import was faster; those of the store.
    pub(super) fn publish(&self, writer: Writer<'_>) -> Result<Outcome> {
        let store = self.repo.store();
        let refs = store.refs()?;
        let (lines, line_of) = self.lines(&refs)?;
        let put = |encoded: Encoded| -> Result<Gid> {
            let id = encoded.id;
            writer.put(NewObject { id, bytes: encoded.bytes, base: None })?;
            Ok(id)
        };
        let mut latest = Vec::with_capacity(lines.len());
        for line in &lines {
            latest.push(self.versions(line, &put)?);
        }
        let producer = self.people.git_import;
        let mut raws = Vec::with_capacity(self.kept.len());
        for raw in self.kept {
            let mapping = raw.mapping(producer, self.limits).map_err(object_error(Family::Mapping))?;
            raws.push((raw.ref_name(), put(mapping)?));
        }
        let text = blob_envelope(&self.refs_text(), self.limits).map_err(object_error(Family::Blob))?;
        let blob = put(text)?;
        let listed =
            keep::external("git-refs", blob, producer, self.limits).map_err(object_error(Family::Mapping))?;
        let listed = put(listed)?;
        let empty = gemel_object::tree_envelope([], self.limits).map_err(object_error(Family::Tree))?;
        let state = gemel_object::families::NewState { root_tree: Some(empty.id), ..Default::default() };
        put(empty)?;
        put(state.encode(self.limits).map_err(object_error(Family::State))?)?;
        let written = writer.commit()?;

        let mut transaction = store.transaction()?;
        if transaction.refs().sequence() != self.sequence {
            self.check_unmapped(transaction.refs())?;
        }
        let mut names = Allocator::new(transaction.refs());
        let mut edits: Vec<(String, Gid)> = Vec::new();
        for done in self.done.iter().filter(|done| !done.relinked) {
            edits.push((names.next(Kind::Change)?.full, done.change));
            edits.push((names.next(Kind::State)?.full, done.state));
        }
        let mut trajectories = 0;
        let mut line_ids = Vec::with_capacity(lines.len());
        for (line, id) in lines.iter().zip(latest) {
            line_ids.push(id);
            if line.first.is_none() && line.more.is_empty() {
                continue;
            }
            let name = match &line.name {
                Some(name) => name.clone(),
                None => {
                    trajectories += 1;
                    names.next(Kind::Trajectory)?.full
                }
            };
            edits.push((name, id));
        }
        for (commit, done) in self.selection.commits.iter().zip(self.done) {
            edits.push((format!("{COMMITS}{}", commit.id), done.commit_mapping));
            edits.push((format!("{TREES}{}", commit.facts.tree), done.tree_mapping));
            edits.push((format!("{}commit/{}", keep::RAW, commit.id), done.raw_mapping));
        }
        let trees: HashSet<ObjectId> =
            self.selection.commits.iter().map(|commit| commit.facts.tree).collect();
        let mappings = (self.done.len() + trees.len()) as u64;
        edits.extend(raws);
        // One revision alone does not stand for the refs that an earlier run took.
        let before = transaction.refs().get(keep::REFS)?;
        if before != Some(listed) && (before.is_none() || self.options.head.is_none()) {
            edits.push((keep::REFS.to_owned(), listed));
        }
        let tip = self.tip_change()?;
        let head = self.head(transaction.refs(), tip, &line_of, &line_ids, &mut edits)?;
        let records = self.people.records();
        if edits.is_empty() {
            return Ok(Outcome { trajectories, mappings: 0, head, tip: tip.map(|tip| tip.0), written });
        }
        for (name, id) in edits {
            transaction.set(name, id);
        }
        for (name, bytes) in records {
            transaction.set_record(name, bytes);
        }
        names.save(&mut transaction);
        transaction.commit("import-git", self.options.now_ms)?;
        Ok(Outcome { trajectories, mappings, head, tip: tip.map(|tip| tip.0), written })
    }

    /// Which line each commit belongs to: that of its first parent, else one of its own.
    fn lines(&self, refs: &Refs) -> Result<(Vec<Line>, Vec<Option<usize>>)> {
        let known = self.known_lines(refs)?;
        let (mut lines, mut line_of): (Vec<Line>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
        let mut continued: HashMap<&str, usize> = HashMap::new();
        for (commit, done) in self.selection.commits.iter().zip(self.done) {
            let mut line_with = |change: &Gid, lines: &mut Vec<Line>| {
                let line = known.get(change)?;
                Some(*continued.entry(&line.name).or_insert_with(|| {
                    lines.push(Line {
                        name: Some(line.name.clone()),
                        producer: line.producer,
                        first: None,
                        previous: line.version,
                        more: Vec::new(),
                        last_ms: 0,
                    });
                    lines.len() - 1
                }))
            };
            let line = match commit.parents.first() {
                _ if done.relinked => line_with(&done.change, &mut lines),
                Some(Parent::Selected(place)) => line_of.get(*place as usize).copied().flatten(),
                Some(Parent::Known(change)) => line_with(change, &mut lines),
                None => None,
            };
            let at_ms = commit.facts.time_ms;
            if done.relinked {
                line_of.push(line);
            } else if let Some((at, line)) = line.and_then(|at| Some((at, lines.get_mut(at)?))) {
                line.more.push(done.change);
                line.last_ms = at_ms;
                line_of.push(Some(at));
            } else {
                let first = NewTrajectory {
                    producer: Some(done.producer),
                    added_changes: Some(&[done.change]),
                    created_at: Some(at_ms),
                    updated_at: Some(at_ms),
                    ..NewTrajectory::default()
                };
                let first = first.encode(self.limits).map_err(object_error(Family::Trajectory))?;
                line_of.push(Some(lines.len()));
                lines.push(Line {
                    name: None,
                    producer: Some(done.producer),
                    previous: first.id,
                    first: Some(first),
                    more: Vec::new(),
                    last_ms: at_ms,
                });
            }
        }
        Ok((lines, line_of))
    }

    /// The trajectories that hold the changes this run stands on.
    fn known_lines(&self, refs: &Refs) -> Result<HashMap<Gid, KnownLine>> {
        let mut wanted: HashSet<Gid> = HashSet::new();
        for (commit, done) in self.selection.commits.iter().zip(self.done) {
            wanted.extend(done.relinked.then_some(done.change));
            if let Some(Parent::Known(change)) = commit.parents.first() {
                wanted.insert(*change);
            }
        }
        let mut found = HashMap::new();
        if wanted.is_empty() {
            return Ok(found);
        }
        let store = self.repo.store();
        for (name, value) in refs.scan(Kind::Trajectory.namespace())? {
            let (Some((Kind::Trajectory, _)), Ok(RefValue::Id(version))) = (Kind::of_name(&name), value)
            else {
                continue;
            };
            let (mut next, mut producer) = (Some(version), None);
            while let Some(id) = next {
                let bytes = store.read(&id)?;
                let Ok(trajectory) = Trajectory::decode(&bytes, self.limits) else { break };
                producer = trajectory.producer().or(producer);
                let changes = trajectory.added_changes();
                for change in changes.iter().filter(|change| wanted.contains(change)) {
                    found.entry(change).or_insert_with(|| KnownLine {
                        name: name.clone(),
                        version,
                        producer,
                    });
                }
                next = trajectory.previous();
            }
        }
        Ok(found)
    }

    /// Writes the versions of a line that are new; answers the latest.
    fn versions(&self, line: &Line, put: &dyn Fn(Encoded) -> Result<Gid>) -> Result<Gid> {
        let mut latest = line.previous;
        if let Some(first) = &line.first {
            put(first.clone())?;
        }
        for changes in line.more.chunks(CHANGES_PER_VERSION) {
            let version = NewTrajectory {
                previous: Some(latest),
                producer: line.producer,
                added_changes: Some(changes),
                created_at: Some(line.last_ms),
                updated_at: Some(line.last_ms),
                ..NewTrajectory::default()
            };
            latest = put(version.encode(self.limits).map_err(object_error(Family::Trajectory))?)?;
        }
        Ok(latest)
    }

    /// The refs that the way back restores, as text.
    fn refs_text(&self) -> Vec<u8> {
        let format = match self.source.kind {
            gix::hash::Kind::Sha256 => "sha256",
            _ => "sha1",
        };
        let head = match (&self.options.head, &self.source.head) {
            (Some(_), _) => self.tip.map(|tip| tip.to_string()).unwrap_or_default().into(),
            (None, Head::Branch(name)) => name.clone(),
            (None, Head::Detached(id)) => id.to_string().into(),
        };
        let mut text = format!("object-format {format}\nHEAD ").into_bytes();
        text.extend_from_slice(&head);
        text.push(b'\n');
        for (name, id) in self.taken {
            text.extend_from_slice(format!("{id} ").as_bytes());
            text.extend_from_slice(name);
            text.push(b'\n');
        }
        text
    }

    /// Refuses to publish what another run has published meanwhile: names would be given twice.
    fn check_unmapped(&self, refs: &Refs) -> Result<()> {
        for commit in &self.selection.commits {
            if refs.get(&format!("{COMMITS}{}", commit.id))?.is_some() {
                let reason =
                    format!("another import has brought in commit {} meanwhile; run again", commit.id);
                return Err(GitError::Refused { reason });
            }
        }
        Ok(())
    }

    /// Change, state and place of the tip.
    fn tip_change(&self) -> Result<Option<(Gid, Gid, Option<usize>)>> {
        let Some(tip) = self.tip else { return Ok(None) };
        if let Some(at) = self.selection.commits.iter().rposition(|commit| commit.id == tip) {
            return Ok(self.done.get(at).map(|done| (done.change, done.state, Some(at))));
        }
        let Some(change) = self.selection.known.get(&tip) else { return Ok(None) };
        let bytes = self.repo.store().read(change)?;
        let decoded = gemel_object::families::Change::decode(&bytes, self.limits);
        let state = decoded.ok().and_then(|change| change.resulting_state());
        Ok(state.map(|state| (*change, state, None)))
    }

    /// Moves head to the tip's change if there is none, or if it leads there.
    fn head(
        &self,
        refs: &Refs,
        tip: Option<(Gid, Gid, Option<usize>)>,
        line_of: &[Option<usize>],
        line_ids: &[Gid],
        edits: &mut Vec<(String, Gid)>,
    ) -> Result<HeadOutcome> {
        let Some((change, state, place)) = tip else { return Ok(HeadOutcome::Kept) };
        let outcome = match refs.get("refs/head")? {
            None => HeadOutcome::Set,
            Some(head) if head == change => return Ok(HeadOutcome::Kept),
            Some(head) if self.leads(&head, place)? || leads_to(self.repo, &head, &change)? => {
                HeadOutcome::Advanced
            }
            Some(_) => return Ok(HeadOutcome::Kept),
        };
        edits.push(("refs/head".to_owned(), change));
        edits.push(("refs/state/head".to_owned(), state));
        let line =
            place.and_then(|at| line_of.get(at).copied().flatten()).and_then(|line| line_ids.get(line));
        if let Some(id) = line {
            edits.push(("refs/trajectories/current".to_owned(), *id));
        }
        Ok(outcome)
    }

    /// Whether `head` is among the ancestors that this run looked at.
    fn leads(&self, head: &Gid, place: Option<usize>) -> Result<bool> {
        let Some(place) = place else { return Ok(false) };
        let mut seen = vec![false; self.done.len()];
        let mut stack = vec![place];
        while let Some(at) = stack.pop() {
            let (Some(commit), Some(flag)) = (self.selection.commits.get(at), seen.get_mut(at)) else {
                continue;
            };
            if std::mem::replace(flag, true) {
                continue;
            }
            if self.done.get(at).is_some_and(|done| done.change == *head) {
                return Ok(true);
            }
            for parent in &commit.parents {
                match parent {
                    Parent::Selected(place) => stack.push(*place as usize),
                    Parent::Known(change) if change == head => return Ok(true),
                    Parent::Known(_) => {}
                }
            }
        }
        Ok(false)
    }
}

/// A trajectory of before.
struct KnownLine {
    /// Full name.
    name: String,
    version: Gid,
    producer: Option<Gid>,
}
