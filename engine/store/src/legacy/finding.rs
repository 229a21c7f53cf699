//! What a look at a 0.12 store found.

use std::fmt;
use std::path::{Path, PathBuf};

/// Findings kept at most; further ones are counted. A hostile store must not fill the memory with complaints.
const MAX_FINDINGS: usize = 10_000;
/// Longest detail text, in characters.
const MAX_DETAIL: usize = 300;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// The old store lacked something already; it is carried over as it is.
    Warning,
    /// Something cannot be carried over: the migration refuses unless told to go on without it.
    Error,
}

/// Something in a 0.12 store that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// Stable code, such as `corrupt-object`.
    pub code: &'static str,
    /// Path below `.gemel`.
    pub path: PathBuf,
    /// What was found.
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.code, self.path.display(), self.detail)
    }
}

/// Findings of one look, bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    list: Vec<Finding>,
    /// All findings per severity, those not kept included.
    counts: [u64; 3],
}

impl Findings {
    /// The findings kept, errors first, then by path.
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// Number of findings of a severity, those beyond the bound of the list included.
    pub fn count(&self, severity: Severity) -> u64 {
        self.counts[severity as usize]
    }

    /// Whether anything cannot be carried over.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    pub(super) fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        path: impl AsRef<Path>,
        detail: impl fmt::Display,
    ) {
        self.counts[severity as usize] += 1;
        if self.list.len() < MAX_FINDINGS {
            let detail = detail.to_string().chars().take(MAX_DETAIL).collect();
            self.list.push(Finding { severity, code, path: path.as_ref().to_owned(), detail });
        }
    }

    pub(super) fn error(&mut self, code: &'static str, path: impl AsRef<Path>, detail: impl fmt::Display) {
        self.add(Severity::Error, code, path, detail);
    }

    pub(super) fn warning(&mut self, code: &'static str, path: impl AsRef<Path>, detail: impl fmt::Display) {
        self.add(Severity::Warning, code, path, detail);
    }

    pub(super) fn note(&mut self, code: &'static str, path: impl AsRef<Path>, detail: impl fmt::Display) {
        self.add(Severity::Note, code, path, detail);
    }

    pub(super) fn sort(&mut self) {
        self.list.sort_by(|a, b| (b.severity, &a.path, a.code).cmp(&(a.severity, &b.path, b.code)));
    }
}
