//! What the verbs share: arguments to identities, an object to its name, work under the lock.

use crate::history::objects::put;
pub(super) use crate::history::objects::{cannot_make, sorted};
use crate::names::{Accept, Allocator, Kind, Namer, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::{Disclosure, Encoded, EnumSet, Family, Gid, Limits};
use gemel_store::{Refs, Store, Transaction, Writer};

/// What was recorded, or was there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The object.
    pub id: Gid,
    /// Its name.
    pub name: String,
}

/// The repository as it is while arguments are read.
pub(super) struct Desk<'r> {
    pub(super) repo: &'r Repo,
    pub(super) refs: Refs,
    pub(super) limits: Limits,
    pub(super) now_ms: i64,
}

impl<'r> Desk<'r> {
    pub(super) fn open(repo: &'r Repo, now_ms: i64) -> Result<Desk<'r>> {
        let refs = repo.store().refs()?;
        let limits = repo.limits(&refs)?;
        Ok(Desk { repo, refs, limits, now_ms })
    }

    pub(super) fn store(&self) -> &'r Store {
        self.repo.store()
    }

    /// The object of `family` that `text` names.
    pub(super) fn id(&self, text: &str, family: Family) -> Result<Gid> {
        resolve_in(self.repo, &self.refs, text, Accept::only(family))
    }

    pub(super) fn optional(&self, text: Option<&str>, family: Family) -> Result<Option<Gid>> {
        text.map(|text| self.id(text, family)).transpose()
    }

    /// Objects of `family`, ascending and each once.
    pub(super) fn ids(&self, texts: &[String], family: Family) -> Result<Vec<Gid>> {
        self.set(texts, Accept::only(family))
    }

    /// Objects of any family, ascending and each once.
    pub(super) fn any(&self, texts: &[String]) -> Result<Vec<Gid>> {
        self.set(texts, Accept::ANY)
    }

    fn set(&self, texts: &[String], accept: Accept) -> Result<Vec<Gid>> {
        let found = texts.iter().map(|text| resolve_in(self.repo, &self.refs, text, accept));
        Ok(sorted(found.collect::<Result<_>>()?))
    }

    /// Who acts: the producer named, else the default one.
    pub(super) fn producer(&self, text: Option<&str>) -> Result<Gid> {
        self.repo.producer(&self.refs, text, None)
    }

    /// Makes an object durable and gives it a name of its kind; one that has a name keeps it. `also` adds to the
    /// transaction.
    pub(super) fn keep(
        &self,
        command: &str,
        kind: Kind,
        object: &Encoded,
        also: impl FnOnce(&mut Transaction) -> Result<()>,
    ) -> Result<Made> {
        let is_known = self.store().contains(&object.id)?;
        if !is_known {
            let writer = self.store().writer()?;
            put(&writer, object)?;
            writer.commit()?;
        }
        let mut transaction = self.store().transaction()?;
        let mut names = Allocator::new(transaction.refs());
        let known = if is_known { name_of(self.store(), transaction.refs(), object.id)? } else { None };
        let name = match known {
            Some(name) => name,
            None => {
                let name = names.next(kind)?;
                transaction.set(name.full, object.id);
                name.short
            }
        };
        also(&mut transaction)?;
        names.save(&mut transaction);
        transaction.commit(command, self.now_ms)?;
        Ok(Made { id: object.id, name })
    }

    /// Takes the lock, for a decision that other writers must not overtake.
    pub(super) fn lock(&self) -> Result<Locked<'r>> {
        let writer = self.store().writer()?;
        let transaction = self.store().transaction()?;
        let names = Allocator::new(transaction.refs());
        Ok(Locked { store: self.store(), writer, transaction, names, now_ms: self.now_ms })
    }
}

/// Work under the lock: objects put here become durable, and names set here visible, together.
pub(super) struct Locked<'r> {
    pub(super) store: &'r Store,
    writer: Writer<'r>,
    pub(super) transaction: Transaction,
    names: Allocator,
    pub(super) now_ms: i64,
}

impl Locked<'_> {
    pub(super) fn refs(&self) -> &Refs {
        self.transaction.refs()
    }

    pub(super) fn put(&self, object: &Encoded) -> Result<()> {
        put(&self.writer, object)
    }

    /// A name of `kind` that nobody has.
    pub(super) fn next(&mut self, kind: Kind) -> Result<crate::names::NewName> {
        self.names.next(kind)
    }

    /// The name of an object, which it gets if it has none.
    pub(super) fn name(&mut self, kind: Kind, id: Gid) -> Result<String> {
        if let Some(name) = name_of(self.store, self.transaction.refs(), id)? {
            return Ok(name);
        }
        let name = self.names.next(kind)?;
        self.transaction.set(name.full, id);
        Ok(name.short)
    }

    pub(super) fn commit(mut self, command: &str) -> Result<()> {
        self.writer.commit()?;
        self.names.save(&mut self.transaction);
        self.transaction.commit(command, self.now_ms)?;
        Ok(())
    }
}

fn name_of(store: &Store, refs: &Refs, id: Gid) -> Result<Option<String>> {
    Ok(Namer::find(store, refs, [id])?.get(&id))
}

/// Refuses text that says nothing.
///
/// # Errors
/// `Invalid`, naming `flag`.
pub(super) fn said<'t>(flag: &str, text: &'t str) -> Result<&'t str> {
    if text.trim().is_empty() {
        return Err(RepoError::invalid(format!("{flag} is empty")));
    }
    Ok(text)
}

/// Refuses a list with a text that says nothing.
///
/// # Errors
/// `Invalid`, naming `flag`.
pub(super) fn all_said(flag: &str, texts: &[String]) -> Result<()> {
    texts.iter().try_for_each(|text| said(flag, text).map(drop))
}

/// Reads a value of an enumeration.
///
/// # Errors
/// `EnumValue`, naming the set.
pub(super) fn value<T>(
    field: &'static str,
    text: &str,
    read: fn(&str) -> Option<T>,
    set: &'static EnumSet,
) -> Result<T> {
    read(text).ok_or_else(|| RepoError::EnumValue { field, value: text.to_owned(), allowed: set.values })
}

/// Reads a disclosure.
///
/// # Errors
/// `EnumValue`.
pub(super) fn disclosure(text: &str) -> Result<Disclosure> {
    value("disclosure", text, Disclosure::from_text, Disclosure::SET)
}

/// Reads `NAME=VERSION`.
///
/// # Errors
/// `Invalid`, naming `flag`.
pub(super) fn pair<'t>(flag: &str, text: &'t str) -> Result<(&'t str, &'t str)> {
    match text.split_once('=') {
        Some((name, version)) if !name.is_empty() && !version.is_empty() => Ok((name, version)),
        _ => Err(RepoError::invalid(format!("{flag} {text:?} is not NAME=VERSION"))),
    }
}
