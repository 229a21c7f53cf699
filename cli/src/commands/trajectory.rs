//! `gemel trajectory`.

mod list;
mod show;

pub(super) use show::row_json;

use crate::answer::Answer;
use crate::app::Context;
use crate::error::CliError;

/// Show a line of work, or list them
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    step: Option<Step>,
    #[command(flatten)]
    show: show::ShowArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Step {
    List(list::ListArgs),
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    match &args.step {
        Some(Step::List(args)) => list::run(context, args),
        None => show::run(context, &args.show),
    }
}
