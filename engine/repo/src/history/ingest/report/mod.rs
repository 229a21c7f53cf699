//! Reports of tools, in their own formats: what each says of a run, within bounds (docs/EVIDENCE.md has the mapping).
//!
//! A reader never makes a run look better than the report does: what is cut off, does not add up or cannot be read is
//! said, and without a word for success there is none.

mod intoto;
mod junit;
mod libtest;
mod sarif;
mod tap;

use super::format::Format;
use crate::history::observation::{Counts, Tool};
use gemel_object::{EvidenceKind, EvidenceOutcome};

/// Bytes of names and messages of what failed that are kept.
const MAX_DETAIL_BYTES: usize = 4096;

/// Bytes of one line of them.
const MAX_LINE_BYTES: usize = 400;

/// Reports in one file at most.
const MAX_REPORTS: usize = 1000;

/// Tools of one run.
const MAX_TOOLS: usize = 100;

/// Version of a tool that a report names without one.
const UNKNOWN: &str = "unknown";

/// What a report says of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) kind: EvidenceKind,
    /// Absent when the report says no more than that something was done.
    pub(super) outcome: Option<EvidenceOutcome>,
    pub(super) counts: Option<Counts>,
    pub(super) subject: Option<String>,
    pub(super) command: Option<String>,
    pub(super) exit_code: Option<i64>,
    pub(super) tools: Vec<Tool>,
    pub(super) detail: Detail,
    /// Class and reason of what is not known.
    pub(super) doubts: Vec<(&'static str, String)>,
    /// Lines, elements or values that could not be read.
    pub(super) unparsed: u64,
}

impl Report {
    fn new(kind: EvidenceKind) -> Report {
        Report {
            kind,
            outcome: None,
            counts: None,
            subject: None,
            command: None,
            exit_code: None,
            tools: Vec::new(),
            detail: Detail::default(),
            doubts: Vec::new(),
            unparsed: 0,
        }
    }

    fn doubt(&mut self, class: &'static str, reason: impl Into<String>) {
        self.doubts.push((class, reason.into()));
    }

    fn tool(&mut self, name: &str, version: Option<&str>) {
        let (name, known) = (line(name), version.map(line));
        if self.tools.iter().any(|tool| tool.name == name) {
            return;
        }
        if self.tools.len() >= MAX_TOOLS {
            self.unparsed += 1;
            return;
        }
        if known.is_none() {
            self.doubt("tool", format!("the report names no version of {name:?}"));
        }
        self.tools.push(Tool { name, version: known.unwrap_or_else(|| UNKNOWN.to_owned()), digest: None });
    }
}

/// Reads a report.
///
/// # Errors
/// Why it is none of this format.
pub(super) fn read(format: Format, bytes: &[u8]) -> Result<Vec<Report>, String> {
    let reports = match format {
        Format::Gemel => Vec::new(),
        Format::Junit => vec![junit::read(bytes)?],
        Format::Sarif => sarif::read(bytes)?,
        Format::Tap => vec![tap::read(bytes)?],
        Format::Libtest => vec![libtest::read(bytes)?],
        Format::InToto => intoto::read(bytes)?,
    };
    match reports.len() {
        0 => Err("it holds no run".to_owned()),
        n if n > MAX_REPORTS => Err(format!("it holds {n} runs, more than {MAX_REPORTS}")),
        _ => Ok(reports),
    }
}

/// What the numbers of a run of tests say: a failure fails it, and nothing but a pass passes it.
fn by_counts(counts: &Counts) -> EvidenceOutcome {
    match counts {
        Counts { failed: 1.., .. } => EvidenceOutcome::Fail,
        Counts { passed: 1.., .. } => EvidenceOutcome::Pass,
        Counts { skipped: 1.., .. } => EvidenceOutcome::Skipped,
        _ => EvidenceOutcome::Inconclusive,
    }
}

/// Text of a report: lossless where it is UTF-8, with the number of places where it is not.
fn text(bytes: &[u8]) -> (std::borrow::Cow<'_, str>, u64) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bad = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    (String::from_utf8_lossy(bytes), u64::try_from(bad).unwrap_or(u64::MAX))
}

/// One line of a text, trimmed and bounded.
fn line(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut kept = first.get(..first.floor_char_boundary(MAX_LINE_BYTES)).unwrap_or_default().to_owned();
    if kept.len() < first.len() {
        kept.push('…');
    }
    kept
}

/// What failed, a line each, as many as fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Detail {
    kept: String,
    left_out: u64,
}

impl Detail {
    /// Adds `what`, and why when that is known.
    fn add(&mut self, what: &str, why: &str) {
        let (what, why) = (line(what), line(why));
        let added = if why.is_empty() { what } else { format!("{what}: {why}") };
        if self.left_out > 0 || self.kept.len() + added.len() + 1 > MAX_DETAIL_BYTES {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.kept.push_str(&added);
        self.kept.push('\n');
    }

    /// The text, if there is any.
    pub(super) fn text(&self) -> Option<String> {
        let more = if self.left_out > 0 { format!("and {} more\n", self.left_out) } else { String::new() };
        Some(format!("{}{more}", self.kept)).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests;
