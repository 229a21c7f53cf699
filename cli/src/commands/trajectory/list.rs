//! `gemel trajectory list`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::commands::told;
use crate::cursor::{Order, PageArgs};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table, counted, first_line};
use crate::time;
use gemel_repo::knowledge::{self, TrajectoryListOptions, TrajectoryRow};
use serde_json::{Map, Value};

/// List lines of work, those begun last first
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only those that are not closed
    #[arg(long)]
    open: bool,
    /// Only those that pursue this intent
    #[arg(long, value_name = "ID")]
    intent: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &ListArgs) -> Result<Answer<'c>, CliError> {
    let window = args.page.window(Order::Descending)?;
    let options =
        TrajectoryListOptions { open: args.open, intent: args.intent.clone(), window: window.wanted() };
    let facts = context.knowing(|session| knowledge::trajectory_list(session, &options))?;
    let view = Listed { rows: facts.rows, timestamps: context.globals.timestamps };
    let count = view.rows.len();
    Ok(Answer::list(view, count, window.slice(facts.page)))
}

struct Listed {
    rows: Vec<TrajectoryRow>,
    timestamps: bool,
}

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        let row = |row: &TrajectoryRow| {
            Obj::new()
                .put("id", &row.id)
                .put("name", &row.name)
                .opt("intent", row.intent.as_ref())
                .opt("intent_summary", row.intent_summary.as_ref())
                .put("outcome", row.outcome)
                .put("current", &row.current)
                .put("changes", &row.changes)
                .opt("updated_at", Some(&row.updated_at_ms).filter(|_| self.timestamps))
        };
        Obj::new().rows("trajectories", &self.rows, row).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        if self.rows.is_empty() {
            out.lit("no trajectories").end();
        }
        let mut table = Table::default();
        for row in &self.rows {
            let time = Some(row.updated_at_ms).filter(|_| self.timestamps).map(time::utc);
            table.row([
                (Style::Name, row.name.clone()),
                (Style::Plain, if row.current { "*" } else { "" }.to_owned()),
                (told::attempt_style(row.outcome), row.outcome.to_owned()),
                (Style::Dim, time.unwrap_or_default()),
                (Style::Dim, counted(row.changes, "change")),
                (Style::Plain, first_line(row.intent_summary.as_deref().unwrap_or_default()).into_owned()),
            ]);
        }
        table.print("", out);
    }
}
