//! What a directory differs in from the recorded state, without writing objects (workflow, sections 10 and 17).

use crate::content::build::{Overlay, Stored, build, object_failure, settle};
use crate::content::capture::Omission;
use crate::content::delta::{ObjectSource, PathDelta, delta_trees, root_tree};
use crate::content::disk::{Dir, Kind, is_absent};
use crate::content::error::{ContentError, Result};
use crate::content::read::{HashOnly, resolve};
use crate::content::scan::{CachedDir, Leaf, Scan, ScanRequest, is_never_recorded, load, scan};
use crate::facts::{Progress, Stage};
use gemel_object::{EnvelopeHasher, Gid, Limits, Mode, blob_header};
use gemel_store::Store;
use std::path::Path;

/// What a comparison is told.
#[derive(Clone, Copy)]
pub struct WorktreeRequest<'a> {
    /// The directory.
    pub root: &'a Path,
    /// The workspace's recorded state: decides which ignored paths are content, and is compared with unless `against`
    /// names another.
    pub recorded: Option<Gid>,
    /// The state to compare with, when it is not the recorded one.
    pub against: Option<Gid>,
    /// Name of the workspace's stat cache; none: every file is read.
    pub cache: Option<&'a str>,
    /// Whether every file is read, whatever the stat cache says.
    pub verify: bool,
    /// Upper bounds on objects.
    pub limits: &'a Limits,
    /// Hears how far the reading is.
    pub progress: &'a dyn Progress,
}

/// How a directory differs from a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeDelta {
    /// What differs, by path: `before` in the state, `after` in the directory.
    pub changes: Vec<PathDelta>,
    /// The root tree a capture would have made.
    pub root_tree: Gid,
    /// Whether nothing changed while it was read.
    pub coherent: bool,
    /// Nested repositories, and what a capture would refuse.
    pub omitted: Vec<Omission>,
}

/// Compares a directory with a state. Only changed files are read; the stat cache is refreshed when something was
/// learnt, and failing to do so is no failure.
///
/// # Errors
/// `Io`, `Store`, `CorruptObject`, `Limit`.
pub fn delta_worktree(store: &Store, request: &WorktreeRequest<'_>) -> Result<WorktreeDelta> {
    let recorded = request.recorded.map(|state| root_tree(store, &state)).transpose()?;
    let against = match request.against {
        Some(state) => Some(root_tree(store, &state)?),
        None => recorded,
    };
    let overlay = Overlay::new(store);
    let (scan, root_tree) = look(store, request, recorded, &overlay, false)?;
    if scan.learnt() {
        scan.save(store, request.cache, false);
    }
    Ok(WorktreeDelta {
        changes: delta_captured(&overlay, against, root_tree)?,
        root_tree,
        coherent: !scan.disturbed,
        omitted: scan.omitted,
    })
}

/// What a tree made by a capture differs in from `before`, as far as captures record.
///
/// # Errors
/// As [`delta_trees`].
pub(crate) fn delta_captured(
    source: &dyn ObjectSource,
    before: Option<Gid>,
    captured: Gid,
) -> Result<Vec<PathDelta>> {
    let mut deltas = delta_trees(source, before, Some(captured))?;
    deltas.retain(|delta| !is_never_recorded(&delta.path));
    Ok(deltas)
}

/// Walks a directory and names everything in it, without storing anything: trees that are not recorded stay in
/// `overlay`. With `leftovers` also what a stopped checkout left.
///
/// # Errors
/// As [`delta_worktree`].
pub(crate) fn look(
    store: &Store,
    request: &WorktreeRequest<'_>,
    recorded: Option<Gid>,
    overlay: &Overlay<'_>,
    leftovers: bool,
) -> Result<(Scan, Gid)> {
    let WorktreeRequest { root, cache, verify, limits, .. } = *request;
    let walk = ScanRequest { leftovers, ..walk(store, root, recorded, cache, verify, limits) };
    let mut scan = scan(walk)?;
    settle(&mut scan, &AsRecorded)?;
    let pending = scan.pending();
    request.progress.begin(Stage::Capture, Some(pending));
    let read = resolve(&mut scan, &HashOnly, request.limits, request.progress);
    request.progress.end();
    read?;
    let root = build(&mut scan, overlay, request.limits)?;
    Ok((scan, root))
}

/// The walk of `root` beside the tree `recorded`, with what the stat cache named `cache` knows.
pub(crate) fn walk<'a>(
    store: &'a Store,
    root: &'a Path,
    recorded: Option<Gid>,
    cache: Option<&str>,
    verify: bool,
    limits: &'a Limits,
) -> ScanRequest<'a> {
    let (cache, store_dir) = (load(store, cache), store.dir());
    ScanRequest { root, recorded, source: store, cache, verify, store_dir, limits, leftovers: false }
}

/// A directory whose tree is the recorded one can be read from the store; others have to be made.
pub(crate) struct AsRecorded;

impl Stored for AsRecorded {
    fn needs_nothing(&self, cached: &CachedDir<'_>, recorded: Option<Gid>) -> Result<bool> {
        Ok(cached.tree().is_none() || cached.tree() == recorded)
    }

    fn vouches(&self, _: &CachedDir<'_>) -> Result<bool> {
        Ok(true)
    }

    fn holds(&self, _: &Leaf) -> Result<bool> {
        Ok(true)
    }
}

/// Length in bytes of a file or link of a directory, without following links; 0 when it is gone.
///
/// # Errors
/// `Io`.
pub fn worktree_len(root: &Path, path: &str) -> Result<u64> {
    let failed = |op| move |error| ContentError::io(op, root.join(path))(error);
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let base = Dir::open_root(root).map_err(failed("open"))?;
    let dir = match base.beneath(dir.as_bytes()) {
        Err(error) if is_absent(&error) => return Ok(0),
        result => result.map_err(failed("open"))?,
    };
    Ok(dir.stat(name.as_bytes()).map_err(failed("stat"))?.map_or(0, |stat| stat.size))
}

/// Reads a file or link of a directory once, without following links, and checks that it is still `expected`.
///
/// # Errors
/// `Changed` when it is not; `Io`, `Limit`.
pub fn read_worktree(root: &Path, path: &str, expected: (Mode, Gid), limits: &Limits) -> Result<Vec<u8>> {
    let changed = || ContentError::Changed { path: path.to_owned() };
    let failed = |op| move |error| ContentError::io(op, root.join(path))(error);
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let base = Dir::open_root(root).map_err(failed("open"))?;
    let dir = match base.beneath(dir.as_bytes()) {
        Err(error) if is_absent(&error) => return Err(changed()),
        result => result.map_err(failed("open"))?,
    };
    let stat = dir.stat(name.as_bytes()).map_err(failed("stat"))?;
    let stat = stat.filter(|stat| stat.kind.mode() == Some(expected.0)).ok_or_else(changed)?;
    let bytes = if stat.kind == Kind::Link {
        dir.read_link(name.as_bytes()).map_err(failed("read"))?
    } else {
        let header = blob_header(stat.size, limits).map_err(|error| object_failure(path, error))?;
        let mut file = dir.open_file(name.as_bytes()).map_err(failed("open"))?;
        let mut bytes = Vec::with_capacity(usize::try_from(header.body_len()).unwrap_or(0) + 1);
        file.fill(&mut bytes).map_err(failed("read"))?;
        bytes
    };
    let blob = blob_header(bytes.len() as u64, limits).map(|header| {
        let mut hasher = EnvelopeHasher::new(&header);
        hasher.update(&bytes);
        hasher.finish()
    });
    if blob == Ok(expected.1) { Ok(bytes) } else { Err(changed()) }
}
