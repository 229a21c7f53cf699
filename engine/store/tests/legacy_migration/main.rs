//! Migration of stores of the published 0.12 (docs/decisions/stopping-0.12.md).

mod convert;
mod fixture;
mod hostile;
mod peer;
mod stoppers;
