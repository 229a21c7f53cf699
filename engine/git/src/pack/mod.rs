//! Git packs, written: entries in parts that threads make, one file of them, and its index.

mod delta;
mod index;
mod part;
mod write;
mod zip;

pub(crate) use part::{Base, Part, PartWriter};
pub(crate) use write::{PackWriter, Written, sync_dir};
