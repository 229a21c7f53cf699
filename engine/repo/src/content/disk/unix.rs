//! Directories by descriptor.

use super::{Hint, Kind, Listing, Stat};
use rustix::buffer::spare_capacity;
use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// How a directory is opened: never through a link.
const OPEN_DIR: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How a file is opened: never through a link, and without waiting for the other end of a pipe.
const OPEN_FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
/// How a file is made: never over another.
const CREATE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Longest path handed to one system call; PATH_MAX counts the final NUL.
const MAX_CALL_PATH: usize = 4000;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
}

/// A file open for reading.
#[derive(Debug)]
pub(crate) struct FileRead {
    file: File,
}

impl Dir {
    /// Opens the directory at `path`, which may be a link.
    pub(crate) fn open_root(path: &Path) -> io::Result<Dir> {
        let flags = OPEN_DIR.difference(OFlags::NOFOLLOW);
        Ok(Dir { fd: fs::openat(CWD, path, flags, Mode::empty())? })
    }

    /// Opens the directory `rel` below this one; no component may be a link. An empty `rel` is this directory.
    pub(crate) fn beneath(&self, rel: &[u8]) -> io::Result<Dir> {
        if rel.is_empty() {
            return Ok(Dir { fd: fs::openat(&self.fd, ".", OPEN_DIR, Mode::empty())? });
        }
        match chunked::open(&self.fd, rel) {
            Some(result) => Ok(Dir { fd: result? }),
            None => self.beneath_by_component(rel),
        }
    }

    fn beneath_by_component(&self, rel: &[u8]) -> io::Result<Dir> {
        let mut names = rel.split(|&b| b == b'/');
        let mut fd = fs::openat(&self.fd, names.next().unwrap_or_default(), OPEN_DIR, Mode::empty())?;
        for name in names {
            fd = fs::openat(&fd, name, OPEN_DIR, Mode::empty())?;
        }
        Ok(Dir { fd })
    }

    /// What this directory is.
    pub(crate) fn stat_self(&self) -> io::Result<Stat> {
        Ok(stat_of(&fs::fstat(&self.fd)?))
    }

    /// The file system this directory lies on.
    pub(crate) fn device(&self) -> io::Result<u64> {
        Ok(unsigned(fs::fstat(&self.fd)?.st_dev))
    }

    /// What `name` is; `None` when it is not there.
    pub(crate) fn stat(&self, name: &[u8]) -> io::Result<Option<Stat>> {
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat_of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The names in this directory. To be asked once of a handle.
    pub(crate) fn list(&self) -> io::Result<Listing> {
        let mut listing = Listing::default();
        listing::read(&self.fd, &mut |name, kind| {
            if name != b"." && name != b".." {
                listing.push(name, hint(kind));
            }
        })?;
        listing.sort();
        Ok(listing)
    }

    /// Opens a file for reading. A pipe or device may be opened, too: the stat of the handle tells.
    pub(crate) fn open_file(&self, name: &[u8]) -> io::Result<FileRead> {
        Ok(FileRead { file: fs::openat(&self.fd, name, OPEN_FILE, Mode::empty())?.into() })
    }

    /// The target of a link.
    pub(crate) fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes())
    }

    /// Creates a file that must not exist. A umask may take from its permissions: see [`settle_mode`].
    pub(crate) fn create(&self, name: &[u8], executable: bool) -> io::Result<File> {
        let mode = Mode::from_raw_mode(if executable { 0o755 } else { 0o644 });
        Ok(fs::openat(&self.fd, name, CREATE, mode)?.into())
    }

    /// Creates a link that must not exist.
    pub(crate) fn symlink(&self, target: &[u8], name: &[u8]) -> io::Result<()> {
        Ok(fs::symlinkat(target, &self.fd, name)?)
    }

    /// Creates a directory that must not exist.
    pub(crate) fn make_dir(&self, name: &[u8]) -> io::Result<()> {
        Ok(fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777))?)
    }

    /// Renames within this directory, over a file or link if one is there.
    pub(crate) fn rename_over(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        Ok(fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Renames within this directory to a name that must not exist.
    pub(crate) fn rename_new(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        exclusive::rename(&self.fd, from, to)
    }

    /// Removes a file or link.
    pub(crate) fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }
}

impl FileRead {
    /// What was opened.
    pub(crate) fn stat(&self) -> io::Result<Stat> {
        Ok(stat_of(&fs::fstat(&self.file)?))
    }

    /// Appends to `buf` until its capacity is full or the file ends; `true` when the file ended.
    pub(crate) fn fill(&mut self, buf: &mut Vec<u8>) -> io::Result<bool> {
        while buf.len() < buf.capacity() {
            match rustix::io::read(&self.file, spare_capacity(buf)) {
                Ok(0) => return Ok(true),
                // A regular file gives less than asked for only at its end; asking again would cost a call a file.
                Ok(_) if buf.len() < buf.capacity() => {}
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

impl io::Read for FileRead {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read(buf)
    }
}

/// The stat of an open file.
pub(crate) fn stat_file(file: &File) -> io::Result<Stat> {
    Ok(stat_of(&fs::fstat(file)?))
}

/// Sets the permissions of `file` to exactly those of its kind where a umask took some.
pub(crate) fn settle_mode(file: &File, executable: bool) -> io::Result<()> {
    let wanted = Mode::from_raw_mode(if executable { 0o755 } else { 0o644 });
    if Mode::from_raw_mode(fs::fstat(file)?.st_mode) != wanted {
        fs::fchmod(file, wanted)?;
    }
    Ok(())
}

/// Whether a umask took permissions from a file just created as executable.
pub(crate) fn is_stripped(file: &File) -> io::Result<bool> {
    Ok(fs::fstat(file)?.st_mode & 0o777 != 0o755)
}

/// When something at `path` was last changed, and the file system it lies on.
pub(crate) fn change_time_of(path: &Path) -> io::Result<(i64, u64)> {
    let stat = fs::stat(path)?;
    Ok((stat_of(&stat).ctime_ns, unsigned(stat.st_dev)))
}

fn stat_of(stat: &fs::Stat) -> Stat {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_mode & 0o111 != 0 => Kind::Executable,
        FileType::RegularFile => Kind::File,
        FileType::Symlink => Kind::Link,
        FileType::Directory => Kind::Directory,
        _ => Kind::Other,
    };
    Stat {
        kind,
        size: unsigned(stat.st_size),
        mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        ino: unsigned(stat.st_ino),
    }
}

/// The widths of these fields differ between systems.
fn unsigned(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(0)
}

fn nanoseconds(seconds: impl TryInto<i64>, rest: impl TryInto<i64>) -> i64 {
    let seconds: i64 = seconds.try_into().unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest.try_into().unwrap_or(0))
}

fn hint(kind: FileType) -> Hint {
    match kind {
        FileType::Directory => Hint::Directory,
        FileType::RegularFile | FileType::Symlink => Hint::Leaf,
        FileType::Unknown => Hint::Unknown,
        _ => Hint::Other,
    }
}

/// Opening a path without links in few calls, where the system can.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod chunked {
    use super::{MAX_CALL_PATH, OPEN_DIR};
    use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
    use rustix::fs::{Mode, ResolveFlags, openat2};
    use rustix::io::Errno;
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Set once the system has refused the call itself, as old kernels and some sandboxes do.
    static REFUSED: AtomicBool = AtomicBool::new(false);

    /// `None`: not possible here, to be opened name by name.
    pub(super) fn open(root: &OwnedFd, rel: &[u8]) -> Option<io::Result<OwnedFd>> {
        if REFUSED.load(Ordering::Relaxed) {
            return None;
        }
        let mut held: Option<OwnedFd> = None;
        let mut rest = rel;
        while !rest.is_empty() {
            let (chunk, after) = split(rest)?;
            let base: BorrowedFd<'_> = held.as_ref().map_or_else(|| root.as_fd(), AsFd::as_fd);
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match openat2(base, chunk, OPEN_DIR, Mode::empty(), resolve) {
                Ok(fd) => held = Some(fd),
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::TOOBIG) => {
                    REFUSED.store(true, Ordering::Relaxed);
                    return None;
                }
                // The tree is being renamed meanwhile; name by name there is nothing to race with.
                Err(Errno::AGAIN) => return None,
                Err(error) => return Some(Err(error.into())),
            }
            rest = after;
        }
        held.map(Ok)
    }

    /// The longest run of whole names that one call takes, and what follows it.
    fn split(rel: &[u8]) -> Option<(&[u8], &[u8])> {
        if rel.len() <= MAX_CALL_PATH {
            return Some((rel, &[]));
        }
        let slash = rel[..=MAX_CALL_PATH].iter().rposition(|&b| b == b'/')?;
        Some((&rel[..slash], &rel[slash + 1..]))
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod chunked {
    use rustix::fd::OwnedFd;
    use std::io;

    pub(super) fn open(_: &OwnedFd, _: &[u8]) -> Option<io::Result<OwnedFd>> {
        None
    }
}

/// Listing a directory through the descriptor held already, where the system can.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod listing {
    use rustix::fd::OwnedFd;
    use rustix::fs::{FileType, RawDir};
    use std::io;
    use std::mem::MaybeUninit;

    pub(super) fn read(fd: &OwnedFd, each: &mut dyn FnMut(&[u8], FileType)) -> io::Result<()> {
        let mut buf = [const { MaybeUninit::<u8>::uninit() }; 32 << 10];
        let mut entries = RawDir::new(fd, &mut buf);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            each(entry.file_name().to_bytes(), entry.file_type());
        }
        Ok(())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod listing {
    use rustix::fd::OwnedFd;
    use rustix::fs::{Dir, FileType};
    use std::io;

    pub(super) fn read(fd: &OwnedFd, each: &mut dyn FnMut(&[u8], FileType)) -> io::Result<()> {
        for entry in Dir::read_from(fd)? {
            let entry = entry?;
            each(entry.file_name().to_bytes(), entry.file_type());
        }
        Ok(())
    }
}

/// Renaming without overwriting.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod exclusive {
    use rustix::fd::OwnedFd;
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;
    use std::io;

    pub(super) fn rename(fd: &OwnedFd, from: &[u8], to: &[u8]) -> io::Result<()> {
        match renameat_with(fd, from, fd, to, RenameFlags::NOREPLACE) {
            // Some file systems know no such rename.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => super::checked_rename(fd, from, to),
            result => Ok(result?),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod exclusive {
    pub(super) use super::checked_rename as rename;
}

/// The next best thing: look, then rename.
fn checked_rename(fd: &OwnedFd, from: &[u8], to: &[u8]) -> io::Result<()> {
    match fs::statat(fd, to, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(fs::renameat(fd, from, fd, to)?),
        Err(error) => Err(error.into()),
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
    }
}
