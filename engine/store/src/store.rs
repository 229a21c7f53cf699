//! The store: interface (implementation follows).

use crate::vfs::{FileBytes, Vfs};
use crate::{Refs, Result, Transaction};
use gemel_object::{Family, Gid};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// An opened `.gemel` directory. Safe to share between threads.
#[derive(Debug)]
pub struct Store {}

/// An object to be written: its identity, its whole envelope, and an object it probably resembles.
#[derive(Clone, Debug)]
pub struct NewObject {
    /// Identity, checked against nothing here: the caller hashed the bytes.
    pub id: Gid,
    /// Whole canonical envelope.
    pub bytes: Vec<u8>,
    /// An earlier version of the same thing, as a base for delta compression.
    pub base: Option<Gid>,
}

/// What a session wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteReport {
    /// Objects that were not stored before.
    pub objects_new: u64,
    /// Objects offered that were stored already.
    pub objects_known: u64,
    /// Bytes appended to packs.
    pub stored_bytes: u64,
    /// Canonical bytes of the new objects.
    pub plain_bytes: u64,
}

impl Store {
    /// Creates an empty store in `dir` (the `.gemel` directory; created if absent).
    ///
    /// # Errors
    /// `AlreadyExists`, `Legacy`, `Io`.
    pub fn init(vfs: Arc<dyn Vfs>, dir: &Path) -> Result<Store> {
        let _ = (vfs, dir);
        unimplemented!()
    }
    /// Opens the store in `dir`.
    ///
    /// # Errors
    /// `NotARepository`, `Legacy`, `UnknownVersion`, `CorruptFile`, `Io`.
    pub fn open(vfs: Arc<dyn Vfs>, dir: &Path) -> Result<Store> {
        let _ = (vfs, dir);
        unimplemented!()
    }
    /// The `.gemel` directory.
    pub fn dir(&self) -> &Path {
        unimplemented!()
    }
    /// The disk.
    pub fn vfs(&self) -> &Arc<dyn Vfs> {
        unimplemented!()
    }
    /// The whole envelope of an object, re-hashed (STO-01, SEC-02).
    ///
    /// # Errors
    /// `NotFound`, `CorruptObject`, `CorruptFile`, `Io`.
    pub fn read(&self, id: &Gid) -> Result<Vec<u8>> {
        let _ = id;
        unimplemented!()
    }
    /// Whether an object is stored.
    ///
    /// # Errors
    /// `CorruptFile`, `Io`.
    pub fn contains(&self, id: &Gid) -> Result<bool> {
        let _ = id;
        unimplemented!()
    }
    /// Length of the whole envelope in bytes, without reading it.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn len_bytes(&self, id: &Gid) -> Result<u64> {
        let _ = id;
        unimplemented!()
    }
    /// Writes the body of a blob to `out` in bounded memory; returns its length. The hash is known only at the end:
    /// on error `out` must be thrown away.
    ///
    /// # Errors
    /// As [`Store::read`]; `Source` when `out` fails.
    pub fn stream_blob(&self, id: &Gid, out: &mut dyn Write) -> Result<u64> {
        let _ = (id, out);
        unimplemented!()
    }
    /// Identities that start with `hex` (lowercase, 0 to 64 digits), ascending, at most `limit`.
    ///
    /// # Errors
    /// `BadPrefix`, `CorruptFile`, `Io`.
    pub fn matching(&self, family: Option<Family>, hex: &str, limit: usize) -> Result<Vec<Gid>> {
        let _ = (family, hex, limit);
        unimplemented!()
    }
    /// Starts a writer session on a pack of its own.
    ///
    /// # Errors
    /// `Io`, `CorruptFile`.
    pub fn writer(&self) -> Result<Writer<'_>> {
        unimplemented!()
    }
    /// The refs at this moment.
    ///
    /// # Errors
    /// `CorruptFile`, `UnknownVersion`, `Io`.
    pub fn refs(&self) -> Result<Refs> {
        unimplemented!()
    }
    /// Takes the exclusive lock and starts a ref transaction.
    ///
    /// # Errors
    /// As [`Store::refs`].
    pub fn transaction(&self) -> Result<Transaction> {
        unimplemented!()
    }
    /// A derived file, if present: `name` is a plain file name such as `stat-default`.
    pub fn cache_read(&self, name: &str) -> Option<FileBytes> {
        let _ = name;
        unimplemented!()
    }
    /// Replaces a derived file atomically, without sync. Failure is returned and may be ignored.
    ///
    /// # Errors
    /// `Io`.
    pub fn cache_write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let _ = (name, bytes);
        unimplemented!()
    }
}

/// A writer session: deduplicates, compresses on the calling threads, appends to one pack. All methods may be
/// called from several threads at once.
#[derive(Debug)]
pub struct Writer<'s> {
    _store: &'s Store,
}

impl Writer<'_> {
    /// Announces bulk work, so that effort and dictionary can be chosen: about `objects` blobs of `bytes` in all,
    /// and sample bodies of small ones to train on (may be empty).
    pub fn expect_bulk(&self, objects: u64, bytes: u64, samples: &[Vec<u8>]) {
        let _ = (objects, bytes, samples);
        unimplemented!()
    }
    /// Adds an object unless it is stored; `true` if it is new. Families other than blob are validated, and the
    /// objects they reference should be put before them.
    ///
    /// # Errors
    /// `InvalidObject`, `Io`, `Poisoned`.
    pub fn put(&self, object: NewObject) -> Result<bool> {
        let _ = object;
        unimplemented!()
    }
    /// Reads a blob body of exactly `len_bytes` from `source` and adds it in bounded memory.
    ///
    /// # Errors
    /// `Source` when it ends early or late (nothing is then added), `Limit`, `Io`, `Poisoned`.
    pub fn put_blob_stream(&self, len_bytes: u64, source: &mut dyn Read) -> Result<(Gid, bool)> {
        let _ = (len_bytes, source);
        unimplemented!()
    }
    /// Whether an object is stored or was put in this session.
    ///
    /// # Errors
    /// As [`Store::contains`].
    pub fn contains(&self, id: &Gid) -> Result<bool> {
        let _ = id;
        unimplemented!()
    }
    /// Reads an object, this session's own included.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read(&self, id: &Gid) -> Result<Vec<u8>> {
        let _ = id;
        unimplemented!()
    }
    /// Makes everything put so far durable (one sync) and visible to readers of the store. Call it before the ref
    /// transaction that names the objects. Dropping a session without it leaves the store as it was.
    ///
    /// # Errors
    /// `Io`, `Poisoned`; the store is then as it was.
    pub fn commit(self) -> Result<WriteReport> {
        unimplemented!()
    }
}
