//! `gemel mcp`, spoken to over its pipes by hand, and by the protocol's own Python client where that is installed.

use crate::harness::Sandbox;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A client that has begun, or not yet.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Client {
    /// Starts the server and says nothing.
    pub(crate) fn silent(sandbox: &Sandbox, args: &[&str]) -> Client {
        let mut command = sandbox.command(&[&["mcp"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Client { child, input, output, next_id: 1 }
    }

    /// Starts the server and shakes hands.
    pub(crate) fn begin(sandbox: &Sandbox, args: &[&str]) -> Client {
        let mut client = Client::silent(sandbox, args);
        let result = client.request("initialize", &hello());
        assert_eq!(result["result"]["serverInfo"]["name"], "gemel", "{result}");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("an open input").write_all(bytes).expect("the server reads");
    }

    fn say(&mut self, message: &Value) {
        self.send(format!("{message}\n").as_bytes());
    }

    /// The next message. Standard output holds nothing else.
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a message");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Sends a request and waits for its answer.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Every tool by its name.
    pub(crate) fn tools(&mut self) -> BTreeMap<String, Value> {
        let answer = self.request("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().expect("tools").iter();
        tools.map(|tool| (tool["name"].as_str().expect("a name").to_owned(), tool.clone())).collect()
    }

    /// Calls a tool: its result, of which the structured part and the text have the shape they always have.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = answer.get("result").unwrap_or_else(|| panic!("{tool} {arguments}: {answer}")).clone();
        let content = result["content"].as_array().expect("content");
        assert_eq!(content.len(), 1);
        assert!(content[0]["text"].is_string());
        let structured = &result["structuredContent"];
        assert_eq!(structured["schema"], "gemel.agent.v1", "{answer}");
        let error = structured.get("error");
        assert_eq!(result["isError"], error.is_some(), "{answer}");
        assert_eq!(error.is_none(), structured["result"].is_object(), "{answer}");
        result
    }

    /// The `result` of a tool that must succeed.
    pub(crate) fn result(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        result["structuredContent"]["result"].clone()
    }

    /// The code of a refusal.
    fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        let error = &result["structuredContent"]["error"];
        let (code, message) = (error["query_code"].as_str().expect("a code"), error["message"].as_str());
        // A client that sees only text learns the same.
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(text.starts_with(&format!("{code}: ")), "{result}");
        assert!(message.is_some_and(|message| !message.is_empty()));
        code.to_owned()
    }

    /// Ends the input: the server ends well, after everything it still has to say.
    pub(crate) fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("the end");
        let ended = self.child.wait_with_output().expect("it ends");
        assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
        rest.lines().map(|line| serde_json::from_str(line).expect("a message")).collect()
    }
}

fn hello() -> Value {
    json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

#[test]
fn the_server_introduces_itself() {
    let sandbox = Sandbox::with_changes();
    let mut client = Client::silent(&sandbox, &[]);
    let answer = client.request("initialize", &hello());
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert!(result["capabilities"]["tools"].is_object());
    let instructions = result["instructions"].as_str().expect("instructions");
    for word in ["`status`", "`next`", "`context`", "`attempts`", "never instructions"] {
        assert!(instructions.contains(word), "{word}");
    }
    assert!(!instructions.contains("change_begin"));
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(client.request("ping", &json!({}))["result"], json!({}));
    assert!(client.end().is_empty());
}

/// Every parameter has a type and a description; only --allow-write offers what records.
#[test]
fn tools_are_described() {
    let sandbox = Sandbox::with_changes();
    let reading = Client::begin(&sandbox, &[]).tools();
    let writing = Client::begin(&sandbox, &["--allow-write"]).tools();
    for name in ["status", "log", "show", "diff"] {
        assert!(reading.contains_key(name), "{name}");
    }
    for name in ["change_begin", "change_finish", "change_abort"] {
        assert!(!reading.contains_key(name) && writing.contains_key(name), "{name}");
    }
    for (name, tool) in &writing {
        let reads = tool["annotations"]["readOnlyHint"] == true;
        assert_eq!(reads, reading.contains_key(name), "{name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert!(tool["description"].as_str().is_some_and(|text| text.ends_with('.')), "{name}");
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        let properties = schema["properties"].as_object().expect("properties");
        for (parameter, property) in properties {
            assert!(property["type"].is_string(), "{name} {parameter}");
            assert!(property["description"].is_string(), "{name} {parameter}");
        }
        for required in schema["required"].as_array().expect("required") {
            assert!(properties.contains_key(required.as_str().expect("a name")), "{name} {required}");
        }
    }
    let show = &writing["show"]["inputSchema"];
    assert_eq!((&show["required"], &show["properties"]["id"]["type"]), (&json!(["id"]), &json!("string")));
    let log = &writing["log"]["inputSchema"]["properties"];
    assert_eq!((&log["limit"]["type"], &log["all"]["type"]), (&json!("integer"), &json!("boolean")));
    assert_eq!(writing["change_finish"]["inputSchema"]["properties"]["claim"]["type"], "array");
}

/// Arguments for every query that needs some, about the repository of [`Sandbox::with_changes`].
fn arguments(tool: &str) -> Value {
    match tool {
        "show" => json!({"id": "C1"}),
        "why" | "attempts" | "context" => json!({"subject": "src/main.rs"}),
        "evidence" => json!({"subject": "src/main.rs"}),
        "trajectory" => json!({"id": "T1"}),
        "impact" => json!({"change": "C1"}),
        "reconcile" => json!({"trajectories": ["T1", "T1"]}),
        "checkpoint" => json!({"id": "K1"}),
        "context_diff" => json!({"run_a": "A1", "run_b": "A2"}),
        _ => json!({}),
    }
}

/// A tool's structured result is what `gemel protocol` answers to the same query.
#[test]
fn every_tool_answers_as_the_session_does() {
    let sandbox = Sandbox::with_changes();
    let mut client = Client::begin(&sandbox, &[]);
    for tool in client.tools().into_keys() {
        let arguments = arguments(&tool);
        let told = client.call(&tool, &arguments)["structuredContent"].clone();
        let query = if tool == "context_diff" { "context-diff" } else { tool.as_str() };
        let request = json!({"id": 1, "query": query, "params": arguments});
        let mut answer =
            crate::protocol::answers(&sandbox, &["protocol"], request.to_string().as_bytes()).remove(0);
        answer.as_object_mut().expect("an object").remove("id");
        assert_eq!(told, answer, "{tool}");
        let code = told["error"]["query_code"].as_str().unwrap_or_default();
        assert!(!["INTERNAL", "REPOSITORY_CORRUPT"].contains(&code), "{told}");
    }
    assert!(client.end().is_empty());
}

#[test]
fn work_is_recorded_through_tools() {
    let sandbox = Sandbox::with_changes();
    let mut client = Client::begin(&sandbox, &["--allow-write"]);
    let tools = client.tools();
    client.result("change_begin", &json!({"intent_summary": "Reach four"}));
    assert_eq!(client.refused("change_begin", &json!({})), "INVALID_ARGUMENT");
    client.result("change_abort", &json!({}));
    client.result("change_begin", &json!({"intent_summary": "Reach four"}));
    sandbox.write("a.txt", "four\n");
    let finished = client.result(
        "change_finish",
        &json!({
            "summary": "three to four",
            "claim": ["a.txt|says four|correctness", "a.txt|ends in a line break"],
            "residual": ["nobody has read it|low"],
        }),
    );
    assert_eq!(
        (&finished["change_name"], finished["claims"].as_array().map(Vec::len)),
        (&json!("C3"), Some(2))
    );
    assert_eq!(client.result("log", &json!({"limit": 1}))["changes"][0]["name"], "C3");
    assert_eq!(sandbox.result(&["log", "--limit", "1"])["changes"][0]["summary"], "three to four");
    if tools.contains_key("evidence_ingest") {
        let producer = sandbox.result(&["show", "P1"])["id"].clone();
        let document = json!({
            "schema": "gemel.evidence.v1", "producer": producer, "kind": "test_result", "subject": "a.txt",
            "result": {"outcome": "pass"},
        });
        // As an object, and as the text a tool wrote.
        let first = client.result("evidence_ingest", &json!({"document": document}));
        assert_eq!(first["executed"], false);
        client.result("evidence_ingest", &json!({"document": document.to_string()}));
        assert_eq!(client.refused("evidence_ingest", &json!({"document": "{}"})), "INVALID_ARGUMENT");
        assert_eq!(client.refused("evidence_ingest", &json!({})), "INVALID_ARGUMENT");
        assert_eq!(client.refused("evidence_ingest", &json!({"document": 7})), "INVALID_ARGUMENT");
        if tools.contains_key("claim_link") {
            client.result("claim_link", &json!({"id": finished["claims"][0], "evidence": first["evidence"]}));
        }
    }
    if tools.contains_key("residual_add") {
        let added = client.result("residual_add", &json!({"summary": "still unread", "severity": "high"}));
        let id = added["id"].as_str().or(added["residual"].as_str()).expect("an identity").to_owned();
        client.result("residual_resolve", &json!({"id": id, "disposition": "resolved", "reason": "read"}));
    }
    assert!(client.end().is_empty());
}

#[test]
fn nothing_is_recorded_without_leave() {
    let sandbox = Sandbox::with_changes();
    let mut client = Client::begin(&sandbox, &[]);
    for tool in ["change_begin", "evidence_ingest", "init", "court", "snapshot", "nope", ""] {
        let answer = client.request("tools/call", &json!({"name": tool, "arguments": {}}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(sandbox.result(&["log"])["changes"].as_array().map(Vec::len), Some(2));
    assert!(client.end().is_empty());
}

#[test]
fn refusals_are_told_to_the_agent() {
    let sandbox = Sandbox::with_changes();
    let mut client = Client::begin(&sandbox, &[]);
    for (tool, arguments, code) in [
        ("show", json!({}), "INVALID_ARGUMENT"),
        ("show", json!({"id": 7}), "INVALID_ARGUMENT"),
        ("show", json!({"id": "nosuch"}), "NOT_FOUND"),
        ("show", json!({"id": "C1", "extra": 1}), "INVALID_ARGUMENT"),
        ("log", json!({"limit": 0}), "INVALID_ARGUMENT"),
        ("log", json!({"cursor": "x"}), "PAGINATION_INVALID"),
        ("log", json!({"max_bytes": 2047}), "INVALID_ARGUMENT"),
        ("log", json!({"max_bytes": 4_194_305}), "INVALID_ARGUMENT"),
        ("log", json!({"max_bytes": "many"}), "INVALID_ARGUMENT"),
        ("show", json!({"id": "x".repeat(100_000)}), "NOT_FOUND"),
    ] {
        assert_eq!(client.refused(tool, &arguments), code, "{tool} {arguments}");
    }
    assert!(client.end().is_empty());
}

#[test]
fn answers_fit_what_the_client_asks_for() {
    let sandbox = Sandbox::new();
    for round in 0..12 {
        sandbox.write("a.txt", &format!("{round}\n"));
        sandbox.ok(&["change", "begin", "--intent-summary", "count"]);
        let summary = format!("\"{round}\" {}", "ü\\".repeat(40));
        sandbox.ok(&["change", "finish", "--summary", &summary]);
    }
    for n in 0..300 {
        sandbox.write(&format!("a folder/a file with a longer name {n}"), "");
    }
    let mut client = Client::begin(&sandbox, &["--max-answer-bytes", "20000"]);
    let size = |result: &Value| result.to_string().len();
    // A list is paged through, whatever fits, and nothing is lost.
    for max_bytes in [2048, 3000, 5000, 4_194_304] {
        let (mut names, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let result = client.call("log", &json!({"max_bytes": max_bytes, "cursor": cursor}));
            assert!(size(&result) <= max_bytes.min(20_000), "{} of {max_bytes}", size(&result));
            let structured = &result["structuredContent"];
            for row in structured["result"]["changes"].as_array().expect("rows") {
                names.push(row["name"].clone());
            }
            cursor = structured["pagination"]["next_cursor"].clone();
            if cursor.is_null() {
                break;
            }
            assert!(
                structured["notice"].as_str().is_some_and(|notice| notice.contains("max_bytes")),
                "{structured}"
            );
        }
        assert_eq!(names.len(), 12, "{max_bytes}");
    }
    // Arrays that are no list are shortened, and counted.
    let result = client.call("status", &json!({"max_bytes": 6000}));
    assert!(size(&result) <= 6000, "{}", size(&result));
    let structured = &result["structuredContent"];
    let kept = structured["result"]["changed"]["paths"].as_array().expect("paths").len();
    let omission = structured["omitted"].as_array().expect("omissions").last().expect("one").clone();
    assert_eq!(omission, json!({"class": "changed.paths", "count": 300 - kept, "reason": "limit"}));
    assert_eq!(structured["result"]["changed"]["files"], 300);
    // One object is whole or not there.
    for summary in ["many files", &"long ".repeat(1000)] {
        sandbox.ok(&["change", "begin"]);
        sandbox.ok(&["change", "finish", "--summary", summary]);
    }
    assert_eq!(client.refused("show", &json!({"id": "C14", "max_bytes": 4000})), "LIMIT_EXCEEDED");
    assert_eq!(client.call("show", &json!({"id": "C14", "max_bytes": 20_000}))["isError"], false);
    assert!(client.end().is_empty());
    let said = sandbox.run(&["mcp", "--max-answer-bytes", "5"]);
    assert_eq!((said.status, said.out.as_str()), (2, ""));
}

#[test]
fn resources_are_read() {
    let sandbox = Sandbox::with_changes();
    let mut client = Client::begin(&sandbox, &[]);
    let listed = client.request("resources/list", &json!({}));
    let uris: Vec<&str> = listed["result"]["resources"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|r| r["uri"].as_str())
        .collect();
    assert!(uris.contains(&"gemel://status"));
    for uri in uris {
        let read = client.request("resources/read", &json!({"uri": uri}));
        let contents = &read["result"]["contents"][0];
        assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &json!("application/json")));
        let text: Value = serde_json::from_str(contents["text"].as_str().expect("text")).expect("JSON");
        assert_eq!(text["schema"], "gemel.agent.v1");
    }
    for uri in ["gemel://", "gemel://log", "file:///etc/passwd", ""] {
        assert!(client.request("resources/read", &json!({"uri": uri}))["error"]["code"].is_i64(), "{uri}");
    }
    assert!(client.end().is_empty());
}

/// Shows T-54.
#[test]
fn no_line_ends_the_server() {
    let sandbox = Sandbox::with_changes();
    let mut client = Client::silent(&sandbox, &[]);
    // Before anything is agreed on, too.
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.say(&json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    client.send(b"garbage\n");
    assert_eq!(client.hear()["error"]["code"], -32700);
    assert!(client.request("tools/list", &json!({}))["error"].is_object());
    assert!(client.request("initialize", &hello())["result"].is_object());
    let deep = format!("{}\n", "[".repeat(100_000));
    let cases: &[(&[u8], i64)] = &[
        (b"garbage\n", -32700),
        (b"{\n", -32700),
        (b"\xff\xfe\n", -32700),
        (deep.as_bytes(), -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"method\":\"ping\"}\n", -32700),
        (b"[]\n", -32600),
        (b"5\n", -32600),
        (b"{}\n", -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nope\"}\n", -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}\n", -32601),
    ];
    for (line, code) in cases {
        client.send(line);
        let answer = client.hear();
        assert_eq!(
            answer["error"]["code"],
            *code,
            "{}: {answer}",
            String::from_utf8_lossy(&line[..line.len().min(80)])
        );
    }
    // Bad parameters of known methods get some error.
    for (method, params) in [
        ("tools/call", json!({})),
        ("tools/call", json!([])),
        ("tools/call", json!({"name": 7})),
        ("tools/call", json!({"name": "status", "arguments": []})),
        ("tools/call", json!({"name": "status", "arguments": "x"})),
        ("resources/read", json!({"uri": 7})),
        ("initialize", json!({"protocolVersion": 7})),
    ] {
        assert!(client.request(method, &params)["error"]["code"].is_i64(), "{method} {params}");
    }
    // Blank lines and carriage returns, a message longer than anything sensible, the last line without a line break.
    client.send(b"\n\r\n  \n");
    let part = vec![b'a'; 1 << 20];
    for _ in 0..34 {
        client.send(&part);
    }
    client.send(b"\n");
    assert_eq!(client.hear()["error"]["code"], -32600);
    client.send(b"{\"jsonrpc\":\"2.0\",\"id\":\"text\",\"method\":\"ping\"}\r\n");
    assert_eq!(client.hear(), json!({"jsonrpc": "2.0", "id": "text", "result": {}}));
    client.send(br#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"log"}}"#);
    let rest = client.end();
    assert_eq!((rest.len(), &rest[0]["id"]), (1, &json!(77)));
}

#[test]
fn cancelled_requests_disturb_nobody() {
    let sandbox = Sandbox::with_changes();
    let mut client = Client::begin(&sandbox, &[]);
    for id in 1000..1040 {
        client
            .say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "status"}}));
        client.say(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
        );
    }
    client.say(&json!({"jsonrpc": "2.0", "id": 2000, "method": "tools/call", "params": {"name": "log"}}));
    // Some may have been answered before they were cancelled.
    let heard = client.end();
    let answer = heard.iter().find(|message| message["id"] == 2000).expect("the one that was not cancelled");
    assert_eq!(answer["result"]["isError"], false);
}

/// Everything asked for before the input ends is answered, each once.
#[test]
fn requests_are_answered_after_the_end_of_the_input() {
    let sandbox = Sandbox::with_changes();
    let mut client = Client::begin(&sandbox, &[]);
    for id in 0..60 {
        let tool = ["status", "log", "diff"][id % 3];
        client.say(
            &json!({"jsonrpc": "2.0", "id": 1000 + id, "method": "tools/call", "params": {"name": tool}}),
        );
    }
    let mut ids: Vec<u64> = client.end().iter().filter_map(|message| message["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1000..1060).collect::<Vec<u64>>());
}

/// Escape sequences in stored text reach nobody's terminal through the text form; JSON keeps them as they are.
#[test]
fn stored_text_is_escaped_in_the_text_form() {
    let sandbox = Sandbox::with_changes();
    sandbox.write("a.txt", "four\n");
    sandbox.ok(&["change", "begin", "--intent", "I1"]);
    sandbox.ok(&["change", "finish", "--summary", "odd \x1b]0;title\x07 text"]);
    let mut client = Client::begin(&sandbox, &[]);
    let result = client.call("log", &json!({"limit": 1}));
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("odd") && !text.contains('\x1b') && !text.contains('\x07'), "{text:?}");
    assert!(
        result["structuredContent"]["result"]["changes"][0]["summary"]
            .as_str()
            .is_some_and(|s| s.contains('\x1b'))
    );
    assert!(client.end().is_empty());
}

/// The protocol's reference client, where it is installed: `pip install mcp`. `GEMEL_TEST_PYTHON` names another Python.
#[test]
#[allow(clippy::disallowed_methods, reason = "starts a client of the program under test")]
fn the_python_client_understands_the_server() {
    let python = std::env::var_os("GEMEL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let found = Command::new(&python).args(["-c", "import mcp"]).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        eprintln!("skipped: {} has no package mcp", python.display());
        return;
    }
    let sandbox = Sandbox::with_changes();
    let script = sandbox.scratch().join("client.py");
    std::fs::write(&script, include_str!("mcp_client.py")).expect("the script");
    let mut command = Command::new(&python);
    command.arg(&script).arg(env!("CARGO_BIN_EXE_gemel")).arg(sandbox.root());
    let output = command.output().expect("the client starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.trim(), "ok", "{said}");
}
