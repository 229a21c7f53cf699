//! `next`: what to do, as far as it follows from what is recorded (query surface, section 4.15).

use crate::Result;
use crate::facts::{Named, Omitted, Uncertainty};
use crate::history::view::{left_out, omitted_list};
use crate::history::workspace::pending_workspaces;
use crate::knowledge::assess::{Assessment, assess};
use crate::knowledge::claims::is_unsettled;
use crate::knowledge::handoff::has_failed;
use crate::knowledge::scope::ScopeKind;
use crate::knowledge::session::Session;
use crate::knowledge::steps::{self, MAX_RESIDUALS, Recommendation};
use crate::knowledge::world::World;
use crate::names::Namer;
use gemel_object::Gid;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Earlier attempts recommended at most.
const MAX_ATTEMPTS: usize = 8;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextFacts {
    /// The current intent; head's without an open trajectory.
    pub intent: Option<Gid>,
    /// The current trajectory.
    pub trajectory: Option<Named>,
    /// Head's state.
    pub state: Option<Gid>,
    /// By kind, subject and first reference; never empty.
    pub recommendations: Vec<Recommendation>,
    /// What the caps cut.
    pub omitted: Vec<Omitted>,
    /// Evidence whose freshness is not known for sure.
    pub uncertainty: Vec<Uncertainty>,
}

/// Recommends what to do.
///
/// # Errors
/// `Store`, `CorruptObject`, `RecordCorrupt`.
pub fn next(session: &mut Session<'_>) -> Result<NextFacts> {
    let world = session.world()?;
    let known = assess(world, ScopeKind::Default)?;
    let state = world.refs.get("refs/state/head")?;
    let mut found = steps::of_scope(&known);
    let mut omitted = cut_off(&known);
    found.extend(pending(world)?);
    found.extend(failed_attempts(world, &known, &mut omitted)?);
    found.extend(parallel(world)?);
    if found.is_empty() {
        found.push(nothing(world, &known)?);
    }
    found.sort_unstable_by(|a, b| {
        let rank = |step: &Recommendation| (step.kind, step.subject.clone(), step.refs.first().copied());
        rank(a).cmp(&rank(b)).then_with(|| a.cmp(b))
    });
    let current = known.current.as_ref().map(|node| node.id);
    let namer = Namer::find(world.store(), &world.refs, current)?;
    Ok(NextFacts {
        intent: known.intent,
        trajectory: current.map(|id| namer.named(id)),
        state,
        recommendations: found,
        omitted,
        uncertainty: known.uncertainty.clone(),
    })
}

/// Unsettled residuals and doubtful claims of the scope beyond those recommended.
fn cut_off(known: &Assessment) -> Vec<Omitted> {
    let unsettled = known.scope.residuals.values().filter(|node| is_unsettled(node.disposition)).count();
    let cut =
        [("residual", unsettled.saturating_sub(MAX_RESIDUALS)), ("claim", steps::claims_left_out(known))];
    cut.into_iter().filter_map(|(class, count)| left_out(class, count)).collect()
}

/// Changes in progress.
fn pending(world: &World<'_>) -> Result<Vec<Recommendation>> {
    let workspaces = pending_workspaces(&world.refs)?;
    let step = |name: String| Recommendation {
        kind: "continue",
        rationale: format!("a change is in progress in workspace {name}"),
        subject: name,
        refs: Vec::new(),
        certainty: "observed",
    };
    Ok(workspaces.into_iter().map(step).collect())
}

/// Other trajectories with the current intent that did not get there; those begun last, as far as the cap allows.
fn failed_attempts(
    world: &mut World<'_>,
    known: &Assessment,
    omitted: &mut Vec<Omitted>,
) -> Result<Vec<Recommendation>> {
    let Some(intent) = known.intent else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for named in world.trajectories()?.iter() {
        let head = world.graph.trajectory_head(&named.id)?.filter(|head| head.intent == Some(intent));
        if let Some(outcome) = head.and_then(|head| head.outcome).filter(|outcome| has_failed(*outcome)) {
            let step = Recommendation {
                kind: "inspect",
                subject: named.name.clone(),
                refs: vec![named.id],
                rationale: format!("previous attempt {} ended {}", named.name, outcome.as_str()),
                certainty: "observed",
            };
            found.push((Reverse(world.started_at(&named.id)?), named.id, step));
        }
    }
    found.sort_unstable_by_key(|(start, id, _)| (*start, *id));
    let cut: Vec<String> = found.iter().skip(MAX_ATTEMPTS).map(|(_, id, _)| id.to_string()).collect();
    if !cut.is_empty() {
        omitted.push(omitted_list("trajectory", "limit", cut));
    }
    Ok(found.into_iter().take(MAX_ATTEMPTS).map(|(_, _, step)| step).collect())
}

/// Open trajectories of one intent from one base: two ways at once to the same end.
fn parallel(world: &mut World<'_>) -> Result<Vec<Recommendation>> {
    type Members = Vec<(String, Gid)>;
    let mut groups: BTreeMap<(Gid, Option<Gid>), Members> = BTreeMap::new();
    for named in world.trajectories()?.iter() {
        let Some(head) = world.graph.trajectory_head(&named.id)?.filter(|head| head.outcome.is_none()) else {
            continue;
        };
        let Some(intent) = head.intent else { continue };
        let base = world.graph.trajectory(&named.id)?.and_then(|version| version.base);
        // Bases are compared by content.
        let base = match base {
            Some(state) => Some(world.graph.root(&state)?.unwrap_or(state)),
            None => None,
        };
        groups.entry((intent, base)).or_default().push((named.name.clone(), named.id));
    }
    let step = |(_, group): (_, Members)| {
        let names: Vec<&str> = group.iter().map(|(name, _)| name.as_str()).collect();
        let mut refs: Vec<Gid> = group.iter().map(|(_, id)| *id).collect();
        refs.sort_unstable();
        Recommendation {
            kind: "reconcile",
            subject: names.join(" "),
            rationale: format!("{} pursue one intent from one base", names.join(", ")),
            refs,
            certainty: "possible",
        }
    };
    Ok(groups.into_iter().filter(|(_, group)| group.len() > 1).map(step).collect())
}

/// What to say when nothing asks for anything.
fn nothing(world: &mut World<'_>, known: &Assessment) -> Result<Recommendation> {
    if world.refs.get("refs/head")?.is_none() {
        return Ok(Recommendation {
            kind: "continue",
            subject: "repository".to_owned(),
            refs: Vec::new(),
            rationale: "nothing is recorded; begin a change (gemel change begin)".to_owned(),
            certainty: "observed",
        });
    }
    let current = known.current.as_ref().map(|node| node.id);
    let subject = match current {
        Some(id) => Namer::find(world.store(), &world.refs, [id])?.get(&id).unwrap_or_else(|| id.to_string()),
        None => "repository".to_owned(),
    };
    Ok(Recommendation {
        kind: "inspect",
        subject,
        refs: current.into_iter().collect(),
        rationale: "nothing unresolved is recorded".to_owned(),
        certainty: "observed",
    })
}
