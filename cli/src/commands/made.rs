//! The look of an answer that only says what was recorded under which name. No verb of its own.

use crate::answer::View;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_object::Family;
use gemel_repo::history::Made;
use gemel_repo::{Repo, names};
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

/// Refuses a `--producer` that is none, where nothing that is recorded says who did it.
///
/// # Errors
/// Those of resolving it.
pub(super) fn check_producer(repo: &Repo, given: Option<&String>) -> Result<(), CliError> {
    if let Some(producer) = given {
        names::resolve_as(repo, producer, Family::Producer)?;
    }
    Ok(())
}

/// What to say of `--producer` where an object has no place for it.
pub(super) fn unrecorded_producer(given: Option<&String>, family: Family) -> Option<String> {
    given.map(|_| format!("{} objects do not say who made them: --producer was checked only", family.name()))
}
