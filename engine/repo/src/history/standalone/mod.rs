//! Objects that are recorded by themselves, outside a change: who, where, why, and what is known.
//!
//! Every verb here resolves and validates its arguments first, makes the objects durable, and names them in one
//! transaction. Verbs that add a version to a chain decide under the lock which version is the newest.

mod cases;
mod chains;
mod claims;
mod desk;
mod environments;
mod intents;
mod manifests;
mod policy;
mod producers;
mod residuals;
mod runs;
mod trajectory;

pub use cases::{CaseCloseOptions, CaseOptions, CaseRow, case_close, case_create, case_list};
pub use claims::{ClaimAddOptions, ClaimLinkOptions, ClaimMade, claim_add, claim_link};
pub use desk::Made;
pub use environments::{EnvironmentOptions, environment_create};
pub use intents::{IntentFacts, IntentOptions, IntentRow, intent_create, intent_list, intent_show};
pub use manifests::{ManifestFacts, ManifestOptions, manifest_create};
pub use policy::{ConfigFacts, ConfigOptions, ConfigSet, RequiredRow, config_set, config_show};
pub use producers::{ProducerOptions, ProducerRow, producer_create, producer_list};
pub use residuals::{
    ResidualAddOptions, ResidualAdded, ResidualLinkOptions, ResidualResolveOptions, ResidualVersion,
    residual_add, residual_link, residual_resolve,
};
pub use runs::{RunOptions, run_create};
