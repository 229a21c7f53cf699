//! What can go wrong between Git and Gemel.

use gemel_object::Gid;
use gemel_repo::RepoError;
use gemel_store::StoreError;
use std::path::PathBuf;

/// Result of a Git operation.
pub type Result<T, E = GitError> = std::result::Result<T, E>;

/// An error that names the Git repository, object or ref it is about.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The path is no Git repository; the folders above it are not looked at.
    #[error("{} is not a Git repository: {detail}", path.display())]
    NotARepository {
        /// The path named.
        path: PathBuf,
        /// Why it is none.
        detail: String,
    },
    /// A ref or revision that is not there.
    #[error("no commit named `{name}` in {}", path.display())]
    UnknownRevision {
        /// As typed.
        name: String,
        /// The repository.
        path: PathBuf,
    },
    /// An object that Git should have and has not.
    #[error(
        "Git object {oid} is missing{}; fetch it, or import with --allow-missing to record the loss",
        place(at)
    )]
    Missing {
        /// Its name.
        oid: String,
        /// What needs it: a path, a ref, a commit.
        at: String,
    },
    /// Something that the way back to Git needs and the repository has not. Nothing takes its place.
    #[error("{what} is missing{}", place(at))]
    Absent {
        /// The object, by its Git name or its identity.
        what: String,
        /// What needs it: a path in a commit, a ref.
        at: String,
    },
    /// An object that breaks Git's own rules, or whose bytes are not those of its name.
    #[error("Git object {oid} is damaged{}: {detail}", place(at))]
    Damaged {
        /// Its name.
        oid: String,
        /// What led to it.
        at: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A file that no object can hold.
    #[error(
        "{path} in commit {commit} has {len_bytes} bytes, over the object limit of {limit_bytes}; import with --oversize keep to leave it out of the state and keep its bytes"
    )]
    Oversize {
        /// Its path.
        path: String,
        /// A commit that has it.
        commit: String,
        /// Its length.
        len_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// Something of a commit that no object can hold.
    #[error("{what} of commit {commit}: {detail}")]
    Unfit {
        /// Which part.
        what: &'static str,
        /// The commit.
        commit: String,
        /// Why not.
        detail: String,
    },
    /// Git material in the store that is not what its ref says.
    #[error("{name} points to {id}, which does not hold what the name says: {detail}")]
    Mapping {
        /// The ref.
        name: String,
        /// Its target.
        id: Gid,
        /// What is wrong.
        detail: String,
    },
    /// A refusal: nothing was changed.
    #[error("{reason}")]
    Refused {
        /// What, where, and what to do.
        reason: String,
    },
    /// The file system.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Reading Git's files.
    #[error("{what} of {}: {detail}", path.display())]
    Git {
        /// Which part.
        what: &'static str,
        /// The repository.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The Git program.
    #[error("git {command}: {detail}")]
    Command {
        /// Which of its commands.
        command: &'static str,
        /// What it said.
        detail: String,
    },
    /// The repository.
    #[error(transparent)]
    Repo(#[from] RepoError),
}

impl From<StoreError> for GitError {
    fn from(error: StoreError) -> GitError {
        GitError::Repo(RepoError::Store(error))
    }
}

fn place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!(" ({at})") }
}
