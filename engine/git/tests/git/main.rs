//! Git repositories of every odd kind, brought in: what the import makes of them, that it does so again, and that what
//! is damaged is refused by name. The fixtures are built by the `git` program, which has to be installed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests fail by panicking, and Git is the other side of what they test"
)]

mod back;
mod cases;
mod damaged;
mod fixture;
mod gemel;
mod graphs;
mod growing;
mod interrupted;
mod messages;
mod natives;
mod out;
mod peer;
mod pinned;
mod places;
mod refs;
mod target;
mod trailers;
mod trees;
