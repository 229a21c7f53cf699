//! `gemel push`.

use crate::answer::Answer;
use crate::app::Context;
use crate::commands::{export_git, fetch};
use crate::error::CliError;
use gemel_git::export::{ExportRequest, Format, export};

/// Send the history to another repository
///
/// So far the other repository is a Git repository on this machine: the history is exported to it, as export-git does.
/// Refs move only forward; a branch that is checked out there stays.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Path of a Git repository
    remote: String,
    /// Move refs that lead elsewhere or are checked out; what they named may be lost
    #[arg(long)]
    force: bool,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    let request = ExportRequest {
        git_dir: fetch::git_path(context, &args.remote)?,
        branch: None,
        format: Format::Two,
        include_claims: false,
        force: args.force,
        now_ms: context.now_ms,
    };
    Ok(Answer::done(export_git::Exported(export(repo, &request, &*context.progress())?)))
}
