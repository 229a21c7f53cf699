//! Where canonical objects and refs live: packs, refs, journal, verification.
//!
//! The store knows bytes, identities and references between objects; it knows nothing of trees, changes or what
//! they mean. Readers never write, never lock, never repair.

mod create;
mod error;
mod layout;
pub mod legacy;
mod packs;
pub mod refs;
mod store;
pub mod vfs;

pub use error::StoreError;
pub use packs::repack::{LeftPack, PlannedPack, RepackFacts, RepackOptions, RepackPlan};
pub use packs::verify::{Depth, Finding, FindingKind, VerifyReport, Visit};
pub use packs::{Bulk, BulkObject, BulkReader, NewObject, Prepared, WriteReport, Writer};
pub use refs::{RefValue, Refs, RefsMark, Transaction};
pub use store::Store;

/// Result of a store operation.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
