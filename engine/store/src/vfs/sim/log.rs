//! The record of what was done to a simulated disk.

use super::contents::{DirId, Inode, Node, Slot};
use std::fmt;
use std::sync::Arc;

/// One recorded operation.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// A new entry, for a new file or directory.
    Link {
        slot: Slot,
        node: Node,
    },
    /// An entry removed.
    Unlink {
        slot: Slot,
        node: Node,
    },
    Rename {
        from: Slot,
        to: Slot,
        node: Node,
    },
    Exchange {
        a: (Slot, Node),
        b: (Slot, Node),
    },
    SyncDir {
        dir: DirId,
    },
    Append {
        inode: Inode,
        offset: usize,
        bytes: Arc<[u8]>,
    },
    Truncate {
        inode: Inode,
        len: usize,
    },
    Sync {
        inode: Inode,
    },
    /// A sync that failed: what was written before it is not made durable by a later one.
    FailedSync {
        inode: Inode,
    },
    /// An operation that failed without effect.
    Failed {
        what: &'static str,
    },
}

impl Op {
    /// The file whose data it changes.
    pub(super) fn data_of(&self) -> Option<Inode> {
        match self {
            Op::Append { inode, .. } | Op::Truncate { inode, .. } => Some(*inode),
            _ => None,
        }
    }

    /// The directories whose entries it changes.
    pub(super) fn entries_of(&self) -> [Option<DirId>; 2] {
        match self {
            Op::Link { slot, .. } | Op::Unlink { slot, .. } => [Some(slot.dir), None],
            Op::Rename { from, to, .. } => [Some(from.dir), Some(to.dir)],
            Op::Exchange { a, b } => [Some(a.0.dir), Some(b.0.dir)],
            _ => [None, None],
        }
    }

    /// Whether it changes anything that a crash could undo.
    pub(super) fn is_change(&self) -> bool {
        self.data_of().is_some() || self.entries_of()[0].is_some()
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::File(inode) => write!(f, "file {inode}"),
            Node::Dir(dir) => write!(f, "directory {dir}"),
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.dir, self.name)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Link { slot, node } => write!(f, "create {slot} ({node})"),
            Op::Unlink { slot, node } => write!(f, "remove {slot} ({node})"),
            Op::Rename { from, to, node } => write!(f, "rename {from} to {to} ({node})"),
            Op::Exchange { a, b } => write!(f, "exchange {} ({}) and {} ({})", a.0, a.1, b.0, b.1),
            Op::SyncDir { dir } => write!(f, "sync directory {dir}"),
            Op::Append { inode, offset, bytes } => {
                write!(f, "append {} bytes at {offset} of file {inode}", bytes.len())
            }
            Op::Truncate { inode, len } => write!(f, "truncate file {inode} to {len}"),
            Op::Sync { inode } => write!(f, "sync file {inode}"),
            Op::FailedSync { inode } => write!(f, "failed sync of file {inode}"),
            Op::Failed { what } => write!(f, "failed {what}"),
        }
    }
}
