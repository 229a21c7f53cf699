//! `court` as a process: denials, plans, and what an observation looks like.

use crate::harness::Sandbox;
use serde_json::Value;

/// A repository with evidence `E1` whose command is `command`.
fn with_command(command: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("f.txt", "1");
    sandbox.ok(&["change", "begin"]);
    let escaped = command.replace('\\', "\\\\").replace('|', "\\|").replace(';', "\\;").replace(',', "\\,");
    let evidence = format!("f.txt|pass|court_receipt|command={escaped}");
    sandbox.ok(&["change", "finish", "--evidence", &evidence]);
    sandbox
}

#[test]
fn the_default_denies() {
    let sandbox = with_command("touch marker");
    for args in [&["court", "E1"][..], &["court", "E1", "--allow"]] {
        let error = sandbox.refused(args);
        assert_eq!(error["code"], "POLICY_DENIED");
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with("invalid: execution denied (POLICY_DENIED): "), "{message}");
        assert_eq!(error["ids"][0], sandbox.result(&["show", "E1"])["id"]);
    }
    assert!(!sandbox.root().join("marker").exists());
}

#[test]
fn a_dry_run_tells_the_verdict() {
    let sandbox = with_command("touch marker");
    let plan = sandbox.result(&["court", "E1", "--dry-run", "--allow", "--timeout", "7"]);
    assert_eq!(plan["command"], "touch marker");
    assert_eq!((&plan["verdict"], &plan["timeout"]), (&Value::from("denied"), &Value::from(7)));
    assert_eq!(
        (&plan["execution_policy"], &plan["dry_run"]),
        (&Value::from("never_auto_execute"), &Value::from(true))
    );
    assert!(plan.get("shell").is_none() && plan.get("argv").is_none());
    let human = sandbox.ok(&["court", "E1", "--dry-run"]);
    assert!(human.out.contains("court of E1") && human.out.contains("denied"), "{}", human.out);
    // An odd time is taken for the nearest that is allowed, and that is said.
    let envelope = sandbox.envelope(&["court", "E1", "--dry-run", "--timeout", "0"]);
    assert_eq!(
        (&envelope["result"]["timeout"], &envelope["notice"]),
        (&Value::from(1), &Value::from("--timeout 0 was taken for 1"))
    );
    let envelope = sandbox.envelope(&["court", "E1", "--dry-run", "--timeout", "99999"]);
    assert_eq!(envelope["result"]["timeout"], 3600);
}

#[test]
fn what_has_no_court() {
    let sandbox = with_command(" ");
    let check = |args: &[&str], code: &str, expected: &str| {
        let error = sandbox.refused(args);
        assert_eq!(error["code"], code, "{args:?}");
        assert!(error["message"].as_str().expect("a message").contains(expected), "{error}");
    };
    check(&["court", "E1"], "INVALID_ARGUMENT", "has an empty reproduction command");
    check(&["court", "C1"], "INVALID_ARGUMENT", "C1 is not evidence");
    check(&["court", "E9"], "NOT_FOUND", "E9");
    check(&["court", "E1", "--timeout", "-1"], "INVALID_ARGUMENT", "unexpected argument");
    check(&["court", "E1", "--timeout", "x"], "INVALID_ARGUMENT", "x");
    check(&["court"], "INVALID_ARGUMENT", "EVIDENCE");
}

#[cfg(unix)]
#[test]
fn an_observation_as_it_is_answered() {
    let sandbox = with_command("echo hello; echo oops >&2; exit 3");
    sandbox.ok(&["config", "set", "--execution-policy", "policy_gated"]);
    let plan = sandbox.result(&["court", "E1", "--dry-run", "--allow"]);
    assert_eq!((&plan["verdict"], &plan["shell"]), (&Value::from("runs"), &Value::from(true)));
    let facts = sandbox.result(&["court", "E1", "--allow"]);
    let keys: Vec<&str> = facts.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["detail", "evidence", "exit_code", "name", "outcome", "source", "stderr_digest", "stdout_digest"]
    );
    assert_eq!((&facts["outcome"], &facts["exit_code"]), (&Value::from("fail"), &Value::from(3)));
    assert_eq!((&facts["name"], &facts["detail"]), (&Value::from("E2"), &Value::from("oops\n")));
    let shown = sandbox.ok(&["show", "E2"]).out;
    assert!(shown.contains(std::env::consts::OS) || shown.contains("environment"), "{shown}");
    let human = sandbox.ok(&["court", "E1", "--allow"]);
    assert!(human.out.contains("court: E3") && human.out.contains("[fail]"), "{}", human.out);
    sandbox.ok(&["fsck"]);

    sandbox.ok(&["config", "set", "--execution-policy", "allowlist"]);
    sandbox.write(".gemel/court.allowlist", "echo\n");
    assert_eq!(sandbox.refused(&["court", "E1"])["code"], "POLICY_DENIED");
    let plain = with_command("echo hello");
    plain.ok(&["config", "set", "--execution-policy", "allowlist"]);
    plain.write(".gemel/court.allowlist", "echo\n");
    let plan = plain.result(&["court", "E1", "--dry-run"]);
    assert_eq!(plan["argv"], serde_json::json!(["echo", "hello"]));
    assert_eq!(plain.result(&["court", "E1"])["outcome"], "pass");
}

/// What a court observed is evidence like any other: listed, and linked by whoever says what it means.
#[cfg(unix)]
#[test]
fn an_observation_is_listed_and_linked() {
    let sandbox = with_command("test -f f.txt");
    sandbox.ok(&["claim", "add", "--subject", "f.txt", "--predicate", "is there", "--kind", "correctness"]);
    sandbox.ok(&["config", "set", "--execution-policy", "policy_gated"]);
    let observed = sandbox.result(&["court", "E1", "--allow"])["evidence"].clone();
    let listed = sandbox.result(&["evidence", "list", "--subject", "f.txt"]);
    let ids: Vec<&Value> =
        listed["evidence"].as_array().expect("rows").iter().map(|row| &row["id"]).collect();
    assert!(ids.contains(&&observed), "{listed}");
    let status = || sandbox.result(&["claims", "--subject", "f.txt"])["claims"][0]["status"].clone();
    assert_eq!(status(), "UNVERIFIED");
    sandbox.ok(&["claim", "link", "Cl1", "--evidence", "E2"]);
    assert_eq!(status(), "SUPPORTED");
}
