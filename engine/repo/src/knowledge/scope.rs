//! Which claims, residuals and evidence a verdict is about (object model, section 15.5).

use crate::history::graph::ChangeSet;
use crate::history::known::known_changes;
use crate::history::lineage::named_trajectories;
use crate::history::nodes::{ClaimNode, ResidualNode};
use crate::knowledge::world::World;
use crate::{RepoError, Result};
use gemel_object::{Family, Gid, TrajectoryOutcome};
use gemel_store::{RefValue, Refs};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    /// What leads to head, and the current trajectory.
    Default,
    /// The current trajectory alone.
    Trajectory,
    /// Everything known.
    Repository,
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
            ScopeKind::Trajectory => "trajectory",
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

/// A claim at its newest refinement.
#[derive(Clone, Debug)]
pub(crate) struct ScopedClaim {
    pub(crate) node: Arc<ClaimNode>,
    /// The versions it refines, and itself.
    pub(crate) versions: Vec<Gid>,
    /// The state it was declared at: result of the change that declared it.
    pub(crate) declared_at: Option<Gid>,
}

/// Everything reachable that names newer versions: named claims and residuals, and those that changes and
/// trajectories list.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// Claims that supersede each claim.
    successors: HashMap<Gid, Vec<Gid>>,
    /// Residual versions that follow each version.
    followers: HashMap<Gid, Vec<Gid>>,
    /// All residuals met.
    residuals: HashSet<Gid>,
}

impl Versions {
    /// Adds the named versions to those given.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    fn gather(world: &mut World<'_>, refs: &Refs, declared: &Declared) -> Result<Versions> {
        let (mut claims, mut residuals) = (Ordered::default(), Ordered::default());
        claims.extend(declared.claims.list());
        residuals.extend(declared.residuals.list());
        // `refs/keep` holds versions that never had a name: those of a migrated 0.12 store, or of a peer.
        for prefix in ["refs/names/Cl", "refs/names/R", "refs/keep/claim/", "refs/keep/residual/"] {
            for (_, value) in refs.scan(prefix)? {
                match value {
                    Ok(RefValue::Id(id)) if id.family() == Family::Claim => claims.extend([&id]),
                    Ok(RefValue::Id(id)) if id.family() == Family::Residual => residuals.extend([&id]),
                    _ => {}
                }
            }
        }
        let mut versions = Versions::default();
        world.load_claims(claims.list())?;
        let (mut open, mut seen) = (claims.list, HashSet::new());
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if let Some(older) = world.claim(&id)?.and_then(|claim| claim.supersedes) {
                versions.successors.entry(older).or_default().push(id);
                open.push(older);
            }
        }
        world.load_residuals(residuals.list())?;
        let mut open = residuals.list;
        while let Some(id) = open.pop() {
            if !versions.residuals.insert(id) {
                continue;
            }
            if let Some(older) = world.residual(&id)?.and_then(|residual| residual.previous) {
                versions.followers.entry(older).or_default().push(id);
                open.push(older);
            }
        }
        Ok(versions)
    }

    /// The newest version of a residual; of several the one last created, then the lowest identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn newest_residual(&self, world: &mut World<'_>, id: &Gid) -> Result<Gid> {
        let mut newest = *id;
        let mut seen = HashSet::from([newest]);
        while let Some(followers) = self.followers.get(&newest) {
            let mut ranked = Vec::new();
            for follower in followers {
                ranked.extend(world.residual(follower)?.map(|node| (Reverse(node.created_at_ms), node.id)));
            }
            match ranked.into_iter().min() {
                Some((_, next)) if seen.insert(next) => newest = next,
                _ => break,
            }
        }
        Ok(newest)
    }

    /// The newest refinement of a claim with all versions on the way, and whether another claim replaced it. A
    /// refinement says the same of the same subject; anything else that supersedes it is a replacement.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn newest_claim(
        &self,
        world: &mut World<'_>,
        first: &Arc<ClaimNode>,
    ) -> Result<(Arc<ClaimNode>, Vec<Gid>, bool)> {
        let mut newest = first.clone();
        let mut versions = vec![newest.id];
        let mut replaced = false;
        loop {
            let mut refinements = Vec::new();
            for id in self.successors.get(&newest.id).into_iter().flatten() {
                let Some(node) = world.claim(id)? else { continue };
                if node.subject == newest.subject && node.predicate == newest.predicate {
                    refinements.push(node);
                } else {
                    replaced = true;
                }
            }
            match refinements.into_iter().min_by_key(|node| (Reverse(node.created_at_ms), node.id)) {
                Some(next) if !versions.contains(&next.id) => {
                    versions.push(next.id);
                    newest = next;
                }
                _ => return Ok((newest, versions, replaced)),
            }
        }
    }

    /// Newest versions of the residuals that name one of the claims.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn residuals_about(&self, world: &mut World<'_>) -> Result<HashMap<Gid, Vec<Gid>>> {
        let mut about: HashMap<Gid, Vec<Gid>> = HashMap::new();
        for id in &self.residuals {
            let newest = self.newest_residual(world, id)?;
            for claim in world.residual(&newest)?.iter().flat_map(|node| &node.claims) {
                about.entry(*claim).or_default().push(newest);
            }
        }
        Ok(about)
    }
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
pub(crate) fn current_trajectory(world: &mut World<'_>, refs: &Refs) -> Result<Option<Current>> {
    let Some(id) = refs.get("refs/trajectories/current")? else { return Ok(None) };
    let head = world.graph.trajectory_head(&id)?.filter(|head| head.outcome.is_none());
    Ok(head.map(|head| Current { id, intent: head.intent }))
}

/// Gathers a scope.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn gather(
    world: &mut World<'_>,
    refs: &Refs,
    kind: ScopeKind,
    current: Option<&Current>,
) -> Result<(Scope, Versions)> {
    let declared = Declared::collect(world, refs, kind, current)?;
    let versions = Versions::gather(world, refs, &declared)?;
    world.load_evidence(declared.evidence.list())?;
    let mut scope = Scope::default();
    for id in declared.residuals.list() {
        let newest = versions.newest_residual(world, id)?;
        if let Some(node) = world.residual(&newest)? {
            scope.residuals.insert(newest, node);
        }
    }
    let mut rows: BTreeMap<Gid, ScopedClaim> = BTreeMap::new();
    for id in declared.claims.list() {
        let Some(first) = world.claim(id)? else { continue };
        let (node, all, replaced) = versions.newest_claim(world, &first)?;
        if replaced {
            scope.superseded += 1;
            continue;
        }
        let declaring = node.change.or(first.change).or_else(|| declared.declaring.get(id).copied());
        let declared_at = match declaring {
            Some(change) => world.change(&change)?.and_then(|change| change.result),
            None => None,
        };
        rows.entry(node.id).or_insert(ScopedClaim { node, versions: all, declared_at });
    }
    scope.claims = rows.into_values().collect();
    scope.evidence = declared.evidence;
    Ok((scope, versions))
}

/// What changes and trajectories in scope list.
#[derive(Default)]
struct Declared {
    claims: Ordered,
    residuals: Ordered,
    evidence: Ordered,
    /// The change that declared each claim: the earliest, then the lowest identity.
    declaring: HashMap<Gid, Gid>,
}

impl Declared {
    fn collect(
        world: &mut World<'_>,
        refs: &Refs,
        kind: ScopeKind,
        current: Option<&Current>,
    ) -> Result<Declared> {
        let mut changes = match kind {
            ScopeKind::Default => world.graph.ancestors(refs.get("refs/head")?)?,
            ScopeKind::Trajectory => ChangeSet::default(),
            ScopeKind::Repository => known_changes(&mut world.graph, refs)?,
        };
        let mut declared = Declared::default();
        let mut trajectories: Vec<Gid> = current.map(|node| node.id).into_iter().collect();
        if kind == ScopeKind::Repository {
            trajectories.extend(named_trajectories(refs)?.into_iter().map(|named| named.id));
        }
        for latest in trajectories {
            world.graph.include_sequence(&mut changes, &latest)?;
            let (evidence, residuals) = world.graph.listed_besides(&latest)?;
            declared.residuals.extend(&residuals);
            declared.evidence.extend(&evidence);
        }
        let given_up = given_up(world, refs)?;
        let mut first: HashMap<Gid, (i64, Gid)> = HashMap::new();
        for change in world.graph.declaring(&changes)? {
            declared.residuals.extend(&change.residuals);
            declared.evidence.extend(&change.evidence);
            if world.graph.holds(&given_up, &change.id) {
                continue;
            }
            for claim in &change.claims {
                declared.claims.extend([claim]);
                let rank = (change.created_at_ms, change.id);
                first.entry(*claim).and_modify(|old| *old = rank.min(*old)).or_insert(rank);
            }
        }
        declared.declaring = first.into_iter().map(|(claim, (_, change))| (claim, change)).collect();
        Ok(declared)
    }
}

/// Changes of trajectories closed as rejected, abandoned or superseded: their claims are no longer made, their
/// residuals stay.
fn given_up(world: &mut World<'_>, refs: &Refs) -> Result<ChangeSet> {
    let mut changes = ChangeSet::default();
    for named in named_trajectories(refs)? {
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
