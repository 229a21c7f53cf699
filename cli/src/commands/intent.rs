//! `gemel intent create`, `show` and `list`.

use super::made::Recorded;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table, first_line};
use crate::time;
use gemel_repo::history::{self, IntentFacts, IntentOptions, IntentRow};
use serde_json::{Map, Value};

/// Record, show or list intents: why something is attempted
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Create(CreateArgs),
    Show(ShowArgs),
    List(ListArgs),
}

/// Record an intent
#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// What is wanted
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// More about it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// When it is reached
    #[arg(long, value_name = "TEXT")]
    criterion: Vec<String>,
    /// Path or entity it is about
    #[arg(long, value_name = "SUBJECT")]
    scope: Vec<String>,
    /// Intent it is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Who wants it [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

/// Show an intent and what was attempted for it
#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// The intent
    id: String,
}

/// List intents
#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    match &args.action {
        Action::Create(args) => {
            let options = IntentOptions {
                summary: args.summary.clone(),
                description: args.description.clone(),
                criteria: args.criterion.clone(),
                scope: args.scope.clone(),
                parent: args.parent.clone(),
                producer: args.producer.clone(),
                now_ms: context.now_ms,
            };
            let made = history::intent_create(context.repo()?, &options)?;
            Ok(Answer::done(Recorded { made, key: Some("intent"), noun: "intent" }))
        }
        Action::Show(args) => {
            let facts = history::intent_show(context.repo()?, &args.id)?;
            Ok(Answer::of(Shown { facts, timestamps: context.globals.timestamps }).long())
        }
        Action::List(args) => {
            let window = args.page.window(Order::Ascending)?;
            let (rows, slice) =
                window.cut(history::intent_list(context.repo()?)?, |row: &IntentRow| row.intent.id);
            let count = rows.len();
            Ok(Answer::list(Listed(rows), count, slice))
        }
    }
}

struct Shown {
    facts: IntentFacts,
    timestamps: bool,
}

impl View for Shown {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.facts;
        let some = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
        let trajectory = |(id, name, outcome): &(gemel_object::Gid, String, Option<_>)| {
            let outcome: Option<&gemel_object::TrajectoryOutcome> = outcome.as_ref();
            Obj::new()
                .put("id", id)
                .put("name", name)
                .put("outcome", outcome.map_or("incomplete", |outcome| outcome.as_str()))
        };
        Obj::new()
            .put("id", &facts.intent.id)
            .opt("name", facts.intent.name.as_ref())
            .opt("summary", facts.intent.summary.as_ref())
            .opt("description", facts.description.as_ref())
            .opt("acceptance_criteria", some(&facts.criteria).as_ref())
            .opt("constraints", some(&facts.constraints).as_ref())
            .opt("requested_scope", some(&facts.requested_scope).as_ref())
            .opt("prohibited_scope", some(&facts.prohibited_scope).as_ref())
            .opt("parent", facts.parent.as_ref())
            .opt("producer", facts.producer.as_ref())
            .opt("created_at", facts.created_at_ms.as_ref().filter(|_| self.timestamps))
            .rows("trajectories", &facts.trajectories, trajectory)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        out.lit("intent ").named(&facts.intent.id, facts.intent.name.as_deref());
        out.lit("  ").text(&first_line(facts.intent.summary.as_deref().unwrap_or_default())).end();
        if let Some(parent) = &facts.parent {
            out.lit("  part of: ").named(&parent.id, parent.name.as_deref()).lit("  ");
            out.text(&first_line(parent.summary.as_deref().unwrap_or_default())).end();
        }
        for (label, list) in [
            ("description", facts.description.as_slice()),
            ("reached when", &facts.criteria),
            ("constraint", &facts.constraints),
            ("about", &facts.requested_scope),
            ("not about", &facts.prohibited_scope),
        ] {
            for text in list {
                out.field(label, text);
            }
        }
        if let Some(producer) = &facts.producer {
            out.lit("  producer: ").named(&producer.id, producer.name.as_deref()).end();
        }
        if let Some(ms) = facts.created_at_ms.filter(|_| self.timestamps) {
            out.field("recorded", &time::utc(ms));
        }
        for (id, name, outcome) in &facts.trajectories {
            out.lit("  attempt: ").named(id, Some(name)).lit("  ");
            out.lit(outcome.map_or("incomplete", |outcome| outcome.as_str())).end();
        }
    }
}

struct Listed(Vec<IntentRow>);

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        let row = |row: &IntentRow| {
            Obj::new()
                .put("id", &row.intent.id)
                .opt("name", row.intent.name.as_ref())
                .opt("summary", row.intent.summary.as_ref())
                .opt("parent", row.parent.as_ref())
        };
        Obj::new().rows("intents", &self.0, row).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let mut table = Table::default();
        for row in &self.0 {
            let summary = row.intent.summary.as_deref().unwrap_or_default();
            table.row([
                (Style::Name, row.intent.name.clone().unwrap_or_default()),
                (Style::Id, out.short(&row.intent.id)),
                (Style::Plain, first_line(summary).into_owned()),
            ]);
        }
        table.print("", out);
    }
}
