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
