//! Repack: packs written anew with more effort, many as one (docs/STORAGE.md, "Repack").
//!
//! A plan says which packs, and what is to be gained; a run carries it out:
//!
//! 1. The packs are locked against writers. Those at which a session works are left alone.
//! 2. Their objects are written to a new pack, each once, and that is made durable and published.
//! 3. A ref transaction puts the watermark of the new pack in the place of those of the old ones: the commit point.
//! 4. The old packs are removed.
//!
//! Until the last step every object is where it was, and from the second on also in the new pack: a stop in between
//! costs space until the next repack. Readers go on with the packs they have mapped and find the new one when they look.

mod choose;
mod consolidate;
mod estimate;
mod family;
mod likeness;
mod rewrite;
mod survey;

use super::claim;
use super::effort::REPACK_LEVEL;
use super::pack::{Pack, index_path};
use super::publish;
use super::session::Session;
use super::set::{FIRST, PackSet};
use crate::vfs::AppendFile;
use crate::{Result, Store, StoreError};
use rewrite::Rewrite;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use survey::Survey;

/// What a repack is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct RepackOptions {
    /// zstd level; a high one unless it is given.
    pub level: Option<i32>,
}

/// A pack that a plan is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPack {
    /// Its file.
    pub path: PathBuf,
    /// Its number.
    pub number: u64,
    /// Objects in it; one that is in several packs counts in each.
    pub objects: u64,
    /// Bytes of the pack and its index.
    pub stored_bytes: u64,
}

/// A pack that is left alone, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftPack {
    /// Its file.
    pub path: PathBuf,
    /// The reason, as part of a sentence.
    pub reason: &'static str,
}

/// What a repack would do.
#[derive(Clone, Debug, Default)]
pub struct RepackPlan {
    /// Packs to be written anew as one, oldest first.
    pub packs: Vec<PlannedPack>,
    /// Packs to be left alone.
    pub left: Vec<LeftPack>,
    /// Objects in the packs, those in several once for each.
    pub objects: u64,
    /// Bytes of packs and indexes now.
    pub stored_bytes: u64,
    /// Bytes they will take, as far as a sample tells.
    pub expected_bytes: u64,
    /// zstd level.
    pub level: i32,
}

/// What a repack did.
#[derive(Clone, Debug, Default)]
pub struct RepackFacts {
    /// Packs replaced.
    pub packs: u64,
    /// Objects written, each once.
    pub objects: u64,
    /// Bytes of packs and indexes before.
    pub bytes_before: u64,
    /// Bytes of the new pack and its index.
    pub bytes_after: u64,
    /// Packs left alone.
    pub left: Vec<LeftPack>,
}

/// A pack of a plan, locked.
struct Held {
    pack: Arc<Pack>,
    _file: Box<dyn AppendFile>,
}

impl Store {
    /// Says which packs a repack writes anew, and tries on a sample what is to be gained. Reads only.
    ///
    /// # Errors
    /// `CorruptObject` and `CorruptFile` when something cannot be read, `Io`, `UnknownVersion`.
    pub fn plan_repack(&self, options: &RepackOptions) -> Result<RepackPlan> {
        let set = self.fresh_set()?;
        let mut plan = RepackPlan { level: options.level.unwrap_or(REPACK_LEVEL), ..RepackPlan::default() };
        plan.left
            .extend(set.damaged.iter().map(|(path, _)| LeftPack { path: path.clone(), reason: DAMAGED }));
        let mut packs = Vec::new();
        for pack in set.packs.iter().rev().filter(|pack| pack.number != FIRST) {
            if let Some(reason) = unfit(pack) {
                plan.left.push(LeftPack { path: pack.path.clone(), reason });
                continue;
            }
            let planned = PlannedPack {
                path: pack.path.clone(),
                number: pack.number,
                objects: u64::from(pack.objects()),
                stored_bytes: self.stored_bytes(pack)?,
            };
            plan.objects += planned.objects;
            plan.stored_bytes += planned.stored_bytes;
            plan.packs.push(planned);
            packs.push(Arc::clone(pack));
        }
        if !packs.is_empty() {
            plan.expected_bytes =
                estimate::expected_bytes(&Survey::of(Arc::clone(&set), packs)?, plan.level)?;
        }
        Ok(plan)
    }

    /// Carries out a plan. `progress` hears how many objects of all are written; `now_ms` is for the journal.
    ///
    /// # Errors
    /// `CorruptObject`, `CorruptFile` when something cannot be read, `Io`, `Limit`; the packs are then as they were.
    pub fn repack(
        &self,
        plan: &RepackPlan,
        now_ms: i64,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<RepackFacts> {
        let mut facts = RepackFacts { left: plan.left.clone(), ..RepackFacts::default() };
        let held = self.hold(plan, &mut facts)?;
        if held.is_empty() {
            return Ok(facts);
        }
        for Held { pack, .. } in &held {
            facts.packs += 1;
            facts.bytes_before += self.stored_bytes(pack)?;
        }
        let packs: Vec<Arc<Pack>> = held.iter().map(|held| Arc::clone(&held.pack)).collect();
        // Bases and references may be in packs that are left alone, or that appeared since.
        let set = self.with_held(&packs)?;
        let survey = Survey::of(set, packs)?;
        facts.objects = survey.items.len() as u64;
        let (done, total) = (AtomicU64::new(0), facts.objects);
        let tell = |count: u64| progress(done.fetch_add(count, Ordering::Relaxed) + count, total);
        let number = self.write_anew(&survey, plan.level, &tell)?;
        let new = self.fresh_set()?.packs.iter().find(|pack| pack.number == number).cloned();
        facts.bytes_after = new.map_or(Ok(0), |pack| self.stored_bytes(&pack))?;
        drop(survey);
        self.replace(&held, now_ms)?;
        self.refresh()?;
        Ok(facts)
    }

    /// Step 1.
    fn hold(&self, plan: &RepackPlan, facts: &mut RepackFacts) -> Result<Vec<Held>> {
        let vfs = self.vfs().as_ref();
        let mut held = Vec::new();
        for planned in &plan.packs {
            let path = &planned.path;
            let Some(file) = claim::lock_pack(vfs, path)? else {
                facts.left.push(LeftPack { path: path.clone(), reason: "a session works at it" });
                continue;
            };
            // What was appended since the plan was made is taken along.
            let pack = Pack::open(vfs, path, planned.number)?;
            match unfit(&pack) {
                Some(reason) => facts.left.push(LeftPack { path: path.clone(), reason }),
                None => held.push(Held { pack: Arc::new(pack), _file: file }),
            }
        }
        Ok(held)
    }

    fn with_held(&self, held: &[Arc<Pack>]) -> Result<Arc<PackSet>> {
        let now = self.fresh_set()?;
        let others = now.packs.iter().filter(|pack| held.iter().all(|held| held.number != pack.number));
        let mut set = PackSet::default();
        set.packs.extend(held.iter().chain(others).cloned());
        set.packs.sort_by_key(|pack| std::cmp::Reverse(pack.number));
        Ok(Arc::new(set))
    }

    /// Step 2. The number of the new pack.
    fn write_anew(&self, survey: &Survey, level: i32, tell: rewrite::Tell<'_>) -> Result<u64> {
        let (vfs, dir) = (self.vfs().as_ref(), self.packs_dir());
        let claimed = claim::claim(vfs, dir, &PackSet::default(), &Default::default(), false, false)?;
        let number = claimed.number;
        let path = claimed.path.clone();
        let session = match Rewrite::new(survey, Session::new(claimed), level, tell).run() {
            Ok(session) => session,
            Err(error) => {
                // Best effort: what is left of it is told of by fsck and removed by the next session.
                let _ = vfs.remove_file(&path);
                return Err(error);
            }
        };
        let (_, end) = publish::commit(vfs, dir, session, true)?;
        self.settle(number, end);
        Ok(number)
    }

    /// Steps 3 and 4.
    fn replace(&self, held: &[Held], now_ms: i64) -> Result<()> {
        held.iter().for_each(|held| self.forget(held.pack.number));
        loop {
            let mut transaction = self.transaction()?;
            for Held { pack, .. } in held {
                let name = super::settled::record_name(pack.number);
                if transaction.refs().record(&name)?.is_some() {
                    transaction.remove(name);
                }
            }
            transaction.settle_now();
            if transaction.is_empty() {
                // Others wait for the lock: none of them records a pack that is about to go.
                self.remove(held);
                return Ok(());
            }
            // A session that committed before the packs were locked may record one of them once more.
            transaction.commit("repack", now_ms)?;
        }
    }

    /// Step 4. What the disk refuses stays, without a watermark: the next repack takes it along.
    fn remove(&self, held: &[Held]) {
        let vfs = self.vfs().as_ref();
        for Held { pack, .. } in held {
            let _ = vfs.remove_file(&pack.path);
            if pack.index.is_some() || pack.index_problem.is_some() {
                let _ = vfs.remove_file(&index_path(&pack.path));
            }
        }
    }

    fn stored_bytes(&self, pack: &Pack) -> Result<u64> {
        let size = |path: PathBuf| {
            let found = self.vfs().stat(&path).map_err(StoreError::io("examine", &path))?;
            Ok(found.map_or(0, |entry| entry.size_bytes))
        };
        Ok(size(pack.path.clone())? + size(index_path(&pack.path))?)
    }
}

/// Why a pack cannot be written anew.
const DAMAGED: &str = "it is damaged";

fn unfit(pack: &Pack) -> Option<&'static str> {
    let damaged =
        !pack.tail.damage.is_empty() || pack.tail.suspect_from.is_some() || pack.index_problem.is_some();
    damaged.then_some(DAMAGED)
}
