//! What can go wrong above the store: each variant names the argument or the object, and has a stable code.

use crate::content::ContentError;
use crate::history::DEFAULT_WORKSPACE;
use crate::names::Kind;
use gemel_object::{Family, Gid, ObjectError};
use gemel_store::StoreError;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Stable class of a failure (query surface, section 1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Nothing there: unknown name, absent object, no repository.
    NotFound,
    /// An argument that cannot be meant.
    InvalidArgument,
    /// A cursor that is none.
    PaginationInvalid,
    /// Stored bytes that are not what they should be.
    RepositoryCorrupt,
    /// Refused by policy: execution, disclosure, unrecorded work in the way, untrusted store.
    PolicyDenied,
    /// More tokens than a bundle may have.
    BudgetExceeded,
    /// Over a limit of size, length or count.
    LimitExceeded,
    /// The disk, a lock, a derived file.
    Internal,
}

impl Code {
    /// The class of a failure with a path that was given: it cannot be one, or nothing is there; anything else is the
    /// disk's failure.
    pub fn of_path(kind: ErrorKind) -> Code {
        match kind {
            ErrorKind::InvalidFilename | ErrorKind::NotADirectory | ErrorKind::InvalidInput => {
                Code::InvalidArgument
            }
            ErrorKind::NotFound => Code::NotFound,
            _ => Code::Internal,
        }
    }

    /// The code as it is written in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::NotFound => "NOT_FOUND",
            Code::InvalidArgument => "INVALID_ARGUMENT",
            Code::PaginationInvalid => "PAGINATION_INVALID",
            Code::RepositoryCorrupt => "REPOSITORY_CORRUPT",
            Code::PolicyDenied => "POLICY_DENIED",
            Code::BudgetExceeded => "BUDGET_EXCEEDED",
            Code::LimitExceeded => "LIMIT_EXCEEDED",
            Code::Internal => "INTERNAL",
        }
    }
}

/// Failure of a repository operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepoError {
    /// No `.gemel` here or above.
    #[error("not a gemel repository: {}", path.display())]
    NotARepository {
        /// Where the search began.
        path: PathBuf,
    },
    /// `init` where a repository is.
    #[error("repository already exists: {}", path.display())]
    AlreadyExists {
        /// The directory.
        path: PathBuf,
    },
    /// A store found by searching upward that somebody else could have planted.
    #[error("refusing {}: {reason}; name it with --repo to use it all the same", path.display())]
    UntrustedStore {
        /// The `.gemel` directory found.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The enclosing Git repository tracks files of the store.
    #[error("refusing {}: the enclosing Git index tracks {tracked:?}, a file of the store; take it out with `git rm --cached`", path.display())]
    TrackedStore {
        /// The `.gemel` directory.
        path: PathBuf,
        /// First tracked path, relative to the Git worktree.
        tracked: String,
    },
    /// Text that names nothing.
    #[error("unresolved name or identity: {text:?}{}", did_you_mean(suggestions))]
    Unresolved {
        /// The text given.
        text: String,
        /// Existing names that look alike, best first.
        suggestions: Vec<String>,
    },
    /// Text that names several things.
    #[error("ambiguous: {text:?} matches {}{}", list(candidates), if *more { ", …" } else { "" })]
    Ambiguous {
        /// The text given.
        text: String,
        /// At most ten matches.
        candidates: Vec<Gid>,
        /// Whether there are further ones.
        more: bool,
    },
    /// An object of another family than the command needs.
    #[error("invalid: {text} is not {expected}")]
    WrongFamily {
        /// The text given.
        text: String,
        /// What it names.
        id: Gid,
        /// What was needed, with its article.
        expected: &'static str,
    },
    /// A value outside its set.
    #[error("invalid {field} {value:?} (expected one of {})", allowed.join(", "))]
    EnumValue {
        /// Name of the field or flag.
        field: &'static str,
        /// Value given.
        value: String,
        /// The set.
        allowed: &'static [&'static str],
    },
    /// A name in use for something else.
    #[error("name {name:?} already stands for {existing}; choose another{}", if is_label(name) { ", or move it with --force" } else { "" })]
    NameTaken {
        /// Full ref name.
        name: String,
        /// Its target.
        existing: Gid,
    },
    /// Text that is no workspace name.
    #[error("invalid workspace name {name:?}: one part of a path, not empty, without control characters")]
    WorkspaceName {
        /// The text.
        name: String,
    },
    /// A workspace without any record.
    #[error("no such workspace: {name:?}; `gemel workspace list` shows those there are")]
    NoWorkspace {
        /// The name.
        name: String,
    },
    /// A second `change begin` in one workspace.
    #[error("a change is already in progress{} (run `gemel change finish`)", in_workspace(workspace))]
    AlreadyPending {
        /// The workspace.
        workspace: String,
    },
    /// `change finish` or `change abort` without a begin.
    #[error("no change in progress{} (run `gemel change begin`)", in_workspace(workspace))]
    NothingPending {
        /// The workspace.
        workspace: String,
    },
    /// A pending record that does not read.
    #[error("corrupt pending record of workspace {workspace:?}: {detail}; run `gemel fsck`")]
    PendingCorrupt {
        /// The workspace.
        workspace: String,
        /// What was found.
        detail: String,
    },
    /// A local record that does not read.
    #[error("corrupt record {name}: {detail}; run `gemel fsck`")]
    RecordCorrupt {
        /// Its name.
        name: String,
        /// What was found.
        detail: String,
    },
    /// A `--claim`, `--evidence` or `--residual` text that does not read.
    #[error("invalid: malformed spec {spec:?} of {flag}: {detail}; write {form}")]
    MalformedSpec {
        /// The flag.
        flag: &'static str,
        /// How its text is written.
        form: &'static str,
        /// The text.
        spec: String,
        /// What is wrong.
        detail: String,
    },
    /// A claim that claims nothing (FAM-12).
    #[error("object error: claim predicate must be non-empty (in --claim {spec:?}; write SUBJECT|PREDICATE)")]
    EmptyPredicate {
        /// The text.
        spec: String,
    },
    /// A recorded command that the policy of the repository does not let run.
    #[error("invalid: execution denied (POLICY_DENIED): {detail}")]
    ExecutionDenied {
        /// Which policy, and what would let it run.
        detail: String,
        /// The evidence whose command it is.
        id: Gid,
    },
    /// A process that could not be watched, and was killed.
    #[error("cannot watch the command: {source}; it was killed")]
    Process {
        /// What the system said.
        source: std::io::Error,
    },
    /// A release below the verdict it must have.
    #[error("{name} is {verdict}, and {required} is required: {reasons}")]
    BelowVerdict {
        /// The trajectory.
        name: String,
        /// Its verdict.
        verdict: &'static str,
        /// The verdict required.
        required: &'static str,
        /// Why it is not better.
        reasons: String,
    },
    /// An argument refused for another reason, told in full.
    #[error("{detail}")]
    Invalid {
        /// What is wrong, naming the argument.
        detail: String,
        /// Objects it is about.
        ids: Vec<Gid>,
    },
    /// An object that breaks a rule of its family: a text too long, too many references.
    #[error("object error: cannot make the {}: {source}", family.name())]
    Object {
        /// Family of the object.
        family: Family,
        /// The broken rule.
        source: ObjectError,
    },
    /// A cursor that is none.
    #[error("invalid cursor {cursor:?}: {detail}; ask without --cursor to start over")]
    Cursor {
        /// The text.
        cursor: String,
        /// What is wrong.
        detail: String,
    },
    /// A bundle larger than any may be.
    #[error("budget of {asked} tokens exceeds the limit of {limit}")]
    Budget {
        /// Tokens asked for.
        asked: u64,
        /// Tokens allowed.
        limit: u64,
    },
    /// A limit of a walk or a list.
    #[error("{what}: {found} exceeds the limit of {limit}")]
    Limit {
        /// Name of the limit and place.
        what: String,
        /// Value found.
        found: u64,
        /// Value allowed.
        limit: u64,
    },
    /// An object that is stored but is not what another object says it is.
    #[error("corrupt object {id}: {detail}; run `gemel fsck`")]
    CorruptObject {
        /// The object.
        id: Gid,
        /// What was found.
        detail: String,
    },
    /// A capture, a comparison of files or a checkout failed.
    #[error(transparent)]
    Content(ContentError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ContentError> for RepoError {
    fn from(error: ContentError) -> RepoError {
        match error {
            ContentError::Store(error) => RepoError::Store(error),
            error => RepoError::Content(error),
        }
    }
}

fn did_you_mean(suggestions: &[String]) -> String {
    if suggestions.is_empty() { String::new() } else { format!("; did you mean {}?", suggestions.join(", ")) }
}

/// Only names that carry no number may move (workflow, section 1).
fn is_label(name: &str) -> bool {
    Kind::of_name(name).is_none()
}

/// Which workspace, unless it is the one that needs no name.
fn in_workspace(name: &str) -> String {
    if name == DEFAULT_WORKSPACE { String::new() } else { format!(" in workspace {name:?}") }
}

fn list(ids: &[Gid]) -> String {
    ids.iter().map(Gid::to_string).collect::<Vec<_>>().join(", ")
}

impl RepoError {
    /// An argument refused, told in full.
    pub fn invalid(detail: impl Into<String>) -> RepoError {
        RepoError::Invalid { detail: detail.into(), ids: Vec::new() }
    }

    /// The stable code (query surface, section 1.6).
    pub fn code(&self) -> Code {
        match self {
            RepoError::NotARepository { .. }
            | RepoError::Unresolved { .. }
            | RepoError::NoWorkspace { .. } => Code::NotFound,
            RepoError::BelowVerdict { .. }
            | RepoError::UntrustedStore { .. }
            | RepoError::TrackedStore { .. }
            | RepoError::ExecutionDenied { .. } => Code::PolicyDenied,
            RepoError::Object { source, .. } => object_code(source),
            RepoError::AlreadyExists { .. }
            | RepoError::Ambiguous { .. }
            | RepoError::WrongFamily { .. }
            | RepoError::EnumValue { .. }
            | RepoError::NameTaken { .. }
            | RepoError::WorkspaceName { .. }
            | RepoError::AlreadyPending { .. }
            | RepoError::NothingPending { .. }
            | RepoError::MalformedSpec { .. }
            | RepoError::EmptyPredicate { .. }
            | RepoError::Invalid { .. } => Code::InvalidArgument,
            RepoError::PendingCorrupt { .. }
            | RepoError::RecordCorrupt { .. }
            | RepoError::CorruptObject { .. } => Code::RepositoryCorrupt,
            RepoError::Process { .. } => Code::Internal,
            RepoError::Cursor { .. } => Code::PaginationInvalid,
            RepoError::Budget { .. } => Code::BudgetExceeded,
            RepoError::Limit { .. } => Code::LimitExceeded,
            RepoError::Content(error) => content_code(error),
            RepoError::Store(error) => store_code(error),
        }
    }

    /// Objects the failure is about, for the `ids` member of an error envelope.
    pub fn ids(&self) -> Vec<Gid> {
        match self {
            RepoError::Ambiguous { candidates, .. } => candidates.clone(),
            RepoError::WrongFamily { id, .. }
            | RepoError::CorruptObject { id, .. }
            | RepoError::ExecutionDenied { id, .. } => vec![*id],
            RepoError::NameTaken { existing, .. } => vec![*existing],
            RepoError::Invalid { ids, .. } => ids.clone(),
            RepoError::Content(error) => error.ids(),
            RepoError::Store(error) => store_ids(error),
            _ => Vec::new(),
        }
    }
}

fn object_code(error: &ObjectError) -> Code {
    match error {
        ObjectError::LimitExceeded { .. } | ObjectError::RefCountExceeded { .. } => Code::LimitExceeded,
        _ => Code::InvalidArgument,
    }
}

fn content_code(error: &ContentError) -> Code {
    match error {
        ContentError::SpecialFile { .. }
        | ContentError::InvalidName { .. }
        | ContentError::Collision { .. }
        | ContentError::LinkTarget { .. } => Code::InvalidArgument,
        ContentError::Object { source, .. } => object_code(source),
        ContentError::UnrecordedWork { .. }
        | ContentError::Protected { .. }
        | ContentError::ProtectedTarget { .. } => Code::PolicyDenied,
        ContentError::Limit { .. } => Code::LimitExceeded,
        ContentError::CorruptObject { .. } => Code::RepositoryCorrupt,
        ContentError::Unstable { .. } | ContentError::Changed { .. } => Code::Internal,
        ContentError::Io { source, .. } => Code::of_path(source.kind()),
        ContentError::Store(error) => store_code(error),
    }
}

fn store_code(error: &StoreError) -> Code {
    match error {
        StoreError::NotFound { .. } | StoreError::NotARepository { .. } => Code::NotFound,
        StoreError::AlreadyExists { .. }
        | StoreError::Legacy { .. }
        | StoreError::InvalidRefName { .. }
        | StoreError::RefFamily { .. }
        | StoreError::RefKind { .. }
        | StoreError::RefConflict { .. }
        | StoreError::BadPrefix { .. }
        | StoreError::InvalidObject { .. } => Code::InvalidArgument,
        StoreError::UnknownVersion { .. }
        | StoreError::LegacyDamaged { .. }
        | StoreError::PackBehind { .. }
        | StoreError::CorruptObject { .. }
        | StoreError::CorruptFile { .. }
        | StoreError::CorruptRef { .. }
        | StoreError::DanglingRef { .. }
        | StoreError::HashCollision { .. }
        | StoreError::WrongIdentity { .. } => Code::RepositoryCorrupt,
        StoreError::Limit { .. } => Code::LimitExceeded,
        _ => Code::Internal,
    }
}

fn store_ids(error: &StoreError) -> Vec<Gid> {
    match error {
        StoreError::NotFound { id }
        | StoreError::PackBehind { id, .. }
        | StoreError::CorruptObject { id, .. }
        | StoreError::RefFamily { id, .. }
        | StoreError::DanglingRef { id, .. }
        | StoreError::HashCollision { id } => vec![*id],
        StoreError::WrongIdentity { id, actual } => vec![*id, *actual],
        _ => Vec::new(),
    }
}

/// Result of a repository operation.
pub type Result<T, E = RepoError> = std::result::Result<T, E>;
