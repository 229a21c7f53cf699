//! The changes a repository knows (query surface, section 3.1).

use crate::Result;
use crate::history::graph::{Graph, stored};
use crate::history::lineage::named_trajectories;
use crate::history::nodes;
use gemel_object::families::Reconciliation;
use gemel_object::{Family, Gid};
use gemel_store::{RefValue, Refs};
use std::collections::BTreeSet;

/// Changes of every version of every named trajectory, the causal closure of head, results of named reconciliations,
/// and changes with a name.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn known_changes(graph: &mut Graph<'_>, refs: &Refs) -> Result<BTreeSet<Gid>> {
    let mut known: BTreeSet<Gid> = BTreeSet::new();
    for named in named_trajectories(refs)? {
        known.extend(graph.sequence(&named.id)?);
    }
    if let Some(head) = refs.get("refs/head")? {
        known.extend(graph.ancestors([head])?.changes.keys());
    }
    for (_, value) in refs.scan("refs/reconciliations/")? {
        let Ok(RefValue::Id(id)) = value else { continue };
        let result =
            nodes::read(graph.store(), &id, |object| Ok(Reconciliation::view(object)?.resulting_change()));
        known.extend(stored(result)?.flatten());
    }
    for (_, value) in refs.scan("refs/names/")? {
        match value {
            Ok(RefValue::Id(id)) if id.family() == Family::Change => {
                known.insert(id);
            }
            _ => {}
        }
    }
    Ok(known)
}
