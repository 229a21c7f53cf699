//! A repository: worktrees, changes, and what is known about them.
//!
//! Modules in order, each using only those before it: [`content`] (worktree to state and back) < [`history`]
//! (names, workspaces, changes, trajectories) < [`knowledge`] (derived status, questions) < [`decision`] (what is recorded because of it); [`audit`] (graph-level check).
//! The library answers facts; words, JSON shapes and exit codes are the command line's. Time, producer and
//! environment are arguments.

pub mod audit;
pub mod content;
pub mod court;
pub mod decision;
mod error;
pub mod facts;
pub mod history;
pub mod knowledge;
pub mod names;
mod repo;

pub use error::{Code, RepoError, Result};
pub use facts::{Named, Omitted, Uncertainty};
pub use repo::{InitFacts, InitOptions, Repo, STORE_DIR};
