//! `gemel protocol` (query surface, section 5).

use crate::harness::{Said, Sandbox};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A session that is spoken to line by line.
struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Talk {
    fn begin(sandbox: &Sandbox, args: &[&str]) -> Talk {
        let mut command = sandbox.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Talk { child, input, output }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("an open input").write_all(bytes).expect("the session reads");
    }

    /// The next line, which must come although the input stays open.
    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        assert!(line.ends_with('\n'), "{line:?}");
        serde_json::from_str(&line).expect("JSON")
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.send(format!("{request}\n").as_bytes());
        self.answer()
    }

    /// Ends the input; the session must end well and have nothing else to say.
    fn end(mut self) {
        drop(self.input.take());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).expect("the end");
        assert_eq!(rest, "");
        let ended = self.child.wait_with_output().expect("it ends");
        assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    }
}

/// The answers to everything in `input`, which ends then.
pub(crate) fn answers(sandbox: &Sandbox, args: &[&str], input: &[u8]) -> Vec<Value> {
    let file = sandbox.scratch().join("requests");
    std::fs::write(&file, input).expect("the requests");
    let mut command = sandbox.command(args);
    command.stdin(std::fs::File::open(&file).expect("the requests"));
    let said = Said::of(command);
    assert_eq!((said.status, said.err.as_str()), (0, ""), "{}", said.out);
    assert!(said.out.is_empty() || said.out.ends_with('\n'));
    let parse = |line: &str| -> Value {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        // One line in compact form with sorted members.
        assert_eq!(value.to_string(), line);
        check_shape(&value);
        value
    };
    said.out.lines().map(parse).collect()
}

fn check_shape(answer: &Value) {
    let mut keys: Vec<&str> = answer.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(answer["schema"], "gemel.agent.v1");
    assert!(answer["id"].is_u64(), "{answer}");
    if let Some(error) = answer.get("error") {
        assert_eq!(keys, ["error", "id", "schema"]);
        let pair = (error["code"].as_str().expect("a code"), error["query_code"].as_str().expect("a code"));
        match pair {
            ("invalid_request", code) => assert_eq!(code, "INVALID_ARGUMENT"),
            ("limit_exceeded", code) => assert_eq!(code, "LIMIT_EXCEEDED"),
            ("query_failed", code) => assert_ne!(code, "INTERNAL"),
            other => panic!("{other:?}: {answer}"),
        }
        assert!(error["message"].is_string());
        return;
    }
    keys.retain(|key| !["pagination", "notice"].contains(key));
    assert_eq!(keys, ["id", "omitted", "result", "schema", "uncertainty"], "{answer}");
}

/// `(id, code, query_code)` of a refusal; `(id, "", "")` of an answer.
fn outcome(answer: &Value) -> (u64, &str, &str) {
    let code = |key: &str| answer["error"][key].as_str().unwrap_or_default();
    (answer["id"].as_u64().expect("an id"), code("code"), code("query_code"))
}

/// Shows T-54.
#[test]
fn every_bad_line_is_answered_and_the_session_goes_on() {
    let sandbox = Sandbox::with_changes();
    let invalid = ("invalid_request", "INVALID_ARGUMENT");
    let failed = ("query_failed", "INVALID_ARGUMENT");
    let cases: &[(&[u8], u64, (&str, &str))] = &[
        (b"not json", 0, invalid),
        (b"[]", 0, invalid),
        (b"5", 0, invalid),
        (b"null", 0, invalid),
        (b"{}", 0, invalid),
        (br#"{"query":"status"}"#, 0, invalid),
        (br#"{"id":"x","query":"status"}"#, 0, invalid),
        (br#"{"id":-1,"query":"status"}"#, 0, invalid),
        (br#"{"id":1.5,"query":"status"}"#, 0, invalid),
        (br#"{"id":18446744073709551616,"query":"status"}"#, 0, invalid),
        (br#"{"id":null,"query":"status"}"#, 0, invalid),
        // A usable id is kept.
        (br#"{"id":3}"#, 3, invalid),
        (br#"{"id":3,"query":7}"#, 3, invalid),
        (br#"{"id":3,"query":"status","extra":1}"#, 3, invalid),
        (br#"{"id":3,"query":"status","params":[]}"#, 3, invalid),
        (br#"{"id":3,"query":"status","params":null}"#, 3, invalid),
        (br#"{"id":3,"query":"status"} more"#, 3, invalid),
        (br#"{"id":3,"query":"stat"#, 3, invalid),
        (b"{\"id\":3,\"query\":\"\xff\xfe\"}", 3, invalid),
        (b"\xff\xfe", 0, invalid),
        // Members given twice mean nothing; an id given twice is none.
        (br#"{"id":3,"query":"next","query":"status"}"#, 3, invalid),
        (br#"{"id":3,"query":"log","params":{"limit":1,"limit":2}}"#, 3, invalid),
        (br#"{"id":3,"id":4,"query":"status"}"#, 0, invalid),
        // Queries.
        (br#"{"id":3,"query":"nope"}"#, 3, failed),
        (br#"{"id":3,"query":""}"#, 3, failed),
        (br#"{"id":3,"query":"init"}"#, 3, failed),
        (br#"{"id":3,"query":"change begin"}"#, 3, failed),
        (br#"{"id":3,"query":"show"}"#, 3, failed),
        (br#"{"id":3,"query":"show","params":{"id":null}}"#, 3, failed),
        (br#"{"id":3,"query":"show","params":{"id":7}}"#, 3, failed),
        (br#"{"id":3,"query":"show","params":{"id":"C1","raw":true}}"#, 3, failed),
        (br#"{"id":3,"query":"show","params":{"id":"nosuch"}}"#, 3, ("query_failed", "NOT_FOUND")),
        (br#"{"id":3,"query":"log","params":{"limit":0}}"#, 3, failed),
        (br#"{"id":3,"query":"log","params":{"limit":-1}}"#, 3, failed),
        (br#"{"id":3,"query":"log","params":{"limit":"1"}}"#, 3, failed),
        (br#"{"id":3,"query":"log","params":{"all":1}}"#, 3, failed),
        (br#"{"id":3,"query":"log","params":{"cursor":"x"}}"#, 3, ("query_failed", "PAGINATION_INVALID")),
        (br#"{"id":3,"query":"diff","params":{"b":"S1"}}"#, 3, failed),
        (br#"{"id":3,"query":"status","params":{"scope":"moon"}}"#, 3, failed),
        (br#"{"id":3,"query":"show","params":{"id":"--help"}}"#, 3, ("query_failed", "NOT_FOUND")),
        (br#"{"id":3,"query":"show","params":{"id":""}}"#, 3, ("query_failed", "NOT_FOUND")),
        (br#"{"id":3,"query":"show","params":{"id":"a\u0000b"}}"#, 3, ("query_failed", "NOT_FOUND")),
    ];
    let mut input = Vec::new();
    for (line, _, _) in cases {
        input.extend_from_slice(line);
        // Blank lines ask nothing, CRLF ends a line too.
        input.extend_from_slice(b"\r\n\n  \t\n");
    }
    // The last line needs no line break.
    input.extend_from_slice(br#"{"id":18446744073709551615,"query":"status"}"#);
    let answers = answers(&sandbox, &["protocol"], &input);
    assert_eq!(answers.len(), cases.len() + 1);
    for ((line, id, (code, query_code)), answer) in cases.iter().zip(&answers) {
        let line = String::from_utf8_lossy(line);
        assert_eq!(outcome(answer), (*id, *code, *query_code), "{line}: {answer}");
    }
    let last = answers.last().expect("an answer");
    assert_eq!(outcome(last), (u64::MAX, "", ""));
}

/// Shows T-43.
#[test]
fn a_long_line_is_passed_over() {
    let sandbox = Sandbox::with_changes();
    let fits = |id: u64, length: usize| {
        let head = format!(r#"{{"id":{id},"query":"show","params":{{"id":""#);
        let tail = r#""}}"#;
        format!("{head}{}{tail}", "a".repeat(length - head.len() - tail.len()))
    };
    let mut input = fits(1, 64 << 10);
    input.push('\n');
    input.push_str(&fits(2, (64 << 10) + 1));
    input.push('\n');
    input.push_str(&"x".repeat(3 << 20));
    input.push_str("\n{\"id\":4,\"query\":\"status\"}\n");
    input.push_str(&" ".repeat(70_000));
    let answers = answers(&sandbox, &["protocol"], input.as_bytes());
    let outcomes: Vec<_> = answers.iter().map(outcome).collect();
    let long = ("limit_exceeded", "LIMIT_EXCEEDED");
    assert_eq!(outcomes[0].0, 1);
    assert_eq!(outcomes[0].1, "query_failed");
    // The id was read before the line turned out too long.
    assert_eq!(outcomes[1], (2, long.0, long.1));
    assert_eq!(outcomes[2], (0, long.0, long.1));
    assert_eq!(outcomes[3], (4, "", ""));
    assert_eq!(outcomes[4], (0, long.0, long.1));
}

/// An endless line needs no memory, and the session stays. Shows T-43.
#[cfg(target_os = "linux")]
#[test]
fn an_endless_line_takes_no_memory() {
    let sandbox = Sandbox::with_changes();
    let mut talk = Talk::begin(&sandbox, &["protocol"]);
    assert_eq!(outcome(&talk.ask(&json!({"id": 1, "query": "status"}))), (1, "", ""));
    let part = vec![b'a'; 1 << 20];
    for _ in 0..256 {
        talk.send(&part);
    }
    talk.send(b"\n");
    assert_eq!(outcome(&talk.answer()), (0, "limit_exceeded", "LIMIT_EXCEEDED"));
    let status = std::fs::read_to_string(format!("/proc/{}/status", talk.child.id())).expect("its status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kib < 100 << 10, "{kib} KiB");
    talk.end();
}

#[test]
fn an_answer_that_is_too_long_is_refused() {
    let sandbox = Sandbox::with_changes();
    let names =
        (0..28_000).map(|n| format!("a-rather-long-name-of-a-file-that-fills-answers-{n:0100}.txt\n"));
    let names: String = names.collect();
    sandbox.write("many/.keep", "");
    for name in names.lines() {
        sandbox.write(&format!("many/{name}"), "");
    }
    let answers =
        answers(&sandbox, &["protocol"], b"{\"id\":1,\"query\":\"diff\"}\n{\"id\":2,\"query\":\"log\"}\n");
    assert_eq!(outcome(&answers[0]), (1, "limit_exceeded", "LIMIT_EXCEEDED"));
    assert_eq!(outcome(&answers[1]), (2, "", ""));
}

/// `result`, `omitted`, `uncertainty`, `notice` and `pagination` are the command line's.
#[test]
fn answers_are_those_of_the_command_line() {
    let sandbox = Sandbox::with_changes();
    sandbox.write("new.txt", "new\n");
    let cases: &[(&[&str], Value)] = &[
        (&["status"], json!({"query": "status"})),
        (
            &["status", "--verbose", "--scope", "repository"],
            json!({"query": "status", "params": {"verbose": true, "scope": "repository"}}),
        ),
        (&["log"], json!({"query": "log"})),
        (&["log", "--limit", "1", "--all"], json!({"query": "log", "params": {"limit": 1, "all": true}})),
        (&["log", "--limit", "5000"], json!({"query": "log", "params": {"limit": 5000, "all": false}})),
        (&["show", "C1"], json!({"query": "show", "params": {"id": "C1"}})),
        (&["diff"], json!({"query": "diff"})),
        (&["diff", "S1", "C2"], json!({"query": "diff", "params": {"a": "S1", "b": "C2", "claims": false}})),
    ];
    for (args, request) in cases {
        let mut request = request.clone();
        request["id"] = json!(1);
        let answer = answers(&sandbox, &["protocol"], request.to_string().as_bytes()).remove(0);
        let mut envelope = sandbox.envelope(args);
        for key in ["result", "omitted", "uncertainty", "notice"] {
            assert_eq!(answer.get(key), envelope.get(key), "{args:?} {key}");
        }
        // Single answers have no pages here.
        let pages = if args[0] == "log" { envelope["pagination"].take() } else { Value::Null };
        assert_eq!(answer.get("pagination").cloned().unwrap_or_default(), pages, "{args:?}");
    }
}

#[test]
fn a_list_is_continued() {
    let sandbox = Sandbox::with_changes();
    let mut talk = Talk::begin(&sandbox, &["protocol"]);
    let first = talk.ask(&json!({"id": 1, "query": "log", "params": {"limit": 1}}));
    let cursor = &first["pagination"]["next_cursor"];
    let second = talk.ask(&json!({"id": 2, "query": "log", "params": {"limit": 1, "cursor": cursor}}));
    let name = |answer: &Value| answer["result"]["changes"][0]["name"].clone();
    assert_eq!((name(&first), name(&second)), (json!("C2"), json!("C1")));
    assert_eq!(second["pagination"], json!({"count": 1, "has_more": false, "next_cursor": null}));
    talk.end();
}

/// Each answer is written before the next request is read, and each query sees what was recorded meanwhile.
#[test]
fn a_session_sees_what_others_record() {
    let sandbox = Sandbox::with_changes();
    let mut talk = Talk::begin(&sandbox, &["protocol"]);
    let count = |talk: &mut Talk| {
        let answer = talk.ask(&json!({"id": 1, "query": "log"}));
        answer["result"]["changes"].as_array().expect("rows").len()
    };
    assert_eq!(count(&mut talk), 2);
    for round in 0..3 {
        sandbox.ok(&["change", "begin", "--intent", "I1"]);
        sandbox.write("a.txt", &format!("round {round}\n"));
        sandbox.ok(&["change", "finish", "--summary", "more"]);
        assert_eq!(count(&mut talk), 3 + round);
        let name = format!("C{}", 3 + round);
        let shown = talk.ask(&json!({"id": 1, "query": "show", "params": {"id": name}}));
        assert_eq!(shown["result"]["name"], json!(name), "{shown}");
    }
    // Objects move to another pack under the session's feet.
    sandbox.ok(&["repack"]);
    assert_eq!(count(&mut talk), 5);
    assert_eq!(talk.ask(&json!({"id": 1, "query": "show", "params": {"id": "C1"}}))["result"]["name"], "C1");
    talk.end();
}

#[test]
fn read_only_refuses_what_stores() {
    let sandbox = Sandbox::with_changes();
    let request = br#"{"id":1,"query":"index"}"#;
    let refused = answers(&sandbox, &["protocol", "--read-only"], request).remove(0);
    assert_eq!(outcome(&refused), (1, "query_failed", "POLICY_DENIED"));
    let asked = answers(&sandbox, &["protocol", "--read-only"], br#"{"id":1,"query":"log"}"#).remove(0);
    assert_eq!(outcome(&asked), (1, "", ""));
}

#[test]
fn sessions_without_requests_or_repository() {
    let sandbox = Sandbox::with_changes();
    assert!(answers(&sandbox, &["protocol"], b"").is_empty());
    assert!(answers(&sandbox, &["protocol", "--json"], b"\n\n").is_empty());
    let said = Sandbox::empty().run(&["protocol"]);
    assert_eq!((said.status, said.out.as_str()), (2, ""));
    assert!(said.err.starts_with("error: not a gemel repository"), "{}", said.err);
}

/// A session over a socket, as a supervisor may start it.
#[cfg(unix)]
#[test]
fn a_socket_serves_as_standard_input_and_output() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let sandbox = Sandbox::with_changes();
    let (ours, theirs) = UnixStream::pair().expect("a socket");
    let mut command = sandbox.command(&["protocol"]);
    command.stdin(OwnedFd::from(theirs.try_clone().expect("a socket"))).stdout(OwnedFd::from(theirs));
    let mut child = command.spawn().expect("the program starts");
    drop(command);
    let mut output = BufReader::new(ours.try_clone().expect("a socket"));
    (&ours).write_all(b"{\"id\":1,\"query\":\"log\"}\n").expect("it reads");
    let mut line = String::new();
    output.read_line(&mut line).expect("an answer");
    assert_eq!(outcome(&serde_json::from_str(&line).expect("JSON")), (1, "", ""));
    ours.shutdown(std::net::Shutdown::Write).expect("the end");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_reader_that_leaves_ends_the_session() {
    let sandbox = Sandbox::with_changes();
    let mut talk = Talk::begin(&sandbox, &["protocol"]);
    assert_eq!(talk.ask(&json!({"id": 1, "query": "log"}))["id"], 1);
    let Talk { mut child, mut input, output } = talk;
    drop(output);
    // The answer finds nobody; further requests need not be read.
    let mut pipe = input.take().expect("an open input");
    drop(pipe.write_all(b"{\"id\":2,\"query\":\"log\"}\n{\"id\":3,\"query\":\"log\"}\n"));
    assert_eq!(child.wait().expect("it ends").code(), Some(141));
}
