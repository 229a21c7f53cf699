//! `attempts`: who tried before (query surface, section 4.6).

use super::page::{Window, page};
use crate::Result;
use crate::facts::{Page, Uncertainty};
use crate::history::graph::ChangeSet;
use crate::history::nodes;
use crate::knowledge::assess::assess;
use crate::knowledge::handoff;
use crate::knowledge::scope::ScopeKind;
use crate::knowledge::session::Session;
use crate::knowledge::subject::Subject;
use crate::knowledge::world::World;
use gemel_object::families::Trajectory;
use gemel_object::{Family, Gid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// What `attempts` is told.
#[derive(Clone, Debug, Default)]
pub struct AttemptsOptions {
    /// What was attempted: a path, an entity, an object.
    pub subject: String,
    /// Which part of the list.
    pub window: Window,
}

/// A trajectory as an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptEntry {
    /// Its newest version.
    pub trajectory: Gid,
    /// `T1`.
    pub name: String,
    /// What it pursued.
    pub intent: Option<Gid>,
    /// How it was closed; `incomplete` when it is open.
    pub outcome: &'static str,
    /// Why.
    pub termination_reason: Option<String>,
    /// Evidence it lists, ascending.
    pub evidence: Vec<Gid>,
    /// Residuals it lists, newest versions, ascending.
    pub residuals: Vec<Gid>,
    /// The summary of its handoff; derived while it is open.
    pub handoff: Option<String>,
    /// Whether one of its changes touches the subject; else it shares an intent with one that does.
    pub touched_subject: bool,
    /// Number of its changes.
    pub changes: u64,
}

/// A page of attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptsFacts {
    /// The rows: those that touch the subject first, then by start, newest first, then by identity.
    pub rows: Vec<AttemptEntry>,
    /// Which part of the list they are.
    pub page: Page,
    /// What is not known of the subject.
    pub uncertainty: Vec<Uncertainty>,
}

/// Lists trajectories that touched a subject, and those that share an intent with one of its changes.
///
/// # Errors
/// `Invalid` (limit 0), `Ambiguous`, `Store`, `CorruptObject`.
pub fn attempts(session: &mut Session<'_>, options: &AttemptsOptions) -> Result<AttemptsFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let subject = Subject::read(repo, &world.refs, &options.subject)?;
    let found = world.attempts_at(&subject, None)?;
    let touched: HashSet<Gid> =
        found.iter().filter(|attempt| attempt.touched).map(|attempt| attempt.id).collect();
    let ids: Vec<Gid> = found.iter().map(|attempt| attempt.id).collect();
    let (rows, page) = page(&ids, &options.window, |id| world.attempt(id, touched.contains(id)))?;
    let mut uncertainty = Vec::new();
    if found.is_empty() {
        uncertainty.extend(world.subject_doubt(&subject)?);
    }
    Ok(AttemptsFacts { rows, page, uncertainty })
}

/// A trajectory that has to do with a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Its newest version.
    pub(crate) id: Gid,
    /// Whether one of its changes touches the subject.
    pub(crate) touched: bool,
}

impl World<'_> {
    /// Named trajectories that touch a subject, then those that share an intent with a touching change, or pursue
    /// `intent`; each group by start, newest first, then by identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn attempts_at(&mut self, subject: &Subject, intent: Option<Gid>) -> Result<Vec<Attempt>> {
        let touching = self.touching(subject)?;
        let mut places = self.places_of(&touching)?;
        if let Some(id) = subject.id.filter(|id| id.family() == Family::Trajectory) {
            places.extend(self.versions()?.get(&id));
        }
        let mut intents: HashSet<Gid> = intent.into_iter().collect();
        for change in &touching {
            intents.extend(self.change(change)?.and_then(|change| change.intent));
        }
        let mut ranked = Vec::new();
        for (place, named) in self.trajectories()?.iter().enumerate() {
            let touched = places.contains(&place);
            let Some(head) = self.graph.trajectory_head(&named.id)? else { continue };
            if touched || head.intent.is_some_and(|intent| intents.contains(&intent)) {
                ranked.push((!touched, Reverse(self.started_at(&named.id)?), named.id));
            }
        }
        ranked.sort_unstable();
        Ok(ranked.into_iter().map(|(other, _, id)| Attempt { id, touched: !other }).collect())
    }

    /// The places in [`World::trajectories`] of those that list one of the changes.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    fn places_of(&mut self, changes: &[Gid]) -> Result<BTreeSet<usize>> {
        let versions = self.versions()?;
        // Versions that name one of the changes somewhere; whether as one of theirs they say themselves.
        let mut naming: BTreeMap<Gid, (usize, Vec<Gid>)> = BTreeMap::new();
        for change in changes {
            for source in self.ledger()?.naming(change) {
                if let Some(place) = versions.get(&source) {
                    naming.entry(source).or_insert((*place, Vec::new())).1.push(*change);
                }
            }
        }
        let mut places = BTreeSet::new();
        for (version, (place, changes)) in naming {
            if places.contains(&place) {
                continue;
            }
            for change in &changes {
                if self.graph.version_lists(&version, change)? {
                    places.insert(place);
                    break;
                }
            }
        }
        Ok(places)
    }

    /// When a trajectory was begun: the time of its first version, 0 when it says none.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn started_at(&mut self, latest: &Gid) -> Result<i64> {
        let Some(first) = self.graph.versions(latest)?.pop() else { return Ok(0) };
        Ok(self.graph.trajectory(&first)?.and_then(|version| version.created_at_ms).unwrap_or(0))
    }

    /// The row of a named trajectory; `None` when it is not stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn attempt(&mut self, id: &Gid, touched_subject: bool) -> Result<Option<AttemptEntry>> {
        let entry = match self.attempts.get(id) {
            Some(known) => Arc::clone(known),
            None => {
                let Some(entry) = self.attempt_of(id)? else { return Ok(None) };
                let entry = Arc::new(entry);
                self.attempts.insert(*id, Arc::clone(&entry));
                entry
            }
        };
        Ok(Some(AttemptEntry { touched_subject, ..(*entry).clone() }))
    }

    fn attempt_of(&mut self, id: &Gid) -> Result<Option<AttemptEntry>> {
        let Some(head) = self.graph.trajectory_head(id)? else { return Ok(None) };
        let (termination_reason, handoff) = nodes::read(self.store(), id, |object| {
            let version = Trajectory::view(object)?;
            let handoff = version.handoff().and_then(|handoff| handoff.summary().map(str::to_owned));
            Ok((version.termination_reason().map(str::to_owned), handoff))
        })?;
        let mut changes = ChangeSet::default();
        self.graph.include_sequence(&mut changes, id)?;
        let handoff = match handoff {
            Some(recorded) => Some(recorded),
            // One that was closed without a handoff left none; the next worker on an open one needs it now.
            None if head.outcome.is_some() => None,
            None => {
                let known = assess(self, ScopeKind::Of(*id))?;
                Some(handoff::counts(&known, changes.len(), head.outcome))
            }
        };
        let (evidence, residuals) = self.graph.listed_besides(id)?;
        let named =
            self.versions()?.get(id).and_then(|place| self.trajectories.as_ref()?.get(*place).cloned());
        Ok(Some(AttemptEntry {
            trajectory: *id,
            name: named.map(|named| named.name).unwrap_or_default(),
            intent: head.intent,
            outcome: outcome_word(head.outcome),
            termination_reason,
            evidence: evidence.into_iter().collect::<BTreeSet<_>>().into_iter().collect(),
            residuals: self.newest_residual_ids(&residuals)?,
            handoff,
            touched_subject: false,
            changes: u64::try_from(changes.len()).unwrap_or(u64::MAX),
        }))
    }

    /// The newest versions of residuals, ascending.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn newest_residual_ids(&mut self, ids: &[Gid]) -> Result<Vec<Gid>> {
        let mut found = BTreeSet::new();
        for id in ids {
            found.insert(self.newest_residual(id)?);
        }
        Ok(found.into_iter().collect())
    }
}

/// The word for an outcome in answers.
pub(crate) fn outcome_word(outcome: Option<gemel_object::TrajectoryOutcome>) -> &'static str {
    outcome.map_or("incomplete", gemel_object::TrajectoryOutcome::as_str)
}
