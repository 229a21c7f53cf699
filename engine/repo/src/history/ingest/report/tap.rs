//! TAP 13 and 14: the points of the outermost level, each subtest being summed up by its point.

use super::{Report, by_counts, line, text};
use crate::history::observation::Counts;
use gemel_object::{EvidenceKind, EvidenceOutcome};

/// Reads a file.
///
/// # Errors
/// When it is no TAP.
pub(super) fn read(bytes: &[u8]) -> Result<Report, String> {
    let (text, bad) = text(bytes);
    let mut run = Run::default();
    for line in text.lines() {
        run.line(line.trim_end());
    }
    if !run.is_tap {
        return Err("it holds neither a plan nor a test point".to_owned());
    }
    Ok(run.close(bad))
}

#[derive(Debug, Default)]
struct Run {
    is_tap: bool,
    plan: Option<u64>,
    skips_all: bool,
    counts: Counts,
    /// Points that passed although they were marked to do.
    surprises: u64,
    bailed: Option<String>,
    in_yaml: bool,
    failed: Vec<String>,
    failed_more: u64,
    unparsed: u64,
}

/// Names of failed points kept; the detail holds fewer.
const MAX_FAILED: usize = 1000;

impl Run {
    fn line(&mut self, line: &str) {
        let inner = line.trim_start();
        if self.in_yaml {
            self.in_yaml = inner != "...";
            return;
        }
        if inner.len() < line.len() {
            // A subtest, or the diagnostics of a point.
            self.in_yaml = inner == "---";
            return;
        }
        if line.is_empty() || line.starts_with('#') || line.starts_with("pragma ") {
            return;
        }
        if let Some(reason) = line.strip_prefix("Bail out!") {
            self.is_tap = true;
            self.bailed.get_or_insert(super::line(reason));
        } else if line.starts_with("TAP version ") {
            self.is_tap = true;
        } else if let Some(plan) = line.strip_prefix("1..") {
            self.plan(plan);
        } else if let Some(rest) = line.strip_prefix("not ok") {
            self.point(rest, false);
        } else if let Some(rest) = line.strip_prefix("ok") {
            self.point(rest, true);
        } else {
            self.unparsed += 1;
        }
    }

    fn plan(&mut self, text: &str) {
        let (number, directive) = text.split_once('#').unwrap_or((text, ""));
        match number.trim().parse() {
            Ok(number) if self.plan.is_none() => {
                self.is_tap = true;
                self.plan = Some(number);
                self.skips_all = number == 0 && word(directive).eq_ignore_ascii_case("skip");
            }
            _ => self.unparsed += 1,
        }
    }

    fn point(&mut self, rest: &str, ok: bool) {
        if rest.chars().next().is_some_and(|c| !c.is_whitespace()) {
            self.unparsed += 1;
            return;
        }
        self.is_tap = true;
        let (described, directive) = directive(rest);
        let directive = word(directive);
        match ok {
            _ if directive.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("skip")) => {
                self.counts.skipped += 1;
            }
            true if directive.eq_ignore_ascii_case("todo") => {
                self.counts.passed += 1;
                self.surprises += 1;
            }
            true => self.counts.passed += 1,
            false if directive.eq_ignore_ascii_case("todo") => self.counts.skipped += 1,
            false => {
                self.counts.failed += 1;
                if self.failed.len() < MAX_FAILED {
                    self.failed.push(line(described));
                } else {
                    self.failed_more += 1;
                }
            }
        }
    }

    fn close(self, bad: u64) -> Report {
        let mut report = Report::new(EvidenceKind::TestResult);
        report.unparsed = self.unparsed.saturating_add(bad);
        self.failed.iter().for_each(|name| report.detail.add(name, ""));
        (0..self.failed_more).for_each(|_| report.detail.add("", ""));
        let total = self.counts.total();
        let mut outcome = by_counts(&self.counts);
        match self.plan {
            Some(0) if self.skips_all && total == 0 => outcome = EvidenceOutcome::Skipped,
            Some(plan) if plan == total => {}
            Some(plan) => {
                report.doubt("counts", format!("the plan is of {plan} tests, and {total} ran"));
                outcome = worst(outcome, EvidenceOutcome::Inconclusive);
            }
            None => {
                report.doubt("counts", "there is no plan, so that nobody can tell whether all tests ran");
                outcome = worst(outcome, EvidenceOutcome::Inconclusive);
            }
        }
        if let Some(reason) = self.bailed {
            report.doubt("report", format!("the run was given up: {reason}"));
            report.detail.add("Bail out!", &reason);
            outcome = worst(outcome, EvidenceOutcome::Error);
        }
        if self.surprises > 0 {
            report.doubt(
                "todo",
                format!("{} test(s) passed although they are marked as to do", self.surprises),
            );
        }
        report.outcome = Some(outcome);
        report.counts = (total > 0).then_some(self.counts);
        report
    }
}

/// A failure stays one.
fn worst(outcome: EvidenceOutcome, other: EvidenceOutcome) -> EvidenceOutcome {
    if outcome == EvidenceOutcome::Fail { outcome } else { other }
}

/// Number and description of a point, and its directive: what follows the first `#` that is not escaped and stands
/// behind a blank.
fn directive(rest: &str) -> (&str, &str) {
    let mut escaped = false;
    let mut blank = true;
    for (at, c) in rest.char_indices() {
        if c == '#' && !escaped && blank {
            let (described, directive) = rest.split_at(at);
            return (described.trim(), directive.trim_start_matches('#'));
        }
        escaped = c == '\\' && !escaped;
        blank = c.is_whitespace();
    }
    (rest.trim(), "")
}

fn word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default().trim_end_matches(':')
}
