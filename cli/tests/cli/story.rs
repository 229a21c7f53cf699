//! The story the specification tells (section 12), through the Model Context Protocol: agents that share nothing but the
//! repository, each with a server of its own.

use crate::harness::Sandbox;
use crate::mcp::Client;
use serde_json::{Value, json};

const SUBJECT: &str = "src/parser.rs";

fn decode(body: &str) -> String {
    format!("pub fn decode(name: &[u8]) -> String {{\n    {body}\n}}\n")
}

fn environment(sandbox: &Sandbox, os: &str) -> String {
    let made = sandbox.result(&["environment", "create", "--os-family", os, "--arch", "x86_64"]);
    made["id"].as_str().expect("an identity").to_owned()
}

fn agent(sandbox: &Sandbox) -> Client {
    Client::begin(sandbox, &["--allow-write"])
}

fn texts<'v>(rows: &'v Value, key: &str) -> Vec<&'v str> {
    rows.as_array().expect("rows").iter().filter_map(|row| row[key].as_str()).collect()
}

#[test]
fn agents_that_share_only_the_repository_go_on_where_others_stopped() {
    let sandbox = Sandbox::new();
    sandbox.write(SUBJECT, &decode("String::from_utf8_lossy(name).into_owned()"));
    sandbox.ok(&["snapshot"]);
    let (linux, bsd) = (environment(&sandbox, "linux"), environment(&sandbox, "freebsd"));

    // An earlier agent: strict decoding, rejected.
    let mut earlier = agent(&sandbox);
    earlier.result("change_begin", &json!({"intent_summary": "Fix parser compatibility problem"}));
    sandbox.write(SUBJECT, &decode("strict(name)"));
    earlier.result(
        "change_finish",
        &json!({
            "summary": "strict RFC decoding",
            "evidence": [format!("{SUBJECT}|mismatch|oracle_comparison|env={bsd};state=result")],
        }),
    );
    let why_not = "FreeBSD diverged in 17 oracle cases";
    earlier.result("trajectory_close", &json!({"id": "T1", "outcome": "rejected", "reason": why_not}));
    assert!(earlier.end().is_empty());

    // The next one looks first, makes a claim that evidence contradicts in part, and is interrupted.
    let mut first = agent(&sandbox);
    let attempt = first.result("attempts", &json!({"subject": SUBJECT}))["attempts"][0].clone();
    assert_eq!((&attempt["outcome"], &attempt["termination_reason"]), (&json!("rejected"), &json!(why_not)));
    first.result("change_begin", &json!({"intent": "I1"}));
    sandbox.write(SUBJECT, &decode("reject_loops(name)"));
    let finished = first.result(
        "change_finish",
        &json!({
            "summary": "reject pointer loops",
            "claim": [format!("{SUBJECT}|parser now matches upstream|compatibility|evidence=0,1")],
            "evidence": [
                format!("{SUBJECT}|pass|oracle_comparison|env={linux};state=result"),
                format!("{SUBJECT}|mismatch|oracle_comparison|env={bsd};state=result"),
            ],
            "residual": [format!(
                "FreeBSD still differs from upstream|high|platform_divergence|claims=0;origin=1;paths={SUBJECT}"
            )],
        }),
    );
    assert_eq!(finished["trajectory_name"], "T2");
    let claims = first.result("claims", &json!({"subject": SUBJECT}));
    assert_eq!(texts(&claims["claims"], "status"), ["PARTIALLY_SUPPORTED"]);
    assert_eq!(first.result("status", &json!({}))["readiness"]["verdict"], "NOT_READY");
    let checkpoint = first.result("checkpoint_create", &json!({}));
    assert_eq!(checkpoint["unresolved_residuals"].as_array().map(Vec::len), Some(1));
    first.result(
        "trajectory_close",
        &json!({"id": "T2", "outcome": "interrupted", "reason": "context limit"}),
    );
    assert!(first.end().is_empty());

    // Another agent: only the repository and the intent.
    let mut second = agent(&sandbox);
    let handoff = second.result("trajectory", &json!({"id": "T2"}))["handoff"].clone();
    assert_eq!(handoff["open_residuals"], finished["residuals"]);
    assert_eq!(second.result("checkpoint", &json!({}))["id"], checkpoint["id"]);
    assert!(!second.result("next", &json!({}))["recommendations"].as_array().expect("rows").is_empty());
    let context = second.result("context", &json!({"subject": SUBJECT, "for_intent": "I1", "budget": 4096}));
    let families = texts(&context["bundle"]["objects"], "family");
    for (family, least) in [("trajectory", 2), ("residual", 1), ("evidence", 2)] {
        let found = families.iter().filter(|found| **found == family).count();
        assert!(found >= least, "{family}: {context}");
    }
    second.result(
        "residual_resolve",
        &json!({"id": finished["residuals"][0], "disposition": "resolved", "reason": "FreeBSD handled explicitly"}),
    );
    second.result("change_begin", &json!({"intent": "I1"}));
    sandbox.write(SUBJECT, &decode("reject_loops(name); freebsd(name)"));
    let third = second.result(
        "change_finish",
        &json!({
            "summary": "FreeBSD branch",
            "claim": [format!("{SUBJECT}|parser matches upstream on FreeBSD too|compatibility|evidence=0")],
            "evidence": [format!("{SUBJECT}|pass|oracle_comparison|env={bsd};state=result")],
        }),
    );
    assert_eq!(third["trajectory_name"], "T3");
    let plan = second.result("reconcile", &json!({"trajectories": ["T3", "T2", "T1"]}))["plan"].clone();
    let count = |key: &str| plan[key].as_array().map(Vec::len);
    assert_eq!((count("adopted"), count("rejected")), (Some(1), Some(2)));
    // A person decides.
    sandbox.ok(&["reconcile", "T3", "T2", "T1", "--apply"]);
    assert!(second.end().is_empty());

    // A third agent asks why the code is there.
    let mut third = Client::begin(&sandbox, &[]);
    let why = third.result("why", &json!({"subject": SUBJECT}));
    let decision = why["introduced_by"]["decision"]["id"].as_str().expect("a decision");
    assert!(decision.starts_with("reconciliation."), "{why}");
    assert!(texts(&why["previous_approaches"], "outcome").contains(&"rejected"), "{why}");
    assert!(why["introduced_by"]["evidence"].as_array().is_some_and(|rows| !rows.is_empty()), "{why}");
    assert!(third.end().is_empty());
    sandbox.ok(&["fsck"]);
}
