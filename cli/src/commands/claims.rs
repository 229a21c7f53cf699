//! `gemel claims`.

use super::told;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table, first_line};
use gemel_repo::knowledge::{self, ClaimEntry, ClaimsOptions};
use serde_json::{Map, Value};

/// List claims with their derived status, newest first
///
/// Status follows from the linked evidence, its freshness, and unsettled residuals; it is never stored.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only claims about this path, entity or object
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Only claims with this status: supported, partially_supported, contradicted, stale, unverified or superseded
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Also claims that another one replaced
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let window = args.page.window_of_old(Order::Descending)?;
    let options = ClaimsOptions {
        subject: args.subject.clone(),
        status: args.status.clone(),
        all: args.all,
        window: window.wanted(),
    };
    let facts = context.knowing(|session| knowledge::claims(session, &options))?;
    let view = Listed { rows: facts.rows };
    let count = view.rows.len();
    Ok(Answer::list(view, count, window.slice(facts.page)).doubting(&facts.uncertainty))
}

struct Listed {
    rows: Vec<ClaimEntry>,
}

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        Obj::new().rows("claims", &self.rows, claim_json).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        if self.rows.is_empty() {
            out.lit("no claims").end();
        }
        let mut table = Table::default();
        for row in &self.rows {
            let (pro, con) = (row.supporting.len(), row.contradicting.len());
            table.row([
                told::label(&row.id, row.name.as_ref(), out),
                (told::claim_style(row.status), row.status.to_owned()),
                (Style::Plain, row.subject.clone().unwrap_or_default()),
                (Style::Plain, first_line(&row.predicate).into_owned()),
                (Style::Dim, if pro + con > 0 { format!("+{pro} -{con}") } else { String::new() }),
                (Style::Dim, row.trajectory.as_ref().and_then(|t| t.name.clone()).unwrap_or_default()),
            ]);
        }
        table.print("", out);
    }
}

/// A claim (query surface, section 4.3).
pub(super) fn claim_json(row: &ClaimEntry) -> Obj {
    Obj::new()
        .put("id", &row.id)
        .opt("name", row.name.as_ref())
        .put("predicate", &row.predicate)
        .opt("predicate_kind", row.kind.as_ref())
        .opt("subject", row.subject.as_ref())
        .opt("scope", row.scope.as_ref())
        .put("status", row.status)
        .put("basis", row.basis)
        .opt("unverified_reason", row.unverified_reason.as_ref())
        .put("supporting", &row.supporting)
        .put("contradicting", &row.contradicting)
        .put("stale", &row.stale)
        .put("residuals", &row.residuals)
        .opt("change", row.change.as_ref())
        .opt("trajectory", row.trajectory.as_ref().map(|trajectory| &trajectory.id))
        .opt("trajectory_name", row.trajectory.as_ref().and_then(|trajectory| trajectory.name.as_ref()))
        .put("declared_as", &row.declared_as)
}
