//! Creating, finding and opening a repository.

mod git_index;
mod initial;
mod policy;
mod trust;

pub(crate) use initial::court_runner;
pub(crate) use policy::disclosure_default;

use crate::{RepoError, Result};
use gemel_object::Gid;
use gemel_store::vfs::Vfs;
use gemel_store::{Store, StoreError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the directory that makes a folder a repository.
pub const STORE_DIR: &str = ".gemel";

/// An opened repository: the worktree root and the store beside it. Safe to share between threads.
#[derive(Debug)]
pub struct Repo {
    root: PathBuf,
    store: Store,
}

/// What `init` is told.
#[derive(Clone, Debug, Default)]
pub struct InitOptions {
    /// Author of the default producer; without one it is the automation `gemel`.
    pub author_name: Option<String>,
    /// Their mail address; needs a name.
    pub author_email: Option<String>,
    /// Time of the objects made, Unix milliseconds.
    pub now_ms: i64,
}

/// What `init` made.
#[derive(Debug)]
pub struct InitFacts {
    /// The repository, open.
    pub repo: Repo,
    /// The config object, `refs/config`.
    pub config: Gid,
    /// The default producer, `refs/names/P1`.
    pub default_producer: Gid,
}

impl Repo {
    /// Creates a repository in `root` (absolute), which is created if absent; a `.gemel` that holds only exchange
    /// material, or that an interrupted `init` left, is completed (workflow, section 2).
    ///
    /// # Errors
    /// `AlreadyExists`, `TrackedStore`, `Invalid` (mail address without a name), `Store`.
    pub fn init(vfs: Arc<dyn Vfs>, root: &Path, options: &InitOptions) -> Result<InitFacts> {
        let objects = initial::objects(options)?;
        let dir = root.join(STORE_DIR);
        if let Some(tracked) = git_index::tracked_store_file(&dir) {
            return Err(RepoError::TrackedStore { path: dir, tracked });
        }
        let fill = |store: &Store| initial::publish(store, root, &objects, options.now_ms);
        let store = match Store::init_with(vfs.clone(), &dir, fill) {
            Ok(store) => store,
            // One that holds nothing yet is filled.
            Err(RepoError::Store(StoreError::AlreadyExists { .. })) => {
                let store = Store::open(vfs, &dir)?;
                fill(&store)?;
                store
            }
            Err(error) => return Err(error),
        };
        let repo = Repo { root: root.to_path_buf(), store };
        Ok(InitFacts { repo, config: objects.config.id, default_producer: objects.producer.id })
    }

    /// Opens the repository whose worktree root is `root` (absolute). The caller named it: ownership is not
    /// questioned.
    ///
    /// # Errors
    /// `NotARepository`, `TrackedStore`, `Store` (`Legacy` for a 0.12 store).
    pub fn open(vfs: Arc<dyn Vfs>, root: &Path) -> Result<Repo> {
        let dir = root.join(STORE_DIR);
        let store = Store::open(vfs, &dir).map_err(|error| match error {
            StoreError::NotARepository { .. } => RepoError::NotARepository { path: root.to_path_buf() },
            other => RepoError::Store(other),
        })?;
        match git_index::tracked_store_file(&dir) {
            Some(tracked) => Err(RepoError::TrackedStore { path: dir, tracked }),
            None => Ok(Repo { root: root.to_path_buf(), store }),
        }
    }

    /// Opens the repository at `start` (absolute) or in the nearest ancestor that is one.
    ///
    /// # Errors
    /// As [`Repo::open`]; `UntrustedStore` when the one found belongs to another user, or was found above `start` in
    /// a folder everybody may write to (threat T-59).
    pub fn discover(vfs: Arc<dyn Vfs>, start: &Path) -> Result<Repo> {
        for dir in start.ancestors() {
            let found = dir.join(STORE_DIR);
            let stat = vfs.stat(&found);
            if !matches!(stat, Ok(Some(ref entry)) if entry.is_dir) {
                continue;
            }
            let trusted = trust::check(&found, dir, dir != start);
            match (Repo::open(vfs.clone(), dir), trusted) {
                // A folder with exchange material only is no repository; one above it may be.
                (Err(RepoError::NotARepository { .. }), _) => {}
                (_, Err(reason)) => return Err(RepoError::UntrustedStore { path: found, reason }),
                (result, Ok(())) => return result,
            }
        }
        Err(RepoError::NotARepository { path: start.to_path_buf() })
    }

    /// The root of the default worktree: the directory that holds `.gemel`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }
}
