//! Matching lines at a cost that grows with their number and not with its square, whatever they are (T-55).
//!
//! Myers' greedy walk from the front, cut off after a fixed number of edits: the furthest point reached is kept, and
//! the walk starts anew there. Each start costs at most its edits times the way it gains, so all of them together cost
//! a fixed number of steps a line. With fewer edits than the cut-off the answer is the shortest one.

use imara_diff::Token;
use std::ops::Range;

/// Edits after which a walk keeps what it has.
const MAX_EDITS: usize = 160;

/// A run of lines replaced by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Lines of the old side.
    pub(super) before: Range<u32>,
    /// Lines of the new side.
    pub(super) after: Range<u32>,
}

/// The changes that turn `before` into `after`, of which `tokens` are different ones.
pub(super) fn changes(before: &[Token], after: &[Token], tokens: u32) -> Vec<Change> {
    let (old_places, old) = shared(before, after, tokens);
    let (new_places, new) = shared(after, before, tokens);
    let mut kept_old = vec![false; before.len()];
    let mut kept_new = vec![false; after.len()];
    let (mut at_old, mut at_new) = (0, 0);
    while at_old < old.len() && at_new < new.len() {
        let walk = Walk::begin(&old[at_old..], &new[at_new..]);
        for (x, y) in walk.matches() {
            kept_old[old_places[at_old + x]] = true;
            kept_new[new_places[at_new + y]] = true;
        }
        at_old += walk.end.0;
        at_new += walk.end.1;
    }
    collect(&kept_old, &kept_new)
}

/// The lines of `these` that occur in `others`, and where they are. No other can match.
fn shared(these: &[Token], others: &[Token], tokens: u32) -> (Vec<usize>, Vec<Token>) {
    let mut occurs = vec![false; tokens as usize];
    others.iter().for_each(|token| occurs[token.0 as usize] = true);
    these
        .iter()
        .enumerate()
        .filter(|(_, token)| occurs[token.0 as usize])
        .map(|(at, token)| (at, *token))
        .unzip()
}

/// How far on the old side each diagonal came with some number of edits. Diagonals are counted so that
/// `y = x + edits - diagonal`; a row has `2 * edits + 1`, every other of which is met.
type Row = Vec<Option<usize>>;

/// A walk from the front of two sides to the furthest point it reached.
struct Walk {
    /// For each number of edits, how far it came.
    rows: Vec<Row>,
    /// Lines on the old and on the new side.
    lens: (usize, usize),
    /// Diagonal of the end in the last row.
    diagonal: usize,
    /// Lines walked on both sides.
    end: (usize, usize),
}

impl Walk {
    fn begin(old: &[Token], new: &[Token]) -> Walk {
        let lens = (old.len(), new.len());
        let mut rows: Vec<Row> = Vec::new();
        loop {
            let edits = rows.len();
            let row: Row = (0..=2 * edits)
                .map(|diagonal| {
                    let (x, _) = step(rows.last(), edits, diagonal, lens)?;
                    let y = x + edits - diagonal;
                    Some(x + old[x..].iter().zip(&new[y..]).take_while(|(a, b)| a == b).count())
                })
                .collect();
            let ends = row.iter().enumerate().filter_map(|(d, x)| x.map(|x| (d, (x, x + edits - d))));
            let (diagonal, end) = ends.max_by_key(|(_, (x, y))| x + y).unwrap_or((edits, lens));
            rows.push(row);
            if end == lens || edits == MAX_EDITS {
                return Walk { rows, lens, diagonal, end };
            }
        }
    }

    /// The pairs of lines that the way to the end matches, last ones first.
    fn matches(&self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        let mut diagonal = self.diagonal;
        for edits in (0..self.rows.len()).rev() {
            let end = self.rows.get(edits).and_then(|row| row.get(diagonal).copied().flatten());
            let above = edits.checked_sub(1).and_then(|above| self.rows.get(above));
            let begin = step(above, edits, diagonal, self.lens);
            let (Some(end), Some((begin, by_new))) = (end, begin) else { break };
            pairs.extend((begin..end).rev().map(|x| (x, x + edits - diagonal)));
            diagonal = if by_new { diagonal } else { diagonal.saturating_sub(2) };
        }
        pairs
    }
}

/// Where a diagonal begins with `edits` edits: one line after the better of its neighbours in the row above, a line of
/// the new side (`true`) or of the old one.
fn step(above: Option<&Row>, edits: usize, diagonal: usize, lens: (usize, usize)) -> Option<(usize, bool)> {
    let Some(above) = above else { return (edits == 0).then_some((0, false)) };
    let by_new = above.get(diagonal).copied().flatten().filter(|x| x + edits - diagonal <= lens.1);
    let by_old = diagonal.checked_sub(2).and_then(|left| above.get(left).copied().flatten());
    let by_old = by_old.map(|x| x + 1).filter(|x| *x <= lens.0);
    match (by_new, by_old) {
        (Some(new), Some(old)) if new >= old => Some((new, true)),
        (Some(new), None) => Some((new, true)),
        (_, old) => old.map(|old| (old, false)),
    }
}

/// Runs of lines that are not kept.
fn collect(kept_old: &[bool], kept_new: &[bool]) -> Vec<Change> {
    let mut changes = Vec::new();
    let (mut x, mut y) = (0, 0);
    while x < kept_old.len() || y < kept_new.len() {
        let run = |kept: &[bool], from: usize| kept[from..].iter().take_while(|kept| !**kept).count();
        let (gone, new) = (run(kept_old, x), run(kept_new, y));
        if gone + new > 0 {
            let range = |from: usize, len: usize| {
                let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
                number(from)..number(from + len)
            };
            changes.push(Change { before: range(x, gone), after: range(y, new) });
        }
        (x, y) = (x + gone, y + new);
        // Kept lines come in pairs.
        if x < kept_old.len() && y < kept_new.len() {
            (x, y) = (x + 1, y + 1);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str) -> (usize, usize) {
        let tokens = |text: &str| text.bytes().map(|byte| Token(u32::from(byte))).collect::<Vec<_>>();
        let found = changes(&tokens(old), &tokens(new), 256);
        // Applying them to the one gives the other.
        let (mut text, mut at) = (String::new(), 0);
        let (mut gone, mut added) = (0, 0);
        for change in &found {
            text.push_str(&old[at..change.before.start as usize]);
            assert_eq!(text.len(), change.after.start as usize);
            text.push_str(&new[change.after.start as usize..change.after.end as usize]);
            at = change.before.end as usize;
            gone += change.before.len();
            added += change.after.len();
        }
        text.push_str(&old[at..]);
        assert_eq!(text, new);
        (gone, added)
    }

    #[test]
    fn short_ones_are_shortest() {
        assert_eq!(check("abcabba", "cbabac"), (3, 2));
        assert_eq!(check("", "abc"), (0, 3));
        assert_eq!(check("abc", ""), (3, 0));
        assert_eq!(check("abc", "xyz"), (3, 3));
        assert_eq!(check("same", "same"), (0, 0));
        assert_eq!(check("aaaa", "aa"), (2, 0));
        assert_eq!(check("ab", "ba"), (1, 1));
    }

    #[test]
    fn long_ones_are_right() {
        let old = "abc".repeat(900);
        check(&old, &"acb".repeat(700));
        check(&old, &"cab".repeat(1000));
        check(&"ab".repeat(2000), &"bba".repeat(1500));
        let spread: String =
            old.bytes().enumerate().map(|(n, b)| if n % 50 == 7 { 'z' } else { b as char }).collect();
        assert_eq!(check(&old, &spread), (54, 54));
    }
}
