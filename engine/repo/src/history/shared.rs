//! What other repositories may see: the refs that are public, and everything reachable from given objects.

use crate::history::disclosure::{Stays, stays_here};
use crate::names::Kind;
use crate::{Repo, Result};
use gemel_object::{Family, Gid, refs_of};
use gemel_store::{RefValue, Store};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};

/// Refs that travel by their whole name.
const SHARED: [&str; 3] = ["refs/config", "refs/head", "refs/state/head"];

/// Namespaces whose refs travel.
const SHARED_SPACES: [&str; 7] = [
    "refs/cases/",
    "refs/checkpoints/",
    "refs/names/",
    "refs/reconciliations/",
    "refs/releases/",
    "refs/semantic/",
    "refs/trajectories/",
];

/// The refs that other repositories may see, by name. Mappings, workspaces, and what is known of remotes stay here, and
/// so do the numbers of producers: each repository has a `P1` of its own. A damaged ref is left out, and so is one that
/// names what is ephemeral.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn shared_refs(repo: &Repo) -> Result<Vec<(String, Gid)>> {
    let refs = repo.store().refs()?;
    let mut found = Vec::new();
    for name in SHARED {
        found.extend(refs.get(name)?.map(|id| (name.to_owned(), id)));
    }
    for space in SHARED_SPACES {
        for (name, value) in refs.scan(space)? {
            let of_producer = matches!(Kind::of_name(&name), Some((Kind::Producer, _)));
            if let Ok(RefValue::Id(id)) = value
                && !of_producer
            {
                found.push((name, id));
            }
        }
    }
    found.sort_unstable();
    let staying = staying(repo.store(), found.iter().map(|(_, id)| *id))?;
    found.retain(|(_, id)| !staying.contains(id));
    Ok(found)
}

/// What is ephemeral among some objects, with the manifests it was given.
fn staying(store: &Store, ids: impl Iterator<Item = Gid>) -> Result<HashSet<Gid>> {
    let ids: HashSet<Gid> =
        ids.filter(|id| matches!(id.family(), Family::AgentRun | Family::Change)).collect();
    let looked: Vec<Option<(Gid, Stays)>> = ids
        .par_iter()
        .map(|id| Ok(stays_here(store, id)?.map(|stays| (*id, stays))))
        .collect::<Result<_>>()?;
    let found = looked.into_iter().flatten();
    Ok(found.flat_map(|(id, stays)| [id].into_iter().chain(stays.manifest)).collect())
}

/// `seeds` and everything they lead to, ascending, without what is ephemeral and what only that leads to: others have
/// references to it and never the object.
///
/// # Errors
/// `Store`, with `NotFound` for an object that is named and not stored; `CorruptObject`.
pub fn closure(repo: &Repo, seeds: &[Gid]) -> Result<Vec<Gid>> {
    let mut reached: BTreeSet<Gid> = BTreeSet::new();
    let mut open = seeds.to_vec();
    let mut withheld: HashSet<Gid> = HashSet::new();
    while let Some(id) = open.pop() {
        if reached.contains(&id) {
            continue;
        }
        if let Some(stays) = stays_here(repo.store(), &id)? {
            withheld.extend(stays.manifest);
            continue;
        }
        if id.family() == Family::Blob {
            // Blobs lead nowhere, so that their bytes need not be read.
            if !repo.store().contains(&id)? {
                return Err(gemel_store::StoreError::NotFound { id }.into());
            }
        } else {
            let envelope = repo.store().read(&id)?;
            open.extend(refs_of(&envelope).map(|found| found.gid).filter(|id| !reached.contains(id)));
        }
        reached.insert(id);
    }
    Ok(reached.into_iter().filter(|id| !withheld.contains(id)).collect())
}
