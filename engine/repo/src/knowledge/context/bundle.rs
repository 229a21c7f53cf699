//! A bundle of objects that never costs more than its budget.

use crate::facts::Omitted;
use crate::history::view::omitted_list;
use crate::{RepoError, Result};
use gemel_object::Gid;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// Tokens of a bundle unless the caller says otherwise.
const DEFAULT_TOKENS: u64 = 4096;
/// Tokens of the smallest bundle.
const MIN_TOKENS: u64 = 64;
/// Tokens of the largest bundle.
const MAX_TOKENS: u64 = 1_000_000;
/// What an object costs at least.
const MIN_COST: u64 = 8;
/// Bytes of the words around an object.
const FRAME_BYTES: u64 = 16;
/// Bytes of a token.
const TOKEN_BYTES: u64 = 4;
/// Objects listed for expansion at most.
const MAX_EXPAND: usize = 32;

/// What an object is in the bundle for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A trajectory.
    Attempts,
    /// A change that touches the subject.
    Changes,
    /// A claim about it.
    Claims,
    /// Evidence of the claims, or about the subject.
    Evidence,
    /// What the agents that made the changes were given.
    Manifests,
    /// A residual that affects it.
    Residuals,
    /// The thing itself.
    Sources,
}

impl Class {
    /// Every class, by name.
    pub const ALL: [Class; 7] = [
        Class::Attempts,
        Class::Changes,
        Class::Claims,
        Class::Evidence,
        Class::Manifests,
        Class::Residuals,
        Class::Sources,
    ];

    /// The word used in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Attempts => "attempts",
            Class::Changes => "changes",
            Class::Claims => "claims",
            Class::Evidence => "evidence",
            Class::Manifests => "manifests",
            Class::Residuals => "residuals",
            Class::Sources => "sources",
        }
    }
}

/// Tokens, estimated (query surface, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetFacts {
    /// What may be used.
    pub tokens: u64,
    /// What is used.
    pub consumed: u64,
}

impl BudgetFacts {
    /// What is left.
    pub fn remaining(&self) -> u64 {
        self.tokens.saturating_sub(self.consumed)
    }
}

/// An object of a bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleObject {
    /// The object.
    pub id: Gid,
    /// 1 with its summary, 2 with fields, 3 whole.
    pub level: u8,
    /// What it says of itself.
    pub summary: String,
    /// Its row in the list of its family, without identity and summary.
    pub fields: Option<Value>,
    /// Its canonical form.
    pub object: Option<Value>,
    /// Of a blob the content: text, or hexadecimal digits.
    pub content: Option<String>,
    pub(super) class: Class,
}

impl BundleObject {
    /// What it costs: all that is told of it, in compact form, at four bytes a token.
    pub(super) fn cost(&self) -> u64 {
        let json = |value: &Option<Value>| value.as_ref().map_or(0, |value| len(&value.to_string()));
        let content = self.content.as_ref().map_or(0, |text| len(&Value::from(text.as_str()).to_string()));
        let bytes = len(&self.id.to_string()) + len(&self.summary) + FRAME_BYTES;
        cost_of(bytes + json(&self.fields) + json(&self.object) + content)
    }
}

pub(super) fn cost_of(bytes: u64) -> u64 {
    (bytes / TOKEN_BYTES).max(MIN_COST)
}

fn len(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// The tokens to use, and what to say when more are used than were asked for.
///
/// # Errors
/// `Budget` above the maximum.
pub(super) fn tokens(budget: Option<u64>, budget_bytes: Option<u64>) -> Result<(u64, Option<String>)> {
    let of_bytes = budget_bytes.map(|bytes| bytes / TOKEN_BYTES);
    for asked in [budget, of_bytes].into_iter().flatten() {
        if asked > MAX_TOKENS {
            return Err(RepoError::Budget { asked, limit: MAX_TOKENS });
        }
    }
    let asked = [budget, of_bytes].into_iter().flatten().min().unwrap_or(DEFAULT_TOKENS);
    let notice = (asked < MIN_TOKENS).then(|| format!("budget {asked} was raised to {MIN_TOKENS} tokens"));
    Ok((asked.max(MIN_TOKENS), notice))
}

/// A bundle under construction.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) budget: BudgetFacts,
    pub(super) objects: Vec<BundleObject>,
    pub(super) deduplicated: u64,
    /// What comes next, in order.
    pub(super) expand: Vec<Gid>,
    included: HashSet<Gid>,
    left: BTreeMap<Class, Vec<Gid>>,
    left_out: HashSet<Gid>,
}

impl Bundle {
    pub(super) fn new(tokens: u64) -> Bundle {
        Bundle {
            budget: BudgetFacts { tokens, consumed: 0 },
            objects: Vec::new(),
            deduplicated: 0,
            expand: Vec::new(),
            included: HashSet::new(),
            left: BTreeMap::new(),
            left_out: HashSet::new(),
        }
    }

    /// Whether an object did not fit: nothing that comes later is taken.
    pub(super) fn is_full(&self) -> bool {
        !self.left_out.is_empty()
    }

    /// Whether an object needs no look: it is in the bundle, or nothing more is.
    pub(super) fn passes(&mut self, class: Class, id: Gid) -> bool {
        if self.included.contains(&id) {
            self.deduplicated += 1;
            return true;
        }
        if self.is_full() {
            self.leave(class, id);
            return true;
        }
        false
    }

    /// Takes an object that was not passed over, if it fits.
    pub(super) fn add(&mut self, object: BundleObject) {
        if self.passes(object.class, object.id) {
            return;
        }
        let cost = object.cost();
        if cost > self.budget.remaining() {
            return self.leave(object.class, object.id);
        }
        self.budget.consumed += cost;
        self.included.insert(object.id);
        self.objects.push(object);
    }

    fn leave(&mut self, class: Class, id: Gid) {
        if self.left_out.insert(id) {
            self.left.entry(class).or_default().push(id);
            if self.expand.len() < MAX_EXPAND {
                self.expand.push(id);
            }
        }
    }

    /// Number of objects of a class.
    pub(super) fn count(&self, class: Class) -> u64 {
        u64::try_from(self.objects.iter().filter(|object| object.class == class).count()).unwrap_or(u64::MAX)
    }

    /// What did not fit, by class.
    pub(super) fn omitted(&self) -> Vec<Omitted> {
        let entry = |(class, ids): (&Class, &Vec<Gid>)| {
            omitted_list(class.as_str(), "budget", ids.iter().map(Gid::to_string).collect())
        };
        self.left.iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gemel_object::Family;
    use proptest::prelude::*;

    fn object(n: u8, summary: usize, fields: usize) -> BundleObject {
        let summary = "s".repeat(summary);
        let fields = (fields > 0).then(|| Value::from("f".repeat(fields)));
        let id = Gid::new(Family::Change, [n; 32]);
        BundleObject { id, level: 1, summary, fields, object: None, content: None, class: Class::Changes }
    }

    /// The published estimate: a change with summary `c4` costs 22.
    #[test]
    fn costs() {
        assert_eq!(object(1, 2, 0).cost(), 22);
        assert_eq!(object(1, 0, 0).cost(), (71 + 16) / 4);
        assert_eq!(object(1, 2, 10).cost(), (71 + 2 + 16 + 12) / 4);
        assert_eq!(cost_of(3), 8);
    }

    #[test]
    fn budgets() {
        let ok = |budget, bytes| tokens(budget, bytes).unwrap();
        assert_eq!(ok(None, None), (4096, None));
        assert_eq!(ok(Some(100), None), (100, None));
        assert_eq!(ok(Some(100), Some(399)), (99, None));
        assert_eq!(ok(Some(70), Some(4000)), (70, None));
        assert_eq!(ok(Some(3), None), (64, Some("budget 3 was raised to 64 tokens".to_owned())));
        assert!(tokens(Some(1_000_001), None).is_err() && tokens(None, Some(u64::MAX)).is_err());
    }

    proptest! {
        /// QRY-06: never more than the budget; nothing lost: what is neither taken nor a repetition is counted.
        #[test]
        fn never_exceeded(tokens in 64_u64..4000, offered in proptest::collection::vec((0_u8..40, 0_usize..600, 0_usize..900), 0..60)) {
            let mut bundle = Bundle::new(tokens);
            let mut distinct = HashSet::new();
            for (n, summary, fields) in &offered {
                distinct.insert(*n);
                bundle.add(object(*n, *summary, *fields));
            }
            prop_assert!(bundle.budget.consumed <= tokens);
            prop_assert_eq!(bundle.budget.consumed + bundle.budget.remaining(), tokens);
            prop_assert_eq!(bundle.objects.iter().map(BundleObject::cost).sum::<u64>(), bundle.budget.consumed);
            let omitted: u64 = bundle.omitted().iter().map(|entry| entry.count).sum();
            prop_assert_eq!(bundle.objects.len() as u64 + omitted, distinct.len() as u64);
            prop_assert_eq!(bundle.expand.len() as u64, omitted.min(32));
            prop_assert_eq!(bundle.is_full(), omitted > 0);
        }
    }
}
