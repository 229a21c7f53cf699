//! SARIF 2.1: one report a run. Results are read one by one, so that a file of any length takes the memory of its rules.

use super::{Report, line};
use crate::history::ingest::tree::{self, Bounds, Piece};
use crate::history::observation::Counts;
use gemel_object::{EvidenceKind, EvidenceOutcome};
use serde_json::Value;
use std::collections::HashMap;

/// Most values in what is kept of the tools, and of one result.
const MAX_VALUES: (u64, u64) = (300_000, 10_000);

/// What is kept of runs beside their results.
const KEYS: [&str; 16] = [
    "version",
    "runs",
    "tool",
    "driver",
    "extensions",
    "name",
    "semanticVersion",
    "rules",
    "id",
    "defaultConfiguration",
    "level",
    "automationDetails",
    "invocations",
    "executionSuccessful",
    "exitCode",
    "commandLine",
];

/// What is kept of a result.
const RESULT_KEYS: [&str; 19] = [
    "ruleId",
    "ruleIndex",
    "rule",
    "id",
    "index",
    "toolComponent",
    "kind",
    "level",
    "message",
    "text",
    "locations",
    "physicalLocation",
    "artifactLocation",
    "uri",
    "region",
    "startLine",
    "suppressions",
    "status",
    "baselineState",
];

/// Reads a file.
///
/// # Errors
/// When it is no SARIF, or a run names no tool.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Report>, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let log = tree::read(bytes, Bounds { values: MAX_VALUES.0, keep: |key| KEYS.contains(&key) })?;
    let runs = log.get("runs").and_then(Value::as_array).ok_or("it holds no list of runs")?;
    let mut runs: Vec<Run> = runs.iter().map(Run::of).collect::<Result<_, _>>()?;
    let bounds = Bounds { values: MAX_VALUES.1, keep: |key| RESULT_KEYS.contains(&key) };
    tree::each(bytes, ["runs", "results"], bounds, &mut |at, piece| {
        let Some(run) = runs.get_mut(at) else { return };
        match piece {
            Piece::List => run.looked = true,
            Piece::Element(result) => run.result(&result),
        }
    })?;
    let version = log.get("version").and_then(Value::as_str).unwrap_or_default();
    let mut reports: Vec<Report> = runs.into_iter().map(Run::close).collect();
    if !version.starts_with("2.1") {
        for report in &mut reports {
            report.doubt("report", format!("the file is of version {:?}; it was read as 2.1", line(version)));
        }
    }
    Ok(reports)
}

struct Run {
    report: Report,
    /// Levels of the driver's rules, in their order, and by name.
    levels: Vec<String>,
    by_id: HashMap<String, usize>,
    /// Whether there is a list of results, be it empty.
    looked: bool,
    counts: Counts,
    /// Results that somebody has to look at.
    open: u64,
    failed_to_run: bool,
}

impl Run {
    fn of(run: &Value) -> Result<Run, String> {
        let driver = run.pointer("/tool/driver").ok_or("a run names no tool")?;
        let mut report = Report::new(EvidenceKind::StaticAnalysis);
        tool(&mut report, driver).ok_or("a run names no tool")?;
        for extension in run.pointer("/tool/extensions").and_then(Value::as_array).into_iter().flatten() {
            if tool(&mut report, extension).is_none() {
                report.unparsed += 1;
            }
        }
        report.subject = text(run, "/automationDetails/id").map(line).filter(|id| !id.is_empty());
        let mut made = Run {
            report,
            levels: Vec::new(),
            by_id: HashMap::new(),
            looked: false,
            counts: Counts::default(),
            open: 0,
            failed_to_run: false,
        };
        for (at, rule) in driver.get("rules").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let level = text(rule, "/defaultConfiguration/level").unwrap_or("warning");
            made.levels.push(level.to_owned());
            if let Some(id) = text(rule, "/id") {
                made.by_id.entry(id.to_owned()).or_insert(at);
            }
        }
        let invocations = run.get("invocations").and_then(Value::as_array);
        for invocation in invocations.into_iter().flatten() {
            made.failed_to_run |=
                invocation.get("executionSuccessful").and_then(Value::as_bool) == Some(false);
        }
        if let Some([only]) = invocations.map(Vec::as_slice) {
            made.report.command = text(only, "/commandLine").map(str::to_owned);
            made.report.exit_code = only.get("exitCode").and_then(Value::as_i64);
        }
        Ok(made)
    }

    fn result(&mut self, result: &Value) {
        if !result.is_object() {
            self.report.unparsed += 1;
            return;
        }
        let is_suppressed = result.get("suppressions").and_then(Value::as_array).is_some_and(|list| {
            let stands = |one: &Value| matches!(text(one, "/status"), None | Some("accepted"));
            !list.is_empty() && list.iter().all(stands)
        });
        let is_gone = text(result, "/baselineState") == Some("absent");
        match text(result, "/kind").unwrap_or("fail") {
            _ if is_suppressed || is_gone => self.counts.skipped += 1,
            "pass" => self.counts.passed += 1,
            "fail" => match self.level(result).to_owned().as_str() {
                level @ ("error" | "warning") => {
                    self.counts.failed += 1;
                    let what = format!("{level} {}", place(result));
                    self.report
                        .detail
                        .add(what.trim_end(), text(result, "/message/text").unwrap_or_default());
                }
                _ => self.counts.skipped += 1,
            },
            "open" | "review" => {
                self.counts.skipped += 1;
                self.open += 1;
            }
            "notApplicable" | "informational" => self.counts.skipped += 1,
            _ => {
                self.counts.skipped += 1;
                self.open += 1;
                self.report.unparsed += 1;
            }
        }
    }

    /// The level of a result: its own, else its rule's, else `warning`.
    fn level<'a>(&'a self, result: &'a Value) -> &'a str {
        if let Some(level) = text(result, "/level") {
            return level;
        }
        // Rules of extensions have numbers of their own.
        if result.pointer("/rule/toolComponent").is_some() {
            return "warning";
        }
        let number =
            result.get("ruleIndex").or_else(|| result.pointer("/rule/index")).and_then(Value::as_u64);
        let number = number.and_then(|number| usize::try_from(number).ok());
        let id = text(result, "/ruleId").or_else(|| text(result, "/rule/id"));
        let rule = number.or_else(|| id.and_then(|id| self.by_id.get(id).copied()));
        rule.and_then(|rule| self.levels.get(rule)).map_or("warning", String::as_str)
    }

    fn close(mut self) -> Report {
        let report = &mut self.report;
        report.outcome = Some(if self.counts.failed > 0 {
            EvidenceOutcome::Fail
        } else if self.failed_to_run {
            report.doubt("report", "the tool says that it did not run to its end");
            EvidenceOutcome::Error
        } else if !self.looked {
            report.doubt("report", "the run has no list of results");
            EvidenceOutcome::Inconclusive
        } else if self.open > 0 {
            report.doubt("review", format!("{} result(s) wait for somebody to look at them", self.open));
            EvidenceOutcome::Inconclusive
        } else {
            EvidenceOutcome::Pass
        });
        report.counts = self.looked.then_some(self.counts);
        self.report
    }
}

/// Adds a tool.
fn tool(report: &mut Report, component: &Value) -> Option<()> {
    let name = text(component, "/name").filter(|name| !name.is_empty())?;
    let version = text(component, "/semanticVersion").or_else(|| text(component, "/version"));
    report.tool(name, version.filter(|version| !version.is_empty()));
    Some(())
}

/// Rule and first place of a result.
fn place(result: &Value) -> String {
    let rule = text(result, "/ruleId").or_else(|| text(result, "/rule/id")).unwrap_or_default();
    let uri = text(result, "/locations/0/physicalLocation/artifactLocation/uri").unwrap_or_default();
    let start = result.pointer("/locations/0/physicalLocation/region/startLine").and_then(Value::as_u64);
    match start {
        Some(start) => format!("{rule} {uri}:{start}"),
        None => format!("{rule} {uri}"),
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}
