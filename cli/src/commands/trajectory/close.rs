//! `gemel trajectory close`.

use super::show::{handoff_json, handoff_lines};
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::commands::told;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, first_line};
use gemel_repo::decision::{self, CloseFacts, CloseOptions};
use serde_json::{Map, Value};

/// Close a line of work and leave a handoff
#[derive(Debug, clap::Args)]
pub(super) struct CloseArgs {
    /// The trajectory, by any of its versions
    pub(super) id: String,
    /// completed, abandoned, superseded, rejected, inconclusive or interrupted
    pub(super) outcome: String,
    #[command(flatten)]
    pub(super) end: EndArgs,
}

/// What can be said of an end.
#[derive(Debug, Default, clap::Args)]
pub(super) struct EndArgs {
    /// Why it ends
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Summary of the handoff [default: outcome and counts]
    #[arg(long, value_name = "TEXT")]
    handoff_summary: Option<String>,
    /// A step for whoever goes on
    #[arg(long, value_name = "TEXT")]
    next_step: Vec<String>,
    /// Whose trajectory it is [default: as before]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

impl EndArgs {
    pub(super) fn is_given(&self) -> bool {
        self.reason.is_some()
            || self.handoff_summary.is_some()
            || !self.next_step.is_empty()
            || self.producer.is_some()
    }
}

pub(super) fn run<'c>(
    context: &'c Context<'_>,
    id: &str,
    outcome: &str,
    end: &EndArgs,
) -> Result<Answer<'c>, CliError> {
    let options = CloseOptions {
        trajectory: id.to_owned(),
        outcome: outcome.to_owned(),
        reason: end.reason.clone(),
        handoff_summary: end.handoff_summary.clone(),
        next_steps: end.next_step.clone(),
        producer: end.producer.clone(),
        now_ms: context.now_ms,
    };
    let facts = context.knowing(|session| decision::close(session, &options))?;
    let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
    Ok(Answer::done(Closed(facts)).omitting(&omitted).doubting(&uncertainty))
}

struct Closed(CloseFacts);

impl View for Closed {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .put("name", &facts.name)
            .put("previous", &facts.previous)
            .put("version", &facts.version)
            .put("outcome", facts.outcome)
            .opt("reason", facts.reason.as_ref())
            .put("handoff", &handoff_json(&facts.handoff))
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.named(&facts.version, Some(&facts.name)).lit("  closed as ");
        out.paint(told::attempt_style(facts.outcome), facts.outcome);
        if let Some(reason) = &facts.reason {
            out.lit(": ").text(&first_line(reason));
        }
        out.end();
        handoff_lines(&facts.handoff, out);
    }
}
