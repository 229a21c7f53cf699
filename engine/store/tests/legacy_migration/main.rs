//! Migration of stores of the published 0.12 (docs/decisions/stopping-0.12.md).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panicking, and one prints why it is skipped"
)]

mod convert;
mod crash;
mod fixture;
mod hostile;
mod peer;
mod stoppers;
