//! Carrying a plan out: first what goes, then directories, then files, each step on all cores and each through open
//! directories, so that no link is followed whatever happens meanwhile.

use super::plan::{CheckoutPlan, by_dir, dirs_above, parent};
use super::write::Written;
use super::{CheckoutReport, CheckoutRequest, free_name};
use crate::content::build::{Overlay, build, settle};
use crate::content::disk::{self, Dir, Kind, Stat};
use crate::content::error::{ContentError, Result};
use crate::content::read::{HashOnly, resolve};
use crate::content::scan::{Known, ScanRequest, StatCache, scan};
use crate::content::worktree::AsRecorded;
use crate::facts::{Silent, Stage};
use gemel_store::Store;
use gemel_store::vfs::FileBytes;
use rayon::prelude::*;
use std::collections::HashMap;
use std::io;

/// A plan being carried out.
pub(super) struct Run<'a> {
    pub(super) store: &'a Store,
    pub(super) request: &'a CheckoutRequest<'a>,
    pub(super) plan: &'a CheckoutPlan,
    pub(super) root: &'a Dir,
    /// Whether a umask takes permissions from new files, so that each has to be given its own.
    pub(super) settles_modes: bool,
}

impl CheckoutPlan {
    /// Carries the plan out. Running it again after a failure goes on where it stopped.
    ///
    /// # Errors
    /// Before anything is written: `UnrecordedWork` without `force`, `Protected`, `Collision`. Later: `Changed` when a
    /// file was touched since the plan was made, `Io`, `Store`.
    pub fn run(self, store: &Store, request: &CheckoutRequest<'_>) -> Result<CheckoutReport> {
        if !self.protected.is_empty() {
            return Err(ContentError::Protected { paths: self.protected });
        }
        if !self.collisions.is_empty() {
            return Err(ContentError::Collision { paths: self.collisions });
        }
        if !self.obstacles.is_empty() && !request.force {
            return Err(ContentError::UnrecordedWork { paths: self.obstacles });
        }
        std::fs::create_dir_all(request.target).map_err(ContentError::io("create", request.target))?;
        let root = Dir::open_root(request.target).map_err(ContentError::io("open", request.target))?;
        let mut run = Run { store, request, plan: &self, root: &root, settles_modes: true };
        run.settles_modes = !self.steps.is_empty() && run.probe(disk::is_stripped)?;
        request.progress.begin(Stage::Checkout, Some(self.steps.len() as u64));
        let done = run.carry_out();
        request.progress.end();
        let written = done?;
        if let Some(cache) = request.cache
            && !request.overlay
        {
            // Derived: without it the next command reads what was written here.
            let _ = run.remember(cache, &written);
        }
        Ok(CheckoutReport { written: self.write, removed: self.remove, unsafe_names: self.unsafe_names })
    }
}

impl Run<'_> {
    fn carry_out(&self) -> Result<Vec<Written>> {
        self.remove_files()?;
        for path in &self.plan.clear {
            self.clear(path)?;
        }
        self.remove_emptied();
        self.make_dirs()?;
        self.write_files()
    }

    /// Asks something of a new file in the target.
    fn probe<T>(&self, ask: impl Fn(&std::fs::File) -> io::Result<T>) -> Result<T> {
        let asked = free_name(|name| self.root.create(name, true)).and_then(|(name, file)| {
            let answer = ask(&file);
            self.root.remove_file(&name)?;
            answer
        });
        asked.map_err(ContentError::io("write to", self.request.target))
    }

    fn remove_files(&self) -> Result<()> {
        let removals = &self.plan.removals;
        let groups = by_dir(removals.iter().map(|(path, _)| path.as_str()));
        groups.par_iter().try_for_each(|(dir, group)| {
            let Some(dir) = self.open(dir)? else { return Ok(()) };
            group.iter().try_for_each(|&at| {
                let (path, noted) = &removals[at];
                self.remove_file(&dir, path, noted.as_ref())
            })
        })
    }

    fn remove_file(&self, dir: &Dir, path: &str, noted: Option<&Stat>) -> Result<()> {
        let name = base_name(path).as_bytes();
        let Some(now) = dir.stat(name).map_err(|error| self.failed("stat", path, error))? else {
            return Ok(());
        };
        self.unchanged(path, noted, &now)?;
        dir.remove_file(name).map_err(|error| self.failed("remove", path, error))
    }

    /// Refuses to touch what is no longer what the plan was made for.
    pub(super) fn unchanged(&self, path: &str, noted: Option<&Stat>, now: &Stat) -> Result<()> {
        let same = noted.is_some_and(|noted| noted.same_content(now));
        if same || (self.request.force && now.kind != Kind::Directory) {
            Ok(())
        } else {
            Err(ContentError::Changed { path: path.to_owned() })
        }
    }

    /// Removes something that is no content: all of it with `force`, otherwise only directories without files.
    fn clear(&self, path: &str) -> Result<()> {
        let Some(above) = self.open(parent(path).unwrap_or_default())? else { return Ok(()) };
        let name = base_name(path).as_bytes();
        let stat = above.stat(name).map_err(|error| self.failed("stat", path, error))?;
        match stat {
            None => Ok(()),
            Some(stat) if stat.kind == Kind::Directory => self.clear_tree(path.as_bytes().to_vec()),
            Some(_) if self.request.force => {
                above.remove_file(name).map_err(|error| self.failed("remove", path, error))
            }
            Some(_) => Err(ContentError::Changed { path: path.to_owned() }),
        }
    }

    fn clear_tree(&self, top: Vec<u8>) -> Result<()> {
        let mut dirs = vec![top];
        let mut next = 0;
        while let Some(at) = dirs.get(next).cloned() {
            next += 1;
            let shown = disk::text(&at);
            let Some(dir) = self.open_bytes(&at)? else { continue };
            let listing = dir.list().map_err(|error| self.failed("list", &shown, error))?;
            for (name, hint) in listing.iter() {
                let whole = disk::join(&at, name);
                if matches!(name, b".git" | b".gemel") {
                    return Err(ContentError::Protected { paths: vec![disk::text(&whole)] });
                }
                let is_dir = dir.is_dir(name, hint);
                if is_dir.map_err(|error| self.failed("stat", &disk::text(&whole), error))? {
                    dirs.push(whole);
                } else if self.request.force {
                    dir.remove_file(name)
                        .map_err(|error| self.failed("remove", &disk::text(&whole), error))?;
                } else {
                    return Err(ContentError::Changed { path: disk::text(&whole) });
                }
            }
        }
        for at in dirs.iter().rev() {
            let slash = at.iter().rposition(|&b| b == b'/');
            let (above, name) =
                slash.map_or((&b""[..], at.as_slice()), |slash| (&at[..slash], &at[slash + 1..]));
            let Some(dir) = self.open_bytes(above)? else { continue };
            dir.remove_dir(name).map_err(|error| self.failed("remove", &disk::text(at), error))?;
        }
        Ok(())
    }

    /// Removes directories that lost their last file, unless something is written below them. One that is not empty
    /// stays: it holds what is not content.
    fn remove_emptied(&self) {
        let kept = dirs_above(self.plan.write.iter().map(String::as_str));
        let emptied = dirs_above(self.plan.removals.iter().map(|(path, _)| path.as_str()));
        let mut emptied: Vec<&str> = emptied.difference(&kept).copied().collect();
        emptied.sort_unstable_by(|a, b| b.cmp(a));
        for path in emptied {
            if let Ok(Some(dir)) = self.open(parent(path).unwrap_or_default()) {
                let _ = dir.remove_dir(base_name(path).as_bytes());
            }
        }
    }

    /// Makes the directories that are missing, from the top down.
    fn make_dirs(&self) -> Result<()> {
        let empty = self.plan.empty_dirs.iter().map(String::as_str);
        let mut dirs = dirs_above(self.plan.write.iter().map(String::as_str).chain(empty.clone()));
        dirs.extend(empty);
        let mut dirs: Vec<&str> = dirs.into_iter().collect();
        let depth = |dir: &&str| dir.bytes().filter(|&b| b == b'/').count();
        dirs.sort_by_cached_key(|dir| (depth(dir), *dir));
        for level in dirs.chunk_by(|a, b| depth(a) == depth(b)) {
            level.par_iter().try_for_each(|path| self.make_dir(path))?;
        }
        Ok(())
    }

    fn make_dir(&self, path: &str) -> Result<()> {
        let Some(dir) = self.open(parent(path).unwrap_or_default())? else {
            return Err(ContentError::Changed { path: path.to_owned() });
        };
        let name = base_name(path).as_bytes();
        match dir.make_dir(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let stat = dir.stat(name).map_err(|error| self.failed("stat", path, error))?;
                match stat {
                    Some(stat) if stat.kind == Kind::Directory => Ok(()),
                    _ => Err(ContentError::Changed { path: path.to_owned() }),
                }
            }
            result => result.map_err(|error| self.failed("create", path, error)),
        }
    }

    /// The directory `path`; none when it is not there or not a directory.
    pub(super) fn open(&self, path: &str) -> Result<Option<Dir>> {
        self.open_bytes(path.as_bytes())
    }

    fn open_bytes(&self, path: &[u8]) -> Result<Option<Dir>> {
        match self.root.beneath(path) {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if disk::is_absent(&error) => Ok(None),
            Err(error) => Err(self.failed("open", &disk::text(path), error)),
        }
    }

    pub(super) fn failed(&self, op: &'static str, path: &str, source: io::Error) -> ContentError {
        ContentError::Io { op, path: disk::shown(self.request.target, path.as_bytes()), source }
    }

    /// Writes the stat cache of the target as it is now, from what was written and what was found before.
    fn remember(&self, cache: &str, written: &[Written]) -> Result<()> {
        let late = self.probe(|file| Ok(disk::stat_file(file)?.ctime_ns))?;
        let before = self.plan.have.as_ref().and_then(|have| have.to_cache(false));
        let mut now = scan(ScanRequest {
            root: self.request.target,
            recorded: Some(self.plan.want),
            source: self.store,
            cache: before.and_then(|bytes| StatCache::open(FileBytes::new(bytes))),
            verify: false,
            store_dir: self.store.dir(),
            limits: self.request.limits,
            leftovers: false,
        })?;
        settle(&mut now, &AsRecorded)?;
        let mut known: HashMap<Vec<u8>, Vec<_>> = HashMap::new();
        for Written { position, stat } in written {
            let (Some(path), Some(step)) = (self.plan.write.get(*position), self.plan.steps.get(*position))
            else {
                continue;
            };
            let dir = parent(path).unwrap_or_default().as_bytes().to_vec();
            let name = base_name(path).as_bytes().to_vec();
            known.entry(dir).or_default().push(Known { name, stat: *stat, blob: step.blob });
        }
        now.take_known(&known);
        resolve(&mut now, &HashOnly, self.request.limits, &Silent)?;
        build(&mut now, &Overlay::new(self.store), self.request.limits)?;
        now.horizon_ns = now.horizon_ns.max(late);
        now.save(self.store, Some(cache), false);
        Ok(())
    }
}

/// The last name of `path`.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
