//! Closing, checkpoints, reconciliations and releases as a person and a program meet them.

use crate::harness::Sandbox;
use serde_json::json;

#[test]
fn closing_in_both_spellings() {
    let sandbox = Sandbox::with_changes();
    let closed = sandbox.result(&["trajectory", "T1", "--close", "rejected", "--reason", "memory doubled"]);
    assert_eq!(closed["name"], "T1");
    assert_eq!(closed["outcome"], "rejected");
    assert_eq!(closed["reason"], "memory doubled");
    assert_eq!(closed["handoff"]["summary"], "rejected: 2 change(s), 1 open residual(s), 1 open claim(s)");
    let again = sandbox.refused(&["trajectory", "close", "T1", "abandoned"]);
    assert_eq!(again["code"], "INVALID_ARGUMENT");
    assert_eq!(again["ids"], json!([closed["version"]]));
    assert_eq!(sandbox.refused(&["trajectory", "T1", "--close", "bogus"])["code"], "INVALID_ARGUMENT");
    assert_eq!(sandbox.refused(&["trajectory", "T1", "--reason", "x"])["code"], "INVALID_ARGUMENT");
    assert_eq!(sandbox.refused(&["trajectory", "T7", "--close", "completed"])["code"], "NOT_FOUND");
    sandbox.ok(&["change", "begin", "--intent", "I1"]);
    sandbox.write("a.txt", "four\n");
    assert_eq!(sandbox.result(&["change", "finish"])["trajectory_name"], "T2");
    let more = ["--handoff-summary", "done", "--next-step", "ship", "--next-step", "tell"];
    let closed = sandbox.result(&[&["trajectory", "close", "T2", "completed"], more.as_slice()].concat());
    assert_eq!(closed["handoff"]["summary"], "done");
    assert_eq!(closed["handoff"]["next_steps"], json!(["ship", "tell"]));
}

#[test]
fn checkpoints_are_made_read_and_listed() {
    let sandbox = Sandbox::with_changes();
    assert_eq!(sandbox.refused(&["checkpoint", "--current"])["code"], "NOT_FOUND");
    let made = sandbox.result(&["checkpoint"]);
    assert_eq!(made["name"], "K1");
    assert_eq!(made["summary"], "continue: Reach three");
    assert_eq!(made["trajectory"]["name"], "T1");
    assert_eq!(made["recent_decisions"][0]["summary"], "two to three");
    assert_eq!(sandbox.result(&["checkpoint", "K1"]), made);
    assert_eq!(sandbox.result(&["checkpoint", "--current"]), made);
    sandbox.ok(&["checkpoint", "--summary", "here"]);
    let page = sandbox.envelope(&["checkpoint", "list", "--limit", "1"]);
    assert_eq!(page["pagination"]["has_more"], true);
    assert_eq!(sandbox.refused(&["checkpoint", "C1"])["code"], "INVALID_ARGUMENT");
    assert_eq!(sandbox.refused(&["checkpoint", "K1", "--summary", "x"])["code"], "INVALID_ARGUMENT");
}

/// A base and two attempts from it that both change `a.txt`; the second adds `b.txt`, too.
fn two_attempts() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "base\n");
    sandbox.ok(&["snapshot"]);
    for (workspace, more) in [("left", false), ("right", true)] {
        let dir = sandbox.scratch().join(workspace);
        std::fs::create_dir(&dir).expect("a folder");
        let dir = dir.to_str().expect("text");
        let begin = ["--from", "S1", "--intent-summary", workspace, "--workspace", workspace];
        sandbox.ok(&[&["change", "begin", "--worktree", dir], begin.as_slice()].concat());
        std::fs::write(format!("{dir}/a.txt"), workspace).expect("a file");
        if more {
            std::fs::write(format!("{dir}/b.txt"), workspace).expect("a file");
        }
        sandbox.ok(&["change", "finish", "--workspace", workspace, "--claim", "a.txt|is right"]);
    }
    sandbox
}

#[test]
fn a_plan_records_nothing_and_comes_true() {
    let sandbox = two_attempts();
    let before = sandbox.result(&["refs"]);
    let planned = sandbox.result(&["reconcile", "T2", "T1", "--plan"]);
    assert_eq!(planned["mode"], "plan");
    assert_eq!(planned["plan"]["input_names"], json!(["T2", "T1"]));
    assert_eq!(planned["plan"]["textual_conflicts"][0]["path"], "a.txt");
    assert_eq!(planned["plan"]["claims"]["invalidated"].as_array().map(Vec::len), Some(1));
    assert_eq!(sandbox.result(&["refs"]), before);
    let done = sandbox.result(&["reconcile", "T2", "T1", "--apply"]);
    assert_eq!(done["state"], planned["plan"]["resulting_state"]);
    assert_eq!((sandbox.read("a.txt").as_str(), sandbox.read("b.txt").as_str()), ("right", "right"));
    assert_eq!(sandbox.result(&["status"])["changed"]["files"], 0);
    assert_eq!(sandbox.result(&["show", "Re1"])["name"], "Re1");
}

#[test]
fn an_applied_reconciliation_keeps_unrecorded_work() {
    let sandbox = two_attempts();
    sandbox.write("a.txt", "mine\n");
    let before = sandbox.result(&["refs"]);
    assert_eq!(sandbox.refused(&["reconcile", "T1", "T2", "--apply"])["code"], "POLICY_DENIED");
    assert_eq!(sandbox.read("a.txt"), "mine\n");
    assert_eq!(sandbox.result(&["refs"]), before);
    sandbox.ok(&["reconcile", "T1", "T2", "--apply", "--no-checkout"]);
    assert_eq!(sandbox.read("a.txt"), "mine\n");
    sandbox.ok(&["reconcile", "T1", "T2", "--apply", "--force"]);
    assert_eq!(sandbox.read("a.txt"), "left");
    sandbox.ok(&["change", "begin"]);
    let refused = sandbox.refused(&["reconcile", "T1", "T2", "--apply"]);
    assert_eq!(refused["code"], "INVALID_ARGUMENT");
}

#[test]
fn refused_reconciliations() {
    let sandbox = two_attempts();
    for args in [
        &["T1", "T1"][..],
        &["T1"],
        &["T1", "C1"],
        &["T1", "T2", "--plan", "--apply"],
        &["T1", "T2", "--force"],
    ] {
        let error = sandbox.refused(&[&["reconcile"], args].concat());
        assert_eq!(error["code"], "INVALID_ARGUMENT", "{args:?}");
    }
    sandbox.write("a.txt", "elsewhere\n");
    sandbox.ok(&["snapshot"]);
    sandbox.ok(&["change", "begin", "--intent-summary", "far"]);
    sandbox.ok(&["change", "finish"]);
    let error = sandbox.refused(&["reconcile", "T1", "T3"]);
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    assert_eq!(error["ids"].as_array().map(Vec::len), Some(4));
}

#[test]
fn releases_carry_their_proof() {
    let sandbox = Sandbox::with_changes();
    let digest = "ab".repeat(32);
    let artifact = format!("tool.tar={digest}");
    let head = sandbox.result(&["status"])["state"]["id"].clone();
    let made =
        sandbox.result(&["release", "T1", "--name", "v1", "--version", "1.0", "--artifact", &artifact]);
    assert_eq!((&made["name"], &made["state"]), (&json!("v1"), &head));
    assert_eq!(made["readiness"], "READY_WITH_RESIDUALS");
    assert_eq!(made["open_residuals"].as_array().map(Vec::len), Some(1));
    assert_eq!(sandbox.refused(&["release", "T1", "--name", "v1"])["code"], "INVALID_ARGUMENT");
    assert_eq!(sandbox.refused(&["release", "T1", "--name", "../x"])["code"], "INVALID_ARGUMENT");
    assert_eq!(sandbox.refused(&["release", "S1"])["code"], "INVALID_ARGUMENT");
    assert_eq!(sandbox.refused(&["release", "T1", "--artifact", "x=12"])["code"], "INVALID_ARGUMENT");
    assert_eq!(sandbox.refused(&["release", "T1", "--require", "FINE"])["code"], "INVALID_ARGUMENT");
    assert_eq!(sandbox.refused(&["release", "T1", "--require", "READY"])["code"], "POLICY_DENIED");
    let next = sandbox.result(&["release", "T1", "--supersedes", "v1", "--require", "READY_WITH_RESIDUALS"]);
    assert_eq!((&next["name"], &next["supersedes"]["name"]), (&json!("Rl1"), &json!("v1")));
}
