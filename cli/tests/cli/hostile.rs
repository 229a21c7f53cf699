//! Garbage in every parameter of every query, through both kinds of session: answers stay valid JSON of the documented
//! shape with a documented code, fit their size, and nothing ends the session.

use crate::harness::Sandbox;
use crate::mcp::Client;
use crate::protocol;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Codes a query may fail with here; the others would be a defect of the program or of the repository.
const CODES: &[&str] = &[
    "NOT_FOUND",
    "INVALID_ARGUMENT",
    "BUDGET_EXCEEDED",
    "PAGINATION_INVALID",
    "POLICY_DENIED",
    "LIMIT_EXCEEDED",
];

fn word() -> impl Strategy<Value = String> {
    let plausible = [
        "C1",
        "T1",
        "I1",
        "S1",
        "Cl1",
        "E1",
        "R1",
        "P1",
        "@",
        "@state",
        "@trajectory",
        "a.txt",
        "src/main.rs",
        "src",
        "src/main.rs:1",
        "a.txt:0",
        "a.txt:99999999999999999999",
        "main",
        "main::main",
        "::",
        "head",
        "refs/head",
        "refs/names/C1",
        "change.",
        "change.00",
        "0000",
        "ffffffff",
        "git:main",
        "",
        "-",
        "--",
        "--help",
        "-x",
        "=",
        "--json=1",
        "../..",
        "/etc/passwd",
        "a\0b",
        "\n",
        "open",
        "blocking",
        "SUPPORTED",
        "partial",
        "claims,residuals",
        "all",
        "list",
        "close",
        "repository",
        "trajectory",
        "x|y|z|w",
        "a.txt|holds|correctness|evidence=0",
        "|||",
        "pass",
    ];
    let plausible: Vec<String> = plausible.iter().map(|word| (*word).to_owned()).collect();
    prop_oneof![
        6 => proptest::sample::select(plausible),
        2 => any::<String>(),
        1 => "[ -~]{0,40}",
        1 => Just("long/".repeat(2000)),
        1 => Just(format!("change.{}", "a".repeat(64))),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        Just(json!(0)),
        Just(json!(1)),
        Just(json!(2)),
        Just(json!(64)),
        Just(json!(1001)),
        Just(json!(u64::MAX)),
        any::<u64>().prop_map(|n| json!(n)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|n| json!(n)),
    ];
    prop_oneof![
        6 => word().prop_map(Value::from),
        2 => number,
        2 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
        2 => vec(word(), 0..4).prop_map(|words| json!(words)),
        1 => vec(any::<u8>(), 0..3).prop_map(|numbers| json!({"a": numbers, "b": [[]]})),
    ]
}

/// Parameters for one of `tools`: any of its own, rarely one it does not have.
fn call(tools: &BTreeMap<String, Value>) -> impl Strategy<Value = (String, Map<String, Value>)> + use<> {
    let choices: Vec<(String, Vec<String>)> = tools
        .iter()
        .map(|(name, tool)| {
            let properties = tool["inputSchema"]["properties"].as_object().expect("properties");
            (name.clone(), properties.keys().filter(|key| *key != "max_bytes").cloned().collect())
        })
        .collect();
    let tool = proptest::sample::select(choices);
    (tool, vec((any::<proptest::sample::Index>(), value()), 0..6), prop::option::weighted(0.05, value()))
        .prop_map(|((name, keys), values, odd)| {
            let mut params = Map::new();
            for (index, value) in values {
                if !keys.is_empty() {
                    params.insert(index.get(&keys).clone(), value);
                }
            }
            if let Some(odd) = odd {
                params.insert("no_such_parameter".to_owned(), odd);
            }
            (name, params)
        })
}

fn check(
    runner_cases: u32,
    strategy: impl Strategy<Value = Vec<(String, Map<String, Value>)>>,
    act: impl Fn(Vec<(String, Map<String, Value>)>),
) {
    let config =
        Config { cases: runner_cases, failure_persistence: None, max_shrink_iters: 64, ..Config::default() };
    let outcome = TestRunner::new(config).run(&strategy, |calls| {
        act(calls);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Shows T-54.
#[test]
fn garbage_parameters_are_answered_by_the_session() {
    let sandbox = Sandbox::with_changes();
    let tools = Client::begin(&sandbox, &[]).tools();
    let refs = sandbox.ok(&["refs", "--limit", "1000"]).out;
    check(12, vec(call(&tools), 150), |calls| {
        let mut input = String::new();
        for (id, (query, params)) in calls.iter().enumerate() {
            let query = if query == "context_diff" { "context-diff" } else { query };
            input.push_str(&format!("{}\n", json!({"id": id, "query": query, "params": params})));
        }
        let answers = protocol::answers(&sandbox, &["protocol", "--read-only"], input.as_bytes());
        assert_eq!(answers.len(), calls.len());
        for (id, (answer, call)) in answers.iter().zip(&calls).enumerate() {
            assert_eq!(answer["id"], id, "{call:?}");
            if let Some(error) = answer.get("error") {
                let code = error["query_code"].as_str().expect("a code");
                assert!(CODES.contains(&code), "{call:?}: {answer}");
                assert_eq!(error["code"], "query_failed", "{call:?}: {answer}");
            }
        }
    });
    // Questions record nothing, whatever they are asked with.
    assert_eq!(sandbox.ok(&["refs", "--limit", "1000"]).out, refs);
    sandbox.ok(&["fsck"]);
}

/// Shows T-54.
#[test]
fn garbage_arguments_are_answered_by_tools() {
    let sandbox = Sandbox::with_changes();
    let tools = Client::begin(&sandbox, &["--allow-write"]).tools();
    check(8, vec(call(&tools), 100), |calls| {
        let mut client = Client::begin(&sandbox, &["--allow-write", "--max-answer-bytes", "5000"]);
        for (tool, arguments) in calls {
            let result = client.call(&tool, &Value::Object(arguments.clone()));
            assert!(result.to_string().len() <= 5000, "{tool} {arguments:?}");
            if let Some(error) = result["structuredContent"].get("error") {
                let code = error["query_code"].as_str().expect("a code");
                assert!(CODES.contains(&code), "{tool} {arguments:?}: {result}");
            }
        }
        assert!(client.end().is_empty());
    });
    sandbox.ok(&["fsck"]);
}
