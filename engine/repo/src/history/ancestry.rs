//! Whether one change leads to another.

use crate::history::graph::Graph;
use crate::{Repo, Result};
use gemel_object::Gid;

/// Whether `ancestor` is `change` or leads to it over causal parents.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn leads_to(repo: &Repo, ancestor: &Gid, change: &Gid) -> Result<bool> {
    let mut graph = Graph::new(repo.store());
    let ancestors = graph.ancestors([*change])?;
    Ok(graph.holds(&ancestors, ancestor))
}
