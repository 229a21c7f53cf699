//! What follows from the recorded objects: derived status, never stored (object model, section 15).

mod about;
mod assess;
mod claims;
mod disclosure;
mod freshness;
mod ledger;
mod loose;
mod readiness;
mod required;
mod scope;
mod session;
mod sets;
mod status;
mod subject;
mod world;

pub use claims::ClaimStatus;
pub use disclosure::veil;
pub use readiness::{Readiness, Reason, Verdict};
pub use required::EvidenceRow;
pub use session::Session;
pub use status::{ClaimCounts, ClaimRow, ResidualRow, StatusFacts, StatusOptions, WorkspaceStatus, status};
