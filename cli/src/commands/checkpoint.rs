//! `gemel checkpoint`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs};
use crate::error::CliError;
use crate::json::{Json, Obj};
use crate::render::{Printer, Table, counted, first_line};
use gemel_repo::decision::{self, CheckpointFacts, CheckpointOptions};
use gemel_repo::facts::Reference;
use serde_json::{Map, Value};

/// Record where work can be taken up again, or show such a checkpoint
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Checkpoint to show instead of making one
    #[arg(value_name = "ID", conflicts_with_all = ["current", "summary", "producer"])]
    id: Option<String>,
    /// Show the newest checkpoint instead of making one
    #[arg(long, conflicts_with_all = ["summary", "producer"])]
    current: bool,
    /// What it is [default: what the intent says]
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Who makes it [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    List(ListArgs),
}

/// List checkpoints
#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    if let Some(Action::List(args)) = &args.action {
        let window = args.page.window(Order::Ascending)?;
        let (rows, slice) = window.cut(decision::checkpoint_list(repo)?, |row: &Reference| row.id);
        let count = rows.len();
        return Ok(Answer::list(Listed(rows), count, slice));
    }
    let timestamps = context.globals.timestamps;
    let read = match &args.id {
        Some(id) => Some(decision::checkpoint_show(repo, id)?),
        None if args.current => Some(decision::checkpoint_current(repo)?),
        None => None,
    };
    if let Some(facts) = read {
        return Ok(Answer::of(Kept { facts, timestamps }).long());
    }
    let options = CheckpointOptions {
        summary: args.summary.clone(),
        producer: args.producer.clone(),
        now_ms: context.now_ms,
    };
    let facts = context.knowing(|session| decision::checkpoint(session, &options))?;
    let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
    Ok(Answer::done(Kept { facts, timestamps }).omitting(&omitted).doubting(&uncertainty))
}

struct Kept {
    facts: CheckpointFacts,
    timestamps: bool,
}

impl View for Kept {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.facts;
        Obj::new()
            .put("id", &facts.id)
            .opt("name", facts.name.as_ref())
            .opt("previous", facts.previous.as_ref())
            .put("summary", &facts.summary)
            .opt("intent", facts.intent.as_ref())
            .opt("trajectory", facts.trajectory.as_ref())
            .opt("state", facts.state.as_ref())
            .put("open_claims", &facts.open_claims)
            .put("unresolved_residuals", &facts.unresolved_residuals)
            .put("important_evidence", &facts.important_evidence)
            .put("recent_decisions", &facts.recent_decisions)
            .put("relevant_attempts", &facts.relevant_attempts)
            .put("continuation_scope", &facts.continuation_scope)
            .opt("created_at", facts.created_at_ms.as_ref().filter(|_| self.timestamps))
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        out.named(&facts.id, facts.name.as_deref()).lit("  ").text(&first_line(&facts.summary)).end();
        for (label, reference) in
            [("intent", &facts.intent), ("trajectory", &facts.trajectory), ("state", &facts.state)]
        {
            if let Some(reference) = reference {
                out.lit("  ").lit(label).lit(": ");
                line(reference, out);
            }
        }
        for (label, list) in [
            ("open claim", &facts.open_claims),
            ("unresolved", &facts.unresolved_residuals),
            ("evidence", &facts.important_evidence),
            ("decision", &facts.recent_decisions),
            ("attempt", &facts.relevant_attempts),
        ] {
            for reference in list {
                out.lit("  ").lit(label).lit(": ");
                line(reference, out);
            }
        }
        for next in &facts.continuation_scope {
            out.field("next", &first_line(next));
        }
    }
}

fn line(reference: &Reference, out: &mut Printer<'_>) {
    out.named(&reference.id, reference.name.as_deref());
    if let Some(summary) = &reference.summary {
        out.lit("  ").text(&first_line(summary));
    }
    out.end();
}

struct Listed(Vec<Reference>);

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        Obj::new().rows("checkpoints", &self.0, Json::json).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let mut table = Table::default();
        for row in &self.0 {
            let digits = out.short(&row.id);
            table.row([
                (Style::Name, row.name.clone().unwrap_or_default()),
                (Style::Id, digits),
                (Style::Plain, first_line(row.summary.as_deref().unwrap_or_default()).into_owned()),
            ]);
        }
        table.print("", out);
        if self.0.is_empty() {
            out.lit(&counted(0, "checkpoint")).end();
        }
    }
}
