//! Where a new change stands: its causal parent, and the trajectory it continues (workflow, section 4.5).

use crate::Result;
use crate::facts::Uncertainty;
use crate::history::graph::{ChangeSet, Graph};
use crate::history::known::known_changes;
use crate::history::nodes::TrajectoryNode;
use crate::names::{Kind, Namer};
use gemel_object::Gid;
use gemel_store::{RefValue, Refs, Store};
use std::cmp::Reverse;
use std::sync::Arc;

/// The trajectory a change continues.
#[derive(Clone, Debug)]
pub(crate) struct Continued {
    /// `T1`.
    pub(crate) name: String,
    /// The version that is current until now.
    pub(crate) version: Arc<TrajectoryNode>,
}

/// Decided under the lock.
#[derive(Clone, Debug)]
pub(crate) struct Lineage {
    pub(crate) parent: Option<Gid>,
    /// `None`: a new attempt.
    pub(crate) trajectory: Option<Continued>,
    /// Why there is no parent although there is a head.
    pub(crate) unparented: Option<Uncertainty>,
}

/// A named trajectory.
#[derive(Clone, Debug)]
pub(crate) struct NamedTrajectory {
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) id: Gid,
}

/// Every `T<n>`, by number. Damaged refs are left out: `fsck` reports them.
///
/// # Errors
/// `Store`.
pub(crate) fn named_trajectories(refs: &Refs) -> Result<Vec<NamedTrajectory>> {
    let mut found = Vec::new();
    for (full, value) in refs.scan(Kind::Trajectory.namespace())? {
        if let (Some((Kind::Trajectory, number)), Ok(RefValue::Id(id))) = (Kind::of_name(&full), value) {
            found.push(NamedTrajectory {
                number,
                name: format!("{}{number}", Kind::Trajectory.prefix()),
                id,
            });
        }
    }
    found.sort_unstable_by_key(|named| named.number);
    Ok(found)
}

/// Decides parent and trajectory of a change with `intent` from `input`, finished in a workspace whose last change is
/// `last`.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn decide(
    graph: &mut Graph<'_>,
    refs: &Refs,
    intent: Option<Gid>,
    input: Option<Gid>,
    last: Option<Gid>,
) -> Result<Lineage> {
    let candidates = open_with_intent(graph, refs, intent)?;
    let mut trajectory = match input {
        Some(input) => reached(graph, &candidates, &input)?,
        None => None,
    };
    let parent = parent(graph, refs, input, last, trajectory.as_ref())?;
    if trajectory.is_none()
        && let Some(parent) = parent
    {
        trajectory = led_here(graph, &candidates, parent)?;
    }
    let unparented = if parent.is_none() { unparented(graph.store(), refs, input)? } else { None };
    Ok(Lineage { parent, trajectory, unparented })
}

/// What to say of a change without a parent when there is a head that it does not come from.
fn unparented(store: &Store, refs: &Refs, input: Option<Gid>) -> Result<Option<Uncertainty>> {
    let Some(head) = refs.get("refs/head")? else { return Ok(None) };
    let namer = Namer::find(store, refs, [head].into_iter().chain(input))?;
    let label = |id: &Gid| namer.get(id).unwrap_or_else(|| id.to_string());
    let why = match &input {
        Some(state) => format!("no known change ends in its input state {}", label(state)),
        None => "it was begun before anything was recorded".to_owned(),
    };
    let reason = format!(
        "{why}, so it has no parent and begins a line that does not hold {}; `gemel log --all` shows both",
        label(&head)
    );
    Ok(Some(Uncertainty { class: "causal_parent", ids: input.iter().map(Gid::to_string).collect(), reason }))
}

/// Open trajectories with the intent, the one last updated first: `current` is the one the repository updated last;
/// among the others the time decides, then the number.
fn open_with_intent(graph: &mut Graph<'_>, refs: &Refs, intent: Option<Gid>) -> Result<Vec<Continued>> {
    let current = refs.get("refs/trajectories/current")?;
    let mut found = Vec::new();
    for named in named_trajectories(refs)? {
        let Some(head) = graph.trajectory_head(&named.id)? else { continue };
        if head.outcome.is_none()
            && head.intent == intent
            && let Some(version) = graph.trajectory(&named.id)?
        {
            let rank = (current != Some(named.id), Reverse(head.updated_at_ms), Reverse(named.number));
            found.push((rank, Continued { name: named.name, version }));
        }
    }
    found.sort_unstable_by_key(|(rank, _)| *rank);
    Ok(found.into_iter().map(|(_, continued)| continued).collect())
}

/// The first that has reached the input state.
fn reached(graph: &mut Graph<'_>, candidates: &[Continued], input: &Gid) -> Result<Option<Continued>> {
    for candidate in candidates {
        let result = graph.last_result(&candidate.version)?;
        if result.is_some() && graph.same_content(result.as_ref(), Some(input))? {
            return Ok(Some(candidate.clone()));
        }
    }
    Ok(None)
}

/// The first whose changes all lead to `parent`.
fn led_here(graph: &mut Graph<'_>, candidates: &[Continued], parent: Gid) -> Result<Option<Continued>> {
    if candidates.is_empty() {
        return Ok(None);
    }
    let ancestors = graph.ancestors([parent])?;
    for candidate in candidates {
        // The newest change decides nearly always; the others are looked at only when it is an ancestor.
        let Some(last) = graph.last_change(&candidate.version)? else { continue };
        if !graph.holds(&ancestors, &last) {
            continue;
        }
        let mut sequence = ChangeSet::default();
        graph.include_sequence(&mut sequence, &candidate.version.id)?;
        if graph.members(&sequence).iter().all(|id| graph.holds(&ancestors, id)) {
            return Ok(Some(candidate.clone()));
        }
    }
    Ok(None)
}

/// The causal parent: the workspace's last change, head, the newest change of the continued trajectory, or the newest
/// known change, whichever first has the input content as its result.
fn parent(
    graph: &mut Graph<'_>,
    refs: &Refs,
    input: Option<Gid>,
    last: Option<Gid>,
    trajectory: Option<&Continued>,
) -> Result<Option<Gid>> {
    let Some(input) = input else { return Ok(None) };
    for id in last.into_iter().chain(refs.get("refs/head")?) {
        if results_in(graph, &id, &input)? {
            return Ok(Some(id));
        }
    }
    // A trajectory is continued from where its last change ended.
    if let Some(continued) = trajectory
        && let Some(id) = graph.last_change(&continued.version)?
    {
        return Ok(Some(id));
    }
    let Some(root) = graph.root(&input)? else { return Ok(None) };
    let known = known_changes(graph, refs)?;
    let (ending, _) = graph.with_root(&known, &root)?;
    let mut newest: Option<(Reverse<i64>, Gid)> = None;
    for id in ending {
        if let Some(change) = graph.change(&id)? {
            let rank = (Reverse(change.created_at_ms), id);
            newest = Some(newest.map_or(rank, |old| old.min(rank)));
        }
    }
    Ok(newest.map(|(_, id)| id))
}

fn results_in(graph: &mut Graph<'_>, change: &Gid, input: &Gid) -> Result<bool> {
    match graph.change(change)?.and_then(|change| change.result) {
        Some(result) => graph.same_content(Some(&result), Some(input)),
        None => Ok(false),
    }
}
