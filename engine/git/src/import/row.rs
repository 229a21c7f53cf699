//! Versions of one thing, written one after the other.

use crate::Result;
use gemel_store::{Prepared, Writer};

/// Versions in a row that stand on their neighbour; the first of each row stands on that of the row before, so that
/// the oldest of a thousand is some fifty differences away, not a thousand.
pub(crate) const SEGMENT: usize = 20;

/// A run of versions, each on the one before it.
#[derive(Default)]
pub(crate) struct Row {
    head: Option<Prepared>,
    last: Option<Prepared>,
    written: usize,
}

impl Row {
    /// Writes the next version.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn put(&mut self, writer: &Writer<'_>, object: Prepared) -> Result<()> {
        let at_head = self.written.is_multiple_of(SEGMENT);
        let bases: Vec<&Prepared> = match at_head {
            true => self.head.iter().collect(),
            false => self.last.iter().chain(&self.head).collect(),
        };
        writer.put_on(&object, &bases)?;
        self.written += 1;
        if at_head {
            (self.head, self.last) = (Some(object), None);
        } else {
            self.last = Some(object);
        }
        Ok(())
    }
}
