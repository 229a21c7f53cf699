//! Readiness: a verdict with its reasons (object model, section 15.5).

use crate::knowledge::claims::{ClaimStatus, Derived, is_unsettled};
use crate::knowledge::required::Combination;
use crate::knowledge::scope::Scope;
use gemel_object::{Gid, ResidualSeverity};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// How ready the scope is. Ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing unresolved.
    Ready,
    /// Known, tolerated gaps.
    ReadyWithResiduals,
    /// Something stands against it.
    NotReady,
}

impl Verdict {
    /// The word used in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Ready => "READY",
            Verdict::ReadyWithResiduals => "READY_WITH_RESIDUALS",
            Verdict::NotReady => "NOT_READY",
        }
    }
}

/// Why (query surface, section 3.3). `Display` gives the contract's exact text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Rules 1 and 4: an unsettled residual.
    Residual {
        /// The residual, newest version.
        id: Gid,
        /// `open` or `acknowledged`.
        disposition: String,
        /// Its severity.
        severity: String,
    },
    /// Rules 2 and 5: a claim that does not hold without question.
    Claim {
        /// The claim.
        id: Gid,
        /// `contradicted`, `partially supported`, `unverified` or `stale`.
        word: &'static str,
        /// 2 or 5.
        rule: u8,
    },
    /// Rule 3: a required combination without a pass.
    Missing {
        /// Required claim kind.
        kind: String,
        /// Operating system family.
        platform: String,
        /// Processor architecture.
        arch: String,
    },
    /// Rule 6: nothing stands against it.
    Nothing {
        /// Whether anything is recorded in scope at all.
        recorded: bool,
    },
}

impl Reason {
    /// Rule number, 1 to 6.
    pub fn rule(&self) -> u8 {
        match self {
            Reason::Residual { severity, .. } => {
                if severity == "blocking" {
                    1
                } else {
                    4
                }
            }
            Reason::Claim { rule, .. } => *rule,
            Reason::Missing { .. } => 3,
            Reason::Nothing { .. } => 6,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Residual { id, disposition, severity } => {
                write!(f, "{disposition} residual {id} ({severity})")
            }
            Reason::Claim { id, word, .. } => write!(f, "{word} claim {id}"),
            Reason::Missing { platform, arch, .. } => write!(f, "missing verification: {platform}/{arch}"),
            Reason::Nothing { recorded: true } => f.write_str("nothing unresolved in scope"),
            Reason::Nothing { recorded: false } => f.write_str("nothing recorded in scope"),
        }
    }
}

/// A verdict, its reasons by rule then text, and what was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The worst of all rules.
    pub verdict: Verdict,
    /// Never empty (DER-04).
    pub reasons: Vec<Reason>,
    /// Name of the scope: `default`, `trajectory` or `repository`.
    pub scope: &'static str,
}

/// Judges a scope (object model, section 15.5): all reasons of all rules, the worst verdict. `statuses` are those of
/// the scope's claims, in their order.
pub(crate) fn judge(
    scope: &Scope,
    statuses: &[Arc<Derived>],
    required: &BTreeSet<Combination>,
    satisfied: &BTreeSet<Combination>,
    name: &'static str,
) -> Readiness {
    let mut reasons = Vec::new();
    for (id, node) in scope.residuals.iter().filter(|(_, node)| is_unsettled(node.disposition)) {
        reasons.push(Reason::Residual {
            id: *id,
            disposition: node.disposition.as_str().to_owned(),
            severity: node.severity.as_str().to_owned(),
        });
    }
    for (claim, derived) in scope.claims.iter().zip(statuses) {
        let against = !derived.contradicting.is_empty();
        let (word, rule) = match derived.status {
            ClaimStatus::Contradicted => ("contradicted", 2),
            ClaimStatus::PartiallySupported => ("partially supported", if against { 2 } else { 5 }),
            ClaimStatus::Unverified => ("unverified", 5),
            ClaimStatus::Stale => ("stale", 5),
            ClaimStatus::Supported | ClaimStatus::Superseded => continue,
        };
        reasons.push(Reason::Claim { id: claim.node.id, word, rule });
    }
    for combination in required.difference(satisfied) {
        reasons.push(Reason::Missing {
            kind: combination.kind.clone(),
            platform: combination.platform.os.clone(),
            arch: combination.platform.arch.clone(),
        });
    }
    let worst = reasons.iter().map(|reason| match reason.rule() {
        1..=3 => Verdict::NotReady,
        _ => Verdict::ReadyWithResiduals,
    });
    let verdict = worst.max().unwrap_or(Verdict::Ready);
    if reasons.is_empty() {
        let recorded = !scope.claims.is_empty() || !scope.residuals.is_empty();
        reasons.push(Reason::Nothing { recorded });
    }
    reasons.sort_by_cached_key(|reason| (reason.rule(), reason.to_string()));
    Readiness { verdict, reasons, scope: name }
}

/// Worst first; absent counts as medium.
pub(crate) fn severity_rank(severity: ResidualSeverity) -> u8 {
    match severity {
        ResidualSeverity::Blocking => 0,
        ResidualSeverity::High => 1,
        ResidualSeverity::Medium => 2,
        ResidualSeverity::Low => 3,
    }
}
