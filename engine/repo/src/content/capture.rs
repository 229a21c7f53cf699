//! Capture: a directory becomes a state (workflow, section 3).

use crate::content::delta::PathDelta;
use crate::content::error::Result;
use crate::facts::Progress;
use gemel_object::{Gid, Limits};
use gemel_store::{Store, Writer};
use std::path::Path;

/// What a capture is told.
#[derive(Clone, Copy)]
pub struct CaptureRequest<'a> {
    /// The directory.
    pub root: &'a Path,
    /// The workspace's recorded state: its paths stay content whatever the ignore rules say.
    pub recorded: Option<Gid>,
    /// Name of the workspace's stat cache, a plain file name such as `stat-default`; none: no cache is used.
    pub cache: Option<&'a str>,
    /// What the result is compared with; the trees of an uncommitted session cannot be read back.
    pub compare_with: CompareWith,
    /// Whether every file is read, whatever the stat cache says.
    pub verify: bool,
    /// Upper bounds on the objects made.
    pub limits: &'a Limits,
    /// Hears how far the reading is.
    pub progress: &'a dyn Progress,
}

/// What a capture is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareWith {
    /// Nothing: [`Capture::changes`] is left empty.
    Nothing,
    /// A directory without content.
    Empty,
    /// A stored state.
    State(Gid),
}

/// What was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The state.
    pub state: Gid,
    /// Its root tree.
    pub root_tree: Gid,
    /// Regular files.
    pub files: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Directories with content, the root not counted.
    pub directories: u64,
    /// Bytes of file content and link targets.
    pub bytes: u64,
    /// Whether nothing changed while it was read.
    pub coherent: bool,
    /// Passes made, 1 to 3.
    pub attempts: u32,
    /// What differs from [`CaptureRequest::compare_with`], by path: `before` there, `after` in the directory.
    pub changes: Vec<PathDelta>,
    /// What was left out although no rule ignores it.
    pub omitted: Vec<Omission>,
}

/// Something that is not content although no rule ignores it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Omission {
    /// The path, escaped where it is no text.
    pub path: String,
    /// Why.
    pub reason: OmissionReason,
}

/// Why something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OmissionReason {
    /// A folder with a repository of its own, of which the recorded state holds nothing.
    NestedRepository,
    /// A socket, pipe or device; a capture refuses it.
    SpecialFile,
    /// A name no tree can hold; a capture refuses it.
    InvalidName,
    /// Larger than an object may be; a capture refuses it.
    TooLarge,
}

impl OmissionReason {
    /// The class used in answers.
    pub fn class(self) -> &'static str {
        match self {
            OmissionReason::NestedRepository => "nested_repository",
            OmissionReason::SpecialFile => "special_file",
            OmissionReason::InvalidName => "invalid_name",
            OmissionReason::TooLarge => "too_large",
        }
    }
}

/// Writes blobs, trees and the state of a directory through `writer`. Nothing is durable before the writer's commit;
/// the stat cache may be replaced before, it is checked against the store when used.
///
/// # Errors
/// `SpecialFile`, `InvalidName`, `Limit` naming the first such path, and no state then exists; `Unstable`, `Io`,
/// `Object`, `Store`, `CorruptObject`.
pub fn capture(store: &Store, writer: &Writer<'_>, request: &CaptureRequest<'_>) -> Result<Capture> {
    let _ = (store, writer, request);
    unimplemented!()
}
