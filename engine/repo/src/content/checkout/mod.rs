//! Checkout: a state becomes the files of a directory (workflow, section 11). A plan is made first, whole and without
//! changing a file; [`CheckoutPlan::run`] carries it out.

mod collide;
mod names;
mod obstacles;
mod plan;
mod run;
mod target;
mod write;

pub(crate) use collide::{Alike, may_collide};
pub use plan::{CheckoutPlan, plan_checkout};

use crate::facts::Progress;
use gemel_object::{Gid, Limits};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// How files begin that are not yet what they will be. One left behind by a process that was killed is nobody's work.
pub(crate) const TEMP_PREFIX: &str = ".gemel-checkout-";

/// Makes something under a name of its own in its directory.
///
/// # Errors
/// Those of `make`, except that a name is taken.
fn free_name<T>(mut make: impl FnMut(&[u8]) -> io::Result<T>) -> io::Result<(Vec<u8>, T)> {
    /// Distinguishes the threads of one process; other processes are noticed by their names being taken.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let name = format!("{TEMP_PREFIX}{:x}", NEXT.fetch_add(1, Ordering::Relaxed)).into_bytes();
        match make(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|made| (name, made)),
        }
    }
}

/// Whether a path ends in a name made by [`free_name`].
fn is_left_behind(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let number = name.strip_prefix(TEMP_PREFIX);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
