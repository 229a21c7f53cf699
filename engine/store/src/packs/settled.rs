//! How far packs are durable (docs/STORAGE.md, "Watermarks").
//!
//! A batch can be seen before its session has synced it, and after a session that never did. A writer that found an
//! object there and did not write it again would acknowledge what a loss of power takes away. So each ref
//! transaction, which follows the syncs of its sessions, records where their packs end, and writers rely on nothing
//! behind.

use crate::{RefValue, Refs, Result};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Records are kept under this prefix, by pack number.
const PREFIX: &str = "local/packs/";

/// What this process has committed.
#[derive(Debug, Default)]
pub(crate) struct Settled(Mutex<BTreeMap<u64, u64>>);

impl Settled {
    /// Notes that a pack is durable up to `end`.
    pub(crate) fn note(&self, number: u64, end: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = known.entry(number).or_insert(end);
        *entry = (*entry).max(end);
    }

    /// Forgets a pack that another has replaced.
    pub(crate) fn forget(&self, number: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    /// The records a transaction on top of `refs` adds: watermarks only rise. A pack that a repack has replaced since,
    /// which `stands` tells, has none.
    pub(crate) fn records(&self, refs: &Refs, stands: impl Fn(u64) -> bool) -> Vec<(String, Vec<u8>)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded =
            |number: u64| refs.record(&record_name(number)).ok().flatten().and_then(|bytes| end_of(&bytes));
        let raised = known
            .iter()
            .filter(|(number, end)| recorded(**number).is_none_or(|old| old < **end) && stands(**number));
        raised.map(|(number, end)| (record_name(*number), end.to_string().into_bytes())).collect()
    }

    /// What refs record, and what this process knows beyond.
    ///
    /// # Errors
    /// Those of scanning refs. A record that is no number counts as absent.
    pub(crate) fn with(&self, refs: &Refs) -> Result<BTreeMap<u64, u64>> {
        let mut ends = recorded(refs)?;
        for (number, end) in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let entry = ends.entry(*number).or_insert(*end);
            *entry = (*entry).max(*end);
        }
        Ok(ends)
    }
}

/// What refs record: the end of each pack that has been acknowledged.
///
/// # Errors
/// Those of scanning refs. A record that is no number counts as absent.
pub(crate) fn recorded(refs: &Refs) -> Result<BTreeMap<u64, u64>> {
    let mut ends = BTreeMap::new();
    for (name, value) in refs.scan(PREFIX)? {
        let Ok(RefValue::Record(bytes)) = value else { continue };
        let number = name.strip_prefix(PREFIX).and_then(|n| n.parse().ok());
        if let (Some(number), Some(end)) = (number, end_of(&bytes)) {
            ends.insert(number, end);
        }
    }
    Ok(ends)
}

/// The name of the record of a pack.
pub(crate) fn record_name(number: u64) -> String {
    format!("{PREFIX}{number:08}")
}

fn end_of(record: &[u8]) -> Option<u64> {
    std::str::from_utf8(record).ok()?.parse().ok()
}
