//! What follows from the recorded objects: derived status, never stored (object model, section 15).

mod about;
pub(crate) mod assess;
pub(crate) mod chains;
pub(crate) mod claims;
mod context;
mod context_diff;
mod dimensions;
mod disclosure;
mod doubts;
mod freshness;
pub(crate) mod handoff;
mod head;
mod impact;
mod ledger;
mod lists;
mod log_about;
mod loose;
mod next;
mod policy;
mod readiness;
pub(crate) mod required;
pub(crate) mod scope;
mod session;
pub(crate) mod sets;
mod status;
mod steps;
pub(crate) mod subject;
mod trajectory;
mod why;
pub(crate) mod world;

pub use claims::ClaimStatus;
pub use context::{
    BudgetFacts, BundleObject, Class, ContextFacts, ContextOptions, Forms, bundle_digest, context,
};
pub use context_diff::{ContextDiffFacts, SeenFacts, context_diff};
pub use dimensions::{
    ClaimsDelta, Dimensions, DimensionsFacts, EvidenceDelta, GainedRow, ResidualsDelta, dimensions, head_step,
};
pub use disclosure::veil;
pub use impact::{ImpactFacts, RefreshRow, impact};
pub use lists::{
    AttemptEntry, AttemptsFacts, AttemptsOptions, CaseCounts, ClaimEntry, ClaimFacts, ClaimsFacts,
    ClaimsOptions, EvidenceEntry, EvidenceFacts, EvidenceListFacts, EvidenceListOptions, FreshnessFacts,
    ReproductionFacts, ResidualEntry, ResidualFacts, ResidualOrder, ResidualScopeFacts, ResidualsFacts,
    ResidualsOptions, Window, attempts, claim_show, claims, evidence_list, evidence_show, residual_show,
    residuals,
};
pub use log_about::log_about;
pub use next::{NextFacts, next};
pub use policy::{GapFacts, PolicyFacts, RequiredFacts, policy};
pub use readiness::{Readiness, Reason, Verdict};
pub use required::EvidenceRow;
pub use session::Session;
pub use status::{
    ClaimCounts, ClaimRow, ResidualRow, StatusFacts, StatusInputs, StatusOptions, WorkspaceStatus, status,
};
pub use steps::Recommendation;
pub use trajectory::{
    HandoffFacts, StepFacts, TrajectoryFacts, TrajectoryListFacts, TrajectoryListOptions, TrajectoryRow,
    trajectory, trajectory_list,
};
pub use why::{DecisionFacts, IdentityFacts, WhyEvidence, WhyFacts, WhyNode, why};
