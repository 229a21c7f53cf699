//! Canonical objects: the bytes Gemel keeps for ever, and nothing else.
//!
//! This crate knows encoding, identity, the 24 families, limits and references. It never touches files, clocks
//! or the environment: equal input gives equal bytes everywhere (ENC-21).
//!
//! [`Object::decode`] turns hostile bytes into a validated view. Families have typed views ([`families::Change`]
//! and so on) and write forms ([`families::NewChange`]); [`ObjectBuilder`] writes any of them by tag. [`refs_of`]
//! lists references with their offsets, [`json`] projects objects to JSON and back.

#![forbid(unsafe_code)]

mod blob;
mod builder;
mod decode;
mod enums;
mod error;
pub mod families;
mod family;
mod gid;
pub mod json;
mod limits;
mod macros;
mod path;
mod record_builder;
mod refs;
mod rules;
mod schema;
pub mod tree;
mod varint;
pub mod view;

pub use blob::{EnvelopeHasher, EnvelopeHeader, blob_envelope, blob_header};
pub use builder::{Encoded, ObjectBuilder, Strings};
pub use decode::Object;
pub use enums::*;
pub use error::ObjectError;
pub use family::Family;
pub use gid::{GID_LEN, Gid, MalformedIdentity};
pub use limits::{LimitKind, Limits};
pub use path::{is_canonical_path, is_path_segment};
pub use record_builder::{RecordBuilder, WriteValue};
pub use refs::{RefAt, Refs, refs_of};
pub use schema::*;
pub use tree::{Entry, Mode, Tree, TreeBuilder, tree_envelope};
pub use view::{Array, Field, List, Record, Value};
