//! Byte layouts of packs and their indexes.
//!
//! Bytes in, bytes out: no paths, no files, no policy. An identity is an opaque 33-byte [`Key`] whose meaning this
//! crate does not know. Layouts are told once, in docs/STORAGE.md; module docs cite its sections. Everything read
//! here is hostile: lengths are bounded before they are believed.

pub mod codec;
pub mod cut;
pub mod delta;
mod error;
pub mod frame;
pub mod group;
pub mod index;
pub mod large;
pub mod mark;
pub mod names;
pub mod refcode;
pub mod varint;

pub use error::FormatError;

/// Length of a key in bytes.
pub const KEY_LEN: usize = 33;

/// An opaque identity, compared by bytes. Its first byte is a class, the rest is uniformly distributed.
pub type Key = [u8; KEY_LEN];

/// Result of reading a layout.
pub type Result<T, E = FormatError> = std::result::Result<T, E>;
