//! What the tests of refs share: small sizes that force every path, and states to compare.
#![allow(dead_code, reason = "each test binary uses its part of this module")]

use gemel_object::{Family, Gid};
use gemel_store::refs::{self, RefOptions};
use gemel_store::vfs::{Vfs, sim::SimDisk};
use gemel_store::{RefValue, Result, Transaction};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Everything a ref database says.
pub(crate) type Model = BTreeMap<String, RefValue>;

/// Sizes so small that a handful of transactions folds, compacts and rotates.
pub(crate) const TINY: RefOptions = RefOptions {
    tail_bytes: 600,
    tail_records: 4,
    bulk_bytes: 900,
    block_bytes: 256,
    growth: 2,
    journal_bytes: 700,
    journals_kept: 2,
};

pub(crate) fn dir() -> &'static Path {
    Path::new("/r/.gemel")
}

pub(crate) fn vfs(disk: &SimDisk) -> Arc<dyn Vfs> {
    Arc::new(disk.clone())
}

pub(crate) fn id(family: Family, n: u64) -> Gid {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&n.to_le_bytes());
    Gid::new(family, digest)
}

pub(crate) fn change(n: u64) -> Gid {
    id(Family::Change, n)
}

/// An empty, durable ref database.
pub(crate) fn fresh() -> SimDisk {
    let disk = SimDisk::new();
    disk.create_dir_all(dir()).unwrap();
    refs::init(&vfs(&disk), dir()).unwrap();
    vfs(&disk).lock(&dir().join("lock")).unwrap();
    disk.fork()
}

pub(crate) fn begin(disk: &SimDisk, options: RefOptions) -> Result<Transaction> {
    let disk = vfs(disk);
    let lock = disk.lock(&dir().join("lock")).map_err(|source| gemel_store::StoreError::Io {
        op: "lock",
        path: dir().into(),
        source,
    })?;
    refs::begin_with(&disk, dir(), lock, Box::new(|_| Ok(None)), options)
}

/// One transaction of these edits; `None` removes.
pub(crate) fn commit(
    disk: &SimDisk,
    options: RefOptions,
    edits: &[(String, Option<RefValue>)],
) -> Result<()> {
    let mut t = begin(disk, options)?;
    for (name, value) in edits {
        match value {
            Some(RefValue::Id(id)) => t.set(name.clone(), *id),
            Some(RefValue::Record(bytes)) => t.set_record(name.clone(), bytes.clone()),
            None => t.remove(name.clone()),
        }
    }
    t.commit("test", 7)
}

/// What the edits do to a model.
pub(crate) fn apply(model: &mut Model, edits: &[(String, Option<RefValue>)]) {
    for (name, value) in edits {
        match value {
            Some(value) => drop(model.insert(name.clone(), value.clone())),
            None => drop(model.remove(name)),
        }
    }
}

/// Everything on the disk; an error if anything cannot be read.
pub(crate) fn read_all(disk: &SimDisk) -> Result<Model> {
    let refs = refs::open(&vfs(disk), dir())?;
    let all: Result<Model> = refs.scan("")?.map(|(name, value)| Ok((name, value?))).collect();
    all
}

/// Everything on the disk, read by scan and by lookup, with a clean verification.
pub(crate) fn read_checked(disk: &SimDisk, context: &str) -> Model {
    let all = read_all(disk).unwrap_or_else(|e| panic!("{context}: {e}"));
    let refs = refs::open(&vfs(disk), dir()).unwrap();
    for (name, value) in &all {
        assert_eq!(refs.value(name).unwrap().as_ref(), Some(value), "{context}: {name}");
    }
    let report = refs::verify(&vfs(disk), dir()).unwrap();
    assert!(!report.has_errors(), "{context}: {:?}", report.findings);
    all
}

/// A transaction typical of a command: head, a numbered name, a record.
pub(crate) fn step(n: u64) -> Vec<(String, Option<RefValue>)> {
    vec![
        ("refs/head".to_owned(), Some(RefValue::Id(change(n)))),
        (format!("refs/names/C{n}"), Some(RefValue::Id(change(n)))),
        ("local/counters/change".to_owned(), Some(RefValue::Record(n.to_string().into_bytes()))),
    ]
}

/// A transaction too large for the journal.
pub(crate) fn bulk(n: u64) -> Vec<(String, Option<RefValue>)> {
    (0..40)
        .map(|i| {
            (
                format!("refs/mappings/import/git_commit/{n:04}{i:04}"),
                Some(RefValue::Id(id(Family::Mapping, i))),
            )
        })
        .collect()
}
