//! Differences between two versions of a file: facts, and their rendering in Git's patch format.

mod bounded;
mod lines;
mod patch;
mod trace;

pub use patch::{quoted, write_patch};
pub(crate) use trace::{lines, traced};

use gemel_object::Mode;

/// One version of a file or link.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its mode.
    pub mode: Mode,
    /// Its bytes; a link's are its target. None: they are too many to be compared line by line, and differ from those
    /// of the other version.
    pub bytes: Option<&'a [u8]>,
}

/// How two versions differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Same bytes.
    Same,
    /// At least one side is binary or too large to be compared line by line.
    Binary,
    /// Lines.
    Text(Vec<Hunk>),
}

/// A run of changed lines with its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// First line on the old side, from 1; the line before it when `old_len` is 0.
    pub old_start: u32,
    /// Lines on the old side.
    pub old_len: u32,
    /// First line on the new side, from 1; the line before it when `new_len` is 0.
    pub new_start: u32,
    /// Lines on the new side.
    pub new_len: u32,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line of a hunk: where it lies in the bytes of its side, line end included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// On both sides; the place is on the old one.
    Context(std::ops::Range<usize>),
    /// On the old side only.
    Removed(std::ops::Range<usize>),
    /// On the new side only.
    Added(std::ops::Range<usize>),
}

/// Lines added and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineStat {
    /// Lines only on the new side.
    pub added: u64,
    /// Lines only on the old side.
    pub removed: u64,
    /// Whether a side is binary; the counts are then zero.
    pub binary: bool,
}

/// Compares two versions; an absent one counts as empty. `context` lines around each change belong to its hunk.
pub fn compare(old: Option<&Version<'_>>, new: Option<&Version<'_>>, context: u32) -> Body {
    match kind_of(old, new) {
        Comparison::Same => Body::Same,
        Comparison::Binary => Body::Binary,
        Comparison::Lines => Body::Text(lines::hunks(bytes_of(old), bytes_of(new), context)),
    }
}

/// Counts lines added and removed between two versions.
pub fn count(old: Option<&Version<'_>>, new: Option<&Version<'_>>) -> LineStat {
    match kind_of(old, new) {
        Comparison::Same => LineStat::default(),
        Comparison::Binary => LineStat { binary: true, ..LineStat::default() },
        Comparison::Lines => lines::count(bytes_of(old), bytes_of(new)),
    }
}

/// Whether `bytes` are binary as Git tells it: a NUL among the first 8000.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_PROBE).any(|&byte| byte == 0)
}

/// Bytes searched for a NUL.
const BINARY_PROBE: usize = 8000;
/// A version longer than this is not compared line by line.
pub const MAX_TEXT_BYTES: u64 = 256 << 20;

enum Comparison {
    Same,
    Binary,
    Lines,
}

fn kind_of(old: Option<&Version<'_>>, new: Option<&Version<'_>>) -> Comparison {
    if [old, new].into_iter().flatten().any(|version| version.bytes.is_none()) {
        return Comparison::Binary;
    }
    let (old, new) = (bytes_of(old), bytes_of(new));
    if old == new {
        Comparison::Same
    } else if is_binary(old) || is_binary(new) || old.len().max(new.len()) as u64 > MAX_TEXT_BYTES {
        Comparison::Binary
    } else {
        Comparison::Lines
    }
}

fn bytes_of<'a>(version: Option<&Version<'a>>) -> &'a [u8] {
    version.and_then(|version| version.bytes).unwrap_or_default()
}
