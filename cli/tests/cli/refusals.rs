//! Refusals: code, sentence, exit status (query surface, section 1.6; workflow, section 20).

use crate::harness::{Said, Sandbox};
use serde_json::json;

#[track_caller]
fn check(sandbox: &Sandbox, args: &[&str], code: &str, sentence: &str) {
    let error = sandbox.refused(args);
    assert_eq!(error["code"], code, "{args:?}: {error}");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains(sentence), "{args:?}: {message:?} lacks {sentence:?}");
}

#[test]
fn outside_a_repository() {
    let sandbox = Sandbox::empty();
    check(&sandbox, &["status"], "NOT_FOUND", "not a gemel repository: ");
    check(
        &sandbox,
        &["log", "--repo", "/nonexistent-gemel"],
        "NOT_FOUND",
        "not a gemel repository: /nonexistent-gemel",
    );
    let said = sandbox.run(&["status"]);
    assert!(said.err.contains("\nhint: "), "{}", said.err);
}

#[test]
fn names_and_identities() {
    let sandbox = Sandbox::with_changes();
    check(&sandbox, &["show", "nosuch"], "NOT_FOUND", r#"unresolved name or identity: "nosuch""#);
    let absent = format!("change.{}", "0".repeat(64));
    check(&sandbox, &["show", &absent], "NOT_FOUND", &format!("object not found: {absent}"));
    assert_eq!(sandbox.refused(&["show", &absent])["ids"], json!([absent]));
    check(&sandbox, &["checkout", "I1", "--dir", "out"], "INVALID_ARGUMENT", "is not a state");
    check(&sandbox, &["diff", "I1"], "INVALID_ARGUMENT", "is not a state");
    check(&sandbox, &["snapshot", "--label", "C1"], "INVALID_ARGUMENT", "C1");
    check(&sandbox, &["snapshot", "--label", "../../x"], "INVALID_ARGUMENT", "invalid ref name");
    check(&sandbox, &["snapshot", "--producer", "C1"], "INVALID_ARGUMENT", "is not a producer");
    check(&sandbox, &["name", "S1", "C1"], "INVALID_ARGUMENT", "C1");
    check(&sandbox, &["name", "S1", "refs/head", "--force"], "INVALID_ARGUMENT", "refs/head");
    check(&sandbox, &["workspace", "remove", "nosuch"], "NOT_FOUND", "nosuch");
    check(&sandbox, &["status", "--workspace", "a/b"], "INVALID_ARGUMENT", "a/b");
    check(&sandbox, &["status", "--scope", "galaxy"], "INVALID_ARGUMENT", "galaxy");
}

#[test]
fn changes_in_the_wrong_order() {
    let sandbox = Sandbox::with_changes();
    check(
        &sandbox,
        &["change", "finish"],
        "INVALID_ARGUMENT",
        "no change in progress (run `gemel change begin`)",
    );
    check(&sandbox, &["change", "abort"], "INVALID_ARGUMENT", "no change in progress");
    check(&sandbox, &["change", "status"], "INVALID_ARGUMENT", "no change in progress");
    check(&sandbox, &["change", "begin", "--intent", "S1"], "INVALID_ARGUMENT", "is not an intent");
    check(&sandbox, &["change", "begin", "--producer", "S1"], "INVALID_ARGUMENT", "is not a producer");
    check(&sandbox, &["change", "begin", "--from", "I1"], "INVALID_ARGUMENT", "is not a state");
    check(
        &sandbox,
        &["change", "begin", "--intent", "I1", "--intent-summary", "x"],
        "INVALID_ARGUMENT",
        "--intent and --intent-summary exclude each other",
    );
    check(&sandbox, &["change", "begin", "--workspace", "a/b"], "INVALID_ARGUMENT", "invalid workspace name");
    sandbox.ok(&["change", "begin"]);
    check(
        &sandbox,
        &["change", "begin"],
        "INVALID_ARGUMENT",
        "a change is already in progress (run `gemel change finish`)",
    );
}

#[test]
fn specs_that_cannot_be_meant() {
    let sandbox = Sandbox::with_changes();
    sandbox.ok(&["change", "begin"]);
    let finish = |flag: &'static str, spec: &'static str| ["change", "finish", flag, spec];
    check(
        &sandbox,
        &finish("--claim", "|p"),
        "INVALID_ARGUMENT",
        "malformed spec \"|p\" of --claim: the first field is empty; write SUBJECT|PREDICATE",
    );
    check(&sandbox, &finish("--claim", "a|"), "INVALID_ARGUMENT", "claim predicate must be non-empty");
    check(&sandbox, &finish("--claim", "a|b|wish"), "INVALID_ARGUMENT", "wish");
    check(&sandbox, &finish("--claim", "a|b|other|evidence=7"), "INVALID_ARGUMENT", "7");
    check(&sandbox, &finish("--evidence", "a|perhaps"), "INVALID_ARGUMENT", "perhaps");
    check(&sandbox, &finish("--evidence", "a|pass|test_result|x=1"), "INVALID_ARGUMENT", "x");
    check(&sandbox, &finish("--residual", "a|huge"), "INVALID_ARGUMENT", "huge");
    check(&sandbox, &finish("--residual", "a|low|other||e"), "INVALID_ARGUMENT", "of --residual: 5 fields");
    check(&sandbox, &finish("--instruction-digest", "abcd"), "INVALID_ARGUMENT", "64");
    check(&sandbox, &finish("--disclosure", "SECRET"), "INVALID_ARGUMENT", "SECRET");
    // Nothing was recorded and the change is still in progress.
    assert_eq!(sandbox.result(&["change", "status"])["workspace"], "default");
    assert_eq!(sandbox.result(&["log"])["changes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn unrecorded_work_is_not_lost() {
    let sandbox = Sandbox::with_changes();
    sandbox.write("new.txt", "precious");
    check(&sandbox, &["checkout", "S1"], "POLICY_DENIED", "new.txt");
    assert_eq!(sandbox.read("new.txt"), "precious");
    sandbox.ok(&["checkout", "S1", "--force"]);
    assert!(!sandbox.root().join("new.txt").exists());
}

#[test]
fn what_is_not_built_is_refused() {
    let sandbox = Sandbox::with_changes();
    check(&sandbox, &["gc"], "INVALID_ARGUMENT", "`gemel gc` without --dry-run is not built yet");
    let said = sandbox.run(&["show", "C1", "--raw", "--json"]);
    assert_eq!((said.status, &said.json()["error"]["code"]), (2, &json!("INVALID_ARGUMENT")));
}

#[test]
fn usage_errors_have_envelopes_too() {
    let sandbox = Sandbox::new();
    let check = |args: &[&str], command: &str, sentence: &str| {
        let said = sandbox.run(args);
        assert_eq!(said.status, 2, "{args:?}: {said:?}");
        let envelope = said.json();
        assert_eq!(envelope["error"]["code"], "INVALID_ARGUMENT");
        assert_eq!(envelope["request"]["command"], command, "{args:?}");
        let message = envelope["error"]["message"].as_str().expect("a message");
        assert!(message.contains(sentence), "{args:?}: {message:?} lacks {sentence:?}");
        assert!(!message.contains("Usage:") && !message.contains('\n'), "{message:?}");
        assert_eq!(said.err, format!("error: {message}\n"));
    };
    check(&["--json"], "", "requires a subcommand");
    check(&["--json", "change"], "change", "requires a subcommand");
    check(&["stauts", "--json"], "", "a similar subcommand exists: 'status'");
    check(&["status", "--json", "--verbos"], "status", "unexpected argument '--verbos' found");
    check(&["show", "--json"], "show", "required arguments were not provided: <ID>");
    check(&["log", "--json", "--limit", "many"], "log", "invalid value 'many'");
    check(&["init", "--json", "--author-email", "a@b"], "init", "--author-name");
    check(&["diff", "--json", "--stat", "--name-only"], "diff", "cannot be used with");
    check(&["log", "--json", "--limit", "0"], "log", "invalid limit 0");
    // Without --json, clap's own report and nothing on standard output.
    let said = sandbox.run(&["stauts"]);
    assert_eq!((said.status, said.out.as_str()), (2, ""));
    assert!(said.err.starts_with("error: unrecognized subcommand 'stauts'") && said.err.contains("Usage: "));
    let said = sandbox.run(&[]);
    assert_eq!((said.status, said.out.as_str()), (2, ""));
    assert!(said.err.contains("Usage: gemel"));
}

#[test]
fn help_and_version_are_answers() {
    let sandbox = Sandbox::empty();
    for args in [&["--help"][..], &["-h"], &["help"], &["help", "change", "begin"], &["status", "--help"]] {
        let said = sandbox.ok(args);
        assert!(said.out.contains("Usage: gemel") && said.err.is_empty(), "{args:?}");
    }
    for flag in ["--version", "-V"] {
        assert_eq!(sandbox.ok(&[flag]).out, format!("gemel {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_text() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["show", "--json"]);
    command.arg(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    let said = Said::of(command);
    assert_eq!(said.status, 2, "{said:?}");
    assert_eq!(said.json()["error"]["code"], "INVALID_ARGUMENT");
}
