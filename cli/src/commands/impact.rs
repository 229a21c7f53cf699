//! `gemel impact`.

use super::told;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table, counted};
use gemel_object::Gid;
use gemel_repo::knowledge::{self, ImpactFacts, RefreshRow};
use serde_json::{Map, Value};

/// Show what a change may affect: evidence to refresh, claims, residuals, and what must be verified again
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The change
    #[arg(value_name = "CHANGE")]
    change: String,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let facts = context.knowing(|session| knowledge::impact(session, &args.change))?;
    let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
    Ok(Answer::of(Affected { facts }).long().omitting(&omitted).doubting(&uncertainty))
}

struct Affected {
    facts: ImpactFacts,
}

impl View for Affected {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.facts;
        let entities: [Gid; 0] = [];
        let touches = Obj::new().put("paths", &facts.paths).put("entities", entities.as_slice());
        let row = |row: &RefreshRow| {
            Obj::new()
                .put("evidence", &row.evidence)
                .opt("supports", row.supports.as_ref())
                .put("rule", row.rule)
        };
        Obj::new()
            .put("change", &facts.change)
            .put("touches", &touches)
            .rows("may_require_refresh", &facts.may_require_refresh, row)
            .put("affected_claims", &facts.affected_claims)
            .put("affected_residuals", &facts.affected_residuals)
            .put("verification_required", &facts.verification_required)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        let name = |id: &Gid| facts.names.get(id);
        for path in &facts.paths {
            out.lit("touches ").text(path).end();
        }
        let mut table = Table::default();
        for row in &facts.may_require_refresh {
            let supports = row.supports.map(|claim| told::label(&claim, name(&claim), out));
            table.row([
                told::label(&row.evidence, name(&row.evidence), out),
                (Style::Dim, row.rule.to_owned()),
                supports.unwrap_or((Style::Dim, String::new())),
            ]);
        }
        table.print("may require refresh: ", out);
        for (what, ids) in [("claim", &facts.affected_claims), ("residual", &facts.affected_residuals)] {
            for id in ids {
                let (style, label) = told::label(id, name(id), out);
                out.lit("affected ").lit(what).lit(": ").paint(style, &label).end();
            }
        }
        for place in &facts.verification_required {
            out.lit("verification required: ").text(place).end();
        }
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        out.lit(&counted(count(facts.paths.len()), "path")).lit(", ");
        out.lit(&counted(count(facts.affected_claims.len()), "claim")).lit(" and ");
        out.lit(&counted(count(facts.affected_residuals.len()), "residual")).lit(" affected").end();
    }
}
