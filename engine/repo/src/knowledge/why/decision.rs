//! Which decision a subject owes its shape to.

use super::node::DecisionFacts;
use crate::Result;
use crate::history::graph::stored;
use crate::history::nodes;
use crate::knowledge::world::World;
use crate::names::Namer;
use gemel_object::families::Reconciliation;
use gemel_object::{Family, Gid};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The newest named reconciliation that adopted, rejected or produced one of the changes.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(super) fn newest(world: &mut World<'_>, changes: &[Gid]) -> Result<Option<DecisionFacts>> {
    let mut candidates = BTreeSet::new();
    for change in changes {
        let sources = world.ledger()?.naming(change);
        candidates.extend(sources.into_iter().filter(|id| id.family() == Family::Reconciliation));
    }
    if candidates.is_empty() {
        return Ok(None);
    }
    let changes: BTreeSet<Gid> = changes.iter().copied().collect();
    let namer = Namer::find(world.store(), &world.refs, candidates.iter().copied())?;
    let mut newest: Option<((Reverse<i64>, Gid), DecisionFacts)> = None;
    for id in candidates {
        let Some(name) = namer.get(&id) else { continue };
        let read = nodes::read(world.store(), &id, |object| {
            let decision = Reconciliation::view(object)?;
            let mut about = decision.adopted_changes().iter().chain(decision.rejected_changes().iter());
            let concerned = about.any(|change| changes.contains(&change))
                || decision.resulting_change().is_some_and(|change| changes.contains(&change));
            let facts = DecisionFacts {
                id,
                name,
                summary: decision.summary().to_owned(),
                rationale: decision.rationale().map(str::to_owned),
            };
            Ok((concerned, decision.created_at().unwrap_or(0), facts))
        });
        let Some((true, created_at, facts)) = stored(read)? else { continue };
        let rank = (Reverse(created_at), id);
        if newest.as_ref().is_none_or(|(best, _)| rank < *best) {
            newest = Some((rank, facts));
        }
    }
    Ok(newest.map(|(_, facts)| facts))
}
