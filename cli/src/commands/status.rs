//! `gemel status`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::{Json, Obj};
use crate::render::{Printer, Table, counted, first_line};
use gemel_repo::facts::{PathChange, PathStatus};
use gemel_repo::history::DEFAULT_WORKSPACE;
use gemel_repo::knowledge::{
    self, ClaimCounts, ClaimRow, EvidenceRow, ResidualRow, StatusFacts, StatusOptions, Verdict,
};
use serde_json::{Map, Value};

/// Show where things stand: what changed, what is claimed, what is unresolved
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List changed paths, claims with their basis, and all readiness reasons
    #[arg(long)]
    verbose: bool,
    /// What readiness looks at: `trajectory` or `repository` [default: head's history and the current trajectory]
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// Workspace to compare [default: default]
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Exit with 0 when READY, 10 when READY_WITH_RESIDUALS, 11 when NOT_READY
    #[arg(long)]
    exit_code: bool,
    /// Read every file, whatever the stat cache remembers
    #[arg(long)]
    verify: bool,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let options =
        StatusOptions { workspace: args.workspace.clone(), scope: args.scope.clone(), verify: args.verify };
    let facts = knowledge::status(context.repo()?, &options, &*context.progress())?;
    let exit = if args.exit_code { exit_status(facts.readiness.verdict) } else { 0 };
    let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
    let view = Standing { facts, verbose: args.verbose };
    Ok(Answer::of(view).long().exit(exit).omitting(&omitted).doubting(&uncertainty))
}

fn exit_status(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Ready => 0,
        Verdict::ReadyWithResiduals => 10,
        Verdict::NotReady => 11,
    }
}

struct Standing {
    facts: StatusFacts,
    verbose: bool,
}

impl View for Standing {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.facts;
        let changed = Obj::new().put("files", &facts.changed.len()).put("semantic_entities", &0).rows(
            "paths",
            &facts.changed,
            path_json,
        );
        let readiness = Obj::new()
            .put("verdict", facts.readiness.verdict.as_str())
            .rows("reasons", &facts.readiness.reasons, ToString::to_string)
            .put("scope", facts.readiness.scope);
        let workspace = Obj::new()
            .put("name", &facts.workspace.name)
            .opt("state", facts.workspace.state.as_ref())
            .put("pending", &facts.workspace.pending)
            .put("behind", &facts.workspace.behind);
        let mut answer = Obj::new()
            .opt("trajectory", facts.trajectory.as_ref())
            .opt("intent", facts.intent.as_ref())
            .opt("state", facts.state.as_ref())
            .put("changed", &changed)
            .put("claims", &counts_json(&facts.claims))
            .rows("evidence", &facts.evidence, evidence_json)
            .rows("residuals", &facts.residuals, residual_json)
            .put("previous_attempts", &facts.previous_attempts)
            .put("readiness", &readiness)
            .put("workspace", &workspace);
        if self.verbose {
            answer =
                answer.rows("claim_list", &facts.claim_list, claim_json).put("verbose", &self.verbose_json());
        }
        answer.map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        self.head(out);
        changes(&facts.changed, self.verbose, out);
        let claims = &facts.claims;
        out.lit(&format!("claims: {}/{} supported", claims.supported, claims.proposed));
        for (count, word) in [
            (claims.partially_supported, "partially supported"),
            (claims.contradicted, "contradicted"),
            (claims.stale, "stale"),
            (claims.unverified, "unverified"),
        ] {
            if count > 0 {
                out.lit(&format!(", {count} {word}"));
            }
        }
        out.end();
        if self.verbose {
            claim_table(&facts.claim_list, out);
        }
        evidence_table(&facts.evidence, out);
        residual_table(&facts.residuals, out);
        self.readiness(out);
    }
}

impl Standing {
    /// The inputs of readiness, for those who want to check it.
    fn verbose_json(&self) -> Obj {
        let facts = &self.facts;
        let basis = |claim: &ClaimRow| {
            Obj::new()
                .put("id", &claim.id)
                .put("status", claim.status)
                .put("basis", claim.basis)
                .opt("subject", claim.subject.as_ref())
                .put("supporting", &claim.supporting)
                .put("contradicting", &claim.contradicting)
                .put("stale", &claim.stale)
        };
        let rules: Vec<u8> = facts.readiness.reasons.iter().map(knowledge::Reason::rule).collect();
        let readiness = Obj::new().put("rules", &rules).put("scope", facts.readiness.scope);
        Obj::new().rows("claims", &facts.claim_list, basis).put("readiness", &readiness)
    }

    fn head(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        if let Some(trajectory) = &facts.trajectory {
            out.named(&trajectory.id, trajectory.name.as_deref());
            if let Some(summary) = &trajectory.summary {
                out.lit("  ").text(&first_line(summary));
            }
            out.end();
        } else if let Some(intent) = &facts.intent {
            out.lit("no open trajectory; intent ").named(&intent.id, intent.name.as_deref());
            out.lit("  ").text(&first_line(intent.summary.as_deref().unwrap_or_default())).end();
        } else {
            out.lit("no trajectory yet").end();
        }
        match &facts.state {
            Some(state) => out.lit("state: ").named(&state.id, state.name.as_deref()).end(),
            None => out.lit("state: nothing recorded yet").end(),
        };
        let workspace = &facts.workspace;
        if workspace.name != DEFAULT_WORKSPACE {
            out.lit("workspace: ").paint(Style::Name, &workspace.name).lit(" in ");
            out.text(&workspace.dir.to_string_lossy()).end();
        }
        if workspace.pending {
            out.paint(Style::Caution, "change in progress").lit(" (`gemel change finish` records it)").end();
        }
        if workspace.behind {
            out.paint(Style::Caution, "behind head")
                .lit(": the files started from another state than head's")
                .end();
        }
    }

    fn readiness(&self, out: &mut Printer<'_>) {
        let readiness = &self.facts.readiness;
        let style = match readiness.verdict {
            Verdict::Ready => Style::Good,
            Verdict::ReadyWithResiduals => Style::Caution,
            Verdict::NotReady => Style::Bad,
        };
        out.lit("readiness: ").paint(style, readiness.verdict.as_str());
        if readiness.scope != "default" {
            out.lit(" (scope: ").lit(readiness.scope).lit(")");
        }
        out.end();
        for reason in &readiness.reasons {
            let told_above =
                matches!(reason, knowledge::Reason::Residual { .. } | knowledge::Reason::Nothing { .. });
            if self.verbose || !told_above {
                reason_line(reason, out);
            }
        }
    }
}

fn reason_line(reason: &knowledge::Reason, out: &mut Printer<'_>) {
    match reason {
        knowledge::Reason::Residual { id, disposition, severity } => {
            out.lit("  ")
                .text(disposition)
                .lit(" residual ")
                .named(id, None)
                .lit(" (")
                .text(severity)
                .lit(")")
                .end();
        }
        knowledge::Reason::Claim { id, word, .. } => {
            out.lit("  ").lit(word).lit(" claim ").named(id, None).end();
        }
        reason => {
            out.lit("  ").text(&reason.to_string()).end();
        }
    }
}

fn changes(changed: &[PathChange], list: bool, out: &mut Printer<'_>) {
    if changed.is_empty() {
        out.lit("working tree clean").end();
        return;
    }
    let count = |status: &[PathStatus]| changed.iter().filter(|c| status.contains(&c.status)).count();
    let added = count(&[PathStatus::Added]);
    let modified = count(&[PathStatus::Modified, PathStatus::TypeChanged]);
    let deleted = count(&[PathStatus::Deleted]);
    let files = counted(u64::try_from(changed.len()).unwrap_or(u64::MAX), "file");
    out.lit(&files).lit(&format!(" changed: +{added} ~{modified} -{deleted}")).end();
    if list {
        path_table(changed, out);
    }
}

/// Changed paths, one a line.
pub(super) fn path_table(changed: &[PathChange], out: &mut Printer<'_>) {
    let mut table = Table::default();
    for change in changed {
        let style = match change.status {
            PathStatus::Added => Style::Added,
            PathStatus::Deleted => Style::Removed,
            PathStatus::Modified | PathStatus::TypeChanged => Style::Changed,
        };
        table.row([(style, change.status.as_str().to_owned()), (Style::Plain, change.path.clone())]);
    }
    table.print("  ", out);
}

fn claim_table(claims: &[ClaimRow], out: &mut Printer<'_>) {
    let mut table = Table::default();
    for claim in claims {
        table.row([
            (Style::Id, out.short(&claim.id)),
            (claim_style(claim.status), claim.status.to_owned()),
            (Style::Plain, claim.subject.clone().unwrap_or_default()),
            (Style::Plain, first_line(&claim.predicate).into_owned()),
        ]);
    }
    table.print("  ", out);
}

fn claim_style(status: &str) -> Style {
    match status {
        "SUPPORTED" => Style::Good,
        "CONTRADICTED" => Style::Bad,
        "SUPERSEDED" => Style::Dim,
        _ => Style::Caution,
    }
}

fn evidence_table(evidence: &[EvidenceRow], out: &mut Printer<'_>) {
    let mut table = Table::default();
    for row in evidence {
        match row {
            EvidenceRow::Platform { platform, arch, result } => {
                let style = match *result {
                    "pass" => Style::Good,
                    "fail" => Style::Bad,
                    _ => Style::Caution,
                };
                table.row([
                    (Style::Plain, "evidence:".to_owned()),
                    (Style::Plain, format!("{platform}/{arch}")),
                    (style, (*result).to_owned()),
                ]);
            }
            EvidenceRow::Oracle { oracle, passed, total } => table.row([
                (Style::Plain, "oracle:".to_owned()),
                (Style::Plain, oracle.clone()),
                (Style::Plain, format!("{passed} of {total} match")),
            ]),
        }
    }
    table.print("", out);
}

fn residual_table(residuals: &[ResidualRow], out: &mut Printer<'_>) {
    let mut table = Table::default();
    for residual in residuals {
        let style = match (residual.disposition.as_str(), residual.severity.as_str()) {
            ("open" | "acknowledged", "blocking" | "high") => Style::Bad,
            ("open" | "acknowledged", _) => Style::Caution,
            _ => Style::Dim,
        };
        table.row([
            (Style::Plain, "residual:".to_owned()),
            (Style::Id, out.short(&residual.id)),
            (style, residual.disposition.clone()),
            (style, residual.severity.clone()),
            (Style::Plain, first_line(&residual.summary).into_owned()),
        ]);
    }
    table.print("", out);
}

/// A changed path (query surface, section 4.1).
pub(super) fn path_json(change: &PathChange) -> Obj {
    Obj::new().put("path", &change.path).put("status", change.status.as_str())
}

fn counts_json(claims: &ClaimCounts) -> Obj {
    Obj::new()
        .put("proposed", &claims.proposed)
        .put("supported", &claims.supported)
        .put("partially_supported", &claims.partially_supported)
        .put("contradicted", &claims.contradicted)
        .put("unverified", &claims.unverified)
        .put("stale", &claims.stale)
        .put("superseded", &claims.superseded)
}

fn claim_json(claim: &ClaimRow) -> Obj {
    Obj::new().put("id", &claim.id).put("predicate", &claim.predicate).put("status", claim.status)
}

fn residual_json(residual: &ResidualRow) -> Obj {
    Obj::new()
        .put("id", &residual.id)
        .put("summary", &residual.summary)
        .put("severity", &residual.severity)
        .put("disposition", &residual.disposition)
}

fn evidence_json(row: &EvidenceRow) -> Obj {
    match row {
        EvidenceRow::Platform { platform, arch, result } => {
            Obj::new().put("platform", platform).put("arch", arch).put("result", result)
        }
        EvidenceRow::Oracle { oracle, passed, total } => {
            Obj::new().put("oracle", oracle).put("match_rate", &match_rate(*passed, *total))
        }
    }
}

/// Passed by total, rounded to four digits.
fn match_rate(passed: u64, total: u64) -> Value {
    let (passed, total) = (u128::from(passed), u128::from(total.max(1)));
    let ten_thousandths = (passed * 10_000 + total / 2) / total;
    let rate = u32::try_from(ten_thousandths).map_or(f64::INFINITY, |n| f64::from(n) / 10_000.0);
    rate.json()
}
