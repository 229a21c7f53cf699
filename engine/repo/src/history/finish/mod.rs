//! `change finish`: the worktree becomes the result of a change (workflow, sections 4.2 to 4.5).
//!
//! Files are captured and objects are built before the lock is taken; under it only the parent and the trajectory
//! are decided, the two objects that depend on them are built, and everything is committed: one commit of objects,
//! then one ref transaction. Whatever fails before that leaves refs, counters and the pending record as they were.

mod built;
mod names;

use crate::content::{
    CaptureRequest, CompareWith, Omission, PathDelta, WorktreeRequest, capture, delta_worktree,
};
use crate::facts::{Omitted, Progress, Uncertainty};
use crate::history::agent;
use crate::history::declared::Specs;
use crate::history::graph::Graph;
use crate::history::lineage::{self, Lineage};
use crate::history::objects::put;
use crate::history::pending::Pending;
use crate::history::view;
use crate::history::workspace::{Workspace, path_text, record_name};
use crate::names::{Accept, Allocator, NewName, resolve_in};
use crate::{Repo, RepoError, Result};
use built::{Built, ids};
use gemel_object::families::NewState;
use gemel_object::{Disclosure, Family, Gid, Limits};
use gemel_store::{Refs, Writer};
use names::Names;
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
    /// Incoherent capture; outcomes that were not stated; no causal parent although there is a head.
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
    /// The disclosure of a run made here when none is named.
    run_disclosure: Disclosure,
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
            run_disclosure: repo.disclosure_default(refs)?,
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
    // Said once: whoever goes on from a recorded state has heard it.
    let rules = match inputs.input() {
        None => view::root_rules(repo.store(), &inputs.dir, recorded)?,
        Some(_) => None,
    };
    let left_out = |omissions: &[Omission]| view::omitted(omissions).into_iter().chain(rules).collect();
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
            omitted: left_out(&delta.omitted),
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
        omitted: left_out(&captured.omitted),
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
    uncertainty.extend(lineage.unparented.clone());
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
