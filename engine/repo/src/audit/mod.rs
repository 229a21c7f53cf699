//! `fsck`: every byte, every reference, every record (command line, section 2.1; invariants, section 11).
//!
//! One pass over the packs hashes every object and hands each to the graph checks; refs, workspaces and pending
//! records follow. Damage is a finding, never the end of the walk. Repair is asked for by name and touches only what
//! can be made again: indexes, and files nobody will use.

mod bytes;
mod graph;
mod records;

use crate::facts::{Progress, Stage};
use crate::history::table::Table;
use crate::{Repo, Result};
use gemel_object::Gid;
use gemel_store::Store;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Something promised is damaged or missing.
    Error,
    /// Worth knowing; nothing is lost.
    Warning,
}

impl Severity {
    /// The word used in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// How bad.
    pub severity: Severity,
    /// One of the fsck codes: `missing-reference`, `corrupt-ref`, …
    pub code: &'static str,
    /// What and where.
    pub message: String,
    /// The object it is about.
    pub id: Option<Gid>,
}

impl Problem {
    fn error(code: &'static str, id: Option<Gid>, message: String) -> Problem {
        Problem { severity: Severity::Error, code, message, id }
    }

    fn warning(code: &'static str, id: Option<Gid>, message: String) -> Problem {
        Problem { severity: Severity::Warning, code, message, id }
    }
}

/// What `fsck` is told.
#[derive(Clone, Debug, Default)]
pub struct AuditOptions {
    /// Whether missing and damaged indexes are made again and leftovers are removed, before the check.
    pub repair: bool,
    /// Whether every index is made again, before the check.
    pub rebuild_index: bool,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFacts {
    /// Objects looked at.
    pub objects_scanned: u64,
    /// Objects without a finding of their own.
    pub objects_ok: u64,
    /// Findings, errors first, then by code, message and identity.
    pub problems: Vec<Problem>,
    /// What was repaired.
    pub repairs: Vec<String>,
}

impl AuditFacts {
    /// 0 clean, 1 repaired, 2 problems left. Warnings alone are clean.
    pub fn exit_code(&self) -> u8 {
        if self.problems.iter().any(|p| p.severity == Severity::Error) {
            2
        } else {
            u8::from(!self.repairs.is_empty())
        }
    }
}

/// Checks the whole repository. Goes on after any damage.
///
/// # Errors
/// Only when the store cannot be looked at at all.
pub fn run(repo: &Repo, options: &AuditOptions, progress: &dyn Progress) -> Result<AuditFacts> {
    let store = repo.store();
    let (repairs, failures) = repair(store, options);
    let table = Table::new(store.ids()?)?;
    progress.begin(Stage::Verify, Some(table.len() as u64));
    let collected = graph::Collected::new(&table);
    let report = bytes::verify(store, &|id, envelope| {
        collected.visit(id, envelope);
        progress.advance(1);
    });
    progress.end();
    let report = report?;
    let records = records::Records::read(repo, &table)?;
    let mut problems = report.problems;
    problems.extend(graph::check(collected, store, &report.unreadable, &records.pruned));
    problems.extend(records.problems);
    problems.extend(failures);
    problems.sort_unstable();
    problems.dedup();
    Ok(AuditFacts { objects_scanned: report.scanned, objects_ok: report.ok, problems, repairs })
}

/// Makes derived files again; a repair that fails is a finding.
fn repair(store: &Store, options: &AuditOptions) -> (Vec<String>, Vec<Problem>) {
    let (mut repairs, mut failures) = (Vec::new(), Vec::new());
    if options.repair || options.rebuild_index {
        match store.rebuild_indexes(options.rebuild_index) {
            Ok(0) => {}
            Ok(count) => repairs.push(format!("{count} pack index(es) made again")),
            Err(error) => failures.push(Problem::error("repair-failed", None, format!("indexes: {error}"))),
        }
    }
    if options.repair {
        match store.remove_leftovers() {
            Ok(paths) => repairs.extend(paths.iter().map(|path| format!("removed {}", path.display()))),
            Err(error) => failures.push(Problem::error("repair-failed", None, format!("leftovers: {error}"))),
        }
    }
    (repairs, failures)
}
