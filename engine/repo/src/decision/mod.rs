//! Verbs that record what follows from derived status: closing with a handoff, checkpoints, reconciliations, releases.
//!
//! Each derives first, makes its objects durable, and then publishes them in one transaction. Only the names, and what
//! another writer could have moved meanwhile, are decided under the lock.

mod checkpoint;
mod close;
mod reconcile;
mod release;

pub use checkpoint::{
    CheckpointFacts, CheckpointOptions, checkpoint, checkpoint_current, checkpoint_list, checkpoint_show,
};
pub use close::{CloseFacts, CloseOptions, close};
pub use reconcile::{
    Interaction, ReconcileFacts, ReconcileOptions, ReconcilePlan, Recorded, TextualConflict, reconcile,
};
pub use release::{ReleaseFacts, ReleaseOptions, release};

use crate::history::objects::{cannot_make, non_empty, put};

/// Texts that are written only if there are any.
fn texts(list: &[String]) -> Option<gemel_object::Strings<'_>> {
    (!list.is_empty()).then(|| list.into())
}

/// Text that says something; blank text is none.
fn said(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.trim().is_empty())
}
