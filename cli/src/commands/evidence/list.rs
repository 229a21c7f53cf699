//! `gemel evidence list`.

use super::look;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::cursor::{Order, PageArgs};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_repo::knowledge::{self, EvidenceEntry, EvidenceListOptions};
use serde_json::{Map, Value};

/// List evidence with its freshness, newest first
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only evidence about this path, entity or object
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Only evidence of this kind, such as test_result
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only evidence with this outcome: pass, fail, mismatch, inconclusive, error or skipped
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<String>,
    /// With --subject: also evidence that claims about it link, whatever the evidence is about itself
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &ListArgs) -> Result<Answer<'c>, CliError> {
    let window = args.page.window(Order::Descending)?;
    let options = EvidenceListOptions {
        subject: args.subject.clone(),
        kind: args.kind.clone(),
        outcome: args.outcome.clone(),
        all: args.all,
        window: window.wanted(),
    };
    let facts = context.knowing(|session| knowledge::evidence_list(session, &options))?;
    let view = Listed { rows: facts.rows, subject: args.subject.clone() };
    let count = view.rows.len();
    Ok(Answer::list(view, count, window.slice(facts.page)).doubting(&facts.uncertainty))
}

struct Listed {
    rows: Vec<EvidenceEntry>,
    subject: Option<String>,
}

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        Obj::new().rows("evidence", &self.rows, look::row_json).opt("subject", self.subject.as_ref()).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        look::table(&self.rows, out);
    }
}
