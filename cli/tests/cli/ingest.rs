//! `evidence ingest`: documents of our own, good and bad.

use crate::harness::{Said, Sandbox};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// What the program says to a document on standard input.
fn feed(sandbox: &Sandbox, args: &[&str], input: &[u8]) -> Said {
    let mut child = sandbox
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // Whoever refuses early does not read to the end.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said {
        status: output.status.code().unwrap_or(-1),
        out: text(&output.stdout),
        err: text(&output.stderr),
        bytes: output.stdout,
    }
}

fn ingest(sandbox: &Sandbox, document: &Value) -> Said {
    feed(sandbox, &["evidence", "ingest", "-", "--json"], document.to_string().as_bytes())
}

fn producer(sandbox: &Sandbox) -> String {
    sandbox.result(&["show", "P1"])["id"].as_str().expect("an identity").to_owned()
}

/// A document with the members of `more` in place of its own.
fn document(sandbox: &Sandbox, more: &Value) -> Value {
    let mut made = json!({
        "schema": "gemel.evidence.v1", "producer": producer(sandbox), "kind": "court_receipt", "subject": "a.txt",
    });
    for (key, value) in more.as_object().expect("members") {
        made[key] = value.clone();
    }
    made
}

fn field<'v>(shown: &'v Value, name: &str) -> &'v Value {
    let fields = shown["body"].as_array().expect("fields");
    fields.iter().find(|field| field["name"] == name).map_or(&Value::Null, |field| &field["value"])
}

#[test]
fn every_key_is_stored() {
    let sandbox = Sandbox::with_changes();
    let state = sandbox.result(&["show", "S2"])["id"].clone();
    let operation = field(&sandbox.result(&["show", "C1"]), "operations")[0].clone();
    let blob = field(&sandbox.result(&["show", operation.as_str().expect("text")]), "output_refs")[0].clone();
    let digest = "0f".repeat(32);
    let whole = document(
        &sandbox,
        &json!({
            "subject_refs": [blob], "command": "make check", "command_ref": operation,
            "inputs": [{"id": state, "role": "evaluated_state"}, {"id": blob, "role": "corpus"}, {"id": "C1"}],
            "tools": [{"name": "frf", "version": "1.2.0", "digest": digest}, {"name": "sh", "version": "1"}],
            "fixtures": [blob], "normalizers": [{"name": "n", "digest": digest}],
            "comparators": [{"name": "c", "digest": digest}],
            "result": {"outcome": "match", "detail": "all alike", "exit_code": -1,
                "counts": {"passed": 3, "failed": 0, "skipped": 1, "total": 4}},
            "outputs": [{"id": blob, "role": "log"}],
            "reproduction": {"replayable": true, "inputs_present": true, "inputs_remote": false, "policy_required": false},
            "created_at": 5, "x-note": {"anything": [null]},
        }),
    );
    let answer = ingest(&sandbox, &whole).json();
    assert_eq!(answer["result"]["name"], "E2");
    assert_eq!(answer["result"]["executed"], false);
    let shown = sandbox.result(&["show", "E2"]);
    assert_eq!(shown["id"], answer["result"]["evidence"]);
    let names: Vec<&str> =
        shown["body"].as_array().expect("fields").iter().filter_map(|field| field["name"].as_str()).collect();
    assert_eq!(names.len(), 16, "{names:?}");
    assert_eq!(field(&shown, "evaluated_state"), &state);
    assert_eq!(field(&shown, "input_refs").as_array().expect("a list").len(), 2);
    assert_eq!(field(&shown, "created_at"), "5");
    assert_eq!(field(&shown, "result")[0]["value"], "pass");
    assert_eq!(field(&shown, "result")[3]["value"][3]["value"], "4");

    // The same document is the same evidence and keeps its name; claims are left alone.
    let again = ingest(&sandbox, &whole).json();
    assert_eq!(again["result"], answer["result"]);
    assert_eq!(sandbox.result(&["refs", "refs/names/E"])["refs"].as_array().expect("rows").len(), 2);
}

#[test]
fn what_may_be_left_out() {
    let sandbox = Sandbox::with_changes();
    let bare = document(&sandbox, &json!({"kind": "replay"}));
    let shown = ingest(&sandbox, &bare).json()["result"]["evidence"].clone();
    let shown = sandbox.result(&["show", shown.as_str().expect("text")]);
    assert_eq!(field(&shown, "result"), &Value::Null);
    assert!(field(&shown, "created_at").as_str().expect("a time").starts_with("17000000"));
    // Names and prefixes do for identities, and the flag for the producer.
    let mut unsigned = document(&sandbox, &json!({"kind": "replay", "inputs": [{"id": "S1"}]}));
    unsigned.as_object_mut().expect("an object").remove("producer");
    sandbox.write("doc.json", &unsigned.to_string());
    assert_eq!(sandbox.refused(&["evidence", "ingest", "doc.json"])["code"], "INVALID_ARGUMENT");
    sandbox.ok(&["evidence", "ingest", "doc.json", "--producer", "P1"]);
    let human = sandbox.ok(&["evidence", "ingest", "doc.json", "--producer", "P1"]);
    assert!(human.out.contains("replay: no result  a.txt  (not executed)"), "{}", human.out);
}

#[test]
fn documents_that_are_refused() {
    let sandbox = Sandbox::with_changes();
    let zero = format!("blob.{}", "0".repeat(64));
    let before = sandbox.ok(&["refs"]).out;
    let check = |more: Value, expected: &str| {
        let said = ingest(&sandbox, &document(&sandbox, &more));
        let error = &said.json()["error"];
        assert_eq!((said.status, error["code"].as_str()), (2, Some("INVALID_ARGUMENT")), "{more}: {said:?}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with("invalid: ") && message.contains(expected), "{more}: {message}");
    };
    check(json!({"schema": "gemel.evidence.v9"}), "schema \"gemel.evidence.v9\" is unknown");
    check(json!({"schema": 1}), "schema is a number");
    check(json!({"kind": "zzz"}), "kind \"zzz\" is unknown");
    check(json!({"kind": null}), "kind is null");
    check(json!({"producer": "S1"}), "producer: S1 is not a producer");
    check(json!({"producer": "nobody"}), "producer: \"nobody\" is not present");
    check(json!({"colour": "red"}), "colour is no key");
    check(json!({"subject": 5, "tools": 7}), "subject is a number");
    check(json!({"tools": 7}), "tools is a number, expected a list");
    check(json!({"tools": [7]}), "tools[0] is a number");
    check(json!({"tools": [{"name": "x"}]}), "tools[0].version is missing");
    check(json!({"tools": [{"name": "x", "version": "1", "digest": "ab"}]}), "tools[0].digest");
    check(json!({"tools": [{"name": "x", "version": "1", "hash": "ab"}]}), "tools[0].hash is no key");
    check(json!({"normalizers": [{"name": "x"}]}), "normalizers[0].digest is missing");
    check(json!({"comparators": [{"digest": "0".repeat(64)}]}), "comparators[0].name is missing");
    check(json!({"inputs": [{"id": zero}]}), "inputs[0].id");
    check(json!({"inputs": ["S1"]}), "inputs[0] is a string");
    check(json!({"inputs": [{"id": "C1", "role": "evaluated_state"}]}), "is not a state");
    check(
        json!({"inputs": [{"id": "S1", "role": "evaluated_state"}, {"id": "S2", "role": "evaluated_state"}]}),
        "inputs[1] is a second evaluated_state",
    );
    check(json!({"subject_refs": [{"id": "S1"}]}), "subject_refs[0] is an object");
    check(json!({"environment": "S1"}), "environment: S1 is not an environment");
    check(json!({"command_ref": "S1"}), "command_ref: S1 is not an operation");
    check(json!({"outputs": [{"role": "log"}]}), "outputs[0].id is missing");
    check(json!({"result": {}}), "result.outcome is missing");
    check(json!({"result": {"outcome": "good"}}), "result.outcome \"good\" is unknown");
    check(json!({"result": {"outcome": "pass", "exit_code": 1.5}}), "result.exit_code is a number");
    check(json!({"result": {"outcome": "pass", "counts": {"passed": 1}}}), "result.counts.failed is missing");
    let counts = |passed: Value, total: u64| {
        json!({"result": {"outcome": "pass",
        "counts": {"passed": passed, "failed": 3, "skipped": 0, "total": total}}})
    };
    check(counts(json!(5), 2), "result.counts.total is 2");
    check(counts(json!(u64::MAX), 2), "result.counts.total is 2");
    check(counts(json!(-1), 2), "result.counts.passed is a number");
    check(json!({"reproduction": {"replayable": "yes"}}), "reproduction.replayable is a string");
    check(json!({"created_at": "5"}), "created_at is a string");
    assert_eq!(sandbox.ok(&["refs"]).out, before);
}

#[test]
fn input_that_is_no_document() {
    let sandbox = Sandbox::with_changes();
    let check = |input: &[u8], code: &str, expected: &str| {
        let said = feed(&sandbox, &["evidence", "ingest", "-", "--json"], input);
        let error = &said.json()["error"];
        assert_eq!((said.status, error["code"].as_str()), (2, Some(code)), "{said:?}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(expected), "{message}");
    };
    check(b"", "INVALID_ARGUMENT", "no JSON");
    check(b"[]", "INVALID_ARGUMENT", "expected a JSON object");
    check(b"x", "INVALID_ARGUMENT", "no JSON");
    check(b"{}", "INVALID_ARGUMENT", "schema is missing");
    check(b"\xff\xfe{}", "INVALID_ARGUMENT", "no JSON");
    check(
        b"{\"schema\":\"gemel.evidence.v1\",\"schema\":\"gemel.evidence.v1\"}",
        "INVALID_ARGUMENT",
        "stands twice",
    );
    check("[".repeat(1 << 20).as_bytes(), "INVALID_ARGUMENT", "no JSON");
    let values = format!("{{\"schema\":\"gemel.evidence.v1\",\"x-a\":[{}0]}}", "0,".repeat(1_000_001));
    check(values.as_bytes(), "INVALID_ARGUMENT", "more than 1000000 values");
    check(&vec![b' '; (4 << 20) + 1], "LIMIT_EXCEEDED", "exceeds the limit of 4194304");
    check(&vec![b' '; (64 << 20) + 1], "LIMIT_EXCEEDED", "exceeds the limit of 67108864");
    assert_eq!(sandbox.refused(&["evidence", "ingest", "absent.json"])["code"], "NOT_FOUND");
    assert_eq!(sandbox.refused(&["evidence", "ingest", "src"])["code"], "INVALID_ARGUMENT");
}
