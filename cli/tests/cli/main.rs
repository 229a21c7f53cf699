//! The `gemel` program, started as a process: envelopes, refusals, exit statuses, pages, and what people see.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod court;
mod decisions;
mod disclosure;
mod envelope;
mod git;
mod harness;
mod hostile;
mod identities;
mod ingest;
mod lists;
mod looks;
mod mcp;
mod migration;
mod odd_values;
mod pages;
#[cfg(unix)]
mod processes;
mod protocol;
mod refusals;
mod standalone;
mod story;
#[cfg(unix)]
mod telling;
mod terminal;
mod verbs;
mod why;
