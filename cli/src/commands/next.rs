//! `gemel next`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, first_line};
use gemel_repo::knowledge::{self, NextFacts, Recommendation};
use serde_json::{Map, Value};

/// Recommend what to do next, as far as it follows from what is recorded
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run<'c>(context: &'c Context<'_>, _: &Args) -> Result<Answer<'c>, CliError> {
    let facts = context.knowing(|session| knowledge::next(session))?;
    let (omitted, doubts) = (facts.omitted.clone(), facts.uncertainty.clone());
    Ok(Answer::of(Told(facts)).long().omitting(&omitted).doubting(&doubts))
}

struct Told(NextFacts);

impl View for Told {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .opt("intent", facts.intent.as_ref())
            .opt("trajectory", facts.trajectory.as_ref())
            .opt("state", facts.state.as_ref())
            .rows("recommendations", &facts.recommendations, step_json)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        for step in &self.0.recommendations {
            out.paint(kind_style(step.kind), step.kind).lit(" ").text(&first_line(&step.subject));
            if step.certainty != "observed" {
                out.lit("  (").lit(step.certainty).lit(")");
            }
            out.end();
            out.lit("    ").text(&first_line(&step.rationale)).end();
            for id in step.refs.iter().take(LISTED) {
                out.lit("    ref: ").lookup(id).end();
            }
            if step.refs.len() > LISTED {
                out.lit(&format!("    ref: {} more", step.refs.len() - LISTED)).end();
            }
        }
    }
}

/// References shown for a step; the JSON form has all.
const LISTED: usize = 8;

/// A recommended step (query surface, section 4.15).
fn step_json(step: &Recommendation) -> Obj {
    Obj::new()
        .put("kind", step.kind)
        .put("subject", &step.subject)
        .put("refs", &step.refs)
        .put("rationale", &step.rationale)
        .put("certainty", step.certainty)
}

fn kind_style(kind: &str) -> Style {
    match kind {
        "resolve" | "verify" => Style::Bad,
        "continue" | "reconcile" => Style::Caution,
        _ => Style::Bold,
    }
}
