//! Creating, finding and opening a repository.

use crate::{RepoError, Result};
use gemel_object::Gid;
use gemel_store::Store;
use gemel_store::vfs::Vfs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// Creates a repository in `root`, which is created if absent; a `.gemel` that holds only exchange material is
    /// completed (workflow, section 2).
    ///
    /// # Errors
    /// `AlreadyExists`, `Invalid` (mail address without a name), `Store`.
    pub fn init(vfs: Arc<dyn Vfs>, root: &Path, options: &InitOptions) -> Result<InitFacts> {
        let _ = (vfs, root, options);
        unimplemented!()
    }

    /// Opens the repository whose worktree root is `root`. The caller named it: ownership is not questioned.
    ///
    /// # Errors
    /// `NotARepository`, `TrackedStore`, `Store` (`Legacy` for a 0.12 store).
    pub fn open(vfs: Arc<dyn Vfs>, root: &Path) -> Result<Repo> {
        let _ = (vfs, root);
        unimplemented!()
    }

    /// Opens the repository at `start` or in the nearest ancestor that holds a `.gemel`.
    ///
    /// # Errors
    /// As [`Repo::open`]; `UntrustedStore` when the one found belongs to another user or lies in a folder everybody
    /// may write to.
    pub fn discover(vfs: Arc<dyn Vfs>, start: &Path) -> Result<Repo> {
        let _ = (vfs, start);
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
