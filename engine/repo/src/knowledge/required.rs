//! Required verification, and evidence by platform (object model, section 15.6; query surface, section 4.1).

use crate::Result;
use crate::facts::Uncertainty;
use crate::history::nodes;
use crate::knowledge::claims::Derived;
use crate::knowledge::scope::Scope;
use crate::knowledge::world::{Platform, World};
use gemel_object::families::Config;
use gemel_object::{EvidenceKind, EvidenceOutcome, Gid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A combination that must have passed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Combination {
    /// Kind of the claims.
    pub(crate) kind: String,
    /// Where.
    pub(crate) platform: Platform,
}

/// Evidence by platform, or by oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvidenceRow {
    /// Newest outcome on a platform.
    Platform {
        /// Operating system family.
        platform: String,
        /// Processor architecture.
        arch: String,
        /// `fail`, `pass`, `inconclusive` or `not_run`.
        result: &'static str,
    },
    /// Agreement with an oracle.
    Oracle {
        /// Its name.
        oracle: String,
        /// Cases that agreed.
        passed: u64,
        /// Cases compared, at least 1.
        total: u64,
    },
}

/// The combinations of the config, ascending.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn required(world: &World<'_>) -> Result<BTreeSet<Combination>> {
    let Some(id) = world.refs.get("refs/config")? else { return Ok(BTreeSet::new()) };
    nodes::read(world.store(), &id, |object| {
        let mut found = BTreeSet::new();
        for entry in Config::view(object)?.required_verification().iter().flat_map(|r| r.entries().iter()) {
            for platform in entry.platforms().iter() {
                let platform =
                    Platform { os: platform.platform().to_owned(), arch: platform.arch().to_owned() };
                found.insert(Combination { kind: entry.kind().to_owned(), platform });
            }
        }
        Ok(found)
    })
}

/// The combinations that a claim in scope has passing evidence for.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn satisfied(world: &mut World<'_>, scope: &Scope) -> Result<BTreeSet<Combination>> {
    let mut found = BTreeSet::new();
    for claim in &scope.claims {
        let Some(kind) = claim.node.kind else { continue };
        for id in &claim.node.evidence {
            let Some(node) = world.evidence(id)? else { continue };
            if node.outcome == Some(EvidenceOutcome::Pass)
                && let Some(platform) = world.platform(&node)?
            {
                found.insert(Combination { kind: kind.as_str().to_owned(), platform });
            }
        }
    }
    Ok(found)
}

/// Says which required combinations are satisfied only by evidence that may require refresh: they stay satisfied (object
/// model, section 15.6). `statuses` are those of the scope's claims, in their order.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn stale_support(
    world: &mut World<'_>,
    scope: &Scope,
    statuses: &[Arc<Derived>],
    required: &BTreeSet<Combination>,
) -> Result<Vec<Uncertainty>> {
    // Stale evidence by the combination it satisfies; `None` once there is fresh evidence for it.
    let mut support: BTreeMap<Combination, Option<BTreeSet<Gid>>> = BTreeMap::new();
    if required.is_empty() {
        return Ok(Vec::new());
    }
    for (claim, derived) in scope.claims.iter().zip(statuses) {
        let Some(kind) = claim.node.kind else { continue };
        for id in &derived.supporting {
            let Some(node) = world.evidence(id)? else { continue };
            let Some(platform) = world.platform(&node)? else { continue };
            let combination = Combination { kind: kind.as_str().to_owned(), platform };
            let stale = support.entry(combination).or_insert_with(|| Some(BTreeSet::new()));
            match stale {
                Some(ids) if derived.stale.contains(id) => drop(ids.insert(*id)),
                fresh => *fresh = None,
            }
        }
    }
    let doubt = |combination: &Combination| {
        let ids = support.get(combination)?.as_ref()?;
        let Combination { kind, platform } = combination;
        let reason =
            format!("{kind} on {}/{} rests on evidence that may require refresh", platform.os, platform.arch);
        let ids = ids.iter().map(Gid::to_string).collect();
        Some(Uncertainty { class: "evidence_freshness", ids, reason })
    };
    Ok(required.iter().filter_map(doubt).collect())
}

/// Rows for `status`: platforms of the matrix and of the evidence in scope, then oracles.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn rows(
    world: &mut World<'_>,
    scope: &Scope,
    required: &BTreeSet<Combination>,
) -> Result<Vec<EvidenceRow>> {
    let mut all: BTreeSet<Gid> = scope.evidence.list().iter().copied().collect();
    all.extend(scope.claims.iter().flat_map(|claim| &claim.node.evidence));
    // Per platform the newest outcome about each subject; per oracle the newest counts.
    type Newest<T> = (Reverse<i64>, Gid, T);
    type Topic = (EvidenceKind, Option<String>);
    let mut platforms: BTreeMap<Platform, BTreeMap<Topic, Newest<Option<EvidenceOutcome>>>> =
        required.iter().map(|combination| (combination.platform.clone(), BTreeMap::new())).collect();
    let mut oracles: BTreeMap<String, Newest<(u64, u64)>> = BTreeMap::new();
    for id in &all {
        let Some(node) = world.evidence(id)? else { continue };
        let age = Reverse(node.created_at_ms);
        if let Some(platform) = world.platform(&node)? {
            let newest = (age, *id, node.outcome);
            let topics = platforms.entry(platform).or_default();
            let topic = (node.kind, node.subject.clone());
            topics.entry(topic).and_modify(|old| *old = newest.min(*old)).or_insert(newest);
        }
        if let (EvidenceKind::OracleComparison, Some(counts)) = (node.kind, node.counts)
            && counts.1 > 0
            && let Some(oracle) = node.tool.clone().or_else(|| node.subject.clone())
        {
            let newest = (age, *id, counts);
            oracles.entry(oracle).and_modify(|old| *old = newest.min(*old)).or_insert(newest);
        }
    }
    let platforms = platforms.into_iter().map(|(platform, topics)| EvidenceRow::Platform {
        platform: platform.os,
        arch: platform.arch,
        result: result(topics.values().map(|(_, _, outcome)| *outcome)),
    });
    let oracles = oracles.into_iter().map(|(oracle, (_, _, (passed, total)))| EvidenceRow::Oracle {
        oracle,
        passed,
        total,
    });
    Ok(platforms.chain(oracles).collect())
}

/// The word for a platform's newest outcomes: one that contradicts is never outvoted.
fn result(outcomes: impl Iterator<Item = Option<EvidenceOutcome>>) -> &'static str {
    let outcomes: Vec<_> = outcomes.collect();
    let any = |wanted: &[EvidenceOutcome]| outcomes.iter().flatten().any(|outcome| wanted.contains(outcome));
    if any(&[EvidenceOutcome::Fail, EvidenceOutcome::Mismatch]) {
        "fail"
    } else if any(&[EvidenceOutcome::Pass]) {
        "pass"
    } else if outcomes.is_empty() {
        "not_run"
    } else {
        "inconclusive"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_a_platform() {
        use EvidenceOutcome::{Error, Fail, Mismatch, Pass, Skipped};
        assert_eq!(result([].into_iter()), "not_run");
        assert_eq!(result([Some(Pass), Some(Fail)].into_iter()), "fail");
        assert_eq!(result([Some(Mismatch), None].into_iter()), "fail");
        assert_eq!(result([Some(Skipped), Some(Pass)].into_iter()), "pass");
        assert_eq!(result([Some(Error), None].into_iter()), "inconclusive");
    }
}
