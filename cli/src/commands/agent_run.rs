//! `gemel agent-run create`.

use super::made::Recorded;
use crate::answer::Answer;
use crate::app::Context;
use crate::error::CliError;
use gemel_repo::history::{self, RunOptions};

/// Record runs of agents
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Create(Box<CreateArgs>),
}

/// Record an agent run: who ran, from what, with what in view
#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// Who ran [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
    /// Model family
    #[arg(long, value_name = "NAME")]
    model_family: Option<String>,
    /// Model
    #[arg(long, value_name = "NAME")]
    model_id: Option<String>,
    /// Harness
    #[arg(long, value_name = "NAME")]
    harness: Option<String>,
    /// Permission it had
    #[arg(long, value_name = "NAME")]
    permission: Vec<String>,
    /// State it started from
    #[arg(long, value_name = "ID")]
    input_state: Option<String>,
    /// What it was asked for
    #[arg(long, value_name = "ID")]
    intent: Option<String>,
    /// What it saw
    #[arg(long, value_name = "ID")]
    context_manifest: Option<String>,
    /// BLAKE3 digest of its instructions
    #[arg(long, value_name = "HEX")]
    instruction_digest: Option<String>,
    /// Tool it had
    #[arg(long, value_name = "NAME=VERSION")]
    tool: Vec<String>,
    /// Where it ran
    #[arg(long, value_name = "ID")]
    environment: Option<String>,
    /// Run that started it
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Trajectory it worked on
    #[arg(long, value_name = "ID")]
    output_trajectory: Option<String>,
    /// FULL, DIGEST_ONLY, REDACTED, EXTERNAL_ATTESTATION or EPHEMERAL [default: the repository's]
    #[arg(long, value_name = "LEVEL")]
    disclosure: Option<String>,
    /// Object that holds its conversation
    #[arg(long, value_name = "ID")]
    conversation_ref: Option<String>,
    /// When it began, milliseconds since 1970
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    started_at: Option<i64>,
    /// When it ended, milliseconds since 1970
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    ended_at: Option<i64>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let Action::Create(args) = &args.action;
    let options = RunOptions {
        producer: args.producer.clone(),
        model_family: args.model_family.clone(),
        model_id: args.model_id.clone(),
        harness: args.harness.clone(),
        permissions: args.permission.clone(),
        input_state: args.input_state.clone(),
        intent: args.intent.clone(),
        context_manifest: args.context_manifest.clone(),
        instruction_digest: args.instruction_digest.clone(),
        tools: args.tool.clone(),
        environment: args.environment.clone(),
        parent: args.parent.clone(),
        output_trajectory: args.output_trajectory.clone(),
        disclosure: args.disclosure.clone(),
        conversation_ref: args.conversation_ref.clone(),
        started_at_ms: args.started_at,
        ended_at_ms: args.ended_at,
        now_ms: context.now_ms,
    };
    let made = history::run_create(context.repo()?, &options)?;
    Ok(Answer::done(Recorded { made, key: Some("agent_run"), noun: "agent run" }))
}
