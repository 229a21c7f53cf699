//! A repository in a temporary directory with a clock of its own, for tests of its history.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test binary uses its part of this module")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails as a test does"
)]

use gemel_object::families::{Change, Trajectory};
use gemel_object::{Gid, Limits, Object};
use gemel_repo::facts::Silent;
use gemel_repo::history::{
    self, BeginFacts, BeginOptions, FinishFacts, FinishOptions, SnapshotFacts, SnapshotOptions,
};
use gemel_repo::knowledge::{Session, StatusFacts, StatusOptions};
use gemel_repo::{InitOptions, Repo, RepoError, knowledge};
use gemel_store::vfs::real::RealDisk;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Life {
    pub temp: tempfile::TempDir,
    pub root: PathBuf,
    pub repo: Repo,
    clock: Cell<i64>,
}

impl Life {
    pub fn new() -> Life {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("work");
        let options = InitOptions { now_ms: 1000, ..InitOptions::default() };
        let repo = Repo::init(Arc::new(RealDisk::new()), &root, &options).unwrap().repo;
        Life { temp, root, repo, clock: Cell::new(1000) }
    }

    /// The next reading of the clock.
    pub fn now(&self) -> i64 {
        self.clock.set(self.clock.get() + 10);
        self.clock.get()
    }

    /// The repository, opened again.
    pub fn reopen(&self) -> Repo {
        Repo::open(Arc::new(RealDisk::new()), &self.root).unwrap()
    }

    pub fn write(&self, path: &str, text: &str) {
        write(&self.root, path, text);
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap();
    }

    /// A directory beside the root.
    pub fn beside(&self, name: &str) -> PathBuf {
        let dir = self.root.parent().unwrap().join(name);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    pub fn snapshot(&self) -> SnapshotFacts {
        self.try_snapshot(SnapshotOptions::default()).unwrap()
    }

    pub fn try_snapshot(&self, options: SnapshotOptions) -> Result<SnapshotFacts, RepoError> {
        history::snapshot(&self.repo, &SnapshotOptions { now_ms: self.now(), ..options }, &Silent)
    }

    pub fn begin(&self, options: BeginOptions) -> BeginFacts {
        self.try_begin(options).unwrap()
    }

    pub fn try_begin(&self, options: BeginOptions) -> Result<BeginFacts, RepoError> {
        history::begin(&self.repo, &BeginOptions { now_ms: self.now(), ..options })
    }

    pub fn finish(&self, options: FinishOptions) -> FinishFacts {
        self.try_finish(options).unwrap()
    }

    pub fn try_finish(&self, options: FinishOptions) -> Result<FinishFacts, RepoError> {
        history::finish(&self.repo, &FinishOptions { now_ms: self.now(), ..options }, &Silent)
    }

    /// Begins and finishes a change with the intent named, or without one.
    pub fn change(&self, intent: Option<&str>, summary: &str) -> FinishFacts {
        self.begin(BeginOptions { intent: intent.map(str::to_owned), ..BeginOptions::default() });
        self.finish(summed(summary))
    }

    pub fn status(&self) -> StatusFacts {
        knowledge::status(&mut Session::new(&self.repo), &StatusOptions::default(), &Silent).unwrap()
    }

    pub fn target(&self, name: &str) -> Option<Gid> {
        self.repo.store().refs().unwrap().get(name).unwrap()
    }

    /// Reads a change.
    pub fn with_change<T>(&self, id: &Gid, take: impl FnOnce(Change<'_>) -> T) -> T {
        let bytes = self.repo.store().read(id).unwrap();
        take(Change::view(&Object::decode(&bytes, &Limits::DEFAULT).unwrap()).unwrap())
    }

    /// Reads a trajectory version.
    pub fn with_trajectory<T>(&self, id: &Gid, take: impl FnOnce(Trajectory<'_>) -> T) -> T {
        let bytes = self.repo.store().read(id).unwrap();
        take(Trajectory::view(&Object::decode(&bytes, &Limits::DEFAULT).unwrap()).unwrap())
    }

    /// Names, targets and records, to see whether a refused command left them alone.
    pub fn all_refs(&self) -> Vec<String> {
        let refs = self.repo.store().refs().unwrap();
        let mut all = Vec::new();
        for space in ["refs/", "local/"] {
            all.extend(refs.scan(space).unwrap().map(|(name, value)| format!("{name} {:?}", value.unwrap())));
        }
        all
    }
}

pub fn write(root: &Path, path: &str, text: &str) {
    let at = root.join(path);
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(at, text).unwrap();
}

pub fn summed(summary: &str) -> FinishOptions {
    FinishOptions { summary: Some(summary.to_owned()), ..FinishOptions::default() }
}

pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
