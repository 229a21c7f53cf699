//! `evidence ingest`: documents of our own, good and bad, and reports of tools.

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
    check(b"", "INVALID_ARGUMENT", "not read as JSON");
    check(b"[]", "INVALID_ARGUMENT", "expected a JSON object");
    check(b"x", "INVALID_ARGUMENT", "not read as JSON");
    check(b"{}", "INVALID_ARGUMENT", "schema is missing");
    check(b"\xff\xfe{}", "INVALID_ARGUMENT", "not read as JSON");
    check(
        b"{\"schema\":\"gemel.evidence.v1\",\"schema\":\"gemel.evidence.v1\"}",
        "INVALID_ARGUMENT",
        "stands twice",
    );
    check("[".repeat(1 << 20).as_bytes(), "INVALID_ARGUMENT", "not read as JSON");
    let values = format!("{{\"schema\":\"gemel.evidence.v1\",\"a\":[{}0]}}", "0,".repeat(400_001));
    check(values.as_bytes(), "INVALID_ARGUMENT", "more than 400000 values");
    check(&vec![b' '; (4 << 20) + 1], "LIMIT_EXCEEDED", "exceeds the limit of 4194304");
    check(&vec![b' '; (64 << 20) + 1], "LIMIT_EXCEEDED", "exceeds the limit of 67108864");
    assert_eq!(sandbox.refused(&["evidence", "ingest", "absent.json"])["code"], "NOT_FOUND");
    assert_eq!(sandbox.refused(&["evidence", "ingest", "src"])["code"], "INVALID_ARGUMENT");
}

const JUNIT: &str = "<testsuites><testsuite name='a.txt'><testcase name='x'/><testcase name='y'>\
                     <failure message='boom'/></testcase></testsuite></testsuites>";

fn classes(envelope: &Value) -> Vec<&str> {
    let list = envelope["uncertainty"].as_array().expect("a list");
    list.iter().map(|doubt| doubt["class"].as_str().expect("a class")).collect()
}

#[test]
fn a_report_becomes_evidence() {
    let sandbox = Sandbox::with_changes();
    // It lies among the files, which are those of the recorded state otherwise.
    sandbox.write("junit.xml", JUNIT);
    let envelope = sandbox.envelope(&["evidence", "ingest", "junit.xml", "--tool", "cargo-nextest=0.9.1"]);
    let result = &envelope["result"];
    assert_eq!((&result["format"], &result["executed"]), (&json!("junit"), &json!(false)));
    assert_eq!((&result["name"], &envelope["uncertainty"]), (&json!("E2"), &json!([])));
    assert_eq!(result["evaluated_state"], sandbox.result(&["status"])["state"]["id"]);
    assert_eq!(result["items"][0]["counts"], json!({"passed": 1, "failed": 1, "skipped": 0, "total": 2}));
    let shown = sandbox.result(&["show", "E2"]);
    assert_eq!(field(&shown, "subject"), "a.txt");
    assert_eq!(field(&shown, "output_refs")[0], result["raw"]);
    assert_eq!(field(&shown, "evaluated_state"), &result["evaluated_state"]);
    assert_eq!(field(&shown, "producer"), &json!(producer(&sandbox)));
    assert_eq!(field(&shown, "tools")[0][1]["value"], "0.9.1");
    assert_eq!(field(&shown, "result")[0]["value"], "fail");
    assert_eq!(field(&shown, "result")[1]["value"], "y: boom\n");
    let raw = sandbox.result(&["show", result["raw"].as_str().expect("an identity")]);
    assert_eq!(raw["body"].as_str().expect("hex").len(), 2 * JUNIT.len());
    sandbox.ok(&["fsck"]);

    // With a pinned clock the same file is the same evidence.
    let pinned = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.env("GEMEL_TIME_MS", "1700000100000");
        Said::of(command).json()
    };
    let args = ["evidence", "ingest", "junit.xml", "--state", "head", "--json"];
    let (once, again) = (pinned(&args), pinned(&args));
    assert_eq!((&once["result"], &once["result"]["name"]), (&again["result"], &json!("E3")));
    let human = sandbox.ok(&["evidence", "ingest", "junit.xml"]);
    assert!(human.out.contains("test_result: fail  a.txt  1 passed, 1 failed, 0 skipped"), "{}", human.out);
}

#[test]
fn which_state_was_observed() {
    let sandbox = Sandbox::with_changes();
    let ingest = |more: &[&str]| {
        sandbox.write("../report.xml", JUNIT);
        sandbox.envelope(&[&["evidence", "ingest", "../report.xml"], more].concat())
    };
    let head = sandbox.result(&["status"])["state"]["id"].clone();
    assert_eq!(ingest(&[])["result"]["evaluated_state"], head);
    sandbox.write("a.txt", "four\n");
    let unknown = ingest(&[]);
    assert_eq!(classes(&unknown), ["evidence_freshness"]);
    assert!(unknown["result"].get("evaluated_state").is_none());
    let reason = unknown["uncertainty"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("1 path(s), \"a.txt\"") && reason.contains("--state"), "{reason}");
    for (state, expected) in [("head", &head), ("result", &head), ("@state", &head), ("C2", &head)] {
        assert_eq!(&ingest(&["--state", state])["result"]["evaluated_state"], expected, "{state}");
    }
    let first = sandbox.result(&["show", "S1"])["id"].clone();
    assert_eq!(ingest(&["--state", "S1"])["result"]["evaluated_state"], first);
    let none = ingest(&["--state", "none"]);
    assert!(none["result"].get("evaluated_state").is_none() && classes(&none).is_empty());
    let fresh = Sandbox::new();
    fresh.write("r.xml", JUNIT);
    assert_eq!(classes(&fresh.envelope(&["evidence", "ingest", "r.xml"])), ["evidence_freshness"]);
    let refused =
        |state: &str| fresh.refused(&["evidence", "ingest", "r.xml", "--state", state])["code"].clone();
    assert_eq!(
        [refused("head"), refused("result"), refused("S9")],
        ["INVALID_ARGUMENT", "INVALID_ARGUMENT", "NOT_FOUND"]
    );
}

#[test]
fn where_and_by_whom() {
    let sandbox = Sandbox::with_changes();
    sandbox.write("../r.tap", "1..1\nok 1\nnoise\n");
    sandbox.ok(&["environment", "create", "--os-family", "linux", "--arch", "riscv64"]);
    sandbox.ok(&["producer", "create", "--kind", "automation", "--name", "ci"]);
    let args = [
        "evidence",
        "ingest",
        "../r.tap",
        "--environment",
        "Env1",
        "--producer",
        "P2",
        "--subject",
        "src/main.rs",
    ];
    let envelope = sandbox.envelope(&args);
    assert_eq!(envelope["omitted"], json!([{"class": "tap", "count": 1, "reason": "unparsed"}]));
    let shown = sandbox.result(&["show", "E2"]);
    assert_eq!(field(&shown, "environment"), &sandbox.result(&["show", "Env1"])["id"]);
    assert_eq!(field(&shown, "producer"), &sandbox.result(&["show", "P2"])["id"]);
    assert_eq!(field(&shown, "subject"), "src/main.rs");
    let here = sandbox.result(&["evidence", "ingest", "../r.tap", "--detect-environment"]);
    let machine = sandbox.result(&["show", here["environment"].as_str().expect("an identity")]);
    assert_eq!(field(&machine, "arch"), std::env::consts::ARCH);
    // A document says all itself; flags may fill gaps, not contradict.
    let document = document(&sandbox, &json!({"kind": "replay", "environment": "Env1"}));
    sandbox.write("../d.json", &document.to_string());
    let ingest = |more: &[&'static str]| [&["evidence", "ingest", "../d.json"], more].concat();
    sandbox.ok(&ingest(&["--environment", "Env1", "--subject", "a.txt", "--state", "head"]));
    for more in [["--subject", "b.txt"], ["--producer", "P2"], ["--tool", "a=1"]] {
        assert_eq!(sandbox.refused(&ingest(&more))["code"], "INVALID_ARGUMENT", "{more:?}");
    }
    assert_eq!(sandbox.refused(&ingest(&["--detect-environment"]))["code"], "INVALID_ARGUMENT");
}

#[test]
fn several_runs_in_one_file() {
    let sandbox = Sandbox::with_changes();
    let run = |name: &str| json!({"tool": {"driver": {"name": name, "version": "1"}}, "results": []});
    let log = json!({"version": "2.1.0", "runs": [run("one"), run("two")]});
    sandbox.write("../r.sarif", &log.to_string());
    let result = sandbox.result(&["evidence", "ingest", "../r.sarif"]);
    let names: Vec<&Value> =
        result["items"].as_array().expect("rows").iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["E2", "E3"]);
    assert_eq!(result["name"], "E2");
}

#[test]
fn reports_that_are_refused() {
    let sandbox = Sandbox::with_changes();
    sandbox.write("../r", "<testsuite/>");
    let before = sandbox.ok(&["refs"]).out;
    let check = |more: &[&str], code: &str, expected: &str| {
        let error = sandbox.refused(&[&["evidence", "ingest", "../r"], more].concat());
        assert_eq!(error["code"], code, "{more:?}");
        assert!(error["message"].as_str().expect("a message").contains(expected), "{error}");
    };
    check(&["--format", "xml"], "INVALID_ARGUMENT", "auto, gemel, junit, sarif, tap, libtest, in-toto");
    check(&["--format", "sarif"], "INVALID_ARGUMENT", "does not read as sarif");
    check(&["--format", "tap"], "INVALID_ARGUMENT", "does not read as tap");
    check(&["--format", "libtest"], "INVALID_ARGUMENT", "does not read as libtest");
    check(&["--format", "in-toto"], "INVALID_ARGUMENT", "does not read as in-toto");
    check(&["--format", "gemel"], "INVALID_ARGUMENT", "not read as JSON");
    check(&["--tool", "nextest"], "INVALID_ARGUMENT", "NAME=VERSION");
    check(&["--environment", "S1"], "INVALID_ARGUMENT", "not an environment");
    check(&["--environment", "S1", "--detect-environment"], "INVALID_ARGUMENT", "cannot be used with");
    check(&["--workspace", "a/b"], "INVALID_ARGUMENT", "workspace name");
    check(&["--producer", "S1"], "INVALID_ARGUMENT", "not a producer");
    sandbox.write("../r", "<html/>");
    check(&[], "INVALID_ARGUMENT", "does not read as junit");
    assert_eq!(sandbox.ok(&["refs"]).out, before);
}

/// SEC-03, T-13: a command is data, whatever reads it.
#[test]
fn ingested_commands_are_never_run() {
    let sandbox = Sandbox::with_changes();
    let command = format!("touch {}", sandbox.scratch().join("marker").display());
    let reproduction = json!({"replayable": true, "policy_required": false});
    let document = document(&sandbox, &json!({"command": command, "reproduction": reproduction}));
    assert_eq!(ingest(&sandbox, &document).json()["result"]["executed"], false);
    let invocation = json!({"executionSuccessful": true, "commandLine": command});
    let run = json!({"tool": {"driver": {"name": "a", "version": "1"}}, "results": [], "invocations": [invocation]});
    sandbox.write("../r.sarif", &json!({"version": "2.1.0", "runs": [run]}).to_string());
    sandbox.ok(&["evidence", "ingest", "../r.sarif"]);
    assert_eq!(field(&sandbox.result(&["show", "E3"]), "command"), &json!(command));
    for args in
        [&["status", "--verbose"][..], &["fsck"], &["show", "E2"], &["court", "E2", "--dry-run", "--allow"]]
    {
        sandbox.ok(args);
    }
    assert_eq!(sandbox.refused(&["court", "E3", "--allow"])["code"], "POLICY_DENIED");
    assert!(!sandbox.scratch().join("marker").exists());
}
