//! Verbs that record one thing by itself: who, where, why, and what is known.

use crate::harness::Sandbox;
use serde_json::{Value, json};

/// BLAKE3 of `do it`.
const DO_IT: &str = "2e40da6c553490928b720ac10e9efa9379ad110c733a72a130db9b0f12a1acde";

#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], code: &str, sentence: &str) {
    let error = sandbox.refused(args);
    assert_eq!(error["code"], code, "{args:?}: {error}");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains(sentence), "{args:?}: {message:?} lacks {sentence:?}");
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

/// The value of a field of a canonical object.
fn field(object: &Value, tag: u64) -> Value {
    let body = object["body"].as_array().expect("fields");
    body.iter().find(|field| field["tag"] == tag).map_or(Value::Null, |field| field["value"].clone())
}

#[test]
fn environments_are_what_they_say() {
    let sandbox = Sandbox::new();
    let create = ["environment", "create", "--os-family", "linux", "--arch", "x86_64"];
    let made = sandbox.result(&create);
    assert_eq!((&made["name"], &made["environment"]), (&json!("Env1"), &made["id"]));
    // Described again, later: the same object under the same name.
    assert_eq!(sandbox.result(&create), made);
    let full = sandbox.result(
        &[
            &create[..],
            &["--os-name", "debian", "--os-version", "12", "--kernel", "6.1", "--compiler", "rustc=1.95"],
            &["--tool", "cc=12", "--tool", "ld=2", "--tool", "cc=12"],
        ]
        .concat(),
    );
    let shown = sandbox.result(&["show", text(&full["name"]), "--compact"]);
    assert_eq!(shown["os"], json!({"family": "linux", "name": "debian", "version": "12", "kernel": "6.1"}));
    let tools = json!([{"name": "cc", "version": "12"}, {"name": "ld", "version": "2"}]);
    assert_eq!((&shown["toolchain"], &shown["compiler"]["name"]), (&tools, &json!("rustc")));
    let detected = sandbox.result(&["environment", "create", "--detect"]);
    let shown = sandbox.result(&["show", text(&detected["id"]), "--compact"]);
    assert_eq!(
        (&shown["os"]["family"], &shown["arch"]),
        (&json!(std::env::consts::OS), &json!(std::env::consts::ARCH))
    );
    let noted = sandbox.envelope(&[&create[..], &["--producer", "P1"]].concat());
    assert!(text(&noted["notice"]).contains("--producer"));
    refused(&sandbox, &["environment", "create"], "INVALID_ARGUMENT", "nothing is said");
    refused(&sandbox, &["environment", "create", "--arch", " "], "INVALID_ARGUMENT", "--arch is empty");
    refused(&sandbox, &["environment", "create", "--kernel", "6"], "INVALID_ARGUMENT", "need --os-family");
    refused(
        &sandbox,
        &["environment", "create", "--arch", "x", "--tool", "cc"],
        "INVALID_ARGUMENT",
        "NAME=VERSION",
    );
    refused(
        &sandbox,
        &[&create[..], &["--producer", "Env1"]].concat(),
        "INVALID_ARGUMENT",
        "is not a producer",
    );
}

#[test]
fn producers_act_once_they_are_default() {
    let sandbox = Sandbox::new();
    let made = sandbox.result(&[
        "producer",
        "create",
        "--kind",
        "agent",
        "--name",
        "bot",
        "--model-family",
        "f",
        "--harness",
        "h",
        "--default",
    ]);
    assert_eq!((&made["name"], &made["default"]), (&json!("P2"), &json!(true)));
    let human = sandbox.result(&["producer", "create", "--name", "Ada", "--email", "ada@example.org"]);
    assert_eq!((&human["name"], &human["default"]), (&json!("P3"), &json!(false)));
    let rows = sandbox.result(&["producer", "list"])["producers"].clone();
    let row = |name: &str| {
        rows.as_array().expect("rows").iter().find(|row| row["name"] == name).cloned().expect("it")
    };
    assert_eq!((&row("P2")["default"], &row("P2")["model_family"]), (&json!(true), &json!("f")));
    assert_eq!((&row("P3")["email"], &row("P3")["disclosure"]), (&json!("ada@example.org"), &json!("FULL")));
    assert_eq!((&row("P1")["default"], &row("P2")["disclosure"]), (&json!(false), &json!("DIGEST_ONLY")));
    let intent = sandbox.result(&["intent", "create", "--summary", "x"]);
    assert_eq!(field(&sandbox.result(&["show", text(&intent["name"])]), 0x0B), made["id"]);
    refused(
        &sandbox,
        &["producer", "create", "--name", "x", "--kind", "cat"],
        "INVALID_ARGUMENT",
        "producer kind",
    );
    refused(&sandbox, &["producer", "create", "--name", " "], "INVALID_ARGUMENT", "--name is empty");
    refused(
        &sandbox,
        &["producer", "create", "--name", "x", "--model-id", "m"],
        "INVALID_ARGUMENT",
        "of kind agent",
    );
    refused(
        &sandbox,
        &["producer", "create", "--name", "x", "--disclosure", "SOME"],
        "INVALID_ARGUMENT",
        "disclosure",
    );
    let page = sandbox.envelope(&["producer", "list", "--limit", "2"]);
    assert_eq!(page["pagination"]["has_more"], true);
}

#[test]
fn intents_form_a_tree() {
    let sandbox = Sandbox::with_changes();
    let made = sandbox.result(&[
        "intent",
        "create",
        "--summary",
        "Part",
        "--parent",
        "I1",
        "--criterion",
        "a",
        "--criterion",
        "b",
        "--scope",
        "src",
        "--description",
        "long",
    ]);
    assert_eq!((&made["name"], &made["id"]), (&json!("I2"), &made["intent"]));
    let shown = sandbox.result(&["intent", "show", "I2"]);
    assert_eq!(shown["parent"]["name"], "I1");
    assert_eq!(
        (&shown["acceptance_criteria"], &shown["requested_scope"]),
        (&json!(["a", "b"]), &json!(["src"]))
    );
    let shown = sandbox.result(&["intent", "show", "I1"]);
    assert_eq!(
        (&shown["trajectories"][0]["name"], &shown["trajectories"][0]["outcome"]),
        (&json!("T1"), &json!("incomplete"))
    );
    let rows = sandbox.result(&["intent", "list"])["intents"].clone();
    let ids: Vec<&str> = rows.as_array().expect("rows").iter().map(|row| text(&row["id"])).collect();
    assert!(ids.len() == 2 && ids.is_sorted(), "{rows}");
    refused(&sandbox, &["intent", "create", "--summary", ""], "INVALID_ARGUMENT", "--summary is empty");
    refused(
        &sandbox,
        &["intent", "create", "--summary", "x", "--parent", "C1"],
        "INVALID_ARGUMENT",
        "is not an intent",
    );
    refused(
        &sandbox,
        &["intent", "create", "--summary", "x", "--criterion", ""],
        "INVALID_ARGUMENT",
        "--criterion",
    );
    refused(&sandbox, &["intent", "show", "C1"], "INVALID_ARGUMENT", "is not an intent");
}

#[test]
fn cases_are_chains_under_a_label() {
    let sandbox = Sandbox::with_changes();
    let first = sandbox.result(&["case", "create", "--summary", "All of it", "--trajectory", "T1"]);
    assert_eq!(
        (&first["name"], &first["status"], &first["versions"]),
        (&json!("Case1"), &json!("open"), &json!(1))
    );
    let labelled =
        sandbox.result(&["case", "create", "--summary", "Other", "--label", "a/b", "--status", "active"]);
    assert_eq!((&labelled["name"], &labelled["status"]), (&json!("a/b"), &json!("active")));
    refused(&sandbox, &["case", "create", "--summary", "x", "--label", "a/b"], "INVALID_ARGUMENT", "a/b");
    refused(&sandbox, &["case", "create", "--summary", "x", "--label", "Case7"], "INVALID_ARGUMENT", "Case7");
    refused(
        &sandbox,
        &["case", "create", "--summary", "x", "--label", "../x"],
        "INVALID_ARGUMENT",
        "invalid ref name",
    );
    refused(
        &sandbox,
        &["case", "create", "--summary", "x", "--status", "shut"],
        "INVALID_ARGUMENT",
        "case status",
    );
    refused(
        &sandbox,
        &["case", "create", "--summary", "x", "--trajectory", "C1"],
        "INVALID_ARGUMENT",
        "is not a trajectory",
    );
    refused(
        &sandbox,
        &["case", "close", "Case1", "--status", "active"],
        "INVALID_ARGUMENT",
        "does not close",
    );
    let closed = sandbox.result(&["case", "close", text(&first["id"]), "--status", "abandoned"]);
    assert_eq!(
        (&closed["previous"], &closed["name"], &closed["versions"]),
        (&first["id"], &json!("Case1"), &json!(2))
    );
    assert_eq!(closed["trajectories"], first["trajectories"]);
    // The older version still leads to the newest.
    refused(&sandbox, &["case", "close", text(&first["id"])], "INVALID_ARGUMENT", "abandoned already");
    refused(&sandbox, &["case", "close", "T1"], "INVALID_ARGUMENT", "is not a case");
    assert_eq!(sandbox.result(&["case", "list"])["cases"].as_array().map(Vec::len), Some(2));
    assert_eq!(sandbox.result(&["case", "list", "--status", "abandoned"])["cases"][0]["name"], "Case1");
    refused(&sandbox, &["case", "list", "--status", "x"], "INVALID_ARGUMENT", "case status");
}

#[test]
fn the_policy_keeps_what_is_not_named() {
    let sandbox = Sandbox::new();
    let first = sandbox.result(&["config", "show"]);
    assert_eq!((&first["execution_policy"], &first["versions"]), (&json!("never_auto_execute"), &json!(1)));
    let set = sandbox.result(&[
        "config",
        "set",
        "--execution-policy",
        "allowlist",
        "--require",
        "correctness=linux/x86_64",
        "--require",
        "correctness=freebsd/x86_64",
        "--reason",
        "two platforms",
        "--producer",
        "P1",
    ]);
    assert_eq!(
        (&set["previous"], &set["reason"], &set["name"]),
        (&first["id"], &json!("two platforms"), &json!("refs/config"))
    );
    let envelope = sandbox.envelope(&["config", "set", "--disclosure-default", "REDACTED"]);
    let next = &envelope["result"];
    assert_eq!(
        (&next["execution_policy"], &next["required_verification"]),
        (&json!("allowlist"), &set["required_verification"])
    );
    assert!(next.get("reason").is_none() && envelope.get("notice").is_none(), "{envelope}");
    // Everything else is what init wrote.
    let (old, new) =
        (sandbox.result(&["show", text(&first["id"])]), sandbox.result(&["show", "refs/config"]));
    for tag in [2, 3, 6] {
        assert_eq!(field(&old, tag), field(&new, tag), "{tag}");
    }
    let dropped = sandbox.envelope(&["config", "set", "--require", "safety=linux/arm"]);
    assert!(text(&dropped["notice"]).contains("correctness=freebsd/x86_64"), "{dropped}");
    let nothing = sandbox.result(&["config", "set", "--require-nothing"]);
    assert_eq!((&nothing["required_verification"], &nothing["versions"]), (&json!([]), &json!(5)));
    assert_eq!(sandbox.result(&["agent-run", "create"])["name"], "A1");
    assert_eq!(field(&sandbox.result(&["show", "A1"]), 0x0E), "REDACTED");
    refused(&sandbox, &["config", "set"], "INVALID_ARGUMENT", "nothing to set");
    refused(&sandbox, &["config", "set", "--reason", "x"], "INVALID_ARGUMENT", "nothing to set");
    refused(
        &sandbox,
        &["config", "set", "--execution-policy", "always"],
        "INVALID_ARGUMENT",
        "execution policy",
    );
    refused(&sandbox, &["config", "set", "--disclosure-default", "x"], "INVALID_ARGUMENT", "disclosure");
    for bad in ["correctness", "correctness=linux", "correctness=/x", "correctness=linux/a/b"] {
        refused(&sandbox, &["config", "set", "--require", bad], "INVALID_ARGUMENT", "KIND=PLATFORM/ARCH");
    }
    refused(&sandbox, &["config", "set", "--require", "correct=linux/x"], "INVALID_ARGUMENT", "claim kind");
}

#[test]
fn a_residual_keeps_everything_through_its_dispositions() {
    let sandbox = Sandbox::with_changes();
    let first = sandbox.result(&["show", "R1"]);
    let id = text(&first["id"]).to_owned();
    let resolve =
        |to: &str| sandbox.result(&["residual", "resolve", &id, "--disposition", to, "--reason", "r"]);
    let known = resolve("acknowledged");
    assert_eq!(
        (&known["previous"], &known["name"], &known["disposition"]),
        (&first["id"], &json!("R1"), &json!("acknowledged"))
    );
    // The first identity leads to the newest version, and it may reopen.
    let done = resolve("resolved");
    assert_eq!(done["previous"], known["version"]);
    let reopened = resolve("open");
    assert_eq!(reopened["previous"], done["version"]);
    let now = sandbox.result(&["show", "R1"]);
    assert_eq!(now["id"], reopened["version"]);
    for tag in [2, 3, 4, 6, 9] {
        assert_eq!(field(&now, tag), field(&first, tag), "{tag}");
    }
    let links = [
        "residual", "link", &id, "--claim", "Cl1", "--path", "src", "--path", "a.txt", "--change", "C1",
        "--origin", "E1",
    ];
    let linked = sandbox.result(&links);
    assert_eq!((&linked["previous"], &linked["disposition"]), (&reopened["version"], &json!("open")));
    let shown = sandbox.result(&["show", "R1", "--compact"]);
    assert_eq!((&shown["scope"]["paths"], &shown["reason"]), (&json!(["a.txt", "src"]), &json!("r")));
    let again = sandbox.result(&links);
    assert_eq!((&again["previous"], &again["version"]), (&linked["version"], &linked["version"]));
    refused(
        &sandbox,
        &["residual", "resolve", "R1", "--disposition", "bogus"],
        "INVALID_ARGUMENT",
        "disposition",
    );
    refused(
        &sandbox,
        &["residual", "resolve", "C1", "--disposition", "open"],
        "INVALID_ARGUMENT",
        "is not a residual",
    );
    refused(
        &sandbox,
        &["residual", "resolve", "R1", "--disposition", "open", "--evidence", "C1"],
        "INVALID_ARGUMENT",
        "is not evidence",
    );
    refused(
        &sandbox,
        &["residual", "resolve", "R1", "--disposition", "open", "--reconciliation", "C1"],
        "INVALID_ARGUMENT",
        "is not a reconciliation",
    );
    refused(&sandbox, &["residual", "link", "R1"], "INVALID_ARGUMENT", "nothing to link");
    refused(&sandbox, &["residual", "resolve", "R9", "--disposition", "open"], "NOT_FOUND", "R9");
    sandbox.ok(&["fsck"]);
}

#[test]
fn a_residual_found_later_enters_the_current_trajectory() {
    let sandbox = Sandbox::with_changes();
    let before = sandbox.result(&["show", "T1"])["id"].clone();
    let added =
        sandbox.result(&["residual", "add", "--summary", "late", "--severity", "high", "--path", "a.txt"]);
    assert_eq!(
        (&added["name"], &added["trajectory_name"], &added["residual"]),
        (&json!("R2"), &json!("T1"), &added["id"])
    );
    let version = sandbox.result(&["show", "T1"]);
    assert_eq!(
        (&version["id"], &field(&version, 1), &field(&version, 9)),
        (&added["trajectory"], &before, &json!([added["id"]]))
    );
    assert_eq!(sandbox.result(&["show", "refs/trajectories/current"])["id"], version["id"]);
    assert_eq!(sandbox.result(&["status"])["residuals"][0]["id"], added["id"]);
    let empty = Sandbox::new();
    let alone = empty.envelope(&["residual", "add", "--summary", "early"]);
    assert_eq!(
        (&alone["result"]["name"], &alone["uncertainty"][0]["class"]),
        (&json!("R1"), &json!("declaring_change"))
    );
    refused(&sandbox, &["residual", "add", "--summary", ""], "INVALID_ARGUMENT", "--summary is empty");
    refused(
        &sandbox,
        &["residual", "add", "--summary", "x", "--severity", "mild"],
        "INVALID_ARGUMENT",
        "severity",
    );
    refused(
        &sandbox,
        &["residual", "add", "--summary", "x", "--classification", "y"],
        "INVALID_ARGUMENT",
        "classification",
    );
    refused(
        &sandbox,
        &["residual", "add", "--summary", "x", "--claim", "C1"],
        "INVALID_ARGUMENT",
        "is not a claim",
    );
    refused(
        &sandbox,
        &["residual", "add", "--summary", "x", "--producer", "C1"],
        "INVALID_ARGUMENT",
        "is not a producer",
    );
}

#[test]
fn linking_a_claim_refines_its_newest_version() {
    let sandbox = Sandbox::with_changes();
    let first = sandbox.result(&["show", "Cl1"]);
    let id = text(&first["id"]).to_owned();
    sandbox.ok(&["change", "begin", "--intent", "I1"]);
    sandbox.ok(&["change", "finish", "--evidence", "a.txt|pass", "--evidence", "a.txt|fail"]);
    let one = sandbox.result(&["claim", "link", &id, "--evidence", "E2"]);
    assert_eq!(
        (&one["refined_from"], &one["name"], &one["trajectory_name"]),
        (&first["id"], &json!("Cl1"), &json!("T1"))
    );
    // Linked to the original again: the newest version is refined.
    let two = sandbox.result(&["claim", "link", &id, "--evidence", "E3"]);
    assert_eq!(two["refined_from"], one["claim"]);
    let shown = sandbox.result(&["show", "Cl1"]);
    assert_eq!((&shown["id"], field(&shown, 8).as_array().map(Vec::len)), (&two["claim"], Some(3)));
    for tag in [1, 3, 4, 7] {
        assert_eq!(field(&shown, tag), field(&first, tag), "{tag}");
    }
    let refs = sandbox.ok(&["refs"]).out;
    let again = sandbox.result(&["claim", "link", &id, "--evidence", "E2"]);
    assert_eq!((&again["claim"], again.get("refined_from")), (&two["claim"], None));
    assert_eq!(sandbox.ok(&["refs"]).out, refs);
    refused(&sandbox, &["claim", "link", "C1", "--evidence", "E1"], "INVALID_ARGUMENT", "is not a claim");
    refused(&sandbox, &["claim", "link", "Cl1", "--evidence", "Cl1"], "INVALID_ARGUMENT", "is not evidence");
    let added = sandbox.result(&[
        "claim",
        "add",
        "--subject",
        "a.txt",
        "--predicate",
        "short",
        "--kind",
        "performance",
        "--evidence",
        "E2",
        "--supersedes",
        &id,
        "--scope",
        "x",
    ]);
    // What takes the place of a claim takes that of its newest version.
    assert_eq!((&added["name"], &added["supersedes"]), (&json!("Cl2"), &two["claim"]));
    assert_eq!(field(&sandbox.result(&["show", "Cl2"]), 0x0C), sandbox.result(&["show", "@"])["id"]);
    refused(
        &sandbox,
        &["claim", "add", "--subject", "a", "--predicate", ""],
        "INVALID_ARGUMENT",
        "--predicate is empty",
    );
    refused(
        &sandbox,
        &["claim", "add", "--subject", "", "--predicate", "a"],
        "INVALID_ARGUMENT",
        "--subject is empty",
    );
    refused(
        &sandbox,
        &["claim", "add", "--subject", "a", "--predicate", "b", "--kind", "x"],
        "INVALID_ARGUMENT",
        "claim kind",
    );
    sandbox.ok(&["fsck"]);
}

#[test]
fn runs_and_manifests_have_names() {
    let sandbox = Sandbox::with_changes();
    let digest = "0f".repeat(32);
    let run = sandbox.result(&[
        "agent-run",
        "create",
        "--model-family",
        "f",
        "--model-id",
        "m",
        "--harness",
        "h",
        "--permission",
        "read",
        "--input-state",
        "S1",
        "--intent",
        "I1",
        "--instruction-digest",
        &digest,
        "--tool",
        "rg=14",
        "--output-trajectory",
        "T1",
        "--disclosure",
        "FULL",
        "--conversation-ref",
        "S1",
        "--started-at",
        "5",
        "--ended-at",
        "9",
    ]);
    assert_eq!((&run["name"], &run["agent_run"]), (&json!("A1"), &run["id"]));
    let shown = sandbox.result(&["show", "A1"]);
    assert_eq!((&field(&shown, 9), &field(&shown, 0x10)), (&json!(digest), &json!("5")));
    let manifest = sandbox.result(&[
        "context-manifest",
        "create",
        "--source",
        "S2",
        "--source",
        "S1",
        "--source",
        "S2",
        "--claim",
        "Cl1",
        "--residual",
        "R1",
        "--previous-trajectory",
        "T1",
        "--policy",
        "refs/config",
        "--doc",
        "S1",
        "--external",
        "S1",
        "--tool-output",
        "E1",
        "--instruction",
        "do it",
    ]);
    assert_eq!(manifest["name"], "M1");
    assert_eq!(manifest["instruction_digest"], DO_IT);
    let sources = field(&sandbox.result(&["show", "M1"]), 1);
    let sources: Vec<&str> = sources.as_array().expect("a list").iter().map(text).collect();
    assert!(sources.len() == 2 && sources.is_sorted(), "{sources:?}");
    sandbox.write("../brief.txt", "do it");
    let from_file = sandbox.result(&[
        "context-manifest",
        "create",
        "--instruction",
        "x",
        "--instruction-file",
        "../brief.txt",
    ]);
    assert_eq!(from_file["instruction_digest"], DO_IT);
    let withheld = sandbox.result(&["context-manifest", "create", "--instruction-digest", &digest]);
    assert_eq!(withheld["instruction_digest"], digest);
    assert!(sandbox.result(&["context-manifest", "create"]).get("instruction_digest").is_none());
    let create = |more: &[&'static str]| [&["agent-run", "create"], more].concat();
    for (more, sentence) in [
        (&["--instruction-digest", "abcd"][..], "64 hex digits"),
        (&["--disclosure", "bogus"], "disclosure"),
        (&["--tool", "rg"], "NAME=VERSION"),
        (&["--intent", "S1"], "is not an intent"),
        (&["--parent", "S1"], "is not an agent run"),
        (&["--output-trajectory", "S1"], "is not a trajectory"),
        (&["--started-at", "soon"], "soon"),
    ] {
        refused(&sandbox, &create(more), "INVALID_ARGUMENT", sentence);
    }
    refused(&sandbox, &create(&["--conversation-ref", "nosuch"]), "NOT_FOUND", "nosuch");
    let create = |more: &[&'static str]| [&["context-manifest", "create"], more].concat();
    refused(&sandbox, &create(&["--claim", "S1"]), "INVALID_ARGUMENT", "is not a claim");
    refused(&sandbox, &create(&["--policy", "S1"]), "INVALID_ARGUMENT", "is not a config");
    refused(&sandbox, &create(&["--instruction", ""]), "INVALID_ARGUMENT", "instruction is empty");
    refused(&sandbox, &create(&["--instruction-file", "nosuch"]), "NOT_FOUND", "nosuch");
    let zero = "00".repeat(32);
    refused(
        &sandbox,
        &["context-manifest", "create", "--instruction", "x", "--instruction-digest", &zero],
        "INVALID_ARGUMENT",
        "is not the digest",
    );
    std::fs::write(sandbox.scratch().join("bytes"), [0xff, 0xfe]).expect("a file");
    refused(&sandbox, &create(&["--instruction-file", "../bytes"]), "INVALID_ARGUMENT", "not UTF-8");
    sandbox.ok(&["fsck"]);
}

/// What was recorded outside a change counts in the scope of the change that it names.
#[test]
fn what_no_change_lists_is_in_scope() {
    let sandbox = Sandbox::with_changes();
    let counts = |kind: &str| sandbox.result(&["status"])["claims"][kind].clone();
    assert_eq!((counts("proposed"), counts("unverified")), (json!(1), json!(0)));
    sandbox.ok(&["claim", "add", "--subject", "src/main.rs", "--predicate", "is short"]);
    assert_eq!((counts("proposed"), counts("unverified")), (json!(2), json!(1)));
    sandbox.ok(&["claim", "link", "Cl2", "--evidence", "E1"]);
    assert_eq!(
        (counts("proposed"), counts("supported"), counts("unverified")),
        (json!(2), json!(1), json!(0))
    );
    // Another claim takes its place: one is superseded, one is proposed.
    sandbox.ok(&[
        "claim",
        "add",
        "--subject",
        "src/main.rs",
        "--predicate",
        "is four",
        "--supersedes",
        "Cl2",
    ]);
    assert_eq!((counts("superseded"), counts("unverified")), (json!(1), json!(1)));
}

/// Every verb that writes takes `--producer`, and none takes one that is none.
#[test]
fn every_writing_verb_asks_who_acts() {
    let sandbox = Sandbox::with_changes();
    let verbs: &[&[&str]] = &[
        &["intent", "create", "--summary", "x"],
        &["environment", "create", "--arch", "x"],
        &["case", "create", "--summary", "x"],
        &["case", "close", "Case1"],
        &["config", "set", "--execution-policy", "allowlist"],
        &["residual", "add", "--summary", "x"],
        &["residual", "resolve", "R1", "--disposition", "open"],
        &["residual", "link", "R1", "--path", "x"],
        &["claim", "add", "--subject", "x", "--predicate", "y"],
        &["claim", "link", "Cl1", "--evidence", "E1"],
        &["agent-run", "create"],
        &["context-manifest", "create"],
        &["snapshot"],
        &["name", "S1", "label"],
        &["checkout", "S3"],
        &["change", "begin"],
        &["change", "finish"],
        &["change", "begin", "--workspace", "w"],
        &["change", "abort", "--workspace", "w"],
        &["change", "begin", "--workspace", "v"],
        &["workspace", "remove", "v", "--force"],
    ];
    for verb in verbs {
        refused(&sandbox, &[*verb, &["--producer", "C1"]].concat(), "INVALID_ARGUMENT", "is not a producer");
        sandbox.ok(&[*verb, &["--producer", "P1"]].concat());
    }
}

#[test]
fn claims_and_residuals_are_shown_as_their_lists_do() {
    let sandbox = Sandbox::with_changes();
    let old = sandbox.result(&["show", "R1"])["id"].clone();
    sandbox.ok(&["residual", "resolve", "R1", "--disposition", "acknowledged", "--reason", "known"]);
    for (verb, list, name) in [("claim", "claims", "Cl1"), ("residual", "residuals", "R1")] {
        let listed = sandbox.result(&[list])[list][0].clone();
        assert_eq!(sandbox.result(&[verb, "show", name]), listed);
        let mut compact = sandbox.result(&["show", name, "--compact"]);
        assert_eq!(compact.as_object_mut().and_then(|row| row.remove("family")), Some(json!(verb)));
        assert_eq!(compact, listed);
        assert!(sandbox.ok(&[verb, "show", name]).out.starts_with(&format!("{verb} {name} ")));
        refused(&sandbox, &[verb, "show", "C1"], "INVALID_ARGUMENT", &format!("is not a {verb}"));
    }
    // By an older identity: the newest version, where what is shown by `show` is that object itself.
    let shown = sandbox.result(&["residual", "show", text(&old)]);
    assert_eq!(
        (&shown["disposition"], &shown["first_id"], &shown["reason"]),
        (&json!("acknowledged"), &old, &json!("known"))
    );
    assert_eq!(sandbox.result(&["show", text(&old), "--compact"])["id"], old);
    let evidence = sandbox.result(&["show", "E1", "--compact"]);
    assert_eq!((&evidence["outcome"], &evidence["freshness"]["status"]), (&json!("pass"), &json!("FRESH")));
    assert_eq!(sandbox.result(&["show", "T1", "--compact"])["sequence"].as_array().map(Vec::len), Some(2));
}
