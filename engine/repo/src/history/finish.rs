//! `change finish`: the worktree becomes the result of a change (workflow, sections 4.2 to 4.5).
//!
//! Files are captured and objects are built before the lock is taken; under it only the parent and the trajectory
//! are decided, the two objects that depend on them are built, and everything is committed: one commit of objects,
//! then one ref transaction. Whatever fails before that leaves refs, counters and the pending record as they were.

use crate::content::{CaptureRequest, CompareWith, PathDelta, WorktreeRequest, capture, delta_worktree};
use crate::facts::{Omitted, Progress, Uncertainty};
use crate::history::agent::{self, RunContext};
use crate::history::declared::{DeclareContext, Declared, Specs, declare, non_empty};
use crate::history::graph::Graph;
use crate::history::lineage::{self, Lineage};
use crate::history::operations::operations;
use crate::history::pending::Pending;
use crate::history::view;
use crate::history::workspace::{Workspace, path_text, record_name};
use crate::names::{Accept, Allocator, Kind, NewName, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::families::{NewChange, NewState, NewTrajectory};
use gemel_object::{Disclosure, Encoded, Family, Gid, Limits, ObjectError};
use gemel_store::{NewObject, Refs, Transaction, Writer};
use rayon::prelude::*;
use std::path::PathBuf;

/// What `change finish` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct FinishOptions {
    /// `change` when absent or empty.
    pub summary: Option<String>,
    /// Claim specs, `subject|predicate|kind|key=value;…`.
    pub claims: Vec<String>,
    /// Evidence specs, `subject|outcome|kind|key=value;…`.
    pub evidence: Vec<String>,
    /// Residual specs, `summary|severity|classification|key=value;…`.
    pub residuals: Vec<String>,
    /// Who acts; else the pending record's producer.
    pub producer: Option<String>,
    /// `default` when absent.
    pub workspace: Option<String>,
    /// The directory captured, absolute; else the pending record's, else the workspace's, else the root.
    pub worktree: Option<PathBuf>,
    /// An existing agent run to link.
    pub agent_run: Option<String>,
    /// A run to create; excludes `agent_run` unless empty.
    pub agent: AgentOptions,
    /// A context manifest.
    pub context_manifest: Option<String>,
    /// One of the disclosure set.
    pub disclosure: Option<String>,
    /// 64 hex digits.
    pub instruction_digest: Option<String>,
    /// An environment.
    pub environment: Option<String>,
    /// Whether every file is read, whatever the stat cache says.
    pub verify: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// Description of the agent run that made the change (workflow, section 13).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentOptions {
    /// Model family.
    pub model_family: Option<String>,
    /// Model.
    pub model_id: Option<String>,
    /// Harness.
    pub harness: Option<String>,
    /// Permissions.
    pub permissions: Vec<String>,
    /// Tools, `NAME=VERSION`.
    pub tools: Vec<String>,
}

/// What was recorded. Lists are in the order of declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishFacts {
    /// The change.
    pub change: Gid,
    /// Its name.
    pub change_name: String,
    /// Its summary.
    pub summary: String,
    /// The trajectory version that holds it.
    pub trajectory: Gid,
    /// The trajectory's name.
    pub trajectory_name: String,
    /// Whether the trajectory begins with this change.
    pub new_trajectory: bool,
    /// The resulting state.
    pub state: Gid,
    /// Its name.
    pub state_name: String,
    /// Operations, by path.
    pub operations: Vec<Gid>,
    /// Claims.
    pub claims: Vec<Gid>,
    /// Evidence.
    pub evidence: Vec<Gid>,
    /// Residuals.
    pub residuals: Vec<Gid>,
    /// Names of the claims, one each.
    pub claim_names: Vec<String>,
    /// Names of the evidence, one each.
    pub evidence_names: Vec<String>,
    /// Names of the residuals, one each.
    pub residual_names: Vec<String>,
    /// The agent run linked or made.
    pub agent_run: Option<Gid>,
    /// Its name, when it was made.
    pub agent_run_name: Option<String>,
    /// The causal parents.
    pub parents: Vec<Gid>,
    /// Whether nothing was written; the names are then those that would be given now.
    pub dry_run: bool,
    /// Folders and files left out of the capture, with the reason.
    pub omitted: Vec<Omitted>,
    /// Incoherent capture; outcomes that were not stated.
    pub uncertainty: Vec<Uncertainty>,
}

/// Captures the worktree and records the pending change.
///
/// # Errors
/// `NothingPending`, `MalformedSpec`, `EmptyPredicate`, `EnumValue`, `WrongFamily`, `Unresolved`, `Invalid`,
/// `PendingCorrupt`, `Store`, and whatever the capture refuses. Refs, counters and the pending record are then as
/// they were.
pub fn finish(repo: &Repo, options: &FinishOptions, progress: &dyn Progress) -> Result<FinishFacts> {
    let refs = repo.store().refs()?;
    let workspace = Workspace::load(&refs, options.workspace.as_deref())?;
    let inputs = Inputs::check(repo, &refs, &workspace, options)?;
    let writer = if options.dry_run { None } else { Some(repo.store().writer()?) };
    let captured = look_at_files(repo, &refs, &workspace, &inputs, options, writer.as_ref(), progress)?;
    let built = Built::make(repo, &refs, &inputs, &captured, options)?;
    let mut graph = Graph::new(repo.store());
    let last = workspace.change;
    let Some(writer) = writer else {
        let lineage = lineage::decide(&mut graph, &refs, inputs.intent(), inputs.input(), last)?;
        let (change, trajectory) = built.in_lineage(&inputs, &captured, &lineage, options)?;
        let names = Names::give(&mut Allocator::new(&refs), &built, lineage.trajectory.is_none())?;
        return Ok(facts(&inputs, captured, &built, &lineage, change.id, trajectory.id, names, options));
    };
    built.put(&writer)?;
    // What the decision reads stays true, so that under the lock only news is read.
    let expected = lineage::decide(&mut graph, &refs, inputs.intent(), inputs.input(), last)?;

    let mut transaction = repo.store().transaction()?;
    let current = Workspace::load(transaction.refs(), Some(&workspace.name))?;
    if current.pending != workspace.pending {
        return Err(match current.pending {
            None => RepoError::NothingPending { workspace: workspace.name },
            Some(_) => RepoError::invalid(format!(
                "the pending change of workspace {:?} was replaced by another process; run the command again",
                workspace.name
            )),
        });
    }
    let mut names = Allocator::new(transaction.refs());
    let now = transaction.refs().clone();
    let lineage = if now.sequence() == refs.sequence() {
        expected
    } else {
        lineage::decide(&mut graph, &now, inputs.intent(), inputs.input(), current.change)?
    };
    let (change, trajectory) = built.in_lineage(&inputs, &captured, &lineage, options)?;
    put(&writer, &change)?;
    put(&writer, &trajectory)?;
    writer.commit()?;
    let given = Names::give(&mut names, &built, lineage.trajectory.is_none())?;
    given.set(&mut transaction, &built, &lineage, change.id, captured.state, trajectory.id);
    names.save(&mut transaction);
    transaction.set(record_name(&workspace.name, "state"), captured.state);
    transaction.set(record_name(&workspace.name, "change"), change.id);
    transaction.remove(record_name(&workspace.name, "pending"));
    transaction.commit("change finish", options.now_ms)?;
    graph.keep();
    Ok(facts(&inputs, captured, &built, &lineage, change.id, trajectory.id, given, options))
}

/// Everything that can be checked before a file is read.
struct Inputs {
    summary: String,
    pending: Pending,
    producer: Gid,
    specs: Specs,
    dir: PathBuf,
    limits: Limits,
    disclosure: Option<Disclosure>,
    instruction_digest: Option<[u8; 32]>,
    context_manifest: Option<Gid>,
    environment: Option<Gid>,
    agent_run: Option<Gid>,
}

impl Inputs {
    fn check(repo: &Repo, refs: &Refs, workspace: &Workspace, options: &FinishOptions) -> Result<Inputs> {
        let pending = workspace.pending()?;
        let specs = Specs::read(&options.evidence, &options.claims, &options.residuals)?;
        let disclosure = options.disclosure.as_deref().map(|text| {
            Disclosure::from_text(text).ok_or_else(|| RepoError::EnumValue {
                field: "disclosure",
                value: text.to_owned(),
                allowed: Disclosure::SET.values,
            })
        });
        if options.agent_run.is_some() && !options.agent.is_empty() {
            return Err(RepoError::invalid("--agent-run excludes the flags that describe a new run"));
        }
        options.agent.tools()?;
        let optional = |text: &Option<String>, family: Family| {
            text.as_deref().map(|text| resolve_in(repo, refs, text, Accept::only(family))).transpose()
        };
        let dir = match (&options.worktree, &pending.worktree) {
            (Some(dir), _) => PathBuf::from(path_text(dir)?),
            (None, Some(dir)) => PathBuf::from(dir),
            (None, None) => workspace.dir(repo),
        };
        Ok(Inputs {
            summary: options
                .summary
                .clone()
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| "change".to_owned()),
            producer: repo.producer(refs, options.producer.as_deref(), pending.producer)?,
            specs,
            dir,
            limits: repo.limits(refs)?,
            disclosure: disclosure.transpose()?,
            instruction_digest: options.instruction_digest.as_deref().map(agent::digest).transpose()?,
            context_manifest: optional(&options.context_manifest, Family::ContextManifest)?,
            environment: optional(&options.environment, Family::Environment)?,
            agent_run: optional(&options.agent_run, Family::AgentRun)?,
            pending,
        })
    }

    fn intent(&self) -> Option<Gid> {
        self.pending.intent
    }

    fn input(&self) -> Option<Gid> {
        self.pending.input_state
    }
}

/// The files, and what they differ in from the input state.
struct Captured {
    state: Gid,
    deltas: Vec<PathDelta>,
    omitted: Vec<Omitted>,
    uncertainty: Vec<Uncertainty>,
}

fn look_at_files(
    repo: &Repo,
    refs: &Refs,
    workspace: &Workspace,
    inputs: &Inputs,
    options: &FinishOptions,
    writer: Option<&Writer<'_>>,
    progress: &dyn Progress,
) -> Result<Captured> {
    let recorded = workspace.recorded(refs)?.or(inputs.input());
    let cache = workspace.cache_name(repo, &inputs.dir);
    let Some(writer) = writer else {
        let request = WorktreeRequest {
            root: &inputs.dir,
            recorded,
            against: inputs.input(),
            cache: Some(&cache),
            verify: options.verify,
            limits: &inputs.limits,
            progress,
        };
        let delta = delta_worktree(repo.store(), &request)?;
        return Ok(Captured {
            state: expected_state(delta.root_tree, &inputs.limits)?,
            deltas: delta.changes,
            omitted: view::omitted(&delta.omitted),
            uncertainty: Vec::new(),
        });
    };
    let request = CaptureRequest {
        root: &inputs.dir,
        recorded,
        cache: Some(&cache),
        compare_with: inputs.input().map_or(CompareWith::Empty, CompareWith::State),
        verify: options.verify,
        limits: &inputs.limits,
        progress,
    };
    let captured = capture(repo.store(), writer, &request)?;
    Ok(Captured {
        state: captured.state,
        omitted: view::omitted(&captured.omitted),
        uncertainty: view::capture_uncertainty(&captured),
        deltas: captured.changes,
    })
}

/// The state that an undisturbed capture of `root_tree` makes.
fn expected_state(root_tree: Gid, limits: &Limits) -> Result<Gid> {
    let state =
        NewState { root_tree: Some(root_tree), extensions: &[(0x80, br#"{"attempts":1,"coherent":true}"#)] };
    state
        .encode(limits)
        .map(|state| state.id)
        .map_err(|source| RepoError::Object { family: Family::State, source })
}

/// Objects that do not depend on where the change stands.
struct Built {
    operations: Vec<Encoded>,
    declared: Declared,
    agent_run: Option<Encoded>,
    linked_run: Option<Gid>,
    uncertainty: Vec<Uncertainty>,
}

impl Built {
    fn make(
        repo: &Repo,
        refs: &Refs,
        inputs: &Inputs,
        captured: &Captured,
        options: &FinishOptions,
    ) -> Result<Built> {
        let operations = operations(&captured.deltas, inputs.producer, options.now_ms, &inputs.limits)?;
        let context = DeclareContext {
            repo,
            refs,
            limits: &inputs.limits,
            producer: inputs.producer,
            input_state: inputs.input(),
            result_state: captured.state,
            now_ms: options.now_ms,
        };
        let declared = declare(context, &inputs.specs)?;
        let run = RunContext {
            producer: inputs.producer,
            input_state: inputs.input(),
            intent: inputs.intent(),
            context_manifest: inputs.context_manifest,
            instruction_digest: inputs.instruction_digest.as_ref().map(<[u8; 32]>::as_slice),
            environment: inputs.environment,
            disclosure: inputs.disclosure,
            started_at_ms: inputs.pending.started_at_ms,
            ended_at_ms: options.now_ms,
        };
        let agent_run =
            if options.agent.is_empty() { None } else { Some(options.agent.encode(run, &inputs.limits)?) };
        let unstated = inputs.specs.evidence.iter().zip(&declared.evidence).filter(|(spec, _)| !spec.stated);
        let uncertainty = unstated.map(|(spec, evidence)| Uncertainty {
            class: "evidence_outcome",
            ids: vec![evidence.id.to_string()],
            reason: format!("no outcome was stated for {:?}: recorded as inconclusive", spec.subject),
        });
        Ok(Built {
            operations,
            agent_run,
            linked_run: inputs.agent_run,
            uncertainty: uncertainty.collect(),
            declared,
        })
    }

    fn run(&self) -> Option<Gid> {
        self.agent_run.as_ref().map(|run| run.id).or(self.linked_run)
    }

    fn put(&self, writer: &Writer<'_>) -> Result<()> {
        self.operations.par_iter().try_for_each(|operation| put(writer, operation))?;
        let Declared { evidence, claims, residuals } = &self.declared;
        evidence
            .iter()
            .chain(claims)
            .chain(residuals)
            .chain(&self.agent_run)
            .try_for_each(|object| put(writer, object))
    }

    /// The change and the version of its trajectory.
    fn in_lineage(
        &self,
        inputs: &Inputs,
        captured: &Captured,
        lineage: &Lineage,
        options: &FinishOptions,
    ) -> Result<(Encoded, Encoded)> {
        let operations = ids(&self.operations);
        let (claims, evidence, residuals) = (
            unique(&self.declared.claims),
            unique(&self.declared.evidence),
            unique(&self.declared.residuals),
        );
        let change = NewChange {
            summary: Some(&inputs.summary),
            intent: inputs.intent(),
            input_state: inputs.input(),
            operations: non_empty(&operations),
            resulting_state: Some(captured.state),
            producer: Some(inputs.producer),
            agent_run: self.run(),
            context_manifest: inputs.context_manifest,
            disclosure: inputs.disclosure,
            instruction_digest: inputs.instruction_digest.as_ref().map(<[u8; 32]>::as_slice),
            environment: inputs.environment,
            claims: non_empty(&claims),
            evidence: non_empty(&evidence),
            residuals: non_empty(&residuals),
            causal_parents: non_empty(lineage.parent.as_slice()),
            created_at: Some(options.now_ms),
            ..NewChange::default()
        }
        .encode(&inputs.limits)
        .map_err(|source| too_much(source, operations.len()))?;
        let continued = lineage.trajectory.as_ref().map(|continued| &continued.version);
        let trajectory = NewTrajectory {
            previous: continued.map(|version| version.id),
            intent: inputs.intent(),
            base_state: continued.map_or(inputs.input(), |version| version.base),
            producer: Some(inputs.producer),
            agent_run: self.run(),
            added_changes: Some(&[change.id]),
            added_evidence: non_empty(&evidence),
            added_residuals: non_empty(&residuals),
            created_at: Some(continued.and_then(|version| version.created_at_ms).unwrap_or(options.now_ms)),
            updated_at: Some(options.now_ms),
            ..NewTrajectory::default()
        }
        .encode(&inputs.limits)
        .map_err(|source| RepoError::Object { family: Family::Trajectory, source })?;
        Ok((change, trajectory))
    }
}

/// A change that refers to more than an object may nearly always has too many operations.
fn too_much(source: ObjectError, operations: usize) -> RepoError {
    match source {
        ObjectError::RefCountExceeded { max, found } => RepoError::Limit {
            what: format!(
                "references of a change with {operations} operations (record the files with `gemel snapshot` first, \
                 then begin the change from there)"
            ),
            found,
            limit: max,
        },
        source => RepoError::Object { family: Family::Change, source },
    }
}

fn put(writer: &Writer<'_>, object: &Encoded) -> Result<()> {
    writer.put(NewObject { id: object.id, bytes: object.bytes.clone(), base: None })?;
    Ok(())
}

fn ids(objects: &[Encoded]) -> Vec<Gid> {
    objects.iter().map(|object| object.id).collect()
}

/// Identities in order, each once: the same spec twice is one object.
fn unique(objects: &[Encoded]) -> Vec<Gid> {
    let mut seen = std::collections::HashSet::new();
    objects.iter().map(|object| object.id).filter(|id| seen.insert(*id)).collect()
}

/// Names for everything new, in the order of the contract.
struct Names {
    change: NewName,
    state: NewName,
    trajectory: Option<NewName>,
    claims: Vec<NewName>,
    evidence: Vec<NewName>,
    residuals: Vec<NewName>,
    agent_run: Option<NewName>,
}

impl Names {
    fn give(names: &mut Allocator, built: &Built, new_trajectory: bool) -> Result<Names> {
        Ok(Names {
            change: names.next(Kind::Change)?,
            state: names.next(Kind::State)?,
            trajectory: if new_trajectory { Some(names.next(Kind::Trajectory)?) } else { None },
            claims: each(names, Kind::Claim, &built.declared.claims)?,
            evidence: each(names, Kind::Evidence, &built.declared.evidence)?,
            residuals: each(names, Kind::Residual, &built.declared.residuals)?,
            agent_run: built.agent_run.as_ref().map(|_| names.next(Kind::AgentRun)).transpose()?,
        })
    }

    fn set(
        &self,
        transaction: &mut Transaction,
        built: &Built,
        lineage: &Lineage,
        change: Gid,
        state: Gid,
        trajectory: Gid,
    ) {
        transaction.set("refs/head", change);
        transaction.set("refs/state/head", state);
        transaction.set(self.change.full.as_str(), change);
        transaction.set(self.state.full.as_str(), state);
        transaction
            .set(format!("{}{}", Kind::Trajectory.namespace(), self.trajectory_name(lineage)), trajectory);
        transaction.set("refs/trajectories/current", trajectory);
        let Declared { evidence, claims, residuals } = &built.declared;
        let lists = [(&self.claims, claims), (&self.evidence, evidence), (&self.residuals, residuals)];
        for (names, objects) in lists {
            for (name, object) in names.iter().zip(objects) {
                transaction.set(name.full.as_str(), object.id);
            }
        }
        if let (Some(name), Some(run)) = (&self.agent_run, &built.agent_run) {
            transaction.set(name.full.as_str(), run.id);
        }
    }

    fn trajectory_name(&self, lineage: &Lineage) -> String {
        match (&lineage.trajectory, &self.trajectory) {
            (Some(continued), _) => continued.name.clone(),
            (None, Some(name)) => name.short.clone(),
            (None, None) => String::new(),
        }
    }
}

/// A name for each object; an object declared twice has one.
fn each(names: &mut Allocator, kind: Kind, objects: &[Encoded]) -> Result<Vec<NewName>> {
    let mut given: Vec<NewName> = Vec::with_capacity(objects.len());
    for (at, object) in objects.iter().enumerate() {
        let earlier = objects.iter().take(at).position(|other| other.id == object.id);
        given.push(match earlier.and_then(|at| given.get(at)) {
            Some(name) => name.clone(),
            None => names.next(kind)?,
        });
    }
    Ok(given)
}

#[expect(clippy::too_many_arguments, reason = "gathers what the steps of one command made")]
fn facts(
    inputs: &Inputs,
    captured: Captured,
    built: &Built,
    lineage: &Lineage,
    change: Gid,
    trajectory: Gid,
    names: Names,
    options: &FinishOptions,
) -> FinishFacts {
    let shorts = |names: &[NewName]| names.iter().map(|name| name.short.clone()).collect();
    let mut uncertainty = captured.uncertainty;
    uncertainty.extend(built.uncertainty.iter().cloned());
    FinishFacts {
        change,
        change_name: names.change.short.clone(),
        summary: inputs.summary.clone(),
        trajectory,
        trajectory_name: names.trajectory_name(lineage),
        new_trajectory: lineage.trajectory.is_none(),
        state: captured.state,
        state_name: names.state.short.clone(),
        operations: ids(&built.operations),
        claims: ids(&built.declared.claims),
        evidence: ids(&built.declared.evidence),
        residuals: ids(&built.declared.residuals),
        claim_names: shorts(&names.claims),
        evidence_names: shorts(&names.evidence),
        residual_names: shorts(&names.residuals),
        agent_run: built.run(),
        agent_run_name: names.agent_run.map(|name| name.short),
        parents: lineage.parent.into_iter().collect(),
        dry_run: options.dry_run,
        omitted: captured.omitted,
        uncertainty,
    }
}
