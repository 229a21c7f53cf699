//! Git objects and paths under small numbers: tables of an import hold millions of them.

use gemel_object::Gid;
use gix::ObjectId;
use gix::hashtable::HashMap;
use std::collections::HashMap as TextMap;

/// Git objects, numbered as they are met, with what became of them.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    numbers: HashMap<ObjectId, u32>,
    names: Vec<ObjectId>,
    made: Vec<Made>,
}

/// What became of a Git object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Made {
    /// Nothing yet.
    #[default]
    Nothing,
    /// An object; of a tree, whether Git's bytes differ from those made of it.
    Object(Gid, bool),
    /// A folder without content, which no state holds but as its root.
    Empty(Gid),
    /// It could not be had, or no object can hold it; the state is without it.
    Lost,
}

impl Ids {
    /// The number of an object, given now if it has none.
    pub(crate) fn number(&mut self, id: ObjectId) -> u32 {
        let next = self.names.len() as u32;
        let number = *self.numbers.entry(id).or_insert(next);
        if number == next {
            self.names.push(id);
            self.made.push(Made::Nothing);
        }
        number
    }

    /// The number of an object that was met.
    pub(crate) fn get(&self, id: &ObjectId) -> Option<u32> {
        self.numbers.get(id).copied()
    }

    /// The object of a number.
    pub(crate) fn name(&self, number: u32) -> ObjectId {
        self.names[number as usize]
    }

    /// What became of it.
    pub(crate) fn made(&self, number: u32) -> Made {
        self.made[number as usize]
    }

    /// What became of an object by its Git name.
    pub(crate) fn made_of(&self, id: &ObjectId) -> Made {
        self.get(id).map_or(Made::Nothing, |number| self.made(number))
    }

    /// Notes what became of it.
    pub(crate) fn set(&mut self, number: u32, made: Made) {
        self.made[number as usize] = made;
    }
}

/// What became of the objects that one thread asked about lately: the versions of a folder hold mostly the same, and the
/// tables of [`Ids`] are in no processor's cache.
#[derive(Debug)]
pub(crate) struct Lately {
    found: Vec<Option<(ObjectId, Made)>>,
}

/// Objects that [`Lately`] remembers.
const LATELY: usize = 1 << 12;

impl Default for Lately {
    fn default() -> Lately {
        Lately { found: vec![None; LATELY] }
    }
}

impl Lately {
    /// As [`Ids::made_of`]. What became of an object does not change as long as this is used.
    pub(crate) fn made_of(&mut self, ids: &Ids, id: &ObjectId) -> Made {
        let hash = id.as_slice().first_chunk().map_or(0, |bytes| usize::from(u16::from_le_bytes(*bytes)));
        let Some(slot) = self.found.get_mut(hash % LATELY) else { return ids.made_of(id) };
        match slot {
            Some((known, made)) if known == id => *made,
            _ => {
                let made = ids.made_of(id);
                *slot = Some((*id, made));
                made
            }
        }
    }
}

/// Paths as states have them, numbered.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    numbers: TextMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Paths {
    /// The number of a path, given now if it has none.
    pub(crate) fn number(&mut self, path: &str) -> u32 {
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.numbers.insert(path.into(), number);
        self.texts.push(path.into());
        number
    }

    /// The path of a number.
    pub(crate) fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}
