//! `gemel case create`, `close` and `list`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table, counted, first_line};
use gemel_repo::history::{self, CaseCloseOptions, CaseOptions, CaseRow};
use serde_json::{Map, Value};

/// Open, close or list cases: larger objectives
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Create(CreateArgs),
    Close(CloseArgs),
    List(ListArgs),
}

/// Open a case
#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// What it is about
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// Its name [default: Case and a number]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Trajectory that belongs to it
    #[arg(long, value_name = "ID")]
    trajectory: Vec<String>,
    /// open, active, closed or abandoned [default: open]
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Who opens it [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

/// Close a case
#[derive(Debug, clap::Args)]
struct CloseArgs {
    /// The case
    id: String,
    /// closed or abandoned [default: closed]
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Trajectory that belongs to it, too
    #[arg(long, value_name = "ID")]
    trajectory: Vec<String>,
    /// Who closes it [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

/// List cases
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only cases with this status
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    match &args.action {
        Action::Create(args) => {
            let options = CaseOptions {
                summary: args.summary.clone(),
                label: args.label.clone(),
                trajectories: args.trajectory.clone(),
                status: args.status.clone(),
                producer: args.producer.clone(),
                now_ms: context.now_ms,
            };
            Ok(Answer::done(Shown(history::case_create(repo, &options)?)))
        }
        Action::Close(args) => {
            let options = CaseCloseOptions {
                id: args.id.clone(),
                status: args.status.clone(),
                trajectories: args.trajectory.clone(),
                producer: args.producer.clone(),
                now_ms: context.now_ms,
            };
            Ok(Answer::done(Shown(history::case_close(repo, &options)?)))
        }
        Action::List(args) => {
            let window = args.page.window(Order::Ascending)?;
            let rows = history::case_list(repo, args.status.as_deref())?;
            let (rows, slice) = window.cut(rows, |row: &CaseRow| row.case.id);
            let count = rows.len();
            let view = Listed { rows, timestamps: context.globals.timestamps };
            Ok(Answer::list(view, count, slice))
        }
    }
}

fn row_json(row: &CaseRow, timestamps: bool) -> Obj {
    Obj::new()
        .put("id", &row.case.id)
        .opt("name", row.case.name.as_ref())
        .opt("previous", row.previous.as_ref())
        .put("summary", &row.summary)
        .put("status", row.status.as_str())
        .opt("intent", row.intent.as_ref())
        .put("trajectories", &row.trajectories)
        .put("changes", &row.changes)
        .put("releases", &row.releases)
        .put("versions", &row.versions)
        .opt("created_at", row.created_at_ms.as_ref().filter(|_| timestamps))
        .opt("updated_at", row.updated_at_ms.as_ref().filter(|_| timestamps))
}

struct Shown(CaseRow);

impl View for Shown {
    fn json(&self) -> Map<String, Value> {
        row_json(&self.0, false).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let row = &self.0;
        out.lit("case ").named(&row.case.id, row.case.name.as_deref());
        out.lit("  ").lit(row.status.as_str()).lit("  ").text(&first_line(&row.summary)).end();
    }
}

struct Listed {
    rows: Vec<CaseRow>,
    timestamps: bool,
}

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        Obj::new().rows("cases", &self.rows, |row| row_json(row, self.timestamps)).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let mut table = Table::default();
        for row in &self.rows {
            let count = u64::try_from(row.trajectories.len()).unwrap_or(u64::MAX);
            let trajectories = match count {
                0 => String::new(),
                1 => "1 trajectory".to_owned(),
                _ => counted(count, "trajectorie"),
            };
            table.row([
                (Style::Name, row.case.name.clone().unwrap_or_default()),
                (Style::Id, out.short(&row.case.id)),
                (Style::Plain, row.status.as_str().to_owned()),
                (Style::Plain, first_line(&row.summary).into_owned()),
                (Style::Dim, trajectories),
            ]);
        }
        table.print("", out);
    }
}
