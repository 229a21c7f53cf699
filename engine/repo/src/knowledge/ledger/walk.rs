//! Finding what refs lead to.

use super::facts::{Fact, is_member};
use crate::Result;
use gemel_object::Gid;
use gemel_store::{RefValue, Refs, RefsMark, Store};
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

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) facts: Vec<(Gid, Fact)>,
    /// Led to, and not stored.
    pub(super) missing: Vec<Gid>,
}

/// Everything that is named.
///
/// # Errors
/// `Store`.
pub(super) fn named(refs: &Refs) -> Result<Vec<Gid>> {
    let mut found = Vec::new();
    for space in SPACES {
        for (_, value) in refs.scan(space)? {
            match value {
                Ok(RefValue::Id(id)) if is_member(id.family()) => found.push(id),
                _ => {}
            }
        }
    }
    Ok(found)
}

/// What was named since `mark`, and how many names that took to look at.
pub(super) fn named_since(refs: &Refs, mark: &RefsMark) -> (Vec<Gid>, usize) {
    let since = refs.since(mark);
    let looked_at = since.len();
    let found = since.into_iter().filter_map(|(name, value)| match value {
        Ok(Some(RefValue::Id(id)))
            if is_member(id.family()) && SPACES.iter().any(|space| name.starts_with(space)) =>
        {
            Some(id)
        }
        _ => None,
    });
    (found.collect(), looked_at)
}

/// Everything that `start` leads to and `holds` does not tell of. Level by level, and each level on all cores.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(super) fn walk(store: &Store, start: Vec<Gid>, holds: impl Fn(&Gid) -> bool) -> Result<Found> {
    let (mut level, mut found, mut seen) = (start, Found::default(), HashSet::new());
    while !level.is_empty() {
        level.retain(|id| !holds(id) && seen.insert(*id));
        let read: Vec<Vec<(Gid, Option<Fact>)>> = level
            .par_chunks(TOGETHER)
            .map(|part| part.iter().map(|id| Ok((*id, Fact::read(store, id)?))).collect())
            .collect::<Result<_>>()?;
        level.clear();
        for (id, fact) in read.into_iter().flatten() {
            let Some(mut fact) = fact else {
                found.missing.push(id);
                continue;
            };
            level.append(&mut fact.beyond);
            level.extend(fact.names.iter().filter(|id| is_member(id.family())));
            found.facts.push((id, fact));
        }
    }
    Ok(found)
}
