//! Content: a directory becomes a state and a state becomes a directory again, and what lies between two of them.
//!
//! Knows files, ignore rules, trees and lines of text. Knows nothing of refs, changes or workspaces: the caller says
//! which state is recorded for a directory and what its stat cache is called. Reads no clock.

mod build;
mod capture;
mod checkout;
mod delta;
pub mod diff;
mod disk;
mod error;
mod graft;
mod ignore;
mod read;
mod scan;
mod worktree;

pub(crate) use build::TreeSink;
pub use capture::{Capture, CaptureRequest, CompareWith, Omission, OmissionReason, capture};
pub use checkout::{CheckoutPlan, CheckoutReport, CheckoutRequest, plan_checkout};
pub(crate) use delta::entry_at;
pub use delta::{Leaf, ObjectSource, PathDelta, Rename, delta_trees, pair_renames, read_blob, root_tree};
pub use error::ContentError;
pub(crate) use graft::{Entries, entries, graft};
pub use worktree::{WorktreeDelta, WorktreeRequest, delta_worktree, read_worktree, worktree_len};
