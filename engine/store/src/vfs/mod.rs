//! The seam between the store and a disk.
//!
//! Every file under `.gemel/` is written through [`Vfs`], so that a simulated disk can record, stop, tear and
//! fail each operation. Paths are absolute. Nothing here knows what the files mean.

pub mod real;
pub mod sim;
pub(crate) mod unseen;

use std::ffi::OsString;
use std::fmt::Debug;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Immutable bytes of a file: a memory map on a real disk, a shared buffer on a simulated one.
#[derive(Clone)]
pub struct FileBytes(Arc<dyn Deref<Target = [u8]> + Send + Sync>);

impl FileBytes {
    /// Wraps anything that owns bytes.
    pub fn new(owner: impl Deref<Target = [u8]> + Send + Sync + 'static) -> FileBytes {
        FileBytes(Arc::new(owner))
    }
}

impl Deref for FileBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0.deref()
    }
}

impl Debug for FileBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileBytes({} bytes)", self.len())
    }
}

/// What a directory listing or a stat says of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name within its directory.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Length of a file, 0 for a directory.
    pub size_bytes: u64,
}

/// What an entry is, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link, to whatever.
    Link,
    /// A device, pipe or socket.
    Other,
}

/// What a listing of a directory that somebody else filled says of one entry: links are named, not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawEntry {
    /// Name within its directory, whatever its bytes.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
    /// Length of a regular file, else 0.
    pub size_bytes: u64,
}

/// A file open for appending. Dropping it does not sync.
pub trait AppendFile: Send + Sync + Debug {
    /// Appends `bytes` at the end.
    ///
    /// # Errors
    /// Any disk error; the file may then hold a prefix of `bytes`.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Current length.
    fn len_bytes(&self) -> u64;
    /// Cuts the file to `len_bytes`; only for files no reader maps past that length.
    ///
    /// # Errors
    /// Any disk error.
    fn truncate(&mut self, len_bytes: u64) -> io::Result<()>;
    /// Asks the disk to begin writing what was appended so far, so that a later sync has less to wait for. Promises
    /// nothing and fails silently.
    fn begin_writeback(&mut self) {}
    /// Makes data and length durable. After a failure the handle refuses every further call.
    ///
    /// # Errors
    /// Any disk error.
    fn sync(&mut self) -> io::Result<()>;
    /// Takes an exclusive advisory lock on this file without waiting. `false`: another handle has it.
    ///
    /// # Errors
    /// Any disk error other than contention.
    fn try_lock(&mut self) -> io::Result<bool>;
}

/// Held while a lock file is locked; dropping it unlocks, as does the end of the process.
pub trait LockGuard: Send + Sync + Debug {}

/// A disk. Implementations: [`real::RealDisk`], [`sim::SimDisk`].
pub trait Vfs: Send + Sync + Debug {
    /// Whole file as immutable bytes. On a real disk a map of the length at this moment; the caller never maps
    /// a file that may be shortened.
    ///
    /// # Errors
    /// `NotFound` and any other disk error.
    fn map(&self, path: &Path) -> io::Result<FileBytes>;
    /// Reads a whole file, refusing one over `max_bytes` with `InvalidData`.
    ///
    /// # Errors
    /// `NotFound` and any other disk error.
    fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>>;
    /// Reads a file from byte `offset` to its end, refusing more than `max_bytes` with `InvalidData`. Unlike a map
    /// it may be used on a file that another process shortens. Empty at or past the end.
    ///
    /// # Errors
    /// `NotFound` and any other disk error.
    fn read_from(&self, path: &Path, offset: u64, max_bytes: u64) -> io::Result<Vec<u8>>;
    /// Reads exactly `len_bytes` at `offset`; the caller has bounded them. Unlike a map it leaves nothing in memory.
    ///
    /// # Errors
    /// `NotFound`, `UnexpectedEof` past the end, and any other disk error.
    fn read_range(&self, path: &Path, offset: u64, len_bytes: usize) -> io::Result<Vec<u8>>;
    /// Creates a file that must not exist.
    ///
    /// # Errors
    /// `AlreadyExists` and any other disk error.
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// Opens an existing file for appending at its end.
    ///
    /// # Errors
    /// `NotFound` and any other disk error.
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// Atomically renames a file over `to`, or a directory to an absent name.
    ///
    /// # Errors
    /// Any disk error.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` and any other disk error.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    ///
    /// # Errors
    /// Any disk error.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Creates a directory and its parents; fine if it exists.
    ///
    /// # Errors
    /// Any disk error, `NotADirectory` among them.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in a directory durable.
    ///
    /// # Errors
    /// Any disk error.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Entries of a directory by name, ascending. Names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// `NotFound` and any other disk error.
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>>;
    /// Kind and size of a path, links followed; `None` if absent.
    ///
    /// # Errors
    /// Any disk error other than absence.
    fn stat(&self, path: &Path) -> io::Result<Option<Entry>>;
    /// Waits for the exclusive advisory lock of the existing or created file `path`.
    ///
    /// # Errors
    /// Any disk error.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn LockGuard>>;
    /// A name no other process uses now, for temporary files in `dir`: `dir/tmp-…`.
    fn temp_path(&self, dir: &Path) -> PathBuf;
    /// Atomically exchanges two existing entries of any kind, so that neither name is ever absent.
    ///
    /// # Errors
    /// `Unsupported` where system or file system cannot; nothing has happened then. Any disk error.
    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()>;
    /// Entries of a directory by name, ascending: links as such, names of any bytes.
    ///
    /// # Errors
    /// `NotADirectory` when `path` itself is a link or a file; any other disk error.
    fn list_raw(&self, path: &Path) -> io::Result<Vec<RawEntry>>;
    /// Kind and size of `path` itself, a link not followed; `None` if absent.
    ///
    /// # Errors
    /// Any disk error other than absence.
    fn stat_raw(&self, path: &Path) -> io::Result<Option<RawEntry>>;
    /// Opens a regular file to be read as a stream, and its length at this moment. A link is not followed, a pipe
    /// not waited for.
    ///
    /// # Errors
    /// `InvalidData` when `path` is no regular file; `NotFound` and any other disk error.
    fn open_plain(&self, path: &Path) -> io::Result<(u64, Box<dyn Read + Send>)>;
}
