//! One pack file and its index, under temporary names until they are whole and durable.

use super::index::index;
use super::part::{Entry, Part, code, put_header};
use super::zip::Zip;
use crate::object::{BodyHasher, Digester, ObjectKind};
use crate::{GitError, Result};
use gix::ObjectId;
use gix::hash::Kind;
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Length of the header: `PACK`, version, number of entries.
const HEADER_LEN: u64 = 12;
const VERSION: u32 = 2;
/// Names tried for a temporary file.
const MAX_NAMES: u32 = 10_000;
/// Bytes hashed or copied at a time.
const PIECE: usize = 1 << 20;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) objects: u64,
    /// Pack and index.
    pub(crate) bytes: u64,
}

/// A pack being written. Dropped unfinished, it leaves nothing.
pub(crate) struct PackWriter {
    dir: PathBuf,
    format: Kind,
    temporary: Temporary,
    file: BufWriter<File>,
    len: u64,
    entries: Vec<Entry>,
    known: HashSet<ObjectId>,
}

impl PackWriter {
    /// Begins a pack in `dir`, the `objects/pack` of a repository.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn new(dir: &Path, format: Kind) -> Result<PackWriter> {
        let (temporary, file) = Temporary::create(dir, "tmp_pack_")?;
        let mut writer = PackWriter {
            dir: dir.to_owned(),
            format,
            temporary,
            file: BufWriter::with_capacity(PIECE, file),
            len: 0,
            entries: Vec::new(),
            known: HashSet::new(),
        };
        writer.write(&[0; HEADER_LEN as usize])?;
        Ok(writer)
    }

    /// Whether an object is in the pack.
    pub(crate) fn contains(&self, id: &ObjectId) -> bool {
        self.known.contains(id)
    }

    /// Appends a part.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn append(&mut self, part: Part) -> Result<()> {
        let start = self.len;
        self.write(&part.bytes)?;
        for entry in part.entries {
            self.known.insert(entry.id);
            self.entries.push(Entry { offset: start + entry.offset, ..entry });
        }
        Ok(())
    }

    /// Appends an object of `len` bytes whose body `fill` writes; answers its name, which is known only then.
    ///
    /// # Errors
    /// `Io`; those of `fill`, and `Io` when it writes another number of bytes.
    pub(crate) fn append_long(
        &mut self,
        kind: ObjectKind,
        len: u64,
        fill: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<ObjectId> {
        let offset = self.len;
        let mut head = Vec::new();
        put_header(code(kind), len, &mut head);
        let mut zip = Zip::new();
        zip.begin();
        let hasher = BodyHasher::new(self.format, kind, len);
        let mut long = Long { pack: self, zip, hasher, crc: crc32fast::Hasher::new(), buffer: head, seen: 0 };
        fill(&mut long)?;
        long.end().map_err(|source| long.pack.io("write", source))?;
        let (seen, crc, id) = (long.seen, long.crc, long.hasher.finish());
        if seen != len {
            let source = std::io::Error::other(format!("an object of {len} bytes came with {seen}"));
            return Err(self.io("write", source));
        }
        self.known.insert(id);
        self.entries.push(Entry { id, offset, crc: crc.finalize() });
        Ok(id)
    }

    /// Makes pack and index durable and gives them their names. A pack without entries is not kept.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn finish(mut self) -> Result<Written> {
        if self.entries.is_empty() {
            return Ok(Written::default());
        }
        let path = self.temporary.path.clone();
        let count = u32::try_from(self.entries.len())
            .map_err(|_| self.io("write", std::io::Error::other("more than 2^32 objects")))?;
        let mut header = Vec::from(*b"PACK");
        header.extend_from_slice(&VERSION.to_be_bytes());
        header.extend_from_slice(&count.to_be_bytes());
        let failed = |action: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source| GitError::Io { action, path, source }
        };
        // The number of entries stands in front of what the hash covers, and is known only now.
        self.file.flush().map_err(failed("write", &path))?;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(&header))
            .map_err(failed("write", &path))?;
        let trailer = hash_file(file, self.format).map_err(failed("read", &path))?;
        file.write_all(&trailer).and_then(|()| file.sync_all()).map_err(failed("write", &path))?;
        self.entries.sort_unstable_by_key(|entry| entry.id);
        let mut bytes = index(&self.entries, &trailer, self.format);
        let mut digest = Digester::new(self.format);
        digest.update(&bytes);
        bytes.extend_from_slice(digest.finish().as_slice());
        let (index_temporary, mut index_file) = Temporary::create(&self.dir, "tmp_idx_")?;
        index_file
            .write_all(&bytes)
            .and_then(|()| index_file.sync_all())
            .map_err(failed("write", &index_temporary.path))?;
        let name: String = trailer.iter().map(|byte| format!("{byte:02x}")).collect();
        // A pack without its index is not looked at, an index without its pack is an error.
        self.temporary.publish(&self.dir.join(format!("pack-{name}.pack")))?;
        index_temporary.publish(&self.dir.join(format!("pack-{name}.idx")))?;
        sync_dir(&self.dir)?;
        Ok(Written { objects: u64::from(count), bytes: self.len + trailer.len() as u64 + bytes.len() as u64 })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|source| GitError::Io {
            action: "write",
            path: self.temporary.path.clone(),
            source,
        })?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn io(&self, action: &'static str, source: std::io::Error) -> GitError {
        GitError::Io { action, path: self.temporary.path.clone(), source }
    }
}

/// The stream of one long object on its way into the pack.
struct Long<'p> {
    pack: &'p mut PackWriter,
    zip: Zip,
    hasher: BodyHasher,
    crc: crc32fast::Hasher,
    buffer: Vec<u8>,
    seen: u64,
}

impl Long<'_> {
    fn drain(&mut self) -> std::io::Result<()> {
        self.crc.update(&self.buffer);
        self.pack.file.write_all(&self.buffer)?;
        self.pack.len += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.zip.feed(&[], true, &mut self.buffer).map_err(std::io::Error::other)?;
        self.drain()
    }
}

impl Write for Long<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        self.hasher.update(piece);
        self.seen += piece.len() as u64;
        self.zip.feed(piece, false, &mut self.buffer).map_err(std::io::Error::other)?;
        self.drain()?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Hash of a whole file; the position is then its end.
fn hash_file(file: &mut File, format: Kind) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    let mut digest = Digester::new(format);
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(digest.finish().as_slice().to_vec());
        }
        digest.update(&piece[..read]);
    }
}

/// A file that goes away unless it is published.
struct Temporary {
    path: PathBuf,
    published: bool,
}

impl Temporary {
    /// Creates one. Git removes old files of such names itself.
    fn create(dir: &Path, prefix: &str) -> Result<(Temporary, File)> {
        let mut failure = None;
        for n in 0..MAX_NAMES {
            let path = dir.join(format!("{prefix}gemel{n}"));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((Temporary { path, published: false }, file)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => failure = Some(error),
                Err(source) => return Err(GitError::Io { action: "create", path, source }),
            }
        }
        let source = failure.unwrap_or_else(|| std::io::Error::other("no name is free"));
        Err(GitError::Io { action: "create", path: dir.join(prefix), source })
    }

    fn publish(mut self, path: &Path) -> Result<()> {
        let failed = |action| move |source| GitError::Io { action, path: path.to_owned(), source };
        let mut permissions = std::fs::metadata(&self.path).map_err(failed("examine"))?.permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&self.path, permissions).map_err(failed("protect"))?;
        std::fs::rename(&self.path, path).map_err(failed("rename"))?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.published {
            // Best effort: what is left is Git's garbage, and named so.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Makes the names in a folder durable.
///
/// # Errors
/// `Io`.
pub(crate) fn sync_dir(dir: &Path) -> Result<()> {
    #[cfg(unix)]
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|source| GitError::Io {
        action: "sync",
        path: dir.to_owned(),
        source,
    })?;
    Ok(())
}
