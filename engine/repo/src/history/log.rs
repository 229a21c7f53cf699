//! `log`: changes, children before parents (query surface, section 4.14).

use crate::facts::{Cursor, Named, Page};
use crate::{Repo, Result};
use gemel_object::Gid;

/// Which changes are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogOrder {
    /// Those that lead to head.
    #[default]
    Head,
    /// All known ones (query surface, section 3.1).
    All,
}

/// What `log` is told.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Which changes.
    pub scope: LogOrder,
    /// Only those of this trajectory, in any accepted form.
    pub trajectory: Option<String>,
    /// Whether rows carry operation details.
    pub operations: bool,
    /// Rows at most; 0 is refused, more than 1000 capped.
    pub limit: u64,
    /// Where to go on.
    pub cursor: Option<Cursor>,
}

/// A change in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// The change.
    pub id: Gid,
    /// Its name.
    pub name: Option<String>,
    /// Its summary.
    pub summary: String,
    /// Where it started.
    pub input_state: Option<Named>,
    /// Where it ended.
    pub resulting_state: Option<Named>,
    /// The trajectory whose versions list it (DER-08).
    pub trajectory: Option<Named>,
    /// Its operations.
    pub operations: Vec<Gid>,
    /// Their details, when asked for.
    pub operation_rows: Vec<OperationRow>,
    /// Causal parents.
    pub parents: Vec<Gid>,
    /// When it was recorded, Unix milliseconds.
    pub created_at_ms: Option<i64>,
    /// Who made it.
    pub producer: Gid,
}

/// An operation in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRow {
    /// The operation.
    pub id: Gid,
    /// Its kind.
    pub op_type: String,
    /// The path it is about.
    pub path: Option<String>,
    /// Where a rename came from.
    pub from: Option<String>,
}

/// A page of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFacts {
    /// The rows.
    pub rows: Vec<LogRow>,
    /// Which part of the list they are.
    pub page: Page,
    /// Ancestors that are named but not stored.
    pub uncertainty: Vec<crate::facts::Uncertainty>,
}

/// Lists changes.
///
/// # Errors
/// `Invalid` (limit 0), `Cursor`, `Unresolved`, `Store`.
pub fn log(repo: &Repo, options: &LogOptions) -> Result<LogFacts> {
    let _ = (repo, options);
    unimplemented!()
}
