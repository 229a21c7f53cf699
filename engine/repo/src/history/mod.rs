//! The write side: workspaces, changes, trajectories, names; and reading them back.

mod begin;
mod checkout;
mod diff;
mod finish;
mod listing;
mod log;
mod retention;
mod show;
mod snapshot;
mod workspace;

pub use begin::{AbortFacts, BeginFacts, BeginOptions, abort, begin};
pub use checkout::{CheckoutFacts, CheckoutOptions, checkout};
pub use diff::{DiffEntry, DiffFacts, DiffKind, DiffOptions, DiffSide, Side, diff};
pub use finish::{AgentOptions, FinishFacts, FinishOptions, finish};
pub use listing::{NameFacts, NameOptions, RefRow, name_set, refs_list};
pub use log::{LogFacts, LogOptions, LogOrder, LogRow, OperationRow, log};
pub use retention::{GcPlan, GcRow, gc_plan};
pub use show::{ShowFacts, show};
pub use snapshot::{SnapshotFacts, SnapshotOptions, snapshot};
pub use workspace::{PendingFacts, WorkspaceFacts, change_status, workspace_list, workspace_remove};
