//! Versions of one thing, written one after the other.

use super::sketch::Sketch;
use crate::Result;
use gemel_store::{Prepared, Writer};
use std::collections::VecDeque;
use std::sync::Arc;

/// Versions in a row that stand on their neighbour; the first of each row stands on that of the row before, so that
/// the oldest of a thousand is some fifty differences away, not a thousand.
pub(crate) const SEGMENT: usize = 20;

/// A run of versions, each on the one before it.
#[derive(Default)]
pub(crate) struct Row {
    head: Option<Arc<Prepared>>,
    last: Option<Arc<Prepared>>,
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
            true => self.head.iter().map(Arc::as_ref).collect(),
            false => self.last.iter().chain(&self.head).map(Arc::as_ref).collect(),
        };
        let object = Arc::new(object);
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

/// Newest versions of other paths that are looked at, and kept in memory.
const LOOKED_AT: usize = 24;
/// The longest of them.
const MAX_BYTES: usize = 1 << 20;
/// Newest versions that stand on each other in a row; the versions of a path stand on them.
const MAX_STEPS: usize = 8;

/// Newest versions of paths, which may resemble each other: files are copied and moved.
#[derive(Default)]
pub(crate) struct Newest {
    seen: VecDeque<(Sketch, usize, Arc<Prepared>)>,
}

impl Newest {
    /// Writes the newest version of a path, on another path's if one resembles it; the row goes on from there.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn begin(&mut self, writer: &Writer<'_>, object: Prepared) -> Result<Row> {
        let object = Arc::new(object);
        let sketch = Sketch::of(object.bytes());
        let usable = self.seen.iter().filter(|(_, steps, _)| *steps < MAX_STEPS);
        let best = usable.max_by_key(|(other, ..)| sketch.shared(other)).filter(|(other, ..)| sketch.resembles(other));
        let steps = match best {
            Some((_, steps, base)) => {
                writer.put_on(&object, &[base])?;
                steps + 1
            }
            None => {
                writer.put_on(&object, &[])?;
                0
            }
        };
        if object.bytes().len() <= MAX_BYTES {
            self.seen.push_back((sketch, steps, object.clone()));
            if self.seen.len() > LOOKED_AT {
                self.seen.pop_front();
            }
        }
        Ok(Row { head: Some(object), last: None, written: 1 })
    }
}
