//! `gemel context-diff`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_object::Gid;
use gemel_repo::knowledge::{self, ContextDiffFacts, SeenFacts};
use serde_json::{Map, Value};

/// Show what one agent run saw and another did not
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The first run
    #[arg(value_name = "A")]
    run_a: String,
    /// The second run
    #[arg(value_name = "B")]
    run_b: String,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let facts = context.knowing(|session| knowledge::context_diff(session, &args.run_a, &args.run_b))?;
    let doubts = facts.uncertainty.clone();
    Ok(Answer::of(Compared(facts)).long().doubting(&doubts))
}

struct Compared(ContextDiffFacts);

impl View for Compared {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        let revisions = Obj::new().opt("a", facts.state_a.as_ref()).opt("b", facts.state_b.as_ref());
        Obj::new()
            .put("run_a", &facts.run_a)
            .put("run_b", &facts.run_b)
            .rows("seen_by_a_only", &facts.seen_by_a_only, seen_json)
            .rows("seen_by_b_only", &facts.seen_by_b_only, seen_json)
            .put("upstream_revision", &revisions)
            .put("instruction_digest_known", &facts.instruction_digests_equal.is_some())
            .opt("instruction_digests_equal", facts.instruction_digests_equal.as_ref())
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        seen("a only", &facts.seen_by_a_only, out);
        seen("b only", &facts.seen_by_b_only, out);
        if facts.seen_by_a_only.is_empty() && facts.seen_by_b_only.is_empty() {
            out.lit("both saw the same").end();
        }
        state("a worked on", facts.state_a.as_ref(), out);
        state("b worked on", facts.state_b.as_ref(), out);
        let (style, words) = match facts.instruction_digests_equal {
            Some(true) => (Style::Good, "the same"),
            Some(false) => (Style::Caution, "different"),
            None => (Style::Dim, "not known"),
        };
        out.lit("instructions: ").paint(style, words).end();
    }
}

fn seen_json(seen: &SeenFacts) -> Obj {
    Obj::new().put("class", seen.class).put("id", &seen.id)
}

fn seen(label: &str, rows: &[SeenFacts], out: &mut Printer<'_>) {
    for row in rows {
        out.lit(label).lit(": ").lit(row.class).lit(" ").lookup(&row.id).end();
    }
}

fn state(label: &str, id: Option<&Gid>, out: &mut Printer<'_>) {
    if let Some(id) = id {
        out.lit(label).lit(": ").lookup(id).end();
    }
}
