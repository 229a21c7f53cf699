//! What readers make of reports: real shapes, odd ones, and bytes that are none.

use super::*;
use proptest::prelude::*;

/// One line for a report: kind, outcome, counts, subject, tools, classes of doubts, unparsed; then the detail.
fn told(report: &Report) -> String {
    let counts = report.counts.map_or("-".to_owned(), |c| format!("{}/{}/{}", c.passed, c.failed, c.skipped));
    let tools: Vec<String> =
        report.tools.iter().map(|tool| format!("{}={}", tool.name, tool.version)).collect();
    let mut doubts: Vec<&str> = report.doubts.iter().map(|(class, _)| *class).collect();
    doubts.sort_unstable();
    doubts.dedup();
    let outcome = report.outcome.map_or("-", |outcome| outcome.as_str());
    let subject = report.subject.as_deref().unwrap_or("-");
    let mut told = format!(
        "{} {outcome} {counts} {subject} [{}] [{}]",
        report.kind.as_str(),
        tools.join(" "),
        doubts.join(" ")
    );
    if report.unparsed > 0 {
        told.push_str(&format!(" unparsed {}", report.unparsed));
    }
    for line in report.detail.text().unwrap_or_default().lines() {
        told.push_str(&format!("\n{line}"));
    }
    told
}

fn check(format: Format, file: &str, expected: &str) {
    assert_eq!(Format::of(file.as_bytes()), format, "{file}");
    let reports = read(format, file.as_bytes()).unwrap_or_else(|error| panic!("{error}: {file}"));
    let told: Vec<String> = reports.iter().map(told).collect();
    assert_eq!(told.join("\n"), expected, "{file}");
}

fn refused(format: Format, file: &str, expected: &str) {
    let error = read(format, file.as_bytes()).unwrap_err();
    assert!(error.contains(expected), "{error}: {file}");
}

#[test]
fn junit() {
    let check = |file: &str, expected: &str| check(Format::Junit, file, expected);
    // cargo-nextest
    check(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="1" errors="0" uuid="x" timestamp="2024-01-01T00:00:00Z" time="1.5">
    <testsuite name="mycrate" tests="4" disabled="0" errors="0" failures="1">
        <testcase name="tests::passes" classname="mycrate" timestamp="x" time="0.004"/>
        <testcase name="tests::fails" classname="mycrate" time="0.005">
            <failure message="thread &apos;tests::fails&apos; panicked at src/lib.rs:3" type="test failure">thread
long text</failure>
            <rerunFailure type="test failure">again</rerunFailure>
            <system-out>running 1 test</system-out>
        </testcase>
        <testcase name="tests::flaky" classname="mycrate"><flakyFailure type="test failure">once</flakyFailure></testcase>
        <testcase name="tests::b" classname="mycrate"/>
    </testsuite>
</testsuites>"#,
        "test_result fail 3/1/0 mycrate [cargo-nextest=unknown] [flaky tool]\n\
         mycrate::tests::fails: thread 'tests::fails' panicked at src/lib.rs:3",
    );
    // pytest
    check(
        r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4" time="0.1" hostname="h">
<testcase classname="test_x" name="test_ok" time="0.001" />
<testcase classname="test_x" name="test_bad" time="0.001"><failure message="AssertionError: assert 1 == 2&#10;  +1">def test_bad():
&gt;   assert 1 == 2</failure></testcase>
<testcase classname="test_x" name="test_skip"><skipped type="pytest.skip" message="no">x.py:3: no</skipped></testcase>
<testcase classname="test_x" name="test_err"><error message="failed on setup">fixture</error></testcase>
</testsuite></testsuites>"#,
        "test_result fail 1/2/1 - [pytest=unknown] [tool]\n\
         test_x::test_bad: AssertionError: assert 1 == 2\ntest_x::test_err: failed on setup",
    );
    // Surefire
    check(
        r#"<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="https://maven.apache.org/surefire/maven-surefire-plugin/xsd/surefire-test-report-3.0.xsd" version="3.0" name="com.example.AppTest" time="0.05" tests="2" errors="0" skipped="1" failures="0">
  <properties><property name="java.version" value="17.0.9"/><property name="user.name" value="x"/></properties>
  <testcase name="a" classname="com.example.AppTest" time="0.01"><system-out><![CDATA[ <b> & ]]></system-out></testcase>
  <testcase name="b" classname="com.example.AppTest" time="0"><skipped message="later"/></testcase>
</testsuite>"#,
        "test_result pass 1/0/1 com.example.AppTest [java=17.0.9] []",
    );
    // gotestsum
    check(
        r#"<testsuites tests="2" failures="1" errors="0" time="0.3">
	<testsuite tests="2" failures="1" time="0.1" name="example.com/pkg" timestamp="x">
		<properties><property name="go.version" value="go1.22.1 linux/amd64"></property></properties>
		<testcase classname="example.com/pkg" name="TestA" time="0.0"></testcase>
		<testcase classname="example.com/pkg" name="TestB/sub" time="0.0"><failure message="Failed" type="">=== RUN TestB</failure></testcase>
	</testsuite>
</testsuites>"#,
        "test_result fail 1/1/0 example.com/pkg [go=1.22.1] []\nexample.com/pkg::TestB/sub: Failed",
    );
    // Nested suites, GoogleTest's words, a failure that says why in its text only
    check(
        "<testsuites name='all'><testsuite name='a'><testsuite name='b'><testcase name='x'/></testsuite>\
         <testcase name='y' status='notrun'/></testsuite><testsuite name='c'><testcase name='z'>\
         <failure>\n  boom  \n</failure><failure message='second'/></testcase></testsuite></testsuites>",
        "test_result fail 1/1/1 all [] []\nz: boom",
    );
    // libtest lists no test that is ignored; node has tests beside suites, whose numbers tell of a part only
    check(
        "<testsuites><testsuite name='test' errors='0' failures='0' tests='2' skipped='1'><testcase name='a'/>\
         <system-out/></testsuite></testsuites>",
        "test_result pass 1/0/0 test [] [counts]",
    );
    check(
        "<testsuites><testcase name='a'/><testsuite name='s' tests='1'><testcase name='b'/></testsuite>\
         <testcase name='c'><skipped/></testcase></testsuites>",
        "test_result pass 2/0/1 - [] []",
    );
    check("<testsuites/>", "test_result inconclusive - - [] []");
    check(
        "<testsuite><testcase name='a'><skipped/></testcase></testsuite>",
        "test_result skipped 0/0/1 - [] []",
    );
}

#[test]
fn junit_that_does_not_add_up() {
    let check = |file: &str, expected: &str| check(Format::Junit, file, expected);
    check(
        "<testsuite tests='3'><testcase name='a'/></testsuite>",
        "test_result inconclusive 1/0/0 - [] [counts]",
    );
    check(
        "<testsuites tests='1' errors='1'><testcase name='a'/></testsuites>",
        "test_result fail 1/0/0 - [] [counts]",
    );
    check("<testsuite tests='9' failures='2'/>", "test_result fail - - [] [counts]");
    // What is cut off passes nothing, and fails what had failed.
    check("<testsuite><testcase name='a'/>", "test_result inconclusive 1/0/0 - [] [report]");
    check("<testsuite><testcase name='a'/><testca", "test_result inconclusive 1/0/0 - [] [report]");
    check("<testsuite><testcase name='a'/></wrong>", "test_result inconclusive 1/0/0 - [] [report]");
    check(
        "<testsuite><testcase name='a'><error/></testcase><testcase",
        "test_result fail 0/1/0 - [] [report]\na",
    );
    refused(Format::Junit, "", "no testsuite");
    refused(Format::Junit, "<", "");
    refused(Format::Junit, "<html><testsuite/></html>", "outermost element is \"html\"");
    refused(Format::Junit, &"<testsuite>".repeat(2000), "nested deeper than 1000");
}

/// No entity is expanded and nothing outside is read.
#[test]
fn junit_entities() {
    let file = "<?xml version='1.0'?><!DOCTYPE testsuite [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;'>\
                <!ENTITY x SYSTEM 'file:///etc/passwd'>]>\
                <testsuite name='&x;'><testcase name='&b;'><failure message='&#65;&amp;&lt;'>&x;</failure></testcase></testsuite>";
    check(Format::Junit, file, "test_result fail 0/1/0 &x; [] [report] unparsed 2\n&b;: A&<");
    let file = "<testsuite><testcase name='a'><failure>&bomb;</failure></testcase></testsuite>";
    check(Format::Junit, file, "test_result fail 0/1/0 - [] []\na");
    let file = b"<testsuite name='\xff\xfe'><testcase name='caf\xe9'/></testsuite>";
    let report = read(Format::Junit, file).unwrap();
    assert_eq!((report[0].unparsed > 0, report[0].counts.map(|counts| counts.passed)), (true, Some(1)));
}

#[test]
fn sarif() {
    let check = |file: &str, expected: &str| check(Format::Sarif, file, expected);
    check(
        r#"{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{
        "results":[
          {"ruleId":"R1","message":{"text":"bad thing\nmore"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/a.rs"},"region":{"startLine":7}}}]},
          {"ruleId":"R2","ruleIndex":1,"message":{"text":"a note"}},
          {"ruleId":"R3","level":"error","message":{"text":"x"},"suppressions":[{"kind":"inSource"}]},
          {"ruleId":"R3","level":"error","message":{"text":"y"},"suppressions":[{"kind":"external","status":"rejected"}]},
          {"ruleId":"R4","kind":"pass"},{"ruleId":"R5","kind":"notApplicable"},
          {"ruleId":"R6","level":"error","baselineState":"absent"}],
        "tool":{"driver":{"name":"clippy","semanticVersion":"0.1.80","version":"x",
          "rules":[{"id":"R1"},{"id":"R2","defaultConfiguration":{"level":"note"}}]},
          "extensions":[{"name":"extra","version":"2"},{}]},
        "automationDetails":{"id":"nightly/1"},
        "invocations":[{"executionSuccessful":true,"exitCode":1,"commandLine":"cargo clippy"}]}]}"#,
        "static_analysis fail 1/2/4 nightly/1 [clippy=0.1.80 extra=2] [] unparsed 1\n\
         warning R1 src/a.rs:7: bad thing\nerror R3: y",
    );
    // Runs one by one; without results there was no look, and a look that found nothing passes.
    check(
        r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"a","version":"1"}},"results":[]},
        {"tool":{"driver":{"name":"b","version":"1"}}},
        {"tool":{"driver":{"name":"c","version":"1"}},"results":null},
        {"tool":{"driver":{"name":"d","version":"1"}},"results":[],"invocations":[{"executionSuccessful":false}]},
        {"tool":{"driver":{"name":"e"}},"results":[{"kind":"open"},{"kind":"odd"},7]}]}"#,
        "static_analysis pass 0/0/0 - [a=1] []\nstatic_analysis inconclusive - - [b=1] [report]\n\
         static_analysis inconclusive - - [c=1] [report]\nstatic_analysis error 0/0/0 - [d=1] [report]\n\
         static_analysis inconclusive 0/0/2 - [e=unknown] [review tool] unparsed 2",
    );
    check(
        r#"{"version":"2.0.0","runs":[{"tool":{"driver":{"name":"a","version":"1"}},"results":[{"rule":{"index":0,"toolComponent":{}}}]}]}"#,
        "static_analysis fail 0/1/0 - [a=1] [report]\nwarning",
    );
    let refused = |file: &str, expected: &str| refused(Format::Sarif, file, expected);
    refused("{}", "no list of runs");
    refused(r#"{"runs":[]}"#, "no run");
    refused(r#"{"runs":[{}]}"#, "names no tool");
    refused(r#"{"runs":[{"tool":{"driver":{"name":""}}}]}"#, "names no tool");
    refused(r#"{"runs":[{"tool":{"driver":{"name":"a"}},"results":{}}]}"#, "expected a list");
    refused(r#"{"runs":[{"tool":{"driver":{"name":"a"}},"results":[]"#, "EOF");
    let rules = format!(
        r#"{{"runs":[{{"tool":{{"driver":{{"name":"a","rules":[{}{{}}]}}}}}}]}}"#,
        "{},".repeat(300_000)
    );
    refused(&rules, "more than 300000 values");
    let wide = format!(
        r#"{{"runs":[{{"tool":{{"driver":{{"name":"a"}}}},"results":[{{"locations":[{}0]}}]}}]}}"#,
        "0,".repeat(10_000)
    );
    refused(&wide, "more than 10000 values");
}

#[test]
fn tap() {
    let check = |file: &str, expected: &str| check(Format::Tap, file, expected);
    check(
        "TAP version 14\n1..6\nok 1 - first\nnot ok 2 - second \\# no directive\n  ---\n  message: 'x'\n  ok: no\n  ...\n\
         # Subtest: third\n    1..2\n    ok 1\n    not ok 2 - inner\nok 3 - third # SKIP no network\n\
         not ok 4 - later # ToDo write it\nok 5 - soon # todo\nok\n",
        "test_result fail 3/1/2 - [] [todo]\n2 - second \\# no directive",
    );
    check(
        "TAP version 13\nok 1\nok 2 description # skipped: reason\n1..2\n",
        "test_result pass 1/0/1 - [] []",
    );
    check("1..0 # SKIP nothing to do\n", "test_result skipped - - [] []");
    check("1..0\n", "test_result inconclusive - - [] []");
    check("1..3\r\nok 1\r\nok 2\r\n", "test_result inconclusive 2/0/0 - [] [counts]");
    check("ok 1\n", "test_result inconclusive 1/0/0 - [] [counts]");
    check("1..1\nok 1\nok 2\n", "test_result inconclusive 2/0/0 - [] [counts]");
    check(
        "1..2\nok 1\nBail out! no disk\n",
        "test_result error 1/0/0 - [] [counts report]\nBail out!: no disk",
    );
    check("1..2\nnot ok 1\nBail out!\n", "test_result fail 0/1/0 - [] [counts report]\n1\nBail out!");
    check("1..1\nnoise\nokay\nnot okay\nok 1\n1..1\n1..x\n", "test_result pass 1/0/0 - [] [] unparsed 5");
    refused(Format::Tap, "noise\n", "neither a plan");
    refused(Format::Tap, "    ok 1\n", "neither a plan");
    refused(Format::Tap, "", "neither a plan");
}

#[test]
fn libtest() {
    let check = |file: &str, expected: &str| check(Format::Libtest, file, expected);
    let suite = r#"{ "type": "suite", "event": "started", "test_count": 4 }
{ "type": "test", "event": "started", "name": "tests::a" }
{ "type": "test", "name": "tests::a", "event": "ok", "exec_time": 0.1 }
{ "type": "test", "name": "tests::slow", "event": "timeout" }
{ "type": "test", "name": "tests::b", "event": "failed", "stdout": "thread 'x' panicked\n" }
{ "type": "test", "name": "tests::c", "event": "failed", "message": "test did not panic as expected" }
{ "type": "test", "name": "tests::d", "event": "ignored", "message": "slow" }
"#;
    let end = r#"{ "type": "suite", "event": "failed", "passed": 1, "failed": 2, "ignored": 1, "measured": 0, "filtered_out": 3, "exec_time": 0.2 }"#;
    let detail = "\ntests::b\ntests::c: test did not panic as expected";
    check(&format!("{suite}{end}"), &format!("test_result fail 1/2/1 - [] [scope]{detail}"));
    check(suite, &format!("test_result fail 1/2/1 - [] []{detail}"));
    let ok = r#"{"type":"suite","event":"started"}
{"type":"test","event":"ok","name":"a"}
{"type":"suite","event":"ok","passed":1,"failed":0,"ignored":0,"measured":0,"filtered_out":0}
"#;
    check(ok, "test_result pass 1/0/0 - [] []");
    check(
        &format!("   Compiling x v0.1\n{ok}{{\"type\":\"odd\"}}\n{{\n{ok}"),
        "test_result pass 2/0/0 - [] [] unparsed 3",
    );
    check(&ok.replace("\"passed\":1", "\"passed\":2"), "test_result pass 1/0/0 - [] [counts]");
    check(&ok.lines().take(2).collect::<Vec<_>>().join("\n"), "test_result inconclusive 1/0/0 - [] [report]");
    let bench = r#"{"type":"suite","event":"started"}
{"type":"bench","name":"b","median":1,"deviation":0}
{"type":"suite","event":"ok","passed":0,"failed":0,"ignored":0,"measured":1,"filtered_out":0}"#;
    assert_eq!(told(&read(Format::Libtest, bench.as_bytes()).unwrap()[0]), "benchmark pass 1/0/0 - [] []");
    refused(Format::Libtest, "x\n{}\n", "no event");
}

#[test]
fn in_toto() {
    let check = |file: &str, expected: &str| check(Format::InToto, file, expected);
    let statement = |predicate: &str| {
        format!(
            r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{{"name":"pkg.tar.gz","digest":{{"sha256":"00"}}}}],{predicate}}}"#
        )
    };
    let test = statement(
        r#""predicateType":"https://in-toto.io/attestation/test-result/v0.1","predicate":{"result":"FAILED","configuration":[],"passedTests":["a","b"],"warnedTests":["c"],"failedTests":["d"]}"#,
    );
    check(&test, "test_result fail 3/1/0 pkg.tar.gz [] [subject]\nd");
    let result = |result: &str| {
        statement(&format!(
            r#""predicateType":"https://in-toto.io/attestation/test-result/v0.1","predicate":{result}"#
        ))
    };
    check(&result(r#"{"result":"PASSED"}"#), "test_result pass - pkg.tar.gz [] [subject]");
    check(&result(r#"{"result":"WARNED"}"#), "test_result pass - pkg.tar.gz [] [outcome subject]");
    check(
        &result(r#"{"result":"PASSED","failedTests":["x"]}"#),
        "test_result fail 0/1/0 pkg.tar.gz [] [counts subject]\nx",
    );
    refused(Format::InToto, &result(r#"{"result":"GOOD"}"#), "none of PASSED");
    refused(Format::InToto, &result("7"), "none of PASSED");
    check(
        &statement(
            r#""predicateType":"https://slsa.dev/provenance/v1","predicate":{"buildDefinition":{"buildType":"x"},"runDetails":{"builder":{"id":"https://ci.example","version":{"runner":"2.1"}}}}"#,
        ),
        "external_attestation - - pkg.tar.gz [https://ci.example runner=2.1] [subject]",
    );
    check(
        &statement(r#""predicateType":"https://slsa.dev/provenance/v1","predicate":{}"#),
        "external_attestation - - pkg.tar.gz [] [subject tool]",
    );
    let generic = statement(r#""predicateType":"https://example.com/x","predicate":{"a":[1]}"#);
    check(&generic, "external_attestation - - pkg.tar.gz [] [predicate subject]");
    check(
        &generic.replace(r#"[{"name""#, r#"[{"name":"first"},{"name""#).replace("/v1", "/v0.1"),
        "external_attestation - - first [] [predicate report subject]",
    );
    // Envelopes, and several on lines of their own.
    let encoded = encode(generic.as_bytes());
    let envelope = format!(
        r#"{{"payloadType":"application/vnd.in-toto+json","payload":"{encoded}","signatures":[{{"sig":"AA=="}}]}}"#
    );
    check(&envelope, "external_attestation - - pkg.tar.gz [] [predicate signature subject]");
    let lines = format!("{envelope}\n\n{}\n", result(r#"{"result":"PASSED"}"#));
    check(
        &lines,
        "external_attestation - - pkg.tar.gz [] [predicate signature subject]\n\
         test_result pass - pkg.tar.gz [] [subject]",
    );
    let refused = |file: &str, expected: &str| refused(Format::InToto, file, expected);
    refused("{}", "no in-toto statement");
    refused(r#"{"payload":"!"}"#, "no base64");
    refused(r#"{"payload":"e30="}"#, "no in-toto statement");
    refused(r#"{"_type":"https://in-toto.io/Statement/v1"}"#, "no predicateType");
    refused(&format!("{generic}\n{{}}\n"), "line 2: ");
    refused("[", "EOF");
}

/// Standard base64, padded.
fn encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let at = |index: usize| u32::from(part.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let value = usize::try_from(bits >> (18 - 6 * digit) & 63).unwrap();
            text.push(if digit <= part.len() { char::from(ALPHABET[value]) } else { '=' });
        }
    }
    text
}

/// However much failed, and however long it is, the detail is short and says how much it leaves out.
#[test]
fn details_are_bounded() {
    let case =
        format!("<testcase name='{}'><failure message='{}'/></testcase>", "n".repeat(5000), "é".repeat(5000));
    let file = format!("<testsuite>{}</testsuite>", case.repeat(500));
    let report = &read(Format::Junit, file.as_bytes()).unwrap()[0];
    let text = report.detail.text().unwrap();
    assert!(text.len() < MAX_DETAIL_BYTES + 30, "{}", text.len());
    assert!(text.ends_with("and 495 more\n"), "{text}");
    assert_eq!(report.counts.unwrap().failed, 500);
    let file = format!("1..2000\n{}", "not ok\n".repeat(2000));
    assert_eq!(read(Format::Tap, file.as_bytes()).unwrap()[0].counts.unwrap().failed, 2000);
}

/// A million attributes on one element, and outputs of megabytes, take no more than their length.
#[test]
fn junit_of_odd_sizes() {
    let began = std::time::Instant::now();
    let attributes: String = (0..200_000).map(|at| format!(" a{at}=''")).collect();
    read(Format::Junit, format!("<testsuite{attributes}><testcase{attributes}/></testsuite>").as_bytes())
        .unwrap();
    let output = "x&amp;y ".repeat(1 << 20);
    let file =
        format!("<testsuite><testcase name='a'><system-out>{output}</system-out></testcase></testsuite>");
    assert_eq!(told(&read(Format::Junit, file.as_bytes()).unwrap()[0]), "test_result pass 1/0/0 - [] []");
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
}

const FORMATS: [Format; 5] = [Format::Junit, Format::Sarif, Format::Tap, Format::Libtest, Format::InToto];

/// Pieces that the formats are made of, to be put together wrongly.
const PIECES: [&str; 36] = [
    "<testsuite>",
    "</testsuite>",
    "<testsuites tests='9'>",
    "</testsuites>",
    "<testcase name='a'>",
    "</testcase>",
    "<failure/>",
    "<!DOCTYPE a [<!ENTITY b 'c'>]>",
    "&b;",
    "&#0;",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "ok 1 # skip",
    "not ok - x",
    "1..3",
    "\n",
    "    ok",
    "  ---",
    "Bail out!",
    "{\"runs\":[",
    "{\"tool\":{\"driver\":{\"name\":\"a\"}},",
    "\"results\":[",
    "{\"kind\":\"open\"}",
    "]}",
    "{\"type\":\"test\",\"event\":\"ok\"}",
    "{\"type\":\"suite\",\"event\":\"failed\",\"failed\":18446744073709551615}",
    "{\"_type\":\"https://in-toto.io/Statement/v1\"",
    ",\"predicateType\":\"x\"}",
    "{\"payload\":\"e30\"}",
    "\u{0}",
    "\u{feff}",
    "é",
    ",",
    "TAP version 14",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Format::of(&bytes);
        for format in FORMATS {
            let _ = read(format, &bytes);
        }
    }

    #[test]
    fn pieces_never_panic(at in proptest::collection::vec(0..PIECES.len(), 0..30)) {
        let file: String = at.into_iter().map(|at| PIECES[at]).collect();
        let _ = Format::of(file.as_bytes());
        for format in FORMATS {
            let _ = read(format, file.as_bytes());
        }
    }
}
