//! Which claims, residuals and evidence a verdict is about (object model, section 15.5).

use crate::history::graph::ChangeSet;
use crate::history::nodes::ResidualNode;
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::world::World;
use crate::{RepoError, Result};
use gemel_object::{Gid, TrajectoryOutcome};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Identities each once, in the order in which they came: that in which they were recorded, mostly, so that reading
/// them goes through packs from one end to the other.
#[derive(Debug, Default)]
pub(crate) struct Ordered {
    list: Vec<Gid>,
    seen: HashSet<Gid>,
}

impl Ordered {
    fn extend<'a>(&mut self, ids: impl IntoIterator<Item = &'a Gid>) {
        for id in ids {
            if self.seen.insert(*id) {
                self.list.push(*id);
            }
        }
    }

    pub(crate) fn list(&self) -> &[Gid] {
        &self.list
    }
}

/// What the caller asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ScopeKind {
    /// What leads to head, and the current trajectory.
    Default,
    /// The current trajectory alone.
    Trajectory,
    /// Everything known.
    Repository,
    /// The trajectory with this newest version, closed or not.
    Of(Gid),
}

impl ScopeKind {
    const NAMES: &'static [&'static str] = &["trajectory", "repository"];

    /// # Errors
    /// `EnumValue`.
    pub(crate) fn parse(text: Option<&str>) -> Result<ScopeKind> {
        match text {
            None => Ok(ScopeKind::Default),
            Some("trajectory") => Ok(ScopeKind::Trajectory),
            Some("repository") => Ok(ScopeKind::Repository),
            Some(other) => Err(RepoError::EnumValue {
                field: "scope",
                value: other.to_owned(),
                allowed: ScopeKind::NAMES,
            }),
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ScopeKind::Default => "default",
            ScopeKind::Trajectory | ScopeKind::Of(_) => "trajectory",
            ScopeKind::Repository => "repository",
        }
    }
}

/// Claims and residuals that hold together, at their newest versions.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// Newest refinements of the claims in scope, ascending; superseded ones are left out.
    pub(crate) claims: Vec<ScopedClaim>,
    /// Claims left out because another replaced them.
    pub(crate) superseded: u64,
    /// Newest versions of the residuals in scope, ascending.
    pub(crate) residuals: BTreeMap<Gid, Arc<ResidualNode>>,
    /// Evidence that the changes in scope declare.
    pub(crate) evidence: Ordered,
}

/// The trajectory that is worked on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    /// Its newest version.
    pub(crate) id: Gid,
    pub(crate) intent: Option<Gid>,
}

/// The current trajectory: the one last worked on, unless it is closed.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn current_trajectory(world: &mut World<'_>) -> Result<Option<Current>> {
    let Some(id) = world.refs.get("refs/trajectories/current")? else { return Ok(None) };
    let head = world.graph.trajectory_head(&id)?.filter(|head| head.outcome.is_none());
    Ok(head.map(|head| Current { id, intent: head.intent }))
}

/// Gathers a scope.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn gather(world: &mut World<'_>, kind: ScopeKind, current: Option<&Current>) -> Result<Scope> {
    let declared = Declared::collect(world, kind, current)?;
    world.load_claims(declared.claims.list())?;
    world.load_residuals(declared.residuals.list())?;
    world.load_evidence(declared.evidence.list())?;
    let mut scope = Scope::default();
    for id in declared.residuals.list() {
        let newest = world.newest_residual(id)?;
        if let Some(node) = world.residual(&newest)? {
            scope.residuals.insert(newest, node);
        }
    }
    let mut rows: BTreeMap<Gid, ScopedClaim> = BTreeMap::new();
    for id in declared.claims.list() {
        match world.newest_claim(id)? {
            Some(claim) if claim.replaced => scope.superseded += 1,
            Some(claim) => drop(rows.entry(claim.node.id).or_insert(claim)),
            None => {}
        }
    }
    scope.claims = rows.into_values().collect();
    scope.evidence = declared.evidence;
    Ok(scope)
}

/// What changes and trajectories in scope list.
#[derive(Default)]
struct Declared {
    claims: Ordered,
    residuals: Ordered,
    evidence: Ordered,
}

impl Declared {
    fn collect(world: &mut World<'_>, kind: ScopeKind, current: Option<&Current>) -> Result<Declared> {
        let mut changes = match kind {
            ScopeKind::Default => {
                let head = world.refs.get("refs/head")?;
                world.graph.ancestors(head)?
            }
            ScopeKind::Trajectory | ScopeKind::Of(_) => ChangeSet::default(),
            ScopeKind::Repository => (*world.known()?).clone(),
        };
        let mut declared = Declared::default();
        let mut trajectories: Vec<Gid> = match kind {
            ScopeKind::Of(id) => vec![id],
            _ => current.map(|node| node.id).into_iter().collect(),
        };
        if kind == ScopeKind::Repository {
            trajectories.extend(world.trajectories()?.iter().map(|named| named.id));
        }
        for latest in trajectories {
            world.graph.include_sequence(&mut changes, &latest)?;
            let (evidence, residuals) = world.graph.listed_besides(&latest)?;
            declared.residuals.extend(&residuals);
            declared.evidence.extend(&evidence);
        }
        // A trajectory asked for by itself is judged with its claims, however it was closed.
        let given_up = match kind {
            ScopeKind::Of(_) => ChangeSet::default(),
            _ => given_up(world)?,
        };
        for change in world.graph.declaring(&changes)? {
            declared.residuals.extend(&change.residuals);
            declared.evidence.extend(&change.evidence);
            if world.graph.holds(&given_up, &change.id) {
                continue;
            }
            declared.claims.extend(&change.claims);
        }
        let loose = world.loose(&changes, &given_up)?;
        declared.claims.extend(&loose.claims);
        declared.residuals.extend(&loose.residuals);
        Ok(declared)
    }
}

/// Changes of trajectories closed as rejected, abandoned or superseded: their claims are no longer made, their
/// residuals stay.
fn given_up(world: &mut World<'_>) -> Result<ChangeSet> {
    let mut changes = ChangeSet::default();
    for named in world.trajectories()?.iter() {
        let outcome = world.graph.trajectory_head(&named.id)?.and_then(|head| head.outcome);
        if let Some(
            TrajectoryOutcome::Rejected | TrajectoryOutcome::Abandoned | TrajectoryOutcome::Superseded,
        ) = outcome
        {
            world.graph.include_sequence(&mut changes, &named.id)?;
        }
    }
    Ok(changes)
}
