//! `gemel residuals`.

use super::told;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table, first_line};
use gemel_repo::knowledge::{self, ResidualEntry, ResidualOrder, ResidualScopeFacts, ResidualsOptions};
use serde_json::{Map, Value};

/// List what is unresolved, and what became of it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only residuals that affect this path, entity or object
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Only residuals with this disposition: open, acknowledged, resolved, superseded or irrelevant
    #[arg(long, value_name = "DISPOSITION")]
    disposition: Option<String>,
    /// Only residuals of this severity: blocking, high, medium or low
    #[arg(long, value_name = "SEVERITY")]
    severity: Option<String>,
    /// In which order [default: newest first]
    #[arg(long, value_name = "ORDER", value_enum)]
    order: Option<By>,
    #[command(flatten)]
    page: PageArgs,
}

/// `--order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// Newest version first
    Newest,
    /// Blocking ones first, then by first observation
    Severity,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let (order, direction) = match args.order {
        None | Some(By::Newest) => (ResidualOrder::Newest, Order::Descending),
        Some(By::Severity) => (ResidualOrder::Severity, Order::Ascending),
    };
    let window = args.page.window_of_old(direction)?;
    let options = ResidualsOptions {
        subject: args.subject.clone(),
        disposition: args.disposition.clone(),
        severity: args.severity.clone(),
        order,
        window: window.wanted(),
    };
    let facts = context.knowing(|session| knowledge::residuals(session, &options))?;
    let view = Listed { rows: facts.rows };
    let count = view.rows.len();
    Ok(Answer::list(view, count, window.slice(facts.page)).doubting(&facts.uncertainty))
}

struct Listed {
    rows: Vec<ResidualEntry>,
}

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        Obj::new().rows("residuals", &self.rows, residual_json).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        if self.rows.is_empty() {
            out.lit("no residuals").end();
        }
        let mut table = Table::default();
        for row in &self.rows {
            let style = told::residual_style(row.disposition, row.severity);
            let later = match row.descendant_changes {
                0 => String::new(),
                1 => "1 change since".to_owned(),
                n => format!("{n} changes since"),
            };
            table.row([
                told::label(&row.id, row.name.as_ref(), out),
                (style, row.disposition.to_owned()),
                (style, row.severity.to_owned()),
                (Style::Dim, row.classification.unwrap_or_default().to_owned()),
                (Style::Plain, first_line(&row.summary).into_owned()),
                (Style::Dim, later),
            ]);
        }
        table.print("", out);
    }
}

/// A residual (query surface, section 4.5).
pub(super) fn residual_json(row: &ResidualEntry) -> Obj {
    Obj::new()
        .put("id", &row.id)
        .opt("name", row.name.as_ref())
        .put("summary", &row.summary)
        .opt("classification", row.classification.as_ref())
        .put("severity", row.severity)
        .put("disposition", row.disposition)
        .put("persistence", &Obj::new().put("descendant_changes", &row.descendant_changes))
        .opt("scope", row.scope.as_ref().map(scope_json).as_ref())
        .opt("origin_evidence", row.origin_evidence.as_ref())
        .put("affected_claims", &row.affected_claims)
        .put("affected_changes", &row.affected_changes)
        .opt("declared_by", row.declared_by.as_ref())
        .put("first_id", &row.first_id)
        .opt("reason", row.reason.as_ref())
}

fn scope_json(scope: &ResidualScopeFacts) -> Obj {
    Obj::new()
        .opt("intent", scope.intent.as_ref())
        .put("trajectories", &scope.trajectories)
        .put("paths", &scope.paths)
        .put("entities", &scope.entities)
}
