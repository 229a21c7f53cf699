//! `gemel evidence`.

mod ingest;
mod list;
mod look;
mod show;

pub(super) use look::row_json;

use crate::answer::Answer;
use crate::app::Context;
use crate::error::CliError;

/// Show evidence, list it, or record what tools wrote down
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    step: Option<Step>,
    #[command(flatten)]
    show: Option<show::ShowArgs>,
}

#[derive(Debug, clap::Subcommand)]
enum Step {
    Ingest(ingest::IngestArgs),
    Show(show::ShowArgs),
    List(list::ListArgs),
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    match (&args.step, &args.show) {
        (Some(Step::Ingest(args)), _) => ingest::run(context, args),
        (Some(Step::List(args)), _) => list::run(context, args),
        (Some(Step::Show(args)), _) | (None, Some(args)) => show::run(context, args),
        (None, None) => Err(CliError::invalid("evidence requires an id")),
    }
}
