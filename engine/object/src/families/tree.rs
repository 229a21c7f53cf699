//! The declaration of trees; their views and builder are in [`crate::tree`].

use crate::RecordSchema;
use crate::macros::*;

/// One entry.
pub(crate) const ENTRY: &RecordSchema = record_schema! {
    0x01 name: req str check TreeName,
    0x02 mode: req uint check TreeMode,
    0x03 target: req (gid *) check TreeTarget,
};

/// The body of a tree.
pub const TREE: &RecordSchema = record_schema! {
    0x01 entries: req [(schema ENTRY)] check TreeOrder,
};
