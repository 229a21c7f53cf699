//! `gemel trajectory ID`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::commands::told;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table, first_line};
use crate::time;
use gemel_object::Gid;
use gemel_repo::knowledge::{self, HandoffFacts, StepFacts, TrajectoryFacts};
use serde_json::{Map, Value};

/// Show a line of work: its changes in order, how it ended, and what the next worker needs to know
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The trajectory, by any of its versions
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &ShowArgs) -> Result<Answer<'c>, CliError> {
    let id = args.id.as_deref().ok_or_else(|| CliError::invalid("invalid: trajectory requires an id"))?;
    let facts = context.knowing(|session| knowledge::trajectory(session, id))?;
    let (omitted, doubts) = (facts.omitted.clone(), facts.uncertainty.clone());
    let view = Shown { facts, timestamps: context.globals.timestamps };
    Ok(Answer::of(view).long().omitting(&omitted).doubting(&doubts))
}

struct Shown {
    facts: TrajectoryFacts,
    timestamps: bool,
}

impl View for Shown {
    fn json(&self) -> Map<String, Value> {
        row_json(&self.facts, self.timestamps).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        out.lit("trajectory ").named(&facts.id, facts.name.as_deref()).lit("  ");
        out.paint(told::attempt_style(facts.outcome), facts.outcome);
        if let Some(reason) = &facts.termination_reason {
            out.lit(": ").text(&first_line(reason));
        }
        out.end();
        if let Some(intent) = &facts.intent {
            out.lit("  intent: ").named(&intent.id, intent.name.as_deref());
            out.lit("  ").text(&first_line(facts.intent_summary.as_deref().unwrap_or_default())).end();
        }
        if let Some(state) = &facts.base_state {
            out.lit("  base: ").lookup(state).end();
        }
        if self.timestamps {
            for (label, time) in [("created", facts.created_at_ms), ("updated", facts.updated_at_ms)] {
                if let Some(time) = time {
                    out.field(label, &time::utc(time));
                }
            }
        }
        let mut table = Table::default();
        for step in &facts.sequence {
            table.row([
                told::label(&step.change, step.name.as_ref(), out),
                (Style::Plain, first_line(&step.summary).into_owned()),
            ]);
        }
        table.print("  ", out);
        listed("evidence", &facts.evidence, out);
        listed("residual", &facts.residuals, out);
        if let Some(handoff) = &facts.handoff {
            handoff_lines(handoff, out);
        }
    }
}

/// A trajectory (query surface, section 4.7).
pub(crate) fn row_json(facts: &TrajectoryFacts, timestamps: bool) -> Obj {
    Obj::new()
        .put("id", &facts.id)
        .opt("name", facts.name.as_ref())
        .opt("intent", facts.intent.as_ref().map(|intent| &intent.id))
        .opt("base_state", facts.base_state.as_ref())
        .put("outcome", facts.outcome)
        .opt("termination_reason", facts.termination_reason.as_ref())
        .rows("sequence", &facts.sequence, step_json)
        .put("evidence", &facts.evidence)
        .put("residuals", &facts.residuals)
        .opt("handoff", facts.handoff.as_ref().map(handoff_json).as_ref())
        .put("agent_runs", &facts.agent_runs)
        .put("versions", &facts.versions)
        .opt("created_at", facts.created_at_ms.as_ref().filter(|_| timestamps))
        .opt("updated_at", facts.updated_at_ms.as_ref().filter(|_| timestamps))
}

fn step_json(step: &StepFacts) -> Obj {
    Obj::new()
        .put("change", &step.change)
        .opt("name", step.name.as_ref())
        .put("summary", &step.summary)
        .opt("state", step.state.as_ref())
}

/// A handoff (workflow, section 5).
pub(crate) fn handoff_json(handoff: &HandoffFacts) -> Obj {
    Obj::new()
        .opt("summary", handoff.summary.as_ref())
        .put("completed", &handoff.completed)
        .put("remaining", &handoff.remaining)
        .put("open_residuals", &handoff.open_residuals)
        .put("important_evidence", &handoff.important_evidence)
        .put("recommended_objects", &handoff.recommended_objects)
        .put("next_steps", &handoff.next_steps)
        .opt("derived", handoff.derived.then_some(&true))
}

/// Identities shown on a line of their own at most; the JSON form has all.
const LISTED: usize = 20;

fn listed(label: &str, ids: &[Gid], out: &mut Printer<'_>) {
    for id in ids.iter().take(LISTED) {
        out.lit("  ").lit(label).lit(": ").lookup(id).end();
    }
    if ids.len() > LISTED {
        out.lit(&format!("  {label}: {} more", ids.len() - LISTED)).end();
    }
}

/// A handoff for people.
pub(crate) fn handoff_lines(handoff: &HandoffFacts, out: &mut Printer<'_>) {
    if let Some(summary) = &handoff.summary {
        out.field("handoff", &first_line(summary));
    }
    for (label, lines) in
        [("done", &handoff.completed), ("left", &handoff.remaining), ("next", &handoff.next_steps)]
    {
        for line in lines {
            out.lit("  ").field(label, &first_line(line));
        }
    }
}
