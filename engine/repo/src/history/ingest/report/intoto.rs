//! in-toto statements: bare, in DSSE envelopes, one document or one a line. Signatures are not checked.

use super::{Report, by_counts, line};
use crate::history::ingest::tree::{self, Bounds};
use crate::history::observation::Counts;
use gemel_object::{EvidenceKind, EvidenceOutcome};
use serde_json::Value;

/// Most values of one statement.
const MAX_VALUES: u64 = 200_000;

/// Predicate of a test.
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// Predicate of a build.
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";

/// Reads a file.
///
/// # Errors
/// When one of its documents is no statement.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Report>, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bounds = Bounds { values: MAX_VALUES, keep: |_| true };
    let whole = tree::read(bytes, bounds);
    if let Ok(document) = whole {
        return Ok(vec![document_of(&document)?]);
    }
    let lines: Vec<&[u8]> = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .take(super::MAX_REPORTS + 1)
        .collect();
    match whole {
        Err(error) if lines.len() < 2 => Err(error),
        _ if lines.len() > super::MAX_REPORTS => {
            Err(format!("it holds more than {} lines", super::MAX_REPORTS))
        }
        _ => lines
            .iter()
            .enumerate()
            .map(|(at, line)| {
                let document = tree::read(line, bounds).and_then(|document| document_of(&document));
                document.map_err(|error| format!("line {}: {error}", at + 1))
            })
            .collect(),
    }
}

/// A statement or an envelope around one.
fn document_of(document: &Value) -> Result<Report, String> {
    if let Some(payload) = document.get("payload") {
        let payload = payload.as_str().and_then(base64).ok_or("the payload of the envelope is no base64")?;
        let statement = tree::read(&payload, Bounds { values: MAX_VALUES, keep: |_| true })?;
        let mut report = statement_of(&statement)?;
        let signatures = document.get("signatures").and_then(Value::as_array).map_or(0, Vec::len);
        report.doubt("signature", format!("{signatures} signature(s) of the envelope were not checked"));
        return Ok(report);
    }
    statement_of(document)
}

fn statement_of(statement: &Value) -> Result<Report, String> {
    let text = |pointer: &str| statement.pointer(pointer).and_then(Value::as_str);
    let kind = text("/_type").unwrap_or_default();
    if !kind.starts_with("https://in-toto.io/Statement/") {
        return Err(format!("{:?} is no in-toto statement", line(kind)));
    }
    let predicate = statement.get("predicate").unwrap_or(&Value::Null);
    let predicate_type = text("/predicateType").ok_or("the statement has no predicateType")?;
    let mut report = match predicate_type {
        TEST_RESULT => test_result(predicate)?,
        PROVENANCE => provenance(predicate),
        other => {
            let mut report = Report::new(EvidenceKind::ExternalAttestation);
            report
                .doubt("predicate", format!("what a predicate of type {:?} says was not read", line(other)));
            report
        }
    };
    if kind != "https://in-toto.io/Statement/v1" {
        report.doubt("report", format!("{:?} was read as a statement of version 1", line(kind)));
    }
    subject(&mut report, statement);
    Ok(report)
}

/// The first subject with a name; that there are more is said.
fn subject(report: &mut Report, statement: &Value) {
    let subjects = statement.get("subject").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let name = |subject: &Value| {
        subject.get("name").or_else(|| subject.get("uri")).and_then(Value::as_str).map(line)
    };
    report.subject = subjects.iter().find_map(name).filter(|name| !name.is_empty());
    match subjects.len() {
        0 => report.doubt("subject", "the statement has no subject"),
        1 => {}
        n => report.doubt(
            "subject",
            format!("the statement is about {n} artifacts; the subject is the first of them"),
        ),
    }
    if !subjects.is_empty() {
        report.doubt("subject", "the artifacts were not compared with the digests of the statement");
    }
}

fn test_result(predicate: &Value) -> Result<Report, String> {
    let mut report = Report::new(EvidenceKind::TestResult);
    let list = |key: &str| predicate.get(key).and_then(Value::as_array);
    let len = |key: &str| list(key).map_or(0, |list| u64::try_from(list.len()).unwrap_or(u64::MAX));
    let counts =
        Counts { passed: len("passedTests") + len("warnedTests"), failed: len("failedTests"), skipped: 0 };
    for test in list("failedTests").into_iter().flatten() {
        report.detail.add(test.as_str().unwrap_or_default(), "");
    }
    let said = match predicate.get("result").and_then(Value::as_str) {
        Some("PASSED") => EvidenceOutcome::Pass,
        Some("WARNED") => {
            report.doubt("outcome", "the test passed with warnings");
            EvidenceOutcome::Pass
        }
        Some("FAILED") => EvidenceOutcome::Fail,
        other => {
            return Err(format!(
                "result {:?} is none of PASSED, WARNED, FAILED",
                line(other.unwrap_or_default())
            ));
        }
    };
    if said != EvidenceOutcome::Fail && by_counts(&counts) == EvidenceOutcome::Fail {
        report.doubt("counts", "the statement tells of success and lists failed tests");
    }
    report.outcome = Some(if counts.failed > 0 { EvidenceOutcome::Fail } else { said });
    report.counts = (counts.total() > 0).then_some(counts);
    Ok(report)
}

fn provenance(predicate: &Value) -> Report {
    let mut report = Report::new(EvidenceKind::ExternalAttestation);
    let text = |pointer: &str| predicate.pointer(pointer).and_then(Value::as_str);
    let versions = predicate.pointer("/runDetails/builder/version").and_then(Value::as_object);
    match (text("/runDetails/builder/id"), versions.filter(|versions| !versions.is_empty())) {
        (Some(id), None) => report.tool(id, None),
        (Some(id), Some(versions)) => {
            for (part, version) in versions {
                report.tool(&format!("{id} {part}"), version.as_str());
            }
        }
        (None, _) => report.doubt("tool", "the provenance names no builder"),
    }
    report
}

/// Decodes base64, with either alphabet, padded or not.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xfff_ffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).ok()?);
        }
    }
    (held < 6).then_some(bytes)
}
