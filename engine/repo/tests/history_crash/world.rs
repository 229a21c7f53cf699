//! A real worktree whose `.gemel` lies on a simulated disk, and what a whole repository must look like.

use gemel_object::{Gid, refs_of};
use gemel_repo::audit::{self, AuditOptions, Severity};
use gemel_repo::facts::Silent;
use gemel_repo::{Repo, RepoError};
use gemel_store::vfs::sim::SimDisk;
use gemel_store::vfs::{EntryKind, Vfs};
use gemel_store::{RefValue, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Every ref and record by name.
pub(crate) type Dump = BTreeMap<String, RefValue>;

/// A directory of its own and the worktree in it.
#[derive(Debug)]
pub(crate) struct World {
    _temp: tempfile::TempDir,
    pub(crate) root: PathBuf,
}

impl World {
    /// An empty worktree, and a disk that holds nothing but the same directory.
    pub(crate) fn new() -> (World, SimDisk) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        let disk = SimDisk::new();
        disk.create_dir_all(&root).unwrap();
        (World { _temp: temp, root }, disk.fork())
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let at = self.root.join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap();
    }

    /// Lets so much time pass that stat caches believe what they say of the files as they are now.
    pub(crate) fn settle(&self) {
        std::thread::sleep(Duration::from_millis(45));
        // The change time of the root is the worktree's clock.
        let file = self.root.join("tick");
        fs::write(&file, "").unwrap();
        fs::remove_file(&file).unwrap();
    }

    pub(crate) fn open(&self, disk: &SimDisk) -> Result<Repo, RepoError> {
        Repo::open(Arc::new(disk.clone()), &self.root)
    }

    pub(crate) fn store_dir(&self) -> PathBuf {
        self.root.join(".gemel")
    }

    /// Everything the refs say; nothing where no repository is.
    pub(crate) fn dump(&self, disk: &SimDisk, context: &str) -> Dump {
        match self.open(disk) {
            Ok(repo) => dump(&repo).unwrap_or_else(|e| panic!("{context}: {e}")),
            Err(RepoError::NotARepository { .. }) => Dump::new(),
            Err(error) => panic!("{context}: {error}"),
        }
    }

    /// Asserts that nothing promised is damaged or missing, by the audit and by following everything from the refs.
    pub(crate) fn check_whole(&self, disk: &SimDisk, context: &str) {
        let repo = match self.open(disk) {
            Err(RepoError::NotARepository { .. }) => return,
            other => other.unwrap_or_else(|e| panic!("{context}: {e}")),
        };
        let facts = audit::run(&repo, &AuditOptions::default(), &Silent);
        let facts = facts.unwrap_or_else(|e| panic!("{context}: {e}"));
        let errors: Vec<_> = facts.problems.iter().filter(|p| p.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{context}: {errors:?}");
        follow(&repo, context);
    }
}

/// Everything the refs say.
fn dump(repo: &Repo) -> Result<Dump, StoreError> {
    repo.store().refs()?.scan("")?.map(|(name, value)| Ok((name, value?))).collect()
}

/// The refs without the marks that tell how far packs are durable: two runs of one command pack differently.
pub(crate) fn without_marks(dump: &Dump) -> Dump {
    dump.iter()
        .filter(|(name, _)| !name.starts_with("local/packs/"))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

/// Reads everything that refs and records lead to.
fn follow(repo: &Repo, context: &str) {
    let named = dump(repo).unwrap_or_else(|e| panic!("{context}: {e}"));
    let mut waiting: Vec<Gid> = named.values().flat_map(identities).collect();
    let mut seen: BTreeSet<Gid> = waiting.iter().copied().collect();
    while let Some(id) = waiting.pop() {
        let bytes = repo.store().read(&id).unwrap_or_else(|e| panic!("{context}: {e}"));
        assert_eq!(Gid::of_envelope(id.family(), &bytes), id, "{context}");
        waiting.extend(refs_of(&bytes).map(|found| found.gid).filter(|id| seen.insert(*id)));
    }
}

/// Identities in a value: its own, or those that a record spells.
fn identities(value: &RefValue) -> Vec<Gid> {
    match value {
        RefValue::Id(id) => vec![*id],
        RefValue::Record(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            text.split('"').filter_map(|part| Gid::parse(part).ok()).collect()
        }
    }
}

/// A digest of everything on a disk below `dir`, empty directories included: equal disks need one look.
pub(crate) fn fingerprint(disk: &SimDisk, dir: &Path) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in disk.list_raw(&dir).unwrap() {
            let path = dir.join(&entry.name);
            hasher
                .update(path.as_os_str().as_encoded_bytes())
                .update(&[0, u8::from(entry.kind == EntryKind::Dir)]);
            match entry.kind {
                EntryKind::Dir => waiting.push(path),
                _ => {
                    let bytes = disk.read(&path, u64::MAX).unwrap();
                    hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
                }
            }
        }
    }
    hasher.finalize()
}
