//! `gemel gc --dry-run`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table, counted, size};
use gemel_repo::history::{self, GcPlan, GcRow};
use serde_json::{Map, Value};

/// Show what a collection would look at; nothing is deleted
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan only; required, because this version collects nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    if !args.dry_run {
        return Err(CliError::not_built("`gemel gc` without --dry-run"));
    }
    let plan = history::gc_plan(context.repo()?, &*context.progress())?;
    Ok(Answer::of(Planned(plan)).long())
}

struct Planned(GcPlan);

impl View for Planned {
    fn json(&self) -> Map<String, Value> {
        let plan = &self.0;
        let row = |row: &GcRow| {
            Obj::new()
                .put("tier", &row.tier)
                .put("policy", &row.policy)
                .put("reachable", &row.reachable)
                .put("reachable_bytes", &row.reachable_bytes)
                .put("unreachable", &row.unreachable)
                .put("unreachable_bytes", &row.unreachable_bytes)
        };
        Obj::new()
            .put("dry_run", &true)
            .put("objects", &plan.objects)
            .rows("tiers", &plan.rows, row)
            .put("candidates", &plan.candidates)
            .put("candidate_count", &plan.candidate_count)
            .put("default_unknown", &plan.default_unknown)
            .put("enabled", &plan.enabled)
            .put("missing", &plan.missing)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let plan = &self.0;
        out.lit(&counted(plan.objects, "object")).lit(" stored").end();
        let mut table = Table::default();
        for row in &plan.rows {
            table.row([
                (Style::Plain, format!("tier {}", row.tier)),
                (Style::Dim, row.policy.clone()),
                (Style::Plain, format!("{} reachable ({})", row.reachable, size(row.reachable_bytes))),
                (Style::Plain, format!("{} unreachable ({})", row.unreachable, size(row.unreachable_bytes))),
            ]);
        }
        table.print("  ", out);
        let enabled = if plan.enabled { "enabled" } else { "disabled" };
        out.lit("collection is ").lit(enabled).lit(" in the config; unassigned objects: ");
        out.text(&plan.default_unknown).end();
        out.lit(&counted(plan.candidate_count, "candidate")).end();
        for id in &plan.candidates {
            out.lit("  ").lit(id.family().name()).lit(" ").named(id, None).end();
        }
        for id in &plan.missing {
            out.lit("  ").paint(Style::Bad, "missing").lit(" ").text(&id.to_string()).end();
        }
    }
}
