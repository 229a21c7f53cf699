//! `gemel residual add`, `resolve`, `link` and `show`.

use super::residuals::residual_json;
use super::told;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_repo::history::{
    self, ResidualAddOptions, ResidualAdded, ResidualLinkOptions, ResidualResolveOptions, ResidualVersion,
};
use gemel_repo::knowledge::{self, ResidualEntry};
use serde_json::{Map, Value};

/// Record a residual, settle it, link it with what it is about, or show it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Add(AddArgs),
    Resolve(ResolveArgs),
    Link(LinkArgs),
    Show(ShowArgs),
}

/// Record a residual found outside a change
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// What is left
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// blocking, high, medium or low [default: medium]
    #[arg(long, value_name = "SEVERITY")]
    severity: Option<String>,
    /// semantic_divergence, expected_mismatch, platform_divergence, performance_divergence, unexplained_divergence,
    /// contract_mismatch, verification_gap or other [default: other]
    #[arg(long, value_name = "CLASS")]
    classification: Option<String>,
    #[command(flatten)]
    about: About,
}

/// Give a residual a disposition; it may reopen
#[derive(Debug, clap::Args)]
struct ResolveArgs {
    /// The residual
    id: String,
    /// open, acknowledged, resolved, superseded or irrelevant
    #[arg(long, value_name = "DISPOSITION")]
    disposition: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Evidence it rests on
    #[arg(long, value_name = "ID")]
    evidence: Option<String>,
    /// Reconciliation that brought it
    #[arg(long, value_name = "ID")]
    reconciliation: Option<String>,
    /// Who decides [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

/// Link a residual with claims, changes, paths or the evidence that showed it
#[derive(Debug, clap::Args)]
struct LinkArgs {
    /// The residual
    id: String,
    #[command(flatten)]
    about: About,
}

/// Show a residual at its newest version
#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// The residual, by any of its versions
    id: String,
}

/// What a residual is about.
#[derive(Debug, clap::Args)]
struct About {
    /// Claim it stands against
    #[arg(long, value_name = "ID")]
    claim: Vec<String>,
    /// Evidence that showed it
    #[arg(long, value_name = "ID")]
    origin: Option<String>,
    /// Path it is about
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,
    /// Change it is about
    #[arg(long, value_name = "ID")]
    change: Vec<String>,
    /// Who says so [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    match &args.action {
        Action::Add(AddArgs { summary, severity, classification, about }) => {
            let options = ResidualAddOptions {
                summary: summary.clone(),
                severity: severity.clone(),
                classification: classification.clone(),
                claims: about.claim.clone(),
                origin: about.origin.clone(),
                paths: about.path.clone(),
                changes: about.change.clone(),
                producer: about.producer.clone(),
                now_ms: context.now_ms,
            };
            let facts = history::residual_add(repo, &options)?;
            let uncertainty = facts.uncertainty.clone();
            Ok(Answer::done(Added(facts)).doubting(&uncertainty))
        }
        Action::Resolve(args) => {
            let options = ResidualResolveOptions {
                id: args.id.clone(),
                disposition: args.disposition.clone(),
                reason: args.reason.clone(),
                evidence: args.evidence.clone(),
                reconciliation: args.reconciliation.clone(),
                producer: args.producer.clone(),
                now_ms: context.now_ms,
            };
            Ok(Answer::done(Resolved(history::residual_resolve(repo, &options)?)))
        }
        Action::Link(LinkArgs { id, about }) => {
            let options = ResidualLinkOptions {
                id: id.clone(),
                claims: about.claim.clone(),
                origin: about.origin.clone(),
                paths: about.path.clone(),
                changes: about.change.clone(),
                producer: about.producer.clone(),
                now_ms: context.now_ms,
            };
            Ok(Answer::done(Linked(history::residual_link(repo, &options)?)))
        }
        Action::Show(ShowArgs { id }) => {
            let facts = context.knowing(|session| knowledge::residual_show(session, id))?;
            Ok(Answer::of(Shown(facts.row)).long().doubting(&facts.uncertainty))
        }
    }
}

struct Shown(ResidualEntry);

impl View for Shown {
    fn json(&self) -> Map<String, Value> {
        residual_json(&self.0).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let row = &self.0;
        let style = told::residual_style(row.disposition, row.severity);
        out.lit("residual ").named(&row.id, row.name.as_deref()).lit("  ");
        out.paint(style, row.disposition).lit("  ").paint(style, row.severity).end();
        out.field("left", &row.summary);
        for (label, text) in [("class", row.classification), ("reason", row.reason.as_deref())] {
            if let Some(text) = text {
                out.field(label, text);
            }
        }
        for path in row.scope.iter().flat_map(|scope| &scope.paths) {
            out.field("about", path);
        }
        for (label, ids) in [
            ("shown by", row.origin_evidence.as_slice()),
            ("against", &row.affected_claims),
            ("about", &row.affected_changes),
            ("declared by", row.declared_by.as_slice()),
        ] {
            for id in ids {
                out.lit("  ").lit(label).lit(": ").lookup(id).end();
            }
        }
        out.field("changes since", &row.descendant_changes.to_string());
    }
}

struct Added(ResidualAdded);

impl View for Added {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        let trajectory = facts.trajectory.as_ref();
        Obj::new()
            .put("id", &facts.id)
            .put("residual", &facts.id)
            .put("name", &facts.name)
            .opt("trajectory", trajectory.map(|named| &named.id))
            .opt("trajectory_name", trajectory.and_then(|named| named.name.as_ref()))
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit("residual ").named(&facts.id, Some(&facts.name)).end();
        if let Some(trajectory) = &facts.trajectory {
            out.lit("  trajectory: ").named(&trajectory.id, trajectory.name.as_deref()).end();
        }
    }
}

fn version_json(facts: &ResidualVersion) -> Obj {
    Obj::new()
        .put("previous", &facts.previous)
        .put("version", &facts.version)
        .put("disposition", facts.disposition.as_str())
        .put("name", &facts.name)
}

struct Resolved(ResidualVersion);

impl View for Resolved {
    fn json(&self) -> Map<String, Value> {
        version_json(&self.0).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit("residual ").named(&facts.version, Some(&facts.name));
        out.lit(" marked ").lit(facts.disposition.as_str()).end();
    }
}

struct Linked(ResidualVersion);

impl View for Linked {
    fn json(&self) -> Map<String, Value> {
        version_json(&self.0).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit("residual ").named(&facts.version, Some(&facts.name));
        out.lit(if facts.version == facts.previous { " was linked already" } else { " linked" }).end();
    }
}
