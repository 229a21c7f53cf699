//! `gemel trajectory`.

mod close;
mod list;
mod show;

pub(super) use show::row_json;

use crate::answer::Answer;
use crate::app::Context;
use crate::error::CliError;

/// Show a line of work, list them, or close one
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    step: Option<Step>,
    #[command(flatten)]
    show: show::ShowArgs,
    /// Close it: completed, abandoned, superseded, rejected, inconclusive or interrupted
    #[arg(long, value_name = "OUTCOME", requires = "id")]
    close: Option<String>,
    #[command(flatten)]
    end: close::EndArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Step {
    List(list::ListArgs),
    Close(close::CloseArgs),
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    match (&args.step, &args.show.id, &args.close) {
        (Some(Step::List(args)), ..) => list::run(context, args),
        (Some(Step::Close(args)), ..) => close::run(context, &args.id, &args.outcome, &args.end),
        (None, Some(id), Some(outcome)) => close::run(context, id, outcome, &args.end),
        (None, ..) if args.end.is_given() => Err(CliError::invalid(
            "--reason, --handoff-summary, --next-step and --producer need --close OUTCOME",
        )),
        (None, ..) => show::run(context, &args.show),
    }
}
