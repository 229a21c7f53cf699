//! Checkout as a command: what moves, what is refused, whose record changes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod history_support;

use gemel_repo::content::ContentError;
use gemel_repo::facts::Silent;
use gemel_repo::history::{self, CheckoutFacts, CheckoutOptions, Standing};
use gemel_repo::{Code, RepoError};
use history_support::{Life, write};
use std::fs;

fn checkout(
    life: &Life,
    state: &str,
    edit: impl FnOnce(&mut CheckoutOptions),
) -> Result<CheckoutFacts, RepoError> {
    let mut options =
        CheckoutOptions { state: state.into(), now_ms: life.now(), ..CheckoutOptions::default() };
    edit(&mut options);
    history::checkout(&life.repo, &options, &Silent)
}

/// C1 has a and b, C2 has a changed, c added, b gone.
fn life() -> Life {
    let life = Life::new();
    life.write("a", "1");
    life.write("b/x", "1");
    life.change(None, "one");
    life.write("a", "2");
    life.write("c", "2");
    life.remove("b/x");
    life.change(None, "two");
    life
}

#[test]
fn there_and_back() {
    let life = life();
    for name in ["S1", "C1"] {
        let planned = checkout(&life, name, |o| o.dry_run = true).unwrap();
        assert_eq!((planned.removed.as_slice(), planned.dry_run), (["c".to_owned()].as_slice(), true));
        assert_eq!(planned.written, ["a", "b/x"]);
        assert_eq!(fs::read_to_string(life.root.join("a")).unwrap(), "2");
        let done = checkout(&life, name, |_| {}).unwrap();
        assert_eq!((done.written, done.removed), (planned.written, planned.removed));
        assert_eq!(fs::read_to_string(life.root.join("b/x")).unwrap(), "1");
        assert!(!life.root.join("c").exists());
        assert_eq!(life.target("local/worktrees/default/state"), life.target("refs/names/S1"));
        let status = life.status();
        assert!(status.changed.is_empty() && status.workspace.standing == Standing::Behind);
        // A trajectory stands for where it ended.
        checkout(&life, "T1", |_| {}).unwrap();
        assert!(life.status().workspace.standing == Standing::AtHead);
    }
    // A change begun now goes on from the older state when that is what lies here.
    checkout(&life, "S1", |_| {}).unwrap();
    let back = life.change(None, "three");
    assert_eq!(back.parents, [life.target("refs/names/C1").unwrap()]);
}

#[test]
fn unrecorded_work_stands_in_the_way() {
    let life = life();
    life.write("a", "mine");
    life.write("new", "mine");
    let before = life.all_refs();
    let planned = checkout(&life, "S1", |o| o.dry_run = true).unwrap();
    assert_eq!(planned.obstacles, ["a", "new"]);
    let error = checkout(&life, "S1", |_| {}).unwrap_err();
    assert_eq!(error.code(), Code::PolicyDenied);
    assert!(
        matches!(error, RepoError::Content(ContentError::UnrecordedWork { ref paths }) if *paths == ["a", "new"])
    );
    assert_eq!(life.all_refs(), before);
    assert_eq!(fs::read_to_string(life.root.join("a")).unwrap(), "mine");
    let done = checkout(&life, "S1", |o| (o.overlay, o.force) = (true, true)).unwrap();
    assert!(done.removed.is_empty() && life.root.join("new").exists() && life.root.join("c").exists());
    let done = checkout(&life, "S1", |o| o.force = true).unwrap();
    assert_eq!(done.removed, ["c", "new"]);
}

#[test]
fn another_directory() {
    let life = life();
    let dir = life.beside("elsewhere");
    let before = life.all_refs();
    let done = checkout(&life, "S1", |o| o.dir = Some(dir.clone())).unwrap();
    assert_eq!((done.workspace, done.dir.as_path()), (None, dir.as_path()));
    assert_eq!(life.all_refs(), before, "no workspace moved");
    assert_eq!(fs::read_to_string(dir.join("b/x")).unwrap(), "1");
    // The gate holds for a directory that is not empty.
    write(&dir, "extra", "x");
    assert_eq!(checkout(&life, "S2", |o| o.dir = Some(dir.clone())).unwrap_err().code(), Code::PolicyDenied);
    let done = checkout(&life, "S1", |o| {
        (o.dir, o.workspace, o.force) = (Some(dir.clone()), Some("w".into()), true);
    });
    assert_eq!(done.unwrap().workspace.as_deref(), Some("w"));
    let row = history::workspace_list(&life.repo).unwrap().remove(1);
    assert_eq!((row.name.as_str(), row.path.as_deref()), ("w", Some(dir.as_path())));
    // From now on it is that workspace's own directory.
    checkout(&life, "S2", |o| o.workspace = Some("w".into())).unwrap();
    assert_eq!(fs::read_to_string(dir.join("a")).unwrap(), "2");
    // The root named as a directory is the default workspace.
    let root = life.root.clone();
    assert_eq!(checkout(&life, "S1", |o| o.dir = Some(root)).unwrap().workspace.as_deref(), Some("default"));
    assert!(checkout(&life, "S1", |o| o.dir = Some("relative".into())).is_err());
    assert!(checkout(&life, "I1", |_| {}).is_err());
    assert!(checkout(&life, "S1", |o| o.workspace = Some("..".into())).is_err());
}
