//! The refs at one moment, for reading.

use super::RefValue;
use super::codec::Stored;
use super::files::Loaded;
use super::merge::{Merge, Source};
use super::name::check_name;
use super::namespace::{self, Rule};
use super::table::{Counters, Cursor, split_numbered};
use crate::{Result, StoreError};
use gemel_object::Gid;
use std::ops::Bound;
use std::sync::Arc;

/// An immutable view of all refs at one moment. Cheap to clone; never locks.
#[derive(Clone, Debug)]
pub struct Refs {
    pub(super) loaded: Arc<Loaded>,
}

impl Refs {
    pub(super) fn new(loaded: Loaded) -> Refs {
        Refs { loaded: Arc::new(loaded) }
    }

    /// The identity `name` points to.
    ///
    /// # Errors
    /// `InvalidRefName`; `CorruptRef` when the value is no identity of a family the namespace holds (REF-05);
    /// `CorruptFile` when the part of a table that may hold it is damaged.
    pub fn get(&self, name: &str) -> Result<Option<Gid>> {
        match self.value(name)? {
            Some(RefValue::Id(id)) => Ok(Some(id)),
            Some(RefValue::Record(_)) => Err(corrupt_ref(name, "holds a record, not an identity".to_owned())),
            None => Ok(None),
        }
    }

    /// The record stored under `name`.
    ///
    /// # Errors
    /// As [`Refs::get`]; `CorruptRef` when it holds an identity.
    pub fn record(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match self.value(name)? {
            Some(RefValue::Record(bytes)) => Ok(Some(bytes)),
            Some(RefValue::Id(_)) => Err(corrupt_ref(name, "holds an identity, not a record".to_owned())),
            None => Ok(None),
        }
    }

    /// Whatever is stored under `name`.
    ///
    /// # Errors
    /// As [`Refs::get`].
    pub fn value(&self, name: &str) -> Result<Option<RefValue>> {
        check_name(name)?;
        self.stored(name)?.map_or(Ok(None), |stored| checked(name, stored))
    }

    /// All names that start with `prefix`, ascending by bytes, with their values. Lazy: blocks of tables are read as
    /// the walk reaches them.
    ///
    /// # Errors
    /// None now. A damaged value or part of a table is an inner error under the first name it concerns; the walk
    /// goes on behind it, and a name whose newer value may be lost is an error, never its older value.
    pub fn scan(&self, prefix: &str) -> Result<Box<dyn Iterator<Item = (String, Result<RefValue>)> + '_>> {
        let walk = self.merge(prefix);
        let prefix = prefix.to_owned();
        let walk = walk.take_while(move |(name, _)| name.starts_with(&prefix));
        Ok(Box::new(walk.filter_map(|(name, stored)| {
            let value = match stored.and_then(|stored| checked_name(&name, stored)) {
                Ok(None) => return None,
                Ok(Some(value)) => Ok(value),
                Err(error) => Err(error),
            };
            Some((name, value))
        })))
    }

    /// Number of names that start with `prefix`, by a walk over them.
    ///
    /// # Errors
    /// The first error of the walk.
    pub fn count(&self, prefix: &str) -> Result<u64> {
        self.scan(prefix)?.try_fold(0, |count, (_, value)| value.map(|_| count + 1))
    }

    /// The largest number n for which `<namespace>/<prefix><n>` is or was used, 0 if none: `max_number("refs/names",
    /// "C")`. Numbers of removed names count as long as the tables remember them. For a namespace directly below
    /// `refs/` and a prefix of up to 8 letters the cost does not depend on the number of names; else it is a walk.
    ///
    /// # Errors
    /// `CorruptFile`, `CorruptRef`.
    pub fn max_number(&self, namespace: &str, prefix: &str) -> Result<u64> {
        let key = format!("{namespace}/{prefix}");
        if split_numbered(&format!("{key}1")).is_some_and(|(counted, _)| counted == key)
            && let Some(number) = self.counted(&key)?
        {
            return Ok(number);
        }
        let mut largest = 0;
        for (name, value) in self.scan(&key)? {
            value?;
            let digits = name.get(key.len()..).unwrap_or_default();
            if !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()) {
                largest = digits.parse().unwrap_or(0).max(largest);
            }
        }
        Ok(largest)
    }

    /// Sequence number of the last transaction; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.loaded.position().sequence
    }

    /// The largest number noted under `key`; `None` when some table does not know.
    fn counted(&self, key: &str) -> Result<Option<u64>> {
        let mut noted = Counters::new();
        let edits = &self.loaded.tail.edits;
        let from = (Bound::Included(key.to_owned()), Bound::Unbounded);
        edits
            .range(from)
            .take_while(|(name, _)| name.starts_with(key))
            .for_each(|(name, _)| noted.note(name));
        let mut largest = noted.get(key).unwrap_or(0);
        for table in &self.loaded.tables {
            match table.counters()?.get(key) {
                Some(number) => largest = number.max(largest),
                None => return Ok(None),
            }
        }
        Ok(Some(largest))
    }

    /// The newest stored form of `name`, removals included.
    pub(super) fn stored(&self, name: &str) -> Result<Option<Stored>> {
        if let Some(stored) = self.loaded.tail.edits.get(name) {
            return Ok(Some(stored.clone()));
        }
        for table in &self.loaded.tables {
            if let Some(stored) = table.lookup(name)? {
                return Ok(Some(stored));
            }
        }
        Ok(None)
    }

    /// All names from `from` on, removals included.
    pub(super) fn merge(&self, from: &str) -> Merge<'_> {
        let range = (Bound::Included(from.to_owned()), Bound::Unbounded);
        let edits = self.loaded.tail.edits.range(range).map(|(name, stored)| (name.as_str(), stored));
        let tables = self.loaded.tables.iter().map(|table| Source::Table(Cursor::new(table, from)));
        Merge::new(std::iter::once(Source::Edits(Box::new(edits))).chain(tables))
    }
}

/// A stored form whose name may be damaged, too.
pub(super) fn checked_name(name: &str, stored: Stored) -> Result<Option<RefValue>> {
    if !super::name::is_valid(name) {
        return Err(corrupt_ref(name, "is no valid name".to_owned()));
    }
    checked(name, stored)
}

/// The value of a stored form, if the namespace of `name` may hold it (REF-05); `None` for a removal.
///
/// # Errors
/// `CorruptRef`.
pub(super) fn checked(name: &str, stored: Stored) -> Result<Option<RefValue>> {
    let rule = namespace::rule(name);
    let value = match stored {
        Stored::Removed => return Ok(None),
        Stored::Record(bytes) => RefValue::Record(bytes),
        Stored::Id(bytes) => RefValue::Id(
            Gid::from_bytes(&bytes)
                .ok_or_else(|| corrupt_ref(name, format!("family code {:#04x} is unknown", bytes[0])))?,
        ),
    };
    if rule.allows(name, &value) {
        return Ok(Some(value));
    }
    Err(corrupt_ref(name, misfit(rule, &value)))
}

fn misfit(rule: Rule, value: &RefValue) -> String {
    match value {
        RefValue::Id(id) => format!("points to {id}, but holds {}", rule.expected()),
        RefValue::Record(_) => format!("holds a record instead of {}", rule.expected()),
    }
}

fn corrupt_ref(name: &str, detail: String) -> StoreError {
    StoreError::CorruptRef { name: super::name::abbreviated(name), detail }
}
