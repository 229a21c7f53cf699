//! JSON lines of libtest, as `cargo test -- --format json` and cargo-nextest write them; other lines between them,
//! such as those of cargo, are counted and left.

use super::{Report, by_counts, text};
use crate::history::ingest::tree::{self, Bounds};
use crate::history::observation::Counts;
use gemel_object::{EvidenceKind, EvidenceOutcome};
use serde_json::Value;

/// Most values of one line.
const MAX_VALUES: u64 = 1000;

/// What of a line is looked at.
const KEYS: [&str; 11] = [
    "type",
    "event",
    "name",
    "message",
    "reason",
    "passed",
    "failed",
    "ignored",
    "measured",
    "test_count",
    "filtered_out",
];

/// Reads a file.
///
/// # Errors
/// When it holds no event.
pub(super) fn read(bytes: &[u8]) -> Result<Report, String> {
    let (text, bad) = text(bytes);
    let mut run = Run::new();
    run.report.unparsed = bad;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        run.line(line);
    }
    if run.events == 0 {
        return Err("it holds no event of a test".to_owned());
    }
    Ok(run.close())
}

struct Run {
    report: Report,
    events: u64,
    counts: Counts,
    benches: u64,
    /// Suites that began and did not end.
    open: u64,
    /// What the ends of suites say: passed, failed, ignored.
    told: Counts,
    ended: u64,
    ended_badly: bool,
    filtered: u64,
}

impl Run {
    fn new() -> Run {
        Run {
            report: Report::new(EvidenceKind::TestResult),
            events: 0,
            counts: Counts::default(),
            benches: 0,
            open: 0,
            told: Counts::default(),
            ended: 0,
            ended_badly: false,
            filtered: 0,
        }
    }

    fn line(&mut self, text: &str) {
        let bounds = Bounds { values: MAX_VALUES, keep: |key| KEYS.contains(&key) };
        let value = if text.starts_with('{') { tree::read(text.as_bytes(), bounds).ok() } else { None };
        let Some(value) = value else {
            self.report.unparsed += 1;
            return;
        };
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        match (text("type"), text("event")) {
            ("suite", "started") => self.open += 1,
            ("suite", event @ ("ok" | "failed")) => self.end(&value, event == "failed"),
            ("test", "ok") => self.counts.passed += 1,
            ("test", "ignored") => self.counts.skipped += 1,
            ("test", "failed") => {
                self.counts.failed += 1;
                let why = if text("message").is_empty() { text("reason") } else { text("message") };
                self.report.detail.add(text("name"), why);
            }
            // A test that takes long says so, and still ends.
            ("test", "started" | "timeout") => {}
            ("bench", _) => {
                self.counts.passed += 1;
                self.benches += 1;
            }
            _ => {
                self.report.unparsed += 1;
                return;
            }
        }
        self.events += 1;
    }

    fn end(&mut self, value: &Value, is_bad: bool) {
        let number = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or(0);
        self.open = self.open.saturating_sub(1);
        self.ended += 1;
        self.ended_badly |= is_bad;
        self.told.passed =
            self.told.passed.saturating_add(number("passed")).saturating_add(number("measured"));
        self.told.failed = self.told.failed.saturating_add(number("failed"));
        self.told.skipped = self.told.skipped.saturating_add(number("ignored"));
        self.filtered = self.filtered.saturating_add(number("filtered_out"));
    }

    fn close(mut self) -> Report {
        let report = &mut self.report;
        let mut outcome = by_counts(&self.counts);
        if self.ended > 0 && self.open == 0 && self.told != self.counts {
            let (told, listed) = (self.told.total(), self.counts.total());
            report.doubt(
                "counts",
                format!("the suites tell of {told} results and {listed} are listed, or of others"),
            );
        }
        if self.ended_badly || self.told.failed > 0 {
            outcome = EvidenceOutcome::Fail;
        }
        if (self.open > 0 || self.ended == 0) && outcome != EvidenceOutcome::Fail {
            report.doubt("report", format!("{} suite(s) did not end", self.open.max(1)));
            outcome = EvidenceOutcome::Inconclusive;
        }
        if self.filtered > 0 {
            report.doubt("scope", format!("{} test(s) were filtered out and did not run", self.filtered));
        }
        if self.benches > 0 && self.benches == self.counts.total() {
            report.kind = EvidenceKind::Benchmark;
        }
        report.outcome = Some(outcome);
        report.counts = (self.counts.total() > 0).then_some(self.counts);
        self.report
    }
}
