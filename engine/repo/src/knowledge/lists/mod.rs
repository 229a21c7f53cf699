//! Lists: which rows there are, in which order, and the page that is asked for (query surface, sections 1.2 and 1.4).

mod attempts;
mod claims;
mod evidence;
mod order;
mod page;
mod residuals;

pub(crate) use attempts::outcome_word;
pub use attempts::{AttemptEntry, AttemptsFacts, AttemptsOptions, attempts};
pub(crate) use claims::describe as claim_entries;
pub use claims::{ClaimEntry, ClaimFacts, ClaimsFacts, ClaimsOptions, claim_show, claims};
pub(crate) use evidence::linking;
pub use evidence::{
    CaseCounts, EvidenceEntry, EvidenceFacts, EvidenceListFacts, EvidenceListOptions, FreshnessFacts,
    ReproductionFacts, evidence_list, evidence_show,
};
pub use page::Window;
pub(crate) use page::page;
pub(crate) use residuals::describe as residual_entries;
pub use residuals::{
    ResidualEntry, ResidualFacts, ResidualOrder, ResidualScopeFacts, ResidualsFacts, ResidualsOptions,
    residual_show, residuals,
};
