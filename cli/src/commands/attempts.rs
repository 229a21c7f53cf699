//! `gemel attempts`.

use super::told;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table, counted, first_line};
use gemel_repo::knowledge::{self, AttemptEntry, AttemptsOptions};
use serde_json::{Map, Value};

/// List who tried before: trajectories that touched a subject or share its intent
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A path, entity or object
    #[arg(value_name = "SUBJECT")]
    subject: String,
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let window = args.page.window(Order::Descending)?;
    let options = AttemptsOptions { subject: args.subject.clone(), window: window.wanted() };
    let facts = context.knowing(|session| knowledge::attempts(session, &options))?;
    let view = Listed { rows: facts.rows, subject: args.subject.clone() };
    let count = view.rows.len();
    Ok(Answer::list(view, count, window.slice(facts.page)).doubting(&facts.uncertainty))
}

struct Listed {
    rows: Vec<AttemptEntry>,
    subject: String,
}

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        Obj::new().rows("attempts", &self.rows, attempt_json).put("subject", &self.subject).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        if self.rows.is_empty() {
            out.lit("no attempts").end();
        }
        let mut table = Table::default();
        for row in &self.rows {
            let reason = row.termination_reason.as_deref().or(row.handoff.as_deref()).unwrap_or_default();
            table.row([
                (Style::Name, row.name.clone()),
                (told::attempt_style(row.outcome), row.outcome.to_owned()),
                (Style::Dim, counted(row.changes, "change")),
                (Style::Dim, if row.touched_subject { "" } else { "same intent" }.to_owned()),
                (Style::Plain, first_line(reason).into_owned()),
            ]);
        }
        table.print("", out);
    }
}

/// A trajectory as an attempt (query surface, section 4.6).
pub(super) fn attempt_json(row: &AttemptEntry) -> Obj {
    Obj::new()
        .put("trajectory", &row.trajectory)
        .put("name", &row.name)
        .opt("intent", row.intent.as_ref())
        .put("outcome", row.outcome)
        .opt("termination_reason", row.termination_reason.as_ref())
        .put("evidence", &row.evidence)
        .put("residuals", &row.residuals)
        .opt("handoff", row.handoff.as_ref())
        .put("touched_subject", &row.touched_subject)
        .put("changes", &row.changes)
}
