//! What two states differ in beside their files (workflow, section 17; query surface, section 4.11).

use crate::Result;
use crate::facts::{Omitted, Uncertainty};
use crate::history::graph::{ChangeSet, stored};
use crate::history::nodes::EvidenceNode;
use crate::history::state_of;
use crate::history::workspace::Workspace;
use crate::knowledge::claims::{ClaimStatus, derive, is_unsettled};
use crate::knowledge::freshness::{Freshness, Judge, Subjects};
use crate::knowledge::session::Session;
use crate::knowledge::world::World;
use gemel_object::{Family, Gid};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which dimensions are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dimensions {
    /// Entities.
    pub semantic: bool,
    /// Observed behaviour of entities.
    pub behavior: bool,
    /// Claims.
    pub claims: bool,
    /// Evidence.
    pub evidence: bool,
    /// Residuals.
    pub residuals: bool,
    /// Dependencies of entities.
    pub dependencies: bool,
}

impl Dimensions {
    /// All of them.
    pub const ALL: Dimensions = Dimensions {
        semantic: true,
        behavior: true,
        claims: true,
        evidence: true,
        residuals: true,
        dependencies: true,
    };
}

/// Claims that came and went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimsDelta {
    /// Newest refinements of those declared between, ascending.
    pub added: Vec<Gid>,
    /// Those known at the first state that are contradicted now, or replaced by one declared between. Ascending.
    pub invalidated: Vec<Gid>,
}

/// Evidence that was gained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GainedRow {
    /// The evidence.
    pub id: Gid,
    /// What sort of observation it is.
    pub kind: &'static str,
    /// Number of its cases, when recorded.
    pub count: Option<u64>,
}

/// Evidence that came and went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvidenceDelta {
    /// Declared between, or evaluated at a state that came of a change between. Ascending.
    pub gained: Vec<GainedRow>,
    /// Known at the first state, and may require refresh at the second. Ascending.
    pub invalidated: Vec<Gid>,
}

/// Residuals that came and went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResidualsDelta {
    /// Newest versions of those declared between, ascending.
    pub introduced: Vec<Gid>,
    /// Those declared up to the second state that were settled after the change of the first one. Ascending.
    pub resolved: Vec<Gid>,
}

/// What differs, in the dimensions asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DimensionsFacts {
    /// Claims.
    pub claims: Option<ClaimsDelta>,
    /// Evidence.
    pub evidence: Option<EvidenceDelta>,
    /// Residuals.
    pub residuals: Option<ResidualsDelta>,
    /// What was asked for and is not known without an index.
    pub omitted: Vec<Omitted>,
    /// States that no known change results in.
    pub uncertainty: Vec<Uncertainty>,
}

/// The states to compare when dimensions are asked for and none is named: the input and the result of head.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn head_step(session: &mut Session<'_>) -> Result<Option<(Option<Gid>, Gid)>> {
    let world = session.world()?;
    let Some(head) = world.refs.get("refs/head")? else { return Ok(None) };
    let Some(node) = world.change(&head)? else { return Ok(None) };
    Ok(node.result.map(|result| (node.input, result)))
}

/// Compares what is known at two states. Without a second one it is what the workspace holds.
///
/// # Errors
/// `Unresolved`, `WrongFamily`, `WorkspaceName`, `Store`, `CorruptObject`.
pub fn dimensions(
    session: &mut Session<'_>,
    a: Option<&str>,
    b: Option<&str>,
    workspace: Option<&str>,
    wanted: Dimensions,
) -> Result<DimensionsFacts> {
    let repo = session.repo();
    let step = head_step(session)?;
    let world = session.world()?;
    let (a, b) = match (a, b) {
        (None, None) => step.map_or((None, None), |(input, result)| (input, Some(result))),
        (a, b) => {
            let recorded = Workspace::load(&world.refs, workspace)?.recorded(&world.refs)?;
            let state = |text: Option<&str>| text.map(|text| state_of(repo, &world.refs, text)).transpose();
            (state(a)?, state(b)?.or(recorded))
        }
    };
    let mut facts = DimensionsFacts { omitted: not_indexed(wanted), ..DimensionsFacts::default() };
    let Some(b) = b else { return Ok(facts) };
    let between = Between::find(world, a, b, &mut facts.uncertainty)?;
    let mut judge = Judge::at(world, b)?;
    if wanted.claims {
        facts.claims = Some(between.claims(world, &mut judge)?);
    }
    if wanted.evidence {
        facts.evidence = Some(between.evidence(world, &mut judge)?);
    }
    if wanted.residuals {
        facts.residuals = Some(between.residuals(world)?);
    }
    Ok(facts)
}

/// What an index of entities would tell.
fn not_indexed(wanted: Dimensions) -> Vec<Omitted> {
    let flags = [
        (wanted.behavior, "behavioral"),
        (wanted.dependencies, "dependencies"),
        (wanted.semantic, "semantic"),
        (wanted.semantic || wanted.dependencies, "semantic_interactions"),
    ];
    // How much it is nobody knows: each is one answer that is missing.
    let entry = |class| Omitted { class, count: 1, reason: "not_indexed", ids: Vec::new() };
    flags.into_iter().filter(|(asked, _)| *asked).map(|(_, class)| entry(class)).collect()
}

/// The changes up to two states, and those between them.
struct Between {
    before: ChangeSet,
    after: ChangeSet,
    between: ChangeSet,
    /// When the change of the first state was made; 0 without one.
    since_ms: i64,
}

impl Between {
    fn find(
        world: &mut World<'_>,
        a: Option<Gid>,
        b: Gid,
        uncertainty: &mut Vec<Uncertainty>,
    ) -> Result<Between> {
        let first = match a {
            Some(a) => newest_ending(world, &a)?,
            None => None,
        };
        let last = newest_ending(world, &b)?;
        for (state, change) in [(a, first), (Some(b), last)] {
            if let (Some(state), None) = (state, change) {
                uncertainty.push(Uncertainty {
                    class: "lineage",
                    ids: vec![state.to_string()],
                    reason: "no known change results in this state, so nothing is known to lead to it"
                        .to_owned(),
                });
            }
        }
        let (before, after) = (world.graph.ancestors(first)?, world.graph.ancestors(last)?);
        let new: Vec<Gid> =
            world.graph.members(&after).into_iter().filter(|id| !world.graph.holds(&before, id)).collect();
        let mut between = ChangeSet::default();
        world.graph.include(&mut between, new)?;
        let since_ms = match first {
            Some(change) => world.change(&change)?.map_or(0, |node| node.created_at_ms),
            None => 0,
        };
        Ok(Between { before, after, between, since_ms })
    }

    fn claims(&self, world: &mut World<'_>, judge: &mut Judge) -> Result<ClaimsDelta> {
        let new: BTreeSet<Gid> = declared(world, &self.between, Family::Claim)?;
        let mut delta = ClaimsDelta::default();
        for claim in world.newest_claims(&new.iter().copied().collect::<Vec<_>>())? {
            delta.added.push(claim.node.id);
        }
        let old: Vec<Gid> = declared(world, &self.before, Family::Claim)?.into_iter().collect();
        for claim in world.newest_claims(&old)? {
            let is_gone = if claim.replaced {
                let replacing = world.ledger()?.naming(&claim.node.id);
                let mut found = false;
                for id in replacing.iter().filter(|id| new.contains(id)) {
                    found |= world.claim(id)?.is_some_and(|node| node.supersedes == Some(claim.node.id));
                }
                found
            } else {
                derive(world, judge, &claim)?.status == ClaimStatus::Contradicted
            };
            if is_gone {
                delta.invalidated.push(claim.node.id);
            }
        }
        delta.added.sort_unstable();
        delta.invalidated.sort_unstable();
        Ok(delta)
    }

    fn evidence(&self, world: &mut World<'_>, judge: &mut Judge) -> Result<EvidenceDelta> {
        let new = declared(world, &self.between, Family::Evidence)?;
        let old = declared(world, &self.before, Family::Evidence)?;
        let new_roots = results(world, &self.between)?;
        let old_roots = results(world, &self.before)?;
        let all = world.declared(Family::Evidence)?;
        world.load_evidence(&all)?;
        let mut delta = EvidenceDelta::default();
        for id in all {
            let Some(node) = world.evidence(&id)? else { continue };
            let root = match &node.evaluated {
                Some(state) => world.graph.root(state)?,
                None => None,
            };
            let is_at = |roots: &BTreeSet<Gid>| root.is_some_and(|root| roots.contains(&root));
            if new.contains(&id) || is_at(&new_roots) && !old.contains(&id) {
                let count = node.counts.map(|(_, total)| total);
                delta.gained.push(GainedRow { id, kind: node.kind.as_str(), count });
            }
            if (old.contains(&id) || is_at(&old_roots)) && needs_refresh(world, judge, &node)? {
                delta.invalidated.push(id);
            }
        }
        Ok(delta)
    }

    fn residuals(&self, world: &mut World<'_>) -> Result<ResidualsDelta> {
        let new = declared(world, &self.between, Family::Residual)?;
        let introduced: BTreeSet<Gid> = world.newest_residuals(new)?.iter().map(|node| node.id).collect();
        let all = declared(world, &self.after, Family::Residual)?;
        let mut resolved = BTreeSet::new();
        for node in world.newest_residuals(all)? {
            let is_later = node.decided_at_ms.is_some_and(|at| at > self.since_ms);
            if !is_unsettled(node.disposition) && is_later {
                resolved.insert(node.id);
            }
        }
        let list = |ids: BTreeSet<Gid>| ids.into_iter().collect();
        Ok(ResidualsDelta { introduced: list(introduced), resolved: list(resolved) })
    }
}

/// The newest known change that results in the content of a state.
fn newest_ending(world: &mut World<'_>, state: &Gid) -> Result<Option<Gid>> {
    let Some(root) = stored(world.graph.root(state))?.flatten() else { return Ok(None) };
    let ending = world.ending()?.get(&root).cloned().unwrap_or_default();
    Ok(world.newest_first(ending)?.first().copied())
}

/// What some changes declare of a family.
fn declared(world: &mut World<'_>, changes: &ChangeSet, family: Family) -> Result<BTreeSet<Gid>> {
    let mut found = BTreeSet::new();
    for change in world.graph.declaring(changes)? {
        let lists = change.claims.iter().chain(&change.evidence).chain(&change.residuals);
        found.extend(lists.copied().filter(|id| id.family() == family));
    }
    Ok(found)
}

/// Root trees of the results of some changes.
fn results(world: &mut World<'_>, changes: &ChangeSet) -> Result<BTreeSet<Gid>> {
    Ok(world.graph.roots_of(changes)?.into_iter().filter_map(|(_, _, result)| result).collect())
}

fn needs_refresh(world: &mut World<'_>, judge: &mut Judge, node: &Arc<EvidenceNode>) -> Result<bool> {
    let subjects = Subjects { text: node.subject.as_deref(), references: &node.subject_refs };
    let freshness = judge.freshness(world, node.evaluated, subjects)?;
    Ok(matches!(freshness, Freshness::MayRequireRefresh(_)))
}
