//! The 24 object families and their envelope codes (object model, section 5).

/// A family of canonical objects: envelope byte 5, and the prefix of a textual identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Family {
    /// Raw bytes.
    Blob = 0x01,
    /// Sorted directory entries.
    Tree = 0x02,
    /// Exact content of a repository: a root tree.
    State = 0x03,
    /// A low-level transformation.
    Operation = 0x04,
    /// A bounded period of activity.
    Episode = 0x05,
    /// Why something is attempted.
    Intent = 0x06,
    /// The evidence-bearing unit of history.
    Change = 0x07,
    /// A larger engineering objective.
    Case = 0x08,
    /// One pursuit of an intent from a base state.
    Trajectory = 0x09,
    /// An asserted proposition.
    Claim = 0x0A,
    /// A record of what actually happened.
    Evidence = 0x0B,
    /// Unresolved disagreement.
    Residual = 0x0C,
    /// A scoped verification run.
    Verification = 0x0D,
    /// Who or what acted.
    Producer = 0x0E,
    /// One run of an agent.
    AgentRun = 0x0F,
    /// The machine and its configuration.
    Environment = 0x10,
    /// A decision over several trajectories.
    Reconciliation = 0x11,
    /// A distributable state.
    Release = 0x12,
    /// What an agent saw.
    ContextManifest = 0x13,
    /// A continuation boundary.
    Checkpoint = 0x14,
    /// Repository policy.
    Config = 0x15,
    /// Correspondence with an external identity.
    Mapping = 0x16,
    /// A declared program entity.
    SemanticEntity = 0x17,
    /// The entities of a state.
    SemanticIndex = 0x18,
}

impl Family {
    /// Every family, in code order.
    pub const ALL: [Family; 24] = [
        Family::Blob,
        Family::Tree,
        Family::State,
        Family::Operation,
        Family::Episode,
        Family::Intent,
        Family::Change,
        Family::Case,
        Family::Trajectory,
        Family::Claim,
        Family::Evidence,
        Family::Residual,
        Family::Verification,
        Family::Producer,
        Family::AgentRun,
        Family::Environment,
        Family::Reconciliation,
        Family::Release,
        Family::ContextManifest,
        Family::Checkpoint,
        Family::Config,
        Family::Mapping,
        Family::SemanticEntity,
        Family::SemanticIndex,
    ];

    /// The family with envelope code `code`, if there is one.
    pub fn from_code(code: u8) -> Option<Family> {
        Self::ALL.get(usize::from(code).wrapping_sub(1)).copied()
    }

    /// The envelope code, 0x01 to 0x18.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The family whose textual name is `name`, if there is one.
    pub fn from_name(name: &str) -> Option<Family> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// The textual name, the prefix of identities.
    pub fn name(self) -> &'static str {
        match self {
            Family::Blob => "blob",
            Family::Tree => "tree",
            Family::State => "state",
            Family::Operation => "operation",
            Family::Episode => "episode",
            Family::Intent => "intent",
            Family::Change => "change",
            Family::Case => "case",
            Family::Trajectory => "trajectory",
            Family::Claim => "claim",
            Family::Evidence => "evidence",
            Family::Residual => "residual",
            Family::Verification => "verification",
            Family::Producer => "producer",
            Family::AgentRun => "agentrun",
            Family::Environment => "environment",
            Family::Reconciliation => "reconciliation",
            Family::Release => "release",
            Family::ContextManifest => "context-manifest",
            Family::Checkpoint => "checkpoint",
            Family::Config => "config",
            Family::Mapping => "mapping",
            Family::SemanticEntity => "semantic-entity",
            Family::SemanticIndex => "semantic-index",
        }
    }
}
