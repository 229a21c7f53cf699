//! What may have changed since an earlier look, for derived files that follow the refs.

use super::RefValue;
use super::codec::CHECK_LEN;
use super::merge::{Merge, Source};
use super::table::Cursor;
use super::view::{Refs, checked_name};
use crate::Result;

/// Bytes of one table in a mark: its number and its check.
const ROW: usize = 8 + CHECK_LEN;

/// The tables that a look saw. Opaque; worth keeping beside what was derived from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefsMark {
    tables: Vec<[u8; ROW]>,
}

impl RefsMark {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.tables.concat()
    }

    /// Reads bytes back; `None` when they are no mark.
    pub fn from_bytes(bytes: &[u8]) -> Option<RefsMark> {
        let (rows, rest) = bytes.as_chunks::<ROW>();
        rest.is_empty().then(|| RefsMark { tables: rows.to_vec() })
    }
}

impl Refs {
    /// What this look saw.
    pub fn mark(&self) -> RefsMark {
        let row = |table: &super::stack::TableEntry| {
            let mut row = [0; ROW];
            row[..8].copy_from_slice(&table.number.to_le_bytes());
            row[8..].copy_from_slice(&table.check);
            row
        };
        RefsMark { tables: self.loaded.stack.tables.iter().map(row).collect() }
    }

    /// Every name with another value than when `mark` was made, ascending, with its value now. Names that have not
    /// changed may be among them. Names that are gone may be among them (`None`) or not: what is forgotten leaves no
    /// trace in the end.
    pub fn since(&self, mark: &RefsMark) -> Vec<(String, Result<Option<RefValue>>)> {
        let seen = self.mark();
        let edits = self.loaded.tail.edits.iter().map(|(name, stored)| (name.as_str(), stored));
        // Tables are listed oldest first and opened newest first.
        let new = self.loaded.tables.iter().zip(seen.tables.iter().rev());
        let new = new.filter(|(_, row)| !mark.tables.contains(row));
        let tables = new.map(|(table, _)| Source::Table(Cursor::new(table, "")));
        let walk = Merge::new(std::iter::once(Source::Edits(Box::new(edits))).chain(tables));
        walk.map(|(name, stored)| {
            let value = stored.and_then(|stored| checked_name(&name, stored));
            (name, value)
        })
        .collect()
    }
}
