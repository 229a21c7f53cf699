//! `gemel`: arguments in, one library call, facts out as text for people or `gemel.query.v1` for programs.
//!
//! The rules of the domain live in the library. This crate owns words, JSON shapes, hints and exit statuses.

mod answer;
mod app;
mod args;
mod color;
mod commands;
mod cursor;
mod detect;
mod envelope;
mod environment;
mod error;
mod fields;
mod guard;
mod ids;
mod input;
mod json;
mod mcp;
mod pager;
mod progress;
mod render;
mod session;
mod term;
mod time;

fn main() -> std::process::ExitCode {
    app::main(&environment::Environment::read())
}
