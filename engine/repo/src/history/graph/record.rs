//! Records of changes and trajectory versions in which identities are numbers.

use crate::history::table::index;
use gemel_object::TrajectoryOutcome;

/// Number of an identity within one graph.
pub(crate) type Num = u32;

/// No identity.
pub(crate) const NONE: Num = u32::MAX;

/// Numbers from here on are of identities that the derived file does not hold.
pub(crate) const EXTRA: Num = 1 << 31;

/// A change. Its lists lie one behind the other: parents, claims, evidence, residuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangeRecord {
    /// 0 when absent.
    pub(crate) created_at_ms: i64,
    pub(crate) intent: Num,
    pub(crate) input: Num,
    pub(crate) result: Num,
    /// Where the lists begin.
    pub(crate) list: u32,
    pub(crate) parents: u32,
    pub(crate) claims: u32,
    pub(crate) evidence: u32,
    pub(crate) residuals: u32,
}

/// A trajectory version. Its lists: changes, evidence, residuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrajectoryRecord {
    pub(crate) created_at_ms: Option<i64>,
    /// 0 when absent.
    pub(crate) updated_at_ms: i64,
    pub(crate) previous: Num,
    pub(crate) intent: Num,
    pub(crate) base: Num,
    pub(crate) outcome: Option<TrajectoryOutcome>,
    /// Where the lists begin.
    pub(crate) list: u32,
    pub(crate) changes: u32,
    pub(crate) evidence: u32,
    pub(crate) residuals: u32,
}

/// A set of numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumSet {
    base: Vec<u64>,
    extra: Vec<u64>,
    members: Vec<Num>,
}

impl NumSet {
    fn place(num: Num) -> (bool, usize, u64) {
        let is_extra = num >= EXTRA;
        let at = if is_extra { num - EXTRA } else { num };
        (is_extra, index(at / 64), 1 << (at % 64))
    }

    pub(crate) fn contains(&self, num: Num) -> bool {
        let (is_extra, word, bit) = NumSet::place(num);
        let words = if is_extra { &self.extra } else { &self.base };
        words.get(word).is_some_and(|found| found & bit != 0)
    }

    /// Whether it was not there before.
    pub(crate) fn insert(&mut self, num: Num) -> bool {
        if num == NONE || self.contains(num) {
            return false;
        }
        let (is_extra, word, bit) = NumSet::place(num);
        let words = if is_extra { &mut self.extra } else { &mut self.base };
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        if let Some(found) = words.get_mut(word) {
            *found |= bit;
        }
        self.members.push(num);
        true
    }

    /// The members in the order in which they came.
    pub(crate) fn members(&self) -> &[Num] {
        &self.members
    }
}

/// A counter for each number.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumCounts {
    base: Vec<u32>,
    extra: Vec<u32>,
}

impl NumCounts {
    /// The counter of `num`, 0 before it was counted.
    pub(crate) fn get(&self, num: Num) -> u32 {
        let (words, at) = if num >= EXTRA { (&self.extra, num - EXTRA) } else { (&self.base, num) };
        words.get(index(at)).copied().unwrap_or(0)
    }

    /// The counter of `num`.
    pub(crate) fn of(&mut self, num: Num) -> &mut u32 {
        let (words, at) = if num >= EXTRA { (&mut self.extra, num - EXTRA) } else { (&mut self.base, num) };
        let at = index(at);
        if words.len() <= at {
            words.resize(at + 1, 0);
        }
        &mut words[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_both_kinds_of_numbers() {
        let mut set = NumSet::default();
        for num in [0, 63, 64, 1000, EXTRA, EXTRA + 65] {
            assert!(!set.contains(num) && set.insert(num) && set.contains(num) && !set.insert(num));
        }
        assert!(!set.insert(NONE) && !set.contains(NONE));
        assert_eq!(set.members(), [0, 63, 64, 1000, EXTRA, EXTRA + 65]);
    }
}
