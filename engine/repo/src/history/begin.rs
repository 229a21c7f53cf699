//! `change begin` and `change abort` (workflow, section 4.1).

use crate::history::pending::Pending;
use crate::history::view;
use crate::history::workspace::{Workspace, path_text, record_name};
use crate::names::{Accept, Allocator, Kind, Namer, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::families::NewIntent;
use gemel_object::{Encoded, Family, Gid, Limits};
use gemel_store::{NewObject, Transaction};
use std::path::{Path, PathBuf};

/// What `change begin` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct BeginOptions {
    /// Input state; else the workspace's, else head's, else none.
    pub from: Option<String>,
    /// An existing intent.
    pub intent: Option<String>,
    /// A new intent's summary.
    pub intent_summary: Option<String>,
    /// Who acts; the default producer when absent.
    pub producer: Option<String>,
    /// `default` when absent.
    pub workspace: Option<String>,
    /// The directory the change will be captured from, absolute.
    pub worktree: Option<PathBuf>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// What was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeginFacts {
    /// The state the change starts from; `None` for a first change.
    pub input_state: Option<Gid>,
    /// The intent.
    pub intent: Option<Gid>,
    /// Its name.
    pub intent_name: Option<String>,
    /// Its summary.
    pub intent_summary: Option<String>,
    /// Who acts.
    pub producer: Gid,
    /// The workspace.
    pub workspace: String,
    /// The directory the change will be captured from, when one was named.
    pub worktree: Option<PathBuf>,
}

/// Records that a change is in progress.
///
/// # Errors
/// `AlreadyPending`, `WrongFamily`, `Unresolved`, `Invalid`, `WorkspaceName`, `Store`. Nothing is then recorded.
pub fn begin(repo: &Repo, options: &BeginOptions) -> Result<BeginFacts> {
    let refs = repo.store().refs()?;
    let workspace = Workspace::load(&refs, options.workspace.as_deref())?;
    refuse_pending(&workspace)?;
    let worktree = options.worktree.as_deref().map(worktree_text).transpose()?;
    let producer = repo.producer(&refs, options.producer.as_deref(), None)?;
    let from = options.from.as_deref().map(|text| resolve_in(repo, &refs, text, Accept::only(Family::State)));
    let from = from.transpose()?;
    let input_state = match from {
        Some(state) => Some(state),
        None => workspace.recorded(&refs)?,
    };
    let new_intent = new_intent(options, producer, &repo.limits(&refs)?)?;
    let intent = match (&new_intent, &options.intent) {
        (Some(encoded), _) => Some(encoded.id),
        (None, Some(text)) => Some(resolve_in(repo, &refs, text, Accept::only(Family::Intent))?),
        (None, None) => None,
    };
    if let Some(Encoded { id, bytes }) = new_intent.clone() {
        let writer = repo.store().writer()?;
        writer.put(NewObject { id, bytes, base: None })?;
        writer.commit()?;
    }

    let mut transaction = repo.store().transaction()?;
    // Another process may have begun, or moved the workspace, before the lock was ours.
    let current = Workspace::load(transaction.refs(), Some(&workspace.name))?;
    refuse_pending(&current)?;
    let input_state = match from {
        Some(state) => Some(state),
        None if current.state == workspace.state => input_state,
        None => current.recorded(transaction.refs())?,
    };
    let intent_name = match &new_intent {
        Some(encoded) => Some(name_intent(&mut transaction, encoded.id)?),
        None => None,
    };
    let pending = Pending {
        input_state,
        intent,
        producer: Some(producer),
        workspace: workspace.name.clone(),
        worktree,
        started_at_ms: options.now_ms,
    };
    transaction.set_record(record_name(&workspace.name, "pending"), pending.to_bytes());
    if let Some(state) = from {
        transaction.set(record_name(&workspace.name, "state"), state);
    }
    if let Some(dir) = &options.worktree {
        current.set_path(&mut transaction, repo, dir)?;
    }
    transaction.commit("change begin", options.now_ms)?;

    let mut facts = BeginFacts {
        input_state,
        intent,
        intent_name,
        intent_summary: options.intent_summary.clone(),
        producer,
        workspace: workspace.name,
        worktree: options.worktree.clone(),
    };
    if let (None, Some(id)) = (&new_intent, intent) {
        let reference = view::intent_reference(repo.store(), id, &Namer::find(repo.store(), &refs, [id])?)?;
        facts.intent_name = reference.name;
        facts.intent_summary = reference.summary;
    }
    Ok(facts)
}

fn refuse_pending(workspace: &Workspace) -> Result<()> {
    match workspace.pending {
        Some(_) => Err(RepoError::AlreadyPending { workspace: workspace.name.clone() }),
        None => Ok(()),
    }
}

fn worktree_text(dir: &Path) -> Result<String> {
    if !dir.is_dir() {
        return Err(RepoError::invalid(format!("{} is not a directory", dir.display())));
    }
    path_text(dir).map(str::to_owned)
}

/// Gives an intent the next name of its kind.
fn name_intent(transaction: &mut Transaction, intent: Gid) -> Result<String> {
    let mut names = Allocator::new(transaction.refs());
    let name = names.next(Kind::Intent)?;
    transaction.set(name.full, intent);
    names.save(transaction);
    Ok(name.short)
}

fn new_intent(options: &BeginOptions, producer: Gid, limits: &Limits) -> Result<Option<Encoded>> {
    let Some(summary) = options.intent_summary.as_deref() else { return Ok(None) };
    if options.intent.is_some() {
        return Err(RepoError::invalid("--intent and --intent-summary exclude each other"));
    }
    if summary.trim().is_empty() {
        return Err(RepoError::invalid("--intent-summary is empty"));
    }
    let intent = NewIntent {
        summary: Some(summary),
        producer: Some(producer),
        created_at: Some(options.now_ms),
        ..NewIntent::default()
    };
    intent.encode(limits).map(Some).map_err(|source| RepoError::Object { family: Family::Intent, source })
}

/// What was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbortFacts {
    /// The workspace.
    pub workspace: String,
    /// The intent, which stays.
    pub intent: Option<Gid>,
}

/// Removes the pending record of a workspace (`default` when absent), readable or not. Files stay as they are.
///
/// # Errors
/// `NothingPending`, `WorkspaceName`, `Store`.
pub fn abort(repo: &Repo, workspace: Option<&str>, now_ms: i64) -> Result<AbortFacts> {
    let mut transaction = repo.store().transaction()?;
    let workspace = Workspace::load(transaction.refs(), workspace)?;
    if workspace.pending.is_none() {
        return Err(RepoError::NothingPending { workspace: workspace.name });
    }
    let intent = workspace.pending().ok().and_then(|pending| pending.intent);
    transaction.remove(record_name(&workspace.name, "pending"));
    transaction.commit("change abort", now_ms)?;
    Ok(AbortFacts { workspace: workspace.name, intent })
}
