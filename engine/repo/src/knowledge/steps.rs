//! What a scope asks to be done next (query surface, section 4.15): each step follows from something recorded, and says
//! from what.

use crate::knowledge::assess::Assessment;
use crate::knowledge::claims::{ClaimStatus, is_unsettled};
use crate::knowledge::readiness::severity_rank;
use crate::knowledge::required::Combination;
use gemel_object::Gid;

/// Residuals recommended at most.
pub(crate) const MAX_RESIDUALS: usize = 8;

/// Claims recommended to be verified at most.
const MAX_CLAIMS: usize = 1000;

/// A recommended step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recommendation {
    /// `continue`, `index`, `inspect`, `reconcile`, `resolve` or `verify`.
    pub kind: &'static str,
    /// What it is about.
    pub subject: String,
    /// The objects it follows from.
    pub refs: Vec<Gid>,
    /// Why, in words.
    pub rationale: String,
    /// `observed` or `possible`.
    pub certainty: &'static str,
}

/// What the unsettled residuals, the claims and the required verification of a scope ask for; by kind, subject and first
/// reference.
pub(crate) fn of_scope(known: &Assessment) -> Vec<Recommendation> {
    let mut steps = residuals(known);
    steps.extend(claims(known));
    steps.extend(known.required.difference(&known.satisfied).map(gap));
    steps.sort_unstable();
    steps
}

/// The worst first, as far as the cap allows.
fn residuals(known: &Assessment) -> Vec<Recommendation> {
    let unsettled = known.scope.residuals.values().filter(|node| is_unsettled(node.disposition));
    let mut unsettled: Vec<_> = unsettled.collect();
    unsettled.sort_by_key(|node| (severity_rank(node.severity), node.first_observed_ms, node.id));
    let step = |node: &&std::sync::Arc<crate::history::nodes::ResidualNode>| Recommendation {
        kind: "resolve",
        subject: node.summary.clone(),
        refs: vec![node.id],
        // T-53: what somebody wrote is told as the subject; the advice itself is in our words.
        rationale: format!("{} residual {} ({})", node.disposition.as_str(), node.id, node.severity.as_str()),
        certainty: "observed",
    };
    unsettled.iter().take(MAX_RESIDUALS).map(step).collect()
}

/// Claims that something speaks against or that may have to be looked at again, ascending, as far as the cap allows.
fn claims(known: &Assessment) -> impl Iterator<Item = Recommendation> + '_ {
    all_claims(known).take(MAX_CLAIMS)
}

/// How many claims the cap leaves out.
pub(crate) fn claims_left_out(known: &Assessment) -> usize {
    all_claims(known).count().saturating_sub(MAX_CLAIMS)
}

fn all_claims(known: &Assessment) -> impl Iterator<Item = Recommendation> + '_ {
    known.scope.claims.iter().zip(&known.statuses).filter_map(|(claim, derived)| {
        let word = match derived.status {
            ClaimStatus::Contradicted => "contradicted",
            ClaimStatus::PartiallySupported => "partially supported",
            ClaimStatus::Stale => "stale",
            ClaimStatus::Superseded | ClaimStatus::Supported | ClaimStatus::Unverified => return None,
        };
        Some(Recommendation {
            kind: "verify",
            subject: claim.node.predicate.clone(),
            refs: vec![claim.node.id],
            rationale: format!("{word} claim {}", claim.node.id),
            certainty: "observed",
        })
    })
}

/// A required combination that nothing satisfies.
pub(crate) fn gap(missing: &Combination) -> Recommendation {
    Recommendation {
        kind: "verify",
        subject: missing.kind.clone(),
        refs: Vec::new(),
        rationale: gap_text(missing),
        certainty: "possible",
    }
}

/// Why a combination is a gap; the same words in `policy`.
pub(crate) fn gap_text(missing: &Combination) -> String {
    let Combination { kind, platform } = missing;
    format!("required verification missing: {kind} on {}/{}", platform.os, platform.arch)
}
