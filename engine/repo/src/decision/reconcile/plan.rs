//! What a reconciliation decides, before anything is recorded.

use super::ReconcileOptions;
use super::adopt::{Adoption, Files, Line, Step, adopt};
use super::base;
use crate::content::{self, ContentError, Leaf, PathDelta, TreeSink, delta_trees, entries, graft};
use crate::decision::{cannot_make, said};
use crate::facts::{Named, Uncertainty};
use crate::knowledge::Session;
use crate::knowledge::chains::Newest;
use crate::knowledge::claims::{ClaimStatus, is_unsettled};
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::subject::suffixes;
use crate::knowledge::world::World;
use crate::{RepoError, Result};
use gemel_object::families::NewState;
use gemel_object::{
    Certainty, Disposition, Encoded, Family, Gid, InteractionKind, Limits, Mode, TrajectoryOutcome,
};
use gemel_store::Store;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

/// What is decided. Two plans over the same refs are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconcilePlan {
    /// The inputs at their newest versions, in argument order.
    pub inputs: Vec<Named>,
    /// Where all of them start from.
    pub base_state: Option<Gid>,
    /// Adopted changes in walk order.
    pub adopted: Vec<Gid>,
    /// Rejected changes in walk order.
    pub rejected: Vec<Gid>,
    /// Paths in dispute, ascending.
    pub textual_conflicts: Vec<TextualConflict>,
    /// How the inputs meet.
    pub interactions: Vec<Interaction>,
    /// Claims of adopted changes, newest versions, ascending.
    pub claims_retained: Vec<Gid>,
    /// Claims of rejected changes about what a retained claim is about, newest versions, ascending.
    pub claims_invalidated: Vec<Gid>,
    /// Retained claims that are not supported, ascending.
    pub verification_required: Vec<Gid>,
    /// Evidence of adopted changes, ascending.
    pub evidence_retained: Vec<Gid>,
    /// Unsettled residuals of all inputs, newest versions, ascending.
    pub unresolved_residuals: Vec<Gid>,
    /// Resolved residuals of all inputs, newest versions, ascending.
    pub resolved_residuals: Vec<Gid>,
    /// The state that results.
    pub resulting_state: Gid,
    /// Why.
    pub rationale: String,
    /// Changes and results that are not stored.
    pub uncertainty: Vec<Uncertainty>,
}

/// A path that inputs disagree about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextualConflict {
    /// The path.
    pub path: String,
    /// The owners' first changes and the rejected ones, ascending.
    pub changes: Vec<Gid>,
}

/// How work of two inputs meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interaction {
    /// What kind of meeting.
    pub kind: InteractionKind,
    /// How sure that is.
    pub certainty: Certainty,
    /// How bad.
    pub severity: &'static str,
    /// In words.
    pub detail: String,
    /// The objects that meet.
    pub subjects: Vec<Gid>,
}

impl ReconcilePlan {
    /// Names of the inputs, in their order.
    pub fn input_names(&self) -> Vec<String> {
        self.inputs.iter().map(|input| input.name.clone().unwrap_or_else(|| input.id.to_string())).collect()
    }
}

/// A plan with the objects it names.
pub(super) struct Made {
    pub(super) plan: ReconcilePlan,
    pub(super) intent: Option<Gid>,
    /// From the base to the result, by path.
    pub(super) deltas: Vec<PathDelta>,
    pub(super) trees: Vec<Encoded>,
    pub(super) state: Encoded,
}

pub(super) fn make(session: &mut Session<'_>, options: &ReconcileOptions) -> Result<Made> {
    let repo = session.repo();
    let world = session.world()?;
    let limits = repo.limits(&world.refs)?;
    let mut inputs: Vec<Newest> = Vec::new();
    for text in &options.trajectories {
        let input = world.newest_trajectory(repo, text)?;
        if inputs.iter().any(|other| other.node.id == input.node.id) {
            let detail = format!("invalid: trajectory {} is given twice", input.name);
            return Err(RepoError::Invalid { detail, ids: vec![input.node.id] });
        }
        inputs.push(input);
    }
    if inputs.len() < 2 {
        return Err(RepoError::invalid("invalid: reconcile needs at least two trajectories"));
    }
    let sequences: Vec<Vec<Gid>> =
        inputs.iter().map(|input| world.sequence(&input.node.id)).collect::<Result<_>>()?;
    let base_state = base::earliest(world, &inputs, &sequences)?;
    let store = world.store();
    let base_root = base_state.map(|state| content::root_tree(store, &state)).transpose()?;
    let mut uncertainty = Vec::new();
    let mut lines = Vec::with_capacity(inputs.len());
    for (input, sequence) in inputs.iter().zip(&sequences) {
        let steps = steps(world, sequence, &mut uncertainty)?;
        lines.push(Line { barred: input.node.outcome.is_some_and(bars), steps });
    }
    let mut files = Base { store, root: base_root, dirs: HashMap::new() };
    let adoption = adopt(&lines, &mut files)?;
    let deltas = deltas(&adoption, &mut files)?;
    let (root, trees) = merge(store, base_root, &adoption, &limits)?;
    let state = NewState { root_tree: Some(root), extensions: &[] };
    let state = state.encode(&limits).map_err(cannot_make(Family::State))?;
    let mut plan = ReconcilePlan {
        inputs: inputs
            .iter()
            .map(|input| Named { id: input.node.id, name: Some(input.name.clone()) })
            .collect(),
        base_state,
        textual_conflicts: conflicts(&adoption),
        interactions: Vec::new(),
        claims_retained: Vec::new(),
        claims_invalidated: Vec::new(),
        verification_required: Vec::new(),
        evidence_retained: Vec::new(),
        unresolved_residuals: Vec::new(),
        resolved_residuals: Vec::new(),
        resulting_state: state.id,
        rationale: rationale(&inputs, base_state, &adoption, said(&options.rationale)),
        uncertainty,
        adopted: adoption.adopted.clone(),
        rejected: adoption.rejected.clone(),
    };
    weigh_claims(world, &mut plan, &adoption)?;
    weigh_residuals(world, &mut plan, &inputs, &sequences)?;
    Ok(Made { plan, intent: inputs.first().and_then(|input| input.node.intent), deltas, trees, state })
}

/// Whether nothing of a trajectory that ended so is adopted.
fn bars(outcome: TrajectoryOutcome) -> bool {
    use TrajectoryOutcome::{Abandoned, Completed, Inconclusive, Interrupted, Rejected, Superseded};
    match outcome {
        Rejected | Abandoned | Superseded => true,
        Completed | Inconclusive | Interrupted => false,
    }
}

/// The changes of an input with what they do to files.
fn steps(world: &mut World<'_>, sequence: &[Gid], doubts: &mut Vec<Uncertainty>) -> Result<Vec<Step>> {
    let mut ends = Vec::with_capacity(sequence.len());
    for id in sequence {
        let Some(change) = world.change(id)? else {
            let reason = "the change is not stored, so nothing of it is considered".to_owned();
            doubts.push(Uncertainty { class: "change", ids: vec![id.to_string()], reason });
            continue;
        };
        ends.push((*id, change.input, change.result));
    }
    let store = world.store();
    let step = |(change, input, result): &(Gid, Option<Gid>, Option<Gid>)| {
        let Some(result) = result else { return Ok(Step { change: *change, deltas: Vec::new() }) };
        let input = input.map(|state| content::root_tree(store, &state)).transpose()?;
        let result = content::root_tree(store, result)?;
        Ok(Step { change: *change, deltas: delta_trees(store, input, Some(result))? })
    };
    ends.par_iter().map(step).collect()
}

/// The base, read as far as it is asked about.
struct Base<'s> {
    store: &'s Store,
    root: Option<Gid>,
    dirs: HashMap<Gid, content::Entries>,
}

impl Base<'_> {
    fn entry(&mut self, path: &str) -> Result<Option<(Mode, Gid)>> {
        let Some(mut tree) = self.root else { return Ok(None) };
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            if !self.dirs.contains_key(&tree) {
                self.dirs.insert(tree, entries(self.store, Some(tree))?);
            }
            let found = self.dirs.get(&tree).and_then(|dir| dir.get(name)).copied();
            match found {
                Some(entry) if names.peek().is_none() => return Ok(Some(entry)),
                Some((Mode::Directory, below)) => tree = below,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

impl Files for Base<'_> {
    fn leaf(&mut self, path: &str) -> Result<Option<Leaf>> {
        Ok(self.entry(path)?.filter(|(mode, _)| *mode != Mode::Directory))
    }

    fn below(&mut self, path: &str) -> Result<Vec<String>> {
        let Some((Mode::Directory, tree)) = self.entry(path)? else { return Ok(Vec::new()) };
        let files = delta_trees(self.store, None, Some(tree))?;
        Ok(files.into_iter().map(|file| format!("{path}/{}", file.path)).collect())
    }
}

/// What the adopted changes make different from the base, by path.
fn deltas(adoption: &Adoption, base: &mut Base<'_>) -> Result<Vec<PathDelta>> {
    let mut found = Vec::new();
    for (path, after) in &adoption.edits {
        let before = base.leaf(path)?;
        if before != *after {
            found.push(PathDelta { path: path.clone(), before, after: *after });
        }
    }
    Ok(found)
}

/// Keeps the trees that are made.
#[derive(Default)]
struct Kept(Mutex<Vec<Encoded>>);

impl TreeSink for Kept {
    fn tree(&self, tree: Encoded, base: Option<Gid>) -> Result<(), ContentError> {
        if base != Some(tree.id) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(tree);
        }
        Ok(())
    }
}

fn merge(
    store: &Store,
    base: Option<Gid>,
    adoption: &Adoption,
    limits: &Limits,
) -> Result<(Gid, Vec<Encoded>)> {
    let kept = Kept::default();
    let root = graft(store, base, &adoption.edits, &kept, limits)?;
    Ok((root, kept.0.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

fn conflicts(adoption: &Adoption) -> Vec<TextualConflict> {
    let conflict = |(path, dispute): (&String, &super::adopt::Dispute)| TextualConflict {
        path: path.clone(),
        changes: dispute.owners.union(&dispute.rejected).copied().collect(),
    };
    adoption.disputes.iter().map(conflict).collect()
}

fn rationale(inputs: &[Newest], base: Option<Gid>, adoption: &Adoption, more: Option<&str>) -> String {
    let base = base.map_or("no base".to_owned(), |base| format!("base {base}"));
    let conflicts = match adoption.disputes.len() {
        0 => "no textual conflicts".to_owned(),
        count => {
            let paths: Vec<&str> = adoption.disputes.keys().map(String::as_str).collect();
            format!("{count} textual conflict(s) on {}", paths.join(", "))
        }
    };
    let mut text = format!(
        "reconciled {} trajectories from {base}; adopted {} change(s), rejected {} change(s); {conflicts}; ",
        inputs.len(),
        adoption.adopted.len(),
        adoption.rejected.len()
    );
    if !adoption.builds_on.is_empty() {
        text.push_str(&format!("{} change(s) build on rejected ones; ", adoption.builds_on.len()));
    }
    for input in inputs {
        if let Some(outcome) = input.node.outcome.filter(|outcome| bars(*outcome)) {
            text.push_str(&format!("{} was closed as {}; ", input.name, outcome.as_str()));
        }
    }
    text.push_str("policy: per-path first-input-trajectory-wins; alternatives preserved as rejected changes");
    if let Some(more) = more {
        text.push_str(&format!("; {more}"));
    }
    text
}

/// Claims and evidence of adopted changes, claims they invalidate, and how the inputs meet.
fn weigh_claims(world: &mut World<'_>, plan: &mut ReconcilePlan, adoption: &Adoption) -> Result<()> {
    let mut retained = claims_of(world, &plan.adopted)?;
    retained.retain(|_, claim| !claim.replaced);
    let mut refused = claims_of(world, &plan.rejected)?;
    refused.retain(|id, _| !retained.contains_key(id));
    for (path, dispute) in &adoption.disputes {
        plan.interactions.push(Interaction {
            kind: InteractionKind::Textual,
            certainty: Certainty::Observed,
            severity: "medium",
            detail: format!("{path} touched by an earlier-adopted trajectory"),
            subjects: dispute.rejected.iter().copied().collect(),
        });
    }
    let mut invalidated = BTreeSet::new();
    for (id, claim) in &retained {
        if world.derived(claim)?.status != ClaimStatus::Supported {
            plan.verification_required.push(*id);
        }
        let Some(subject) = &claim.node.subject else { continue };
        let equal = |other: &&ScopedClaim| {
            other.node.subject.as_deref().is_some_and(|other| same_subject(subject, other))
        };
        let against: Vec<Gid> = refused.values().filter(equal).map(|other| other.node.id).collect();
        if against.is_empty() {
            continue;
        }
        let mut subjects: BTreeSet<Gid> = against.iter().copied().collect();
        invalidated.extend(against);
        subjects.insert(*id);
        plan.interactions.push(Interaction {
            kind: InteractionKind::Claim,
            certainty: Certainty::Possible,
            severity: "medium",
            detail: format!("claim about {subject} from a rejected change may disagree"),
            subjects: subjects.into_iter().collect(),
        });
    }
    for (change, earlier) in &adoption.builds_on {
        plan.interactions.push(Interaction {
            kind: InteractionKind::Dependency,
            certainty: Certainty::Observed,
            severity: "medium",
            detail: format!("builds on rejected {earlier}"),
            subjects: vec![*change, *earlier],
        });
    }
    let mut evidence = BTreeSet::new();
    for id in &plan.adopted {
        evidence.extend(world.change(id)?.iter().flat_map(|change| change.evidence.clone()));
    }
    plan.evidence_retained = evidence.into_iter().collect();
    plan.claims_retained = retained.into_keys().collect();
    plan.claims_invalidated = invalidated.into_iter().collect();
    Ok(())
}

/// Whether two subjects are equal, or one is a whole-segment `::` suffix of the other.
fn same_subject(a: &str, b: &str) -> bool {
    suffixes(a).any(|suffix| suffix == b) || suffixes(b).any(|suffix| suffix == a)
}

/// Claims that changes declare, at their newest refinements.
fn claims_of(world: &mut World<'_>, changes: &[Gid]) -> Result<BTreeMap<Gid, ScopedClaim>> {
    let mut found = BTreeMap::new();
    for id in changes {
        let declared = world.change(id)?.map(|change| change.claims.clone()).unwrap_or_default();
        for id in declared {
            if let Some(claim) = world.newest_claim(&id)? {
                found.entry(claim.node.id).or_insert(claim);
            }
        }
    }
    Ok(found)
}

/// Residuals of all inputs, by what became of them.
fn weigh_residuals(
    world: &mut World<'_>,
    plan: &mut ReconcilePlan,
    inputs: &[Newest],
    sequences: &[Vec<Gid>],
) -> Result<()> {
    let mut declared = BTreeSet::new();
    for input in inputs {
        declared.extend(world.graph.listed_besides(&input.node.id)?.1);
    }
    for change in sequences.iter().flatten() {
        declared.extend(world.change(change)?.iter().flat_map(|change| change.residuals.clone()));
    }
    let (mut unresolved, mut resolved) = (BTreeSet::new(), BTreeSet::new());
    for id in declared {
        let newest = world.newest_residual(&id)?;
        match world.residual(&newest)? {
            Some(node) if is_unsettled(node.disposition) => drop(unresolved.insert(newest)),
            Some(node) if node.disposition == Disposition::Resolved => drop(resolved.insert(newest)),
            _ => {}
        }
    }
    plan.unresolved_residuals = unresolved.into_iter().collect();
    plan.resolved_residuals = resolved.into_iter().collect();
    Ok(())
}
