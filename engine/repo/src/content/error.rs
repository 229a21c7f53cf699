//! What can go wrong between a directory and the store: each variant names the path.

use gemel_object::{Gid, ObjectError};
use gemel_store::StoreError;
use std::io;
use std::path::PathBuf;

/// Failure of a capture, a comparison or a checkout.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// A socket, pipe or device where content is expected.
    #[error("unsupported: {path}: special file type (socket, pipe or device); remove it or have it ignored")]
    SpecialFile {
        /// The path, escaped where it is no text.
        path: String,
    },
    /// A name that no tree can hold.
    #[error("object error: invalid tree entry name {path:?}: {reason}; rename it or have it ignored")]
    InvalidName {
        /// The path, escaped where it is no text.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file, a directory or a walk over its limit.
    #[error("{what}: {found} exceeds the limit of {limit}")]
    Limit {
        /// What is counted, and where.
        what: String,
        /// Value found.
        found: u64,
        /// Value allowed.
        limit: u64,
    },
    /// A file that changed at every attempt to read it.
    #[error("{path} keeps changing while it is read; run the command again")]
    Unstable {
        /// The path.
        path: String,
    },
    /// A file whose bytes are no longer those compared before.
    #[error("{path} changed since it was compared; run the command again")]
    Changed {
        /// The path.
        path: String,
    },
    /// The disk failed.
    #[error("cannot {op} {}: {source}", path.display())]
    Io {
        /// What was tried.
        op: &'static str,
        /// On which path.
        path: PathBuf,
        /// The disk's answer.
        source: io::Error,
    },
    /// Files in the way whose content no state of the workspace holds.
    #[error("invalid: checkout would lose {} unrecorded file(s): {}; pass --force to lose them", paths.len(), shorten(paths))]
    UnrecordedWork {
        /// The paths, ascending.
        paths: Vec<String>,
    },
    /// Something that is never removed stands where the state needs another kind of thing.
    #[error(
        "invalid: checkout would have to remove protected path(s): {}; move them away first",
        shorten(paths)
    )]
    Protected {
        /// The paths, ascending.
        paths: Vec<String>,
    },
    /// A checkout into the store or into other repository metadata.
    #[error("invalid: {} lies in repository metadata; nothing is checked out there", path.display())]
    ProtectedTarget {
        /// The directory.
        path: PathBuf,
    },
    /// Names that the target's file system takes for one.
    #[error(
        "invalid: names that are one and the same on this file system: {}; check out on another one",
        shorten(paths)
    )]
    Collision {
        /// The paths, ascending.
        paths: Vec<String>,
    },
    /// A link target that no link can have.
    #[error("invalid: {path}: its stored link target {reason}, so it cannot be written")]
    LinkTarget {
        /// The path of the link.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A stored object is not what another object says it is.
    #[error("corrupt object {id}: {detail}; run `gemel fsck`")]
    CorruptObject {
        /// The object.
        id: Gid,
        /// What was found.
        detail: String,
    },
    /// An object could not be made.
    #[error("object error: {path}: {source}")]
    Object {
        /// The path it was made for.
        path: String,
        /// The broken rule.
        source: ObjectError,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Result of a content operation.
pub(crate) type Result<T, E = ContentError> = std::result::Result<T, E>;

/// Paths shown in a message at most; the variant holds them all.
const SHOWN: usize = 10;

fn shorten(paths: &[String]) -> String {
    let mut text = paths.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if paths.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

impl ContentError {
    /// Wraps a disk error with what was tried and where.
    pub(crate) fn io(op: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ContentError {
        let path = path.into();
        move |source| ContentError::Io { op, path, source }
    }

    /// Objects the failure is about.
    pub fn ids(&self) -> Vec<Gid> {
        match self {
            ContentError::CorruptObject { id, .. } => vec![*id],
            _ => Vec::new(),
        }
    }
}
