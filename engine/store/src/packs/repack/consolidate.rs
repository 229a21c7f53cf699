//! Few packs without being asked: when many of one size have come together, the command that notices merges them.

use super::{PlannedPack, RepackPlan, unfit};
use crate::packs::effort::{CONSOLIDATE_BYTES, CONSOLIDATE_FROM, CONSOLIDATE_LEVEL};
use crate::packs::set::FIRST;
use crate::{Result, Store};
use std::collections::BTreeMap;

impl Store {
    /// Merges packs if many of one size class stand: those of a class are at most eight times as large as each other, so
    /// that each object is merged but a few times in the life of a store. Bounded in bytes; `false` when there is
    /// nothing to do. Commands call it once what they did is acknowledged; failure is returned and may be ignored.
    ///
    /// # Errors
    /// As [`Store::repack`].
    pub fn consolidate(&self, now_ms: i64) -> Result<bool> {
        let set = self.fresh_set()?;
        if set.packs.len() <= CONSOLIDATE_FROM {
            return Ok(false);
        }
        let mut classes: BTreeMap<u32, Vec<PlannedPack>> = BTreeMap::new();
        for pack in set.packs.iter().rev().filter(|pack| pack.number != FIRST && unfit(pack).is_none()) {
            let stored_bytes = self.stored_bytes(pack)?;
            classes.entry(class_of(stored_bytes)).or_default().push(PlannedPack {
                path: pack.path.clone(),
                number: pack.number,
                objects: u64::from(pack.objects()),
                stored_bytes,
            });
        }
        let is_due = |packs: &Vec<PlannedPack>| {
            let total: u64 = packs.iter().map(|pack| pack.stored_bytes).sum();
            packs.len() >= CONSOLIDATE_FROM && total <= CONSOLIDATE_BYTES
        };
        let Some(packs) = classes.into_values().find(is_due) else { return Ok(false) };
        let plan = RepackPlan { packs, level: CONSOLIDATE_LEVEL, ..RepackPlan::default() };
        Ok(self.repack(&plan, now_ms, &|_, _| {})?.packs > 1)
    }
}

/// Sizes up to 64 KiB are alike, and then those within a factor of eight.
fn class_of(stored_bytes: u64) -> u32 {
    let steps = u64::BITS - (stored_bytes >> 16).leading_zeros();
    steps.div_ceil(3)
}
