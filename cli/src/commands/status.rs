//! `gemel status`.

use super::told::{claim_style, residual_style};
use super::workspace::standing;
use super::{evidence, policy};
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::{Json, Obj};
use crate::render::{Printer, Table, counted, first_line};
use gemel_object::Gid;
use gemel_repo::facts::{PathChange, PathStatus};
use gemel_repo::history::{DEFAULT_WORKSPACE, Standing};
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
    let options = StatusOptions {
        workspace: args.workspace.clone(),
        scope: args.scope.clone(),
        verify: args.verify,
        verbose: args.verbose,
    };
    let facts = context.knowing(|session| knowledge::status(session, &options, &*context.progress()))?;
    let exit = if args.exit_code { exit_status(facts.readiness.verdict) } else { 0 };
    let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
    let view = Told { facts, verbose: args.verbose };
    Ok(Answer::of(view).long().exit(exit).omitting(&omitted).doubting(&uncertainty))
}

/// Identities listed with a claim at most.
const LISTED: usize = 3;

fn exit_status(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Ready => 0,
        Verdict::ReadyWithResiduals => 10,
        Verdict::NotReady => 11,
    }
}

struct Told {
    facts: StatusFacts,
    verbose: bool,
}

impl View for Told {
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
            .put("behind", &(facts.workspace.standing == Standing::Behind))
            .put("differs", &(facts.workspace.standing != Standing::AtHead));
        let mut answer = Obj::new()
            .opt("trajectory", facts.trajectory.as_ref())
            .opt("intent", facts.intent.as_ref())
            .opt("state", facts.state.as_ref())
            .put("changed", &changed)
            .put("claims", &counts_json(&facts.claims))
            .rows("evidence", &facts.evidence, evidence_json)
            .rows("residuals", &facts.residuals, |row| residual_json(row, facts.names.get(&row.id)))
            .put("previous_attempts", &facts.previous_attempts)
            .put("readiness", &readiness)
            .put("workspace", &workspace);
        if self.verbose {
            answer =
                answer.rows("claim_list", &facts.claim_list, |row| claim_json(row, facts.names.get(&row.id)));
            answer = answer.put("verbose", &self.verbose_json());
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
            self.claim_table(out);
        }
        evidence_table(&facts.evidence, out);
        self.residual_table(out);
        self.readiness(out);
    }
}

impl Told {
    /// The inputs of readiness, for those who want to check it.
    fn verbose_json(&self) -> Obj {
        let facts = &self.facts;
        let basis = |claim: &ClaimRow| {
            Obj::new()
                .put("id", &claim.id)
                .put("status", claim.status)
                .put("basis", claim.basis)
                .opt("unverified_reason", claim.unverified_reason.as_ref())
                .opt("subject", claim.subject.as_ref())
                .put("supporting", &claim.supporting)
                .put("contradicting", &claim.contradicting)
                .put("stale", &claim.stale)
                .put("residuals", &claim.unsettled)
        };
        let rules: Vec<u8> = facts.readiness.reasons.iter().map(knowledge::Reason::rule).collect();
        let readiness = Obj::new().put("rules", &rules).put("scope", facts.readiness.scope);
        let answer = Obj::new().rows("claims", &facts.claim_list, basis);
        let Some(inputs) = &facts.inputs else { return answer.put("readiness", &readiness) };
        let readiness = readiness
            .rows("required_verification", &inputs.required, policy::required_json)
            .rows("missing_verification", &inputs.missing, policy::required_json)
            .put("unsettled_residuals", &inputs.unsettled);
        answer.rows("evidence", &inputs.evidence, evidence::row_json).put("readiness", &readiness)
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
        if let (Some(words), Some(state)) = (standing(workspace.standing), &workspace.state) {
            out.lit("workspace state: ").named(&state.id, state.name.as_deref());
            out.lit(" (").paint(Style::Caution, words).lit(")").end();
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
                self.reason_line(reason, out);
            }
        }
    }

    /// The name of a thing told about, else the digits of its identity.
    fn label(&self, id: &Gid, out: &Printer<'_>) -> (Style, String) {
        match self.facts.names.get(id) {
            Some(name) => (Style::Name, name.clone()),
            None => (Style::Id, out.short(id)),
        }
    }

    fn reason_line(&self, reason: &knowledge::Reason, out: &mut Printer<'_>) {
        match reason {
            knowledge::Reason::Residual { id, disposition, severity } => {
                let (style, label) = self.label(id, out);
                out.lit("  ").text(disposition).lit(" residual ").paint(style, &label);
                out.lit(" (").text(severity).lit(")").end();
            }
            knowledge::Reason::Claim { id, word, .. } => {
                let (style, label) = self.label(id, out);
                out.lit("  ").lit(word).lit(" claim ").paint(style, &label);
                let list = &self.facts.claim_list;
                let found = list.binary_search_by_key(id, |claim| claim.id).ok().and_then(|at| list.get(at));
                let why = found.map(|claim| self.why(claim, out)).unwrap_or_default();
                if !why.is_empty() {
                    out.lit(": ").text(&why);
                }
                out.end();
            }
            reason => {
                out.lit("  ").text(&reason.to_string()).end();
            }
        }
    }

    /// What keeps a claim from being supported without question.
    fn why(&self, claim: &ClaimRow, out: &Printer<'_>) -> String {
        let list = |what: &str, ids: &[Gid]| {
            let mut labels: Vec<String> = ids.iter().take(LISTED).map(|id| self.label(id, out).1).collect();
            if ids.len() > LISTED {
                labels.push(format!("{} more", ids.len() - LISTED));
            }
            (!ids.is_empty()).then(|| format!("{what} {}", labels.join(", ")))
        };
        let parts = match claim.status {
            "CONTRADICTED" | "PARTIALLY_SUPPORTED" => {
                [list("against it", &claim.contradicting), list("unresolved", &claim.unsettled)]
            }
            "STALE" => [list("may require refresh:", &claim.stale), None],
            _ => [claim.unverified_reason.map(str::to_owned), None],
        };
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn claim_table(&self, out: &mut Printer<'_>) {
        let mut table = Table::default();
        for claim in &self.facts.claim_list {
            table.row([
                self.label(&claim.id, out),
                (claim_style(claim.status), claim.status.to_owned()),
                (Style::Plain, claim.subject.clone().unwrap_or_default()),
                (Style::Plain, first_line(&claim.predicate).into_owned()),
                (Style::Dim, self.why(claim, out)),
            ]);
        }
        table.print("  ", out);
    }

    fn residual_table(&self, out: &mut Printer<'_>) {
        let mut table = Table::default();
        for residual in &self.facts.residuals {
            let style = residual_style(&residual.disposition, &residual.severity);
            table.row([
                self.label(&residual.id, out),
                (style, residual.disposition.clone()),
                (style, residual.severity.clone()),
                (Style::Plain, first_line(&residual.summary).into_owned()),
            ]);
        }
        table.print("residual: ", out);
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
    let (deleted, renamed) = (count(&[PathStatus::Deleted]), count(&[PathStatus::Renamed]));
    let files = counted(u64::try_from(changed.len()).unwrap_or(u64::MAX), "file");
    out.lit(&files).lit(&format!(" changed: +{added} ~{modified} -{deleted} >{renamed}")).end();
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
            PathStatus::Modified | PathStatus::TypeChanged | PathStatus::Renamed => Style::Changed,
        };
        let path = match &change.from {
            Some(from) => format!("{from} -> {}", change.path),
            None => change.path.clone(),
        };
        table.row([(style, change.status.as_str().to_owned()), (Style::Plain, path)]);
    }
    table.print("  ", out);
}

fn evidence_table(evidence: &[EvidenceRow], out: &mut Printer<'_>) {
    let (mut platforms, mut oracles) = (Table::default(), Table::default());
    for row in evidence {
        match row {
            EvidenceRow::Platform { platform, arch, result } => {
                let style = match *result {
                    "pass" => Style::Good,
                    "fail" => Style::Bad,
                    _ => Style::Caution,
                };
                let place = format!("{platform}/{arch}");
                platforms.row([(Style::Plain, place), (style, (*result).to_owned())]);
            }
            EvidenceRow::Oracle { oracle, passed, total } => {
                let rate = format!("{passed} of {total} match");
                oracles.row([(Style::Plain, oracle.clone()), (Style::Plain, rate)]);
            }
        }
    }
    platforms.print("evidence: ", out);
    oracles.print("oracle: ", out);
}

/// A changed path (query surface, section 4.1).
pub(super) fn path_json(change: &PathChange) -> Obj {
    Obj::new()
        .put("path", &change.path)
        .put("status", change.status.as_str())
        .opt("from", change.from.as_ref())
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

fn claim_json(claim: &ClaimRow, name: Option<&String>) -> Obj {
    Obj::new()
        .put("id", &claim.id)
        .opt("name", name)
        .put("predicate", &claim.predicate)
        .put("status", claim.status)
}

fn residual_json(residual: &ResidualRow, name: Option<&String>) -> Obj {
    Obj::new()
        .put("id", &residual.id)
        .opt("name", name)
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
