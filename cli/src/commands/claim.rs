//! `gemel claim add`, `link` and `show`.

use super::claims::claim_json;
use super::told;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_repo::history::{self, ClaimAddOptions, ClaimLinkOptions, ClaimMade};
use gemel_repo::knowledge::{self, ClaimEntry};
use serde_json::{Map, Value};

/// Record a claim, link it with evidence, or show it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Add(AddArgs),
    Link(LinkArgs),
    Show(ShowArgs),
}

/// Record a claim outside a change; it is about the head change
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// What it is about: a path, an entity
    #[arg(long, value_name = "SUBJECT")]
    subject: String,
    /// What it says
    #[arg(long, value_name = "TEXT")]
    predicate: String,
    /// compatibility, correctness, performance, security, safety, invariant, behavior or other [default: other]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Where it holds
    #[arg(long, value_name = "TEXT")]
    scope: Option<String>,
    /// Evidence it rests on
    #[arg(long, value_name = "ID")]
    evidence: Vec<String>,
    /// Claim it takes the place of
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    /// Who claims it [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

/// Link a claim with evidence; linked already, nothing is written
#[derive(Debug, clap::Args)]
struct LinkArgs {
    /// The claim
    #[arg(value_name = "CLAIM")]
    id: String,
    /// The evidence
    #[arg(long, value_name = "ID")]
    evidence: String,
    /// Who says so [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

/// Show a claim with its derived status
#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// The claim, by any of its versions
    id: String,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    match &args.action {
        Action::Add(args) => {
            let options = ClaimAddOptions {
                subject: args.subject.clone(),
                predicate: args.predicate.clone(),
                kind: args.kind.clone(),
                scope: args.scope.clone(),
                evidence: args.evidence.clone(),
                supersedes: args.supersedes.clone(),
                producer: args.producer.clone(),
                now_ms: context.now_ms,
            };
            Ok(Answer::done(Added(history::claim_add(repo, &options)?)))
        }
        Action::Link(args) => {
            let options = ClaimLinkOptions {
                claim: args.id.clone(),
                evidence: vec![args.evidence.clone()],
                producer: args.producer.clone(),
                now_ms: context.now_ms,
            };
            Ok(Answer::done(Linked(history::claim_link(repo, &options)?)))
        }
        Action::Show(args) => {
            let facts = context.knowing(|session| knowledge::claim_show(session, &args.id))?;
            Ok(Answer::of(Shown(facts.row)).long().doubting(&facts.uncertainty))
        }
    }
}

struct Shown(ClaimEntry);

impl View for Shown {
    fn json(&self) -> Map<String, Value> {
        claim_json(&self.0).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let row = &self.0;
        out.lit("claim ").named(&row.id, row.name.as_deref()).lit("  ");
        out.paint(told::claim_style(row.status), row.status).end();
        for (label, text) in [
            ("subject", row.subject.as_deref()),
            ("says", Some(row.predicate.as_str())),
            ("kind", row.kind),
            ("where", row.scope.as_deref()),
            ("unverified", row.unverified_reason),
        ] {
            if let Some(text) = text {
                out.field(label, text);
            }
        }
        for (label, ids) in [
            ("supported by", &row.supporting),
            ("contradicted by", &row.contradicting),
            ("may require refresh", &row.stale),
            ("residual", &row.residuals),
        ] {
            for id in ids {
                out.lit("  ").lit(label).lit(": ").lookup(id).end();
            }
        }
        if let Some(change) = &row.change {
            out.lit("  made at: ").lookup(change).end();
        }
        if let Some(trajectory) = &row.trajectory {
            out.lit("  trajectory: ").named(&trajectory.id, trajectory.name.as_deref()).end();
        }
    }
}

struct Added(ClaimMade);

impl View for Added {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        let trajectory = facts.trajectory.as_ref();
        Obj::new()
            .put("id", &facts.claim)
            .put("claim", &facts.claim)
            .put("name", &facts.name)
            .put("evidence", &facts.evidence)
            .opt("supersedes", facts.previous.as_ref())
            .opt("trajectory", trajectory.map(|named| &named.id))
            .opt("trajectory_name", trajectory.and_then(|named| named.name.as_ref()))
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit("claim ").named(&facts.claim, Some(&facts.name));
        if let Some(previous) = &facts.previous {
            out.lit(" in place of ").named(previous, None);
        }
        out.end();
    }
}

struct Linked(ClaimMade);

impl View for Linked {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        let trajectory = facts.trajectory.as_ref();
        Obj::new()
            .put("claim", &facts.claim)
            .put("name", &facts.name)
            .opt("refined_from", facts.previous.as_ref())
            .opt("evidence", facts.evidence.first())
            .opt("trajectory", trajectory.map(|named| &named.id))
            .opt("trajectory_name", trajectory.and_then(|named| named.name.as_ref()))
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit("claim ").named(&facts.claim, Some(&facts.name));
        if facts.previous.is_none() {
            out.lit(" was linked already").end();
            return;
        }
        if let Some(previous) = &facts.previous {
            out.lit(" (refines ").named(previous, None);
        }
        for evidence in &facts.evidence {
            out.lit(", +evidence ").lookup(evidence);
        }
        out.lit(")").end();
    }
}
