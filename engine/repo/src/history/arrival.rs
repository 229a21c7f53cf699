//! Worktrees when head has moved on because history was brought in (workflow, section 19).

use crate::content::{ContentError, WorktreeRequest, delta_worktree};
use crate::facts::Progress;
use crate::history::checkout::{CheckoutFacts, CheckoutOptions, checkout};
use crate::history::workspace::{Workspace, record_name};
use crate::{Repo, RepoError, Result};
use gemel_object::Gid;
use gemel_store::Refs;

/// How the default workspace stood before history was brought in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Head's state then.
    head: Option<Gid>,
    /// The state its files were accounted for by.
    state: Option<Gid>,
    /// Whether that was recorded, not only taken over from head.
    recorded: bool,
    /// Whether a change is in progress.
    pending: bool,
    /// Whether its files were those of that state.
    clean: bool,
}

/// What became of the files of the default workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// Head has not moved.
    Nothing,
    /// They were brought to head's state.
    Written(Box<CheckoutFacts>),
    /// They stay, with the state they were recorded at; the reason.
    Stay(&'static str),
}

impl Arrival {
    /// Looks at the default workspace. With `files` its files are compared with what is recorded, which
    /// [`Arrival::update`] needs.
    ///
    /// # Errors
    /// `Store`, and whatever the comparison meets.
    pub fn expect(repo: &Repo, files: bool, progress: &dyn Progress) -> Result<Arrival> {
        let refs = repo.store().refs()?;
        let workspace = Workspace::load(&refs, None)?;
        let state = workspace.recorded(&refs)?;
        let clean = files && {
            let dir = workspace.dir(repo);
            let limits = repo.limits(&refs)?;
            let request = WorktreeRequest {
                root: &dir,
                recorded: state,
                against: None,
                cache: Some(&workspace.cache_name(repo, &dir)),
                verify: false,
                limits: &limits,
                progress,
            };
            delta_worktree(repo.store(), &request)?.changes.is_empty()
        };
        Ok(Arrival {
            head: refs.get("refs/state/head")?,
            state,
            recorded: workspace.state.is_some(),
            pending: workspace.pending.is_some(),
            clean,
        })
    }

    /// Brings the files to the new head if they hold nothing that is not recorded.
    ///
    /// # Errors
    /// As [`checkout`], but for work in the way: the files then stay.
    pub fn update(self, repo: &Repo, now_ms: i64, progress: &dyn Progress) -> Result<Arrived> {
        if self.moved_to(repo)?.is_none() {
            return Ok(Arrived::Nothing);
        }
        if self.pending {
            return self.stay(repo, "a change is in progress", now_ms);
        }
        if !self.clean {
            return self.stay(repo, "they hold work that is not recorded", now_ms);
        }
        if self.recorded && self.state != self.head {
            return self.stay(repo, "the workspace does not stand at what head was", now_ms);
        }
        let state = "refs/state/head".to_owned();
        let options = CheckoutOptions { state, now_ms, ..CheckoutOptions::default() };
        // What accounts for the files is what stood there before head moved.
        self.pin(repo, now_ms)?;
        match checkout(repo, &options, progress) {
            Ok(facts) => Ok(Arrived::Written(Box::new(facts))),
            Err(RepoError::Content(ContentError::UnrecordedWork { .. })) => {
                Ok(Arrived::Stay("files that are not recorded are in the way"))
            }
            Err(error) => Err(error),
        }
    }

    /// Nothing is done to the files.
    ///
    /// # Errors
    /// `Store`.
    pub fn leave(self, repo: &Repo, now_ms: i64) -> Result<Arrived> {
        match self.moved_to(repo)? {
            None => Ok(Arrived::Nothing),
            Some(_) => self.stay(repo, "checkout writes head's state", now_ms),
        }
    }

    fn stay(&self, repo: &Repo, reason: &'static str, now_ms: i64) -> Result<Arrived> {
        self.pin(repo, now_ms)?;
        Ok(Arrived::Stay(reason))
    }

    /// A workspace without a record stands wherever head does; its files do not, once head moves.
    fn pin(&self, repo: &Repo, now_ms: i64) -> Result<()> {
        match self.state.filter(|_| !self.recorded) {
            Some(state) => self.set(repo, state, now_ms),
            None => Ok(()),
        }
    }

    fn set(&self, repo: &Repo, state: Gid, now_ms: i64) -> Result<()> {
        let mut transaction = repo.store().transaction()?;
        let current = Workspace::load(transaction.refs(), None)?;
        // Whoever was faster knows better.
        if current.state.is_some() != self.recorded || self.recorded && current.state != self.state {
            return Ok(());
        }
        transaction.set(record_name(&current.name, "state"), state);
        Ok(transaction.commit("workspace state", now_ms)?)
    }

    fn moved_to(&self, repo: &Repo) -> Result<Option<Gid>> {
        let refs: Refs = repo.store().refs()?;
        Ok(refs.get("refs/state/head")?.filter(|head| Some(*head) != self.head))
    }
}
