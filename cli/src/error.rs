//! Refusals: the code a program reads, the sentence a person reads, the hint that helps.

use gemel_git::GitError;
use gemel_repo::{Code, RepoError};
use gemel_store::StoreError;
use std::fmt::Display;
use std::io;

/// Exit status of every refusal and failure.
pub(crate) const EXIT_ERROR: u8 = 2;
/// Exit status when the reader of standard output went away: what a shell reports for SIGPIPE.
pub(crate) const EXIT_BROKEN_PIPE: u8 = 141;

/// Why a command gave no answer.
#[derive(Debug)]
pub(crate) enum CliError {
    /// A refusal to report.
    Refused(Box<Refusal>),
    /// Whoever read standard output went away; nothing is left to say.
    BrokenPipe,
}

/// The content of an error envelope (query surface, section 1.6).
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Stable code.
    pub(crate) code: Code,
    /// What is wrong, without `error: `.
    pub(crate) message: String,
    /// Identities the message is about.
    pub(crate) ids: Vec<String>,
    /// What a person may try next; never part of the envelope.
    pub(crate) hint: Option<String>,
}

impl CliError {
    /// A refusal with a code and a message.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> CliError {
        CliError::Refused(Box::new(Refusal { code, message: message.into(), ids: Vec::new(), hint: None }))
    }

    /// `INVALID_ARGUMENT`.
    pub(crate) fn invalid(message: impl Into<String>) -> CliError {
        CliError::new(Code::InvalidArgument, message)
    }

    /// A flag of the contract whose work is not built yet: refused, never ignored, and not offered by help.
    pub(crate) fn not_built(what: &str) -> CliError {
        CliError::invalid(format!("{what} is not built yet; nothing was done"))
    }

    /// A failure to write the answer: silence when the reader went away, `INTERNAL` otherwise.
    pub(crate) fn output(error: &io::Error) -> CliError {
        if error.kind() == io::ErrorKind::BrokenPipe {
            CliError::BrokenPipe
        } else {
            CliError::new(Code::Internal, format!("cannot write the answer: {error}"))
        }
    }

    /// Objects the refusal is about.
    pub(crate) fn with_ids<T: Display>(mut self, ids: &[T]) -> CliError {
        if let CliError::Refused(refusal) = &mut self {
            refusal.ids = ids.iter().map(T::to_string).collect();
        }
        self
    }

    fn with_hint(mut self, hint: Option<&str>) -> CliError {
        if let CliError::Refused(refusal) = &mut self {
            refusal.hint = hint.map(str::to_owned);
        }
        self
    }
}

impl From<RepoError> for CliError {
    fn from(error: RepoError) -> CliError {
        if let RepoError::Store(StoreError::Source { source }) = &error
            && source.kind() == io::ErrorKind::BrokenPipe
        {
            return CliError::BrokenPipe;
        }
        let hint = match &error {
            RepoError::NotARepository { .. } => {
                Some("run `gemel init` to start one here, or name one with --repo DIR")
            }
            RepoError::Ambiguous { .. } => Some("write more digits of the identity, or its name"),
            RepoError::AlreadyPending { .. } => Some("`gemel change abort` gives it up"),
            RepoError::Store(StoreError::LegacyDamaged { .. }) => Some(
                "`gemel migrate --dry-run` lists everything found; --keep-going leaves out what is damaged",
            ),
            RepoError::Store(StoreError::Legacy { .. }) => {
                Some("nothing was changed; `gemel migrate` keeps the old files")
            }
            _ => None,
        };
        CliError::new(error.code(), error.to_string()).with_ids(&error.ids()).with_hint(hint)
    }
}

impl From<GitError> for CliError {
    fn from(error: GitError) -> CliError {
        let code = match &error {
            GitError::Repo(_) => Code::Internal,
            GitError::NotARepository { .. } | GitError::UnknownRevision { .. } | GitError::Missing { .. } => {
                Code::NotFound
            }
            GitError::Absent { .. }
            | GitError::Damaged { .. }
            | GitError::Mapping { .. }
            | GitError::Git { .. } => Code::RepositoryCorrupt,
            GitError::Oversize { .. } | GitError::Unfit { .. } => Code::LimitExceeded,
            GitError::Refused { .. } => Code::InvalidArgument,
            GitError::Io { source, .. } => Code::of_path(source.kind()),
            GitError::Command { .. } => Code::Internal,
        };
        match error {
            GitError::Repo(error) => CliError::from(error),
            error => CliError::new(code, error.to_string()),
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> CliError {
        CliError::from(RepoError::from(error))
    }
}
