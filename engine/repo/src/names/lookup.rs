//! From identities to the names refs give them.

use crate::names::Kind;
use crate::{Repo, Result};
use gemel_object::{Family, Gid};
use gemel_store::{RefValue, Refs};
use std::collections::HashMap;

/// The name of an object without its namespace: the lowest numbered one, else the first label; `None` if no ref names
/// it. `current` names and `head` refs are no names.
///
/// # Errors
/// `Store`.
pub fn name_of(repo: &Repo, id: &Gid) -> Result<Option<String>> {
    Ok(Namer::find(&repo.store().refs()?, [*id])?.get(id))
}

/// Names of a set of objects, found in one pass over the refs.
#[derive(Debug, Default)]
pub(crate) struct Namer {
    names: HashMap<Gid, String>,
}

impl Namer {
    /// Looks the names of `ids` up.
    ///
    /// # Errors
    /// `Store`. A damaged ref names nothing.
    pub(crate) fn find(refs: &Refs, ids: impl IntoIterator<Item = Gid>) -> Result<Namer> {
        // Rank: numbered names by number, then labels by bytes.
        let mut best: HashMap<Gid, Option<(bool, u64, String)>> =
            ids.into_iter().map(|id| (id, None)).collect();
        let mut open: Vec<Family> = best.keys().map(Gid::family).collect();
        open.sort_unstable();
        open.dedup();
        let mut prefixes: Vec<String> = open.iter().filter_map(|family| numbered(*family)).collect();
        for _ in 0..2 {
            for prefix in &prefixes {
                offer_all(refs, prefix, &mut best)?;
            }
            // Some may have labels only: look through all their namespaces.
            let is_numbered = |name: &Option<(bool, u64, String)>| matches!(name, Some((false, ..)));
            prefixes = best
                .iter()
                .filter(|(_, name)| !is_numbered(name))
                .map(|(id, _)| space(id.family()))
                .collect();
            if !prefixes.is_empty() {
                prefixes.push("refs/names/".to_owned());
            }
            prefixes.sort_unstable();
            prefixes.dedup();
        }
        let names = best.into_iter().filter_map(|(id, name)| Some((id, name?.2))).collect();
        Ok(Namer { names })
    }

    /// The name of `id`, which was among those looked up.
    pub(crate) fn get(&self, id: &Gid) -> Option<String> {
        self.names.get(id).cloned()
    }

    /// The identity with its name.
    pub(crate) fn named(&self, id: Gid) -> crate::Named {
        crate::Named { id, name: self.get(&id) }
    }
}

fn offer_all(refs: &Refs, prefix: &str, best: &mut HashMap<Gid, Option<(bool, u64, String)>>) -> Result<()> {
    for (name, value) in refs.scan(prefix)? {
        let Ok(RefValue::Id(id)) = value else { continue };
        let Some(slot) = best.get_mut(&id) else { continue };
        let short = match name.strip_prefix(&space(id.family())).or_else(|| name.strip_prefix("refs/names/"))
        {
            Some("current") | None => continue,
            Some(short) => short.to_owned(),
        };
        let rank = match Kind::of_name(&name) {
            Some((_, number)) => (false, number, short),
            None => (true, 0, short),
        };
        if slot.as_ref().is_none_or(|old| rank < *old) {
            *slot = Some(rank);
        }
    }
    Ok(())
}

/// Namespace of the names of a family.
fn space(family: Family) -> String {
    match family {
        Family::Trajectory => "refs/trajectories/",
        Family::Checkpoint => "refs/checkpoints/",
        Family::Case => "refs/cases/",
        Family::Release => "refs/releases/",
        Family::Reconciliation => "refs/reconciliations/",
        Family::Mapping => "refs/mappings/",
        _ => "refs/names/",
    }
    .to_owned()
}

/// Start of the numbered names of a family: most objects have one, and there are fewer of these than of all names.
fn numbered(family: Family) -> Option<String> {
    let kind = match family {
        Family::Intent => Kind::Intent,
        Family::Change => Kind::Change,
        Family::State => Kind::State,
        Family::Trajectory => Kind::Trajectory,
        Family::Checkpoint => Kind::Checkpoint,
        Family::Reconciliation => Kind::Reconciliation,
        Family::Release => Kind::Release,
        Family::Claim => Kind::Claim,
        Family::Evidence => Kind::Evidence,
        Family::Residual => Kind::Residual,
        Family::AgentRun => Kind::AgentRun,
        Family::ContextManifest => Kind::ContextManifest,
        Family::Environment => Kind::Environment,
        Family::Producer => Kind::Producer,
        _ => return None,
    };
    Some(format!("{}{}", kind.namespace(), kind.prefix()))
}
