//! What can go wrong in the store: each variant names the place and the values.

use crate::legacy::{Findings, Severity};
use gemel_object::{Family, Gid};
use std::io;
use std::path::PathBuf;

/// Failure of a store operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No object with this identity is stored.
    #[error("object not found: {id}")]
    NotFound {
        /// The identity asked for.
        id: Gid,
    },
    /// An object is not stored, and a pack is shorter than when it was acknowledged: packs are older than refs.
    #[error("object not found: {id}; {} ends at {end_bytes}, before what was acknowledged ({acknowledged_bytes}): the packs are older than the refs; run `gemel fsck`", path.display())]
    PackBehind {
        /// The identity asked for.
        id: Gid,
        /// The pack.
        path: PathBuf,
        /// Where it ends; 0 if it is absent.
        end_bytes: u64,
        /// Where it ended when the last command that wrote to it was acknowledged.
        acknowledged_bytes: u64,
    },
    /// The directory holds no store.
    #[error("not a gemel repository: {}", path.display())]
    NotARepository {
        /// The directory looked at.
        path: PathBuf,
    },
    /// The directory holds a store of the published 0.12 layout.
    #[error("{} is a 0.12 store; run `gemel migrate` to convert it", path.display())]
    Legacy {
        /// The `.gemel` directory.
        path: PathBuf,
    },
    /// Something in a 0.12 store cannot be carried over; nothing was changed.
    #[error("{} has {} damaged entries that cannot be migrated, first {}", path.display(), findings.count(Severity::Error), first(findings))]
    LegacyDamaged {
        /// The `.gemel` directory.
        path: PathBuf,
        /// Everything found, errors first.
        findings: Box<Findings>,
    },
    /// A store already exists.
    #[error("repository already exists: {}", path.display())]
    AlreadyExists {
        /// The directory.
        path: PathBuf,
    },
    /// A file of a format version this build does not read.
    #[error("{}: format version {found} is not supported (this build reads {supported}); use a newer gemel", path.display())]
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// Version found.
        found: u32,
        /// Version supported.
        supported: u32,
    },
    /// Stored bytes of an object do not decode or do not hash to its identity.
    #[error("corrupt object {id} in {} at offset {offset_bytes}: {detail}; run `gemel fsck`", path.display())]
    CorruptObject {
        /// The identity.
        id: Gid,
        /// The pack.
        path: PathBuf,
        /// Offset of its frame.
        offset_bytes: u64,
        /// What was found.
        detail: String,
    },
    /// A file of the store is damaged.
    #[error("corrupt file {} at offset {offset_bytes}: {detail}; run `gemel fsck`", path.display())]
    CorruptFile {
        /// The file.
        path: PathBuf,
        /// Where.
        offset_bytes: u64,
        /// What was found.
        detail: String,
    },
    /// A stored ref is damaged or points to a family its namespace does not hold.
    #[error("corrupt ref {name}: {detail}; run `gemel fsck`")]
    CorruptRef {
        /// The ref.
        name: String,
        /// What was found.
        detail: String,
    },
    /// Text that is no valid ref name (REF-01).
    #[error("invalid ref name: {name:?}")]
    InvalidRefName {
        /// The text.
        name: String,
    },
    /// A ref of this namespace may not point to this family.
    #[error("ref {name} cannot point to {id}: it holds {expected}")]
    RefFamily {
        /// The ref.
        name: String,
        /// The target refused.
        id: Gid,
        /// Families the namespace holds.
        expected: &'static str,
    },
    /// A ref was to point to an object that is not durable here (STO-07).
    #[error("ref {name} cannot point to {id}: the object is not stored")]
    DanglingRef {
        /// The ref.
        name: String,
        /// The missing target.
        id: Gid,
    },
    /// A name that holds an identity was given a record, or the other way round.
    #[error("ref {name} cannot hold {given}: it holds {expected}")]
    RefKind {
        /// The ref.
        name: String,
        /// What was to be stored: `a record` or `an identity`.
        given: &'static str,
        /// What the namespace holds.
        expected: &'static str,
    },
    /// A ref is not what the transaction expected it to be; nothing was written.
    #[error("ref {name} moved: expected {}, found {}", or_absent(expected), or_absent(found))]
    RefConflict {
        /// The ref.
        name: String,
        /// Value expected.
        expected: Option<Gid>,
        /// Value found under the lock.
        found: Option<Gid>,
    },
    /// Same identity, other bytes (STO-03).
    #[error("stored bytes of {id} differ from the bytes given; nothing was overwritten; run `gemel fsck`")]
    HashCollision {
        /// The identity.
        id: Gid,
    },
    /// Bytes given under an identity of another family or that they do not hash to.
    #[error("object given as {id} hashes to {actual}")]
    WrongIdentity {
        /// The identity given.
        id: Gid,
        /// The identity of the bytes.
        actual: Gid,
    },
    /// A limit was exceeded.
    #[error("{what}: {found} exceeds the limit of {limit}")]
    Limit {
        /// Name of the limit and place.
        what: String,
        /// Value found.
        found: u64,
        /// Value allowed.
        limit: u64,
    },
    /// A prefix that is no hex text.
    #[error("not an identity prefix: {text:?}")]
    BadPrefix {
        /// The text.
        text: String,
    },
    /// The disk failed.
    #[error("cannot {op} {}: {source}", path.display())]
    Io {
        /// What was tried.
        op: &'static str,
        /// On which path.
        path: PathBuf,
        /// The disk's answer.
        source: io::Error,
    },
    /// The source of a streamed blob failed or changed its length.
    #[error("cannot read content: {source}")]
    Source {
        /// The reader's answer.
        source: io::Error,
    },
    /// The session failed earlier and accepts nothing more.
    #[error("the writer failed earlier and refuses further work; run the command again")]
    Poisoned,
    /// An object refused by validation.
    #[error("invalid {} object: {detail}", family.name())]
    InvalidObject {
        /// Its family.
        family: Family,
        /// The error name and place.
        detail: String,
    },
}

fn first(findings: &Findings) -> String {
    findings.list().first().map(ToString::to_string).unwrap_or_default()
}

fn or_absent(id: &Option<Gid>) -> String {
    id.map_or_else(|| "no value".to_owned(), |id| id.to_string())
}

impl StoreError {
    /// The same failure, for whoever meets its consequence: which of several threads is heard first is chance.
    pub(crate) fn again(&self) -> StoreError {
        match self {
            StoreError::Io { op, path, source } => {
                let source = io::Error::new(source.kind(), source.to_string());
                StoreError::Io { op, path: path.clone(), source }
            }
            StoreError::Limit { what, found, limit } => {
                StoreError::Limit { what: what.clone(), found: *found, limit: *limit }
            }
            _ => StoreError::Poisoned,
        }
    }

    /// Wraps a disk error with what was tried and where.
    pub(crate) fn io(op: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.into();
        move |source| StoreError::Io { op, path, source }
    }
}
