//! The declarations of the families (object model, section 5).

mod actor;
mod content;
mod outcome;
mod policy;
mod proof;
mod semantic;
mod tree;
mod work;

pub use actor::*;
pub use content::*;
pub use outcome::*;
pub use policy::*;
pub use proof::*;
pub use semantic::*;
pub(crate) use tree::ENTRY;
pub use tree::TREE;
pub use work::*;

use crate::{Family, FamilySchema, RecordSchema};

/// The 24 families in code order.
pub static FAMILIES: [FamilySchema; 24] = [
    FamilySchema { body: None, extensions: false, ..plain(Family::Blob, TREE) },
    plain(Family::Tree, TREE),
    plain(Family::State, State::SCHEMA),
    plain(Family::Operation, Operation::SCHEMA),
    plain(Family::Episode, Episode::SCHEMA),
    plain(Family::Intent, Intent::SCHEMA),
    plain(Family::Change, Change::SCHEMA),
    chained(Family::Case, Case::SCHEMA),
    chained(Family::Trajectory, Trajectory::SCHEMA),
    plain(Family::Claim, Claim::SCHEMA),
    plain(Family::Evidence, Evidence::SCHEMA),
    chained(Family::Residual, Residual::SCHEMA),
    plain(Family::Verification, Verification::SCHEMA),
    plain(Family::Producer, Producer::SCHEMA),
    plain(Family::AgentRun, AgentRun::SCHEMA),
    plain(Family::Environment, Environment::SCHEMA),
    plain(Family::Reconciliation, Reconciliation::SCHEMA),
    plain(Family::Release, Release::SCHEMA),
    plain(Family::ContextManifest, ContextManifest::SCHEMA),
    chained(Family::Checkpoint, Checkpoint::SCHEMA),
    chained(Family::Config, Config::SCHEMA),
    plain(Family::Mapping, Mapping::SCHEMA),
    plain(Family::SemanticEntity, SemanticEntity::SCHEMA),
    plain(Family::SemanticIndex, SemanticIndex::SCHEMA),
];

const fn plain(family: Family, body: &'static RecordSchema) -> FamilySchema {
    FamilySchema { family, schema_version: 1, body: Some(body), extensions: true, append_chained: false }
}

const fn chained(family: Family, body: &'static RecordSchema) -> FamilySchema {
    FamilySchema { append_chained: true, ..plain(family, body) }
}
