//! `gemel pull`.

use crate::answer::Answer;
use crate::app::Context;
use crate::commands::fetch;
use crate::error::CliError;

/// Bring in the history of another repository, and its files where no work is in the way
///
/// So far the other repository is a Git repository on this machine: the commits that its HEAD reaches are brought in.
/// Head moves only forward; the files of the worktree follow it unless they hold work that is not recorded.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Path of a Git repository
    remote: String,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    fetch::from_git(context, &args.remote, true)
}
