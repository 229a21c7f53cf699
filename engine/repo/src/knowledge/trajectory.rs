//! `trajectory` and `trajectory list` (query surface, section 4.7).

use crate::Result;
use crate::facts::{Named, Omitted, Page, Uncertainty};
use crate::history::graph::{ChangeSet, stored};
use crate::history::nodes;
use crate::history::view;
use crate::knowledge::handoff::{self, Added};
use crate::knowledge::lists::{Window, outcome_word, page};
use crate::knowledge::session::Session;
use crate::knowledge::world::World;
use crate::names::{Accept, Namer, resolve_in};
use gemel_object::families::{Change, Handoff, Intent, Trajectory};
use gemel_object::{Family, Gid};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Changes and versions told at most, the newest ones. `log --trajectory` pages through all of them.
const MAX_STEPS: usize = 1000;

/// A trajectory, all versions together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrajectoryFacts {
    /// Its newest version.
    pub id: Gid,
    /// `T1`.
    pub name: Option<String>,
    /// What it pursues.
    pub intent: Option<Named>,
    /// The intent in words.
    pub intent_summary: Option<String>,
    /// Where it began.
    pub base_state: Option<Gid>,
    /// How it was closed; `incomplete` when it is open.
    pub outcome: &'static str,
    /// Why.
    pub termination_reason: Option<String>,
    /// Its changes in order of work.
    pub sequence: Vec<StepFacts>,
    /// Evidence it lists, ascending.
    pub evidence: Vec<Gid>,
    /// Residuals it lists, newest versions, ascending.
    pub residuals: Vec<Gid>,
    /// What the next worker needs to know.
    pub handoff: Option<HandoffFacts>,
    /// Runs that its versions and changes name, ascending.
    pub agent_runs: Vec<Gid>,
    /// All its versions, ascending.
    pub versions: Vec<Gid>,
    /// When its first version was recorded, Unix milliseconds.
    pub created_at_ms: Option<i64>,
    /// When its newest version was recorded, Unix milliseconds.
    pub updated_at_ms: Option<i64>,
    /// Changes that are listed but not stored.
    pub omitted: Vec<Omitted>,
    /// What is not known of it.
    pub uncertainty: Vec<Uncertainty>,
}

/// A change of a trajectory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFacts {
    /// The change.
    pub change: Gid,
    /// Its name.
    pub name: Option<String>,
    /// What it did.
    pub summary: String,
    /// Its result.
    pub state: Option<Gid>,
}

/// A handoff; each list sorted and without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffFacts {
    /// In a sentence.
    pub summary: Option<String>,
    /// What holds.
    pub completed: Vec<String>,
    /// What is left to do.
    pub remaining: Vec<String>,
    /// What is unresolved.
    pub open_residuals: Vec<Gid>,
    /// What the claims rest on.
    pub important_evidence: Vec<Gid>,
    /// What to look at first.
    pub recommended_objects: Vec<Gid>,
    /// What to do.
    pub next_steps: Vec<String>,
    /// Whether it was computed for this answer rather than recorded.
    pub derived: bool,
}

/// Shows a trajectory as it is now, whichever of its versions is named.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `WrongFamily`, `Store`, `CorruptObject`.
pub fn trajectory(session: &mut Session<'_>, text: &str) -> Result<TrajectoryFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let given = resolve_in(repo, &world.refs, text, Accept::only(Family::Trajectory))?;
    let id = world.newest_version(&given)?;
    let versions = world.graph.versions(&id)?;
    let mut runs = BTreeSet::new();
    let mut facts = nodes::read(world.store(), &id, |object| {
        let version = Trajectory::view(object)?;
        Ok(TrajectoryFacts {
            id,
            name: None,
            intent: version.intent().map(|id| Named { id, name: None }),
            intent_summary: None,
            base_state: version.base_state(),
            outcome: outcome_word(version.outcome()),
            termination_reason: version.termination_reason().map(str::to_owned),
            sequence: Vec::new(),
            evidence: Vec::new(),
            residuals: Vec::new(),
            handoff: version.handoff().as_ref().map(recorded),
            agent_runs: Vec::new(),
            versions: Vec::new(),
            created_at_ms: version.created_at(),
            updated_at_ms: version.updated_at(),
            omitted: Vec::new(),
            uncertainty: Vec::new(),
        })
    })?;
    let mut missing = BTreeSet::new();
    let mut room = MAX_STEPS;
    for version in versions.iter().take(MAX_STEPS) {
        runs.extend(nodes::read(world.store(), version, |object| Ok(Trajectory::view(object)?.agent_run()))?);
        let Some(node) = world.graph.trajectory(version)? else { continue };
        for change in node.changes.iter().rev() {
            if room == 0 {
                break;
            }
            room -= 1;
            match step(world, change)? {
                Some((step, run)) => {
                    facts.sequence.push(step);
                    runs.extend(run);
                }
                None => drop(missing.insert(*change)),
            }
        }
    }
    facts.sequence.reverse();
    facts.omitted = left_out(world, &id, &versions)?;
    if let Some(first) = versions.last() {
        facts.created_at_ms =
            nodes::read(world.store(), first, |object| Ok(Trajectory::view(object)?.created_at()))?;
    }
    let (evidence, residuals) = world.graph.listed_besides(&id)?;
    facts.evidence = evidence.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    facts.residuals = world.newest_residual_ids(&residuals)?;
    facts.agent_runs = runs.into_iter().collect();
    facts.versions = versions.into_iter().take(MAX_STEPS).collect();
    facts.versions.sort_unstable();
    facts.uncertainty.extend(absent(&missing));
    let outcome = world.graph.trajectory_head(&id)?.and_then(|head| head.outcome);
    if outcome.is_none() || facts.handoff.is_none() {
        let derived = handoff::derive(world, &id, outcome, Added::default())?;
        facts.handoff = Some(derived.handoff);
        facts.omitted.extend(derived.omitted);
        facts.uncertainty.extend(derived.uncertainty);
    }
    name(world, &mut facts)?;
    Ok(facts)
}

/// A change as a step; `None` when it is not stored.
fn step(world: &World<'_>, change: &Gid) -> Result<Option<(StepFacts, Option<Gid>)>> {
    stored(nodes::read(world.store(), change, |object| {
        let view = Change::view(object)?;
        let summary = view.summary().to_owned();
        let step = StepFacts { change: *change, name: None, summary, state: view.resulting_state() };
        Ok((step, view.agent_run()))
    }))
}

/// How much of a long trajectory is not told.
fn left_out(world: &mut World<'_>, id: &Gid, versions: &[Gid]) -> Result<Vec<Omitted>> {
    let mut changes = ChangeSet::default();
    world.graph.include_sequence(&mut changes, id)?;
    let beyond = |class: &'static str, all: usize| view::left_out(class, all.saturating_sub(MAX_STEPS));
    let all = changes.len() + changes.missing.len();
    Ok(beyond("change", all).into_iter().chain(beyond("trajectory", versions.len())).collect())
}

fn absent(missing: &BTreeSet<Gid>) -> Option<Uncertainty> {
    (!missing.is_empty()).then(|| Uncertainty {
        class: "history",
        ids: missing.iter().map(Gid::to_string).collect(),
        reason: format!("{} change(s) are listed but not stored here", missing.len()),
    })
}

fn name(world: &mut World<'_>, facts: &mut TrajectoryFacts) -> Result<()> {
    let ids = facts.sequence.iter().map(|step| step.change).chain([facts.id]);
    let namer =
        Namer::find(world.store(), &world.refs, ids.chain(facts.intent.as_ref().map(|named| named.id)))?;
    facts.name = namer.get(&facts.id);
    facts.sequence.iter_mut().for_each(|step| step.name = namer.get(&step.change));
    if let Some(intent) = &mut facts.intent {
        intent.name = namer.get(&intent.id);
        facts.intent_summary = world.intent_summary(&intent.id)?;
    }
    Ok(())
}

/// A handoff as it was recorded.
pub(crate) fn recorded(handoff: &Handoff<'_>) -> HandoffFacts {
    HandoffFacts {
        summary: handoff.summary().map(str::to_owned),
        completed: handoff.completed().iter().map(str::to_owned).collect(),
        remaining: handoff.remaining().iter().map(str::to_owned).collect(),
        open_residuals: handoff.open_residuals().iter().collect(),
        important_evidence: handoff.important_evidence().iter().collect(),
        recommended_objects: handoff.recommended_objects().iter().collect(),
        next_steps: handoff.next_steps().iter().map(str::to_owned).collect(),
        derived: false,
    }
}

/// What `trajectory list` is told.
#[derive(Clone, Debug, Default)]
pub struct TrajectoryListOptions {
    /// Only those that are not closed.
    pub open: bool,
    /// Only those that pursue this intent, in any accepted form.
    pub intent: Option<String>,
    /// Which part of the list.
    pub window: Window,
}

/// A trajectory in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrajectoryRow {
    /// Its newest version.
    pub id: Gid,
    /// `T1`.
    pub name: String,
    /// What it pursues.
    pub intent: Option<Gid>,
    /// The intent in words.
    pub intent_summary: Option<String>,
    /// How it was closed; `incomplete` when it is open.
    pub outcome: &'static str,
    /// Whether it is the one that is worked on.
    pub current: bool,
    /// Number of its changes.
    pub changes: u64,
    /// When its newest version was recorded, Unix milliseconds.
    pub updated_at_ms: i64,
}

/// A page of trajectories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrajectoryListFacts {
    /// The rows: by start, newest first, then by identity.
    pub rows: Vec<TrajectoryRow>,
    /// Which part of the list they are.
    pub page: Page,
}

/// Lists named trajectories.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `WrongFamily` (intent), `Invalid` (limit 0), `Store`, `CorruptObject`.
pub fn trajectory_list(
    session: &mut Session<'_>,
    options: &TrajectoryListOptions,
) -> Result<TrajectoryListFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let intent = match &options.intent {
        Some(text) => Some(resolve_in(repo, &world.refs, text, Accept::only(Family::Intent))?),
        None => None,
    };
    let current = world.refs.get("refs/trajectories/current")?;
    let mut ranked = Vec::new();
    for named in world.trajectories()?.iter() {
        let Some(head) = world.graph.trajectory_head(&named.id)? else { continue };
        if options.open && head.outcome.is_some() || intent.is_some() && head.intent != intent {
            continue;
        }
        ranked.push((Reverse(world.started_at(&named.id)?), named.id));
    }
    ranked.sort_unstable();
    let ids: Vec<Gid> = ranked.into_iter().map(|(_, id)| id).collect();
    let (rows, page) = page(&ids, &options.window, |id| {
        let Some(attempt) = world.attempt(id, false)? else { return Ok(None) };
        let updated_at_ms = world.graph.trajectory_head(id)?.map_or(0, |head| head.updated_at_ms);
        let intent_summary = attempt.intent.map(|id| world.intent_summary(&id)).transpose()?.flatten();
        Ok(Some(TrajectoryRow {
            id: *id,
            name: attempt.name,
            intent: attempt.intent,
            intent_summary,
            outcome: attempt.outcome,
            current: current == Some(*id),
            changes: attempt.changes,
            updated_at_ms,
        }))
    })?;
    Ok(TrajectoryListFacts { rows, page })
}

impl World<'_> {
    /// The newest version of the named trajectory that a version belongs to; one of no named trajectory is its own.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn newest_version(&mut self, version: &Gid) -> Result<Gid> {
        let place = self.versions()?.get(version).copied();
        let named = self.trajectories()?;
        Ok(place.and_then(|place| named.get(place)).map_or(*version, |named| named.id))
    }

    /// An intent in words; `None` when it is not stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn intent_summary(&self, id: &Gid) -> Result<Option<String>> {
        stored(nodes::read(self.store(), id, |object| Ok(Intent::view(object)?.summary().to_owned())))
    }
}
