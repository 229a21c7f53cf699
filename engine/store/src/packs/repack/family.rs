//! Which objects are tried as bases of each other: versions of one thing, in sequences from the newest to the oldest.
//!
//! What stands on what so far tells most. Objects that stand alone are brought together by what their contents share
//! (MinHash over content-defined samples).

use super::survey::{NONE, Shape, Survey};
use crate::Result;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Sequences that resemblance alone brings together end here.
const MOST_ALIKE: u32 = 4096;
/// Features of a content.
const FEATURES: usize = 8;
/// Features two contents must share.
const SHARED: usize = 2;
/// Contents shorter than this have no features.
const FEATURES_FROM: usize = 64;
/// Longest content that is sampled.
const FEATURES_UP_TO: u64 = 4 << 20;
/// One position in so many is a sample.
const SAMPLE_MASK: u64 = 0x1f;
/// Objects looked at together.
const BATCH: usize = 4096;

/// Sequences of items.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// Each newest first.
    pub(super) sequences: Vec<Vec<u32>>,
    /// Items that resemble each other, both ways.
    pub(super) alike: HashMap<u32, Vec<u32>>,
}

impl Families {
    /// Brings together the items that `wanted` selects; by resemblance, too, if asked for.
    ///
    /// # Errors
    /// `CorruptObject`.
    pub(super) fn of(survey: &Survey, resemblance: bool, wanted: impl Fn(u32) -> bool) -> Result<Families> {
        let items: Vec<u32> = (0..).zip(&survey.items).map(|(at, _)| at).filter(|at| wanted(*at)).collect();
        let mut union = Union::new(survey.items.len());
        for &at in &items {
            let base = survey.items[at as usize].base;
            if base != NONE && wanted(base) {
                union.join(at, base);
            }
        }
        let mut families = Families { sequences: union.sequences(survey, &items), ..Families::default() };
        if resemblance {
            // The newest of each is what the others come to stand on, so that is what has to resemble something.
            let mut heads: Vec<u32> = families.sequences.iter().filter_map(|s| s.first().copied()).collect();
            heads.sort_unstable();
            families.join_alike(survey, &heads, &mut union)?;
            families.sequences = union.sequences(survey, &items);
        }
        Ok(families)
    }

    /// Finds for each head the one before it, from the newest on, that shares most features with it.
    fn join_alike(&mut self, survey: &Survey, heads: &[u32], union: &mut Union) -> Result<()> {
        let mut last: HashMap<(usize, u64), u32> = HashMap::new();
        let newest_first: Vec<u32> = heads.iter().rev().copied().collect();
        for batch in newest_first.chunks(BATCH) {
            let features: Vec<Option<[u64; FEATURES]>> =
                batch.par_iter().map(|&at| features_of(survey, at)).collect::<Result<_>>()?;
            for (&at, features) in batch.iter().zip(&features) {
                let Some(features) = features else { continue };
                let mut votes: Vec<(u32, usize)> = Vec::new();
                for (n, feature) in features.iter().enumerate() {
                    if let Some(other) = last.insert((n, *feature), at) {
                        match votes.iter_mut().find(|(voted, _)| *voted == other) {
                            Some((_, count)) => *count += 1,
                            None => votes.push((other, 1)),
                        }
                    }
                }
                let best = votes.into_iter().max_by_key(|(other, count)| (*count, std::cmp::Reverse(*other)));
                let Some((other, _)) = best.filter(|(_, count)| *count >= SHARED) else { continue };
                if union.find(at) == union.find(other)
                    || union.size_of(at) + union.size_of(other) <= MOST_ALIKE
                {
                    union.join(at, other);
                    self.alike.entry(at).or_default().push(other);
                    self.alike.entry(other).or_default().push(at);
                }
            }
        }
        Ok(())
    }
}

/// Whether a sequence, which begins with what was written last, begins with the oldest: importers may write histories
/// backwards. Contents grow more often than they shrink.
fn is_newest_last(survey: &Survey, sequence: &[u32]) -> bool {
    let (mut grown, mut shrunk) = (0u32, 0u32);
    for item in sequence.iter().map(|at| &survey.items[*at as usize]) {
        let Some(base) = survey.items.get(item.base as usize) else { continue };
        match item.plain_bytes.cmp(&base.plain_bytes) {
            Ordering::Greater => grown += 1,
            Ordering::Less => shrunk += 1,
            Ordering::Equal => {}
        }
    }
    shrunk > grown
}

fn features_of(survey: &Survey, at: u32) -> Result<Option<[u64; FEATURES]>> {
    let item = &survey.items[at as usize];
    if item.shape == Shape::Large || item.plain_bytes > FEATURES_UP_TO {
        return Ok(None);
    }
    Ok(features(&survey.piece(at)?.form))
}

/// Minima of several hashes of the samples: two contents share each with the probability that a sample of one is
/// one of the other.
fn features(bytes: &[u8]) -> Option<[u64; FEATURES]> {
    if bytes.len() < FEATURES_FROM {
        return None;
    }
    let mut least = [u64::MAX; FEATURES];
    let mut rolling = 0u64;
    for byte in bytes {
        // Every byte moves out of the hash after 32 steps of 2 bits.
        rolling = (rolling << 2).wrapping_add(GEAR[usize::from(*byte)]);
        if (rolling >> 58) & SAMPLE_MASK == 0 {
            let mut mixed = rolling;
            for least in &mut least {
                mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(17);
                *least = mixed.min(*least);
            }
        }
    }
    (least[0] != u64::MAX).then_some(least)
}

/// One random number for each byte.
const GEAR: [u64; 256] = {
    let (mut table, mut state, mut n) = ([0u64; 256], 0x9e37_79b9_7f4a_7c15u64, 0);
    while n < 256 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        table[n] = state;
        n += 1;
    }
    table
};

/// Disjoint sets of items.
struct Union {
    parent: Vec<u32>,
    size: Vec<u32>,
}

impl Union {
    fn new(len: usize) -> Union {
        Union { parent: (0..).take(len).collect(), size: vec![1; len] }
    }

    fn find(&mut self, mut at: u32) -> u32 {
        while self.parent[at as usize] != at {
            let above = self.parent[self.parent[at as usize] as usize];
            self.parent[at as usize] = above;
            at = above;
        }
        at
    }

    fn size_of(&mut self, at: u32) -> u32 {
        let root = self.find(at);
        self.size[root as usize]
    }

    /// Puts two items into one set.
    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            let (root, other) = if self.size[a as usize] >= self.size[b as usize] { (a, b) } else { (b, a) };
            self.parent[other as usize] = root;
            self.size[root as usize] += self.size[other as usize];
        }
    }

    /// The sets of these items, which ascend, as sequences with the newest first; the newest sequence first.
    fn sequences(&mut self, survey: &Survey, items: &[u32]) -> Vec<Vec<u32>> {
        let mut by_root: HashMap<u32, Vec<u32>> = HashMap::new();
        for &at in items.iter().rev() {
            by_root.entry(self.find(at)).or_default().push(at);
        }
        let mut sequences: Vec<Vec<u32>> = by_root.into_values().collect();
        sequences.sort_unstable_by_key(|sequence| std::cmp::Reverse(sequence.first().copied()));
        sequences.iter_mut().filter(|s| is_newest_last(survey, s)).for_each(|s| s.reverse());
        sequences
    }
}
