//! From subjects and objects to what is recorded about them.
//!
//! Objects name what they are about; questions ask the other way round. The ledger knows, for everything that refs
//! lead to, which objects are about a subject and which name an object. It tells of more than is known (an object
//! stays in it when its last name goes), so whoever asks decides what counts. It holds nothing that the objects do not
//! say: with and without what is kept of it, the answers are the same (DER-06).

mod facts;
mod walk;

use crate::Result;
use facts::Facts;
use gemel_object::Gid;
use gemel_store::{Refs, Store};

pub(crate) use facts::reversed;

/// The facts of everything reachable.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    facts: Facts,
}

impl Ledger {
    /// Reads what `refs` lead to.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn open(store: &Store, refs: &Refs) -> Result<Ledger> {
        let mut ledger = Ledger::default();
        walk::walk(store, refs, &mut ledger.facts)?;
        Ok(ledger)
    }

    /// Objects about exactly `subject`: changes by the paths of their operations, claims, evidence, residuals by the
    /// paths of their scope. Ascending, each once, like the others below.
    pub(crate) fn about(&self, subject: &str) -> Vec<Gid> {
        sorted(self.facts.about(subject))
    }

    /// Objects about something below the path `path`.
    pub(crate) fn below(&self, path: &str) -> Vec<Gid> {
        sorted(self.facts.below(&format!("{path}/")))
    }

    /// Objects about something of which `subject` is a whole-segment `::` suffix.
    pub(crate) fn ending(&self, subject: &str) -> Vec<Gid> {
        let reversed = reversed(subject).unwrap_or_else(|| subject.to_owned());
        sorted(self.facts.ending(&format!("{reversed}::")))
    }

    /// Objects that name `id`, but for changes that have it as a parent.
    pub(crate) fn naming(&self, id: &Gid) -> Vec<Gid> {
        sorted(self.facts.naming(id))
    }

    /// Changes with an operation that names `id`.
    pub(crate) fn operating(&self, id: &Gid) -> Vec<Gid> {
        sorted(self.facts.operating(id))
    }
}

fn sorted(ids: impl Iterator<Item = Gid>) -> Vec<Gid> {
    let mut ids: Vec<Gid> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
