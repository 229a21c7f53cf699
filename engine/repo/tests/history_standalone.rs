//! Chains and names of what is recorded outside a change.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod history_support;

use gemel_object::families::{Claim, NewResidual, Residual};
use gemel_object::{Encoded, Family, Gid, Limits, Object, ObjectBuilder};
use gemel_repo::history::{
    self, CaseCloseOptions, CaseOptions, ClaimAddOptions, ClaimLinkOptions, ConfigOptions, FinishOptions,
    ResidualAddOptions, ResidualLinkOptions, ResidualResolveOptions,
};
use gemel_repo::{Code, RepoError};
use gemel_store::NewObject;
use history_support::{Life, strings};
use std::sync::Barrier;

fn settled(life: &Life, id: &str, disposition: &str) -> history::ResidualVersion {
    let options = ResidualResolveOptions {
        id: id.to_owned(),
        disposition: disposition.to_owned(),
        now_ms: life.now(),
        ..ResidualResolveOptions::default()
    };
    history::residual_resolve(&life.repo, &options).unwrap()
}

fn residual<T>(life: &Life, id: &Gid, take: impl FnOnce(Residual<'_>) -> T) -> T {
    let bytes = life.repo.store().read(id).unwrap();
    take(Residual::view(&Object::decode(&bytes, &Limits::DEFAULT).unwrap()).unwrap())
}

fn keep(life: &Life, object: &Encoded, name: &str) {
    let writer = life.repo.store().writer().unwrap();
    writer.put(NewObject { id: object.id, bytes: object.bytes.clone(), base: None }).unwrap();
    writer.commit().unwrap();
    let mut transaction = life.repo.store().transaction().unwrap();
    transaction.set(name, object.id);
    transaction.commit("test", life.now()).unwrap();
}

fn with_residual(life: &Life) -> Gid {
    life.write("a", "1");
    life.begin(history::BeginOptions::default());
    let options = FinishOptions {
        claims: strings(&["a|holds|correctness"]),
        evidence: strings(&["a|pass", "a|fail"]),
        residuals: strings(&["left|high|other|paths=a,b;claims=0;origin=1"]),
        ..FinishOptions::default()
    };
    life.finish(options).residuals[0]
}

/// OBJ-04: every version leads to the one before, nothing is lost on the way, extensions included.
#[test]
fn versions_carry_everything_over() {
    let life = Life::new();
    let extended = NewResidual {
        summary: Some("from elsewhere"),
        first_observed_at: Some(-5),
        extensions: &[(0x90, b"\x00\xff")],
        ..NewResidual::default()
    }
    .encode(&Limits::DEFAULT)
    .unwrap();
    keep(&life, &extended, "refs/names/R7");
    let version = settled(&life, "R7", "resolved");
    assert_eq!((version.previous, version.name.as_str()), (extended.id, "R7"));
    residual(&life, &version.version, |found| {
        assert_eq!((found.summary(), found.first_observed_at()), ("from elsewhere", Some(-5)));
        assert_eq!(found.record().extension(0x90), Some(&b"\x00\xff"[..]));
        assert_eq!(found.previous(), Some(extended.id));
    });
    assert_eq!(life.target("refs/names/R7"), Some(version.version));
}

/// A version that came without a name is the newest all the same; of several the one created last is.
#[test]
fn the_newest_version_is_found_through_what_is_kept() {
    let life = Life::new();
    let first = with_residual(&life);
    let follow = |created: i64, summary: &str| {
        let mut builder = ObjectBuilder::new(Family::Residual);
        builder.body().set(0x01, first).set(0x02, summary).set(0x0C, created);
        builder.finish(&Limits::DEFAULT).unwrap()
    };
    let (older, newer) = (follow(1, "older"), follow(2, "newer"));
    for kept in [&older, &newer] {
        keep(&life, kept, &format!("refs/keep/residual/{}", &kept.id.to_string()["residual.".len()..]));
    }
    let version = settled(&life, &first.to_string(), "acknowledged");
    assert_eq!((version.previous, version.name.as_str()), (newer.id, "R1"));
    // Whichever version is named, its own newest one is followed.
    let version = settled(&life, &older.id.to_string(), "resolved");
    assert_eq!(version.previous, older.id);
}

/// A residual without a number gets one when it is decided about.
#[test]
fn a_chain_without_a_name_gets_one() {
    let life = Life::new();
    let first =
        NewResidual { summary: Some("kept"), ..NewResidual::default() }.encode(&Limits::DEFAULT).unwrap();
    keep(&life, &first, &format!("refs/keep/residual/{}", &first.id.to_string()["residual.".len()..]));
    let version = settled(&life, &first.id.to_string(), "resolved");
    assert_eq!(version.name, "R1");
    assert_eq!(life.target("refs/names/R1"), Some(version.version));
}

/// Two who decide at once append one after the other: no version is lost, no chain forks.
#[test]
fn decisions_of_several_at_once_form_one_chain() {
    let life = Life::new();
    let first = with_residual(&life);
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for at in 0..4 {
            let (repo, barrier) = (life.reopen(), &barrier);
            scope.spawn(move || {
                barrier.wait();
                for turn in 0..5 {
                    let now_ms = 5000 + at * 100 + turn;
                    let id = if turn % 2 == 0 { "R1".to_owned() } else { first.to_string() };
                    let disposition = if at % 2 == 0 { "resolved" } else { "open" };
                    let options = ResidualResolveOptions {
                        id,
                        disposition: disposition.to_owned(),
                        now_ms,
                        ..ResidualResolveOptions::default()
                    };
                    history::residual_resolve(&repo, &options).unwrap();
                    let evidence = format!("E{}", 1 + turn % 2);
                    let options = ClaimLinkOptions {
                        claim: "Cl1".to_owned(),
                        evidence: vec![evidence],
                        now_ms,
                        ..ClaimLinkOptions::default()
                    };
                    history::claim_link(&repo, &options).unwrap();
                    let options = ResidualAddOptions {
                        summary: format!("{at} {turn}"),
                        now_ms,
                        ..ResidualAddOptions::default()
                    };
                    history::residual_add(&repo, &options).unwrap();
                }
            });
        }
    });
    let mut versions = 1;
    let mut at = life.target("refs/names/R1").unwrap();
    while let Some(older) = residual(&life, &at, |found| found.previous()) {
        (at, versions) = (older, versions + 1);
    }
    assert_eq!((at, versions), (first, 21));
    let claim = life.target("refs/names/Cl1").unwrap();
    let bytes = life.repo.store().read(&claim).unwrap();
    let object = Object::decode(&bytes, &Limits::DEFAULT).unwrap();
    assert_eq!(Claim::view(&object).unwrap().evidence().len(), 2);
    // Every residual that was added is listed by the trajectory, once.
    let mut listed = 0;
    let mut version = life.target("refs/trajectories/T1");
    while let Some(id) = version {
        (version, listed) =
            life.with_trajectory(&id, |found| (found.previous(), listed + found.added_residuals().len()));
    }
    assert_eq!(listed, 21);
    assert_eq!(life.target("refs/trajectories/current"), life.target("refs/trajectories/T1"));
}

/// A claim that was declared as a refinement of another: the name of the newest version moves, and only that.
#[test]
fn refinements_declared_by_changes_are_followed() {
    let life = Life::new();
    with_residual(&life);
    life.begin(history::BeginOptions::default());
    let refined = life.finish(FinishOptions {
        claims: strings(&["a|holds|correctness|supersedes=Cl1;evidence=E1"]),
        ..FinishOptions::default()
    });
    let old = life.target("refs/names/Cl1");
    let link = |claim: &str, evidence: &str| {
        let options = ClaimLinkOptions {
            claim: claim.to_owned(),
            evidence: vec![evidence.to_owned()],
            now_ms: life.now(),
            ..ClaimLinkOptions::default()
        };
        history::claim_link(&life.repo, &options).unwrap()
    };
    let linked = link("Cl1", "E2");
    assert_eq!((linked.previous, linked.name.as_str()), (Some(refined.claims[0]), "Cl2"));
    assert_eq!((life.target("refs/names/Cl1"), life.target("refs/names/Cl2")), (old, Some(linked.claim)));
    assert_eq!(link("Cl1", "E1").previous, None);
    // A claim that says something else is no refinement of the one it replaces.
    let options = ClaimAddOptions {
        subject: "a".to_owned(),
        predicate: "holds not".to_owned(),
        supersedes: Some("Cl1".to_owned()),
        now_ms: life.now(),
        ..ClaimAddOptions::default()
    };
    let replaced = history::claim_add(&life.repo, &options).unwrap();
    assert_eq!(replaced.previous, Some(linked.claim));
    assert_eq!(link("Cl1", "E1").claim, linked.claim);
}

fn refused<T: std::fmt::Debug>(life: &Life, result: Result<T, RepoError>, before: &[String]) {
    let error = result.unwrap_err();
    assert!(matches!(error.code(), Code::InvalidArgument | Code::NotFound | Code::LimitExceeded), "{error}");
    assert_eq!(life.all_refs(), before, "{error}");
}

/// Whatever is refused leaves refs, counters and records as they were.
#[test]
fn refusals_leave_everything_as_it_was() {
    let life = Life::new();
    with_residual(&life);
    let before = life.all_refs();
    let strange = ["", " ", "C1", "nosuch", "refs/../x", "\0", "residual.zz", "@@", "é", &"x".repeat(5000)];
    for text in strange {
        let text = text.to_owned();
        let resolve =
            ResidualResolveOptions { id: text.clone(), disposition: "open".to_owned(), ..Default::default() };
        refused(&life, history::residual_resolve(&life.repo, &resolve), &before);
        let resolve =
            ResidualResolveOptions { id: "R1".to_owned(), disposition: text.clone(), ..Default::default() };
        refused(&life, history::residual_resolve(&life.repo, &resolve), &before);
        let link =
            ResidualLinkOptions { id: "R1".to_owned(), claims: vec![text.clone()], ..Default::default() };
        refused(&life, history::residual_link(&life.repo, &link), &before);
        let link =
            ClaimLinkOptions { claim: "Cl1".to_owned(), evidence: vec![text.clone()], ..Default::default() };
        refused(&life, history::claim_link(&life.repo, &link), &before);
        let close = CaseCloseOptions { id: text.clone(), ..Default::default() };
        refused(&life, history::case_close(&life.repo, &close), &before);
        let create =
            CaseOptions { summary: "x".to_owned(), trajectories: vec![text.clone()], ..Default::default() };
        refused(&life, history::case_create(&life.repo, &create), &before);
        let set = ConfigOptions { require: vec![text.clone()], ..Default::default() };
        refused(&life, history::config_set(&life.repo, &set), &before);
        let set = ConfigOptions { execution_policy: Some(text.clone()), ..Default::default() };
        refused(&life, history::config_set(&life.repo, &set), &before);
        let run = history::RunOptions { tools: vec![text.clone()], ..Default::default() };
        refused(&life, history::run_create(&life.repo, &run), &before);
        let run = history::RunOptions { instruction_digest: Some(text.clone()), ..Default::default() };
        refused(&life, history::run_create(&life.repo, &run), &before);
        let manifest = history::ManifestOptions { residuals: vec![text.clone()], ..Default::default() };
        refused(&life, history::manifest_create(&life.repo, &manifest), &before);
        let producer = history::ProducerOptions { kind: text, name: "x".to_owned(), ..Default::default() };
        refused(&life, history::producer_create(&life.repo, &producer), &before);
    }
}

/// The limits of the config hold for what is recorded here, too.
#[test]
fn texts_over_the_limit_are_refused() {
    let life = Life::new();
    let mut builder = ObjectBuilder::new(Family::Config);
    let limits = gemel_object::families::NewConfigLimits {
        max_object_bytes: Some(4096),
        max_record_depth: Some(64),
        max_array_elements: Some(10),
        max_refs_per_object: Some(10),
        max_string_bytes: Some(512),
        ..Default::default()
    };
    builder.body().set(0x04, "never_auto_execute").set(0x06, limits);
    let config = builder.finish(&Limits::DEFAULT).unwrap();
    keep(&life, &config, "refs/config");
    let before = life.all_refs();
    let long = "x".repeat(600);
    let add = ResidualAddOptions { summary: long.clone(), ..Default::default() };
    refused(&life, history::residual_add(&life.repo, &add), &before);
    let create = CaseOptions { summary: long.clone(), ..Default::default() };
    refused(&life, history::case_create(&life.repo, &create), &before);
    let intent = history::IntentOptions {
        summary: "x".to_owned(),
        criteria: vec!["y".to_owned(); 11],
        ..Default::default()
    };
    refused(&life, history::intent_create(&life.repo, &intent), &before);
    // And the next version of the config keeps them.
    let set =
        ConfigOptions { execution_policy: Some("allowlist".to_owned()), now_ms: 1, ..Default::default() };
    history::config_set(&life.repo, &set).unwrap();
    let before = life.all_refs();
    refused(&life, history::residual_add(&life.repo, &add), &before);
}
