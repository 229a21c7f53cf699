//! A disk for a directory that nobody else sees yet.
//!
//! Whoever builds the directory syncs its files once, at the end, and keeps others away: in between, syncs and lock
//! files have nothing to protect.

use super::{AppendFile, Entry, FileBytes, LockGuard, RawEntry, Vfs};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Does everything on the disk below but syncing, and grants every lock file.
#[derive(Clone, Debug)]
pub(crate) struct Unseen(pub(crate) Arc<dyn Vfs>);

#[derive(Debug)]
struct UnseenFile(Box<dyn AppendFile>);

impl AppendFile for UnseenFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }

    fn len_bytes(&self) -> u64 {
        self.0.len_bytes()
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        self.0.truncate(len_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        self.0.try_lock()
    }
}

#[derive(Debug)]
struct Granted;

impl LockGuard for Granted {}

fn unseen(file: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
    Box::new(UnseenFile(file))
}

impl Vfs for Unseen {
    fn map(&self, path: &Path) -> io::Result<FileBytes> {
        self.0.map(path)
    }

    fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
        self.0.read(path, max_bytes)
    }

    fn read_from(&self, path: &Path, offset: u64, max_bytes: u64) -> io::Result<Vec<u8>> {
        self.0.read_from(path, offset, max_bytes)
    }

    fn read_range(&self, path: &Path, offset: u64, len_bytes: usize) -> io::Result<Vec<u8>> {
        self.0.read_range(path, offset, len_bytes)
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.0.create_new(path).map(unseen)
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.0.open_append(path).map(unseen)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        self.0.list(path)
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Entry>> {
        self.0.stat(path)
    }

    fn lock(&self, _path: &Path) -> io::Result<Box<dyn LockGuard>> {
        Ok(Box::new(Granted))
    }

    fn temp_path(&self, dir: &Path) -> PathBuf {
        self.0.temp_path(dir)
    }

    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.0.exchange(a, b)
    }

    fn list_raw(&self, path: &Path) -> io::Result<Vec<RawEntry>> {
        self.0.list_raw(path)
    }

    fn stat_raw(&self, path: &Path) -> io::Result<Option<RawEntry>> {
        self.0.stat_raw(path)
    }

    fn open_plain(&self, path: &Path) -> io::Result<(u64, Box<dyn Read + Send>)> {
        self.0.open_plain(path)
    }
}
