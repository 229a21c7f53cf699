//! Walking the names of a table in order, from a given one, going on behind damaged blocks.

use super::read::{Names, Table};
use super::{BlockRef, INDEX, LEAF};
use crate::StoreError;
use crate::refs::codec::{Input, Stored};
use std::collections::VecDeque;

/// What a walk meets.
#[derive(Debug)]
pub(crate) enum Item {
    /// A name and its value.
    Entry(String, Stored),
    /// A block that cannot be read: nothing is known of the names from `from` up to, not including, `until`.
    Damaged {
        /// First name the block may hold.
        from: String,
        /// First name behind it; `None` when it is the last.
        until: Option<String>,
        /// What is wrong with it.
        error: StoreError,
    },
}

/// A block still to be visited, and how many levels of index lie above its leaves.
struct Visit {
    first: String,
    place: BlockRef,
    height: u8,
}

/// A walk over a table from one name on.
pub(crate) struct Cursor<'t> {
    table: &'t Table,
    from: String,
    /// Blocks to visit, the next one last.
    visits: Vec<Visit>,
    /// Entries of the current leaf not handed out yet.
    entries: VecDeque<(String, Stored)>,
}

impl<'t> Cursor<'t> {
    /// A walk over the names that are `from` or greater.
    pub(crate) fn new(table: &'t Table, from: &str) -> Cursor<'t> {
        let (place, height) = table.root();
        let root = Visit { first: String::new(), place, height };
        Cursor { table, from: from.to_owned(), visits: vec![root], entries: VecDeque::new() }
    }

    /// Reads the children of an index block; those wholly before the start are left out.
    fn descend(&mut self, visit: &Visit) -> Result<(), StoreError> {
        let block = self.table.block(&visit.place, INDEX)?;
        let mut children = read_children(block, visit).ok_or_else(|| self.table.malformed(&visit.place))?;
        // The last child that starts at or before the first name wanted may hold it.
        let keep_from = children.iter().rposition(|c| c.first <= self.from).unwrap_or(0);
        children.drain(..keep_from);
        self.visits.extend(children.into_iter().rev());
        Ok(())
    }

    fn open_leaf(&mut self, visit: &Visit) -> Result<(), StoreError> {
        let block = self.table.block(&visit.place, LEAF)?;
        let entries = read_entries(block).ok_or_else(|| self.table.malformed(&visit.place))?;
        self.entries.extend(entries.into_iter().filter(|(name, _)| *name >= self.from));
        Ok(())
    }
}

impl Iterator for Cursor<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            if let Some((name, value)) = self.entries.pop_front() {
                return Some(Item::Entry(name, value));
            }
            let visit = self.visits.pop()?;
            let opened = match visit.height {
                0 => self.open_leaf(&visit),
                _ => self.descend(&visit),
            };
            if let Err(error) = opened {
                let from = visit.first.max(self.from.clone());
                let until = self.visits.last().map(|next| next.first.clone());
                return Some(Item::Damaged { from, until, error });
            }
        }
    }
}

/// Children of an index block, in order. They stand before it, so no walk returns to a block.
fn read_children(block: &[u8], parent: &Visit) -> Option<Vec<Visit>> {
    let (mut input, mut names) = (Input::new(block.get(1..)?), Names::new());
    let mut children = Vec::new();
    while !input.is_empty() {
        names.read(&mut input, children.is_empty())?;
        let first = String::from_utf8(names.current.clone()).ok()?;
        let place = BlockRef::read(&mut input)?;
        if place.offset.checked_add(u64::from(place.len))? > parent.place.offset {
            return None;
        }
        children.push(Visit { first, place, height: parent.height - 1 });
    }
    Some(children)
}

fn read_entries(block: &[u8]) -> Option<Vec<(String, Stored)>> {
    let (mut input, mut names) = (Input::new(block.get(1..)?), Names::new());
    let mut entries = Vec::new();
    while !input.is_empty() {
        names.read(&mut input, entries.is_empty())?;
        entries.push((String::from_utf8(names.current.clone()).ok()?, Stored::read(&mut input)?));
    }
    Some(entries)
}
