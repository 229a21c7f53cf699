//! The repository on the other side, and what every import must hold to.

use crate::fixture::Git;
use gemel_git::GitError;
use gemel_git::import::{ImportOptions, ImportReport, import};
use gemel_object::families::{Change, Mapping, NewConfig, NewConfigLimits, Producer, State, Trajectory};
use gemel_object::{ExecutionPolicy, Gid, Limits, Mode, Object, Tree};
use gemel_repo::audit::{self, AuditOptions, Severity};
use gemel_repo::facts::Silent;
use gemel_repo::{InitOptions, Repo};
use gemel_store::vfs::real::RealDisk;
use gemel_store::{NewObject, RefValue};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A fresh repository.
pub(crate) struct Gemel {
    temp: Arc<tempfile::TempDir>,
    pub(crate) repo: Repo,
}

fn opened(root: &Path) -> Repo {
    Repo::open(Arc::new(RealDisk::new()), root).unwrap()
}

/// Imports into the repository at `root`.
pub(crate) fn import_at(root: &Path, git_dir: &Path) {
    let options = ImportOptions { git_dir: git_dir.to_owned(), now_ms: 2000, ..ImportOptions::default() };
    import(&opened(root), &options, &Silent).unwrap();
}

/// Refs with their targets.
pub(crate) type Refs = BTreeMap<String, Gid>;

impl Gemel {
    pub(crate) fn new() -> Gemel {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("work");
        let options = InitOptions { now_ms: 1000, ..InitOptions::default() };
        let repo = Repo::init(Arc::new(RealDisk::new()), &root, &options).unwrap().repo;
        Gemel { temp: Arc::new(temp), repo }
    }

    /// A fresh one whose policy allows so much.
    pub(crate) fn limited(limits: &Limits) -> Gemel {
        let gemel = Gemel::new();
        let config = NewConfig {
            previous: gemel.target("refs/config"),
            limits: Some(NewConfigLimits {
                max_object_bytes: Some(limits.max_object_bytes),
                max_record_depth: Some(limits.max_record_depth),
                max_array_elements: Some(limits.max_array_elements),
                max_refs_per_object: Some(limits.max_refs_per_object),
                max_string_bytes: Some(limits.max_string_bytes),
                ..NewConfigLimits::default()
            }),
            execution_policy: Some(ExecutionPolicy::NeverAutoExecute),
            ..NewConfig::default()
        };
        let config = config.encode(&Limits::DEFAULT).unwrap();
        let writer = gemel.repo.store().writer().unwrap();
        writer.put(NewObject { id: config.id, bytes: config.bytes, base: None }).unwrap();
        writer.commit().unwrap();
        let mut transaction = gemel.repo.store().transaction().unwrap();
        transaction.set("refs/config", config.id);
        transaction.commit("test", 0).unwrap();
        gemel
    }

    /// The same repository, opened again.
    pub(crate) fn reopened(&self) -> Gemel {
        Gemel { temp: self.temp.clone(), repo: opened(&self.root()) }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.repo.root().to_owned()
    }

    /// A fresh one with everything that `git` has.
    pub(crate) fn of(git: &Git) -> Gemel {
        let gemel = Gemel::new();
        gemel.import(git);
        gemel
    }

    pub(crate) fn import(&self, git: &Git) -> ImportReport {
        self.try_import(&git.git_dir, ImportOptions::default())
            .unwrap_or_else(|error| panic!("import: {error}"))
    }

    /// Only what `revision` reaches.
    pub(crate) fn import_head(&self, git: &Git, revision: &str) -> ImportReport {
        let options = ImportOptions { head: Some(revision.to_owned()), ..ImportOptions::default() };
        self.try_import(&git.git_dir, options).unwrap_or_else(|error| panic!("import of {revision}: {error}"))
    }

    pub(crate) fn try_import(
        &self,
        git_dir: &Path,
        options: ImportOptions,
    ) -> Result<ImportReport, GitError> {
        import(&self.repo, &ImportOptions { git_dir: git_dir.to_owned(), now_ms: 2000, ..options }, &Silent)
    }

    pub(crate) fn refs(&self) -> Refs {
        let refs = self.repo.store().refs().unwrap();
        let all = refs.scan("refs/").unwrap();
        all.filter_map(|(name, value)| match value.unwrap() {
            RefValue::Id(id) => Some((name, id)),
            RefValue::Record(_) => None,
        })
        .collect()
    }

    pub(crate) fn target(&self, name: &str) -> Option<Gid> {
        self.repo.store().refs().unwrap().get(name).unwrap()
    }

    /// Counts transactions.
    pub(crate) fn sequence(&self) -> u64 {
        self.repo.store().refs().unwrap().sequence()
    }

    pub(crate) fn fsck(&self) {
        let facts = audit::run(&self.repo, &AuditOptions::default(), &Silent).unwrap();
        let errors: Vec<_> = facts.problems.iter().filter(|p| p.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "fsck: {errors:?}");
    }

    /// Reads an object.
    pub(crate) fn with<T>(&self, id: &Gid, take: impl FnOnce(&Object<'_>) -> T) -> T {
        let bytes = self.repo.store().read(id).unwrap();
        take(&Object::decode(&bytes, &Limits::DEFAULT).unwrap())
    }

    /// The change of a commit.
    pub(crate) fn change_of(&self, oid: &str) -> Gid {
        let mapping = self.target(&format!("refs/mappings/import/git_commit/{oid}"));
        let mapping = mapping.unwrap_or_else(|| panic!("commit {oid} is not mapped"));
        self.with(&mapping, |object| Mapping::view(object).unwrap().to())
    }

    /// Head in one line: summary, author, time, files.
    pub(crate) fn shown(&self) -> String {
        let Some(head) = self.target("refs/head") else { return "nothing".to_owned() };
        let (summary, producer, state, time) = self.with(&head, |object| {
            let change = Change::view(object).unwrap();
            let state = change.resulting_state().unwrap();
            (change.summary().to_owned(), change.producer(), state, change.created_at())
        });
        let author = self.with(&producer, |object| {
            let producer = Producer::view(object).unwrap();
            let human = producer.identity().and_then(|identity| identity.human());
            human.map_or_else(
                || producer.name().to_owned(),
                |human| match human.email() {
                    Some(email) => format!("{} <{email}>", human.name()),
                    None => human.name().to_owned(),
                },
            )
        });
        let mut files = Vec::new();
        let root = self.with(&state, |object| State::view(object).unwrap().root_tree());
        let mut stack = vec![(String::new(), root)];
        while let Some((prefix, tree)) = stack.pop() {
            self.with(&tree, |object| {
                for entry in Tree::view(object).unwrap().iter() {
                    let path = format!("{prefix}{}", entry.name);
                    match entry.mode {
                        Mode::Directory => stack.push((format!("{path}/"), entry.target)),
                        Mode::Executable => files.push(format!("{path}*")),
                        Mode::Link => files.push(format!("{path}@")),
                        Mode::File => files.push(path),
                    }
                }
            });
        }
        files.sort();
        format!("{summary:?} by {author:?} at {time:?}: {}", files.join(" "))
    }

    /// What the mapping of head's commit says is lost, without the five unknowns that all have.
    pub(crate) fn losses(&self, oid: &str) -> Vec<String> {
        let mapping = self.target(&format!("refs/mappings/import/git_commit/{oid}")).unwrap();
        self.with(&mapping, |object| {
            let loss = Mapping::view(object).unwrap().loss().unwrap();
            let all = loss.known_loss().iter().map(str::to_owned);
            all.filter(|text| !text.ends_with("unknown")).collect()
        })
    }

    /// Changes of every trajectory by name, oldest first.
    pub(crate) fn trajectories(&self) -> BTreeMap<String, Vec<Gid>> {
        let named = self.refs().into_iter().filter(|(name, _)| name.starts_with("refs/trajectories/T"));
        named
            .map(|(name, id)| {
                let (mut versions, mut next) = (Vec::new(), Some(id));
                while let Some(id) = next {
                    next = self.with(&id, |object| {
                        let version = Trajectory::view(object).unwrap();
                        versions.push(version.added_changes().iter().collect::<Vec<_>>());
                        version.previous()
                    });
                }
                versions.reverse();
                (name, versions.concat())
            })
            .collect()
    }

    /// The text of the refs that were taken.
    pub(crate) fn kept_refs(&self) -> Vec<u8> {
        let mapping = self.target("refs/mappings/import/git_refs").unwrap();
        let blob = self.with(&mapping, |object| Mapping::view(object).unwrap().to());
        self.blob(&blob)
    }

    pub(crate) fn blob(&self, id: &Gid) -> Vec<u8> {
        gemel_repo::content::read_blob(self.repo.store(), id).unwrap()
    }
}
