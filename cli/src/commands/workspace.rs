//! `gemel workspace list` and `remove`.

use super::made::check_producer;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs, row_id};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table};
use gemel_repo::Named;
use gemel_repo::history::{self, Standing, WorkspaceFacts};
use serde_json::{Map, Value};

/// List or forget workspaces
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    List(ListArgs),
    Remove(RemoveArgs),
}

/// List workspaces
#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

/// Forget a workspace; its files stay
#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// The workspace
    name: String,
    /// Even with a change in progress
    #[arg(long)]
    force: bool,
    /// Who does it; nothing recorded keeps it, so this is checked only
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    match &args.action {
        Action::List(args) => {
            let window = args.page.window(Order::Ascending)?;
            let rows = history::workspace_list(context.repo()?)?;
            let (rows, slice) = window.cut(rows, |row| row_id(&row.name));
            let count = rows.len();
            Ok(Answer::list(Listed(rows), count, slice))
        }
        Action::Remove(args) => {
            check_producer(context.repo()?, args.producer.as_ref())?;
            let facts = history::workspace_remove(context.repo()?, &args.name, args.force, context.now_ms)?;
            Ok(Answer::done(Removed(facts)))
        }
    }
}

/// What to say of a workspace that is not where head is.
pub(super) fn standing(standing: Standing) -> Option<&'static str> {
    match standing {
        Standing::AtHead => None,
        Standing::Behind => Some("behind head"),
        Standing::Differs => Some("differs from head"),
    }
}

fn row_json(row: &WorkspaceFacts) -> Obj {
    Obj::new()
        .put("name", &row.name)
        .opt("state", row.state.as_ref())
        .opt("change", row.change.as_ref())
        .opt("path", row.path.as_ref())
        .put("pending", &row.pending)
        .opt("pending_corrupt", row.pending_corrupt.then_some(&true))
        .put("behind", &(row.standing == Standing::Behind))
        .put("differs", &(row.standing != Standing::AtHead))
}

struct Listed(Vec<WorkspaceFacts>);

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        Obj::new().rows("workspaces", &self.0, row_json).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let mut table = Table::default();
        for row in &self.0 {
            let label = |named: &Named| named.name.clone().unwrap_or_else(|| out.short(&named.id));
            let mut marks = Vec::new();
            if row.pending_corrupt {
                marks.push("damaged record");
            } else if row.pending {
                marks.push("change in progress");
            }
            marks.extend(standing(row.standing));
            table.row([
                (Style::Name, row.name.clone()),
                (Style::Plain, row.state.as_ref().map(label).unwrap_or_default()),
                (Style::Plain, row.change.as_ref().map(label).unwrap_or_default()),
                (Style::Caution, marks.join(", ")),
                (Style::Dim, row.path.as_ref().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default()),
            ]);
        }
        table.print("", out);
    }
}

struct Removed(WorkspaceFacts);

impl View for Removed {
    fn json(&self) -> Map<String, Value> {
        row_json(&self.0).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        out.lit("forgot workspace ").paint(Style::Name, &self.0.name).lit("; its files stay").end();
    }
}
