//! `gemel evidence`.

mod ingest;

use crate::answer::Answer;
use crate::app::Context;
use crate::error::CliError;

/// Record evidence that tools wrote down
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, clap::Subcommand)]
enum Step {
    Ingest(ingest::IngestArgs),
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    match &args.step {
        Step::Ingest(args) => ingest::run(context, args),
    }
}
