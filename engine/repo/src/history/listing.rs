//! `refs` and `name`: looking at names and giving them.

use crate::{Repo, Result};
use gemel_object::Gid;

/// A ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefRow {
    /// Full name.
    pub name: String,
    /// Its target; the message when it is damaged.
    pub target: Result<Gid, String>,
}

/// All refs whose full name starts with `prefix` (`refs/` is added when it is missing), by name.
///
/// # Errors
/// `Store` when the refs as a whole do not read; a damaged one is a row.
pub fn refs_list(repo: &Repo, prefix: &str) -> Result<Vec<RefRow>> {
    let _ = (repo, prefix);
    unimplemented!()
}

/// What `name` is told.
#[derive(Clone, Debug, Default)]
pub struct NameOptions {
    /// The object, in any accepted form.
    pub id: String,
    /// The name, in `refs/names` unless it is a full ref path.
    pub name: String,
    /// Whether an existing name may move.
    pub force: bool,
    /// Unix milliseconds, for the journal.
    pub now_ms: i64,
}

/// What was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameFacts {
    /// Full ref name.
    pub name: String,
    /// Its target now.
    pub id: Gid,
    /// Its target before.
    pub previous: Option<Gid>,
}

/// Points a name to an object.
///
/// # Errors
/// `NameTaken`, `Unresolved`, `Store` (`InvalidRefName`, `RefFamily`).
pub fn name_set(repo: &Repo, options: &NameOptions) -> Result<NameFacts> {
    let _ = (repo, options);
    unimplemented!()
}
