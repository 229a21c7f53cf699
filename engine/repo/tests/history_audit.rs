//! Graph-level audit: missing and pruned targets, damaged records, and that it goes on after each.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_object::families::{NewChange, NewState, NewTrajectory};
use gemel_object::{Encoded, Family, Gid, Limits};
use gemel_repo::audit::{self, AuditFacts, AuditOptions, Severity};
use gemel_repo::facts::Silent;
use gemel_repo::history::BeginOptions;
use gemel_store::NewObject;
use history_support::Life;

fn audit(life: &Life) -> AuditFacts {
    audit::run(&life.reopen(), &AuditOptions::default(), &Silent).unwrap()
}

fn codes(facts: &AuditFacts) -> Vec<&'static str> {
    facts.problems.iter().map(|problem| problem.code).collect()
}

fn put(life: &Life, object: Encoded) -> Gid {
    let writer = life.repo.store().writer().unwrap();
    writer.put(NewObject { id: object.id, bytes: object.bytes, base: None }).unwrap();
    writer.commit().unwrap();
    object.id
}

fn life() -> Life {
    let life = Life::new();
    for n in 0..3 {
        life.write("a", &n.to_string());
        life.write(&format!("dir/{n}"), "x");
        life.change(None, "change");
    }
    life
}

#[test]
fn a_healthy_repository() {
    let life = life();
    life.begin(BeginOptions::default());
    let facts = audit(&life);
    assert_eq!(facts.problems, []);
    assert!(facts.objects_scanned > 15 && facts.objects_ok == facts.objects_scanned);
    assert_eq!(facts.exit_code(), 0);
}

/// OBJ-06, RET-05: what is gone by damage and what is gone by policy are told apart.
/// Shows FAM-05.
#[test]
fn missing_and_pruned_references() {
    let life = life();
    let absent = |n: u8| Gid::new(Family::Tree, [n; 32]);
    let state = |n: u8| {
        NewState { root_tree: Some(absent(n)), ..NewState::default() }.encode(&Limits::DEFAULT).unwrap()
    };
    put(&life, state(1));
    put(&life, state(2));
    let mut transaction = life.repo.store().transaction().unwrap();
    transaction.set_record(format!("local/tombstones/{}", absent(2)), b"{}".to_vec());
    transaction.set_record(format!("local/tombstones/{}", life.target("refs/head").unwrap()), b"{}".to_vec());
    transaction.commit("test", 0).unwrap();
    let facts = audit(&life);
    assert_eq!(codes(&facts), ["missing-reference", "live-tombstone", "pruned-referenced"]);
    assert_eq!(facts.problems[0].id, Some(absent(1)));
    assert_eq!(facts.problems[2].severity, Severity::Warning);
    assert_eq!(facts.exit_code(), 2);
}

/// STO-08
#[test]
fn workspace_records() {
    let life = life();
    let mut transaction = life.repo.store().transaction().unwrap();
    transaction.set_record("local/worktrees/w/pending", b"{}".to_vec());
    transaction.set_record("local/worktrees/w/path", vec![0xFF]);
    transaction.set_record("local/worktrees/w/other", vec![]);
    transaction.commit("test", 0).unwrap();
    assert_eq!(codes(&audit(&life)), ["pending-corrupt", "workspace-state-corrupt", "stray-record"]);
}

/// OBJ-07, OBJ-08
#[test]
fn states_that_do_not_follow() {
    let life = life();
    let head = life.target("refs/head").unwrap();
    let (first, last) = (life.target("refs/names/S1").unwrap(), life.target("refs/names/S3").unwrap());
    let odd = put(
        &life,
        NewState {
            root_tree: Some(put(&life, gemel_object::TreeBuilder::new().finish(&Limits::DEFAULT).unwrap())),
            ..NewState::default()
        }
        .encode(&Limits::DEFAULT)
        .unwrap(),
    );
    let change = NewChange {
        summary: Some("odd"),
        producer: life.target("refs/names/P1"),
        input_state: Some(odd),
        resulting_state: Some(first),
        causal_parents: Some(&[head]),
        ..NewChange::default()
    };
    let change = put(&life, change.encode(&Limits::DEFAULT).unwrap());
    let version = NewTrajectory {
        previous: life.target("refs/trajectories/T1"),
        added_changes: Some(&[change]),
        ..NewTrajectory::default()
    };
    put(&life, version.encode(&Limits::DEFAULT).unwrap());
    assert_ne!(last, first);
    let facts = audit(&life);
    assert_eq!(codes(&facts), ["sequence-gap", "state-inconsistency"]);
    assert_eq!(facts.exit_code(), 0, "both are warnings: nothing is lost");
}

/// T-11: bytes flipped in a pack are named, and the rest is still checked.
#[test]
fn damaged_packs() {
    let life = life();
    let mut transaction = life.repo.store().transaction().unwrap();
    transaction.set_record("local/worktrees/w/pending", b"{}".to_vec());
    transaction.commit("test", 0).unwrap();
    let packs = life.root.join(".gemel/packs");
    let pack = std::fs::read_dir(packs).unwrap().map(|entry| entry.unwrap().path());
    let pack = pack
        .filter(|path| path.extension().is_some_and(|e| e != "idx"))
        .max_by_key(|p| p.metadata().unwrap().len());
    let pack = pack.unwrap();
    let mut bytes = std::fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 8] {
        *byte ^= 0xFF;
    }
    std::fs::write(&pack, bytes).unwrap();
    let facts = audit(&life);
    let codes = codes(&facts);
    assert!(codes.iter().any(|code| matches!(*code, "corrupt-object" | "damaged-pack")), "{codes:?}");
    assert!(codes.contains(&"pending-corrupt"), "{codes:?}");
    assert_eq!(facts.exit_code(), 2);
}
