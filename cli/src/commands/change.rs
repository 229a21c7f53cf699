//! `gemel change begin`, `finish`, `abort` and `status`.

use super::made::check_producer;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::commands::status::{path_json, path_table};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, counted, first_line};
use crate::time;
use gemel_repo::history::{
    self, AbortFacts, AgentOptions, BeginFacts, BeginOptions, FinishFacts, FinishOptions, PendingFacts,
};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Begin, finish, look at or give up a change
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, clap::Subcommand)]
enum Step {
    Begin(BeginArgs),
    Finish(Box<FinishArgs>),
    Status(StatusArgs),
    Abort(AbortArgs),
}

/// Begin a change: remember where it starts and why
#[derive(Debug, clap::Args)]
struct BeginArgs {
    /// State to start from [default: the workspace's, else head's]
    #[arg(long, value_name = "STATE")]
    from: Option<String>,
    /// Existing intent to work on
    #[arg(long, value_name = "ID")]
    intent: Option<String>,
    /// Summary of a new intent
    #[arg(long, value_name = "TEXT")]
    intent_summary: Option<String>,
    /// Who works on it [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
    /// Workspace of the work [default: default]
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Directory the work happens in [default: the workspace's, else the repository root]
    #[arg(long, value_name = "DIR")]
    worktree: Option<PathBuf>,
}

/// Finish the change in progress: record the files and what is known about them
///
/// Claims, evidence and residuals are written as fields separated by `|`; the fourth holds `key=value` pairs
/// separated by `;`. References are positions in this command's lists, counted from 0, or any identity or name.
#[derive(Debug, clap::Args)]
struct FinishArgs {
    /// What the change does [default: change]
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    #[arg(
        long,
        value_name = "SPEC",
        help = "SUBJECT|PREDICATE[|KIND[|evidence=0,1;residuals=0;scope=..;supersedes=ID;depends=ID]]"
    )]
    claim: Vec<String>,
    #[arg(
        long,
        value_name = "SPEC",
        help = "SUBJECT[|OUTCOME[|KIND[|state=result;env=ID;command=..;exit=0;counts=p/f/s/t;tool=n@v;detail=..;replayable=true]]]"
    )]
    evidence: Vec<String>,
    #[arg(
        long,
        value_name = "SPEC",
        help = "SUMMARY[|SEVERITY[|CLASS[|claims=0;origin=0;paths=..;entities=..;changes=ID;recurs=..]]]"
    )]
    residual: Vec<String>,
    /// Who made it [default: the producer given at begin]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
    /// Workspace of the change [default: default]
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Directory to record [default: the one given at begin, else the workspace's, else the repository root]
    #[arg(long, value_name = "DIR")]
    worktree: Option<PathBuf>,
    /// Existing agent run that made the change
    #[arg(long, value_name = "ID")]
    agent_run: Option<String>,
    /// Model family of a new agent run
    #[arg(long, value_name = "NAME")]
    agent_model_family: Option<String>,
    /// Model of a new agent run
    #[arg(long, value_name = "NAME")]
    agent_model_id: Option<String>,
    /// Harness of a new agent run
    #[arg(long, value_name = "NAME")]
    agent_harness: Option<String>,
    /// Permission of a new agent run
    #[arg(long, value_name = "NAME")]
    agent_permission: Vec<String>,
    /// Tool of a new agent run
    #[arg(long, value_name = "NAME=VERSION")]
    agent_tool: Vec<String>,
    /// What the agent saw
    #[arg(long, value_name = "ID")]
    context_manifest: Option<String>,
    /// FULL, DIGEST_ONLY, REDACTED, EXTERNAL_ATTESTATION or EPHEMERAL
    #[arg(long, value_name = "LEVEL")]
    disclosure: Option<String>,
    /// BLAKE3 digest of the instructions
    #[arg(long, value_name = "HEX")]
    instruction_digest: Option<String>,
    /// Environment the change was made in
    #[arg(long, value_name = "ID")]
    environment: Option<String>,
    /// Read every file, whatever the stat cache remembers
    #[arg(long)]
    verify: bool,
    /// Check everything and record nothing
    #[arg(long)]
    dry_run: bool,
}

/// Show the change in progress and what differs so far
#[derive(Debug, clap::Args)]
struct StatusArgs {
    /// Workspace to look at [default: default]
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
}

/// Give up the change in progress; files and intent stay
#[derive(Debug, clap::Args)]
struct AbortArgs {
    /// Workspace of the change [default: default]
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Who does it; nothing recorded keeps it, so this is checked only
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    match &args.step {
        Step::Begin(args) => begin(context, args),
        Step::Finish(args) => finish(context, args),
        Step::Status(args) => status(context, args),
        Step::Abort(args) => {
            check_producer(context.repo()?, args.producer.as_ref())?;
            let facts = history::abort(context.repo()?, args.workspace.as_deref(), context.now_ms)?;
            Ok(Answer::done(Aborted(facts)))
        }
    }
}

fn begin<'c>(context: &'c Context<'_>, args: &BeginArgs) -> Result<Answer<'c>, CliError> {
    let options = BeginOptions {
        from: args.from.clone(),
        intent: args.intent.clone(),
        intent_summary: args.intent_summary.clone(),
        producer: args.producer.clone(),
        workspace: args.workspace.clone(),
        worktree: args.worktree.as_deref().map(|dir| context.absolute(dir)).transpose()?,
        now_ms: context.now_ms,
    };
    Ok(Answer::done(Begun(history::begin(context.repo()?, &options)?)))
}

fn finish<'c>(context: &'c Context<'_>, args: &FinishArgs) -> Result<Answer<'c>, CliError> {
    let options = FinishOptions {
        summary: args.summary.clone(),
        claims: args.claim.clone(),
        evidence: args.evidence.clone(),
        residuals: args.residual.clone(),
        producer: args.producer.clone(),
        workspace: args.workspace.clone(),
        worktree: args.worktree.as_deref().map(|dir| context.absolute(dir)).transpose()?,
        agent_run: args.agent_run.clone(),
        agent: AgentOptions {
            model_family: args.agent_model_family.clone(),
            model_id: args.agent_model_id.clone(),
            harness: args.agent_harness.clone(),
            permissions: args.agent_permission.clone(),
            tools: args.agent_tool.clone(),
        },
        context_manifest: args.context_manifest.clone(),
        disclosure: args.disclosure.clone(),
        instruction_digest: args.instruction_digest.clone(),
        environment: args.environment.clone(),
        verify: args.verify,
        dry_run: args.dry_run,
        now_ms: context.now_ms,
    };
    let facts = history::finish(context.repo()?, &options, &*context.progress())?;
    // What was asked for is done; that packs are many is nobody's failure.
    let _ = context.repo()?.store().consolidate(context.now_ms);
    let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
    Ok(Answer::done(Finished(facts)).omitting(&omitted).doubting(&uncertainty))
}

fn status<'c>(context: &'c Context<'_>, args: &StatusArgs) -> Result<Answer<'c>, CliError> {
    let facts = history::change_status(context.repo()?, args.workspace.as_deref(), &*context.progress())?;
    let omitted = facts.omitted.clone();
    let view = Pending { facts, timestamps: context.globals.timestamps };
    Ok(Answer::of(view).long().omitting(&omitted))
}

struct Begun(BeginFacts);

impl View for Begun {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .opt("input_state", facts.input_state.as_ref())
            .opt("intent", facts.intent.as_ref())
            .opt("intent_name", facts.intent_name.as_ref())
            .put("producer", &facts.producer)
            .put("workspace", &facts.workspace)
            .opt("worktree", facts.worktree.as_ref())
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit("change begun").end();
        if let Some(intent) = &facts.intent {
            out.lit("  intent: ").named(intent, facts.intent_name.as_deref());
            out.lit("  ").text(&first_line(facts.intent_summary.as_deref().unwrap_or_default())).end();
        }
        match &facts.input_state {
            Some(state) => out.lit("  input state: ").lookup(state).end(),
            None => out.lit("  input state: none (the first change)").end(),
        };
        if facts.workspace != history::DEFAULT_WORKSPACE {
            out.field("workspace", &facts.workspace);
        }
        if let Some(dir) = &facts.worktree {
            out.field("directory", &dir.to_string_lossy());
        }
    }
}

struct Finished(FinishFacts);

impl View for Finished {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        let names = Obj::new()
            .put("claims", &facts.claim_names)
            .put("evidence", &facts.evidence_names)
            .put("residuals", &facts.residual_names);
        Obj::new()
            .put("change", &facts.change)
            .put("change_name", &facts.change_name)
            .put("trajectory", &facts.trajectory)
            .put("trajectory_name", &facts.trajectory_name)
            .put("new_trajectory", &facts.new_trajectory)
            .put("state", &facts.state)
            .put("state_name", &facts.state_name)
            .put("operations", &facts.operations)
            .put("parents", &facts.parents)
            .put("claims", &facts.claims)
            .put("evidence", &facts.evidence)
            .put("residuals", &facts.residuals)
            .put("names", &names)
            .put("exchange", &Obj::new().put("exported", &false))
            .opt("agent_run", facts.agent_run.as_ref())
            .opt("dry_run", facts.dry_run.then_some(&true))
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        if facts.dry_run {
            out.paint(Style::Caution, "nothing recorded").lit(" (dry run); it would be:").end();
        }
        out.named(&facts.change, Some(&facts.change_name)).lit("  ").text(&first_line(&facts.summary)).end();
        out.lit("  trajectory: ").named(&facts.trajectory, Some(&facts.trajectory_name));
        out.lit(if facts.new_trajectory { " (new)" } else { "" }).end();
        out.lit("  state: ").named(&facts.state, Some(&facts.state_name)).end();
        out.field("operations", &facts.operations.len().to_string());
        for (label, names) in [
            ("claims", &facts.claim_names),
            ("evidence", &facts.evidence_names),
            ("residuals", &facts.residual_names),
        ] {
            if !names.is_empty() {
                out.lit("  ").lit(label).lit(": ").paint(Style::Name, &names.join(" ")).end();
            }
        }
        if let Some(run) = &facts.agent_run {
            out.lit("  agent run: ").lookup(run).end();
        }
    }
}

struct Pending {
    facts: PendingFacts,
    timestamps: bool,
}

impl View for Pending {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.facts;
        let changed = Obj::new().put("files", &facts.changed.len()).rows("paths", &facts.changed, path_json);
        Obj::new()
            .put("workspace", &facts.workspace)
            .put("worktree", &facts.worktree)
            .opt("input_state", facts.input_state.as_ref())
            .opt("intent", facts.intent.as_ref())
            .opt("producer", facts.producer.as_ref())
            .opt("started_at", self.timestamps.then_some(&facts.started_at_ms))
            .put("changed", &changed)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        out.lit("change in progress in workspace ").paint(Style::Name, &facts.workspace).end();
        if let Some(intent) = &facts.intent {
            out.lit("  intent: ").named(&intent.id, intent.name.as_deref());
            out.lit("  ").text(&first_line(intent.summary.as_deref().unwrap_or_default())).end();
        }
        match &facts.input_state {
            Some(state) => out.lit("  input state: ").named(&state.id, state.name.as_deref()).end(),
            None => out.lit("  input state: none (the first change)").end(),
        };
        out.field("directory", &facts.worktree.to_string_lossy());
        if self.timestamps {
            out.field("begun", &time::utc(facts.started_at_ms));
        }
        if facts.changed.is_empty() {
            out.lit("nothing differs yet").end();
        } else {
            let count = u64::try_from(facts.changed.len()).unwrap_or(u64::MAX);
            out.lit(&counted(count, "path")).lit(if count == 1 { " differs:" } else { " differ:" }).end();
            path_table(&facts.changed, out);
        }
    }
}

struct Aborted(AbortFacts);

impl View for Aborted {
    fn json(&self) -> Map<String, Value> {
        Obj::new().put("workspace", &self.0.workspace).opt("intent", self.0.intent.as_ref()).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        out.lit("change given up in workspace ").paint(Style::Name, &self.0.workspace);
        out.lit("; the files are as they were").end();
    }
}
