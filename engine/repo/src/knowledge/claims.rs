//! Claim status (object model, section 15.3): derived from evidence and residuals, never stored (OBJ-09).

use crate::Result;
use crate::facts::Uncertainty;
use crate::knowledge::freshness::{Freshness, Judge, Subjects};
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::world::World;
use gemel_object::{Disposition, EvidenceOutcome, Gid};
use std::collections::HashSet;

/// What follows for a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    #[default]
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Derived {
    pub(crate) status: ClaimStatus,
    /// Rule of the object model.
    pub(crate) basis: &'static str,
    pub(crate) unverified_reason: Option<&'static str>,
    /// All evidence it links, ascending.
    pub(crate) evidence: Vec<Gid>,
    pub(crate) supporting: Vec<Gid>,
    pub(crate) contradicting: Vec<Gid>,
    pub(crate) stale: Vec<Gid>,
    /// Residuals about it that are unsettled.
    pub(crate) unsettled: Vec<Gid>,
    /// Evidence whose freshness is not known for sure, and why.
    pub(crate) unsure: Vec<(Gid, &'static str)>,
}

/// Derives the status of a claim against the judge's state.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn derive(world: &mut World<'_>, judge: &mut Judge, claim: &ScopedClaim) -> Result<Derived> {
    let mut evidence: Vec<Gid> = claim.node.evidence.clone();
    evidence.sort_unstable();
    evidence.dedup();
    let mut found = Derived { evidence, ..Derived::default() };
    let subjects = Subjects { text: claim.node.subject.as_deref(), references: &claim.node.subject_refs };
    for id in &found.evidence {
        let Some(node) = world.evidence(id)? else { continue };
        match node.outcome {
            Some(EvidenceOutcome::Pass) => found.supporting.push(*id),
            Some(EvidenceOutcome::Fail | EvidenceOutcome::Mismatch) => found.contradicting.push(*id),
            _ => {}
        }
        let anchor = node.evaluated.or(claim.declared_at);
        let freshness = judge.freshness_in_brief(world, anchor, subjects)?;
        found.unsure.extend(doubt(&freshness, anchor).map(|reason| (*id, reason)));
        if let Freshness::MayRequireRefresh(_) = freshness {
            found.stale.push(*id);
        }
    }
    for id in world.residuals_of(claim)? {
        if world.residual(&id)?.is_some_and(|node| is_unsettled(node.disposition)) {
            found.unsettled.push(id);
        }
    }
    found.decide(claim.replaced);
    Ok(found)
}

/// Why freshness is not known for sure, if so (query surface, section 1.5).
pub(crate) fn doubt(freshness: &Freshness, anchor: Option<Gid>) -> Option<&'static str> {
    match freshness {
        Freshness::Fresh => None,
        Freshness::MayRequireRefresh(causes) if causes.is_empty() => {
            Some("its state is not in the history of the state asked about")
        }
        Freshness::MayRequireRefresh(_) => None,
        Freshness::Unknown if anchor.is_none() => Some("it names no state it was gathered at"),
        Freshness::Unknown => Some("its subject is no path, reference or known entity"),
    }
}

/// What to say of evidence whose freshness is not known for sure; each once, in the order given.
pub(crate) fn doubts<'d>(unsure: impl IntoIterator<Item = &'d (Gid, &'static str)>) -> Vec<Uncertainty> {
    let mut seen = HashSet::new();
    let told = unsure.into_iter().filter(|(id, _)| seen.insert(*id)).map(|(id, reason)| Uncertainty {
        class: "evidence_freshness",
        ids: vec![id.to_string()],
        reason: format!("freshness unknown: {reason}"),
    });
    told.collect()
}

/// Whether a disposition leaves a residual unsettled (object model, section 15.4).
pub(crate) fn is_unsettled(disposition: Disposition) -> bool {
    matches!(disposition, Disposition::Open | Disposition::Acknowledged)
}

impl Derived {
    /// The steps of section 15.3; the first that holds decides.
    fn decide(&mut self, replaced: bool) {
        let (supported, contradicted) = (!self.supporting.is_empty(), !self.contradicting.is_empty());
        let open = !self.unsettled.is_empty();
        let all_stale = !self.evidence.is_empty() && self.stale.len() == self.evidence.len();
        (self.status, self.basis, self.unverified_reason) = if replaced {
            (ClaimStatus::Superseded, "8.1.1", None)
        } else if !supported && (contradicted || open) {
            (ClaimStatus::Contradicted, "8.1.2", None)
        } else if !contradicted && all_stale {
            (ClaimStatus::Stale, "8.1.5", None)
        } else if supported && (contradicted || open) {
            (ClaimStatus::PartiallySupported, "8.1.2", None)
        } else if supported {
            (ClaimStatus::Supported, "8.1.3", None)
        } else if self.evidence.is_empty() {
            (ClaimStatus::Unverified, "8.1.4", Some("no evidence"))
        } else {
            (ClaimStatus::Unverified, "8.1.4", Some("no conclusive evidence"))
        };
    }
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
        let mut found = Derived {
            evidence: ids(0..all),
            supporting: ids(0..pass),
            contradicting: ids(pass..pass + fail),
            stale: ids(0..stale),
            unsettled,
            ..Derived::default()
        };
        found.decide(false);
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
