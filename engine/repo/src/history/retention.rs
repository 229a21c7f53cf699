//! `gc --dry-run`: what could go, and what holds the rest (object model, section 16). Nothing is deleted.

use crate::facts::{Progress, Stage};
use crate::history::nodes;
use crate::history::pending::Pending;
use crate::history::table::{EdgeLog, Edges, Table, index, note_refs};
use crate::{Repo, Result};
use gemel_object::families::Config;
use gemel_object::{DefaultUnknown, EnvelopeHeader, Family, Gid, Limits, RetentionPolicy};
use gemel_store::{Depth, RefValue, Refs, Store};
use std::sync::atomic::{AtomicU64, Ordering};

/// Most candidates listed.
const MAX_LISTED: usize = 1000;

/// One retention class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GcRow {
    /// 0: everything but blobs, and blobs that something other than evidence refers to; 1: blobs reached only from
    /// evidence. Nothing in an object marks tiers 2 and 3. What nothing reaches is counted under tier 0.
    pub tier: u64,
    /// The policy that holds it.
    pub policy: String,
    /// Objects reachable from refs and workspaces.
    pub reachable: u64,
    /// Their canonical bytes.
    pub reachable_bytes: u64,
    /// Stored objects that nothing reaches.
    pub unreachable: u64,
    /// Their canonical bytes.
    pub unreachable_bytes: u64,
}

/// What a collection would look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GcPlan {
    /// Objects stored.
    pub objects: u64,
    /// Per tier.
    pub rows: Vec<GcRow>,
    /// Objects that could go now, ascending, at most 1000: unreachable blobs when unassigned objects are pruned, other
    /// unreachable objects when tier 0 is not kept for ever. Policies that wait for an age release nothing here.
    pub candidates: Vec<Gid>,
    /// All candidates.
    pub candidate_count: u64,
    /// What the config says of unassigned objects.
    pub default_unknown: String,
    /// Whether the config enables collection.
    pub enabled: bool,
    /// Reachable identities that are not stored, ascending.
    pub missing: Vec<Gid>,
}

/// Walks everything reachable and compares it with what is stored.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn gc_plan(repo: &Repo, progress: &dyn Progress) -> Result<GcPlan> {
    let (store, refs) = (repo.store(), repo.store().refs()?);
    let policy = Policy::of(store, &refs)?;
    let table = Table::new(store.ids()?)?;
    let Pass { edges, absent, sizes } = Pass::over(store, &table, progress)?;
    let roots = roots(&refs)?;
    let reached = edges.reach(table.len(), roots.iter().filter_map(|id| table.find(id)));
    let mut missing: Vec<Gid> = roots.into_iter().filter(|id| table.find(id).is_none()).collect();
    missing.extend(absent.iter().filter(|(from, _)| is_set(&reached, *from)).map(|(_, id)| *id));
    missing.sort_unstable();
    missing.dedup();

    let evidence_only = only_from_evidence(&table, &edges, &reached);
    let mut rows = [policy.row(0), policy.row(1)];
    let mut candidates = Vec::new();
    for (at, id) in table.ids().iter().enumerate() {
        let bytes = sizes.get(at).copied().unwrap_or(0);
        let row = &mut rows[usize::from(evidence_only.get(at) == Some(&true))];
        if reached.get(at) == Some(&true) {
            row.reachable += 1;
            row.reachable_bytes += bytes;
        } else {
            row.unreachable += 1;
            row.unreachable_bytes += bytes;
            if policy.releases(id.family()) {
                candidates.push(*id);
            }
        }
    }
    let candidate_count = candidates.len() as u64;
    candidates.truncate(MAX_LISTED);
    Ok(GcPlan {
        objects: table.len() as u64,
        rows: rows.into(),
        candidates,
        candidate_count,
        default_unknown: policy.default_unknown.as_str().to_owned(),
        enabled: policy.enabled,
        missing,
    })
}

/// The parts of the config that decide about retention; its defaults without a config.
struct Policy {
    tiers: [RetentionPolicy; 2],
    default_unknown: DefaultUnknown,
    enabled: bool,
}

impl Policy {
    fn of(store: &Store, refs: &Refs) -> Result<Policy> {
        let mut policy = Policy {
            tiers: [RetentionPolicy::RetainForever, RetentionPolicy::RetainPolicy],
            default_unknown: DefaultUnknown::Retain,
            enabled: false,
        };
        let Some(id) = refs.get("refs/config")? else { return Ok(policy) };
        nodes::read(store, &id, |object| {
            let config = Config::view(object)?;
            policy.enabled = config.gc().is_some_and(|gc| gc.enabled());
            if let Some(retention) = config.retention() {
                policy.default_unknown = retention.default_unknown().unwrap_or(DefaultUnknown::Retain);
                for tier in retention.tiers().iter() {
                    let slot = usize::try_from(tier.tier()).ok().and_then(|at| policy.tiers.get_mut(at));
                    if let Some(slot) = slot {
                        *slot = tier.policy();
                    }
                }
            }
            Ok(())
        })?;
        Ok(policy)
    }

    fn row(&self, tier: u64) -> GcRow {
        let policy = usize::try_from(tier).ok().and_then(|at| self.tiers.get(at));
        GcRow {
            tier,
            policy: policy.map_or("", |policy| policy.as_str()).to_owned(),
            reachable: 0,
            reachable_bytes: 0,
            unreachable: 0,
            unreachable_bytes: 0,
        }
    }

    /// Whether an unreachable object of the family may go (RET-01).
    fn releases(&self, family: Family) -> bool {
        match family {
            Family::Blob => self.default_unknown == DefaultUnknown::Prune,
            _ => self.tiers[0] == RetentionPolicy::RetainPolicy,
        }
    }
}

/// Every identity that a ref, a workspace or a pending change names. Damaged refs name nothing; `fsck` reports them.
fn roots(refs: &Refs) -> Result<Vec<Gid>> {
    let mut roots = Vec::new();
    for space in ["refs/", "local/"] {
        for (name, value) in refs.scan(space)? {
            match value {
                Ok(RefValue::Id(id)) => roots.push(id),
                Ok(RefValue::Record(bytes)) if name.ends_with("/pending") => {
                    if let Ok(pending) = Pending::parse(&name, &bytes) {
                        roots.extend(
                            pending.input_state.into_iter().chain(pending.intent).chain(pending.producer),
                        );
                    }
                }
                _ => {}
            }
        }
    }
    Ok(roots)
}

/// What one pass over the packs, in the order in which they lie, tells of all objects.
struct Pass {
    edges: Edges,
    /// References to objects that are not stored.
    absent: Vec<(u32, Gid)>,
    /// Canonical bytes of each object; 0 for one that does not read.
    sizes: Vec<u64>,
}

impl Pass {
    /// A damaged object refers to nothing; `fsck` reports it.
    fn over(store: &Store, table: &Table, progress: &dyn Progress) -> Result<Pass> {
        progress.begin(Stage::Reach, Some(table.len() as u64));
        let log = EdgeLog::default();
        let sizes: Vec<AtomicU64> = (0..table.len()).map(|_| AtomicU64::new(0)).collect();
        let done = store.verify(Depth::Hashes, &|id, envelope| {
            progress.advance(1);
            let Some(ordinal) = table.find(id) else { return };
            // A long blob is shown by its beginning only; the header tells its length.
            let size =
                EnvelopeHeader::read(envelope, &Limits::DEFAULT).map_or(0, |header| header.envelope_len());
            // An object stored twice is looked at once.
            let first = sizes.get(index(ordinal)).is_some_and(|slot| slot.swap(size, Ordering::Relaxed) == 0);
            if first && id.family() != Family::Blob {
                note_refs(table, &log, ordinal, envelope, |_| true);
            }
        });
        progress.end();
        done?;
        let (edges, absent) = log.finish(table.len());
        Ok(Pass { edges, absent, sizes: sizes.into_iter().map(AtomicU64::into_inner).collect() })
    }
}

/// Reachable blobs to which only evidence refers.
fn only_from_evidence(table: &Table, edges: &Edges, reached: &[bool]) -> Vec<bool> {
    let mut by_evidence = vec![false; table.len()];
    let mut by_other = vec![false; table.len()];
    for (ordinal, id) in (0..).zip(table.ids()).filter(|(ordinal, _)| is_set(reached, *ordinal)) {
        let mark = if id.family() == Family::Evidence { &mut by_evidence } else { &mut by_other };
        for target in edges.of(ordinal) {
            if let Some(seen) = mark.get_mut(index(*target)) {
                *seen = true;
            }
        }
    }
    let blobs = table.ids().iter().map(|id| id.family() == Family::Blob);
    blobs.zip(by_evidence).zip(by_other).map(|((blob, evidence), other)| blob && evidence && !other).collect()
}

fn is_set(marks: &[bool], ordinal: u32) -> bool {
    marks.get(index(ordinal)) == Some(&true)
}
