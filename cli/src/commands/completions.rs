//! `gemel completions`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::args::grammar;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use clap_complete::Shell;
use serde_json::{Map, Value};

/// Print the completion script of a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run<'c>(_: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut grammar(), "gemel", &mut script);
    Ok(Answer::of(Script { shell: args.shell, script }))
}

struct Script {
    shell: Shell,
    script: Vec<u8>,
}

impl View for Script {
    fn json(&self) -> Map<String, Value> {
        let script = String::from_utf8_lossy(&self.script).into_owned();
        Obj::new().put("shell", &self.shell.to_string()).put("script", &script).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        out.content(Style::Plain, &self.script);
    }
}
