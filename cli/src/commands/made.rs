//! The look of an answer that only says what was recorded under which name. No verb of its own.

use crate::answer::View;
use crate::json::Obj;
use crate::render::Printer;
use gemel_object::Family;
use gemel_repo::history::Made;
use serde_json::{Map, Value};

/// An object and its name.
pub(super) struct Recorded {
    pub(super) made: Made,
    /// Key under which the object is answered, too.
    pub(super) key: Option<&'static str>,
    /// What people call such an object.
    pub(super) noun: &'static str,
}

impl View for Recorded {
    fn json(&self) -> Map<String, Value> {
        let Made { id, name } = &self.made;
        let answer = Obj::new().put("id", id).put("name", name);
        match self.key {
            Some(key) => answer.put(key, id).map(),
            None => answer.map(),
        }
    }

    fn human(&self, out: &mut Printer<'_>) {
        let Made { id, name } = &self.made;
        out.lit(self.noun).lit(" ").named(id, Some(name)).end();
    }
}

/// What to say of `--producer` where an object has no place for it.
pub(super) fn unrecorded_producer(given: Option<&String>, family: Family) -> Option<String> {
    given.map(|_| format!("{} objects do not say who made them: --producer was checked only", family.name()))
}
