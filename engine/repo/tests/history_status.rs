//! Derived status over a life: claims, freshness, residuals, readiness, scopes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_object::families::{
    NewClaim, NewConfig, NewDispositionEvent, NewEnvironment, NewOs, NewRequiredEntry, NewRequiredPlatform,
    NewRequiredVerification, NewResidual, NewTrajectory, Residual,
};
use gemel_object::{Disposition, Encoded, ExecutionPolicy, Gid, Limits, Object, TrajectoryOutcome};
use gemel_repo::facts::Silent;
use gemel_repo::history::{BeginOptions, FinishOptions};
use gemel_repo::knowledge::{self, EvidenceRow, Session, StatusOptions, Verdict};
use gemel_store::NewObject;
use history_support::{Life, strings, summed};

const L: Limits = Limits::DEFAULT;

/// Stores an object and names it.
fn publish(life: &Life, name: &str, object: Encoded) -> Gid {
    let writer = life.repo.store().writer().unwrap();
    writer.put(NewObject { id: object.id, bytes: object.bytes, base: None }).unwrap();
    writer.commit().unwrap();
    let mut transaction = life.repo.store().transaction().unwrap();
    transaction.set(name, object.id);
    transaction.commit("test", 0).unwrap();
    object.id
}

fn record(
    life: &Life,
    claims: &[&str],
    evidence: &[&str],
    residuals: &[&str],
) -> gemel_repo::history::FinishFacts {
    life.begin(BeginOptions::default());
    life.finish(FinishOptions {
        claims: strings(claims),
        evidence: strings(evidence),
        residuals: strings(residuals),
        ..summed("change")
    })
}

fn statuses(life: &Life) -> Vec<(String, &'static str)> {
    let mut found: Vec<_> =
        life.status().claim_list.into_iter().map(|row| (row.predicate, row.status)).collect();
    found.sort();
    found
}

fn producer(life: &Life) -> Gid {
    life.target("refs/names/P1").unwrap()
}

#[test]
fn nothing_recorded() {
    let life = Life::new();
    let status = life.status();
    assert_eq!(status.readiness.verdict, Verdict::Ready);
    assert_eq!(status.readiness.reasons[0].to_string(), "nothing recorded in scope");
    assert!(status.trajectory.is_none() && status.state.is_none());
    life.write("a", "1");
    assert_eq!(life.status().changed.len(), 1);
}

/// DER-02: evidence goes stale when a later change touches what it is about, and only then.
#[test]
fn staleness_follows_the_subject() {
    let life = Life::new();
    life.write("a", "1");
    life.write("d/b", "1");
    record(
        &life,
        &["a|a works||evidence=0", "d|d works||evidence=1", "nowhere|unknown subject||evidence=2", "a|bare"],
        &["a|pass||state=result", "d|pass||state=result", "nowhere|pass||state=result"],
        &[],
    );
    let now = statuses(&life);
    let expected = |a, bare, d, unknown| {
        vec![
            ("a works".to_owned(), a),
            ("bare".to_owned(), bare),
            ("d works".to_owned(), d),
            ("unknown subject".to_owned(), unknown),
        ]
    };
    assert_eq!(now, expected("SUPPORTED", "UNVERIFIED", "SUPPORTED", "SUPPORTED"));
    life.write("d/b", "2");
    record(&life, &[], &[], &[]);
    assert_eq!(statuses(&life), expected("SUPPORTED", "UNVERIFIED", "STALE", "SUPPORTED"));
    let status = life.status();
    assert!(status.uncertainty.iter().any(|u| u.class == "evidence_freshness"), "the subject nobody knows");
    assert_eq!(status.readiness.verdict, Verdict::ReadyWithResiduals);
    let reasons: Vec<String> = status.readiness.reasons.iter().map(ToString::to_string).collect();
    assert!(
        reasons.iter().any(|r| r.starts_with("stale claim "))
            && reasons.iter().any(|r| r.starts_with("unverified"))
    );
}

/// DER-04: a verdict always has its reasons. FAM-15: the newest version says what is decided; without a decision a
/// residual is open.
#[test]
fn contradiction_and_residuals_decide() {
    let life = Life::new();
    life.write("a", "1");
    let done =
        record(&life, &["a|works||evidence=0,1"], &["a|pass", "a|mismatch"], &["r|blocking|other|claims=0"]);
    assert_eq!(statuses(&life), [("works".to_owned(), "PARTIALLY_SUPPORTED")]);
    let status = life.status();
    let reasons: Vec<String> = status.readiness.reasons.iter().map(ToString::to_string).collect();
    assert_eq!(status.readiness.verdict, Verdict::NotReady);
    assert_eq!(
        reasons,
        [
            format!("open residual {} (blocking)", done.residuals[0]),
            format!("partially supported claim {}", done.claims[0]),
        ]
    );
    // The disposition of the newest version counts, whatever the change listed.
    let resolved = dispose(&life, &done.residuals[0], Disposition::Resolved);
    let status = life.status();
    assert_eq!(status.residuals[0].id, resolved);
    assert_eq!(status.residuals[0].disposition, "resolved");
    assert_eq!(status.readiness.reasons.len(), 1);
    assert_eq!(status.readiness.verdict, Verdict::NotReady, "con is not empty");
    dispose(&life, &resolved, Disposition::Acknowledged);
    assert!(life.status().readiness.reasons[0].to_string().starts_with("acknowledged residual"));
}

fn dispose(life: &Life, residual: &Gid, disposition: Disposition) -> Gid {
    let bytes = life.repo.store().read(residual).unwrap();
    let object = Object::decode(&bytes, &L).unwrap();
    let old = Residual::view(&object).unwrap();
    let claims: Vec<Gid> = old.affected_claims().iter().collect();
    let new = NewResidual {
        previous: Some(*residual),
        summary: Some(old.summary()),
        severity: old.severity(),
        affected_claims: Some(&claims),
        disposition_event: Some(NewDispositionEvent {
            disposition: Some(disposition),
            by: Some(producer(life)),
            ..NewDispositionEvent::default()
        }),
        created_at: Some(life.now()),
        ..NewResidual::default()
    };
    publish(life, "refs/names/R1", new.encode(&L).unwrap())
}

/// Refinements answer in the place of the claim; replacements take it out of the scope.
#[test]
fn refined_and_replaced_claims() {
    let life = Life::new();
    life.write("a", "1");
    let done = record(&life, &["a|works", "a|other"], &["a|pass"], &[]);
    let refine = |of: Gid, predicate: &str, name: &str| {
        let claim = NewClaim {
            subject: Some("a"),
            predicate: Some(predicate),
            producer: Some(producer(&life)),
            evidence: Some(&[done.evidence[0]]),
            supersedes: Some(of),
            created_at: Some(life.now()),
            ..NewClaim::default()
        };
        publish(&life, name, claim.encode(&L).unwrap())
    };
    let refined = refine(done.claims[0], "works", "refs/names/Cl1");
    let status = life.status();
    assert_eq!((status.claims.proposed, status.claims.supported, status.claims.unverified), (2, 1, 1));
    assert!(status.claim_list.iter().any(|row| row.id == refined && row.basis == "8.1.3"));
    refine(done.claims[1], "replaced by this", "refs/names/Cl3");
    let status = life.status();
    assert_eq!((status.claims.proposed, status.claims.superseded), (1, 1));
    assert_eq!(status.readiness.verdict, Verdict::Ready);
    assert_eq!(status.readiness.reasons[0].to_string(), "nothing unresolved in scope");
}

/// Claims of a rejected attempt are no longer made; its residuals stay.
#[test]
fn closed_trajectories() {
    let life = Life::new();
    life.begin(BeginOptions { intent_summary: Some("Do it".into()), ..BeginOptions::default() });
    life.write("a", "1");
    let done = life.finish(FinishOptions {
        claims: strings(&["a|first"]),
        residuals: strings(&["left over|high"]),
        ..summed("one")
    });
    assert_eq!(life.status().previous_attempts, 0);
    let close = |outcome: TrajectoryOutcome| {
        let closed = NewTrajectory {
            previous: Some(done.trajectory),
            intent: life.target("refs/names/I1"),
            outcome: Some(outcome),
            updated_at: Some(life.now()),
            ..NewTrajectory::default()
        }
        .encode(&L)
        .unwrap();
        publish(&life, "refs/trajectories/T1", closed.clone());
        publish(&life, "refs/trajectories/current", closed);
    };
    close(TrajectoryOutcome::Completed);
    let status = life.status();
    assert_eq!((status.trajectory, status.previous_attempts, status.claims.proposed), (None, 1, 1));
    assert_eq!(status.intent.unwrap().name.as_deref(), Some("I1"));
    close(TrajectoryOutcome::Rejected);
    let status = life.status();
    assert_eq!((status.claims.proposed, status.residuals.len()), (0, 1));
    assert_eq!(status.readiness.verdict, Verdict::ReadyWithResiduals);
    // A closed attempt is terminal: the same intent starts anew.
    life.write("a", "2");
    let next = life.change(Some("I1"), "two");
    assert_eq!((next.trajectory_name.as_str(), next.new_trajectory), ("T2", true));
}

#[test]
fn required_verification() {
    let life = Life::new();
    let platforms = ["linux", "freebsd"].map(|os| NewRequiredPlatform {
        platform: Some(os),
        arch: Some("x86_64"),
        ..NewRequiredPlatform::default()
    });
    let entries = [NewRequiredEntry {
        kind: Some("correctness"),
        platforms: Some(&platforms),
        ..NewRequiredEntry::default()
    }];
    let config = NewConfig {
        previous: life.target("refs/config"),
        execution_policy: Some(ExecutionPolicy::NeverAutoExecute),
        required_verification: Some(NewRequiredVerification {
            entries: Some(&entries),
            ..NewRequiredVerification::default()
        }),
        ..NewConfig::default()
    };
    publish(&life, "refs/config", config.encode(&L).unwrap());
    let environment = |os: &str, name: &str| {
        let environment = NewEnvironment {
            os: Some(NewOs { family: Some(os), name: Some(os), ..NewOs::default() }),
            arch: Some("x86_64"),
            ..NewEnvironment::default()
        };
        publish(&life, name, environment.encode(&L).unwrap());
    };
    environment("linux", "refs/names/Env1");
    environment("freebsd", "refs/names/Env2");
    life.write("a", "1");
    record(
        &life,
        &["a|works|correctness|evidence=0,1"],
        &[
            "a|pass||env=Env1",
            "a|inconclusive||env=Env2",
            "o|match|oracle_comparison|tool=up@1;counts=3/1/0/4",
        ],
        &[],
    );
    let status = life.status();
    assert_eq!(status.readiness.verdict, Verdict::NotReady);
    assert_eq!(status.readiness.reasons[0].to_string(), "missing verification: freebsd/x86_64");
    let row = |platform: &str, result| EvidenceRow::Platform {
        platform: platform.into(),
        arch: "x86_64".into(),
        result,
    };
    assert_eq!(
        status.evidence,
        [
            row("freebsd", "inconclusive"),
            row("linux", "pass"),
            EvidenceRow::Oracle { oracle: "up".into(), passed: 3, total: 4 },
        ]
    );
}

#[test]
fn scopes() {
    let life = Life::new();
    life.begin(BeginOptions { intent_summary: Some("one".into()), ..BeginOptions::default() });
    life.write("a", "1");
    life.finish(FinishOptions { claims: strings(&["a|first"]), ..summed("one") });
    life.begin(BeginOptions { intent_summary: Some("two".into()), ..BeginOptions::default() });
    life.write("a", "2");
    life.finish(FinishOptions { claims: strings(&["a|second"]), ..summed("two") });
    let count = |scope: Option<&str>| {
        let options = StatusOptions { scope: scope.map(str::to_owned), ..StatusOptions::default() };
        let status = knowledge::status(&mut Session::new(&life.repo), &options, &Silent).unwrap();
        (status.claims.proposed, status.readiness.scope)
    };
    assert_eq!(count(None), (2, "default"));
    assert_eq!(count(Some("trajectory")), (1, "trajectory"));
    assert_eq!(count(Some("repository")), (2, "repository"));
    let options = StatusOptions { scope: Some("world".into()), ..StatusOptions::default() };
    assert!(knowledge::status(&mut Session::new(&life.repo), &options, &Silent).is_err());
}
