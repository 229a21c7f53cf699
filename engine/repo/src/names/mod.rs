//! Names and counters (workflow, section 1).

mod lookup;
mod numbers;
mod resolve;
mod suggest;

pub(crate) use lookup::Namer;
pub use lookup::name_of;
pub(crate) use numbers::{Allocator, NewName};
pub(crate) use resolve::{Accept, resolve_in};
pub use resolve::{resolve, resolve_as};

/// Names of the local records this crate keeps beside the refs.
pub mod local {
    /// Identity of the producer used when a command names none.
    pub const DEFAULT_PRODUCER: &str = "local/default_producer";
    /// Prefix of counters: `local/counters/<kind>`, a decimal number as text.
    pub const COUNTERS: &str = "local/counters/";
    /// Prefix of tombstones: `local/tombstones/<identity>`, the text of a pruned object's tombstone.
    pub const TOMBSTONES: &str = "local/tombstones/";
    /// Prefix of workspace records: `<name>/state`, `<name>/change`, `<name>/pending`, `<name>/path`.
    pub const WORKTREES: &str = "local/worktrees/";
}

/// A thing that gets numbered names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 14] = [
        Kind::Intent,
        Kind::Change,
        Kind::State,
        Kind::Trajectory,
        Kind::Checkpoint,
        Kind::Reconciliation,
        Kind::Release,
        Kind::Claim,
        Kind::Evidence,
        Kind::Residual,
        Kind::AgentRun,
        Kind::ContextManifest,
        Kind::Environment,
        Kind::Producer,
    ];

    /// Key of the counter.
    pub fn key(self) -> &'static str {
        self.row().0
    }

    /// What stands before the number.
    pub fn prefix(self) -> &'static str {
        self.row().1
    }

    /// Namespace of the names, with its final slash.
    pub fn namespace(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Kind::Intent => ("intent", "I", "refs/names/"),
            Kind::Change => ("change", "C", "refs/names/"),
            Kind::State => ("state", "S", "refs/names/"),
            Kind::Trajectory => ("trajectory", "T", "refs/trajectories/"),
            Kind::Checkpoint => ("checkpoint", "K", "refs/checkpoints/"),
            Kind::Reconciliation => ("reconciliation", "Re", "refs/reconciliations/"),
            Kind::Release => ("release", "Rl", "refs/releases/"),
            Kind::Claim => ("claim", "Cl", "refs/names/"),
            Kind::Evidence => ("evidence", "E", "refs/names/"),
            Kind::Residual => ("residual", "R", "refs/names/"),
            Kind::AgentRun => ("agent_run", "A", "refs/names/"),
            Kind::ContextManifest => ("context_manifest", "M", "refs/names/"),
            Kind::Environment => ("environment", "Env", "refs/names/"),
            Kind::Producer => ("producer", "P", "refs/names/"),
        }
    }

    /// Kind and number of a full ref name such as `refs/names/C12`; `None` for a label.
    pub fn of_name(full: &str) -> Option<(Kind, u64)> {
        let at = full.rfind(|c: char| !c.is_ascii_digit())? + 1;
        let (stem, digits) = full.split_at_checked(at)?;
        let number = numbers::number(digits)?;
        let slash = stem.rfind('/')? + 1;
        let (space, prefix) = stem.split_at_checked(slash)?;
        Kind::ALL
            .into_iter()
            .find(|k| k.prefix() == prefix && k.namespace() == space)
            .map(|kind| (kind, number))
    }
}
