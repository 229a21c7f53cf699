//! Identity arguments in every form, and numbers that are never given twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_object::{Family, Gid};
use gemel_repo::history::{BeginOptions, FinishOptions, SnapshotOptions, resolve_state};
use gemel_repo::{Code, names};
use history_support::{Life, strings, summed};

fn life() -> Life {
    let life = Life::new();
    life.write("a", "1");
    life.begin(BeginOptions { intent_summary: Some("Do it".into()), ..BeginOptions::default() });
    life.finish(FinishOptions { claims: strings(&["a|works"]), ..summed("one") });
    life
}

#[test]
fn every_form_of_an_identity() {
    let life = life();
    let change = life.target("refs/head").unwrap();
    let state = life.target("refs/state/head").unwrap();
    let trajectory = life.target("refs/trajectories/T1").unwrap();
    let hex = |id: Gid| id.to_string().split_once('.').unwrap().1.to_owned();
    let check = |text: &str, expected: Gid| {
        assert_eq!(names::resolve(&life.repo, text).unwrap(), expected, "{text}");
    };
    check(&change.to_string(), change);
    check("refs/head", change);
    check("refs/names/C1", change);
    check("C1", change);
    check("T1", trajectory);
    check("current", trajectory);
    check(&format!("change.{}", &hex(change)[..6]), change);
    check(&hex(change)[..12], change);
    check(&hex(change), change);
    check("@", change);
    check("@state", state);
    check("@trajectory", trajectory);
    // A name wins over a shorthand and over a prefix.
    let label = |name: &str| {
        life.try_snapshot(SnapshotOptions { label: Some(name.into()), ..SnapshotOptions::default() })
            .unwrap()
            .state
    };
    let labelled = label("@");
    check("@", labelled);
    let prefix = hex(change)[..8].to_owned();
    check(&prefix, change);
    check(&prefix, label(&prefix));

    for text in ["S1", "C1", "T1", &state.to_string()] {
        assert_eq!(resolve_state(&life.repo, text).unwrap(), state, "{text}");
    }
    let error = names::resolve_as(&life.repo, "C1", Family::Trajectory).unwrap_err();
    assert_eq!((error.code(), error.ids()), (Code::InvalidArgument, vec![change]));
    assert_eq!(error.to_string(), "invalid: C1 is not a trajectory");
}

#[test]
fn ambiguous_prefixes_list_candidates() {
    let life = life();
    // Enough objects that some four digits of a family occur twice.
    let writer = life.repo.store().writer().unwrap();
    let mut blobs: Vec<Gid> = Vec::new();
    for n in 0..2000u32 {
        let blob = gemel_object::blob_envelope(&n.to_le_bytes(), &gemel_object::Limits::DEFAULT).unwrap();
        blobs.push(blob.id);
        writer.put(gemel_store::NewObject { id: blob.id, bytes: blob.bytes, base: None }).unwrap();
    }
    writer.commit().unwrap();
    blobs.sort_unstable();
    let twins = blobs.windows(2).find(|pair| pair[0].to_string()[..9] == pair[1].to_string()[..9]).unwrap();
    let error = names::resolve(&life.repo, &twins[0].to_string()[..9]).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.ids().contains(&twins[0]) && error.ids().contains(&twins[1]));
    assert!(error.ids().len() <= 10);
}

#[test]
fn numbers_are_above_the_counter_and_above_every_name() {
    let life = life();
    life.write("a", "2");
    let state = life.target("refs/state/head").unwrap();
    let set = |edits: &dyn Fn(&mut gemel_store::Transaction)| {
        let mut transaction = life.repo.store().transaction().unwrap();
        edits(&mut transaction);
        transaction.commit("test", 0).unwrap();
    };
    // Names that came without counters.
    set(&|t| t.set("refs/names/S17", state));
    assert_eq!(life.snapshot().name, "S18");
    // Counters without names.
    set(&|t| t.set_record("local/counters/state", b"30".to_vec()));
    assert_eq!(life.snapshot().name, "S31");
    // A counter that does not read.
    set(&|t| t.set_record("local/counters/state", b"x".to_vec()));
    assert_eq!(life.snapshot().name, "S32");
    // Labels that only look like numbers.
    for label in ["S007", "S99999999999999999999", "S18446744073709551615", "S1000000000000000"] {
        set(&|t| t.set(format!("refs/names/{label}"), state));
    }
    assert_eq!(life.snapshot().name, "S33");
    set(&|t| t.set("refs/names/S999999999999999", state));
    let error = life.try_snapshot(SnapshotOptions::default()).unwrap_err();
    assert_eq!(error.code(), Code::LimitExceeded, "{error}");
}

/// DER-05, ENC-21: a clock that stands still gives the same identities, and the names still differ.
#[test]
fn a_pinned_clock() {
    let make = || {
        let temp = tempfile::tempdir().unwrap();
        let disk = std::sync::Arc::new(gemel_store::vfs::real::RealDisk::new());
        let options = gemel_repo::InitOptions { now_ms: 7, ..gemel_repo::InitOptions::default() };
        let repo = gemel_repo::Repo::init(disk, temp.path(), &options).unwrap().repo;
        std::fs::write(temp.path().join("a"), "x").unwrap();
        let begin = BeginOptions { intent_summary: Some("i".into()), now_ms: 7, ..BeginOptions::default() };
        gemel_repo::history::begin(&repo, &begin).unwrap();
        let finish = FinishOptions {
            claims: strings(&["a|b", "a|b"]),
            evidence: strings(&["a|pass"]),
            now_ms: 7,
            ..FinishOptions::default()
        };
        (gemel_repo::history::finish(&repo, &finish, &gemel_repo::facts::Silent).unwrap(), temp)
    };
    let (one, two) = (make().0, make().0);
    assert_eq!(one, two);
    assert_eq!(one.claims.len(), 2);
    assert_eq!(one.claim_names, ["Cl1", "Cl1"], "one object has one name");
}

/// Many names are looked up in a derived file, which says what a walk over them would.
#[test]
fn many_names_say_the_same() {
    let life = life();
    let change = life.target("refs/head").unwrap();
    let state = life.target("refs/state/head").unwrap();
    let name = |id: &Gid| names::name_of(&life.repo, id).unwrap();
    let few = (name(&change), name(&state));
    let set = |edits: &[(String, Gid)]| {
        let mut transaction = life.repo.store().transaction().unwrap();
        edits.iter().for_each(|(name, id)| transaction.set(name.clone(), *id));
        transaction.commit("test", life.now()).unwrap();
    };
    let many: Vec<_> = (10..5000).map(|n| (format!("refs/names/S{n}"), state)).collect();
    set(&many);
    let file = life.root.join(".gemel/cache/names");
    assert!(!file.exists());
    assert_eq!((name(&change), name(&state)), few);
    assert!(file.exists());
    // What is true now counts, not what the file says of before.
    set(&[("refs/names/release-1".to_owned(), state), ("refs/names/mine".to_owned(), change)]);
    assert_eq!((name(&change).as_deref(), name(&state).as_deref()), (Some("C1"), Some("release-1")));
    std::fs::write(&file, b"gmlname1 and nothing more").unwrap();
    assert_eq!(name(&state).as_deref(), Some("release-1"));
    assert_eq!(name(&life.target("refs/trajectories/T1").unwrap()).as_deref(), Some("T1"));
}
