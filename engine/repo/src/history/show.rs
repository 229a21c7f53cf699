//! `show`: one object as it is stored.

use crate::names::{self, Accept, Namer, resolve_in};
use crate::{Repo, Result};
use gemel_object::Gid;

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShowFacts {
    /// Its identity.
    pub id: Gid,
    /// Its name, if a ref gives it one.
    pub name: Option<String>,
    /// The whole canonical envelope, re-hashed.
    pub envelope: Vec<u8>,
}

/// Reads the object that `text` names.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `Store`.
pub fn show(repo: &Repo, text: &str) -> Result<ShowFacts> {
    let refs = repo.store().refs()?;
    let id = resolve_in(repo, &refs, text, Accept::ANY)?;
    let envelope = repo.store().read(&id)?;
    let name = match names::typed(&refs, id, Some(text))? {
        Some(typed) => Some(typed),
        None => Namer::find(&refs, [id])?.get(&id),
    };
    Ok(ShowFacts { id, name, envelope })
}
