//! `gemel reconcile`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, counted};
use gemel_object::Gid;
use gemel_repo::decision::{self, Interaction, ReconcileFacts, ReconcileOptions, TextualConflict};
use serde_json::{Map, Value};

/// Choose among attempts: per path, the first trajectory wins, and a change is adopted whole or not at all
///
/// The inputs stay as they are. Without --apply the result is recorded and head stays; with it head moves, and the files
/// follow unless unrecorded work is in the way.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Trajectories, the one that wins first
    #[arg(required = true, num_args = 2.., value_name = "TRAJECTORIES")]
    trajectories: Vec<String>,
    /// Show what would be decided and record nothing
    #[arg(long, conflicts_with = "apply")]
    plan: bool,
    /// Move head, and the files, to the result
    #[arg(long)]
    apply: bool,
    /// Leave the files and the workspace's state
    #[arg(long, requires = "apply")]
    no_checkout: bool,
    /// Overwrite and remove unrecorded files
    #[arg(long, requires = "apply")]
    force: bool,
    /// Text to add to the rationale
    #[arg(long, value_name = "TEXT")]
    rationale: Option<String>,
    /// Who decides [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let options = ReconcileOptions {
        trajectories: args.trajectories.clone(),
        plan: args.plan,
        apply: args.apply,
        no_checkout: args.no_checkout,
        force: args.force,
        rationale: args.rationale.clone(),
        producer: args.producer.clone(),
        now_ms: context.now_ms,
    };
    let progress = context.progress();
    let facts = context.knowing(|session| decision::reconcile(session, &options, &*progress))?;
    let doubts = facts.plan.uncertainty.clone();
    let answer = if args.plan { Answer::of(Decided(facts)).long() } else { Answer::done(Decided(facts)) };
    Ok(answer.doubting(&doubts))
}

struct Decided(ReconcileFacts);

impl Decided {
    /// What plan and execution answer alike (query surface, section 4.10).
    fn decided(&self) -> Obj {
        let plan = &self.0.plan;
        let claims = Obj::new()
            .put("retained", &plan.claims_retained)
            .put("invalidated", &plan.claims_invalidated)
            .put("verification_required", &plan.verification_required);
        Obj::new()
            .put("adopted", &plan.adopted)
            .put("rejected", &plan.rejected)
            .rows("textual_conflicts", &plan.textual_conflicts, conflict_json)
            .rows("semantic_interactions", &plan.interactions, interaction_json)
            .put("claims", &claims)
            .put("evidence_retained", &plan.evidence_retained)
            .put("unresolved_residuals", &plan.unresolved_residuals)
            .put("resolved_residuals", &plan.resolved_residuals)
            .put("resulting_state", &plan.resulting_state)
            .put("rationale", &plan.rationale)
            .put("mode", if self.0.recorded.is_some() { "executed" } else { "plan" })
    }
}

fn conflict_json(conflict: &TextualConflict) -> Obj {
    Obj::new().put("path", &conflict.path).put("changes", &conflict.changes)
}

fn interaction_json(interaction: &Interaction) -> Obj {
    Obj::new()
        .put("kind", interaction.kind.as_str())
        .put("certainty", interaction.certainty.as_str())
        .put("severity", interaction.severity)
        .put("detail", &interaction.detail)
        .put("subjects", &interaction.subjects)
}

impl View for Decided {
    fn json(&self) -> Map<String, Value> {
        let plan = &self.0.plan;
        let inputs: Vec<Gid> = plan.inputs.iter().map(|input| input.id).collect();
        let nested = self
            .decided()
            .put("inputs", &inputs)
            .put("input_names", &plan.input_names())
            .opt("base_state", plan.base_state.as_ref());
        let mut answer = self.decided().put("plan", &nested);
        if let Some(recorded) = &self.0.recorded {
            answer = answer
                .put("reconciliation", &recorded.reconciliation)
                .put("reconciliation_name", &recorded.reconciliation_name)
                .put("change", &recorded.change)
                .put("change_name", &recorded.change_name)
                .put("state", &recorded.state)
                .put("state_name", &recorded.state_name)
                .put("applied", &recorded.applied);
        }
        answer.map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let plan = &self.0.plan;
        match &self.0.recorded {
            None => drop(out.paint(Style::Caution, "nothing recorded").lit(" (plan); it would be:").end()),
            Some(recorded) => {
                out.named(&recorded.reconciliation, Some(&recorded.reconciliation_name)).lit("  change ");
                out.named(&recorded.change, Some(&recorded.change_name)).lit(", state ");
                out.named(&recorded.state, Some(&recorded.state_name));
                out.lit(if recorded.applied { ", applied" } else { "; head stays" }).end();
            }
        }
        out.field("inputs", &plan.input_names().join(", "));
        for (label, style, changes) in
            [("adopted", Style::Good, &plan.adopted), ("rejected", Style::Bad, &plan.rejected)]
        {
            for change in changes {
                out.lit("  ").paint(style, label).lit(": ").lookup(change).end();
            }
        }
        for conflict in &plan.textual_conflicts {
            out.lit("  conflict: ").text(&conflict.path).end();
        }
        for interaction in &plan.interactions {
            out.lit("  ").lit(interaction.kind.as_str()).lit(" (").lit(interaction.certainty.as_str());
            out.lit("): ").text(&interaction.detail).end();
        }
        let count = |list: &[Gid], noun: &str| counted(u64::try_from(list.len()).unwrap_or(u64::MAX), noun);
        out.lit("  claims: ").lit(&count(&plan.claims_retained, "claim")).lit(" retained, ");
        out.lit(&plan.claims_invalidated.len().to_string()).lit(" invalidated, ");
        out.lit(&plan.verification_required.len().to_string()).lit(" to verify").end();
        out.field("unresolved", &count(&plan.unresolved_residuals, "residual"));
        out.field("rationale", &plan.rationale);
    }
}
