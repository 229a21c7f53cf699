//! `claims` (query surface, section 4.3).

use super::page::{Window, page};
use crate::facts::{Named, Page, Uncertainty};
use crate::history::nodes;
use crate::knowledge::claims::{ClaimStatus, Derived, doubts};
use crate::knowledge::doubts::undeclared;
use crate::knowledge::session::Session;
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::subject::Subject;
use crate::knowledge::world::World;
use crate::names::{Accept, Namer, resolve_in};
use crate::{RepoError, Result};
use gemel_object::families::Claim;
use gemel_object::{Family, Gid};
use gemel_store::StoreError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What `claims` is told.
#[derive(Clone, Debug, Default)]
pub struct ClaimsOptions {
    /// Only claims about this.
    pub subject: Option<String>,
    /// Only those with this status; upper or lower case, `partial` for `PARTIALLY_SUPPORTED`.
    pub status: Option<String>,
    /// Whether those that another claim replaced are listed, too.
    pub all: bool,
    /// Which part of the list.
    pub window: Window,
}

/// A claim at its newest refinement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimEntry {
    /// The newest refinement.
    pub id: Gid,
    /// Its name.
    pub name: Option<String>,
    /// What is claimed.
    pub predicate: String,
    /// What sort of proposition it is.
    pub kind: Option<&'static str>,
    /// About what.
    pub subject: Option<String>,
    /// Where it is said to hold.
    pub scope: Option<String>,
    /// Derived status, as in answers.
    pub status: &'static str,
    /// Rule that gave it: `8.1.1` to `8.1.5`.
    pub basis: &'static str,
    /// `no evidence` or `no conclusive evidence`, when unverified.
    pub unverified_reason: Option<&'static str>,
    /// Evidence for it, ascending.
    pub supporting: Vec<Gid>,
    /// Evidence against it, ascending.
    pub contradicting: Vec<Gid>,
    /// Evidence that may require refresh, ascending.
    pub stale: Vec<Gid>,
    /// Residuals that it names or that name it, newest versions, ascending.
    pub residuals: Vec<Gid>,
    /// The change that declared it.
    pub change: Option<Gid>,
    /// The trajectory that lists that change, newest version.
    pub trajectory: Option<Named>,
    /// Its earlier versions, ascending.
    pub declared_as: Vec<Gid>,
}

/// A page of claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimsFacts {
    /// The rows, newest first, then by identity.
    pub rows: Vec<ClaimEntry>,
    /// Which part of the list they are.
    pub page: Page,
    /// What is not known of the subject and of the rows.
    pub uncertainty: Vec<Uncertainty>,
}

/// Lists claims with their status against the head state.
///
/// # Errors
/// `EnumValue` (status), `Invalid` (limit 0), `Ambiguous`, `Store`, `CorruptObject`.
pub fn claims(session: &mut Session<'_>, options: &ClaimsOptions) -> Result<ClaimsFacts> {
    let status = options.status.as_deref().map(parse_status).transpose()?;
    let repo = session.repo();
    let world = session.world()?;
    let (ids, subject) = match &options.subject {
        Some(text) => {
            let subject = Subject::read(repo, &world.refs, text)?;
            let found = world.claims_about(&subject)?;
            (Arc::new(found.iter().map(|claim| claim.node.id).collect()), Some(subject))
        }
        None => (world.all_claims()?, None),
    };
    let shows_replaced = options.all || status == Some(ClaimStatus::Superseded);
    let (found, page) = page(&ids, &options.window, |id| {
        let Some(claim) = world.newest_claim(id)?.filter(|claim| shows_replaced || !claim.replaced) else {
            return Ok(None);
        };
        // Whether it is replaced is known before anything is derived.
        if status.is_some_and(|wanted| (wanted == ClaimStatus::Superseded) != claim.replaced) {
            return Ok(None);
        }
        let derived = world.derived(&claim)?;
        Ok(status.is_none_or(|wanted| derived.status == wanted).then_some((claim, derived)))
    })?;
    let mut uncertainty = Vec::new();
    if let Some(subject) = subject.filter(|_| ids.is_empty()) {
        uncertainty.extend(world.subject_doubt(&subject)?);
    }
    let rows = describe(world, &found, &mut uncertainty)?;
    Ok(ClaimsFacts { rows, page, uncertainty })
}

/// One claim with its status against the head state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimFacts {
    /// The claim at its newest refinement.
    pub row: ClaimEntry,
    /// What is not known of it.
    pub uncertainty: Vec<Uncertainty>,
}

/// The claim that `text` names, by any of its versions.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `WrongFamily`, `Store`, `CorruptObject`.
pub fn claim_show(session: &mut Session<'_>, text: &str) -> Result<ClaimFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let id = resolve_in(repo, &world.refs, text, Accept::only(Family::Claim))?;
    let absent = || RepoError::from(StoreError::NotFound { id });
    let claim = world.newest_claim(&id)?.ok_or_else(absent)?;
    let derived = world.derived(&claim)?;
    let mut uncertainty = Vec::new();
    let rows = describe(world, &[(claim, derived)], &mut uncertainty)?;
    Ok(ClaimFacts { row: rows.into_iter().next().ok_or_else(absent)?, uncertainty })
}

const STATUSES: &[&str] =
    &["SUPERSEDED", "CONTRADICTED", "STALE", "PARTIALLY_SUPPORTED", "SUPPORTED", "UNVERIFIED"];

fn parse_status(text: &str) -> Result<ClaimStatus> {
    match text.to_ascii_uppercase().as_str() {
        "SUPERSEDED" => Ok(ClaimStatus::Superseded),
        "CONTRADICTED" => Ok(ClaimStatus::Contradicted),
        "STALE" => Ok(ClaimStatus::Stale),
        "PARTIALLY_SUPPORTED" | "PARTIAL" => Ok(ClaimStatus::PartiallySupported),
        "SUPPORTED" => Ok(ClaimStatus::Supported),
        "UNVERIFIED" => Ok(ClaimStatus::Unverified),
        _ => Err(RepoError::EnumValue { field: "status", value: text.to_owned(), allowed: STATUSES }),
    }
}

/// The rows of claims, and what is not known of them.
pub(crate) fn describe(
    world: &mut World<'_>,
    found: &[(ScopedClaim, Arc<Derived>)],
    uncertainty: &mut Vec<Uncertainty>,
) -> Result<Vec<ClaimEntry>> {
    uncertainty.extend(doubts(found.iter().flat_map(|(_, derived)| &derived.unsure)));
    let mut trajectories: BTreeMap<Gid, Option<Named>> = BTreeMap::new();
    let (mut rows, mut made, mut orphans) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (claim, derived) in found {
        let (scope, producer) = nodes::read(world.store(), &claim.node.id, |object| {
            let claim = Claim::view(object)?;
            Ok((claim.scope().map(str::to_owned), claim.producer()))
        })?;
        made.push((claim.node.id, producer));
        uncertainty.extend(world.fork_doubts(&claim.versions)?);
        let trajectory = match claim.change {
            Some(change) => match trajectories.get(&change) {
                Some(known) => known.clone(),
                None => trajectories.entry(change).or_insert(world.trajectory_of(&change)?).clone(),
            },
            None => {
                orphans.insert(claim.node.id);
                None
            }
        };
        rows.push(ClaimEntry {
            scope,
            trajectory,
            residuals: world.residuals_of(claim)?.into_iter().collect(),
            ..entry(claim, derived)
        });
    }
    uncertainty.extend(world.provenance_doubts(&made)?);
    uncertainty.extend(undeclared(&orphans));
    let namer = Namer::find(world.store(), &world.refs, rows.iter().map(|row| row.id))?;
    rows.iter_mut().for_each(|row| row.name = namer.get(&row.id));
    Ok(rows)
}

fn entry(claim: &ScopedClaim, derived: &Derived) -> ClaimEntry {
    let mut declared_as: Vec<Gid> =
        claim.versions.iter().copied().filter(|version| *version != claim.node.id).collect();
    declared_as.sort_unstable();
    ClaimEntry {
        id: claim.node.id,
        name: None,
        predicate: claim.node.predicate.clone(),
        kind: claim.node.kind.map(|kind| kind.as_str()),
        subject: claim.node.subject.clone(),
        scope: None,
        status: derived.status.as_str(),
        basis: derived.basis,
        unverified_reason: derived.unverified_reason,
        supporting: derived.supporting.clone(),
        contradicting: derived.contradicting.clone(),
        stale: derived.stale.clone(),
        residuals: Vec::new(),
        change: claim.change,
        trajectory: None,
        declared_as,
    }
}
