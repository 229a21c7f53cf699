//! `checkpoint`: where work can be taken up again (workflow, section 9). Derived, then stored as it was found.

use super::{cannot_make, non_empty, put, said, texts};
use crate::facts::{Omitted, Reference, Uncertainty};
use crate::history::summary::{reference, summary};
use crate::history::{nodes, view};
use crate::knowledge::Session;
use crate::knowledge::assess::{Assessment, assess};
use crate::knowledge::handoff;
use crate::knowledge::scope::ScopeKind;
use crate::knowledge::world::World;
use crate::names::{Accept, Allocator, Kind, Namer, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::families::{Checkpoint, NewCheckpoint};
use gemel_object::{Encoded, Family, Gid, Limits};
use gemel_store::{RefValue, Refs};
use std::collections::BTreeSet;

/// The newest checkpoint's ref.
const CURRENT: &str = "refs/checkpoints/current";

/// Claims, residuals, evidence and lines of continuation kept at most.
const MAX_ROWS: usize = 16;
/// Decisions and attempts kept at most.
const MAX_BACKGROUND: usize = 8;

/// What `checkpoint` is told.
#[derive(Clone, Debug, Default)]
pub struct CheckpointOptions {
    /// What it is; derived when absent.
    pub summary: Option<String>,
    /// Who makes it; the default producer when absent.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// A checkpoint with what it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFacts {
    /// The checkpoint.
    pub id: Gid,
    /// Its name.
    pub name: Option<String>,
    /// The one before it.
    pub previous: Option<Gid>,
    /// What it is.
    pub summary: String,
    /// What is worked on.
    pub intent: Option<Reference>,
    /// The attempt.
    pub trajectory: Option<Reference>,
    /// The head state.
    pub state: Option<Reference>,
    /// Claims that are not settled.
    pub open_claims: Vec<Reference>,
    /// Residuals that are not settled.
    pub unresolved_residuals: Vec<Reference>,
    /// The trajectory's evidence, in the order in which it was recorded.
    pub important_evidence: Vec<Reference>,
    /// Head and what it comes from, newest first.
    pub recent_decisions: Vec<Reference>,
    /// Other attempts at the same intent.
    pub relevant_attempts: Vec<Reference>,
    /// What to go on with.
    pub continuation_scope: Vec<String>,
    /// When it was made, Unix milliseconds.
    pub created_at_ms: Option<i64>,
    /// What the caps cut off.
    pub omitted: Vec<Omitted>,
    /// Evidence whose freshness is not known for sure.
    pub uncertainty: Vec<Uncertainty>,
}

/// Derives a checkpoint and records it.
///
/// # Errors
/// `Unresolved`, `WrongFamily`, `Store`, `CorruptObject`. Nothing is then recorded.
pub fn checkpoint(session: &mut Session<'_>, options: &CheckpointOptions) -> Result<CheckpointFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let limits = repo.limits(&world.refs)?;
    let producer = repo.producer(&world.refs, options.producer.as_deref(), None)?;
    let found = Found::derive(world)?;
    let line = match said(&options.summary) {
        Some(given) => given.to_owned(),
        None => derived_summary(world, found.intent)?,
    };

    let writer = repo.store().writer()?;
    let mut transaction = repo.store().transaction()?;
    let previous = transaction.refs().get(CURRENT)?;
    let made = found.encode(&line, previous, producer, options.now_ms, &limits)?;
    put(&writer, &made)?;
    writer.commit()?;
    let mut names = Allocator::new(transaction.refs());
    let name = names.next(Kind::Checkpoint)?;
    transaction.set(name.full, made.id);
    transaction.set(CURRENT, made.id);
    names.save(&mut transaction);
    transaction.commit("checkpoint", options.now_ms)?;
    let mut facts = read(repo, &repo.store().refs()?, made.id)?;
    facts.name = Some(name.short);
    facts.omitted = found.omitted;
    facts.uncertainty = found.uncertainty;
    Ok(facts)
}

/// The checkpoint that `text` names.
///
/// # Errors
/// `Unresolved`, `WrongFamily`, `Store`, `CorruptObject`.
pub fn checkpoint_show(repo: &Repo, text: &str) -> Result<CheckpointFacts> {
    let refs = repo.store().refs()?;
    let id = resolve_in(repo, &refs, text, Accept::only(Family::Checkpoint))?;
    read(repo, &refs, id)
}

/// The newest checkpoint.
///
/// # Errors
/// `Unresolved` when there is none; `Store`, `CorruptObject`.
pub fn checkpoint_current(repo: &Repo) -> Result<CheckpointFacts> {
    let refs = repo.store().refs()?;
    match refs.get(CURRENT)? {
        Some(id) => read(repo, &refs, id),
        None => Err(RepoError::Unresolved { text: CURRENT.to_owned(), suggestions: Vec::new() }),
    }
}

/// Every named checkpoint with its summary, ascending by identity.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn checkpoint_list(repo: &Repo) -> Result<Vec<Reference>> {
    let refs = repo.store().refs()?;
    let mut rows = Vec::new();
    for (full, value) in refs.scan(Kind::Checkpoint.namespace())? {
        if let (Some((Kind::Checkpoint, number)), Ok(RefValue::Id(id))) = (Kind::of_name(&full), value) {
            let name = Some(format!("{}{number}", Kind::Checkpoint.prefix()));
            rows.push(Reference { id, name, summary: summary(repo.store(), &id)? });
        }
    }
    rows.sort_by_key(|row| row.id);
    Ok(rows)
}

fn derived_summary(world: &World<'_>, intent: Option<Gid>) -> Result<String> {
    let intent = intent.map(|id| summary(world.store(), &id)).transpose()?.flatten();
    Ok(match intent {
        Some(intent) => format!("continue: {intent}"),
        None => "continue current work".to_owned(),
    })
}

/// What a checkpoint holds.
struct Found {
    intent: Option<Gid>,
    trajectory: Option<Gid>,
    state: Option<Gid>,
    open_claims: Vec<Gid>,
    residuals: Vec<Gid>,
    evidence: Vec<Gid>,
    decisions: Vec<Gid>,
    attempts: Vec<Gid>,
    continuation: Vec<String>,
    omitted: Vec<Omitted>,
    uncertainty: Vec<Uncertainty>,
}

impl Found {
    fn derive(world: &mut World<'_>) -> Result<Found> {
        let known = assess(world, ScopeKind::Default)?;
        let trajectory = world.refs.get("refs/trajectories/current")?;
        // What is unresolved is the trajectory's own; what it rests on, head's history.
        let own = trajectory.map(|id| assess(world, ScopeKind::Of(id))).transpose()?;
        let head = trajectory.map(|id| world.graph.trajectory_head(&id)).transpose()?.flatten();
        let intent = head.and_then(|head| head.intent).or(known.intent);
        let mut caps = Caps::default();
        let open_claims = handoff::open_claims(&known).map(|claim| claim.node.id).collect();
        let residuals = own.iter().flat_map(|own| handoff::unsettled(own)).collect();
        let evidence = match trajectory {
            Some(id) => recorded_evidence(world, &id)?,
            None => Vec::new(),
        };
        let (decisions, older) = decisions(world)?;
        caps.note("decision", older);
        let attempts = attempts(world, intent, trajectory)?;
        let continuation = continuation(world, &known, own.as_deref())?;
        Ok(Found {
            intent,
            trajectory,
            state: world.refs.get("refs/state/head")?,
            open_claims: caps.cut("claim", open_claims, MAX_ROWS),
            residuals: caps.cut("residual", residuals, MAX_ROWS),
            evidence: caps.cut("evidence", evidence, MAX_ROWS),
            decisions,
            attempts: caps.cut("attempt", attempts, MAX_BACKGROUND),
            continuation: caps.cut("continuation", continuation, MAX_ROWS),
            omitted: caps.omitted,
            uncertainty: known.uncertainty.clone(),
        })
    }

    fn encode(
        &self,
        summary: &str,
        previous: Option<Gid>,
        producer: Gid,
        now_ms: i64,
        limits: &Limits,
    ) -> Result<Encoded> {
        let checkpoint = NewCheckpoint {
            previous,
            summary: Some(summary),
            intent: self.intent,
            trajectory: self.trajectory,
            state: self.state,
            open_claims: non_empty(&self.open_claims),
            unresolved_residuals: non_empty(&self.residuals),
            important_evidence: non_empty(&self.evidence),
            recent_decisions: non_empty(&self.decisions),
            relevant_attempts: non_empty(&self.attempts),
            continuation_scope: texts(&self.continuation),
            producer: Some(producer),
            created_at: Some(now_ms),
            ..NewCheckpoint::default()
        };
        checkpoint.encode(limits).map_err(cannot_make(Family::Checkpoint))
    }
}

/// What the caps cut off.
#[derive(Default)]
struct Caps {
    omitted: Vec<Omitted>,
}

impl Caps {
    fn cut<T: ToString>(&mut self, class: &'static str, mut list: Vec<T>, most: usize) -> Vec<T> {
        let rest: Vec<String> = list.iter().skip(most).map(T::to_string).collect();
        self.note(class, rest);
        list.truncate(most);
        list
    }

    fn note(&mut self, class: &'static str, rest: Vec<String>) {
        if !rest.is_empty() {
            self.omitted.push(view::omitted_list(class, "limit", rest));
        }
    }
}

/// Evidence that the versions of a trajectory list, oldest first, each once.
fn recorded_evidence(world: &mut World<'_>, newest: &Gid) -> Result<Vec<Gid>> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for version in world.graph.versions(newest)?.iter().rev() {
        if let Some(node) = world.graph.trajectory(version)? {
            found.extend(node.evidence.iter().copied().filter(|id| seen.insert(*id)));
        }
    }
    Ok(found)
}

/// Head and its first parents, newest first, and the first few beyond the cap.
fn decisions(world: &mut World<'_>) -> Result<(Vec<Gid>, Vec<String>)> {
    let mut line: Vec<Gid> = Vec::new();
    let mut next = world.refs.get("refs/head")?;
    while let Some(id) = next
        && line.len() < MAX_BACKGROUND
        && !line.contains(&id)
        && let Some(change) = world.change(&id)?
    {
        next = change.parents.first().copied();
        line.push(id);
    }
    // How far the line goes on is not walked: that there is more is told with the change it goes on with.
    let older = next.filter(|_| line.len() == MAX_BACKGROUND).map(|id| id.to_string());
    Ok((line, older.into_iter().collect()))
}

/// Other trajectories with the intent, newest versions, ascending.
fn attempts(world: &mut World<'_>, intent: Option<Gid>, current: Option<Gid>) -> Result<Vec<Gid>> {
    let mut found = Vec::new();
    if intent.is_none() {
        return Ok(found);
    }
    // `current` may stand at an older version of a named one.
    let own = current.map(|id| world.chain_of(&id)).transpose()?.flatten().map(|named| named.id);
    for named in world.trajectories()?.iter().filter(|named| Some(named.id) != own) {
        if world.graph.trajectory_head(&named.id)?.is_some_and(|head| head.intent == intent) {
            found.push(named.id);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// What to go on with: residuals of the trajectory, claims in scope, and evidence that may require refresh.
fn continuation(world: &mut World<'_>, known: &Assessment, own: Option<&Assessment>) -> Result<Vec<String>> {
    let mut lines = handoff::verify_lines(known);
    if let Some(own) = own {
        lines.extend(handoff::resolve_lines(world, own)?);
    }
    for (claim, derived) in known.scope.claims.iter().zip(&known.statuses) {
        for id in &derived.stale {
            let subject = world.evidence(id)?.and_then(|node| node.subject.clone());
            let subject = subject.or_else(|| claim.node.subject.clone());
            lines.extend(subject.map(|subject| format!("refresh: {subject}")));
        }
    }
    Ok(lines.into_iter().collect())
}

/// The objects a stored checkpoint refers to.
struct Refers {
    previous: Option<Gid>,
    summary: String,
    single: [Option<Gid>; 3],
    lists: [Vec<Gid>; 5],
    continuation: Vec<String>,
    created_at_ms: Option<i64>,
}

fn read(repo: &Repo, refs: &Refs, id: Gid) -> Result<CheckpointFacts> {
    let store = repo.store();
    let held = nodes::read(store, &id, |object| {
        let checkpoint = Checkpoint::view(object)?;
        Ok(Refers {
            previous: checkpoint.previous(),
            summary: checkpoint.summary().to_owned(),
            single: [checkpoint.intent(), checkpoint.trajectory(), checkpoint.state()],
            lists: [
                checkpoint.open_claims().iter().collect(),
                checkpoint.unresolved_residuals().iter().collect(),
                checkpoint.important_evidence().iter().collect(),
                checkpoint.recent_decisions().iter().collect(),
                checkpoint.relevant_attempts().iter().collect(),
            ],
            continuation: checkpoint.continuation_scope().iter().map(str::to_owned).collect(),
            created_at_ms: checkpoint.created_at(),
        })
    })?;
    let all = held.single.iter().flatten().chain(held.lists.iter().flatten());
    let namer = Namer::find(store, refs, all.copied().chain([id]))?;
    let one = |id: Option<Gid>| id.map(|id| reference(store, &namer, id)).transpose();
    let many = |ids: &[Gid]| ids.iter().map(|id| reference(store, &namer, *id)).collect::<Result<Vec<_>>>();
    let [intent, trajectory, state] = held.single;
    let [claims, residuals, evidence, decisions, attempts] = &held.lists;
    Ok(CheckpointFacts {
        id,
        name: namer.get(&id),
        previous: held.previous,
        summary: held.summary,
        intent: one(intent)?,
        trajectory: one(trajectory)?,
        state: one(state)?,
        open_claims: many(claims)?,
        unresolved_residuals: many(residuals)?,
        important_evidence: many(evidence)?,
        recent_decisions: many(decisions)?,
        relevant_attempts: many(attempts)?,
        continuation_scope: held.continuation,
        created_at_ms: held.created_at_ms,
        omitted: Vec::new(),
        uncertainty: Vec::new(),
    })
}
