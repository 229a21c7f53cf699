//! `why` and `context`: what a later reader learns about a thing.

use crate::harness::Sandbox;
use serde_json::{Value, json};

fn array(value: &Value) -> &Vec<Value> {
    value.as_array().expect("an array")
}

#[test]
fn why_a_file_is_as_it_is() {
    let sandbox = Sandbox::with_changes();
    let answer = sandbox.result(&["why", "src/main.rs"]);
    // No change touched the file; the claim of the first one is about it.
    let node = &answer["introduced_by"];
    assert_eq!(node["change"]["name"], "C1");
    assert_eq!(node["change"]["summary"], "one to two");
    assert_eq!(node["intent"]["summary"], "Reach three");
    assert_eq!(node["claim"]["predicate"], "compiles");
    assert_eq!(node["claim"]["status"], "PARTIALLY_SUPPORTED");
    assert_eq!(node["claim"]["basis"], "8.1.2");
    assert_eq!(node["evidence"][0]["outcome"], "pass");
    assert_eq!(node["evidence"][0]["freshness"]["status"], "FRESH");
    assert_eq!(node["residuals"][0]["summary"], "three is missing");
    assert_eq!(
        answer["current_identity"],
        json!({"path": "src/main.rs", "lineage": "explicit", "confidence": "high"})
    );
    // The open trajectory that introduced it is no earlier approach.
    assert_eq!(answer["previous_approaches"], json!([]));
    let answer = sandbox.result(&["why", "a.txt"]);
    assert_eq!(answer["introduced_by"]["change"]["name"], "C1");
    assert_eq!(answer["last_modified_by"]["change"]["name"], "C2");
    assert_eq!(answer["last_modified"], answer["last_modified_by"]["change"]["id"]);
}

#[test]
fn every_kind_of_subject() {
    let sandbox = Sandbox::with_changes();
    for (subject, change) in [
        ("C2", "C2"),
        ("Cl1", "C1"),
        ("E1", "C1"),
        ("R1", "C1"),
        ("S3", "C2"),
        ("./a.txt", "C1"),
        ("a.txt:1", "C2"),
    ] {
        let answer = sandbox.result(&["why", subject]);
        assert_eq!(answer["introduced_by"]["change"]["name"], change, "{subject}");
        assert_eq!(answer["subject"], subject);
    }
    for (subject, class) in [
        ("nothing.txt", "subject"),
        ("src", "subject"),
        ("a.txt:9", "subject"),
        ("b.txt:1", "subject"),
        ("crate::x", "entity"),
    ] {
        let envelope = sandbox.envelope(&["why", subject]);
        assert_eq!(envelope["result"].get("introduced_by"), None, "{subject}");
        let classes: Vec<&Value> =
            array(&envelope["uncertainty"]).iter().map(|doubt| &doubt["class"]).collect();
        assert!(classes.contains(&&json!(class)), "{subject} {classes:?}");
    }
    // It was there before the first change.
    let envelope = sandbox.envelope(&["why", "src/main.rs:1"]);
    assert_eq!(envelope["uncertainty"][0]["class"], "lineage");
}

#[test]
fn lines_are_followed_through_edits_and_moves() {
    let sandbox = Sandbox::new();
    let record = |summary: &str| {
        sandbox.ok(&["change", "begin"]);
        summary.to_owned()
    };
    let finish = |summary: String| drop(sandbox.ok(&["change", "finish", "--summary", &summary]));
    let begun = record("made");
    sandbox.write("a.txt", "one\ntwo\nthree\n");
    finish(begun);
    let begun = record("top");
    sandbox.write("a.txt", "zero\none\ntwo\nthree\n");
    finish(begun);
    let begun = record("moved");
    std::fs::rename(sandbox.root().join("a.txt"), sandbox.root().join("b.txt")).expect("it moves");
    finish(begun);
    let begun = record("end");
    sandbox.write("b.txt", "zero\none\nTWO\nthree\nfour\n");
    finish(begun);
    for (line, expected) in [(1, "top"), (2, "made"), (3, "end"), (4, "made"), (5, "end")] {
        let envelope = sandbox.envelope(&["why", &format!("b.txt:{line}")]);
        assert_eq!(envelope["result"]["introduced_by"]["change"]["summary"], expected, "line {line}");
        assert_eq!(envelope["uncertainty"], json!([]));
    }
    // Where the file went.
    let answer = sandbox.result(&["why", "a.txt"]);
    assert_eq!(answer["current_identity"]["path"], "b.txt");
    assert_eq!(answer["introduced_by"]["change"]["summary"], "made");
}

/// QRY-06
#[test]
fn what_is_known_within_a_budget() {
    let sandbox = Sandbox::with_changes();
    let envelope = sandbox.envelope(&["context", "src/main.rs"]);
    let answer = &envelope["result"];
    let families: Vec<&Value> = array(&answer["bundle"]["objects"]).iter().map(|o| &o["family"]).collect();
    assert_eq!(families, ["change", "claim", "blob", "residual", "trajectory", "evidence"]);
    let claim = &answer["bundle"]["objects"][1];
    assert_eq!((&claim["level"], &claim["summary"]), (&json!(2), &json!("compiles")));
    assert_eq!(claim["fields"]["status"], "PARTIALLY_SUPPORTED");
    assert_eq!(answer["next"], json!({"expand": [], "why": "complete"}));
    assert_eq!(answer["bundle"]["objects"][2]["summary"], "src/main.rs (13 bytes)");
    assert_eq!(envelope["omitted"], json!([]));
    // The same question, the same bytes; another order of asking changes nothing.
    assert_eq!(sandbox.envelope(&["context", "src/main.rs"]), envelope);
    for tokens in [64, 80, 100, 150, 200, 300, 500, 1000] {
        let envelope = sandbox.envelope(&["context", "src/main.rs", "--budget", &tokens.to_string()]);
        let budget = &envelope["result"]["budget"];
        let number = |key: &str| budget[key].as_u64().expect("a number");
        assert!(number("consumed") <= tokens);
        assert_eq!(number("consumed") + number("remaining"), tokens);
        let left: u64 = array(&envelope["omitted"]).iter().filter_map(|entry| entry["count"].as_u64()).sum();
        let taken = array(&envelope["result"]["bundle"]["objects"]).len() as u64;
        assert_eq!(taken + left, 6, "{tokens}");
        assert_eq!(array(&envelope["result"]["next"]["expand"]).len() as u64, left);
    }
}

#[test]
fn budgets_includes_and_whole_objects() {
    let sandbox = Sandbox::with_changes();
    let raised = sandbox.envelope(&["context", "a.txt", "--budget", "1"]);
    assert_eq!(raised["result"]["budget"]["tokens"], 64);
    assert_eq!(raised["notice"], "budget 1 was raised to 64 tokens");
    let bytes = sandbox.result(&["context", "a.txt", "--budget", "4000", "--budget-bytes", "803"]);
    assert_eq!(bytes["budget"]["tokens"], 200);
    let only = sandbox.result(&["context", "src/main.rs", "--include", "claims,evidence"]);
    let expanded = &only["bundle"]["expanded"];
    assert_eq!((&expanded["claims"], &expanded["evidence"]), (&json!(1), &json!(1)));
    assert_eq!((&expanded["residuals"], &expanded["attempts"]), (&json!(0), &json!(0)));
    let whole = sandbox.result(&["context", "src/main.rs", "--include-l3", "--budget", "100000"]);
    for object in array(&whole["bundle"]["objects"]) {
        assert_eq!(object["level"], 3);
        assert_eq!(object["object"]["family"], object["family"]);
    }
    assert_eq!(whole["bundle"]["objects"][2]["content"], "fn main() {}\n");
    let some = sandbox.envelope(&["context", "src/main.rs", "--include-l3", "--budget", "700"]);
    let budget = &some["result"]["budget"];
    assert!(budget["consumed"].as_u64() <= budget["tokens"].as_u64());
    assert!(array(&some["omitted"]).iter().any(|entry| entry["reason"] == "level"));
    let nothing = sandbox.envelope(&["context", "nowhere.txt"]);
    assert_eq!(nothing["uncertainty"][0]["class"], "subject");
    let refused = sandbox.refused(&["context", "a.txt", "--budget", "1000001"]);
    assert_eq!(refused["code"], "BUDGET_EXCEEDED");
    for args in [["context", "a.txt", "--include", "bogus"], ["context", "a.txt", "--for-intent", "C1"]] {
        assert_eq!(sandbox.refused(&args)["code"], "INVALID_ARGUMENT", "{args:?}");
    }
    assert_eq!(sandbox.refused(&["context", "a.txt", "--for-intent", "I9"])["code"], "NOT_FOUND");
}

#[test]
fn what_a_change_may_affect() {
    let sandbox = Sandbox::with_changes();
    sandbox.ok(&["change", "begin"]);
    sandbox.write("src/main.rs", "fn main() { }\n");
    sandbox.ok(&["change", "finish", "--summary", "touch main"]);
    let envelope = sandbox.envelope(&["impact", "C3"]);
    let answer = &envelope["result"];
    assert_eq!(answer["touches"], json!({"paths": ["src/main.rs"], "entities": []}));
    assert_eq!(envelope["omitted"][0]["reason"], "not_indexed");
    let rows = array(&answer["may_require_refresh"]);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["rule"], "path overlap");
    assert_eq!(json!([rows[0]["supports"]]), answer["affected_claims"]);
    assert_eq!(array(&answer["affected_residuals"]).len(), 1);
    assert_eq!(answer["verification_required"], json!([]));
    // What was gathered at a change or after it needs no refresh because of it.
    let first = sandbox.result(&["impact", "C1"]);
    assert_eq!(first["may_require_refresh"], json!([]));
    assert_eq!(sandbox.refused(&["impact", "T1"])["code"], "INVALID_ARGUMENT");
    assert_eq!(sandbox.refused(&["impact", "C9"])["code"], "NOT_FOUND");
}

#[test]
fn what_came_between_two_states() {
    let sandbox = Sandbox::with_changes();
    let between = sandbox.envelope(&["diff", "S1", "S3", "--claims", "--evidence", "--residuals"]);
    let answer = &between["result"];
    assert_eq!(array(&answer["claims"]["added"]).len(), 1);
    assert_eq!(answer["evidence"]["gained"][0]["kind"], "compiler_result");
    assert_eq!(array(&answer["residuals"]["introduced"]).len(), 1);
    assert_eq!(answer["residuals"]["resolved"], json!([]));
    assert_eq!(answer.get("semantic"), None);
    // S1 was recorded and no change results in it.
    assert_eq!(between["uncertainty"][0]["class"], "lineage");
    sandbox.ok(&["residual", "resolve", "R1", "--disposition", "resolved"]);
    let later = sandbox.result(&["diff", "S2", "S3", "--residuals"]);
    assert_eq!(later["residuals"]["introduced"], json!([]));
    assert_eq!(array(&later["residuals"]["resolved"]).len(), 1);
    let all = sandbox.envelope(&["diff", "--all"]);
    assert_eq!(all["result"]["textual"]["files"]["changed"], json!(["a.txt"]));
    assert_eq!(all["result"]["semantic"]["unchanged"], 0);
    assert_eq!(all["result"]["claims"], json!({"added": [], "invalidated": []}));
    assert!(array(&all["omitted"]).iter().all(|entry| entry["reason"] == "not_indexed"));
}
