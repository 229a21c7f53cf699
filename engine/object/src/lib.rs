//! Canonical objects: the bytes Gemel keeps for ever, and nothing else.
//!
//! This crate knows encoding, identity, the 24 families, limits and references. It never touches files, clocks
//! or the environment: equal input gives equal bytes everywhere (ENC-21).

mod family;
mod gid;

pub use family::Family;
pub use gid::{GID_LEN, Gid, MalformedIdentity};
