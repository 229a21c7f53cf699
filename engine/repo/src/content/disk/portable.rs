//! Directories by path, for systems without descriptors of directories. Links are looked for before each step; what
//! is put in the way between the look and the step is not noticed.

use super::{Hint, Kind, Listing, Stat};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A directory, by path.
#[derive(Debug)]
pub(crate) struct Dir {
    path: PathBuf,
}

/// A file open for reading.
#[derive(Debug)]
pub(crate) struct FileRead {
    file: File,
}

impl Dir {
    /// Opens the directory at `path`, which may be a link.
    pub(crate) fn open_root(path: &Path) -> io::Result<Dir> {
        let path = fs::canonicalize(path)?;
        if fs::metadata(&path)?.is_dir() {
            Ok(Dir { path })
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// Opens the directory `rel` below this one; no component may be a link. An empty `rel` is this directory.
    pub(crate) fn beneath(&self, rel: &[u8]) -> io::Result<Dir> {
        let mut path = self.path.clone();
        for name in rel.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
            path.push(name_of(name)?);
            if !fs::symlink_metadata(&path)?.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        Ok(Dir { path })
    }

    /// What this directory is.
    pub(crate) fn stat_self(&self) -> io::Result<Stat> {
        Ok(stat_of(&fs::symlink_metadata(&self.path)?))
    }

    /// The file system this directory lies on; 0: not told.
    pub(crate) fn device(&self) -> io::Result<u64> {
        Ok(0)
    }

    /// What `name` is; `None` when it is not there.
    pub(crate) fn stat(&self, name: &[u8]) -> io::Result<Option<Stat>> {
        match fs::symlink_metadata(self.at(name)?) {
            Ok(metadata) => Ok(Some(stat_of(&metadata))),
            Err(error) if super::is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The names in this directory.
    pub(crate) fn list(&self) -> io::Result<Listing> {
        let mut listing = Listing::default();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let hint = entry.file_type().map_or(Hint::Unknown, |kind| {
                if kind.is_dir() {
                    Hint::Directory
                } else if kind.is_file() || kind.is_symlink() {
                    Hint::Leaf
                } else {
                    Hint::Other
                }
            });
            listing.push(entry.file_name().as_encoded_bytes(), hint);
        }
        listing.sort();
        Ok(listing)
    }

    /// Opens a file for reading.
    pub(crate) fn open_file(&self, name: &[u8]) -> io::Result<FileRead> {
        let path = self.at(name)?;
        if fs::symlink_metadata(&path)?.is_file() {
            Ok(FileRead { file: File::open(path)? })
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// The target of a link.
    pub(crate) fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(fs::read_link(self.at(name)?)?.into_os_string().into_encoded_bytes())
    }

    /// Creates a file that must not exist. There is no executable bit to give.
    pub(crate) fn create(&self, name: &[u8], _executable: bool) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.at(name)?)
    }

    /// Without links that everybody may make, a link is written as a file that holds its target.
    pub(crate) fn symlink(&self, target: &[u8], name: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut self.create(name, false)?, target)
    }

    /// Creates a directory that must not exist.
    pub(crate) fn make_dir(&self, name: &[u8]) -> io::Result<()> {
        fs::create_dir(self.at(name)?)
    }

    /// Renames within this directory, over a file or link if one is there.
    pub(crate) fn rename_over(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        fs::rename(self.at(from)?, self.at(to)?)
    }

    /// Renames within this directory to a name that must not exist.
    pub(crate) fn rename_new(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        if self.stat(to)?.is_some() {
            Err(io::ErrorKind::AlreadyExists.into())
        } else {
            self.rename_over(from, to)
        }
    }

    /// Removes a file or link.
    pub(crate) fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        fs::remove_file(self.at(name)?)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        fs::remove_dir(self.at(name)?)
    }

    fn at(&self, name: &[u8]) -> io::Result<PathBuf> {
        Ok(self.path.join(name_of(name)?))
    }
}

impl FileRead {
    /// What was opened.
    pub(crate) fn stat(&self) -> io::Result<Stat> {
        stat_file(&self.file)
    }

    /// Appends to `buf` until its capacity is full or the file ends; `true` when the file ended.
    pub(crate) fn fill(&mut self, buf: &mut Vec<u8>) -> io::Result<bool> {
        let wanted = buf.capacity() - buf.len();
        let read = (&mut self.file).take(wanted as u64).read_to_end(buf)?;
        Ok(read < wanted)
    }
}

impl Read for FileRead {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read(buf)
    }
}

/// The stat of an open file.
pub(crate) fn stat_file(file: &File) -> io::Result<Stat> {
    Ok(stat_of(&file.metadata()?))
}

/// There are no permissions to settle.
pub(crate) fn settle_mode(_: &File, _executable: bool) -> io::Result<()> {
    Ok(())
}

/// There is no umask.
pub(crate) fn is_stripped(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// When something at `path` was last changed, and the file system it lies on; 0: not told.
pub(crate) fn change_time_of(path: &Path) -> io::Result<(i64, u64)> {
    Ok((stat_of(&fs::metadata(path)?).mtime_ns, 0))
}

/// Names that could lead elsewhere are refused: here a backslash or a colon may mean something.
fn name_of(name: &[u8]) -> io::Result<&str> {
    let text = std::str::from_utf8(name).map_err(|_| io::ErrorKind::InvalidInput)?;
    let leads_away = matches!(text, "" | "." | "..") || text.contains(['/', '\0']);
    let leads_away = leads_away || (cfg!(windows) && text.contains(['\\', ':']));
    if leads_away { Err(io::ErrorKind::InvalidInput.into()) } else { Ok(text) }
}

fn stat_of(metadata: &Metadata) -> Stat {
    let kind = metadata.file_type();
    let kind = if kind.is_symlink() {
        Kind::Link
    } else if kind.is_dir() {
        Kind::Directory
    } else if kind.is_file() {
        Kind::File
    } else {
        Kind::Other
    };
    let age = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let mtime_ns = age.map_or(0, |age| i64::try_from(age.as_nanos()).unwrap_or(i64::MAX));
    Stat { kind, size: metadata.len(), mtime_ns, ctime_ns: 0, ino: 0 }
}
