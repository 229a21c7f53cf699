//! What other repositories may see: the refs that are public, and everything reachable from given objects.

use crate::names::Kind;
use crate::{Repo, Result};
use gemel_object::{Family, Gid, refs_of};
use gemel_store::RefValue;
use std::collections::BTreeSet;

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
/// so do the numbers of producers: each repository has a `P1` of its own. A damaged ref is left out.
///
/// # Errors
/// `Store`.
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
    Ok(found)
}

/// `seeds` and everything they lead to, ascending.
///
/// # Errors
/// `Store`, with `NotFound` for an object that is named and not stored.
pub fn closure(repo: &Repo, seeds: &[Gid]) -> Result<Vec<Gid>> {
    let mut reached: BTreeSet<Gid> = BTreeSet::new();
    let mut open = seeds.to_vec();
    while let Some(id) = open.pop() {
        if reached.contains(&id) {
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
    Ok(reached.into_iter().collect())
}
