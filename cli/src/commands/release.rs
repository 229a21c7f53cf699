//! `gemel release`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, counted};
use gemel_repo::decision::{self, ReleaseFacts, ReleaseOptions};
use gemel_repo::knowledge::{EvidenceRow, Verdict};
use serde_json::{Map, Value};

/// Release the state of a trajectory with what is known about it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The trajectory, by any of its versions
    trajectory: String,
    /// Name of the release [default: the next Rl number]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Version of what is released
    #[arg(long, value_name = "TEXT")]
    version: Option<String>,
    /// Case it is about
    #[arg(long, value_name = "ID")]
    case: Option<String>,
    /// State to release [default: the result of the trajectory's last change]
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Refuse below this verdict: READY, READY_WITH_RESIDUALS or NOT_READY
    #[arg(long, value_name = "VERDICT")]
    require: Option<String>,
    /// A file that is shipped, with the 64 hex digits of its digest
    #[arg(long, value_name = "NAME=DIGEST")]
    artifact: Vec<String>,
    /// Release that this one follows
    #[arg(long, value_name = "NAME")]
    supersedes: Option<String>,
    /// Who releases [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let options = ReleaseOptions {
        trajectory: args.trajectory.clone(),
        name: args.name.clone(),
        version: args.version.clone(),
        case: args.case.clone(),
        state: args.state.clone(),
        require: args.require.clone(),
        artifacts: args.artifact.clone(),
        supersedes: args.supersedes.clone(),
        producer: args.producer.clone(),
        now_ms: context.now_ms,
    };
    let facts = context.knowing(|session| decision::release(session, &options))?;
    let doubts = facts.uncertainty.clone();
    Ok(Answer::done(Released(facts)).doubting(&doubts))
}

struct Released(ReleaseFacts);

impl View for Released {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .put("release", &facts.release)
            .put("name", &facts.name)
            .opt("version", facts.version.as_ref())
            .put("state", &facts.state)
            .put("trajectories", &vec![facts.trajectory])
            .put("cases", &facts.cases)
            .put("changes", &facts.changes)
            .put("claims", &facts.claims)
            .put("residuals", &facts.open_residuals)
            .put("readiness", facts.readiness.verdict.as_str())
            .rows("readiness_reasons", &facts.readiness.reasons, ToString::to_string)
            .put("readiness_evidence", &facts.readiness_evidence)
            .put("open_residuals", &facts.open_residuals)
            .rows("verification_scope", &facts.verification_scope, scope_json)
            .opt("supersedes", facts.supersedes.as_ref())
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.named(&facts.release, Some(&facts.name));
        if let Some(version) = &facts.version {
            out.lit("  ").text(version);
        }
        out.end();
        out.lit("  state: ").lookup(&facts.state).end();
        let style = match facts.readiness.verdict {
            Verdict::Ready => Style::Good,
            Verdict::ReadyWithResiduals => Style::Caution,
            Verdict::NotReady => Style::Bad,
        };
        out.lit("  readiness: ").paint(style, facts.readiness.verdict.as_str()).end();
        for reason in &facts.readiness.reasons {
            out.lit("    ").text(&reason.to_string()).end();
        }
        let count = |len: usize, noun: &str| counted(u64::try_from(len).unwrap_or(u64::MAX), noun);
        out.field("proof", &format!("{} piece(s) of evidence", facts.readiness_evidence.len()));
        out.field("unresolved", &count(facts.open_residuals.len(), "residual"));
    }
}

fn scope_json(row: &EvidenceRow) -> Obj {
    match row {
        EvidenceRow::Platform { platform, arch, result } => {
            Obj::new().put("platform", platform).put("arch", arch).put("outcome", *result)
        }
        EvidenceRow::Oracle { oracle, .. } => Obj::new().put("oracle", oracle),
    }
}
