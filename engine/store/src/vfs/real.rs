//! The disk of the operating system.
//!
//! Locks are advisory whole-file locks of the open file description, so they hold between threads as well as
//! between processes and end with the process. A directory is synced by opening it; where the platform cannot
//! open directories that step is left out.

use super::{AppendFile, Entry, EntryKind, FileBytes, LockGuard, RawEntry, Vfs};
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The operating system's disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl RealDisk {
    /// A handle to the disk; it has no state.
    pub fn new() -> RealDisk {
        RealDisk
    }
}

/// Attempts to make a directory that others take away.
const VANISHING: usize = 16;

impl Vfs for RealDisk {
    fn map(&self, path: &Path) -> io::Result<FileBytes> {
        let file = open_to_read(path)?;
        let len = checked_len(&file, path, u64::MAX)?;
        if len == 0 {
            return Ok(FileBytes::new(Vec::new()));
        }
        // SAFETY: the length is the file's own at this moment, and by the contract of `Vfs::map` nobody shortens or
        // rewrites a file that is mapped. Bytes are checked by whoever reads them.
        let map = unsafe { memmap2::MmapOptions::new().len(len).map(&file)? };
        Ok(FileBytes::new(map))
    }

    fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
        self.read_from(path, 0, max_bytes)
    }

    fn read_from(&self, path: &Path, offset: u64, max_bytes: u64) -> io::Result<Vec<u8>> {
        let mut file = open_to_read(path)?;
        let len = checked_len(&file, path, u64::MAX)? as u64;
        let expected = len.saturating_sub(offset);
        if expected > max_bytes {
            return Err(too_long(path, expected, max_bytes));
        }
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
        // One byte beyond the bound tells a file that grew past it meanwhile.
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_bytes {
            return Err(too_long(path, bytes.len() as u64, max_bytes));
        }
        Ok(bytes)
    }

    fn read_range(&self, path: &Path, offset: u64, len_bytes: usize) -> io::Result<Vec<u8>> {
        let file = open_to_read(path)?;
        let mut bytes = vec![0; len_bytes];
        read_exact_at(&file, offset, &mut bytes)?;
        Ok(bytes)
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = OpenOptions::new().read(true).append(true).create_new(true).open(path)?;
        Ok(Box::new(RealFile { file, len_bytes: 0, handed_over: 0, poisoned: false }))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = OpenOptions::new().read(true).append(true).open(path)?;
        let len_bytes = checked_len(&file, path, u64::MAX)? as u64;
        Ok(Box::new(RealFile { file, len_bytes, handed_over: len_bytes, poisoned: false }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        // A directory that another process renames away between the attempt and the look is there and gone.
        for _ in 0..VANISHING {
            match fs::create_dir_all(path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists && path.symlink_metadata().is_err() => {}
                done => return done,
            }
        }
        fs::create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if cfg!(unix) {
            return File::open(path)?.sync_all();
        }
        // Elsewhere a directory may not open as a file; its entries are then as durable as the platform makes them.
        match File::open(path).and_then(|dir| dir.sync_all()) {
            Err(e) if e.kind() == ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for item in fs::read_dir(path)? {
            let item = item?;
            let Ok(name) = item.file_name().into_string() else { continue };
            // Links are followed, as `stat` does; what vanished meanwhile is left out.
            match fs::metadata(item.path()) {
                Ok(meta) => entries.push(entry(name, &meta)),
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Entry>> {
        match fs::metadata(path) {
            Ok(meta) => {
                let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
                Ok(Some(entry(name, &meta)))
            }
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // A link planted in its place would make the open create a file elsewhere.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(
            &mut options,
            rustix::fs::OFlags::NOFOLLOW.bits().cast_signed(),
        );
        let file = options.open(path)?;
        file.lock()?;
        Ok(Box::new(RealLock { _file: file }))
    }

    fn temp_path(&self, dir: &Path) -> PathBuf {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let serial = COUNTER.fetch_add(1, Ordering::Relaxed);
        // The process id alone repeats after a restart or in another container; fresh hasher keys do not.
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(serial);
        dir.join(format!("tmp-{}-{serial}-{:016x}", std::process::id(), hasher.finish()))
    }

    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        exchange(a, b)
    }

    fn list_raw(&self, path: &Path) -> io::Result<Vec<RawEntry>> {
        if !fs::symlink_metadata(path)?.is_dir() {
            return Err(io::Error::new(
                ErrorKind::NotADirectory,
                format!("{} is no directory", path.display()),
            ));
        }
        let mut entries = Vec::new();
        for item in fs::read_dir(path)? {
            let item = item?;
            // Not followed; what vanished meanwhile is left out.
            match item.metadata() {
                Ok(meta) => entries.push(raw_entry(item.file_name(), &meta)),
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn stat_raw(&self, path: &Path) -> io::Result<Option<RawEntry>> {
        match fs::symlink_metadata(path) {
            Ok(meta) => Ok(Some(raw_entry(path.file_name().unwrap_or_default().to_owned(), &meta))),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn open_plain(&self, path: &Path) -> io::Result<(u64, Box<dyn Read + Send>)> {
        let file = open_unfollowed(path)?;
        let len_bytes = checked_len(&file, path, u64::MAX)? as u64;
        Ok((len_bytes, Box::new(file)))
    }
}

/// Opens for reading without waiting: a named pipe planted in the place of a file must not hang the reader.
fn open_to_read(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    options.open(path)
}

/// As [`open_to_read`], refusing a link in the last place.
#[cfg(unix)]
fn open_unfollowed(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let mut options = OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::custom_flags(options.read(true), flags);
    options.open(path).map_err(|e| {
        if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            return io::Error::new(ErrorKind::InvalidData, format!("{} is a link", path.display()));
        }
        e
    })
}

#[cfg(not(unix))]
fn open_unfollowed(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("{} is not a regular file", path.display()),
        ));
    }
    open_to_read(path)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).map_err(|e| match e {
        // Kernels and file systems that lack it answer one of these.
        Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => ErrorKind::Unsupported.into(),
        other => other.into(),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_a: &Path, _b: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

fn raw_entry(name: OsString, meta: &fs::Metadata) -> RawEntry {
    let kind = match meta.file_type() {
        t if t.is_file() => EntryKind::File,
        t if t.is_dir() => EntryKind::Dir,
        t if t.is_symlink() => EntryKind::Link,
        _ => EntryKind::Other,
    };
    RawEntry { name, kind, size_bytes: if kind == EntryKind::File { meta.len() } else { 0 } }
}

fn entry(name: String, meta: &fs::Metadata) -> Entry {
    let size_bytes = if meta.is_file() { meta.len() } else { 0 };
    Entry { name, is_dir: meta.is_dir(), size_bytes }
}

/// Length of an open regular file, as an allocation size.
fn checked_len(file: &File, path: &Path, max_bytes: u64) -> io::Result<usize> {
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("{} is not a regular file", path.display()),
        ));
    }
    usize::try_from(meta.len())
        .ok()
        .filter(|len| *len as u64 <= max_bytes)
        .ok_or_else(|| too_long(path, meta.len(), max_bytes))
}

fn too_long(path: &Path, found: u64, max_bytes: u64) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("{} has {found} bytes, more than {max_bytes}", path.display()),
    )
}

#[cfg(target_os = "linux")]
fn begin_writeback(file: &File, from: u64, to: u64) {
    use std::os::fd::AsRawFd;
    let range = i64::try_from(from).ok().zip(i64::try_from(to.saturating_sub(from)).ok());
    if let Some((from, len)) = range.filter(|(_, len)| *len > 0) {
        // SAFETY: a plain system call on a descriptor that `file` keeps open; it touches no memory of ours.
        unsafe { libc::sync_file_range(file.as_raw_fd(), from, len, libc::SYNC_FILE_RANGE_WRITE) };
    }
}

/// Elsewhere the sync at the end does all the work.
#[cfg(not(target_os = "linux"))]
fn begin_writeback(_file: &File, _from: u64, _to: u64) {}

/// Holds the lock for as long as the file stays open.
#[derive(Debug)]
struct RealLock {
    _file: File,
}

impl LockGuard for RealLock {}

#[derive(Debug)]
struct RealFile {
    file: File,
    len_bytes: u64,
    /// Up to where the disk was asked to begin writing.
    handed_over: u64,
    /// A sync failed: the kernel may have dropped pages it reported as written, so nothing more is believed.
    poisoned: bool,
}

impl RealFile {
    fn check(&self) -> io::Result<()> {
        if self.poisoned { Err(io::Error::other("an earlier sync of this file failed")) } else { Ok(()) }
    }
}

impl AppendFile for RealFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        match self.file.write_all(bytes) {
            Ok(()) => {
                self.len_bytes += bytes.len() as u64;
                Ok(())
            }
            Err(e) => {
                if let Ok(meta) = self.file.metadata() {
                    self.len_bytes = meta.len();
                }
                Err(e)
            }
        }
    }

    fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        self.check()?;
        self.file.set_len(len_bytes)?;
        self.len_bytes = len_bytes;
        self.handed_over = self.handed_over.min(len_bytes);
        Ok(())
    }

    fn begin_writeback(&mut self) {
        begin_writeback(&self.file, self.handed_over, self.len_bytes);
        self.handed_over = self.len_bytes;
    }

    fn sync(&mut self) -> io::Result<()> {
        self.check()?;
        // Data and length: the length is metadata needed to read the data, which sync_data includes.
        let done = self.file.sync_data();
        self.poisoned = done.is_err();
        done
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, buf: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buf, offset)
}

#[cfg(not(unix))]
fn read_exact_at(mut file: &File, offset: u64, buf: &mut [u8]) -> io::Result<()> {
    // The position is free to move: every write goes to the end.
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(buf)
}
