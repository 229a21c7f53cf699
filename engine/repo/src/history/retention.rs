//! `gc --dry-run`: what could go, and what holds the rest (object model, section 16). Nothing is deleted.

use crate::facts::Progress;
use crate::{Repo, Result};

/// One retention class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GcRow {
    /// Tier, 0 or 1 (nothing in an object marks tiers 2 and 3).
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
    /// Objects that could go under the default treatment of unassigned objects, ascending, at most 1000.
    pub candidates: Vec<gemel_object::Gid>,
    /// All candidates.
    pub candidate_count: u64,
    /// What the config says of unassigned objects.
    pub default_unknown: String,
    /// Whether the config enables collection.
    pub enabled: bool,
    /// Reachable identities that are not stored, ascending.
    pub missing: Vec<gemel_object::Gid>,
}

/// Walks everything reachable and compares it with what is stored.
///
/// # Errors
/// `Store`.
pub fn gc_plan(repo: &Repo, progress: &dyn Progress) -> Result<GcPlan> {
    let _ = (repo, progress);
    unimplemented!()
}
