//! Migration of stores of the published 0.12 (docs/decisions/stopping-0.12.md).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod convert;
mod crash;
mod fixture;
mod hostile;
mod peer;
mod stoppers;
