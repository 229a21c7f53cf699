//! What two trees differ in, by path (workflow, sections 4.4 and 17).

use crate::content::error::Result;
use gemel_object::{Gid, Mode};
use gemel_store::Store;

/// A file or link on one side: its mode, never `Directory`, and its blob.
pub type Leaf = (Mode, Gid);

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathDelta {
    /// Canonical path.
    pub path: String,
    /// What the first side holds there.
    pub before: Option<Leaf>,
    /// What the second side holds there.
    pub after: Option<Leaf>,
}

/// A moved file: positions in the list of deltas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The deletion.
    pub from: usize,
    /// The creation.
    pub to: usize,
}

/// Where objects are read.
pub trait ObjectSource: Sync {
    /// The whole envelope of an object.
    ///
    /// # Errors
    /// As [`Store::read`].
    fn read_object(&self, id: &Gid) -> gemel_store::Result<Vec<u8>>;
}

impl ObjectSource for Store {
    fn read_object(&self, id: &Gid) -> gemel_store::Result<Vec<u8>> {
        self.read(id)
    }
}

/// Files and links that differ between two trees, by path. Equal subtrees are not read.
///
/// # Errors
/// `Store`, `CorruptObject`; `Limit` for trees that expand without end.
pub fn delta_trees(
    source: &dyn ObjectSource,
    before: Option<Gid>,
    after: Option<Gid>,
) -> Result<Vec<PathDelta>> {
    let _ = (source, before, after);
    unimplemented!()
}

/// The root tree of a state.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn root_tree(store: &Store, state: &Gid) -> Result<Gid> {
    let _ = (store, state);
    unimplemented!()
}

/// The body of a blob. For content of any size there is [`Store::stream_blob`].
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn read_blob(store: &Store, id: &Gid) -> Result<Vec<u8>> {
    let _ = (store, id);
    unimplemented!()
}

/// Pairs deleted and created paths of the same mode and blob: equal base names first, then path order; empty files
/// never (workflow, section 4.4). Ascending by target.
pub fn pair_renames(deltas: &[PathDelta]) -> Vec<Rename> {
    let _ = deltas;
    unimplemented!()
}
