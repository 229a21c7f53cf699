//! Tools for people who work on Gemel, as a library: the `gemel-tools` binary calls them, and so do tests and benches.

pub mod conformance;
pub mod corpus;
pub mod demo;
pub mod golden;
pub mod inspect;
pub mod program;
pub mod schema;
pub mod tidy;
pub mod vectors;
