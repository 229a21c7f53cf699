//! The order of the log: children before parents (query surface, section 1.2).

use crate::history::graph::Ancestors;
use gemel_object::Gid;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The changes of a set so that every child comes before its parents; among those whose children are all out, the
/// newest comes first, then the lowest identity. Steps grow with changes and edges only.
pub(crate) fn children_first(set: &Ancestors) -> Vec<Gid> {
    let mut children: HashMap<Gid, usize> = HashMap::with_capacity(set.changes.len());
    for change in set.changes.values() {
        for parent in distinct(&change.parents) {
            *children.entry(parent).or_default() += 1;
        }
    }
    let rank = |id: &Gid| set.changes.get(id).map(|change| (change.created_at_ms, Reverse(*id)));
    let mut free: BinaryHeap<(i64, Reverse<Gid>)> =
        set.changes.keys().filter(|id| !children.contains_key(*id)).filter_map(rank).collect();
    let mut order = Vec::with_capacity(set.changes.len());
    while let Some((_, Reverse(id))) = free.pop() {
        order.push(id);
        let Some(change) = set.changes.get(&id) else { continue };
        for parent in distinct(&change.parents) {
            if let Some(left) = children.get_mut(&parent) {
                *left -= 1;
                if *left == 0 {
                    free.extend(rank(&parent));
                }
            }
        }
    }
    order
}

/// Parents each once: a change may name one twice.
fn distinct(parents: &[Gid]) -> impl Iterator<Item = Gid> + '_ {
    parents
        .iter()
        .enumerate()
        .filter(|(at, id)| !parents.iter().take(*at).any(|p| p == *id))
        .map(|(_, id)| *id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::nodes::ChangeNode;
    use gemel_object::Family;
    use std::sync::Arc;

    fn id(n: u8) -> Gid {
        Gid::new(Family::Change, [n; 32])
    }

    fn check(changes: &[(u8, i64, &[u8])], expected: &[u8]) {
        let mut set = Ancestors::default();
        for (n, created_at_ms, parents) in changes {
            let node = ChangeNode {
                id: id(*n),
                intent: None,
                input: None,
                result: None,
                parents: parents.iter().map(|p| id(*p)).collect(),
                claims: Vec::new(),
                evidence: Vec::new(),
                residuals: Vec::new(),
                created_at_ms: *created_at_ms,
            };
            set.changes.insert(id(*n), Arc::new(node));
        }
        let order: Vec<u8> = children_first(&set).iter().map(|id| id.digest()[0]).collect();
        assert_eq!(order, expected);
    }

    #[test]
    fn children_before_parents() {
        check(&[], &[]);
        check(&[(1, 10, &[]), (2, 20, &[1]), (3, 30, &[2])], &[3, 2, 1]);
        // The clock of a child ran behind.
        check(&[(1, 10, &[]), (2, 5, &[1])], &[2, 1]);
        // Two lines: newest first, then identity.
        check(&[(1, 0, &[]), (2, 7, &[1]), (3, 7, &[1]), (4, 9, &[1])], &[4, 2, 3, 1]);
        // A diamond, a parent named twice, and one that is not in the set.
        check(&[(1, 1, &[]), (2, 2, &[1]), (3, 3, &[1, 1, 9]), (4, 4, &[2, 3])], &[4, 3, 2, 1]);
    }

    /// T-09: long chains neither recurse nor take quadratic time.
    #[test]
    fn a_long_chain() {
        let mut set = Ancestors::default();
        let id = |n: u32| {
            let mut digest = [0; 32];
            digest[..4].copy_from_slice(&n.to_le_bytes());
            Gid::new(Family::Change, digest)
        };
        for n in 0..50_000 {
            let node = ChangeNode {
                id: id(n),
                intent: None,
                input: None,
                result: None,
                parents: n.checked_sub(1).map(id).into_iter().collect(),
                claims: Vec::new(),
                evidence: Vec::new(),
                residuals: Vec::new(),
                created_at_ms: 0,
            };
            set.changes.insert(id(n), Arc::new(node));
        }
        let order = children_first(&set);
        assert_eq!((order.first(), order.last(), order.len()), (Some(&id(49_999)), Some(&id(0)), 50_000));
    }
}
