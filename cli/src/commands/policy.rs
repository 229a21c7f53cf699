//! `gemel policy`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_repo::knowledge::{self, GapFacts, PolicyFacts, RequiredFacts};
use serde_json::{Map, Value};

/// Show what may be executed, which verification is required, and which of it is missing
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run<'c>(context: &'c Context<'_>, _: &Args) -> Result<Answer<'c>, CliError> {
    let facts = context.knowing(|session| knowledge::policy(session))?;
    let doubts = facts.uncertainty.clone();
    Ok(Answer::of(Told(facts)).doubting(&doubts))
}

struct Told(PolicyFacts);

impl View for Told {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .opt("config", facts.config.as_ref())
            .put("execution_policy", facts.execution_policy)
            .put("disclosure_default", facts.disclosure_default)
            .rows("required_verification", &facts.required_verification, required_json)
            .rows("gaps", &facts.gaps, gap_json)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit("execution: ").lit(facts.execution_policy).end();
        out.lit("disclosure: ").lit(facts.disclosure_default).end();
        if facts.required_verification.is_empty() {
            out.lit("no verification is required").end();
        }
        for required in &facts.required_verification {
            let missing = facts.gaps.iter().any(|gap| gap.required == *required);
            let RequiredFacts { kind, platform, arch } = required;
            out.lit("required: ").text(kind).lit(" on ").text(&format!("{platform}/{arch}")).lit("  ");
            let (style, word) = if missing { (Style::Bad, "missing") } else { (Style::Good, "satisfied") };
            out.paint(style, word).end();
        }
    }
}

pub(super) fn required_json(required: &RequiredFacts) -> Obj {
    Obj::new().put("kind", &required.kind).put("platform", &required.platform).put("arch", &required.arch)
}

fn gap_json(gap: &GapFacts) -> Obj {
    required_json(&gap.required).put("rationale", &gap.rationale)
}
