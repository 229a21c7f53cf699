//! Names and counters (workflow, section 1).

use crate::{Repo, Result};
use gemel_object::{Family, Gid};

/// Names of the local records this crate keeps beside the refs.
pub mod local {
    /// Identity of the producer used when a command names none.
    pub const DEFAULT_PRODUCER: &str = "local/default_producer";
    /// Prefix of counters: `local/counters/<kind>`, a decimal number as text.
    pub const COUNTERS: &str = "local/counters/";
    /// Prefix of workspace records: `<name>/state`, `<name>/change`, `<name>/pending`, `<name>/path`.
    pub const WORKTREES: &str = "local/worktrees/";
}

/// A thing that gets numbered names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `I<n>`.
    Intent,
    /// `C<n>`.
    Change,
    /// `S<n>`.
    State,
    /// `T<n>`.
    Trajectory,
    /// `K<n>`.
    Checkpoint,
    /// `Re<n>`.
    Reconciliation,
    /// `Rl<n>`.
    Release,
    /// `Cl<n>`.
    Claim,
    /// `E<n>`.
    Evidence,
    /// `R<n>`.
    Residual,
    /// `A<n>`.
    AgentRun,
    /// `M<n>`.
    ContextManifest,
    /// `Env<n>`.
    Environment,
    /// `P<n>`.
    Producer,
}

/// Resolves an identity argument in every accepted form (workflow, section 1): full identity, ref path, name,
/// unique prefix with or without family, `@`, `@state`, `@trajectory`.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `Store`.
pub fn resolve(repo: &Repo, text: &str) -> Result<Gid> {
    let _ = (repo, text);
    unimplemented!()
}

/// As [`resolve`], and the object must be of family `family`.
///
/// # Errors
/// As [`resolve`]; `WrongFamily`.
pub fn resolve_as(repo: &Repo, text: &str, family: Family) -> Result<Gid> {
    let _ = (repo, text, family);
    unimplemented!()
}

/// Resolves to a state; a change names its result, a trajectory its last result or its base, a release its state.
///
/// # Errors
/// As [`resolve`]; `WrongFamily` for anything without a state.
pub fn resolve_state(repo: &Repo, text: &str) -> Result<Gid> {
    let _ = (repo, text);
    unimplemented!()
}

/// The name of an object: the lowest numbered one, else the first label; `None` if no ref names it.
///
/// # Errors
/// `Store`.
pub fn name_of(repo: &Repo, id: &Gid) -> Result<Option<String>> {
    let _ = (repo, id);
    unimplemented!()
}
