//! Stores of the published 0.12: recognised, kept out of ours, turned into ours.
//!
//! A 0.12 store is a directory of loose files. Nothing in it is trusted: links are not followed, every size is
//! bounded before it is read, every object is hashed against its name, every ref is checked for name, family and
//! target. [`plan`] looks, [`migrate`] looks and converts, [`STOPPERS`] keep 0.12 from writing into
//! what it does not understand. The steps of the conversion are in `switch`, its reasons in docs/decisions/stopping-0.12.md.

mod build;
mod disk;
mod finding;
mod objects;
mod records;
mod refs;
mod stopper;
mod survey;
mod switch;

pub(crate) use disk::remove_tree;
pub use finding::{Finding, Findings, Severity};
use stopper::write_stoppers;
pub use stopper::{STOPPER_TEXT, STOPPERS, check_stoppers};

use crate::layout::{LOCK, META};
use crate::vfs::Vfs;
use crate::{Result, StoreError};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use survey::Survey;
use switch::{MARK, OLD, Phase, Switch};

/// What a `meta.json` belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// A store of 0.12.
    Legacy,
    /// A store of this layout.
    Current,
    /// A migration that came to its last step before it was decided: `refs` tells which store it is.
    Prepared,
}

/// What a parsed `meta.json` belongs to; `None` for a schema this build does not know.
fn layout_of(meta: &Value) -> Option<Layout> {
    match (meta.get("schema")?.as_str()?, meta.get("migration")) {
        ("gemel.meta.v1", _) => Some(Layout::Legacy),
        ("gemel.meta.v2", None) => Some(Layout::Current),
        ("gemel.meta.v2", Some(_)) => Some(Layout::Prepared),
        _ => None,
    }
}

/// What the store in `dir` is, given the bytes of its `meta.json`: `Legacy` or `Current`.
///
/// # Errors
/// `UnknownVersion` for the schema of a later version, `CorruptFile` for anything else, `Io`.
pub(crate) fn recognise(vfs: &dyn Vfs, dir: &Path, meta: &[u8]) -> Result<Layout> {
    let path = dir.join(META);
    let corrupt = |detail: String| StoreError::CorruptFile { path: path.clone(), offset_bytes: 0, detail };
    let value: Value = serde_json::from_slice(meta).map_err(|e| corrupt(e.to_string()))?;
    match layout_of(&value) {
        Some(Layout::Prepared) => match disk::kind(vfs, &dir.join(refs::REFS))? {
            Some(disk::Kind::File) => Ok(Layout::Current),
            _ => Ok(Layout::Legacy),
        },
        Some(layout) => Ok(layout),
        None => {
            let schema = value.get("schema").and_then(Value::as_str).unwrap_or_default();
            let version = schema.strip_prefix("gemel.meta.v").and_then(|n| n.parse().ok());
            Err(version.map_or_else(
                || corrupt("no schema".to_owned()),
                |found| StoreError::UnknownVersion { path: path.clone(), found, supported: 2 },
            ))
        }
    }
}

/// Restores absent stoppers in a store of this layout, and completes a migration that was decided but stopped while
/// tidying up. The caller holds the lock.
///
/// # Errors
/// As [`write_stoppers`].
pub(crate) fn close(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    if disk::kind(vfs, &dir.join(MARK))?.is_some() {
        let switch = Switch::new(vfs, dir);
        if switch.phase()? == Phase::Decided {
            switch.finish()?;
        }
    }
    write_stoppers(vfs, dir)
}

/// Whether a migration was decided here and stopped while tidying up: the store is whole, the next command that
/// writes, or `migrate`, removes what is left.
///
/// # Errors
/// As opening the store.
pub fn unfinished(vfs: &dyn Vfs, dir: &Path) -> Result<bool> {
    Ok(Switch::new(vfs, dir).phase()? == Phase::Decided)
}

/// A stage of a migration, for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Objects of the old store read, validated and hashed.
    Verify,
    /// Objects written to the new store.
    Write,
    /// Objects of the new store read back.
    ReadBack,
}

/// Told how far a migration is; called from several threads.
pub trait Progress: Sync {
    /// `done` of `total` objects of a step.
    fn at(&self, step: Step, done: u64, total: u64);
}

impl<F: Fn(Step, u64, u64) + Sync> Progress for F {
    fn at(&self, step: Step, done: u64, total: u64) {
        self(step, done, total);
    }
}

/// What a 0.12 store holds that can be carried over, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MigratePlan {
    /// Sound objects.
    pub objects: u64,
    /// Their bytes.
    pub object_bytes: u64,
    /// Sound refs.
    pub refs: u64,
    /// Objects no name holds, which get a ref `refs/keep/…`: linked claims, dispositions, ingested evidence.
    pub kept: u64,
    /// Counters.
    pub counters: u64,
    /// Workspaces.
    pub workspaces: u64,
    /// Changes in progress.
    pub pending: u64,
    /// Tombstones of pruned objects.
    pub tombstones: u64,
    /// Remotes.
    pub remotes: u64,
    /// What is not as it should be. With an error among them [`migrate`] refuses, unless told to go on.
    pub findings: Findings,
}

/// What `migrate` is told.
#[derive(Clone, Copy)]
pub struct MigrateOptions<'a> {
    /// Leave out what is damaged instead of refusing. The old files then stay whatever `remove_old` says.
    pub keep_going: bool,
    /// Remove the old files in the end; they are kept in `.gemel/legacy-0.12` otherwise.
    pub remove_old: bool,
    /// Time for the journal of refs, Unix milliseconds.
    pub now_ms: i64,
    /// Told how far it is.
    pub progress: &'a dyn Progress,
}

/// What a migration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The whole conversion.
    Migrated,
    /// Only what an earlier run had left to do; the counts of the plan are zero.
    Completed,
    /// Nothing: the store has this layout already. Old files may have been removed.
    AlreadyCurrent,
}

/// Facts of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrateFacts {
    /// What was done.
    pub outcome: Outcome,
    /// What was carried over, and what was found.
    pub plan: MigratePlan,
    /// Bytes of the packs written.
    pub stored_bytes: u64,
    /// Where the old files are, if they are still there.
    pub old_files: Option<PathBuf>,
}

/// Looks at the whole 0.12 store in `dir` (the `.gemel` directory) and changes nothing.
///
/// # Errors
/// `NotARepository`; `AlreadyExists` when the store has this layout; `CorruptFile`, `Io`.
pub fn plan(vfs: &dyn Vfs, dir: &Path, progress: &dyn Progress) -> Result<MigratePlan> {
    match Switch::new(vfs, dir).phase()? {
        Phase::Old { restart } => Ok(Survey::take(vfs, dir, restart, progress)?.plan()),
        Phase::Decided | Phase::New => Err(StoreError::AlreadyExists { path: dir.to_owned() }),
    }
}

/// Turns the 0.12 store in `dir` into one of this layout, or completes a migration that was interrupted. Either
/// everything is carried over or, on an error, the 0.12 store is as it was.
///
/// # Errors
/// `LegacyDamaged` with all findings when something cannot be carried over; `NotARepository`, `CorruptFile`, `Io`.
pub fn migrate(vfs: &Arc<dyn Vfs>, dir: &Path, options: &MigrateOptions<'_>) -> Result<MigrateFacts> {
    let disk = vfs.as_ref();
    let switch = Switch::new(disk, dir);
    switch.phase()?;
    // The same lock as 0.12 takes for whatever it writes but objects.
    let lock = dir.join(LOCK);
    if !matches!(disk::kind(disk, &lock)?, None | Some(disk::Kind::File)) {
        let detail = "the lock is no plain file".to_owned();
        return Err(StoreError::CorruptFile { path: lock, offset_bytes: 0, detail });
    }
    let _guard = disk.lock(&lock).map_err(StoreError::io("lock", &lock))?;
    let mut facts = MigrateFacts {
        outcome: Outcome::Migrated,
        plan: MigratePlan::default(),
        stored_bytes: 0,
        old_files: None,
    };
    match switch.phase()? {
        Phase::Old { restart } => convert(vfs, dir, &switch, restart, options, &mut facts)?,
        Phase::Decided => {
            switch.finish()?;
            facts.outcome = Outcome::Completed;
        }
        Phase::New => facts.outcome = Outcome::AlreadyCurrent,
    }
    let old = dir.join(OLD);
    if options.remove_old && !facts.plan.findings.has_errors() {
        disk::remove_tree(disk, &old)?;
        disk::sync_dir(disk, dir)?;
    }
    facts.old_files = disk::kind(disk, &old)?.map(|_| old);
    Ok(facts)
}

fn convert(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    switch: &Switch<'_>,
    restart: bool,
    options: &MigrateOptions<'_>,
    facts: &mut MigrateFacts,
) -> Result<()> {
    if restart {
        switch.clean()?;
    }
    let survey = Survey::take(vfs.as_ref(), dir, false, options.progress)?;
    facts.plan = survey.plan();
    if survey.blocked || survey.findings.has_errors() && !options.keep_going {
        return Err(StoreError::LegacyDamaged { path: dir.to_owned(), findings: Box::new(survey.findings) });
    }
    let prepared = prepare(vfs, dir, switch, &survey, options);
    match prepared {
        Ok(stored_bytes) => facts.stored_bytes = stored_bytes,
        Err(e) => {
            // The 0.12 store is whole with or without the leftovers; the first failure is what matters.
            let _ = switch.clean();
            return Err(e);
        }
    }
    switch.decide()?;
    switch.finish()
}

/// Everything up to the step that decides.
fn prepare(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    switch: &Switch<'_>,
    survey: &Survey,
    options: &MigrateOptions<'_>,
) -> Result<u64> {
    switch.begin()?;
    let build = build::Build { vfs, dir, survey, progress: options.progress };
    let new_dir = switch.new_dir();
    let report = build.write(&new_dir, options.now_ms)?;
    build.read_back(&new_dir)?;
    switch.prepare()?;
    Ok(report.stored_bytes)
}
