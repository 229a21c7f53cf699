//! `gemel man`, for packagers.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::args::grammar;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_repo::Code;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Write the manual pages, one a command, into a directory
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Args {
    /// Directory to write, created if absent
    dir: PathBuf,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let dir = context.absolute(&args.dir)?;
    write(&dir).map_err(|error| {
        CliError::new(Code::Internal, format!("cannot write manual pages into {}: {error}", dir.display()))
    })?;
    Ok(Answer::done(Pages(dir)))
}

fn write(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(grammar(), dir)
}

struct Pages(PathBuf);

impl View for Pages {
    fn json(&self) -> Map<String, Value> {
        Obj::new().put("dir", &self.0).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        out.lit("manual pages written into ").text(&self.0.to_string_lossy()).end();
    }
}
