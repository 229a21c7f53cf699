//! `gemel evidence ingest`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::error::CliError;
use crate::input;
use crate::json::Obj;
use crate::render::Printer;
use gemel_repo::history::{self, IngestFacts, IngestOptions, Ingested};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Record what a tool observed; nothing is executed and no claim is linked
///
/// FILE is a gemel.evidence.v1 document. `claim link` says what the evidence means for a claim.
#[derive(Debug, clap::Args)]
pub(crate) struct IngestArgs {
    /// File to read, `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Who observed it, when the document does not say
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &IngestArgs) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    let bytes = input::read(context, &args.file, history::MAX_INPUT_BYTES)?;
    let options = IngestOptions { producer: args.producer.clone(), now_ms: context.now_ms };
    Ok(Answer::done(Recorded(history::ingest(repo, &bytes, &options)?)))
}

struct Recorded(IngestFacts);

impl View for Recorded {
    fn json(&self) -> Map<String, Value> {
        let first = self.0.evidence.first();
        Obj::new()
            .opt("evidence", first.map(|row| &row.id))
            .put("executed", &false)
            .opt("name", first.map(|row| &row.name))
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        for row in &self.0.evidence {
            line(row, out);
        }
    }
}

/// One piece of evidence: its name, what it is about, what came out.
fn line(row: &Ingested, out: &mut Printer<'_>) {
    out.lit("evidence ").named(&row.id, Some(&row.name)).lit("  ").lit(row.kind.as_str()).lit(": ");
    out.lit(row.outcome.map_or("no result", |outcome| outcome.as_str()));
    if let Some(subject) = &row.subject {
        out.lit("  ").text(subject);
    }
    if let Some(counts) = &row.counts {
        let (passed, failed, skipped) = (counts.passed, counts.failed, counts.skipped);
        out.lit(&format!("  {passed} passed, {failed} failed, {skipped} skipped"));
    }
    out.lit("  (not executed)").end();
}
