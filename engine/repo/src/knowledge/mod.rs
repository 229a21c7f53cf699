//! What follows from the recorded objects: derived status, never stored (object model, section 15).

mod claims;
mod freshness;
mod readiness;
mod required;
mod scope;
mod status;
mod world;

pub use claims::ClaimStatus;
pub use readiness::{Readiness, Reason, Verdict};
pub use required::EvidenceRow;
pub use status::{ClaimCounts, ClaimRow, ResidualRow, StatusFacts, StatusOptions, WorkspaceStatus, status};
