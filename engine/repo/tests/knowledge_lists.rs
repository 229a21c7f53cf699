//! Lists and recommendations over a life: newest versions, forks, doubts, caps; the same answers in any session.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_object::families::{
    NewClaim, NewConfig, NewDispositionEvent, NewEnvironment, NewOs, NewProducer, NewRequiredEntry,
    NewRequiredPlatform, NewRequiredVerification, NewResidual, NewTrajectory,
};
use gemel_object::{
    Disclosure, Disposition, Encoded, ExecutionPolicy, Gid, Limits, ProducerKind, TrajectoryOutcome,
};
use gemel_repo::facts::{Silent, Uncertainty};
use gemel_repo::history::{BeginOptions, FinishFacts, FinishOptions, LogOptions, LogOrder};
use gemel_repo::knowledge::{
    self, AttemptsOptions, ClaimsOptions, EvidenceListOptions, ResidualOrder, ResidualsOptions, Session,
    StatusOptions, TrajectoryListOptions, Window,
};
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

fn record(life: &Life, intent: &str, claims: &[&str], evidence: &[&str], residuals: &[&str]) -> FinishFacts {
    let known = life.target("refs/names/I1").is_some();
    life.begin(match known {
        true => BeginOptions { intent: Some("I1".into()), ..BeginOptions::default() },
        false => BeginOptions { intent_summary: Some(intent.into()), ..BeginOptions::default() },
    });
    life.finish(FinishOptions {
        claims: strings(claims),
        evidence: strings(evidence),
        residuals: strings(residuals),
        ..summed("change")
    })
}

fn producer(life: &Life) -> Gid {
    life.target("refs/names/P1").unwrap()
}

fn dispose(life: &Life, name: &str, residual: Gid, disposition: Disposition, reason: &str) -> Gid {
    let new = NewResidual {
        previous: Some(residual),
        summary: Some("r"),
        disposition_event: Some(NewDispositionEvent {
            disposition: Some(disposition),
            by: Some(producer(life)),
            reason: Some(reason),
            ..NewDispositionEvent::default()
        }),
        created_at: Some(life.now()),
        ..NewResidual::default()
    };
    publish(life, name, new.encode(&L).unwrap())
}

fn classes(doubts: &[Uncertainty]) -> Vec<&str> {
    doubts.iter().map(|doubt| doubt.class).collect()
}

fn claims(life: &Life, options: &ClaimsOptions) -> knowledge::ClaimsFacts {
    knowledge::claims(&mut Session::new(&life.repo), options).unwrap()
}

fn residuals(life: &Life, options: &ResidualsOptions) -> knowledge::ResidualsFacts {
    knowledge::residuals(&mut Session::new(&life.repo), options).unwrap()
}

#[test]
fn residuals_at_their_newest_version() {
    let life = Life::new();
    life.write("a", "1");
    let first = record(&life, "w", &[], &[], &["r|high|other|paths=a"]).residuals[0];
    let second = dispose(&life, "refs/names/R1", first, Disposition::Acknowledged, "seen");
    let third = dispose(&life, "refs/names/R1", second, Disposition::Resolved, "done");
    // The newest version says nothing of paths any more, but the change that declares it touches the subject.
    for subject in [None, Some("a"), Some("R1")] {
        let subject = subject.map(str::to_owned);
        let found = residuals(&life, &ResidualsOptions { subject, ..ResidualsOptions::default() });
        assert_eq!(found.rows.len(), 1);
        let row = &found.rows[0];
        assert_eq!((row.id, row.first_id, row.disposition), (third, first, "resolved"));
        assert_eq!((row.reason.as_deref(), row.name.as_deref()), (Some("done"), Some("R1")));
        assert_eq!(row.declared_by, life.target("refs/names/C1"));
        assert!(found.uncertainty.is_empty());
    }
    let open = ResidualsOptions { disposition: Some("open".into()), ..ResidualsOptions::default() };
    assert!(residuals(&life, &open).rows.is_empty());
    // Somewhere else the second version was decided otherwise, later.
    let other = dispose(&life, "refs/names/R9", second, Disposition::Irrelevant, "whatever");
    let found = residuals(&life, &ResidualsOptions::default());
    assert_eq!((found.rows.len(), found.rows[0].id), (1, other));
    assert_eq!(classes(&found.uncertainty), ["fork"]);
    let about = ResidualsOptions { subject: Some("a".into()), ..ResidualsOptions::default() };
    assert_eq!(residuals(&life, &about), found);
}

#[test]
fn claims_at_their_newest_refinement() {
    let life = Life::new();
    life.write("a", "1");
    let done = record(&life, "w", &["a|works"], &["a|pass"], &[]);
    let claim = |predicate: &str, producer: Gid, of: Option<Gid>, name: &str| {
        let evidence: Vec<Gid> = of.iter().map(|_| done.evidence[0]).collect();
        let claim = NewClaim {
            subject: Some("a"),
            predicate: Some(predicate),
            producer: Some(producer),
            evidence: Some(&evidence),
            supersedes: of,
            created_at: Some(life.now()),
            ..NewClaim::default()
        };
        publish(&life, name, claim.encode(&L).unwrap())
    };
    let refined = claim("works", producer(&life), Some(done.claims[0]), "refs/names/Cl1");
    let found = claims(&life, &ClaimsOptions::default());
    assert_eq!(found.rows.len(), 1);
    assert_eq!((found.rows[0].id, found.rows[0].declared_as.clone()), (refined, vec![done.claims[0]]));
    assert_eq!((found.rows[0].status, found.rows[0].change), ("SUPPORTED", Some(done.change)));
    assert!(classes(&found.uncertainty).iter().all(|class| *class == "evidence_freshness"));
    // Nobody knows who says so, and no change does.
    let nobody = NewProducer {
        kind: Some(ProducerKind::Unknown),
        name: Some("unknown"),
        disclosure: Some(Disclosure::DigestOnly),
        created_at: Some(0),
        ..NewProducer::default()
    };
    let nobody = publish(&life, "refs/names/P9", nobody.encode(&L).unwrap());
    let loose = claim("said somewhere", nobody, None, "refs/names/Cl7");
    let found = claims(&life, &ClaimsOptions { subject: Some("a".into()), ..ClaimsOptions::default() });
    assert_eq!((found.rows.len(), found.rows[0].id), (2, loose));
    let doubted = |class: &str| {
        let doubt = found.uncertainty.iter().find(|doubt| doubt.class == class).unwrap();
        doubt.ids == [loose.to_string()]
    };
    assert!(doubted("provenance") && doubted("declaring_change"));
    // Two refinements of one claim: one row, and the fork is told.
    claim("works", nobody, Some(done.claims[0]), "refs/names/Cl8");
    let found = claims(&life, &ClaimsOptions::default());
    assert_eq!(found.rows.len(), 2);
    assert!(classes(&found.uncertainty).contains(&"fork"));
    let about = claims(&life, &ClaimsOptions { subject: Some("a".into()), ..ClaimsOptions::default() });
    assert_eq!(about, found);
}

#[test]
fn recommendations_and_their_caps() {
    let life = Life::new();
    life.write("a", "1");
    let specs: Vec<String> = (0..10).map(|at| format!("r{at}|low")).collect();
    let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
    let first = record(&life, "w", &[], &[], &specs);
    let next = || knowledge::next(&mut Session::new(&life.repo)).unwrap();
    assert_eq!(next().recommendations.len(), 8);
    assert_eq!((next().omitted[0].class, next().omitted[0].count), ("residual", 2));
    // It was given up; another attempt begins, and one beside it in another workspace.
    let closed = NewTrajectory {
        previous: Some(first.trajectory),
        intent: life.target("refs/names/I1"),
        outcome: Some(TrajectoryOutcome::Rejected),
        termination_reason: Some("too slow"),
        updated_at: Some(life.now()),
        ..NewTrajectory::default()
    };
    let closed = publish(&life, "refs/trajectories/T1", closed.encode(&L).unwrap());
    life.write("a", "2");
    record(&life, "w", &[], &[], &[]);
    let kinds: Vec<&str> = next().recommendations.iter().map(|step| step.kind).collect();
    assert_eq!((kinds[0], kinds.len()), ("inspect", 9));
    assert_eq!(next().recommendations[0].refs, [closed]);
    assert_eq!(next().recommendations[0].rationale, "previous attempt T1 ended rejected");
    let other = life.beside("other");
    history_support::write(&other, "b", "1");
    life.begin(BeginOptions {
        intent: Some("I1".into()),
        from: Some("S1".into()),
        workspace: Some("other".into()),
        worktree: Some(other.clone()),
        ..BeginOptions::default()
    });
    let beside = life.finish(FinishOptions { workspace: Some("other".into()), ..summed("beside") });
    assert!(beside.new_trajectory, "{beside:?}");
    let step = next().recommendations.into_iter().find(|step| step.kind == "reconcile").unwrap();
    assert_eq!((step.subject.as_str(), step.certainty, step.refs.len()), ("T2 T3", "possible", 2));
    let attempts = |subject: &str| {
        let options = AttemptsOptions { subject: subject.into(), ..AttemptsOptions::default() };
        knowledge::attempts(&mut Session::new(&life.repo), &options).unwrap().rows
    };
    let rows = attempts("a");
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.outcome, row.touched_subject)).collect();
    assert_eq!(told, [("T3", "incomplete", true), ("T2", "incomplete", true), ("T1", "rejected", true)]);
    assert_eq!(rows[2].termination_reason.as_deref(), Some("too slow"));
    let rows = attempts("b");
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.touched_subject)).collect();
    assert_eq!(told, [("T3", true), ("T2", false), ("T1", false)]);
}

/// Stale evidence still satisfies what is required, and is said to be doubtful (object model, section 15.6).
#[test]
fn stale_evidence_satisfies_with_a_doubt() {
    let life = Life::new();
    let platforms = [NewRequiredPlatform {
        platform: Some("linux"),
        arch: Some("x86_64"),
        ..NewRequiredPlatform::default()
    }];
    let entries = [NewRequiredEntry {
        kind: Some("correctness"),
        platforms: Some(&platforms),
        ..NewRequiredEntry::default()
    }];
    let config = NewConfig {
        previous: life.target("refs/config"),
        execution_policy: Some(ExecutionPolicy::PolicyGated),
        required_verification: Some(NewRequiredVerification {
            entries: Some(&entries),
            ..NewRequiredVerification::default()
        }),
        ..NewConfig::default()
    };
    publish(&life, "refs/config", config.encode(&L).unwrap());
    let environment = NewEnvironment {
        os: Some(NewOs { family: Some("linux"), name: Some("linux"), ..NewOs::default() }),
        arch: Some("x86_64"),
        ..NewEnvironment::default()
    };
    publish(&life, "refs/names/Env1", environment.encode(&L).unwrap());
    let policy = || knowledge::policy(&mut Session::new(&life.repo)).unwrap();
    assert_eq!((policy().execution_policy, policy().gaps.len()), ("policy_gated", 1));
    assert_eq!(policy().gaps[0].rationale, "required verification missing: correctness on linux/x86_64");
    life.write("a", "1");
    record(&life, "w", &["a|works|correctness|evidence=0"], &["a|pass||env=Env1;state=result"], &[]);
    assert!(policy().gaps.is_empty() && policy().uncertainty.is_empty());
    life.write("a", "2");
    record(&life, "w", &[], &[], &[]);
    assert!(policy().gaps.is_empty());
    assert_eq!(classes(&policy().uncertainty), ["evidence_freshness"]);
    let row = knowledge::evidence_show(&mut Session::new(&life.repo), "E1", None).unwrap().row;
    assert_eq!((row.platform.as_deref(), row.arch.as_deref()), (Some("linux"), Some("x86_64")));
    assert_eq!((row.freshness.status, row.freshness.caused_by.len()), ("MAY_REQUIRE_REFRESH", 1));
    let then = knowledge::evidence_show(&mut Session::new(&life.repo), "E1", Some("S1")).unwrap().row;
    assert_eq!(then.freshness.status, "FRESH");
}

/// Everything that can be asked here, as text.
fn everything(session: &mut Session<'_>) -> Vec<String> {
    let all = Window::default();
    let subject = |text: &str| Some(text.to_owned());
    let list = |session: &mut Session<'_>, subject: Option<String>| {
        let window = all.clone();
        let options =
            ClaimsOptions { subject: subject.clone(), all: true, window, ..ClaimsOptions::default() };
        let claims = knowledge::claims(session, &options).unwrap();
        let order = ResidualOrder::Severity;
        let options = ResidualsOptions { subject: subject.clone(), order, ..ResidualsOptions::default() };
        let residuals = knowledge::residuals(session, &options).unwrap();
        let options = EvidenceListOptions { subject, all: true, ..EvidenceListOptions::default() };
        let evidence = knowledge::evidence_list(session, &options).unwrap();
        format!("{claims:?}\n{residuals:?}\n{evidence:?}")
    };
    let log = LogOptions {
        scope: LogOrder::All,
        trajectory: None,
        operations: true,
        episodes: true,
        limit: 100,
        cursor: None,
    };
    let attempts = AttemptsOptions { subject: "a".into(), ..AttemptsOptions::default() };
    let status = StatusOptions { verbose: true, ..StatusOptions::default() };
    vec![
        list(session, None),
        list(session, subject("a")),
        list(session, subject("C1")),
        list(session, subject("nothing")),
        format!("{:?}", knowledge::attempts(session, &attempts).unwrap()),
        format!("{:?}", knowledge::trajectory(session, "T1").unwrap()),
        format!("{:?}", knowledge::trajectory_list(session, &TrajectoryListOptions::default()).unwrap()),
        format!("{:?}", knowledge::evidence_show(session, "E1", Some("S1")).unwrap()),
        format!("{:?}", knowledge::next(session).unwrap()),
        format!("{:?}", knowledge::policy(session).unwrap()),
        format!("{:?}", knowledge::log_about(session, "a", &log).unwrap()),
        format!("{:?}", knowledge::status(session, &status, &Silent).unwrap()),
    ]
}

/// DER-05, DER-06: what a session has read before, what is kept on disk, and in which order is asked, changes no answer.
#[test]
fn sessions_answer_alike() {
    let life = Life::new();
    for content in ["1", "2", "3", "4"] {
        life.write("a", content);
        record(
            &life,
            "w",
            &["a|works|correctness|evidence=0", "d::e|odd"],
            &["a|pass||state=result", "d::e|fail|benchmark"],
            &["r|high|other|paths=a;claims=0"],
        );
    }
    let first = life.target("refs/names/R1").unwrap();
    dispose(&life, "refs/names/R1", first, Disposition::Resolved, "done");
    let mut session = Session::new(&life.repo);
    let answers = everything(&mut session);
    assert_eq!(everything(&mut session), answers, "the same session");
    session.keep();
    let repo = life.reopen();
    assert_eq!(everything(&mut Session::new(&repo)), answers, "what was kept");
    std::fs::remove_dir_all(life.root.join(".gemel/cache")).unwrap();
    let repo = life.reopen();
    assert_eq!(everything(&mut Session::new(&repo)), answers, "nothing kept");
    // A session sees what is recorded while it lasts.
    let mut session = Session::new(&repo);
    everything(&mut session);
    life.write("a", "5");
    record(&life, "w", &["a|again"], &[], &[]);
    let answers = everything(&mut session);
    assert!(answers[0].contains("again") && answers[1].contains("again"));
    assert_eq!(answers, everything(&mut Session::new(&life.reopen())));
}
