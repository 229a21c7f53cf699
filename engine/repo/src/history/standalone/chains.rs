//! The newest version of a residual, and the newest refinement of a claim (object model, section 13; workflow,
//! sections 6 and 7).
//!
//! Versions point backwards only, so the newest is found from the names: numbered ones, and `refs/keep`, which holds
//! versions that never had one.

use crate::history::graph::stored;
use crate::history::nodes;
use crate::names::{Kind, Namer};
use crate::{RepoError, Result};
use gemel_object::{Family, Gid, Limits, Object, ObjectBuilder, Value};
use gemel_store::{RefValue, Refs, Store};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// A chain from one of its versions on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// The newest version.
    pub(super) newest: Gid,
    /// The version asked about and every older one, then those between it and the newest.
    pub(super) versions: Vec<Gid>,
}

/// What a version says of its place.
#[derive(Clone, Debug)]
struct Link {
    id: Gid,
    older: Option<Gid>,
    created_at_ms: i64,
    /// Subject and predicate, of a claim.
    says: Option<(Option<String>, String)>,
}

impl Chain {
    /// The chain of the residual version `id`.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(super) fn of_residual(store: &Store, refs: &Refs, id: Gid) -> Result<Chain> {
        let read = |id: &Gid| {
            let node = nodes::residual(store, id)?;
            Ok(Link { id: *id, older: node.previous, created_at_ms: node.created_at_ms, says: None })
        };
        Chain::find(refs, id, Kind::Residual, &read)
    }

    /// The chain of the claim `id`: claims that supersede it and say the same of the same subject. One that says
    /// something else replaces it and is no version of it.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(super) fn of_claim(store: &Store, refs: &Refs, id: Gid) -> Result<Chain> {
        let read = |id: &Gid| {
            let node = nodes::claim(store, id)?;
            let says = Some((node.subject, node.predicate));
            Ok(Link { id: *id, older: node.supersedes, created_at_ms: node.created_at_ms, says })
        };
        Chain::find(refs, id, Kind::Claim, &read)
    }

    fn find(
        refs: &Refs,
        id: Gid,
        kind: Kind,
        read: &(impl Fn(&Gid) -> Result<Link> + Sync),
    ) -> Result<Chain> {
        let own = read(&id)?;
        let mut links: HashMap<Gid, Link> = HashMap::new();
        let named: Vec<Gid> = named(refs, kind, id.family())?.into_iter().collect();
        let read_named: Vec<Option<Link>> =
            named.par_iter().map(|id| stored(read(id))).collect::<Result<_>>()?;
        links.extend(read_named.into_iter().flatten().map(|link| (link.id, link)));
        // Versions between two named ones have no name any more.
        let mut open: Vec<Gid> = links.values().filter_map(|link| link.older).collect();
        while let Some(id) = open.pop() {
            if links.contains_key(&id) {
                continue;
            }
            if let Some(link) = stored(read(&id))? {
                open.extend(link.older);
                links.insert(id, link);
            }
        }
        let mut followers: HashMap<Gid, Vec<&Link>> = HashMap::new();
        for link in links.values() {
            if let Some(older) = link.older {
                followers.entry(older).or_default().push(link);
            }
        }
        let mut versions = vec![id];
        let mut at = own.older;
        while let Some(link) = at.filter(|id| !versions.contains(id)).and_then(|id| links.get(&id)) {
            if link.says != own.says {
                break;
            }
            versions.push(link.id);
            at = link.older;
        }
        let mut seen: HashSet<Gid> = versions.iter().copied().collect();
        let mut newest = id;
        loop {
            let next = followers.get(&newest).into_iter().flatten().filter(|link| link.says == own.says);
            match next.min_by_key(|link| (Reverse(link.created_at_ms), link.id)) {
                Some(next) if seen.insert(next.id) => {
                    newest = next.id;
                    versions.push(newest);
                }
                _ => return Ok(Chain { newest, versions }),
            }
        }
    }

    /// The numbered name that moves along the chain: the newest version's, else that of the version nearest to it.
    ///
    /// # Errors
    /// `Store`.
    pub(super) fn name(&self, store: &Store, refs: &Refs, kind: Kind) -> Result<Option<String>> {
        let namer = Namer::find(store, refs, self.versions.iter().copied())?;
        let is_numbered = |short: &String| {
            let full = format!("{}{short}", kind.namespace());
            Kind::of_name(&full).is_some_and(|(found, _)| found == kind)
        };
        let from_newest = [self.newest].into_iter().chain(self.versions.iter().rev().copied());
        Ok(from_newest.filter_map(|id| namer.get(&id)).find(is_numbered))
    }
}

/// Objects of `family` with a numbered name, or kept without one.
fn named(refs: &Refs, kind: Kind, family: Family) -> Result<HashSet<Gid>> {
    let numbered = format!("{}{}", kind.namespace(), kind.prefix());
    let kept = format!("refs/keep/{}/", family.name());
    let mut found = HashSet::new();
    for prefix in [numbered, kept] {
        for (_, value) in refs.scan(&prefix)? {
            found.extend(match value {
                Ok(RefValue::Id(id)) if id.family() == family => Some(id),
                _ => None,
            });
        }
    }
    Ok(found)
}

/// A new version of a stored object: every field is carried over, extensions too, except those in `without`, which
/// the caller sets.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(super) fn carried(store: &Store, id: &Gid, without: &[u8]) -> Result<ObjectBuilder> {
    let bytes = store.read(id)?;
    let object = Object::parse(&bytes, &Limits::DEFAULT)
        .map_err(|e| RepoError::CorruptObject { id: *id, detail: e.to_string() })?;
    let mut builder = ObjectBuilder::new(id.family());
    for field in object.record().fields().filter(|field| !without.contains(&field.tag)) {
        match field.value() {
            Some(Value::Extension(bytes)) => builder.body().ext(field.tag, bytes),
            Some(value) => builder.body().set(field.tag, value),
            None => builder.body(),
        };
    }
    Ok(builder)
}
