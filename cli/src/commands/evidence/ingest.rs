//! `gemel evidence ingest`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::detect;
use crate::error::CliError;
use crate::input;
use crate::json::{Json, Obj};
use crate::render::Printer;
use gemel_repo::history::{self, EnvironmentOptions, IngestFacts, IngestOptions, Ingested};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Record what a tool observed; nothing is executed and no claim is linked
///
/// FILE is a gemel.evidence.v1 document or the report of a tool: JUnit XML, SARIF, TAP, libtest JSON or in-toto
/// statements, which is kept with the evidence. `claim link` says what the evidence means for a claim.
#[derive(Debug, clap::Args)]
pub(crate) struct IngestArgs {
    /// File to read, `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What the file is: auto, gemel, junit, sarif, tap, libtest or in-toto [default: auto]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Who observed it [default: whom the document names, for reports the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
    /// What it is about [default: what the report says]
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    /// State it was observed at: result (of the change finished last), head, none, or a state [default: for reports
    /// the recorded state, if the files are those of it]
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Workspace whose files it was observed on [default: default]
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Environment it was observed in
    #[arg(long, value_name = "ID")]
    environment: Option<String>,
    /// Record this machine as the environment
    #[arg(long, conflicts_with = "environment")]
    detect_environment: bool,
    /// Tool beside those that the report names
    #[arg(long, value_name = "NAME=VERSION")]
    tool: Vec<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &IngestArgs) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    let bytes = input::read(context, &args.file, history::MAX_INPUT_BYTES)?;
    let machine = || detect::filled(EnvironmentOptions::default(), context.environment, repo.root());
    let options = IngestOptions {
        format: args.format.clone(),
        producer: args.producer.clone(),
        subject: args.subject.clone(),
        state: args.state.clone(),
        workspace: args.workspace.clone(),
        environment: args.environment.clone(),
        machine: args.detect_environment.then(machine),
        tools: args.tool.clone(),
        file: Some(context.absolute(&args.file)?),
        now_ms: context.now_ms,
    };
    let facts = history::ingest(repo, &bytes, &options, &*context.progress())?;
    let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
    Ok(Answer::done(Recorded(facts)).omitting(&omitted).doubting(&uncertainty))
}

struct Recorded(IngestFacts);

impl View for Recorded {
    fn json(&self) -> Map<String, Value> {
        let first = self.0.evidence.first();
        Obj::new()
            .opt("evidence", first.map(|row| &row.id))
            .put("executed", &false)
            .opt("name", first.map(|row| &row.name))
            .put("format", self.0.format.as_str())
            .opt("raw", self.0.raw.as_ref())
            .opt("evaluated_state", self.0.evaluated_state.as_ref())
            .opt("environment", self.0.environment.as_ref())
            .rows("items", &self.0.evidence, item)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        for row in &self.0.evidence {
            line(row, out);
        }
    }
}

fn item(row: &Ingested) -> Obj {
    let counts = row.counts.map(|counts| {
        let made = Obj::new().put("passed", &counts.passed).put("failed", &counts.failed);
        made.put("skipped", &counts.skipped).put("total", &counts.total()).json()
    });
    Obj::new()
        .put("evidence", &row.id)
        .put("name", &row.name)
        .put("kind", row.kind.as_str())
        .opt("subject", row.subject.as_ref())
        .opt("outcome", row.outcome.map(|outcome| outcome.as_str()).as_ref())
        .opt("counts", counts.as_ref())
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
