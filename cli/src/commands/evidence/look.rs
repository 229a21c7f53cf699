//! How a piece of evidence looks (query surface, section 4.4).

use crate::color::Style;
use crate::commands::told;
use crate::json::Obj;
use crate::render::{Printer, Table};
use gemel_repo::knowledge::{CaseCounts, EvidenceEntry, ReproductionFacts};

/// A row of evidence.
pub(in crate::commands) fn row_json(row: &EvidenceEntry) -> Obj {
    let freshness = Obj::new().put("status", row.freshness.status).put("caused_by", &row.freshness.caused_by);
    Obj::new()
        .put("id", &row.id)
        .opt("name", row.name.as_ref())
        .put("kind", row.kind)
        .opt("subject", row.subject.as_ref())
        .opt("outcome", row.outcome.as_ref())
        .opt("evaluated_state", row.evaluated_state.as_ref())
        .put("freshness", &freshness)
        .opt("reproduction", reproduction_json(&row.reproduction).as_ref())
        .put("producer", &row.producer)
        .opt("environment", row.environment.as_ref())
        .opt("platform", row.platform.as_ref())
        .opt("arch", row.arch.as_ref())
        .opt("command", row.command.as_ref())
        .opt("counts", row.counts.map(counts_json).as_ref())
        .opt("exit_code", row.exit_code.as_ref())
        .put("claims", &row.claims)
}

/// What is recorded; nothing when nothing is.
fn reproduction_json(reproduction: &ReproductionFacts) -> Option<Obj> {
    let recorded = *reproduction != ReproductionFacts::default();
    recorded.then(|| {
        Obj::new()
            .opt("replayable", reproduction.replayable.as_ref())
            .opt("inputs_present", reproduction.inputs_present.as_ref())
            .opt("inputs_remote", reproduction.inputs_remote.as_ref())
            .opt("policy_required", reproduction.policy_required.as_ref())
    })
}

fn counts_json(counts: CaseCounts) -> Obj {
    Obj::new()
        .put("passed", &counts.passed)
        .put("failed", &counts.failed)
        .put("skipped", &counts.skipped)
        .put("total", &counts.total)
}

/// One line a piece of evidence.
pub(super) fn table(rows: &[EvidenceEntry], out: &mut Printer<'_>) {
    if rows.is_empty() {
        out.lit("no evidence").end();
    }
    let mut table = Table::default();
    for row in rows {
        table.row([
            told::label(&row.id, row.name.as_ref(), out),
            (told::outcome_style(row.outcome), row.outcome.unwrap_or("no result").to_owned()),
            (freshness_style(row.freshness.status), row.freshness.status.to_owned()),
            (Style::Dim, row.kind.to_owned()),
            (Style::Plain, row.subject.clone().unwrap_or_default()),
            (Style::Dim, place(row).unwrap_or_default()),
        ]);
    }
    table.print("", out);
}

/// Everything about one piece of evidence.
pub(super) fn whole(row: &EvidenceEntry, out: &mut Printer<'_>) {
    out.lit("evidence ").named(&row.id, row.name.as_deref()).end();
    out.lit("  ").lit(row.kind).lit(": ");
    out.paint(told::outcome_style(row.outcome), row.outcome.unwrap_or("no result"));
    if let Some(counts) = &row.counts {
        let CaseCounts { passed, failed, skipped, .. } = counts;
        out.lit(&format!("  {passed} passed, {failed} failed, {skipped} skipped"));
    }
    out.end();
    if let Some(subject) = &row.subject {
        out.field("subject", subject);
    }
    if let Some(state) = &row.evaluated_state {
        out.lit("  state: ").lookup(state).end();
    }
    out.lit("  freshness: ").paint(freshness_style(row.freshness.status), row.freshness.status);
    for (at, change) in row.freshness.caused_by.iter().take(CAUSES).enumerate() {
        out.lit(if at == 0 { " since " } else { ", " }).lookup(change);
    }
    if row.freshness.caused_by.len() > CAUSES {
        out.lit(&format!(" and {} more", row.freshness.caused_by.len() - CAUSES));
    }
    out.end();
    if let Some(place) = place(row) {
        out.field("platform", &place);
    }
    if let Some(command) = &row.command {
        out.field("command", command);
    }
    if let Some(code) = row.exit_code {
        out.field("exit code", &code.to_string());
    }
    out.lit("  producer: ").lookup(&row.producer).end();
    for claim in &row.claims {
        out.lit("  claim: ").lookup(claim).end();
    }
}

/// Changes shown that made evidence require refresh.
const CAUSES: usize = 4;

fn place(row: &EvidenceEntry) -> Option<String> {
    row.platform.as_ref().zip(row.arch.as_ref()).map(|(platform, arch)| format!("{platform}/{arch}"))
}

fn freshness_style(status: &str) -> Style {
    match status {
        "FRESH" => Style::Good,
        _ => Style::Caution,
    }
}
