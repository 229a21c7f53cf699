//! The seam between content and a worktree's file system.
//!
//! A [`Dir`] is an open directory; everything is named relative to one, so that nothing is reached through a link that
//! somebody puts in the way (T-25, T-51). Paths are bytes with `/` between names. Knows nothing of rules or trees.

#[cfg(any(not(unix), test))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use portable::{Dir, FileRead, change_time_of, is_stripped, settle_mode, stat_file};
#[cfg(unix)]
pub(crate) use unix::{Dir, FileRead, change_time_of, is_stripped, settle_mode, stat_file};

use gemel_object::Mode;
use std::io;
use std::path::{Path, PathBuf};

/// What a directory entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Regular file without an executable bit.
    File,
    /// Regular file with at least one.
    Executable,
    /// Symbolic link.
    Link,
    /// Directory.
    Directory,
    /// Socket, pipe or device.
    Other,
}

impl Kind {
    /// The mode a tree gives it; none for what no tree can hold.
    pub(crate) fn mode(self) -> Option<Mode> {
        match self {
            Kind::File => Some(Mode::File),
            Kind::Executable => Some(Mode::Executable),
            Kind::Link => Some(Mode::Link),
            Kind::Directory => Some(Mode::Directory),
            Kind::Other => None,
        }
    }

    /// Whether it is a regular file or a link.
    pub(crate) fn is_leaf(self) -> bool {
        matches!(self, Kind::File | Kind::Executable | Kind::Link)
    }
}

/// What the file system says of an entry, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// What it is.
    pub(crate) kind: Kind,
    /// Length in bytes.
    pub(crate) size: u64,
    /// Time of the last write, nanoseconds since 1970.
    pub(crate) mtime_ns: i64,
    /// Time of the last change of anything, nanoseconds since 1970; 0 where there is none.
    pub(crate) ctime_ns: i64,
    /// Number of the inode; 0 where there is none.
    pub(crate) ino: u64,
}

impl Stat {
    /// Whether this is the same thing in the same content, as far as capture coherence asks: kind, size, time of
    /// writing and inode (workflow, section 3.4).
    pub(crate) fn same_content(&self, other: &Stat) -> bool {
        self.kind == other.kind
            && self.size == other.size
            && self.mtime_ns == other.mtime_ns
            && self.ino == other.ino
    }
}

/// The names in a directory, ascending by bytes.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    text: Vec<u8>,
    items: Vec<Item>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    start: usize,
    end: usize,
    kind: Hint,
}

/// What a listing says of an entry without a stat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// A directory.
    Directory,
    /// A regular file or a link.
    Leaf,
    /// Something else.
    Other,
    /// Not said.
    Unknown,
}

impl Hint {
    /// What a stat says.
    pub(crate) fn of(kind: Kind) -> Hint {
        match kind {
            Kind::Directory => Hint::Directory,
            Kind::Other => Hint::Other,
            _ => Hint::Leaf,
        }
    }
}

impl Listing {
    fn push(&mut self, name: &[u8], kind: Hint) {
        let start = self.text.len();
        self.text.extend_from_slice(name);
        self.items.push(Item { start, end: self.text.len(), kind });
    }

    fn sort(&mut self) {
        let text = &self.text;
        self.items.sort_unstable_by(|a, b| text[a.start..a.end].cmp(&text[b.start..b.end]));
    }

    /// Names and what is known of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Hint)> {
        self.items.iter().map(|item| (&self.text[item.start..item.end], item.kind))
    }

    /// Whether `name` is among them.
    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        self.items.binary_search_by(|item| self.text[item.start..item.end].cmp(name)).is_ok()
    }
}

impl Dir {
    /// Whether `name`, of which a listing said `hint`, is a directory.
    pub(crate) fn is_dir(&self, name: &[u8], hint: Hint) -> io::Result<bool> {
        match hint {
            Hint::Unknown => Ok(self.stat(name)?.is_some_and(|stat| stat.kind == Kind::Directory)),
            hint => Ok(hint == Hint::Directory),
        }
    }
}

/// Whether an error says that nothing is there: absent, or behind something that is no directory, or behind a link.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return true;
    }
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The path `rel` below `root`, for messages.
pub(crate) fn shown(root: &Path, rel: &[u8]) -> PathBuf {
    if rel.is_empty() { root.to_path_buf() } else { root.join(text(rel)) }
}

/// Bytes as text for a message: what is no UTF-8 is escaped, a backslash doubled then, so that no two look alike.
pub(crate) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

/// `dir` and `name` with a slash between, unless `dir` is empty.
pub(crate) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
    path.extend_from_slice(dir);
    if !dir.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

#[cfg(test)]
mod tests;
