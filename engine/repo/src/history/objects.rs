//! Making objects and giving them to a writer session: the small steps that every verb takes.

use crate::{RepoError, Result};
use gemel_object::{Encoded, Family, Gid, ObjectError};
use gemel_store::{NewObject, Writer};

/// Gives an object to a writer session.
///
/// # Errors
/// `Store`.
pub(crate) fn put(writer: &Writer<'_>, object: &Encoded) -> Result<()> {
    writer.put(NewObject { id: object.id, bytes: object.bytes.clone(), base: None })?;
    Ok(())
}

/// `None` for an empty list, which is left out of objects.
pub(crate) fn non_empty<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}

/// Identities ascending and each once.
pub(crate) fn sorted(mut ids: Vec<Gid>) -> Vec<Gid> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The failure to make an object of `family`.
pub(crate) fn cannot_make(family: Family) -> impl FnOnce(ObjectError) -> RepoError {
    move |source| RepoError::Object { family, source }
}
