//! Packs on disk: finding, reading, writing and verifying objects (docs/STORAGE.md, "Packs").

mod brief;
mod bulk;
mod claim;
mod decode;
mod effort;
mod given;
mod hasher;
mod kept;
pub(crate) mod maintain;
mod pack;
mod publish;
mod rebuild;
pub(crate) mod repack;
mod session;
mod set;
mod settled;
mod stream;
mod tail;
pub(crate) mod verify;
mod writer;

pub use bulk::{Bulk, BulkObject, BulkReader};
pub use given::Prepared;
pub(crate) use set::{FIRST_PACK, PACK_SUFFIX, PackSet, pack_path};
pub(crate) use settled::{Settled, recorded};
pub use writer::{NewObject, WriteReport, Writer};
