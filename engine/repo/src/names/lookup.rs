//! From identities to the names refs give them.

use crate::names::Kind;
use crate::names::reverse::Reverse;
use crate::{Repo, Result};
use gemel_object::{Family, Gid};
use gemel_store::refs::check_name;
use gemel_store::{RefValue, Refs, Store};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Numbered names tried from the newest down before a whole namespace is walked: what is asked for is recent mostly.
const PROBES: usize = 256;

/// Up to this many numbered names are walked as a whole to find the label and the earliest name of a state; with more
/// of them a state goes by the earliest of the newest ones.
const MAX_WALKED: u64 = 20_000;

/// The name of an object without its namespace, `None` if no ref names it. A state may have several: it goes by its
/// first label, else by its earliest number, so that recording it again changes nothing in answers. Everything else goes
/// by its number, else by its first label. `current` names and `head` refs are no names.
///
/// # Errors
/// `Store`.
pub fn name_of(repo: &Repo, id: &Gid) -> Result<Option<String>> {
    NameBook::open(repo)?.name(id)
}

/// The names of one moment, for whoever asks for many of them one after another.
#[derive(Debug)]
pub struct NameBook {
    refs: Refs,
    reverse: Option<Arc<Reverse>>,
}

impl NameBook {
    /// The names as they are now.
    ///
    /// # Errors
    /// `Store`.
    pub fn open(repo: &Repo) -> Result<NameBook> {
        let refs = repo.store().refs()?;
        let reverse = Reverse::load(repo.store(), &refs)?;
        Ok(NameBook { refs, reverse })
    }

    /// As [`name_of`].
    ///
    /// # Errors
    /// `Store`.
    pub fn name(&self, id: &Gid) -> Result<Option<String>> {
        Ok(Namer::find_in(self.reverse.as_deref(), &self.refs, [*id])?.get(id))
    }
}

/// Names of a set of objects.
#[derive(Debug, Default)]
pub(crate) struct Namer {
    names: HashMap<Gid, String>,
}

impl Namer {
    /// Looks the names of `ids` up.
    ///
    /// # Errors
    /// `Store`. A damaged ref names nothing.
    pub(crate) fn find(store: &Store, refs: &Refs, ids: impl IntoIterator<Item = Gid>) -> Result<Namer> {
        Namer::find_in(Reverse::load(store, refs)?.as_deref(), refs, ids)
    }

    fn find_in(reverse: Option<&Reverse>, refs: &Refs, ids: impl IntoIterator<Item = Gid>) -> Result<Namer> {
        let mut open: HashMap<Family, HashSet<Gid>> = HashMap::new();
        let mut namer = Namer::default();
        for id in ids {
            match reverse.filter(|_| Reverse::covers(id.family())) {
                Some(reverse) => namer.names.extend(reverse.name(&id).map(|name| (id, name.to_owned()))),
                None => drop(open.entry(id.family()).or_default().insert(id)),
            }
        }
        for (family, wanted) in &mut open {
            if *family == Family::State && is_walkable(refs)? {
                namer.walk_states(refs, wanted)?;
                continue;
            }
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

    /// Remembers a name that was given since.
    pub(crate) fn add(&mut self, id: Gid, name: String) {
        self.names.insert(id, name);
    }

    /// The identity with its name.
    pub(crate) fn named(&self, id: Gid) -> crate::Named {
        crate::Named { id, name: self.get(&id) }
    }

    /// Looks for the labels and the earliest numbers of states.
    fn walk_states(&mut self, refs: &Refs, wanted: &HashSet<Gid>) -> Result<()> {
        let space = Kind::State.namespace();
        let mut earliest: HashMap<Gid, u64> = HashMap::new();
        for (name, value) in refs.scan(space)? {
            let Ok(RefValue::Id(id)) = value else { continue };
            if !wanted.contains(&id) {
                continue;
            }
            match Kind::of_name(&name) {
                Some((_, number)) => {
                    earliest.entry(id).and_modify(|old| *old = number.min(*old)).or_insert(number);
                }
                // Ascending: the first that comes is the first label.
                None => {
                    let short = name.strip_prefix(space).unwrap_or(&name);
                    self.names.entry(id).or_insert_with(|| short.to_owned());
                }
            }
        }
        for (id, number) in earliest {
            self.names.entry(id).or_insert_with(|| format!("{}{number}", Kind::State.prefix()));
        }
        Ok(())
    }

    /// Tries the newest numbers, downwards.
    fn probe(&mut self, refs: &Refs, kind: Kind, wanted: &mut HashSet<Gid>) -> Result<()> {
        let mut number = refs.max_number(kind.namespace().trim_end_matches('/'), kind.prefix())?;
        let mut found = HashSet::new();
        for _ in 0..PROBES.saturating_add(wanted.len().saturating_mul(2)) {
            // Only states have several numbers.
            if number == 0 || kind != Kind::State && found.len() == wanted.len() {
                break;
            }
            let short = format!("{}{number}", kind.prefix());
            if let Ok(Some(id)) = refs.get(&format!("{}{short}", kind.namespace()))
                && wanted.contains(&id)
            {
                found.insert(id);
                self.names.insert(id, short);
            }
            number -= 1;
        }
        wanted.retain(|id| !found.contains(id));
        Ok(())
    }

    /// Looks through all numbers of a kind.
    fn walk_numbers(&mut self, refs: &Refs, kind: Kind, wanted: &mut HashSet<Gid>) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let mut earliest: HashMap<Gid, u64> = HashMap::new();
        for (name, value) in refs.scan(&format!("{}{}", kind.namespace(), kind.prefix()))? {
            if let Ok(RefValue::Id(id)) = value
                && wanted.contains(&id)
                && let Some((_, number)) = Kind::of_name(&name).filter(|(found, _)| *found == kind)
            {
                earliest.entry(id).and_modify(|old| *old = number.min(*old)).or_insert(number);
            }
        }
        for (id, number) in earliest {
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

/// Whether the namespace of states is small enough to be walked for every answer.
fn is_walkable(refs: &Refs) -> Result<bool> {
    let mut names = 0u64;
    for kind in Kind::ALL.into_iter().filter(|kind| kind.namespace() == Kind::State.namespace()) {
        names = names.saturating_add(refs.max_number(kind.namespace().trim_end_matches('/'), kind.prefix())?);
    }
    Ok(names <= MAX_WALKED)
}

/// What the user typed, bare or as a full ref path, if it is a name of `id`: an answer then calls it that. `current`
/// names are none.
///
/// # Errors
/// `Store`.
pub(crate) fn typed(refs: &Refs, id: Gid, typed: Option<&str>) -> Result<Option<String>> {
    let Some(typed) = typed else { return Ok(None) };
    for space in [own_space(id.family()), "refs/names/"] {
        let short = typed.strip_prefix(space).unwrap_or(typed);
        let full = format!("{space}{short}");
        if short != "current" && check_name(&full).is_ok() && refs.get(&full)? == Some(id) {
            return Ok(Some(short.to_owned()));
        }
    }
    Ok(None)
}

/// Namespace of the names of a family.
pub(super) fn own_space(family: Family) -> &'static str {
    match family {
        Family::Case => "refs/cases/",
        Family::Mapping => "refs/mappings/",
        _ => Kind::of_family(family).map_or("refs/names/", Kind::namespace),
    }
}
