//! `gemel why`.

use super::attempts::attempt_json;
use super::told;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table, first_line};
use gemel_object::Gid;
use gemel_repo::knowledge::{self, ClaimRow, ResidualRow, WhyEvidence, WhyFacts, WhyNode};
use serde_json::{Map, Value};

/// Tell why a thing is as it is: who introduced it, for what, what is claimed about it, and what was tried before
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A path, PATH:LINE, an entity, or an object by name or identity
    #[arg(value_name = "SUBJECT")]
    subject: String,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let facts = context.knowing(|session| knowledge::why(session, &args.subject))?;
    let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
    Ok(Answer::of(Explained { facts }).long().omitting(&omitted).doubting(&uncertainty))
}

struct Explained {
    facts: WhyFacts,
}

impl View for Explained {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.facts;
        let identity = &facts.current_identity;
        let identity = Obj::new()
            .opt("path", identity.path.as_ref())
            .put("lineage", identity.lineage)
            .put("confidence", identity.confidence);
        let node = |node: &WhyNode| self.node_json(node);
        Obj::new()
            .put("subject", &facts.subject)
            .put("current_identity", &identity)
            .opt("introduced_by", facts.introduced_by.as_ref().map(node).as_ref())
            .opt("last_modified", facts.last_modified_by.as_ref().map(|node| &node.change.id))
            .opt("last_modified_by", facts.last_modified_by.as_ref().map(node).as_ref())
            .rows("previous_approaches", &facts.previous_approaches, |row| {
                attempt_json(row).opt("reason", row.termination_reason.as_ref())
            })
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        if let Some(path) = facts.current_identity.path.as_ref().filter(|path| **path != facts.subject) {
            out.lit("now: ").text(path).end();
        }
        match &facts.introduced_by {
            Some(node) => self.node(node, "introduced by ", out),
            None => drop(out.lit("nothing recorded touches ").text(&facts.subject).end()),
        }
        if let Some(node) = &facts.last_modified_by
            && facts.introduced_by.as_ref().is_none_or(|first| first.change.id != node.change.id)
        {
            out.lit("last modified by ").named(&node.change.id, node.change.name.as_deref());
            out.lit("  ").text(&first_line(node.change.summary.as_deref().unwrap_or_default())).end();
        }
        let mut table = Table::default();
        for row in &facts.previous_approaches {
            table.row([
                (Style::Name, row.name.clone()),
                (told::attempt_style(row.outcome), row.outcome.to_owned()),
                (
                    Style::Plain,
                    first_line(row.termination_reason.as_deref().unwrap_or_default()).into_owned(),
                ),
            ]);
        }
        table.print("tried before: ", out);
    }
}

impl Explained {
    fn node_json(&self, node: &WhyNode) -> Obj {
        let named = |id: &Gid| self.facts.names.get(id);
        let change = Obj::new()
            .put("id", &node.change.id)
            .opt("name", node.change.name.as_ref())
            .opt("summary", node.change.summary.as_ref());
        let claim = |row: &ClaimRow| {
            Obj::new()
                .put("id", &row.id)
                .opt("name", named(&row.id))
                .put("predicate", &row.predicate)
                .put("status", row.status)
                .put("basis", row.basis)
        };
        let residual = |row: &ResidualRow| {
            Obj::new()
                .put("id", &row.id)
                .opt("name", named(&row.id))
                .put("summary", &row.summary)
                .put("severity", &row.severity)
                .put("disposition", &row.disposition)
        };
        let decision = node.decision.as_ref().map(|decision| {
            Obj::new()
                .put("id", &decision.id)
                .put("name", &decision.name)
                .put("summary", &decision.summary)
                .opt("rationale", decision.rationale.as_ref())
        });
        Obj::new()
            .put("change", &change)
            .opt("intent", node.intent.as_ref())
            .opt("claim", node.claim.as_ref().map(claim).as_ref())
            .put("claims", &node.claims)
            .rows("evidence", &node.evidence, |row| evidence_json(row, named(&row.id)))
            .rows("residuals", &node.residuals, residual)
            .opt("decision", decision.as_ref())
    }

    fn node(&self, node: &WhyNode, how: &str, out: &mut Printer<'_>) {
        let name = |id: &Gid| self.facts.names.get(id);
        out.lit(how).named(&node.change.id, node.change.name.as_deref());
        out.lit("  ").text(&first_line(node.change.summary.as_deref().unwrap_or_default())).end();
        if let Some(intent) = &node.intent {
            out.lit("  intent: ").named(&intent.id, intent.name.as_deref());
            out.lit("  ").text(&first_line(intent.summary.as_deref().unwrap_or_default())).end();
        }
        if let Some(claim) = &node.claim {
            let (style, label) = told::label(&claim.id, name(&claim.id), out);
            out.lit("  claim: ").paint(style, &label).lit("  ");
            out.paint(told::claim_style(claim.status), claim.status);
            out.lit("  ").text(&first_line(&claim.predicate)).end();
        }
        let mut table = Table::default();
        for row in &node.evidence {
            table.row([
                told::label(&row.id, name(&row.id), out),
                (told::outcome_style(row.outcome), row.outcome.unwrap_or("no result").to_owned()),
                (Style::Dim, row.kind.to_owned()),
                (Style::Dim, row.freshness.status.to_owned()),
                (Style::Plain, row.subject.clone().unwrap_or_default()),
            ]);
        }
        table.print("  evidence: ", out);
        let mut table = Table::default();
        for row in &node.residuals {
            let style = told::residual_style(&row.disposition, &row.severity);
            table.row([
                told::label(&row.id, name(&row.id), out),
                (style, row.disposition.clone()),
                (style, row.severity.clone()),
                (Style::Plain, first_line(&row.summary).into_owned()),
            ]);
        }
        table.print("  residual: ", out);
        if let Some(decision) = &node.decision {
            out.lit("  decision: ").paint(Style::Name, &decision.name);
            out.lit("  ").text(&first_line(&decision.summary)).end();
        }
    }
}

fn evidence_json(row: &WhyEvidence, name: Option<&String>) -> Obj {
    let freshness = Obj::new().put("status", row.freshness.status).put("caused_by", &row.freshness.caused_by);
    Obj::new()
        .put("id", &row.id)
        .opt("name", name)
        .put("kind", row.kind)
        .opt("subject", row.subject.as_ref())
        .opt("outcome", row.outcome.as_ref())
        .opt("label", row.label.as_ref())
        .put("freshness", &freshness)
}
