//! Versions of one thing, written one after the other.

use super::sketch::Sketch;
use crate::Result;
use gemel_store::{Prepared, Writer};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Versions in a row that stand on their neighbour; the first of each row stands on that of the row before, so that
/// the oldest of a thousand is some fifty differences away, not a thousand.
pub(crate) const SEGMENT: usize = 20;

/// A version that was written, and what the next ones stand on.
#[derive(Clone)]
pub(crate) struct Step {
    last: Arc<Prepared>,
    head: Arc<Prepared>,
    since_head: usize,
}

impl Step {
    /// Writes a version on `base`, or whole.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn after(base: Option<&Step>, writer: &Writer<'_>, object: Prepared) -> Result<Step> {
        match base {
            Some(base) => base.next(writer, object),
            None => {
                writer.put_on(&object, &[])?;
                Ok(Step::first(Arc::new(object)))
            }
        }
    }

    fn first(object: Arc<Prepared>) -> Step {
        Step { last: object.clone(), head: object, since_head: 0 }
    }

    /// Writes a version that follows this one.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn next(&self, writer: &Writer<'_>, object: Prepared) -> Result<Step> {
        let object = Arc::new(object);
        if self.since_head + 1 == SEGMENT {
            writer.put_on(&object, &[&self.head])?;
            return Ok(Step::first(object));
        }
        writer.put_on(&object, &[&self.last, &self.head])?;
        Ok(Step { last: object, head: self.head.clone(), since_head: self.since_head + 1 })
    }
}

/// Versions that others are still to stand on, by their place in a family.
pub(crate) struct Held<T>(HashMap<u32, (T, u32)>);

impl<T> Default for Held<T> {
    fn default() -> Held<T> {
        Held(HashMap::new())
    }
}

impl<T: Clone> Held<T> {
    /// Keeps a version for as many as will stand on it.
    pub(crate) fn keep(&mut self, place: u32, step: T, standing: u32) {
        if standing > 0 {
            self.0.insert(place, (step, standing));
        }
    }

    /// The version at a place; the last to ask for it gets it whole.
    pub(crate) fn take(&mut self, place: u32) -> Option<T> {
        let (step, left) = self.0.get_mut(&place)?;
        *left -= 1;
        if *left == 0 { self.0.remove(&place).map(|(step, _)| step) } else { Some(step.clone()) }
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
    /// Writes the newest version of a path, on another path's if one resembles it; others go on from there.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn begin(&mut self, writer: &Writer<'_>, object: Prepared) -> Result<Step> {
        let object = Arc::new(object);
        let sketch = Sketch::of(object.bytes());
        let usable = self.seen.iter().filter(|(_, steps, _)| *steps < MAX_STEPS);
        let best = usable
            .max_by_key(|(other, ..)| sketch.shared(other))
            .filter(|(other, ..)| sketch.resembles(other));
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
        Ok(Step::first(object))
    }
}
