//! Packs on disk: finding, reading, writing and verifying objects (docs/STORAGE.md, "Packs").

mod claim;
mod decode;
mod effort;
mod hasher;
pub(crate) mod maintain;
mod pack;
mod publish;
mod rebuild;
mod session;
mod set;
mod settled;
mod stream;
mod tail;
pub(crate) mod verify;
mod writer;

pub(crate) use set::{FIRST_PACK, PACK_SUFFIX, PackSet, pack_path};
pub(crate) use settled::Settled;
pub use writer::{NewObject, WriteReport, Writer};
