//! The changes a repository knows (query surface, section 3.1).

use crate::Result;
use crate::history::graph::{ChangeSet, Graph, stored};
use crate::history::lineage::named_trajectories;
use crate::history::nodes;
use crate::names::Kind;
use gemel_object::families::Reconciliation;
use gemel_object::{Family, Gid};
use gemel_store::{RefValue, Refs};

/// Changes of every version of every named trajectory, the causal closure of head, results of named reconciliations,
/// and changes named `C<n>`.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn known_changes(graph: &mut Graph<'_>, refs: &Refs) -> Result<ChangeSet> {
    let mut known = graph.ancestors(refs.get("refs/head")?)?;
    for named in named_trajectories(refs)? {
        graph.include_sequence(&mut known, &named.id)?;
    }
    let mut others: Vec<Gid> = Vec::new();
    for (_, value) in refs.scan(Kind::Reconciliation.namespace())? {
        let Ok(RefValue::Id(id)) = value else { continue };
        let result =
            nodes::read(graph.store(), &id, |object| Ok(Reconciliation::view(object)?.resulting_change()));
        others.extend(stored(result)?.flatten());
    }
    for (_, value) in refs.scan(&format!("{}{}", Kind::Change.namespace(), Kind::Change.prefix()))? {
        match value {
            Ok(RefValue::Id(id)) if id.family() == Family::Change => others.push(id),
            _ => {}
        }
    }
    graph.include(&mut known, others)?;
    Ok(known)
}
