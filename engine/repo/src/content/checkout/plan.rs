//! Deciding what a checkout has to do.

use super::collide::{OnDisk, collisions};
use super::obstacles::{InTheWay, Standing};
use super::{CheckoutRequest, is_left_behind, names, target};
use crate::content::build::Overlay;
use crate::content::delta::{Leaf, PathDelta, TreeDelta, Watch, compare_trees, delta_trees, root_tree};
use crate::content::disk::{Stat, is_absent};
use crate::content::error::{ContentError, Result};
use crate::content::scan::Scan;
use crate::content::worktree::{WorktreeRequest, look};
use gemel_object::{Gid, Mode, Object};
use gemel_store::{Store, StoreError};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};

/// What a checkout will do.
#[derive(Debug)]
pub struct CheckoutPlan {
    /// Files and links to be written, ascending.
    pub write: Vec<String>,
    /// Paths to be removed, ascending.
    pub remove: Vec<String>,
    /// Paths among both whose present content the recorded state does not hold, ascending.
    pub obstacles: Vec<String>,
    /// Protected things where the state needs another kind of thing, ascending: not even `force` removes them.
    pub protected: Vec<String>,
    /// Paths of the state that are never written: repository metadata, however disguised.
    pub unsafe_names: Vec<String>,
    /// Paths of the state that the target's file system does not tell apart.
    pub collisions: Vec<String>,
    /// How each of `write` is written.
    pub(super) steps: Vec<Step>,
    /// Recorded or unrecorded files to be removed, with what they were.
    pub(super) removals: Vec<(String, Option<Stat>)>,
    /// Things that are no content and stand in the way.
    pub(super) clear: Vec<String>,
    /// Directories of the state without content.
    pub(super) empty_dirs: Vec<String>,
    /// The root tree of the state.
    pub(super) want: Gid,
    /// What the target held.
    pub(super) have: Option<Scan>,
}

/// How a file or link is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Its mode.
    pub(super) mode: Mode,
    /// Its content.
    pub(super) blob: Gid,
    /// The file or link that it replaces.
    pub(super) replaces: Option<Stat>,
}

/// Decides what a checkout has to do. Changes no file of the target.
///
/// # Errors
/// `ProtectedTarget`, `Io`, `Store`, `CorruptObject`, `Limit`, `LinkTarget`.
pub fn plan_checkout(store: &Store, request: &CheckoutRequest<'_>) -> Result<CheckoutPlan> {
    target::check(request.target, store.dir())?;
    let want = root_tree(store, &request.state)?;
    let recorded = request.recorded.map(|state| root_tree(store, &state)).transpose()?;
    let overlay = Overlay::new(store);
    let have = look_at_target(store, request, recorded, &overlay)?;
    let (have, have_root) = have.map_or((None, None), |(scan, root)| (Some(scan), Some(root)));
    let TreeDelta { deltas, empty_dirs, alike } =
        compare_trees(&overlay, have_root, Some(want), Watch::Names)?;
    let collisions = match alike.is_empty() {
        true => Vec::new(),
        false => collisions(&OnDisk::near(request.target)?, &alike)?,
    };
    let unrecorded = match have_root {
        Some(_) => delta_trees(&overlay, recorded, have_root)?.into_iter().map(|delta| delta.path).collect(),
        None => HashSet::new(),
    };
    let mut plan = CheckoutPlan {
        write: Vec::new(),
        remove: Vec::new(),
        obstacles: Vec::new(),
        protected: Vec::new(),
        unsafe_names: Vec::new(),
        collisions,
        steps: Vec::new(),
        removals: Vec::new(),
        clear: Vec::new(),
        empty_dirs: empty_dirs.into_iter().filter(|dir| names::unsafe_part(dir).is_none()).collect(),
        want,
        have,
    };
    plan.sort_out(deltas, request.overlay);
    plan.meet_the_disk(store, request, &unrecorded)?;
    check_content(store, &plan)?;
    Ok(plan)
}

/// What the target holds now; none when it does not exist.
fn look_at_target(
    store: &Store,
    request: &CheckoutRequest<'_>,
    recorded: Option<Gid>,
    overlay: &Overlay<'_>,
) -> Result<Option<(Scan, Gid)>> {
    let looking = WorktreeRequest {
        root: request.target,
        recorded: request.recorded,
        against: None,
        cache: request.cache,
        verify: false,
        limits: request.limits,
        progress: request.progress,
    };
    match look(store, &looking, recorded, overlay, true) {
        Err(ContentError::Io { op: "open", source, .. })
            if is_absent(&source) && request.target.symlink_metadata().is_err() =>
        {
            Ok(None)
        }
        result => result.map(Some),
    }
}

impl CheckoutPlan {
    /// Splits the differences into what is written and what is removed.
    fn sort_out(&mut self, deltas: Vec<PathDelta>, overlay: bool) {
        let mut unsafe_names = BTreeSet::new();
        let mut gone = Vec::new();
        for PathDelta { path, before, after } in deltas {
            let stat = before.and_then(|_| self.have.as_ref()?.leaf_stat(path.as_bytes()));
            match after {
                None => gone.push((path, stat)),
                Some((mode, blob)) => match names::unsafe_part(&path) {
                    Some(part) => drop(unsafe_names.insert(part.to_owned())),
                    None => {
                        self.steps.push(Step { mode, blob, replaces: stat });
                        self.write.push(path);
                    }
                },
            }
        }
        self.unsafe_names = unsafe_names.into_iter().collect();
        if overlay {
            let needed = Needed::new(&self.write);
            gone.retain(|(path, _)| needed.is_in_the_way(path));
        }
        self.removals = gone;
    }

    /// Looks at what stands, besides content, where something is to be written, and finds unrecorded work.
    fn meet_the_disk(
        &mut self,
        store: &Store,
        request: &CheckoutRequest<'_>,
        unrecorded: &HashSet<String>,
    ) -> Result<()> {
        let mut met = Met::default();
        met.remove.extend(self.removals.iter().map(|(path, _)| path.clone()));
        let replaced = self.write.iter().zip(&self.steps).filter(|(_, step)| step.replaces.is_some());
        let touched = self.removals.iter().map(|(path, _)| path).chain(replaced.map(|(path, _)| path));
        met.obstacles
            .extend(touched.filter(|path| unrecorded.contains(*path) && !is_left_behind(path)).cloned());
        let inodes = self.removals.iter().filter_map(|(_, stat)| stat.map(|stat| stat.ino));
        let standing = match &self.have {
            None => Vec::new(),
            Some(have) => InTheWay {
                root: &have.root,
                target: request.target,
                store,
                limits: request.limits,
                gone: &met.remove,
                gone_inodes: &inodes.filter(|ino| *ino != 0).collect(),
            }
            .look(&self.write, &self.steps)?,
        };
        for (at, standing) in standing {
            let Some((path, step)) = self.write.get(at).zip(self.steps.get_mut(at)) else { continue };
            met.take(at, path, step, standing);
        }
        keep_others(&mut self.write, &met.unneeded);
        keep_others(&mut self.steps, &met.unneeded);
        self.remove = met.remove.into_iter().collect();
        self.obstacles = met.obstacles.into_iter().collect();
        self.protected = met.protected.into_iter().collect();
        self.clear = met.clear.into_iter().collect();
        Ok(())
    }
}

/// What was met on the disk.
#[derive(Default)]
struct Met {
    remove: BTreeSet<String>,
    obstacles: BTreeSet<String>,
    protected: BTreeSet<String>,
    clear: BTreeSet<String>,
    /// Steps that have nothing to do.
    unneeded: HashSet<usize>,
}

impl Met {
    /// Takes in what stands at the path of step `at`.
    fn take(&mut self, at: usize, path: &str, step: &mut Step, standing: Standing) {
        match standing {
            Standing::Same => drop(self.unneeded.insert(at)),
            Standing::Leaf(stat) => {
                step.replaces = Some(stat);
                self.obstacles.insert(path.to_owned());
            }
            Standing::Above(above) => {
                self.obstacles.insert(above.clone());
                self.remove.insert(above.clone());
                self.clear.insert(above);
            }
            Standing::Tree { leftovers, metadata } => {
                self.clear.insert(path.to_owned());
                self.remove.extend(leftovers.iter().cloned());
                self.obstacles.extend(leftovers);
                self.protected.extend(metadata);
            }
        }
    }
}

/// Drops the elements at `positions`.
fn keep_others<T>(list: &mut Vec<T>, positions: &HashSet<usize>) {
    let mut at = 0..;
    list.retain(|_| at.next().is_none_or(|at| !positions.contains(&at)));
}

/// Which paths the written ones cannot exist beside.
struct Needed<'w> {
    written: HashSet<&'w str>,
    dirs: HashSet<&'w str>,
}

impl<'w> Needed<'w> {
    fn new(write: &'w [String]) -> Needed<'w> {
        let dirs = dirs_above(write.iter().map(String::as_str));
        Needed { written: write.iter().map(String::as_str).collect(), dirs }
    }

    fn is_in_the_way(&self, path: &str) -> bool {
        self.dirs.contains(path) || above(path).any(|dir| self.written.contains(dir))
    }
}

/// The directories above `path`, nearest first.
pub(super) fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |dir| parent(dir))
}

/// All directories above some paths.
pub(super) fn dirs_above<'p>(paths: impl Iterator<Item = &'p str>) -> HashSet<&'p str> {
    let mut dirs = HashSet::new();
    for path in paths {
        // Once a directory is known, so are those above it.
        let _ = above(path).take_while(|dir| dirs.insert(*dir)).count();
    }
    dirs
}

/// Positions of `paths` by directory, each group in the order given.
pub(super) fn by_dir<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<(&'p str, Vec<usize>)> {
    let mut order: Vec<(&str, usize)> =
        paths.enumerate().map(|(at, path)| (parent(path).unwrap_or_default(), at)).collect();
    order.sort_unstable();
    order
        .chunk_by(|(a, _), (b, _)| a == b)
        .map(|group| (group[0].0, group.iter().map(|(_, at)| *at).collect()))
        .collect()
}

/// The directory of `path`; none at the root.
pub(super) fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(dir, _)| dir)
}

/// Longest target of a link.
const MAX_LINK: usize = 4095;

/// Whether everything to be written is there and can be: before the first write, not in the middle.
fn check_content(store: &Store, plan: &CheckoutPlan) -> Result<()> {
    plan.write.par_iter().zip(&plan.steps).with_min_len(256).try_for_each(|(path, step)| {
        if step.mode != Mode::Link {
            let stored = store.contains(&step.blob)?;
            return if stored { Ok(()) } else { Err(StoreError::NotFound { id: step.blob }.into()) };
        }
        let reason = |reason| Err(ContentError::LinkTarget { path: path.clone(), reason });
        if store.len_bytes(&step.blob)? > 2 * MAX_LINK as u64 {
            return reason("is longer than any link's");
        }
        let envelope = store.read(&step.blob)?;
        let target = body(&step.blob, &envelope)?;
        match target {
            [] => reason("is empty"),
            target if target.contains(&0) => reason("holds a NUL"),
            target if target.len() > MAX_LINK => reason("is longer than any link's"),
            _ => Ok(()),
        }
    })
}

/// The content in the envelope of a blob.
pub(super) fn body<'e>(id: &Gid, envelope: &'e [u8]) -> Result<&'e [u8]> {
    let limits = gemel_object::Limits::DEFAULT;
    let corrupt = |error| ContentError::CorruptObject { id: *id, detail: format!("{error}") };
    Object::parse(envelope, &limits).map(|object| object.body()).map_err(corrupt)
}

/// What a step makes.
pub(super) fn leaf(step: &Step) -> Leaf {
    (step.mode, step.blob)
}
