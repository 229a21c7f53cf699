//! Refs and local records: interface (implementation follows).

use crate::Result;
use gemel_object::Gid;

/// What a name holds: `refs/…` names hold identities, `local/…` names hold identities or small records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefValue {
    /// The identity of an object.
    Id(Gid),
    /// Bytes of a local record: a pending change, a counter, a path.
    Record(Vec<u8>),
}

/// An immutable view of all refs at one moment. Cheap to clone; never locks.
#[derive(Clone, Debug)]
pub struct Refs {}

impl Refs {
    /// The identity `name` points to.
    ///
    /// # Errors
    /// `CorruptRef`, `CorruptFile`, `Io`.
    pub fn get(&self, name: &str) -> Result<Option<Gid>> {
        let _ = name;
        unimplemented!()
    }
    /// The record stored under `name`.
    ///
    /// # Errors
    /// `CorruptRef`, `CorruptFile`, `Io`.
    pub fn record(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let _ = name;
        unimplemented!()
    }
    /// All names that start with `prefix`, ascending by bytes, with their values.
    ///
    /// # Errors
    /// `CorruptFile`, `Io`. A single damaged value is the inner error; the scan goes on.
    pub fn scan(&self, prefix: &str) -> Result<Box<dyn Iterator<Item = (String, Result<RefValue>)> + '_>> {
        let _ = prefix;
        unimplemented!()
    }
}

/// A pending ref transaction. Holds the exclusive lock from creation to commit or drop.
#[derive(Debug)]
pub struct Transaction {}

impl Transaction {
    /// The refs as they are under the lock, without this transaction's own edits.
    pub fn refs(&self) -> &Refs {
        unimplemented!()
    }
    /// Points `name` to `id`; name, family and durability are checked at commit.
    pub fn set(&mut self, name: impl Into<String>, id: Gid) {
        let _ = (name.into(), id);
        unimplemented!()
    }
    /// Stores a local record (`local/…` names only).
    pub fn set_record(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        let _ = (name.into(), bytes);
        unimplemented!()
    }
    /// Removes `name`; absent is fine.
    pub fn remove(&mut self, name: impl Into<String>) {
        let _ = name.into();
        unimplemented!()
    }
    /// Makes all edits durable and visible at once. `command` and `time_ms` go to the journal.
    ///
    /// # Errors
    /// `InvalidRefName`, `RefFamily`, `DanglingRef`, `Io`; then nothing has changed.
    pub fn commit(self, command: &str, time_ms: i64) -> Result<()> {
        let _ = (command, time_ms);
        unimplemented!()
    }
}
