//! Where a file arrives: who, at which state, on which machine.

use super::IngestOptions;
use crate::facts::{Progress, Uncertainty};
use crate::history::nodes;
use crate::history::states::state_of;
use crate::history::unrecorded::{Files, files_against};
use crate::history::workspace::Workspace;
use crate::names::{Accept, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::{Encoded, Family, Gid, Limits};
use gemel_store::Refs;

/// What is said beside the file, resolved.
pub(super) struct Place<'r> {
    pub(super) repo: &'r Repo,
    pub(super) refs: Refs,
    pub(super) limits: Limits,
    /// The producer that was named.
    pub(super) producer: Option<Gid>,
    /// A machine to be recorded.
    pub(super) machine: Option<Encoded>,
    pub(super) doubts: Vec<Uncertainty>,
    pub(super) now_ms: i64,
    workspace: Workspace,
    environment: Option<Gid>,
}

impl<'r> Place<'r> {
    pub(super) fn find(repo: &'r Repo, options: &IngestOptions) -> Result<Place<'r>> {
        let refs = repo.store().refs()?;
        let limits = repo.limits(&refs)?;
        let one = |text: &Option<String>, family: Family| {
            text.as_deref().map(|text| resolve_in(repo, &refs, text, Accept::only(family))).transpose()
        };
        let producer = one(&options.producer, Family::Producer)?;
        let environment = one(&options.environment, Family::Environment)?;
        if environment.is_some() && options.machine.is_some() {
            return Err(RepoError::invalid("--environment and --detect-environment exclude each other"));
        }
        let machine = options.machine.as_ref().map(|machine| machine.encode(&limits)).transpose()?;
        let workspace = Workspace::load(&refs, options.workspace.as_deref())?;
        let (doubts, now_ms) = (Vec::new(), options.now_ms);
        Ok(Place { repo, limits, producer, machine, doubts, now_ms, workspace, environment, refs })
    }

    /// Where it was observed.
    pub(super) fn environment(&self) -> Option<Gid> {
        self.environment.or(self.machine.as_ref().map(|machine| machine.id))
    }

    /// The state that was named.
    ///
    /// # Errors
    /// As for resolving; `Invalid` when `result` or `head` name none.
    pub(super) fn stated(&self, options: &IngestOptions) -> Result<Option<Gid>> {
        let none = |what: &str| RepoError::invalid(format!("--state: {what}"));
        match options.state.as_deref() {
            None | Some("none") => Ok(None),
            Some("head") => match self.refs.get("refs/state/head")? {
                Some(state) => Ok(Some(state)),
                None => Err(none("there is no head state yet")),
            },
            Some("result") => {
                let change =
                    self.workspace.change.ok_or_else(|| none("this workspace has finished no change"))?;
                let result = nodes::change(self.repo.store(), &change)?.result;
                result.map(Some).ok_or_else(|| none("the change that was finished last has no result"))
            }
            Some(text) => state_of(self.repo, &self.refs, text).map(Some),
        }
    }

    /// The workspace's recorded state if its files are those of it, the ingested file aside; else none, and why.
    ///
    /// # Errors
    /// `Store`.
    pub(super) fn clean_state(
        &mut self,
        options: &IngestOptions,
        progress: &dyn Progress,
    ) -> Result<Option<Gid>> {
        let reason = match self.workspace.recorded(&self.refs)? {
            None => "no state is recorded yet".to_owned(),
            Some(state) => match files_against(self.repo, &self.refs, &self.workspace, state, progress)? {
                Files::Same => return Ok(Some(state)),
                Files::Differ(mut paths) => {
                    let dir = self.workspace.dir(self.repo);
                    let own = options.file.as_deref().and_then(|file| file.strip_prefix(&dir).ok()?.to_str());
                    paths.retain(|path| Some(path.as_str()) != own);
                    match paths.first() {
                        None => return Ok(Some(state)),
                        Some(first) => format!(
                            "the files differ from the recorded state in {} path(s), {first:?} among them",
                            paths.len()
                        ),
                    }
                }
                Files::Unknown(reason) => reason,
            },
        };
        let reason = format!("which state was observed is not known: {reason}; --state names one");
        self.doubts.push(Uncertainty { class: "evidence_freshness", ids: Vec::new(), reason });
        Ok(None)
    }
}

/// One answer to a question that a document and a flag may both answer.
///
/// # Errors
/// `Invalid` when they answer it differently.
pub(super) fn agreed<T: PartialEq>(key: &str, said: Option<T>, given: Option<T>) -> Result<Option<T>> {
    match (said, given) {
        (Some(said), Some(given)) if said != given => {
            Err(RepoError::invalid(format!("invalid: {key}: the document names another one than --{key}")))
        }
        (said, given) => Ok(said.or(given)),
    }
}
