//! `gemel context`.

use super::claims::claim_json;
use super::residuals::residual_json;
use crate::answer::{Answer, View};
use crate::app;
use crate::error::CliError;
use crate::fields;
use crate::json::{Json, Obj};
use crate::render::{Printer, first_line};
use gemel_object::Object;
use gemel_repo::history::Veil;
use gemel_repo::knowledge::{
    self, BundleObject, ClaimEntry, Class, ContextFacts, ContextOptions, Forms, ResidualEntry,
};
use serde_json::{Map, Value};

/// Gather what is known about a thing, most relevant first, within a budget of tokens
///
/// Changes that touch it, claims about it, the thing itself, what is unresolved, who tried before, and the evidence.
/// What does not fit is counted, and the next objects are listed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A path, an entity, or an object by name or identity
    #[arg(value_name = "SUBJECT")]
    subject: String,
    /// Also residuals and attempts of this intent
    #[arg(long, value_name = "INTENT")]
    for_intent: Option<String>,
    /// Tokens, from 64 to 1000000 [default: 4096]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
    /// Bytes, four to a token; with --budget the smaller one counts
    #[arg(long, value_name = "BYTES")]
    budget_bytes: Option<u64>,
    /// Beside changes and sources only these: claims, residuals, attempts, evidence, manifests, with commas
    #[arg(long, value_name = "CLASSES")]
    include: Vec<String>,
    /// Tell objects whole, as far as they fit
    #[arg(long)]
    include_l3: bool,
}

pub(crate) fn run<'c>(context: &'c app::Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let options = ContextOptions {
        subject: args.subject.clone(),
        for_intent: args.for_intent.clone(),
        budget: args.budget,
        budget_bytes: args.budget_bytes,
        include: args.include.clone(),
        include_l3: args.include_l3,
    };
    let facts = context.knowing(|session| knowledge::context(session, &options, &Rows))?;
    let (omitted, uncertainty, notice) =
        (facts.omitted.clone(), facts.uncertainty.clone(), facts.notice.clone());
    let answer = Answer::of(Bundled { facts }).long().omitting(&omitted).doubting(&uncertainty);
    Ok(Answer { notice, ..answer })
}

/// Objects as the lists of their families tell them.
struct Rows;

impl Forms for Rows {
    fn claim(&self, row: &ClaimEntry) -> Map<String, Value> {
        without(claim_json(row).map(), &["id", "predicate"])
    }

    fn residual(&self, row: &ResidualEntry) -> Map<String, Value> {
        without(residual_json(row).map(), &["id", "summary"])
    }

    fn object(&self, object: &Object<'_>, veil: &Veil) -> Map<String, Value> {
        fields::canonical(object, veil)
    }
}

fn without(mut row: Map<String, Value>, told: &[&str]) -> Map<String, Value> {
    told.iter().for_each(|key| drop(row.remove(*key)));
    row
}

struct Bundled {
    facts: ContextFacts,
}

impl View for Bundled {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.facts;
        let budget = Obj::new()
            .put("tokens", &facts.budget.tokens)
            .put("consumed", &facts.budget.consumed)
            .put("remaining", &facts.budget.remaining());
        let objects: Value = facts.objects.iter().map(|object| object_json(object).json()).collect();
        let expanded = facts
            .expanded
            .iter()
            .fold(Obj::new(), |expanded, (class, count): &(Class, u64)| expanded.put(class.as_str(), count));
        let bundle = Obj::new()
            .put("deduplicated", &facts.deduplicated)
            .put("digest", &knowledge::bundle_digest(&objects))
            .put("expanded", &expanded)
            .put("objects", &objects);
        let next = Obj::new()
            .put("expand", &facts.expand)
            .put("why", if facts.complete { "complete" } else { "budget" });
        Obj::new()
            .put("budget", &budget)
            .put("bundle", &bundle)
            .opt("intent", facts.intent.as_ref())
            .put("next", &next)
            .put("subject", &facts.subject)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        for object in &facts.objects {
            out.lit(&format!("L{} {} ", object.level, object.id.family().name())).lookup(&object.id);
            out.lit("  ").text(&first_line(&object.summary)).end();
            if let Some(content) = &object.content {
                for line in content.lines() {
                    out.lit("    ").text(line).end();
                }
            }
        }
        if facts.objects.is_empty() {
            out.lit("nothing recorded about ").text(&facts.subject).end();
        }
        let budget = &facts.budget;
        out.lit(&format!("{} of {} tokens", budget.consumed, budget.tokens)).end();
    }
}

/// An object of a bundle: what is told of it is what it costs.
fn object_json(object: &BundleObject) -> Obj {
    Obj::new()
        .put("family", object.id.family().name())
        .put("id", &object.id)
        .put("level", &object.level)
        .put("summary", &object.summary)
        .opt("fields", object.fields.as_ref())
        .opt("object", object.object.as_ref())
        .opt("content", object.content.as_ref())
}
