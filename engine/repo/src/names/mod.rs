//! Names and counters (workflow, section 1).

mod git;
mod lookup;
mod numbers;
mod resolve;
mod reverse;
mod suggest;

pub use git::{GitNames, git_names};
pub use lookup::{NameBook, name_of};
pub(crate) use lookup::{Namer, typed};
pub use numbers::{Allocator, NewName};
pub(crate) use resolve::{Accept, named_by, resolve_in};
pub use resolve::{resolve, resolve_as};

use gemel_object::Family;

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
    /// `Case<n>`, for a case without a label.
    Case,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 15] = [
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
        Kind::Case,
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

    /// The kind of the objects of a family, if they get numbered names.
    pub(crate) fn of_family(family: Family) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.row().3 == family)
    }

    fn row(self) -> (&'static str, &'static str, &'static str, Family) {
        match self {
            Kind::Intent => ("intent", "I", "refs/names/", Family::Intent),
            Kind::Change => ("change", "C", "refs/names/", Family::Change),
            Kind::State => ("state", "S", "refs/names/", Family::State),
            Kind::Trajectory => ("trajectory", "T", "refs/trajectories/", Family::Trajectory),
            Kind::Checkpoint => ("checkpoint", "K", "refs/checkpoints/", Family::Checkpoint),
            Kind::Reconciliation => ("reconciliation", "Re", "refs/reconciliations/", Family::Reconciliation),
            Kind::Release => ("release", "Rl", "refs/releases/", Family::Release),
            Kind::Claim => ("claim", "Cl", "refs/names/", Family::Claim),
            Kind::Evidence => ("evidence", "E", "refs/names/", Family::Evidence),
            Kind::Residual => ("residual", "R", "refs/names/", Family::Residual),
            Kind::AgentRun => ("agent_run", "A", "refs/names/", Family::AgentRun),
            Kind::ContextManifest => ("context_manifest", "M", "refs/names/", Family::ContextManifest),
            Kind::Environment => ("environment", "Env", "refs/names/", Family::Environment),
            Kind::Producer => ("producer", "P", "refs/names/", Family::Producer),
            Kind::Case => ("case", "Case", "refs/cases/", Family::Case),
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
