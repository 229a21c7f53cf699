//! Packs on disk: finding, reading, writing and verifying objects (docs/STORAGE.md, "Packs").

mod claim;
mod decode;
mod effort;
mod hasher;
mod pack;
mod publish;
mod rebuild;
mod session;
mod set;
mod stream;
mod tail;
pub(crate) mod verify;
mod writer;

pub(crate) use set::PackSet;
pub use writer::{NewObject, WriteReport, Writer};
