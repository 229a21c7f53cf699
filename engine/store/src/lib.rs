//! Where canonical objects and refs live: packs, refs, journal, verification.
//!
//! The store knows bytes, identities and references between objects; it knows nothing of trees, changes or what
//! they mean. Readers never write, never lock, never repair.

mod error;
pub mod refs;
mod store;
pub mod vfs;

pub use error::StoreError;
pub use refs::{RefValue, Refs, Transaction};
pub use store::{NewObject, Store, WriteReport, Writer};

/// Result of a store operation.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
