//! A simulated disk that also counts what is read from it.

use gemel_store::vfs::sim::SimDisk;
use gemel_store::vfs::{AppendFile, Entry, FileBytes, LockGuard, RawEntry, Vfs};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a command cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Operations that change the disk.
    pub(crate) writes: u64,
    /// Files mapped or read, directories listed, paths looked at.
    pub(crate) reads: u64,
    /// Bytes read into memory; maps are read by need and not counted.
    pub(crate) read_bytes: u64,
}

impl Cost {
    /// The larger in each respect.
    pub(crate) fn max(self, other: Cost) -> Cost {
        Cost {
            writes: self.writes.max(other.writes),
            reads: self.reads.max(other.reads),
            read_bytes: self.read_bytes.max(other.read_bytes),
        }
    }
}

/// Counts and passes on.
#[derive(Debug)]
pub(crate) struct Counting {
    disk: SimDisk,
    reads: AtomicU64,
    read_bytes: AtomicU64,
    since: usize,
}

impl Counting {
    /// Counts from here.
    pub(crate) fn new(disk: &SimDisk) -> Counting {
        Counting {
            disk: disk.clone(),
            reads: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            since: disk.ops(),
        }
    }

    pub(crate) fn cost(&self) -> Cost {
        Cost {
            writes: (self.disk.ops() - self.since) as u64,
            reads: self.reads.load(Ordering::Relaxed),
            read_bytes: self.read_bytes.load(Ordering::Relaxed),
        }
    }

    fn reading(&self) -> &SimDisk {
        self.reads.fetch_add(1, Ordering::Relaxed);
        &self.disk
    }

    fn counted(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.read_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        bytes
    }
}

impl Vfs for Counting {
    fn map(&self, path: &Path) -> io::Result<FileBytes> {
        self.reading().map(path)
    }
    fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
        self.reading().read(path, max_bytes).map(|bytes| self.counted(bytes))
    }
    fn read_from(&self, path: &Path, offset: u64, max_bytes: u64) -> io::Result<Vec<u8>> {
        self.reading().read_from(path, offset, max_bytes).map(|bytes| self.counted(bytes))
    }
    fn read_range(&self, path: &Path, offset: u64, len_bytes: usize) -> io::Result<Vec<u8>> {
        self.reading().read_range(path, offset, len_bytes).map(|bytes| self.counted(bytes))
    }
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.disk.create_new(path)
    }
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.reading().open_append(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_dir(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_dir(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        self.reading().list(path)
    }
    fn stat(&self, path: &Path) -> io::Result<Option<Entry>> {
        self.reading().stat(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        self.disk.lock(path)
    }
    fn temp_path(&self, dir: &Path) -> PathBuf {
        self.disk.temp_path(dir)
    }
    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.disk.exchange(a, b)
    }
    fn list_raw(&self, path: &Path) -> io::Result<Vec<RawEntry>> {
        self.reading().list_raw(path)
    }
    fn stat_raw(&self, path: &Path) -> io::Result<Option<RawEntry>> {
        self.reading().stat_raw(path)
    }
    fn open_plain(&self, path: &Path) -> io::Result<(u64, Box<dyn Read + Send>)> {
        self.reading().open_plain(path)
    }
}
