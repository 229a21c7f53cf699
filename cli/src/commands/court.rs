//! `gemel court`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::detect;
use crate::error::CliError;
use crate::ids::hex;
use crate::json::Obj;
use crate::render::Printer;
use gemel_repo::court::{self, CourtFacts, CourtOptions, CourtPlan, TIMEOUT_S, Verdict, Way};
use gemel_repo::history::EnvironmentOptions;
use serde_json::{Map, Value};

/// Run the command of an evidence once more, if the policy of the repository lets it run
///
/// The only command that executes anything recorded. `config.execution_policy` decides: never_auto_execute runs
/// nothing, policy_gated runs under a shell with --allow, allowlist runs what .gemel/court.allowlist names. What is
/// observed becomes new evidence about the head state; the evidence it repeats stays as it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Evidence whose command runs
    #[arg(value_name = "EVIDENCE")]
    evidence: String,
    /// Run it although the policy is policy_gated
    #[arg(long)]
    allow: bool,
    /// Seconds the command gets, 1 to 3600 [default: 300]
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// Show the command and what the policy says of it; run nothing
    #[arg(long)]
    dry_run: bool,
    /// Who observes it [default: the shared producer court-runner]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let options = CourtOptions {
        evidence: args.evidence.clone(),
        allow: args.allow,
        timeout_s: args.timeout,
        producer: args.producer.clone(),
        environment: Some(detect::machine(EnvironmentOptions::default())),
        now_ms: context.now_ms,
    };
    let (least, most, _) = TIMEOUT_S;
    let notice = args.timeout.filter(|s| !(least..=most).contains(s));
    let notice = notice.map(|s| format!("--timeout {s} was taken for {}", s.clamp(least, most)));
    let repo = context.repo()?;
    let mut answer = if args.dry_run {
        Answer::of(Planned(court::plan(repo, &options)?))
    } else {
        let facts = court::run(repo, &options, &*context.progress())?;
        let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
        Answer::done(Observed(facts)).omitting(&omitted).doubting(&uncertainty)
    };
    answer.notice = notice;
    Ok(answer)
}

struct Planned(CourtPlan);

impl View for Planned {
    fn json(&self) -> Map<String, Value> {
        let plan = &self.0;
        let (denied, way) = match &plan.verdict {
            Verdict::Denied(reason) => (Some(reason), None),
            Verdict::Runs(way) => (None, Some(way)),
        };
        let words = match way {
            Some(Way::Words(words)) => Some(words),
            _ => None,
        };
        Obj::new()
            .put("source", &plan.source)
            .put("command", &plan.command)
            .put("execution_policy", plan.policy.as_str())
            .put("verdict", if denied.is_some() { "denied" } else { "runs" })
            .opt("reason", denied)
            .opt("shell", way.map(|way| *way == Way::Shell).as_ref())
            .opt("argv", words)
            .put("timeout", &plan.timeout_s)
            .put("dry_run", &true)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let plan = &self.0;
        out.lit("court of ").named(&plan.source, plan.source_name.as_deref()).lit(": ");
        match &plan.verdict {
            Verdict::Denied(_) => out.paint(Style::Bad, "denied").end(),
            Verdict::Runs(_) => out.paint(Style::Caution, "would run").lit(" (dry run)").end(),
        };
        out.field("command", &plan.command);
        out.field("policy", plan.policy.as_str());
        match &plan.verdict {
            Verdict::Denied(reason) => out.field("reason", reason),
            Verdict::Runs(Way::Shell) => out.field("by", "a shell"),
            Verdict::Runs(Way::Words(words)) => {
                out.field("by", &format!("no shell, {} word(s): {words:?}", words.len()))
            }
        };
        out.field("timeout", &format!("{} s", plan.timeout_s));
    }
}

struct Observed(CourtFacts);

impl View for Observed {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .put("evidence", &facts.evidence)
            .put("name", &facts.name)
            .put("source", &facts.source)
            .put("outcome", facts.outcome.as_str())
            .opt("exit_code", facts.exit_code.as_ref())
            .opt("stdout_digest", facts.stdout_digest.map(|digest| hex(&digest)).as_ref())
            .opt("stderr_digest", facts.stderr_digest.map(|digest| hex(&digest)).as_ref())
            .put("detail", &facts.detail)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit("court: ").named(&facts.evidence, Some(&facts.name));
        out.lit(&format!(" [{}]", facts.outcome.as_str())).end();
        if let Some(code) = facts.exit_code {
            out.field("exit code", &code.to_string());
        }
        if !facts.detail.is_empty() {
            out.field("detail", facts.detail.trim_end());
        }
    }
}
