//! A set of changes cut into lines, so that "does this lead to that" and "how many come after" are asked of lines, not
//! of changes.
//!
//! A line is a run of changes in which each is the first child of its first parent. Most edges of a history lie inside
//! lines and need no record: on a line, what comes earlier is an ancestor of what comes later. Only the edges between
//! lines are kept, and a walk follows each of them at most once.
//!
//! The first line is that of first parents from a head on. Where on it each change was taken in is known, so that whether
//! it leads to a change of that line is a comparison of two numbers.

use crate::Result;
use crate::history::graph::Graph;
use crate::history::graph::record::{Num, NumCounts};
use crate::history::graph::sets::ChangeSet;
use crate::history::table::index;
use gemel_object::Gid;

/// Where a change stands: its line, and its place on it from 0.
type Place = (u32, u32);

/// An edge between two lines.
#[derive(Clone, Copy, Debug)]
struct Edge {
    /// Place on this line.
    at: u32,
    /// The other end.
    to: Place,
}

/// A set of changes as lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    line_of: NumCounts,
    place_of: NumCounts,
    /// The first place of the first line that a change leads to, plus one; 0: none.
    taken_in: NumCounts,
    /// Number of changes on each line.
    lens: Vec<u32>,
    /// Edges of each line to parents elsewhere, by place ascending.
    up: Vec<Vec<Edge>>,
    /// Edges of each line to children elsewhere, by place ascending.
    down: Vec<Vec<Edge>>,
}

/// How far a walk reached on each line: on the way to ancestors the last place reached plus one, on the way to
/// descendants the number of places from the first one reached to the end of the line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    places: Vec<u32>,
}

impl Lines {
    /// Cuts a set; the first line is that of `head`, if it belongs to the set.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn of(graph: &mut Graph<'_>, set: &ChangeSet, head: Option<Gid>) -> Result<Lines> {
        let mut lines = Lines::default();
        lines.lay_first(graph, set, head)?;
        let order = graph.parents_first(set)?;
        for num in order.iter().copied() {
            let first = graph.first_parent_in(set, num)?.and_then(|parent| lines.place(parent));
            let place = match (lines.place(num), first) {
                (Some(place), _) => place,
                (None, Some((line, place))) if lines.lens.get(index(line)) == Some(&(place + 1)) => {
                    lines.lens[index(line)] += 1;
                    (line, place + 1)
                }
                _ => {
                    let line = u32::try_from(lines.lens.len()).unwrap_or(u32::MAX);
                    lines.lens.push(1);
                    lines.up.push(Vec::new());
                    lines.down.push(Vec::new());
                    (line, 0)
                }
            };
            // Counters hold one more than the number, so that 0 means none.
            *lines.line_of.of(num) = place.0.saturating_add(1);
            *lines.place_of.of(num) = place.1;
            for parent in graph.parents_in(set, num)? {
                let Some(parent) = lines.place(parent) else { continue };
                if parent.0 != place.0 {
                    lines.up[index(place.0)].push(Edge { at: place.1, to: parent });
                    lines.down[index(parent.0)].push(Edge { at: parent.1, to: place });
                }
            }
        }
        lines.down.iter_mut().for_each(|edges| edges.sort_unstable_by_key(|edge| edge.at));
        for num in order.into_iter().rev() {
            let taken_in = match lines.place(num) {
                Some((0, place)) if head.is_some() => place.saturating_add(1),
                _ => lines.taken_in.get(num),
            };
            *lines.taken_in.of(num) = taken_in;
            if taken_in == 0 {
                continue;
            }
            for parent in graph.parents_in(set, num)? {
                let of_parent = lines.taken_in.of(parent);
                if *of_parent == 0 || taken_in < *of_parent {
                    *of_parent = taken_in;
                }
            }
        }
        Ok(lines)
    }

    /// Lays the line of first parents from `head` on.
    fn lay_first(&mut self, graph: &mut Graph<'_>, set: &ChangeSet, head: Option<Gid>) -> Result<()> {
        let mut line = Vec::new();
        let mut next = head.and_then(|head| graph.find(&head)).filter(|num| set.nums.contains(*num));
        while let Some(num) = next {
            line.push(num);
            next = graph.first_parent_in(set, num)?;
        }
        if line.is_empty() {
            return Ok(());
        }
        for (num, place) in line.iter().rev().zip(0..) {
            *self.line_of.of(*num) = 1;
            *self.place_of.of(*num) = place;
        }
        self.lens.push(u32::try_from(line.len()).unwrap_or(u32::MAX));
        self.up.push(Vec::new());
        self.down.push(Vec::new());
        Ok(())
    }

    /// The place of a change on the first line; `None` beside it.
    pub(crate) fn on_first(&self, graph: &Graph<'_>, id: &Gid) -> Option<u32> {
        let (line, place) = graph.find(id).and_then(|num| self.place(num))?;
        // A first line without a head has no change that is taken in.
        (line == 0 && self.taken_in(graph, id) == Some(place)).then_some(place)
    }

    /// The first place of the first line that a change leads to: it leads to all later ones, and to none before.
    pub(crate) fn taken_in(&self, graph: &Graph<'_>, id: &Gid) -> Option<u32> {
        self.taken_in.get(graph.find(id)?).checked_sub(1)
    }

    fn place(&self, num: Num) -> Option<Place> {
        let line = self.line_of.get(num).checked_sub(1)?;
        Some((line, self.place_of.get(num)))
    }

    /// Whether a change belongs to the set.
    pub(crate) fn holds(&self, graph: &Graph<'_>, id: &Gid) -> bool {
        graph.find(id).is_some_and(|num| self.place(num).is_some())
    }

    /// Everything that leads to one of `start`, those included.
    pub(crate) fn ancestors(&self, graph: &Graph<'_>, start: &[Gid]) -> Reach {
        let mut reach = Reach { places: vec![0; self.lens.len()] };
        let mut open: Vec<Place> = self.places(graph, start);
        while let Some((line, place)) = open.pop() {
            let Some(reached) = reach.places.get_mut(index(line)) else { continue };
            let before = *reached;
            if place < before {
                continue;
            }
            *reached = place + 1;
            let edges = &self.up[index(line)];
            let from = edges.partition_point(|edge| edge.at < before);
            open.extend(edges[from..].iter().take_while(|edge| edge.at <= place).map(|edge| edge.to));
        }
        reach
    }

    /// Whether a walk to ancestors reached a change.
    pub(crate) fn is_ancestor(&self, graph: &Graph<'_>, reach: &Reach, id: &Gid) -> bool {
        let place = graph.find(id).and_then(|num| self.place(num));
        place.is_some_and(|(line, place)| reach.places.get(index(line)).is_some_and(|end| place < *end))
    }

    /// Everything that comes after one of `start`, those included.
    pub(crate) fn descendants(&self, graph: &Graph<'_>, start: &[Gid]) -> Reach {
        let mut reach = Reach { places: vec![0; self.lens.len()] };
        let mut open: Vec<Place> = self.places(graph, start);
        while let Some((line, place)) = open.pop() {
            let Some((reached, len)) = reach.places.get_mut(index(line)).zip(self.lens.get(index(line)))
            else {
                continue;
            };
            // Places from `len - reached` on are reached already.
            let before = len - *reached;
            if place >= before {
                continue;
            }
            *reached = len - place;
            let edges = &self.down[index(line)];
            let from = edges.partition_point(|edge| edge.at < place);
            open.extend(edges[from..].iter().take_while(|edge| edge.at < before).map(|edge| edge.to));
        }
        reach
    }

    /// Whether a walk to descendants reached a change.
    pub(crate) fn is_descendant(&self, graph: &Graph<'_>, reach: &Reach, id: &Gid) -> bool {
        let place = graph.find(id).and_then(|num| self.place(num));
        place.is_some_and(|(line, place)| {
            let end = self.lens.get(index(line)).zip(reach.places.get(index(line)));
            end.is_some_and(|(len, reached)| place >= len - reached)
        })
    }

    fn places(&self, graph: &Graph<'_>, ids: &[Gid]) -> Vec<Place> {
        ids.iter().filter_map(|id| graph.find(id).and_then(|num| self.place(num))).collect()
    }
}

impl Reach {
    /// Number of changes reached.
    pub(crate) fn count(&self) -> u64 {
        self.places.iter().map(|places| u64::from(*places)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::graph::sets::tests::make;
    use std::collections::BTreeSet;

    /// Ancestors and descendants of every change against a plain closure.
    fn check(parents: &[&[usize]]) {
        let changes: Vec<(i64, &[usize])> = (0..).zip(parents.iter().copied()).collect();
        let made = make(&changes);
        let mut graph = Graph::new(&made.store);
        let set = graph.ancestors(made.ids.iter().copied()).unwrap();
        let head = made.ids.last().copied();
        let lines = Lines::of(&mut graph, &set, head).unwrap();
        for start in 0..parents.len() {
            let mut above = BTreeSet::from([start]);
            for at in (0..=start).rev() {
                if above.contains(&at) {
                    above.extend(parents[at]);
                }
            }
            let mut below = BTreeSet::from([start]);
            for (at, of) in parents.iter().enumerate() {
                if of.iter().any(|parent| below.contains(parent)) {
                    below.insert(at);
                }
            }
            let up = lines.ancestors(&graph, &[made.ids[start]]);
            let down = lines.descendants(&graph, &[made.ids[start]]);
            for (at, id) in made.ids.iter().enumerate() {
                assert_eq!(lines.is_ancestor(&graph, &up, id), above.contains(&at), "{at} above {start}");
                assert_eq!(lines.is_descendant(&graph, &down, id), below.contains(&at), "{at} below {start}");
            }
            assert_eq!((up.count(), down.count()), (above.len() as u64, below.len() as u64));
            if let Some(place) = lines.on_first(&graph, &made.ids[start]) {
                for (at, id) in made.ids.iter().enumerate() {
                    let leads = lines.taken_in(&graph, id).is_some_and(|taken_in| taken_in <= place);
                    assert_eq!(leads, above.contains(&at), "{at} leads to {start}");
                }
            }
        }
    }

    #[test]
    fn lines_answer_as_closures_do() {
        check(&[&[]]);
        check(&[&[], &[0], &[1], &[2]]);
        check(&[&[], &[0], &[0], &[1, 2], &[2], &[3, 4]]);
        check(&[&[], &[], &[1, 0], &[0], &[3, 2], &[2, 3], &[4, 5], &[]]);
    }

    #[test]
    fn tangled_histories() {
        let mut state = 7u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        for _ in 0..20 {
            let parents: Vec<Vec<usize>> = (0..40)
                .map(|at: usize| match at {
                    0 => Vec::new(),
                    _ => (0..next(4)).map(|_| next(at)).collect(),
                })
                .collect();
            let slices: Vec<&[usize]> = parents.iter().map(Vec::as_slice).collect();
            check(&slices);
        }
    }
}
