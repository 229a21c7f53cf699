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
