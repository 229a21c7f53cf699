//! `gemel clone`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::commands::import_git::Imported;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_git::clone::{CloneOptions, CloneReport, clone, default_dir};
use gemel_repo::InitOptions;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::PathBuf;

/// Clone a Git repository and import its history
///
/// Git fetches every branch and tag and writes the files; their history is then imported. Nothing that the repository
/// configures is run. What fails leaves nothing behind.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Anything Git can clone: an address or a path
    url: OsString,
    /// Folder to make [default: the last part of the URL without .git]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Your name; without one the default producer is the automation `gemel`
    #[arg(long, value_name = "NAME")]
    author_name: Option<String>,
    /// Your mail address
    #[arg(long, value_name = "EMAIL", requires = "author_name")]
    author_email: Option<String>,
    /// Keep the bytes of files over the object limit outside of states instead of stopping
    #[arg(long)]
    keep_oversize: bool,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => default_dir(&args.url).map(PathBuf::from).ok_or_else(|| {
            let url = args.url.to_string_lossy();
            CliError::invalid(format!("{url:?} does not say how to call the folder; name it with --dir"))
        })?,
    };
    let options = CloneOptions {
        url: args.url.clone(),
        dir: context.absolute(&dir)?,
        current_dir: context.current_dir()?.to_owned(),
        init: InitOptions {
            author_name: args.author_name.clone(),
            author_email: args.author_email.clone(),
            now_ms: context.now_ms,
        },
        keep_oversize: args.keep_oversize,
        show_git: context.shows_progress(),
    };
    Ok(Answer::done(Cloned(clone(&context.disk(), &options, &*context.progress())?)))
}

struct Cloned(CloneReport);

impl View for Cloned {
    fn json(&self) -> Map<String, Value> {
        let mut answer = Obj::new().put("repository", self.0.repo.root()).map();
        answer.append(&mut Imported(self.0.import.clone()).json());
        answer.insert("unwritten".to_owned(), self.0.unwritten.into());
        answer
    }

    fn human(&self, out: &mut Printer<'_>) {
        out.lit("cloned into ").text(&self.0.repo.root().to_string_lossy()).end();
        Imported(self.0.import.clone()).human(out);
        if self.0.unwritten > 0 {
            let count = self.0.unwritten.to_string();
            out.lit("  ").lit(&count).lit(" paths are repository metadata and were not written").end();
        }
    }
}
