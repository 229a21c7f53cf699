//! `gemel.query.v1` answers (query surface, section 1).

use crate::harness::Sandbox;
use serde_json::{Value, json};

/// Every command with the words it is echoed under. `DIR` is a scratch directory.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["init", "DIR/other"], "init"),
    (&["status"], "status"),
    (&["status", "--verbose", "--scope", "repository"], "status"),
    (&["snapshot"], "snapshot"),
    (&["change", "begin", "--intent", "I1"], "change begin"),
    (&["change", "status"], "change status"),
    (&["change", "abort"], "change abort"),
    (&["change", "begin"], "change begin"),
    (&["change", "finish", "--summary", "none"], "change finish"),
    (&["log"], "log"),
    (&["log", "--operations", "--all"], "log"),
    (&["show", "C1"], "show"),
    (&["show", "C1", "--compact"], "show"),
    (&["diff"], "diff"),
    (&["diff", "S1", "S2", "--stat"], "diff"),
    (&["checkout", "S1", "--dir", "DIR/out"], "checkout"),
    (&["workspace", "list"], "workspace list"),
    (&["refs"], "refs"),
    (&["name", "C1", "first"], "name"),
    (&["fsck"], "fsck"),
    (&["gc", "--dry-run"], "gc"),
    (&["repack", "--dry-run"], "repack"),
    (&["completions", "bash"], "completions"),
    (&["man", "DIR/man"], "man"),
];

/// Shows QRY-01.
#[test]
fn every_command_answers_one_envelope() {
    let sandbox = Sandbox::with_changes();
    for (args, words) in COMMANDS {
        let scratch = sandbox.scratch().to_str().expect("UTF-8");
        let args: Vec<String> = args.iter().map(|arg| arg.replace("DIR", scratch)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let said = sandbox.ok(&[&args[..], &["--json"]].concat());
        let envelope = said.json();
        check_shape(&envelope, words);
        // The bytes are the pretty form with sorted members and a final line break.
        assert_eq!(
            said.out,
            format!("{}\n", serde_json::to_string_pretty(&envelope).expect("JSON")),
            "{args:?}"
        );
        assert!(!said.out.contains('\x1b'));
    }
}

fn check_shape(envelope: &Value, words: &str) {
    let keys: Vec<&str> = envelope.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["omitted", "pagination", "request", "result", "schema", "uncertainty"], "{words}");
    assert_eq!(envelope["schema"], "gemel.query.v1");
    assert_eq!(envelope["request"]["command"], words);
    assert!(envelope["request"]["params"].is_object());
    assert!(envelope["omitted"].is_array() && envelope["uncertainty"].is_array());
    let page = &envelope["pagination"];
    assert!(page["count"].is_u64() && page["has_more"].is_boolean(), "{words}: {page}");
    assert_eq!(page["has_more"].as_bool(), Some(!page["next_cursor"].is_null()), "{words}");
    no_null(&envelope["result"], words);
}

fn no_null(value: &Value, words: &str) {
    match value {
        Value::Null => panic!("{words}: null"),
        Value::Array(values) => values.iter().for_each(|value| no_null(value, words)),
        Value::Object(members) => members.values().for_each(|value| no_null(value, words)),
        _ => {}
    }
}

#[test]
fn global_flags_go_before_and_after_the_words() {
    let sandbox = Sandbox::with_changes();
    let root = sandbox.root();
    let root = root.to_str().expect("UTF-8");
    let after = sandbox.ok(&["workspace", "list", "--json", "--repo", root]).out;
    assert_eq!(sandbox.ok(&["--json", "--repo", root, "workspace", "list"]).out, after);
    assert_eq!(sandbox.ok(&["workspace", "--json", "list", "--repo", root]).out, after);
}

#[test]
fn parameters_are_echoed_as_they_were_parsed() {
    let sandbox = Sandbox::with_changes();
    let params = |args: &[&str]| sandbox.envelope(args)["request"]["params"].clone();
    assert_eq!(params(&["status"]), json!({}));
    assert_eq!(params(&["log", "--limit", "2", "--all"]), json!({"limit": 2, "all": true}));
    // A capped limit shows what took effect, and a notice says so.
    let capped = sandbox.envelope(&["log", "--limit", "5000"]);
    assert_eq!(capped["request"]["params"], json!({"limit": 1000}));
    assert!(capped["notice"].as_str().is_some_and(|notice| notice.contains("5000")), "{capped}");
    assert_eq!(params(&["show", "C1"]), json!({"id": "C1"}));
    assert_eq!(params(&["diff", "S1", "C2", "--context", "0"]), json!({"a": "S1", "b": "C2", "context": 0}));
    let finish = ["change", "finish", "--summary", "s", "--claim", "a|b", "--claim", "c|d", "--dry-run"];
    sandbox.ok(&["change", "begin"]);
    assert_eq!(params(&finish), json!({"summary": "s", "claim": ["a|b", "c|d"], "dry_run": true}));
    assert_eq!(params(&["change", "abort"]), json!({}));
    assert_eq!(params(&["log", "--quiet", "--color", "never", "--no-pager"]), json!({}));
    assert_eq!(params(&["log", "--timestamps"]), json!({"timestamps": true}));
}

#[test]
fn times_are_told_only_when_asked_for() {
    let sandbox = Sandbox::with_changes();
    let row = |args: &[&str]| sandbox.result(args)["changes"][0].clone();
    assert!(row(&["log"]).get("created_at").is_none());
    assert!(row(&["log", "--timestamps"])["created_at"].is_i64());
    assert!(sandbox.result(&["show", "C1", "--compact"]).get("created_at").is_none());
    assert!(sandbox.result(&["show", "C1", "--compact", "--timestamps"])["created_at"].is_i64());
}

#[test]
fn equal_clocks_give_equal_bytes() {
    let (first, second) = (Sandbox::with_changes(), Sandbox::with_changes());
    for args in [&["log", "--operations"][..], &["show", "C2"], &["status", "--verbose"], &["refs"]] {
        let args = [args, &["--json"]].concat();
        assert_eq!(first.ok(&args).out, second.ok(&args).out, "{args:?}");
        assert_eq!(first.ok(&args).out, first.ok(&args).out, "{args:?}");
    }
}

#[test]
fn the_clock_is_pinned_and_checked() {
    let sandbox = Sandbox::empty();
    for bad in ["", "soon", "-1", "1.5", "99999999999999999999"] {
        let mut command = sandbox.command(&["init", "--json"]);
        command.env("GEMEL_TIME_MS", bad);
        let said = crate::harness::Said::of(command);
        assert_eq!(said.status, 2, "{bad:?}: {said:?}");
        assert_eq!(said.json()["error"]["code"], "INVALID_ARGUMENT");
    }
    let producer = |sandbox: &Sandbox| {
        let mut command = sandbox.command(&["init", "--json"]);
        command.env("GEMEL_TIME_MS", "0");
        let result = crate::harness::Said::of(command).json()["result"].clone();
        (result["default_producer"].clone(), result["config"].clone())
    };
    let (producer, config) = producer(&sandbox);
    assert_eq!(producer, "producer.06ff971e7bf19de0c069e0e230a03f470f242aabf7496ee7e3b5558301e7e730");
    assert_eq!(config, "config.bbd4644444dfaeb004ee825e6e86addd81c9a7d22084720e54f9aed9375253bb");
}
