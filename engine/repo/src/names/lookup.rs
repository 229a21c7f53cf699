//! From identities to the names refs give them.

use crate::names::Kind;
use crate::{Repo, Result};
use gemel_object::{Family, Gid};
use gemel_store::{RefValue, Refs};
use std::collections::{HashMap, HashSet};

/// Numbered names tried from the newest down before a whole namespace is walked: what is asked for is recent mostly.
const PROBES: usize = 256;

/// The name of an object without its namespace: of numbered names the one given last, else the first label; `None` if
/// no ref names it. `current` names and `head` refs are no names.
///
/// # Errors
/// `Store`.
pub fn name_of(repo: &Repo, id: &Gid) -> Result<Option<String>> {
    Ok(Namer::find(&repo.store().refs()?, [*id])?.get(id))
}

/// Names of a set of objects.
#[derive(Debug, Default)]
pub(crate) struct Namer {
    names: HashMap<Gid, String>,
}

impl Namer {
    /// Looks the names of `ids` up: first the newest numbers of their kinds, then all numbers, then all labels.
    ///
    /// # Errors
    /// `Store`. A damaged ref names nothing.
    pub(crate) fn find(refs: &Refs, ids: impl IntoIterator<Item = Gid>) -> Result<Namer> {
        let mut open: HashMap<Family, HashSet<Gid>> = HashMap::new();
        for id in ids {
            open.entry(id.family()).or_default().insert(id);
        }
        let mut namer = Namer::default();
        for (family, wanted) in &mut open {
            if let Some(kind) = Kind::of_family(*family) {
                namer.probe(refs, kind, wanted)?;
                namer.walk_numbers(refs, kind, wanted)?;
            }
            namer.walk_labels(refs, *family, wanted)?;
        }
        Ok(namer)
    }

    /// The name of `id`, which was among those looked up.
    pub(crate) fn get(&self, id: &Gid) -> Option<String> {
        self.names.get(id).cloned()
    }

    /// The identity with its name.
    pub(crate) fn named(&self, id: Gid) -> crate::Named {
        crate::Named { id, name: self.get(&id) }
    }

    /// Tries the newest numbers, downwards.
    fn probe(&mut self, refs: &Refs, kind: Kind, wanted: &mut HashSet<Gid>) -> Result<()> {
        let mut number = refs.max_number(kind.namespace().trim_end_matches('/'), kind.prefix())?;
        for _ in 0..PROBES.saturating_add(wanted.len().saturating_mul(2)) {
            if number == 0 || wanted.is_empty() {
                break;
            }
            let short = format!("{}{number}", kind.prefix());
            if let Ok(Some(id)) = refs.get(&format!("{}{short}", kind.namespace()))
                && wanted.remove(&id)
            {
                self.names.insert(id, short);
            }
            number -= 1;
        }
        Ok(())
    }

    /// Looks through all numbers of a kind.
    fn walk_numbers(&mut self, refs: &Refs, kind: Kind, wanted: &mut HashSet<Gid>) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let mut best: HashMap<Gid, u64> = HashMap::new();
        for (name, value) in refs.scan(&format!("{}{}", kind.namespace(), kind.prefix()))? {
            if let Ok(RefValue::Id(id)) = value
                && wanted.contains(&id)
                && let Some((_, number)) = Kind::of_name(&name).filter(|(found, _)| *found == kind)
            {
                best.entry(id).and_modify(|old| *old = number.max(*old)).or_insert(number);
            }
        }
        for (id, number) in best {
            wanted.remove(&id);
            self.names.insert(id, format!("{}{number}", kind.prefix()));
        }
        Ok(())
    }

    /// Looks through the labels that objects of a family may have.
    fn walk_labels(&mut self, refs: &Refs, family: Family, wanted: &mut HashSet<Gid>) -> Result<()> {
        for space in [own_space(family), "refs/names/"] {
            if wanted.is_empty() {
                return Ok(());
            }
            let mut found = Vec::new();
            for (name, value) in refs.scan(space)? {
                if let Ok(RefValue::Id(id)) = value
                    && wanted.contains(&id)
                    && let Some(short) = name.strip_prefix(space).filter(|short| *short != "current")
                {
                    // Ascending: the first that comes is the first label.
                    self.names.entry(id).or_insert_with(|| short.to_owned());
                    found.push(id);
                }
            }
            found.iter().for_each(|id| {
                wanted.remove(id);
            });
        }
        Ok(())
    }
}

/// Namespace of the names of a family.
fn own_space(family: Family) -> &'static str {
    match family {
        Family::Case => "refs/cases/",
        Family::Mapping => "refs/mappings/",
        _ => Kind::of_family(family).map_or("refs/names/", Kind::namespace),
    }
}
