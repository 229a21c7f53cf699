//! `trajectory close`: an attempt ends, and leaves what the next one needs to know (workflow, section 5).

use super::{cannot_make, non_empty, put, said, texts};
use crate::facts::{Omitted, Uncertainty};
use crate::history::nodes;
use crate::knowledge::handoff::{self, Added, Derived};
use crate::knowledge::world::World;
use crate::knowledge::{HandoffFacts, Session};
use crate::names::{Accept, Kind, resolve_in};
use crate::{RepoError, Result};
use gemel_object::families::{NewHandoff, NewTrajectory, Trajectory};
use gemel_object::{Encoded, Family, Gid, Limits, TrajectoryOutcome};
use gemel_store::Transaction;

/// The current trajectory's ref.
const CURRENT: &str = "refs/trajectories/current";

/// What `trajectory close` is told.
#[derive(Clone, Debug, Default)]
pub struct CloseOptions {
    /// The trajectory: its name or any version.
    pub trajectory: String,
    /// How it ended: `completed`, `abandoned`, `superseded`, `rejected`, `inconclusive` or `interrupted`.
    pub outcome: String,
    /// Why.
    pub reason: Option<String>,
    /// Summary of the handoff; derived when absent.
    pub handoff_summary: Option<String>,
    /// Steps to add to those derived.
    pub next_steps: Vec<String>,
    /// Whose trajectory it is from now on; as before when absent.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// A closed trajectory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseFacts {
    /// Its name.
    pub name: String,
    /// The version that was the newest.
    pub previous: Gid,
    /// The version that closes it.
    pub version: Gid,
    /// How it ended.
    pub outcome: &'static str,
    /// Why.
    pub reason: Option<String>,
    /// What the next attempt needs to know.
    pub handoff: HandoffFacts,
    /// What caps cut off.
    pub omitted: Vec<Omitted>,
    /// Evidence whose freshness is not known for sure.
    pub uncertainty: Vec<Uncertainty>,
}

/// Closes a trajectory.
///
/// # Errors
/// `Unresolved`, `WrongFamily`, `EnumValue`; `Invalid` when it is closed already; `Store`, `CorruptObject`. Nothing is
/// then recorded.
pub fn close(session: &mut Session<'_>, options: &CloseOptions) -> Result<CloseFacts> {
    let repo = session.repo();
    let outcome = TrajectoryOutcome::from_text(&options.outcome).ok_or_else(|| RepoError::EnumValue {
        field: "outcome",
        value: options.outcome.clone(),
        allowed: TrajectoryOutcome::SET.values,
    })?;
    if options.next_steps.iter().any(|step| step.trim().is_empty()) {
        return Err(RepoError::invalid("--next-step is empty"));
    }
    let world = session.world()?;
    let limits = repo.limits(&world.refs)?;
    let producer = options.producer.as_deref();
    let producer = producer
        .map(|text| resolve_in(repo, &world.refs, text, Accept::only(Family::Producer)))
        .transpose()?;
    let newest = world.newest_trajectory(repo, &options.trajectory)?;
    let closing = Closing { options, outcome, producer, limits: &limits };
    let mut made = closing.make(world, &newest.name, &newest.node.id)?;

    let writer = repo.store().writer()?;
    let mut transaction = repo.store().transaction()?;
    let full = format!("{}{}", Kind::Trajectory.namespace(), newest.name);
    let now = transaction.refs().get(&full)?.unwrap_or(newest.node.id);
    let mut previous = newest.node.id;
    if now != previous {
        // Somebody added to it before the lock was ours.
        let mut world = World::new(repo.store(), transaction.refs().clone());
        made = closing.make(&mut world, &newest.name, &now)?;
        previous = now;
    }
    put(&writer, &made.version)?;
    writer.commit()?;
    let version = made.version.id;
    transaction.set(full, version);
    if is_current(&mut transaction, world, &previous)? {
        transaction.set(CURRENT, version);
    }
    transaction.commit("trajectory close", options.now_ms)?;
    let Derived { mut handoff, omitted, uncertainty } = made.derived;
    handoff.derived = false;
    Ok(CloseFacts {
        name: newest.name,
        previous,
        version,
        outcome: outcome.as_str(),
        reason: said(&options.reason).map(str::to_owned),
        handoff,
        omitted,
        uncertainty,
    })
}

/// Whether the current trajectory is the one that ends with `previous`.
fn is_current(transaction: &mut Transaction, world: &mut World<'_>, previous: &Gid) -> Result<bool> {
    match transaction.refs().get(CURRENT)? {
        Some(current) if current == *previous => Ok(true),
        Some(current) => Ok(world.graph.versions(previous)?.contains(&current)),
        None => Ok(false),
    }
}

/// The arguments, read.
struct Closing<'a> {
    options: &'a CloseOptions,
    outcome: TrajectoryOutcome,
    producer: Option<Gid>,
    limits: &'a Limits,
}

/// The closing version.
struct Made {
    version: Encoded,
    derived: Derived,
}

impl Closing<'_> {
    /// Makes the version that follows `newest`.
    fn make(&self, world: &mut World<'_>, name: &str, newest: &Gid) -> Result<Made> {
        let Some(node) = world.graph.trajectory(newest)? else {
            return Err(RepoError::Store(gemel_store::StoreError::NotFound { id: *newest }));
        };
        if let Some(outcome) = node.outcome {
            let detail =
                format!("{name} is closed as {} already; a closed trajectory is final", outcome.as_str());
            return Err(RepoError::Invalid { detail, ids: vec![*newest] });
        }
        let added =
            Added { summary: said(&self.options.handoff_summary), next_steps: &self.options.next_steps };
        let derived = handoff::derive(world, newest, Some(self.outcome), added)?;
        let (producer, agent_run) = nodes::read(world.store(), newest, |object| {
            let version = Trajectory::view(object)?;
            Ok((version.producer(), version.agent_run()))
        })?;
        let version = NewTrajectory {
            previous: Some(*newest),
            intent: node.intent,
            base_state: node.base,
            producer: self.producer.or(producer),
            agent_run,
            outcome: Some(self.outcome),
            termination_reason: said(&self.options.reason),
            handoff: Some(record(&derived.handoff)),
            created_at: Some(node.created_at_ms.unwrap_or(self.options.now_ms)),
            updated_at: Some(self.options.now_ms),
            ..NewTrajectory::default()
        };
        let version = version.encode(self.limits).map_err(cannot_make(Family::Trajectory))?;
        Ok(Made { version, derived })
    }
}

fn record(handoff: &HandoffFacts) -> NewHandoff<'_> {
    NewHandoff {
        summary: handoff.summary.as_deref(),
        completed: texts(&handoff.completed),
        remaining: texts(&handoff.remaining),
        open_residuals: non_empty(&handoff.open_residuals),
        important_evidence: non_empty(&handoff.important_evidence),
        recommended_objects: non_empty(&handoff.recommended_objects),
        next_steps: texts(&handoff.next_steps),
        ..NewHandoff::default()
    }
}
