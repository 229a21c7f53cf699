//! `checkout` (workflow, section 11).

use crate::content::{CheckoutRequest, plan_checkout};
use crate::facts::{Named, Omitted, Progress};
use crate::history::states::state_of;
use crate::history::view;
use crate::history::workspace::{Workspace, path_text, record_name};
use crate::names::{self, Namer};
use crate::{Repo, Result};
use gemel_object::Gid;
use gemel_store::Refs;
use std::path::PathBuf;

/// What `checkout` is told.
#[derive(Clone, Debug, Default)]
pub struct CheckoutOptions {
    /// A state, or a change, trajectory or release that has one.
    pub state: String,
    /// The directory written; the workspace's own, else the repository root.
    pub dir: Option<PathBuf>,
    /// The workspace whose state moves; `default` when neither it nor `dir` is given, none with `dir` alone.
    pub workspace: Option<String>,
    /// Whether files that the state does not hold stay.
    pub overlay: bool,
    /// Whether unrecorded files in the way are lost.
    pub force: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Unix milliseconds, for the journal.
    pub now_ms: i64,
}

/// What was written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckoutFacts {
    /// The state.
    pub state: Named,
    /// The directory.
    pub dir: PathBuf,
    /// Whether other files stayed.
    pub overlay: bool,
    /// The workspace whose state moved.
    pub workspace: Option<String>,
    /// Paths removed (or to be removed, in a dry run), ascending.
    pub removed: Vec<String>,
    /// Files and links written (or to be written), ascending.
    pub written: Vec<String>,
    /// Unrecorded files in the way, ascending: lost with `force`, in a dry run what would be refused without it.
    pub obstacles: Vec<String>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Paths of the state that are never written, with the reason.
    pub omitted: Vec<Omitted>,
}

/// Makes a directory hold a state. All checks run before the first write; the workspace's record moves last.
///
/// # Errors
/// `Unresolved`, `WrongFamily`, `WorkspaceName`, `Store`, and whatever the content refuses (`UnrecordedWork` with
/// unrecorded files in the way).
pub fn checkout(repo: &Repo, options: &CheckoutOptions, progress: &dyn Progress) -> Result<CheckoutFacts> {
    let refs = repo.store().refs()?;
    let state = state_of(repo, &refs, &options.state)?;
    let place = Place::of(repo, &refs, options)?;
    let limits = repo.limits(&refs)?;
    let request = CheckoutRequest {
        target: &place.dir,
        state,
        recorded: place.recorded,
        overlay: options.overlay,
        force: options.force,
        cache: place.cache.as_deref(),
        limits: &limits,
        progress,
    };
    let plan = plan_checkout(repo.store(), &request)?;
    let obstacles = plan.obstacles.clone();
    let (written, removed, unsafe_names) = if options.dry_run {
        (plan.write, plan.remove, plan.unsafe_names)
    } else {
        let report = plan.run(repo.store(), &request)?;
        place.record(repo, state, options.now_ms)?;
        (report.written, report.removed, report.unsafe_names)
    };
    let omitted = if unsafe_names.is_empty() {
        Vec::new()
    } else {
        vec![view::omitted_list("unsafe_name", "not_content", unsafe_names)]
    };
    let name = match names::typed(&refs, state, Some(&options.state))? {
        Some(typed) => Some(typed),
        None => Namer::find(repo.store(), &refs, [state])?.get(&state),
    };
    Ok(CheckoutFacts {
        state: Named { id: state, name },
        workspace: place.workspace.map(|workspace| workspace.name),
        dir: place.dir,
        overlay: options.overlay,
        removed,
        written,
        obstacles,
        dry_run: options.dry_run,
        omitted,
    })
}

/// Where to write, and whose files those are.
struct Place {
    dir: PathBuf,
    /// The workspace whose state moves.
    workspace: Option<Workspace>,
    /// The state that accounts for the files in `dir` now.
    recorded: Option<Gid>,
    cache: Option<String>,
}

impl Place {
    fn of(repo: &Repo, refs: &Refs, options: &CheckoutOptions) -> Result<Place> {
        let named = match (&options.workspace, &options.dir) {
            (Some(name), _) => Some(Workspace::load(refs, Some(name))?),
            (None, None) => Some(Workspace::load(refs, None)?),
            // The files of the root belong to the default workspace, however the directory was named.
            (None, Some(dir)) if dir == repo.root() => Some(Workspace::load(refs, None)?),
            (None, Some(_)) => None,
        };
        let dir = match (&options.dir, &named) {
            (Some(dir), _) => PathBuf::from(path_text(dir)?),
            (None, Some(workspace)) => workspace.dir(repo),
            (None, None) => repo.root().to_path_buf(),
        };
        // A workspace accounts for the files of its own directory only.
        let own = named.as_ref().filter(|workspace| workspace.dir(repo) == dir);
        let recorded = own.map(|workspace| workspace.recorded(refs)).transpose()?.flatten();
        let cache = named.as_ref().map(|workspace| workspace.cache_name(repo, &dir));
        Ok(Place { dir, recorded, cache, workspace: named })
    }

    /// Moves the workspace's record.
    fn record(&self, repo: &Repo, state: Gid, now_ms: i64) -> Result<()> {
        let Some(workspace) = &self.workspace else { return Ok(()) };
        let mut transaction = repo.store().transaction()?;
        transaction.set(record_name(&workspace.name, "state"), state);
        workspace.set_path(&mut transaction, repo, &self.dir)?;
        Ok(transaction.commit("checkout", now_ms)?)
    }
}
