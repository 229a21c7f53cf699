//! Derived status against a plain model of the rules, on thousands of generated histories (DER-01, DER-02, DER-04,
//! DER-06, OBJ-09): every claim, evidence and residual, and the verdicts.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod draw;
mod model;

use gemel_object::Family;
use gemel_repo::facts::Silent;
use gemel_repo::knowledge::{
    self, ClaimsOptions, EvidenceListOptions, ResidualsOptions, Session, StatusOptions, Window,
};
use gemel_repo::{InitOptions, Repo};
use gemel_store::vfs::Vfs;
use gemel_store::vfs::sim::SimDisk;
use model::{ClaimAnswer, Model, Verdict};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Generated histories.
const HISTORIES: u64 = 2000;

fn all() -> Window {
    Window { limit: 1000, cursor: None }
}

/// Makes a history and compares every answer.
fn check(root: &std::path::Path, seed: u64) {
    let disk = SimDisk::new();
    disk.create_dir_all(root).unwrap();
    let vfs: Arc<dyn Vfs> = Arc::new(disk);
    let producer = Repo::init(vfs.clone(), root, &InitOptions::default()).unwrap().default_producer;
    let repo = Repo::open(vfs, root).unwrap();
    let model = draw::record(repo.store(), producer, seed);
    let mut session = Session::new(&repo);
    claims(&mut session, &model, seed);
    evidence(&mut session, &model, seed);
    residuals(&mut session, &model, seed);
    verdicts(&mut session, &model, seed);
}

/// Compares row by row, so that a failure shows what differs and nothing else.
fn same<K: Ord + std::fmt::Debug + Copy, V: PartialEq + std::fmt::Debug>(
    found: &BTreeMap<K, V>,
    expected: &BTreeMap<K, V>,
    what: &str,
) {
    let keys: BTreeSet<K> = found.keys().chain(expected.keys()).copied().collect();
    for key in keys {
        assert_eq!(found.get(&key), expected.get(&key), "{what}: {key:?}");
    }
}

fn claims(session: &mut Session<'_>, model: &Model, seed: u64) {
    let declared = model.declared();
    let expected: BTreeMap<_, ClaimAnswer> = declared
        .iter()
        .filter(|id| id.family() == Family::Claim)
        .map(|id| model.claim_versions(&declared, id))
        .map(|versions| (versions[versions.len() - 1], model.claim(&declared, &versions)))
        .collect();
    let options = ClaimsOptions { all: true, window: all(), ..ClaimsOptions::default() };
    let found = knowledge::claims(session, &options).unwrap().rows.into_iter().map(|row| {
        let answer = ClaimAnswer {
            status: row.status,
            basis: row.basis,
            reason: row.unverified_reason,
            supporting: row.supporting,
            contradicting: row.contradicting,
            stale: row.stale,
            change: row.change,
        };
        (row.id, answer)
    });
    let found: BTreeMap<_, _> = found.collect();
    same(&found, &expected, &format!("claims of history {seed}"));
}

fn evidence(session: &mut Session<'_>, model: &Model, seed: u64) {
    let declared = model.declared();
    let expected: BTreeMap<_, _> = declared
        .iter()
        .filter(|id| id.family() == Family::Evidence)
        .map(|id| (*id, model.evidence_freshness(id)))
        .collect();
    let options = EvidenceListOptions { window: all(), ..EvidenceListOptions::default() };
    let found: BTreeMap<_, _> = knowledge::evidence_list(session, &options)
        .unwrap()
        .rows
        .into_iter()
        .map(|row| (row.id, (row.freshness.status, row.freshness.caused_by)))
        .collect();
    same(&found, &expected, &format!("evidence of history {seed}"));
}

fn residuals(session: &mut Session<'_>, model: &Model, seed: u64) {
    let declared = model.declared();
    let newest: BTreeSet<_> = declared
        .iter()
        .filter(|id| id.family() == Family::Residual)
        .map(|id| model.newest_residual(&declared, id))
        .collect();
    let expected: BTreeMap<_, _> = newest.iter().map(|id| (*id, model.persistence(id))).collect();
    let options = ResidualsOptions { window: all(), ..ResidualsOptions::default() };
    let rows = knowledge::residuals(session, &options).unwrap().rows;
    let found: BTreeMap<_, _> = rows.into_iter().map(|row| (row.id, row.descendant_changes)).collect();
    same(&found, &expected, &format!("residuals of history {seed}"));
}

fn verdicts(session: &mut Session<'_>, model: &Model, seed: u64) {
    for scope in [None, Some("trajectory")] {
        let options = StatusOptions { scope: scope.map(str::to_owned), ..StatusOptions::default() };
        let readiness = knowledge::status(session, &options, &Silent).unwrap().readiness;
        let reasons = readiness.reasons.iter().map(ToString::to_string).collect();
        let found = Verdict { verdict: readiness.verdict.as_str(), reasons };
        assert_eq!(found, model.readiness(scope.is_some()), "verdict of history {seed}, scope {scope:?}");
    }
}

#[test]
fn answers_are_those_of_the_rules() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    (0..HISTORIES).into_par_iter().for_each(|seed| check(&root, seed));
}
