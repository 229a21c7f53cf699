//! `gemel mcp`: the queries of a session as tools of the Model Context Protocol.

use crate::answer::Answer;
use crate::app::Context;
use crate::error::CliError;
use crate::mcp;
use crate::session::{Rights, Session};

/// Serve the Model Context Protocol over standard input and output, for agents
///
/// Every query of `gemel protocol` is a tool. Standard output carries messages of the protocol only. Without
/// --allow-write nothing is written to the repository.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Offer tools that record work, too
    #[arg(long)]
    allow_write: bool,
    /// Largest answer (2048 to 4194304); a tool's `max_bytes` lowers it for one call [default: 65536]
    #[arg(long, value_name = "BYTES")]
    max_answer_bytes: Option<u64>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let bytes = args.max_answer_bytes.unwrap_or(mcp::DEFAULT_ANSWER_BYTES);
    let range = mcp::MIN_ANSWER_BYTES..=mcp::MAX_ANSWER_BYTES;
    let fits = usize::try_from(bytes).ok().filter(|_| range.contains(&bytes));
    let bytes = fits.ok_or_else(|| {
        let (min, max) = (mcp::MIN_ANSWER_BYTES, mcp::MAX_ANSWER_BYTES);
        CliError::invalid(format!("invalid --max-answer-bytes {bytes} (expected {min} to {max})"))
    })?;
    let rights = if args.allow_write { Rights::Record } else { Rights::Read };
    mcp::serve(Session::open(context, rights)?, bytes)?;
    Ok(Answer::raw(|_| Ok(())))
}
