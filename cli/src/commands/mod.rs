//! The verbs. Each file holds one: its arguments, the library call, and the two looks of its answer.
//!
//! A new verb is a file here, its `mod` line, and its line in the table at the end.

mod agent_run;
mod attempts;
mod case;
mod change;
mod checkout;
mod checkpoint;
mod claim;
mod claims;
mod clone;
mod completions;
mod config;
mod context;
mod context_diff;
mod context_manifest;
mod court;
mod diff;
mod environment;
mod evidence;
mod export_git;
mod fetch;
mod fsck;
mod gc;
mod impact;
mod import_git;
mod init;
mod intent;
mod log;
mod made;
mod man;
mod mcp;
mod migrate;
mod name;
mod next;
mod policy;
mod producer;
mod protocol;
mod pull;
mod push;
mod reconcile;
mod refs;
mod release;
mod repack;
mod residual;
mod residuals;
mod serve;
mod show;
mod snapshot;
mod status;
mod told;
mod trajectory;
mod why;
mod workspace;

use crate::answer::Answer;
use crate::app::Context;
use crate::error::CliError;

macro_rules! verbs {
    ($($module:ident $variant:ident),* $(,)?) => {
        /// A verb with its arguments.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum Command {
            $($variant($module::Args),)*
        }

        /// Runs a verb.
        ///
        /// # Errors
        /// Its refusals.
        pub(crate) fn run<'c>(context: &'c Context<'_>, command: &Command) -> Result<Answer<'c>, CliError> {
            match command {
                $(Command::$variant(args) => $module::run(context, args),)*
            }
        }
    };
}

verbs! {
    init Init,
    status Status,
    snapshot Snapshot,
    change Change,
    log Log,
    show Show,
    court Court,
    diff Diff,
    why Why,
    context Context,
    impact Impact,
    attempts Attempts,
    claims Claims,
    evidence Evidence,
    residuals Residuals,
    trajectory Trajectory,
    next Next,
    policy Policy,
    context_diff ContextDiff,
    checkout Checkout,
    intent Intent,
    claim Claim,
    residual Residual,
    agent_run AgentRun,
    context_manifest ContextManifest,
    producer Producer,
    environment Environment,
    case Case,
    config Config,
    checkpoint Checkpoint,
    reconcile Reconcile,
    release Release,
    workspace Workspace,
    refs Refs,
    name Name,
    fsck Fsck,
    gc Gc,
    repack Repack,
    serve Serve,
    protocol Protocol,
    mcp Mcp,
    import_git ImportGit,
    export_git ExportGit,
    clone Clone,
    fetch Fetch,
    pull Pull,
    push Push,
    migrate Migrate,
    completions Completions,
    man Man,
}
