//! Finding what refs lead to.

use super::facts::{Fact, Facts, is_member};
use crate::Result;
use gemel_object::Gid;
use gemel_store::{RefValue, Refs, Store};
use rayon::prelude::*;
use std::collections::HashSet;

/// Where knowledge is named. States, mappings and what a remote had lead to nothing else.
const SPACES: [&str; 8] = [
    "refs/head",
    "refs/names/",
    "refs/trajectories/",
    "refs/checkpoints/",
    "refs/reconciliations/",
    "refs/releases/",
    "refs/cases/",
    "refs/keep/",
];

/// Objects that one thread reads one after another.
const TOGETHER: usize = 64;

/// Adds everything that `refs` lead to. What is not stored is passed over.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(super) fn walk(store: &Store, refs: &Refs, facts: &mut Facts) -> Result<()> {
    let mut level: Vec<Gid> = Vec::new();
    for space in SPACES {
        for (_, value) in refs.scan(space)? {
            match value {
                Ok(RefValue::Id(id)) if is_member(id.family()) => level.push(id),
                _ => {}
            }
        }
    }
    let mut seen: HashSet<Gid> = HashSet::new();
    while !level.is_empty() {
        level.retain(|id| !facts.holds(id) && seen.insert(*id));
        let read: Vec<Vec<(Gid, Option<Fact>)>> = level
            .par_chunks(TOGETHER)
            .map(|part| part.iter().map(|id| Ok((*id, Fact::read(store, id)?))).collect())
            .collect::<Result<_>>()?;
        level.clear();
        for (id, fact) in read.into_iter().flatten() {
            let Some(mut fact) = fact else { continue };
            level.append(&mut fact.beyond);
            level.extend(fact.names.iter().filter(|id| is_member(id.family())));
            facts.add(id, fact);
        }
    }
    Ok(())
}
