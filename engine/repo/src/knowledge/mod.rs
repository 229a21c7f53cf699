//! What follows from the recorded objects: derived status, never stored (object model, section 15).

mod readiness;
mod status;

pub use readiness::{Readiness, Reason, Verdict};
pub use status::{
    ClaimCounts, ClaimRow, EvidenceRow, ResidualRow, StatusFacts, StatusOptions, WorkspaceStatus, status,
};
