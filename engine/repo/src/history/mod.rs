//! The write side: workspaces, changes, trajectories, names; and reading them back.

mod adopt;
mod agent;
mod ancestry;
mod arrival;
mod begin;
mod checkout;
mod declared;
mod diff;
pub(crate) mod disclosure;
mod elsewhere;
mod finish;
pub(crate) mod graph;
mod ingest;
pub(crate) mod known;
pub(crate) mod lineage;
mod listing;
pub(crate) mod log;
pub(crate) mod nodes;
pub(crate) mod objects;
pub(crate) mod observation;
pub(crate) mod operations;
pub(crate) mod pending;
mod retention;
mod shared;
mod show;
mod snapshot;
mod specs;
mod standalone;
mod states;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod unrecorded;
pub(crate) mod view;
pub(crate) mod workspace;

pub use adopt::adopt;
pub use ancestry::leads_to;
pub use arrival::{Arrival, Arrived};
pub use begin::{AbortFacts, BeginFacts, BeginOptions, abort, begin};
pub use checkout::{CheckoutFacts, CheckoutOptions, checkout};
pub use diff::{DiffEntry, DiffFacts, DiffKind, DiffOptions, DiffSide, Side, diff};
pub use disclosure::{Openness, Veil};
pub use finish::{AgentOptions, FinishFacts, FinishOptions, finish};
pub use ingest::{Format, IngestFacts, IngestOptions, Ingested, MAX_INPUT_BYTES, ingest};
pub use listing::{NameFacts, NameOptions, RefRow, name_set, refs_list};
pub use log::{EpisodeFacts, LogFacts, LogOptions, LogOrder, LogRow, OperationRow, log};
pub use observation::Counts;
pub use retention::{GcPlan, GcRow, gc_plan};
pub use shared::{closure, shared_refs};
pub use show::{ShowFacts, show};
pub use snapshot::{SnapshotFacts, SnapshotOptions, snapshot};
pub use standalone::*;
pub use states::resolve_state;
pub(crate) use states::state_of;
pub use workspace::{
    DEFAULT_WORKSPACE, PendingFacts, Standing, WorkspaceFacts, change_status, workspace_list,
    workspace_remove,
};
