//! Reading recorded trees beside the walk.

use crate::content::delta::ObjectSource;
use crate::content::error::{ContentError, Result};
use gemel_object::{Entry, Gid, Limits, Tree};

/// Validates the envelope of tree `id`.
///
/// # Errors
/// `CorruptObject`.
pub(crate) fn decode_tree<'a>(id: &Gid, envelope: &'a [u8]) -> Result<Tree<'a>> {
    let corrupt = |source| ContentError::CorruptObject { id: *id, detail: format!("{source}") };
    Tree::decode(envelope, &Limits::DEFAULT).map_err(corrupt)
}

/// The envelope of the recorded tree of a directory, if there is one.
pub(super) fn read(source: &dyn ObjectSource, id: Option<Gid>) -> Result<Option<(Gid, Vec<u8>)>> {
    id.map(|id| Ok((id, source.read_object(&id)?))).transpose()
}

/// Its entries, ascending by name.
pub(super) fn entries(read: Option<&(Gid, Vec<u8>)>) -> Result<Vec<Entry<'_>>> {
    let Some((id, envelope)) = read else { return Ok(Vec::new()) };
    Ok(decode_tree(id, envelope)?.iter().collect())
}

/// Walks a sorted list beside sorted names: each name is asked for once, in ascending order.
pub(super) struct Beside<I: Iterator> {
    rest: std::iter::Peekable<I>,
}

impl<I: Iterator> Beside<I> {
    /// Begins at the front.
    pub(super) fn new(list: I) -> Beside<I> {
        Beside { rest: list.peekable() }
    }

    /// The element named `name`.
    pub(super) fn find(&mut self, name: &[u8], name_of: impl Fn(&I::Item) -> &[u8]) -> Option<I::Item> {
        while self.rest.next_if(|item| name_of(item) < name).is_some() {}
        self.rest.next_if(|item| name_of(item) == name)
    }
}
