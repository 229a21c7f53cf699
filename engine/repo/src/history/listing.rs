//! `refs` and `name`: looking at names and giving them.

use crate::history::snapshot::check_free;
use crate::names::{Accept, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::Gid;
use gemel_store::RefValue;
use gemel_store::refs::check_name;

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
    let prefix = match prefix {
        "refs" => "refs/".to_owned(),
        full if full.starts_with("refs/") => full.to_owned(),
        short => format!("refs/{short}"),
    };
    let refs = repo.store().refs()?;
    let target = |value: gemel_store::Result<RefValue>| match value {
        Ok(RefValue::Id(id)) => Ok(id),
        Ok(RefValue::Record(_)) => Err("holds a record, not an identity".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    Ok(refs.scan(&prefix)?.map(|(name, value)| RefRow { name, target: target(value) }).collect())
}

/// Namespaces in which names may be given by hand.
const OPEN_SPACES: [&str; 6] = [
    "refs/names/",
    "refs/cases/",
    "refs/releases/",
    "refs/trajectories/",
    "refs/checkpoints/",
    "refs/reconciliations/",
];

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

/// Points a name to an object. Numbered names are given once and do not move, nor do `current` names by hand.
///
/// # Errors
/// `NameTaken`, `Unresolved`, `Invalid` for a namespace that is not open, `Store` (`InvalidRefName`, `RefFamily`).
pub fn name_set(repo: &Repo, options: &NameOptions) -> Result<NameFacts> {
    let full = match options.name.as_str() {
        full if full.starts_with("refs/") => full.to_owned(),
        short => format!("refs/names/{short}"),
    };
    check_name(&full)?;
    if full.ends_with("/current") || !OPEN_SPACES.iter().any(|space| full.starts_with(space)) {
        return Err(RepoError::invalid(format!(
            "{full} is not given by hand (open: {})",
            OPEN_SPACES.join(", ")
        )));
    }
    let mut transaction = repo.store().transaction()?;
    let id = resolve_in(repo, transaction.refs(), &options.id, Accept::ANY)?;
    check_free(transaction.refs(), &full, id, options.force)?;
    let previous = transaction.refs().get(&full)?;
    transaction.set(full.as_str(), id);
    transaction.commit("name", options.now_ms)?;
    Ok(NameFacts { name: full, id, previous })
}
