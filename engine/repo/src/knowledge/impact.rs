//! `impact`: what a change may have made stale (workflow, section 18; query surface, section 4.12).

use crate::Result;
use crate::facts::{Omitted, Uncertainty};
use crate::history::graph::{Lines, Reach, stored};
use crate::history::nodes;
use crate::knowledge::claims::is_unsettled;
use crate::knowledge::freshness::overlapping;
use crate::knowledge::lists::linking;
use crate::knowledge::required::required;
use crate::knowledge::session::Session;
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::world::World;
use crate::names::{Accept, Namer, resolve_in};
use gemel_object::families::{Change, Evidence, Operation};
use gemel_object::{EvidenceOutcome, Family, Gid};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Evidence that may require refresh.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefreshRow {
    /// The evidence.
    pub evidence: Gid,
    /// A claim that links it, newest refinement.
    pub supports: Option<Gid>,
    /// Why: `path overlap` or `object reference`.
    pub rule: &'static str,
}

/// What a change may affect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpactFacts {
    /// The change.
    pub change: Gid,
    /// Paths it touches, ascending.
    pub paths: Vec<String>,
    /// Evidence that may require refresh, by identity, then by claim.
    pub may_require_refresh: Vec<RefreshRow>,
    /// Claims linked to that evidence or about a path it touches, newest refinements, ascending.
    pub affected_claims: Vec<Gid>,
    /// Unsettled residuals that concern a path it touches, an affected claim or the change, newest versions, ascending.
    pub affected_residuals: Vec<Gid>,
    /// Platforms that required verification names for kinds of the affected claims, and no other passing evidence
    /// covers: `os/arch`, ascending.
    pub verification_required: Vec<String>,
    /// Names of what is told about.
    pub names: BTreeMap<Gid, String>,
    /// Entities: there is no index of them.
    pub omitted: Vec<Omitted>,
    /// Evidence of which it is not known where it was gathered.
    pub uncertainty: Vec<Uncertainty>,
}

/// Tells what a change may affect.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `WrongFamily`, `Store`, `CorruptObject`.
pub fn impact(session: &mut Session<'_>, change: &str) -> Result<ImpactFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let change = resolve_in(repo, &world.refs, change, Accept::only(Family::Change))?;
    let touched = Touched::by(world, &change)?;
    let about = touched.about(world)?;
    let later = Later::than(world, &change)?;
    let mut found = Found::default();
    for (evidence, rule) in touched.evidence(world, &about)? {
        found.look_at(world, &later, evidence, rule)?;
    }
    let mut claims: BTreeMap<Gid, ScopedClaim> = BTreeMap::new();
    let ids: Vec<Gid> = found.claims.iter().copied().collect();
    let subjects = about.iter().copied().filter(|id| id.family() == Family::Claim);
    for claim in world.newest_claims(&ids.into_iter().chain(subjects).collect::<Vec<_>>())? {
        if !claim.replaced {
            claims.insert(claim.node.id, claim);
        }
    }
    let affected_residuals = residuals(world, &change, &about, &claims)?;
    let verification_required = uncovered(world, &claims, &found.evidence)?;
    let rows: Vec<RefreshRow> = found.rows.into_iter().collect();
    let told = rows.iter().map(|row| row.evidence).chain(claims.keys().copied());
    let told: Vec<Gid> = told.chain(affected_residuals.iter().copied()).chain([change]).collect();
    let namer = Namer::find(world.store(), &world.refs, told.iter().copied())?;
    let names = told.into_iter().filter_map(|id| Some((id, namer.get(&id)?))).collect();
    let count = u64::try_from(touched.paths.len()).unwrap_or(u64::MAX);
    let entities = Omitted { class: "entities", count, reason: "not_indexed", ids: Vec::new() };
    Ok(ImpactFacts {
        change,
        paths: touched.paths.into_iter().collect(),
        may_require_refresh: rows,
        affected_claims: claims.into_keys().collect(),
        affected_residuals,
        verification_required,
        names,
        omitted: if count > 0 { vec![entities] } else { Vec::new() },
        uncertainty: unanchored(&found.unanchored),
    })
}

fn unanchored(ids: &BTreeSet<Gid>) -> Vec<Uncertainty> {
    let doubt = Uncertainty {
        class: "evidence_freshness",
        ids: ids.iter().map(Gid::to_string).collect(),
        reason: "it names no state it was gathered at, and no known change declares it".to_owned(),
    };
    if ids.is_empty() { Vec::new() } else { vec![doubt] }
}

/// What the operations of a change say.
struct Touched {
    paths: BTreeSet<String>,
    /// Blobs that were there before and are not any more.
    replaced: BTreeSet<Gid>,
}

impl Touched {
    fn by(world: &World<'_>, change: &Gid) -> Result<Touched> {
        let operations: Vec<Gid> = nodes::read(world.store(), change, |object| {
            Ok(Change::view(object)?.operations().iter().collect())
        })?;
        let mut touched = Touched { paths: BTreeSet::new(), replaced: BTreeSet::new() };
        for id in operations {
            let read = stored(nodes::read(world.store(), &id, |object| {
                let operation = Operation::view(object)?;
                let paths = [operation.subject_path(), operation.from(), operation.to()];
                let paths: Vec<String> = paths.into_iter().flatten().map(str::to_owned).collect();
                let after: BTreeSet<Gid> = operation.output_refs().iter().collect();
                let before = operation.input_refs().iter().filter(|id| !after.contains(id));
                Ok((paths, before.collect::<Vec<Gid>>()))
            }))?;
            let Some((paths, replaced)) = read else { continue };
            touched.paths.extend(paths);
            touched.replaced.extend(replaced);
        }
        Ok(touched)
    }

    /// Objects about a path that is touched, or above or below one.
    fn about(&self, world: &mut World<'_>) -> Result<BTreeSet<Gid>> {
        let mut found = BTreeSet::new();
        for path in &self.paths {
            found.extend(overlapping(world.ledger()?, path));
        }
        Ok(found)
    }

    /// Declared evidence about what is touched, with the rule that says so.
    fn evidence(&self, world: &mut World<'_>, about: &BTreeSet<Gid>) -> Result<BTreeMap<Gid, &'static str>> {
        let mut found = BTreeMap::new();
        for id in about.iter().filter(|id| id.family() == Family::Evidence) {
            found.insert(*id, "path overlap");
        }
        for blob in &self.replaced {
            for id in world.ledger()?.naming(blob) {
                if id.family() == Family::Evidence && !found.contains_key(&id) && uses(world, &id, blob)? {
                    found.insert(id, "object reference");
                }
            }
        }
        let mut declared = BTreeMap::new();
        for (id, rule) in found {
            if world.is_declared(&id)? {
                declared.insert(id, rule);
            }
        }
        Ok(declared)
    }
}

/// Whether evidence is about an object, or was gathered with it.
fn uses(world: &World<'_>, evidence: &Gid, object: &Gid) -> Result<bool> {
    let read = nodes::read(world.store(), evidence, |view| {
        let evidence = Evidence::view(view)?;
        Ok(evidence.subject_refs().iter().chain(evidence.input_refs().iter()).any(|id| id == *object))
    });
    Ok(stored(read)?.unwrap_or(false))
}

/// A change and those after it.
struct Later {
    order: Arc<Lines>,
    reach: Reach,
}

impl Later {
    fn than(world: &mut World<'_>, change: &Gid) -> Result<Later> {
        let order = world.order()?;
        let reach = order.descendants(&world.graph, &[*change]);
        Ok(Later { order, reach })
    }

    fn holds(&self, world: &World<'_>, change: &Gid) -> bool {
        self.order.is_descendant(&world.graph, &self.reach, change)
    }

    /// Whether one of them results in the content of a state.
    fn reaches(&self, world: &mut World<'_>, state: &Gid) -> Result<bool> {
        let Some(root) = world.graph.root(state)? else { return Ok(false) };
        let ending = world.ending()?;
        Ok(ending.get(&root).into_iter().flatten().any(|change| self.holds(world, change)))
    }
}

/// Evidence that is affected, and what it supports.
#[derive(Default)]
struct Found {
    rows: BTreeSet<RefreshRow>,
    evidence: BTreeSet<Gid>,
    claims: BTreeSet<Gid>,
    unanchored: BTreeSet<Gid>,
}

impl Found {
    fn look_at(
        &mut self,
        world: &mut World<'_>,
        later: &Later,
        evidence: Gid,
        rule: &'static str,
    ) -> Result<()> {
        let Some(node) = world.evidence(&evidence)? else { return Ok(()) };
        let is_later = match node.evaluated {
            Some(state) => later.reaches(world, &state)?,
            // Where it was gathered it does not say: at the result of the change that declares it, at the latest.
            None => match world.declaring_change(&evidence)? {
                Some(change) => later.holds(world, &change),
                None => {
                    self.unanchored.insert(evidence);
                    false
                }
            },
        };
        if is_later {
            return Ok(());
        }
        self.evidence.insert(evidence);
        let claims = linking(world, &evidence)?;
        if claims.is_empty() {
            self.rows.insert(RefreshRow { evidence, supports: None, rule });
        }
        for claim in claims {
            self.rows.insert(RefreshRow { evidence, supports: Some(claim), rule });
            self.claims.insert(claim);
        }
        Ok(())
    }
}

/// Unsettled residuals whose scope overlaps, that affect one of the claims or the change, or that it declares.
fn residuals(
    world: &mut World<'_>,
    change: &Gid,
    about: &BTreeSet<Gid>,
    claims: &BTreeMap<Gid, ScopedClaim>,
) -> Result<Vec<Gid>> {
    let mut candidates: BTreeSet<Gid> = about.iter().copied().collect();
    candidates.extend(world.ledger()?.naming(change));
    candidates.extend(world.change(change)?.iter().flat_map(|node| node.residuals.clone()));
    for claim in claims.values() {
        candidates.extend(world.residuals_of(claim)?);
    }
    candidates.retain(|id| id.family() == Family::Residual);
    let found = world.newest_residuals(candidates)?;
    let unsettled: BTreeSet<Gid> =
        found.iter().filter(|node| is_unsettled(node.disposition)).map(|node| node.id).collect();
    Ok(unsettled.into_iter().collect())
}

/// Required platforms of the kinds of some claims that no passing evidence outside `affected` covers.
fn uncovered(
    world: &mut World<'_>,
    claims: &BTreeMap<Gid, ScopedClaim>,
    affected: &BTreeSet<Gid>,
) -> Result<Vec<String>> {
    let mut missing = BTreeSet::new();
    for combination in required(world)? {
        let (mut is_claimed, mut is_covered) = (false, false);
        for claim in claims.values() {
            if claim.node.kind.is_none_or(|kind| kind.as_str() != combination.kind) {
                continue;
            }
            is_claimed = true;
            for id in claim.node.evidence.iter().filter(|id| !affected.contains(id)) {
                let Some(node) = world.evidence(id)? else { continue };
                is_covered |= node.outcome == Some(EvidenceOutcome::Pass)
                    && world.platform(&node)?.as_ref() == Some(&combination.platform);
            }
        }
        if is_claimed && !is_covered {
            missing.insert(format!("{}/{}", combination.platform.os, combination.platform.arch));
        }
    }
    Ok(missing.into_iter().collect())
}
