//! Merging the journal's edits and the tables, newest first, into one ascending walk.

use super::codec::Stored;
use super::table::{Cursor, Item};
use crate::StoreError;

/// One source of a merge. Its items ascend by name.
pub(crate) enum Source<'a> {
    /// Edits held in memory.
    Edits(Box<dyn Iterator<Item = (&'a str, &'a Stored)> + 'a>),
    /// A table.
    Table(Cursor<'a>),
}

impl Source<'_> {
    fn next(&mut self) -> Option<Item> {
        match self {
            Source::Edits(edits) => {
                edits.next().map(|(name, value)| Item::Entry(name.to_owned(), value.clone()))
            }
            Source::Table(cursor) => cursor.next(),
        }
    }
}

/// A source, its next item, and up to where its damaged blocks make older sources unbelievable.
struct Lane<'a> {
    source: Source<'a>,
    next: Option<Item>,
    doubt: Option<Doubt>,
}

/// Names before `until` may have newer values in a block that cannot be read.
struct Doubt {
    until: Option<String>,
}

impl Lane<'_> {
    fn key(&self) -> Option<&str> {
        match self.next.as_ref()? {
            Item::Entry(name, _) => Some(name),
            Item::Damaged { from, .. } => Some(from),
        }
    }

    fn doubts(&self, name: &str) -> bool {
        self.doubt.as_ref().is_some_and(|doubt| doubt.until.as_deref().is_none_or(|until| name < until))
    }
}

/// What a merge yields for a name: its newest value, or why it is not known.
pub(crate) type Merged = (String, Result<Stored, StoreError>);

/// An ascending walk over several sources, newest first. Removals are handed out like values.
pub(crate) struct Merge<'a> {
    lanes: Vec<Lane<'a>>,
}

impl<'a> Merge<'a> {
    /// Merges `sources`, newest first.
    pub(crate) fn new(sources: impl IntoIterator<Item = Source<'a>>) -> Merge<'a> {
        let lanes =
            sources.into_iter().map(|mut source| Lane { next: source.next(), source, doubt: None }).collect();
        Merge { lanes }
    }

    /// Index of the lane with the least name; among equals the newest.
    fn least(&self) -> Option<usize> {
        let mut best: Option<(usize, &str)> = None;
        for (index, lane) in self.lanes.iter().enumerate() {
            if let Some(key) = lane.key()
                && best.is_none_or(|(_, least)| key < least)
            {
                best = Some((index, key));
            }
        }
        best.map(|(index, _)| index)
    }

    fn advance(&mut self, index: usize) -> Option<Item> {
        let lane = self.lanes.get_mut(index)?;
        let next = lane.source.next();
        std::mem::replace(&mut lane.next, next)
    }

    /// Drops what older lanes say of `name`.
    fn pass_over(&mut self, newer: usize, name: &str) {
        for index in newer + 1..self.lanes.len() {
            let same = matches!(&self.lanes[index].next, Some(Item::Entry(other, _)) if other == name);
            if same {
                self.advance(index);
            }
        }
    }

    /// An error for a name that a damaged block of a newer table may hold.
    fn doubted(&self, index: usize, name: &str) -> bool {
        self.lanes.iter().take(index).any(|lane| lane.doubts(name))
    }
}

impl Iterator for Merge<'_> {
    type Item = Merged;

    fn next(&mut self) -> Option<Merged> {
        let index = self.least()?;
        match self.advance(index)? {
            Item::Damaged { from, until, error } => {
                self.lanes.get_mut(index)?.doubt = Some(Doubt { until });
                Some((from, Err(error)))
            }
            Item::Entry(name, value) => {
                let doubted = self.doubted(index, &name);
                self.pass_over(index, &name);
                if doubted {
                    let detail = "a newer value may lie in a damaged block".to_owned();
                    return Some((name.clone(), Err(StoreError::CorruptRef { name, detail })));
                }
                Some((name, Ok(value)))
            }
        }
    }
}
