//! Where the inputs of a reconciliation start from (workflow, section 12).

use crate::knowledge::chains::Newest;
use crate::knowledge::world::World;
use crate::{RepoError, Result};
use gemel_object::Gid;
use std::collections::BTreeSet;

/// The input whose base all others start from: directly, or because they lie on one line with it. Contents are compared,
/// not states. `sequences` are the changes of each input.
///
/// # Errors
/// `Invalid` with each input and its base when they lie on no line; `Store`, `CorruptObject`.
pub(super) fn earliest(
    world: &mut World<'_>,
    inputs: &[Newest],
    sequences: &[Vec<Gid>],
) -> Result<Option<Gid>> {
    let mut places = Vec::with_capacity(inputs.len());
    for (input, sequence) in inputs.iter().zip(sequences) {
        let base = root(world, input.node.base)?;
        let mut reached = BTreeSet::from([base]);
        for change in sequence {
            let result = world.change(change)?.and_then(|change| change.result);
            reached.insert(root(world, result)?);
        }
        places.push((base, reached));
    }
    // An input hangs on another when it starts from a content that the other has.
    for (at, input) in inputs.iter().enumerate() {
        let mut joined = BTreeSet::from([at]);
        let mut open = vec![at];
        while let Some(on) = open.pop() {
            for (other, (base, _)) in places.iter().enumerate() {
                if places.get(on).is_some_and(|(_, reached)| reached.contains(base)) && joined.insert(other) {
                    open.push(other);
                }
            }
        }
        if joined.len() == inputs.len() {
            return Ok(input.node.base);
        }
    }
    let label = |base: Option<Gid>| base.map_or("nothing".to_owned(), |base| base.to_string());
    let each: Vec<String> =
        inputs.iter().map(|input| format!("{}: {}", input.name, label(input.node.base))).collect();
    let ids = inputs.iter().flat_map(|input| [Some(input.node.id), input.node.base]).flatten().collect();
    let detail = format!("invalid: trajectories do not share a base state ({})", each.join(", "));
    Err(RepoError::Invalid { detail, ids })
}

/// The content of a state; a state that is not stored stands for itself.
fn root(world: &mut World<'_>, state: Option<Gid>) -> Result<Option<Gid>> {
    match state {
        Some(state) => Ok(Some(world.graph.root(&state)?.unwrap_or(state))),
        None => Ok(None),
    }
}
