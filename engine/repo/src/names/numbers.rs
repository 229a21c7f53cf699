//! Giving numbered names: one more than the counter and than every number in use (workflow, section 1).
//!
//! Counters alone are hints, since refs may arrive without them; the refs know the largest number in use.

use crate::names::Kind;
use crate::{RepoError, Result};
use gemel_store::refs::local;
use gemel_store::{Refs, Transaction};
use std::collections::BTreeMap;

/// Numbers beyond this are labels: no counter gets there, and one label must not use up a kind's numbers.
const MAX_NUMBER: u64 = 999_999_999_999_999;

/// A name nobody has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewName {
    /// `refs/names/C1`.
    pub full: String,
    /// `C1`.
    pub short: String,
}

/// Hands out names under the lock; [`Allocator::save`] records what it handed out.
#[derive(Debug)]
pub struct Allocator {
    refs: Refs,
    counters: BTreeMap<Kind, u64>,
}

impl Allocator {
    /// Over the refs as they are under the lock.
    pub fn new(refs: &Refs) -> Allocator {
        Allocator { refs: refs.clone(), counters: BTreeMap::new() }
    }

    /// The next name of `kind`.
    ///
    /// # Errors
    /// `Limit` after 10^15 - 1 names; `Store`.
    pub fn next(&mut self, kind: Kind) -> Result<NewName> {
        let next = self.largest(kind)? + 1;
        if next > MAX_NUMBER {
            let what = format!("number of {} names", kind.key());
            return Err(RepoError::Limit { what, found: next, limit: MAX_NUMBER });
        }
        self.counters.insert(kind, next);
        let short = format!("{}{next}", kind.prefix());
        Ok(NewName { full: format!("{}{short}", kind.namespace()), short })
    }

    /// Adds the counters to the transaction that publishes the names.
    pub fn save(&self, transaction: &mut Transaction) {
        for (kind, counter) in &self.counters {
            let name = format!("{}{}", local::COUNTERS, kind.key());
            transaction.set_record(name, counter.to_string().into_bytes());
        }
    }

    fn largest(&self, kind: Kind) -> Result<u64> {
        if let Some(counter) = self.counters.get(&kind) {
            return Ok(*counter);
        }
        // A counter that does not read counts as 0.
        let record = self.refs.record(&format!("{}{}", local::COUNTERS, kind.key())).unwrap_or_default();
        let counter =
            record.and_then(|bytes| number(std::str::from_utf8(&bytes).ok()?.trim_end())).unwrap_or(0);
        let used = match self.refs.max_number(kind.namespace().trim_end_matches('/'), kind.prefix())? {
            label if label > MAX_NUMBER => self.count_names(kind)?,
            used => used,
        };
        Ok(counter.max(used))
    }

    /// The largest number in use among those that are no labels.
    fn count_names(&self, kind: Kind) -> Result<u64> {
        let start = format!("{}{}", kind.namespace(), kind.prefix());
        let names = self.refs.scan(&start)?.filter_map(|(name, _)| Kind::of_name(&name));
        Ok(names.filter(|(found, _)| *found == kind).map(|(_, number)| number).max().unwrap_or(0))
    }
}

/// Reads a number as names carry it: decimal, without leading zero.
pub(super) fn number(digits: &str) -> Option<u64> {
    let canonical = digits == "0" || !digits.starts_with(['0', '+']);
    let number: u64 = digits.parse().ok()?;
    (canonical && number <= MAX_NUMBER).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_names() {
        for (name, expected) in [
            ("refs/names/C1", Some((Kind::Change, 1))),
            ("refs/names/Cl12", Some((Kind::Claim, 12))),
            ("refs/names/E7", Some((Kind::Evidence, 7))),
            ("refs/names/Env7", Some((Kind::Environment, 7))),
            ("refs/names/R3", Some((Kind::Residual, 3))),
            ("refs/names/P1", Some((Kind::Producer, 1))),
            ("refs/trajectories/T10", Some((Kind::Trajectory, 10))),
            ("refs/releases/Rl2", Some((Kind::Release, 2))),
            ("refs/reconciliations/Re2", Some((Kind::Reconciliation, 2))),
            ("refs/checkpoints/K9", Some((Kind::Checkpoint, 9))),
            ("refs/names/C0", Some((Kind::Change, 0))),
            ("refs/names/C01", None),
            ("refs/names/C", None),
            ("refs/names/C-1", None),
            ("refs/names/x/C1", None),
            ("refs/names/T1", None),
            ("refs/names/c1", None),
            ("refs/names/C1x", None),
            ("refs/names/S18446744073709551615", None),
            ("refs/names/S99999999999999999999999", None),
            ("refs/names/é1", None),
            ("7", None),
            ("", None),
        ] {
            assert_eq!(Kind::of_name(name), expected, "{name}");
        }
    }
}
