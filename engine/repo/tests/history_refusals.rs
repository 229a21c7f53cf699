//! Everything that is refused, with its code, and that a refusal leaves refs and records as they were.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_object::families::{NewConfig, NewConfigLimits};
use gemel_object::{ExecutionPolicy, Limits};
use gemel_repo::facts::Silent;
use gemel_repo::history::{
    self, BeginOptions, DiffOptions, FinishOptions, NameOptions, SnapshotOptions, name_set, workspace_remove,
};
use gemel_repo::{Code, RepoError, names};
use history_support::{Life, strings, summed};

/// A repository with S1, I1, C1, T1, E1 and Cl1.
fn life() -> Life {
    let life = Life::new();
    life.write("a", "1");
    life.begin(BeginOptions { intent_summary: Some("Do it".into()), ..BeginOptions::default() });
    life.finish(FinishOptions {
        claims: strings(&["a|works|correctness|evidence=0"]),
        evidence: strings(&["a|pass"]),
        ..summed("one")
    });
    life
}

fn refused<T: std::fmt::Debug>(
    life: &Life,
    what: &str,
    code: Code,
    text: &str,
    run: impl FnOnce() -> Result<T, RepoError>,
) {
    let before = life.all_refs();
    let error = run().expect_err(what);
    assert_eq!((error.code(), error.to_string().contains(text)), (code, true), "{what}: {error}");
    assert_eq!(life.all_refs(), before, "{what}");
}

#[test]
fn begin() {
    let life = life();
    let with = |edit: fn(&mut BeginOptions)| {
        let mut options = BeginOptions::default();
        edit(&mut options);
        life.try_begin(options)
    };
    let invalid = Code::InvalidArgument;
    refused(&life, "both intents", invalid, "exclude", || {
        with(|o| (o.intent, o.intent_summary) = (Some("I1".into()), Some("x".into())))
    });
    refused(&life, "empty intent", invalid, "empty", || with(|o| o.intent_summary = Some(" ".into())));
    refused(&life, "not an intent", invalid, "C1 is not an intent", || {
        with(|o| o.intent = Some("C1".into()))
    });
    refused(&life, "not a state", invalid, "C1 is not a state", || with(|o| o.from = Some("C1".into())));
    refused(&life, "not a producer", invalid, "S1 is not a producer", || {
        with(|o| o.producer = Some("S1".into()))
    });
    refused(&life, "unknown intent", Code::NotFound, "unresolved name or identity: \"I9\"", || {
        with(|o| o.intent = Some("I9".into()))
    });
    refused(&life, "workspace", invalid, "workspace name", || with(|o| o.workspace = Some("a/b".into())));
    refused(&life, "worktree", invalid, "not a directory", || {
        with(|o| o.worktree = Some("/nonexistent/x".into()))
    });
    life.begin(BeginOptions::default());
    refused(&life, "pending", invalid, "already in progress", || with(|_| {}));
    let other = BeginOptions { workspace: Some("other".into()), ..BeginOptions::default() };
    life.begin(other);
}

/// FAM-12 and every other refusal of `change finish`.
#[test]
fn finish() {
    let life = life();
    let invalid = Code::InvalidArgument;
    refused(&life, "nothing pending", invalid, "no change in progress", || life.try_finish(summed("x")));
    refused(&life, "nothing to abort", invalid, "no change in progress", || {
        history::abort(&life.repo, None, life.now())
    });
    life.begin(BeginOptions::default());
    let with = |claims: &[&str], evidence: &[&str], residuals: &[&str]| {
        life.try_finish(FinishOptions {
            claims: strings(claims),
            evidence: strings(evidence),
            residuals: strings(residuals),
            ..FinishOptions::default()
        })
    };
    refused(&life, "empty subject", invalid, "malformed spec", || with(&["|x"], &[], &[]));
    refused(&life, "empty predicate", invalid, "predicate must be non-empty", || with(&["a"], &[], &[]));
    refused(&life, "claim kind", invalid, "claim kind", || with(&["a|b|c"], &[], &[]));
    refused(&life, "outcome", invalid, "outcome", || with(&[], &["a|ok"], &[]));
    refused(&life, "severity", invalid, "severity", || with(&[], &[], &["a|huge"]));
    refused(&life, "unknown key", invalid, "unknown key", || with(&["a|b||x=y"], &[], &[]));
    refused(&life, "fifth field", invalid, "5 fields", || with(&["a|b|||"], &[], &[]));
    refused(&life, "evidence index", invalid, "out of range", || {
        with(&["a|b||evidence=1"], &["a|pass"], &[])
    });
    refused(&life, "residual index", invalid, "out of range", || with(&["a|b||residuals=0"], &[], &[]));
    refused(&life, "claim index", invalid, "out of range", || with(&[], &[], &["r|||claims=0"]));
    refused(&life, "origin index", invalid, "out of range", || with(&[], &[], &["r|||origin=3"]));
    refused(&life, "circle", invalid, "circle", || with(&["a|b||residuals=0"], &[], &["r|||claims=0"]));
    refused(&life, "family", invalid, "C1 is not evidence", || with(&["a|b||evidence=C1"], &[], &[]));
    refused(&life, "unknown", Code::NotFound, "unresolved", || with(&["a|b||evidence=E99"], &[], &[]));
    refused(&life, "environment", invalid, "C1 is not an environment", || {
        with(&[], &["a|pass||env=C1"], &[])
    });
    for (what, text, edit) in [
        ("disclosure", "disclosure", (|o| o.disclosure = Some("open".into())) as fn(&mut FinishOptions)),
        ("digest", "64 hex digits", |o| o.instruction_digest = Some("abcd".into())),
        ("tool", "NAME=VERSION", |o| o.agent.tools = strings(&["cargo"])),
        ("run", "C1 is not an agent run", |o| o.agent_run = Some("C1".into())),
        ("manifest", "C1 is not a context manifest", |o| o.context_manifest = Some("C1".into())),
        ("producer", "C1 is not a producer", |o| o.producer = Some("C1".into())),
        ("workspace", "workspace name", |o| o.workspace = Some("..".into())),
    ] {
        let mut options = FinishOptions::default();
        edit(&mut options);
        refused(&life, what, invalid, text, || life.try_finish(options));
    }
    // After all that the change is still pending and finishes.
    let done = life.finish(FinishOptions {
        claims: strings(&["a|b||evidence=0,E1;residuals=0;supersedes=Cl1"]),
        evidence: strings(&["a|fail||state=input;counts=1/1/0/2;tool=t@1;exit=1"]),
        residuals: strings(&["r|high|other|origin=0;changes=C1"]),
        ..FinishOptions::default()
    });
    assert_eq!(done.change_name, "C2");
}

#[test]
fn first_change_has_no_input_state_to_refer_to() {
    let life = Life::new();
    life.begin(BeginOptions::default());
    refused(&life, "state=input", Code::InvalidArgument, "no input state", || {
        life.try_finish(FinishOptions {
            evidence: strings(&["a|pass||state=input"]),
            ..FinishOptions::default()
        })
    });
}

#[test]
fn special_files_and_names() {
    let life = life();
    life.begin(BeginOptions::default());
    let pipe = life.root.join("pipe");
    rustix_mkfifo(&pipe);
    refused(&life, "pipe", Code::InvalidArgument, "pipe: special file type", || life.try_finish(summed("x")));
    refused(&life, "pipe", Code::InvalidArgument, "pipe: special file type", || {
        life.try_snapshot(SnapshotOptions::default())
    });
}

fn rustix_mkfifo(path: &std::path::Path) {
    use std::os::unix::net::UnixListener;
    // A socket is as special as a pipe, and the standard library can make one.
    drop(UnixListener::bind(path).unwrap());
}

#[test]
fn labels_and_names() {
    let life = life();
    let label = |name: &str, force: bool| {
        life.try_snapshot(SnapshotOptions { label: Some(name.into()), force, ..SnapshotOptions::default() })
    };
    label("v/1", false).unwrap();
    label("v/1", false).unwrap();
    life.write("a", "2");
    let invalid = Code::InvalidArgument;
    refused(&life, "taken", invalid, "already stands for", || label("v/1", false));
    refused(&life, "numbered", invalid, "already stands for", || label("C1", true));
    refused(&life, "numbered state", invalid, "already stands for", || label("S1", true));
    for bad in ["", "../x", "a//b", "/a", "a\n", "."] {
        refused(&life, bad, invalid, "invalid ref name", || label(bad, false));
    }
    label("v/1", true).unwrap();
    label("S40", false).unwrap();
    assert_eq!(life.snapshot().name, "S41");
    let give = |id: &str, name: &str, force: bool| {
        name_set(&life.repo, &NameOptions { id: id.into(), name: name.into(), force, now_ms: 0 })
    };
    assert_eq!(give("C1", "good", false).unwrap().name, "refs/names/good");
    refused(&life, "taken", invalid, "already stands for", || give("S1", "good", false));
    assert!(give("S1", "good", true).unwrap().previous.is_some());
    refused(&life, "numbered", invalid, "already stands for", || give("S1", "C1", true));
    for closed in ["refs/head", "refs/config", "refs/trajectories/current", "refs/remotes/x/y", "refs/new/x"]
    {
        refused(&life, closed, invalid, "not given by hand", || give("C1", closed, true));
    }
    refused(&life, "family", invalid, "cannot point to", || give("C1", "refs/cases/x", false));
    refused(&life, "unknown", Code::NotFound, "unresolved", || give("nope", "x", false));
}

#[test]
fn arguments_that_name_nothing() {
    let life = life();
    let resolve = |text: &str| names::resolve(&life.repo, text);
    let absent = format!("change.{}", "0".repeat(64));
    refused(&life, "absent", Code::NotFound, "object not found", || resolve(&absent));
    for text in
        ["", "nope", "refs/names/nope", "refs/../head", "change.abc", "commit.abcdef", "0000000", "@x"]
    {
        refused(&life, text, Code::NotFound, "unresolved name or identity", || resolve(text));
    }
    let error = resolve("t1").unwrap_err();
    assert!(error.to_string().contains("did you mean T1"), "{error}");
    refused(&life, "diff", Code::InvalidArgument, "I1 is not a state", || {
        history::diff(&life.repo, &DiffOptions { a: Some("I1".into()), ..DiffOptions::default() }, &Silent)
    });
    refused(&life, "workspace", Code::NotFound, "no such workspace", || {
        workspace_remove(&life.repo, "nope", false, 0)
    });
}

/// T-15: a pending record that does not read is named, and can be removed.
#[test]
fn corrupt_pending_record() {
    let life = life();
    life.begin(BeginOptions::default());
    let mut transaction = life.repo.store().transaction().unwrap();
    transaction.set_record("local/worktrees/default/pending", b"{}".to_vec());
    transaction.commit("test", 0).unwrap();
    refused(&life, "finish", Code::RepositoryCorrupt, "corrupt pending record", || {
        life.try_finish(summed("x"))
    });
    refused(&life, "begin", Code::InvalidArgument, "already in progress", || {
        life.try_begin(BeginOptions::default())
    });
    assert!(history::workspace_list(&life.repo).unwrap()[0].pending_corrupt);
    let aborted = history::abort(&life.repo, None, 0).unwrap();
    assert_eq!((aborted.workspace.as_str(), aborted.intent), ("default", None));
    life.begin(BeginOptions::default());
}

/// A change over more files than an object may refer to is refused, and the refusal names a way that works.
#[test]
fn a_change_over_too_many_files() {
    let life = Life::new();
    let limits = NewConfigLimits {
        max_object_bytes: Some(1 << 20),
        max_record_depth: Some(64),
        max_array_elements: Some(1000),
        max_refs_per_object: Some(20),
        max_string_bytes: Some(1 << 20),
        ..NewConfigLimits::default()
    };
    let config = NewConfig {
        previous: life.target("refs/config"),
        limits: Some(limits),
        execution_policy: Some(ExecutionPolicy::NeverAutoExecute),
        ..NewConfig::default()
    };
    let config = config.encode(&Limits::DEFAULT).unwrap();
    let writer = life.repo.store().writer().unwrap();
    writer.put(gemel_store::NewObject { id: config.id, bytes: config.bytes, base: None }).unwrap();
    writer.commit().unwrap();
    let mut transaction = life.repo.store().transaction().unwrap();
    transaction.set("refs/config", config.id);
    transaction.commit("test", 0).unwrap();
    for n in 0..30 {
        life.write(&format!("d{}/f{n}", n % 3), &n.to_string());
    }
    life.begin(BeginOptions::default());
    let before = life.all_refs();
    for dry_run in [true, false] {
        let error = life.try_finish(FinishOptions { dry_run, ..FinishOptions::default() }).unwrap_err();
        assert_eq!(error.code(), Code::LimitExceeded);
        let text = error.to_string();
        for part in ["a change with 30 operations", "`gemel snapshot`", "exceeds the limit of 20"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    assert_eq!(life.all_refs(), before);
    history::abort(&life.repo, None, life.now()).unwrap();
    life.snapshot();
    life.write("d0/f0", "changed");
    life.begin(BeginOptions::default());
    assert_eq!(life.finish(FinishOptions::default()).operations.len(), 1);
}
