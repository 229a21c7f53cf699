//! What is withheld of runs, manifests, changes and producers (FAM-10, SEC-08).

use crate::harness::Sandbox;
use serde_json::{Value, json};

const SECRET: &str = "spill the beans";

fn with_manifest(runs: &[&str]) -> Sandbox {
    let sandbox = Sandbox::with_changes();
    sandbox.ok(&["context-manifest", "create", "--claim", "Cl1", "--instruction", SECRET]);
    for disclosure in runs {
        sandbox.ok(&["agent-run", "create", "--context-manifest", "M1", "--disclosure", disclosure]);
    }
    sandbox
}

/// Classes of the entries that disclosure left out.
fn withheld(envelope: &Value) -> Vec<&str> {
    let entries = envelope["omitted"].as_array().expect("entries").iter();
    entries.filter(|row| row["reason"] == "disclosure").filter_map(|row| row["class"].as_str()).collect()
}

/// Every look of an object, one after another.
fn looks(sandbox: &Sandbox, id: &str) -> String {
    let looks: [&[&str]; 6] = [
        &[],
        &["--compact"],
        &["--json"],
        &["--compact", "--json"],
        &["--timestamps"],
        &["--compact", "--timestamps"],
    ];
    looks.iter().map(|look| sandbox.ok(&[&["show", id], *look].concat()).out).collect()
}

/// Shows FAM-10, SEC-08, T-18.
#[test]
fn instructions_are_told_by_those_who_disclose_them() {
    // Runs that name the manifest, and whether its instructions are shown: the most reserved one decides, and without
    // any the repository's default does.
    for (runs, shown) in [
        (&["FULL"][..], true),
        (&["FULL", "FULL"], true),
        (&["DIGEST_ONLY"], false),
        (&["EXTERNAL_ATTESTATION"], false),
        (&["FULL", "DIGEST_ONLY"], false),
        (&["FULL", "EPHEMERAL"], false),
        (&["REDACTED"], false),
        (&[], false),
    ] {
        let sandbox = with_manifest(runs);
        let envelope = sandbox.envelope(&["show", "M1"]);
        assert_eq!(envelope.to_string().contains(SECRET), shown, "{runs:?}");
        assert_eq!(looks(&sandbox, "M1").contains(SECRET), shown, "{runs:?}");
        assert_eq!(withheld(&envelope).contains(&"instruction"), !shown, "{runs:?}");
        // Claims and digest are told unless only identities are.
        assert!(envelope.to_string().contains("claim."), "{envelope}");
        let digest = !runs.iter().any(|run| matches!(*run, "REDACTED" | "EPHEMERAL"));
        assert_eq!(envelope["result"].to_string().contains("instruction_digest"), digest, "{runs:?}");
        if shown {
            assert!(!sandbox.ok(&["show", "M1", "--raw"]).bytes.is_empty());
        } else {
            let said = sandbox.run(&["show", "M1", "--raw"]);
            assert_eq!((said.status, said.out.as_str()), (2, ""), "{runs:?}");
            assert!(said.err.contains("its disclosure withholds"), "{}", said.err);
        }
    }
}

#[test]
fn the_default_of_the_repository_decides_where_nobody_does() {
    let sandbox = with_manifest(&[]);
    sandbox.ok(&["config", "set", "--disclosure-default", "FULL"]);
    assert!(looks(&sandbox, "M1").contains(SECRET));
    // What is named explicitly stands above the default.
    sandbox.ok(&["agent-run", "create", "--context-manifest", "M1", "--disclosure", "DIGEST_ONLY"]);
    assert!(!looks(&sandbox, "M1").contains(SECRET));
}

#[test]
fn a_change_that_uses_a_manifest_speaks_for_it() {
    let sandbox = with_manifest(&["FULL"]);
    sandbox.ok(&["change", "begin"]);
    sandbox.ok(&["change", "finish", "--context-manifest", "M1", "--agent-run", "A1"]);
    // The change says nothing of its own.
    assert!(looks(&sandbox, "M1").contains(SECRET));
    sandbox.ok(&["change", "begin"]);
    sandbox.ok(&["change", "finish", "--context-manifest", "M1", "--disclosure", "DIGEST_ONLY"]);
    assert!(!looks(&sandbox, "M1").contains(SECRET));
}

#[test]
fn of_what_is_redacted_identities_and_summaries_are_told() {
    for disclosure in ["REDACTED", "EPHEMERAL"] {
        let sandbox = Sandbox::with_changes();
        sandbox.ok(&[
            "agent-run",
            "create",
            "--model-family",
            "the-family",
            "--model-id",
            "the-model",
            "--harness",
            "the-harness",
            "--permission",
            "the-permission",
            "--tool",
            "the-tool=1",
            "--intent",
            "I1",
            "--started-at",
            "7777777",
            "--instruction-digest",
            &"0f".repeat(32),
            "--disclosure",
            disclosure,
        ]);
        let seen = looks(&sandbox, "A1");
        for hidden in
            ["the-family", "the-model", "the-harness", "the-permission", "the-tool", "7777777", "0f0f"]
        {
            assert!(!seen.contains(hidden), "{disclosure} {hidden}");
        }
        let envelope = sandbox.envelope(&["show", "A1"]);
        let tags: Vec<u64> = envelope["result"]["body"]
            .as_array()
            .expect("fields")
            .iter()
            .filter_map(|f| f["tag"].as_u64())
            .collect();
        assert_eq!(tags, [0x01, 0x07, 0x0E], "{envelope}");
        assert_eq!(
            withheld(&envelope),
            [
                "model_family",
                "model_id",
                "harness",
                "permissions",
                "instruction_digest",
                "tool_identities",
                "started_at"
            ]
        );
        let error = sandbox.run(&["show", "A1", "--raw"]);
        assert_eq!(error.status, 2);
        sandbox.ok(&["change", "begin"]);
        sandbox.write("secret-name.txt", "x");
        sandbox.ok(&[
            "change",
            "finish",
            "--summary",
            "told",
            "--disclosure",
            disclosure,
            "--instruction-digest",
            &"0f".repeat(32),
        ]);
        let compact = sandbox.envelope(&["show", "@", "--compact", "--timestamps"]);
        assert_eq!(compact["result"]["summary"], "told");
        assert!(
            compact["result"].get("created_at").is_none() && compact["result"]["operations"].is_array(),
            "{compact}"
        );
        assert_eq!(withheld(&compact), ["instruction_digest", "created_at"]);
        let log = sandbox.envelope(&["log", "--operations", "--limit", "1"]);
        assert!(!log.to_string().contains("secret-name.txt"), "{log}");
        assert_eq!(withheld(&log), ["operations"]);
        assert!(log["result"]["changes"][0]["operations"][0]["id"].is_string());
        assert!(!sandbox.ok(&["log", "--operations"]).out.contains("secret-name.txt"));
        sandbox.ok(&["fsck"]);
    }
}

#[test]
fn a_redacted_producer_keeps_its_address() {
    let sandbox = Sandbox::new();
    sandbox.ok(&[
        "producer",
        "create",
        "--name",
        "Ada",
        "--email",
        "ada@example.org",
        "--disclosure",
        "REDACTED",
        "--default",
    ]);
    let seen = looks(&sandbox, "P2")
        + &sandbox.ok(&["producer", "list", "--json"]).out
        + &sandbox.ok(&["producer", "list"]).out;
    assert!(seen.contains("Ada") && !seen.contains("ada@example.org"), "{seen}");
    sandbox.write("a.txt", "1");
    sandbox.ok(&["change", "begin"]);
    sandbox.ok(&["change", "finish"]);
    assert!(!sandbox.ok(&["show", "C1"]).out.contains("ada@example.org"));
}

#[test]
fn what_is_ephemeral_is_not_offered_to_others() {
    let sandbox = with_manifest(&["EPHEMERAL"]);
    sandbox.ok(&["agent-run", "create", "--model-id", "public"]);
    sandbox.ok(&["change", "begin"]);
    sandbox.ok(&["change", "finish", "--agent-run", "A1"]);
    let ask = |request: Value| {
        use std::io::Write;
        use std::process::Stdio;
        let mut child = sandbox.command(&["serve"]);
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        writeln!(child.stdin.take().expect("a pipe"), "{request}").expect("it listens");
        String::from_utf8(child.wait_with_output().expect("it ends").stdout).expect("text")
    };
    let refs = ask(json!({"id": 1, "op": "list_refs"}));
    assert!(refs.contains("refs/names/A2") && refs.contains("refs/names/C3"), "{refs}");
    assert!(!refs.contains("refs/names/A1\"") && !refs.contains("refs/names/M1"), "{refs}");
    let head = sandbox.result(&["show", "@"])["id"].clone();
    let reachable = ask(json!({"id": 2, "op": "reachable", "params": {"seeds": [head]}}));
    assert!(
        reachable.contains("change.")
            && !reachable.contains("agentrun.")
            && !reachable.contains("context-manifest."),
        "{reachable}"
    );
}
