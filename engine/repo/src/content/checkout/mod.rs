//! Checkout: a state becomes the files of a directory (workflow, section 11). A plan is made first, whole and without
//! changing a file; [`CheckoutPlan::run`] carries it out.

use crate::content::error::Result;
use crate::facts::Progress;
use gemel_object::{Gid, Limits};
use gemel_store::Store;
use std::path::Path;

/// What a checkout is told.
#[derive(Clone, Copy)]
pub struct CheckoutRequest<'a> {
    /// The directory; created when absent.
    pub target: &'a Path,
    /// The state to write.
    pub state: Gid,
    /// The state recorded for the workspace that lives in `target`, if one does: what it holds is not lost by
    /// overwriting or removing it.
    pub recorded: Option<Gid>,
    /// Whether files that the state does not hold stay.
    pub overlay: bool,
    /// Whether unrecorded files in the way may be lost.
    pub force: bool,
    /// Name of the stat cache of that workspace; rewritten by an exact checkout.
    pub cache: Option<&'a str>,
    /// Upper bounds on objects.
    pub limits: &'a Limits,
    /// Hears how far the writing is.
    pub progress: &'a dyn Progress,
}

/// What a checkout will do.
#[derive(Debug)]
pub struct CheckoutPlan {
    /// Files and links to be written, ascending.
    pub write: Vec<String>,
    /// Paths to be removed, ascending.
    pub remove: Vec<String>,
    /// Paths among both whose present content the recorded state does not hold, ascending.
    pub obstacles: Vec<String>,
    /// Protected things where the state needs another kind of thing, ascending: not even `force` removes them.
    pub protected: Vec<String>,
    /// Paths of the state that are never written: repository metadata, however disguised.
    pub unsafe_names: Vec<String>,
    /// Paths of the state that the target's file system does not tell apart.
    pub collisions: Vec<String>,
}

/// What a checkout did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckoutReport {
    /// Files and links written, ascending.
    pub written: Vec<String>,
    /// Paths removed, ascending.
    pub removed: Vec<String>,
    /// Paths of the state that are never written.
    pub unsafe_names: Vec<String>,
}

/// Decides what a checkout has to do. Changes no file of the target.
///
/// # Errors
/// `Io`, `Store`, `CorruptObject`, `Limit`, `LinkTarget`.
pub fn plan_checkout(store: &Store, request: &CheckoutRequest<'_>) -> Result<CheckoutPlan> {
    let _ = (store, request);
    unimplemented!()
}

impl CheckoutPlan {
    /// Carries the plan out. Running it again after a failure goes on where it stopped.
    ///
    /// # Errors
    /// Before anything is written: `UnrecordedWork` without `force`, `Protected`, `Collision`. Later: `Changed` when a
    /// file was touched since the plan was made, `Io`, `Store`.
    pub fn run(self, store: &Store, request: &CheckoutRequest<'_>) -> Result<CheckoutReport> {
        let _ = (store, request);
        unimplemented!()
    }
}
