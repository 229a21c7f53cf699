//! Whole commands on a simulated disk: a loss of power, a full disk or a failing one at every operation, stale
//! caches, syncs, and what many small commands and many refs cost. The worktree is a real directory (STO-02, STO-04,
//! STO-07, REF-02, REF-04, T-56).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod caches;
mod cases;
mod counting;
mod crashes;
mod faults;
mod scale;
mod world;
