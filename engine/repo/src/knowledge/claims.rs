//! Claim status (object model, section 15.3): derived from evidence and residuals, never stored (OBJ-09).

use crate::Result;
use crate::facts::Uncertainty;
use crate::knowledge::freshness::{Freshness, Judge, Subjects};
use crate::knowledge::scope::{ScopedClaim, Versions};
use crate::knowledge::world::World;
use gemel_object::{Disposition, EvidenceOutcome, Gid};
use std::collections::{BTreeSet, HashMap};

/// What follows for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimStatus {
    /// Another claim replaced it.
    Superseded,
    /// Something stands against it and nothing for it.
    Contradicted,
    /// All that stands for it may require refresh.
    Stale,
    /// Something stands for it and something is open or against it.
    PartiallySupported,
    /// Evidence stands for it.
    Supported,
    /// Nothing conclusive.
    Unverified,
}

impl ClaimStatus {
    /// The word used in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            ClaimStatus::Superseded => "SUPERSEDED",
            ClaimStatus::Contradicted => "CONTRADICTED",
            ClaimStatus::Stale => "STALE",
            ClaimStatus::PartiallySupported => "PARTIALLY_SUPPORTED",
            ClaimStatus::Supported => "SUPPORTED",
            ClaimStatus::Unverified => "UNVERIFIED",
        }
    }
}

/// A claim's status with what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Derived {
    pub(crate) status: ClaimStatus,
    /// Rule of the object model.
    pub(crate) basis: &'static str,
    pub(crate) unverified_reason: Option<&'static str>,
    pub(crate) supporting: Vec<Gid>,
    pub(crate) contradicting: Vec<Gid>,
    pub(crate) stale: Vec<Gid>,
    /// Residuals about it that are unsettled.
    pub(crate) unsettled: Vec<Gid>,
}

/// Derives statuses against one state.
pub(crate) struct Deriver<'j> {
    pub(crate) judge: &'j mut Judge,
    /// Newest residuals that name each claim.
    pub(crate) about: HashMap<Gid, Vec<Gid>>,
    pub(crate) uncertainty: Vec<Uncertainty>,
}

impl Deriver<'_> {
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn derive(
        &mut self,
        world: &mut World<'_>,
        versions: &Versions,
        claim: &ScopedClaim,
    ) -> Result<Derived> {
        let mut evidence: Vec<Gid> = claim.node.evidence.clone();
        evidence.sort_unstable();
        evidence.dedup();
        let (mut supporting, mut contradicting, mut stale) = (Vec::new(), Vec::new(), Vec::new());
        for id in &evidence {
            let Some(node) = world.evidence(id)? else { continue };
            match node.outcome {
                Some(EvidenceOutcome::Pass) => supporting.push(*id),
                Some(EvidenceOutcome::Fail | EvidenceOutcome::Mismatch) => contradicting.push(*id),
                _ => {}
            }
            let subjects =
                Subjects { text: claim.node.subject.as_deref(), references: &claim.node.subject_refs };
            let anchor = node.evaluated.or(claim.declared_at);
            match self.judge.freshness(world, anchor, subjects)? {
                Freshness::Fresh => {}
                Freshness::MayRequireRefresh(causes) => {
                    stale.push(*id);
                    if causes.is_empty() {
                        self.unsure(*id, "its state is not in the history of the state asked about");
                    }
                }
                Freshness::Unknown if anchor.is_none() => {
                    self.unsure(*id, "it names no state it was gathered at");
                }
                Freshness::Unknown => self.unsure(*id, "its subject is no path, reference or known entity"),
            }
        }
        let unsettled = self.unsettled(world, versions, claim)?;
        Ok(decide(&evidence, supporting, contradicting, stale, unsettled))
    }

    /// Unsettled residuals that the claim names or that name it, ascending.
    fn unsettled(&self, world: &mut World<'_>, versions: &Versions, claim: &ScopedClaim) -> Result<Vec<Gid>> {
        let mut found: BTreeSet<Gid> = BTreeSet::new();
        for id in &claim.node.residuals {
            found.insert(versions.newest_residual(world, id)?);
        }
        for version in &claim.versions {
            found.extend(self.about.get(version).into_iter().flatten());
        }
        let mut unsettled = Vec::new();
        for id in found {
            if world.residual(&id)?.is_some_and(|node| is_unsettled(node.disposition)) {
                unsettled.push(id);
            }
        }
        Ok(unsettled)
    }

    fn unsure(&mut self, id: Gid, reason: &str) {
        let id = id.to_string();
        if !self.uncertainty.iter().any(|known| known.ids.contains(&id)) {
            let reason = format!("freshness unknown: {reason}");
            self.uncertainty.push(Uncertainty { class: "evidence_freshness", ids: vec![id], reason });
        }
    }
}

/// Whether a disposition leaves a residual unsettled (object model, section 15.4).
pub(crate) fn is_unsettled(disposition: Disposition) -> bool {
    matches!(disposition, Disposition::Open | Disposition::Acknowledged)
}

/// Steps 2 to 6; the first that holds decides.
fn decide(
    evidence: &[Gid],
    supporting: Vec<Gid>,
    contradicting: Vec<Gid>,
    stale: Vec<Gid>,
    unsettled: Vec<Gid>,
) -> Derived {
    let (supported, contradicted) = (!supporting.is_empty(), !contradicting.is_empty());
    let open = !unsettled.is_empty();
    let all_stale = !evidence.is_empty() && stale.len() == evidence.len();
    let (status, basis, unverified_reason) = if !supported && (contradicted || open) {
        (ClaimStatus::Contradicted, "8.1.2", None)
    } else if !contradicted && all_stale {
        (ClaimStatus::Stale, "8.1.5", None)
    } else if supported && (contradicted || open) {
        (ClaimStatus::PartiallySupported, "8.1.2", None)
    } else if supported {
        (ClaimStatus::Supported, "8.1.3", None)
    } else if evidence.is_empty() {
        (ClaimStatus::Unverified, "8.1.4", Some("no evidence"))
    } else {
        (ClaimStatus::Unverified, "8.1.4", Some("no conclusive evidence"))
    };
    Derived { status, basis, unverified_reason, supporting, contradicting, stale, unsettled }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gemel_object::Family;

    /// Support, contradiction, other evidence, how many of them stale, an open residual.
    fn check(pass: u8, fail: u8, other: u8, stale: u8, open: bool, expected: &str) {
        let id = |n: u8| Gid::new(Family::Evidence, [n; 32]);
        let ids = |n: std::ops::Range<u8>| n.map(id).collect::<Vec<_>>();
        let all = pass + fail + other;
        let unsettled = if open { vec![Gid::new(Family::Residual, [1; 32])] } else { Vec::new() };
        let found = decide(&ids(0..all), ids(0..pass), ids(pass..pass + fail), ids(0..stale), unsettled);
        assert_eq!(found.status.as_str(), expected, "{pass} {fail} {other} {stale} {open}");
    }

    /// DER-01, DER-02
    #[test]
    fn precedence() {
        check(0, 0, 0, 0, false, "UNVERIFIED");
        check(0, 0, 2, 0, false, "UNVERIFIED");
        check(1, 0, 0, 0, false, "SUPPORTED");
        check(1, 0, 3, 0, false, "SUPPORTED");
        check(0, 1, 0, 0, false, "CONTRADICTED");
        check(0, 0, 0, 0, true, "CONTRADICTED");
        check(0, 1, 1, 2, false, "CONTRADICTED");
        check(1, 1, 0, 0, false, "PARTIALLY_SUPPORTED");
        check(1, 1, 0, 2, false, "PARTIALLY_SUPPORTED");
        check(1, 0, 0, 0, true, "PARTIALLY_SUPPORTED");
        check(1, 0, 0, 1, false, "STALE");
        check(1, 0, 0, 1, true, "STALE");
        check(2, 0, 0, 1, false, "SUPPORTED");
        check(0, 0, 1, 1, false, "STALE");
    }
}
