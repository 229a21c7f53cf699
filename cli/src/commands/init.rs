//! `gemel init`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_repo::{InitFacts, InitOptions, Repo};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Start a repository
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory to keep, created if absent [default: --repo, else the current directory]
    path: Option<PathBuf>,
    /// Your name; without one the default producer is the automation `gemel`
    #[arg(long, value_name = "NAME")]
    author_name: Option<String>,
    /// Your mail address
    #[arg(long, value_name = "EMAIL", requires = "author_name")]
    author_email: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let root = match args.path.as_ref().or(context.globals.repo.as_ref()) {
        Some(path) => context.absolute(path)?,
        None => context.current_dir()?.to_owned(),
    };
    let options = InitOptions {
        author_name: args.author_name.clone(),
        author_email: args.author_email.clone(),
        now_ms: context.now_ms,
    };
    Ok(Answer::done(Started(Repo::init(context.disk(), &root, &options)?)))
}

struct Started(InitFacts);

impl View for Started {
    fn json(&self) -> Map<String, Value> {
        let InitFacts { repo, config, default_producer } = &self.0;
        Obj::new()
            .put("repository", repo.root())
            .put("config", config)
            .put("default_producer", default_producer)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let InitFacts { repo, config, default_producer } = &self.0;
        out.lit("initialized repository at ").text(&repo.root().to_string_lossy()).end();
        out.lit("  default producer: ").named(default_producer, Some("P1")).end();
        out.lit("  config: ").named(config, None).end();
    }
}
