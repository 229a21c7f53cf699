//! `gemel log`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs};
use crate::error::CliError;
use crate::json::{Json, Obj};
use crate::render::{Printer, Table, first_line};
use crate::time;
use gemel_object::Gid;
use gemel_repo::history::{self, EpisodeFacts, LogFacts, LogOptions, LogOrder, LogRow, OperationRow};
use gemel_repo::{Named, knowledge};
use serde_json::{Map, Value};

/// List changes, newest first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// All known changes, not only those that lead to head
    #[arg(long)]
    all: bool,
    /// Show what each change did to which path
    #[arg(long)]
    operations: bool,
    /// Detail of the list
    #[arg(long, value_name = "LEVEL", value_enum)]
    resolution: Option<Resolution>,
    /// Only changes of this trajectory
    #[arg(long, value_name = "ID")]
    trajectory: Option<String>,
    /// Only changes that touch this subject
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// `--resolution`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Resolution {
    /// One row a change
    Changes,
    /// Rows grouped by episode
    Episodes,
    /// Changes with their operations
    Operations,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let window = args.page.window(Order::Descending)?;
    let operations = args.operations || args.resolution == Some(Resolution::Operations);
    let options = LogOptions {
        scope: if args.all { LogOrder::All } else { LogOrder::Head },
        trajectory: args.trajectory.clone(),
        operations,
        episodes: args.resolution == Some(Resolution::Episodes),
        limit: window.limit,
        cursor: window.after.clone(),
    };
    let facts = match &args.subject {
        Some(subject) => context.knowing(|session| knowledge::log_about(session, subject, &options))?,
        None => history::log(context.repo()?, &options)?,
    };
    let LogFacts { rows, episodes, page, omitted, uncertainty } = facts;
    let count = rows.len();
    let episodes = options.episodes.then_some(episodes);
    let view = Listed { rows, episodes, operations, timestamps: context.globals.timestamps };
    Ok(Answer::list(view, count, window.slice(page)).omitting(&omitted).doubting(&uncertainty))
}

struct Listed {
    rows: Vec<LogRow>,
    /// The rows in groups, when asked for.
    episodes: Option<Vec<EpisodeFacts>>,
    operations: bool,
    timestamps: bool,
}

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        let answer = Obj::new().rows("changes", &self.rows, |row| self.row_json(row));
        match &self.episodes {
            Some(episodes) => answer.rows("episodes", episodes, episode_json).map(),
            None => answer.map(),
        }
    }

    fn human(&self, out: &mut Printer<'_>) {
        if self.rows.is_empty() {
            out.lit("no changes").end();
        }
        if let Some(episodes) = &self.episodes {
            return self.groups(episodes, out);
        }
        if !self.operations {
            return self.table(&self.rows, out);
        }
        for row in &self.rows {
            self.table(std::slice::from_ref(row), out);
            let mut table = Table::default();
            for operation in &row.operation_rows {
                let path = operation.path.as_deref().unwrap_or_default();
                let path =
                    operation.from.as_ref().map_or(path.to_owned(), |from| format!("{from} -> {path}"));
                let kind = operation.op_type.as_deref().unwrap_or("not told");
                table.row([(operation_style(kind), kind.to_owned()), (Style::Plain, path)]);
            }
            table.print("    ", out);
        }
    }
}

impl Listed {
    fn groups(&self, episodes: &[EpisodeFacts], out: &mut Printer<'_>) {
        for episode in episodes {
            match &episode.id {
                Some(id) => out.lit("episode ").lookup(id),
                None => out.lit("no episode"),
            };
            if let Some(summary) = &episode.summary {
                out.lit("  ").text(&first_line(summary));
            }
            if let Some(outcome) = episode.outcome {
                out.lit("  (").lit(outcome).lit(")");
            }
            out.end();
            let rows: Vec<LogRow> =
                self.rows.iter().filter(|row| row.episode == episode.id).cloned().collect();
            self.table(&rows, out);
        }
    }

    fn table(&self, rows: &[LogRow], out: &mut Printer<'_>) {
        if self.rows.iter().any(|row| row.author.is_some()) {
            return self.authored(rows, out);
        }
        let mut table = Table::default();
        for row in rows {
            let time = row.created_at_ms.filter(|_| self.timestamps).map(time::utc);
            table.row([
                (Style::Name, row.name.clone().unwrap_or_default()),
                (Style::Id, out.short(&row.id)),
                (Style::Dim, time.unwrap_or_default()),
                (Style::Name, row.trajectory.as_ref().map(|t| label(t, out)).unwrap_or_default()),
                (Style::Dim, states(row, out)),
                (Style::Plain, first_line(&row.summary).into_owned()),
            ]);
        }
        table.print("", out);
    }

    /// Changes that people made, as those of an imported history: who and when say more than states.
    fn authored(&self, rows: &[LogRow], out: &mut Printer<'_>) {
        let mut table = Table::default();
        for row in rows {
            let time = row.created_at_ms.map(if self.timestamps { time::utc } else { time::day });
            table.row([
                (Style::Name, row.name.clone().unwrap_or_default()),
                (Style::Id, out.short(&row.id)),
                (Style::Dim, time.unwrap_or_default()),
                (Style::Dim, row.author.as_deref().map(shortened).unwrap_or_default()),
                (Style::Plain, first_line(&row.summary).into_owned()),
            ]);
        }
        table.print("", out);
    }

    fn row_json(&self, row: &LogRow) -> Obj {
        let id = |state: &Option<Named>| state.as_ref().map(|state| state.id);
        // The published program answers the trajectory's name here.
        let trajectory = row.trajectory.as_ref().map(|t| t.name.clone().unwrap_or_else(|| t.id.to_string()));
        let head = Obj::new()
            .put("id", &row.id)
            .opt("name", row.name.as_ref())
            .put("summary", &row.summary)
            .opt("input_state", id(&row.input_state).as_ref())
            .opt("resulting_state", id(&row.resulting_state).as_ref())
            .opt("trajectory", trajectory.as_ref())
            .opt("episode", row.episode.as_ref())
            .put("parents", &row.parents)
            .opt("created_at", row.created_at_ms.as_ref().filter(|_| self.timestamps));
        if self.operations {
            head.rows("operations", &row.operation_rows, operation_json)
        } else {
            head.put("operations", &row.operations)
        }
    }
}

fn operation_json(operation: &OperationRow) -> Value {
    Obj::new()
        .put("id", &operation.id)
        .opt("op_type", operation.op_type.as_ref())
        .opt("path", operation.path.as_ref())
        .opt("from", operation.from.as_ref())
        .json()
}

/// The changes of an episode; without identity those that name none.
fn episode_json(episode: &EpisodeFacts) -> Obj {
    Obj::new()
        .opt("id", episode.id.as_ref())
        .opt("summary", episode.summary.as_ref())
        .opt("outcome", episode.outcome.as_ref())
        .put("changes", &episode.changes)
}

/// Characters of a name that a column shows.
const NAME_CHARS: usize = 20;

/// A name that leaves room for what follows it.
fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_CHARS {
        return name.to_owned();
    }
    name.chars().take(NAME_CHARS - 1).chain(['…']).collect()
}

/// `S1..S2`.
fn states(row: &LogRow, out: &Printer<'_>) -> String {
    let name = |state: &Option<Named>| state.as_ref().map(|state| label(state, out)).unwrap_or_default();
    match (&row.input_state, &row.resulting_state) {
        (None, None) => String::new(),
        (input, result) => format!("{}..{}", name(input), name(result)),
    }
}

fn label(named: &Named, out: &Printer<'_>) -> String {
    let digits = |id: &Gid| out.short(id);
    named.name.clone().unwrap_or_else(|| digits(&named.id))
}

fn operation_style(op_type: &str) -> Style {
    match op_type {
        "create_file" => Style::Added,
        "delete_file" => Style::Removed,
        _ => Style::Changed,
    }
}
