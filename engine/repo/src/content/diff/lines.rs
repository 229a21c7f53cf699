//! Comparing lines, at a cost that no input drives up (T-55).

use super::bounded::{self, Change};
use super::{Hunk, Line, LineStat};
use imara_diff::{Algorithm, Diff, InternedInput};
use std::ops::Range;

/// Up to this many differing lines on both sides together the histogram is worth its cost, which for lines that repeat
/// a lot grows with the square of their number.
const MAX_HISTOGRAM_LINES: usize = 40_000;

/// The hunks that turn `old` into `new`, with `context` lines around changes.
pub(super) fn hunks(old: &[u8], new: &[u8], context: u32) -> Vec<Hunk> {
    let changes = changes(old, new, Algorithm::Histogram);
    let sides = Sides { old: line_starts(old), new: line_starts(new), context };
    let far = |a: &Change, b: &Change| b.before.start - a.before.end > context.saturating_mul(2);
    changes.chunk_by(|a, b| !far(a, b)).map(|group| sides.hunk(group)).collect()
}

/// Lines only on one of the sides.
pub(super) fn count(old: &[u8], new: &[u8]) -> LineStat {
    let mut stat = LineStat::default();
    for change in changes(old, new, Algorithm::Histogram) {
        stat.removed += change.before.len() as u64;
        stat.added += change.after.len() as u64;
    }
    stat
}

/// What turns `old` into `new`.
pub(super) fn changes(old: &[u8], new: &[u8], algorithm: Algorithm) -> Vec<Change> {
    let input = InternedInput::new(old, new);
    let (before, after) = (input.before.as_slice(), input.after.as_slice());
    let front = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (rest_before, rest_after) = (before.split_at(front).1, after.split_at(front).1);
    let back = rest_before.iter().rev().zip(rest_after.iter().rev()).take_while(|(a, b)| a == b).count();
    let (middle_before, middle_after) =
        (rest_before.split_at(rest_before.len() - back).0, rest_after.split_at(rest_after.len() - back).0);
    if middle_before.len() + middle_after.len() > MAX_HISTOGRAM_LINES {
        let skipped = u32::try_from(front).unwrap_or(u32::MAX);
        let mut changes = bounded::changes(middle_before, middle_after, input.interner.num_tokens());
        for change in &mut changes {
            for range in [&mut change.before, &mut change.after] {
                *range = range.start + skipped..range.end + skipped;
            }
        }
        return changes;
    }
    let mut diff = Diff::compute(algorithm, &input);
    diff.postprocess_lines(&input);
    diff.hunks().map(|hunk| Change { before: hunk.before, after: hunk.after }).collect()
}

/// Where each line begins, and where the last one ends.
fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1));
    if starts.last() != Some(&bytes.len()) {
        starts.push(bytes.len());
    }
    starts
}

struct Sides {
    old: Vec<usize>,
    new: Vec<usize>,
    context: u32,
}

impl Sides {
    /// One hunk around changes that lie close together.
    fn hunk(&self, changes: &[Change]) -> Hunk {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
            return Hunk { old_start: 0, old_len: 0, new_start: 0, new_len: 0, lines: Vec::new() };
        };
        let lead = self.context.min(first.before.start);
        let old_lines = u32::try_from(self.old.len() - 1).unwrap_or(u32::MAX);
        let tail = self.context.min(old_lines - last.before.end);
        let old = first.before.start - lead..last.before.end + tail;
        let new = first.after.start - lead..last.after.end + tail;
        let mut lines = Vec::new();
        let mut at = old.start;
        for change in changes {
            lines.extend(each(&self.old, at..change.before.start).map(Line::Context));
            lines.extend(each(&self.old, change.before.clone()).map(Line::Removed));
            lines.extend(each(&self.new, change.after.clone()).map(Line::Added));
            at = change.before.end;
        }
        lines.extend(each(&self.old, at..old.end).map(Line::Context));
        let (old_len, new_len) = (old.end - old.start, new.end - new.start);
        Hunk {
            old_start: old.start + u32::from(old_len > 0),
            old_len,
            new_start: new.start + u32::from(new_len > 0),
            new_len,
            lines,
        }
    }
}

/// The places of some lines in the bytes of their side.
fn each(starts: &[usize], lines: Range<u32>) -> impl Iterator<Item = Range<usize>> {
    let ends = starts.get(lines.start as usize..=lines.end as usize).unwrap_or_default();
    ends.windows(2).map(|pair| pair[0]..pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(old: &str, new: &str, context: u32) -> Vec<(u32, u32, u32, u32)> {
        let hunks = hunks(old.as_bytes(), new.as_bytes(), context);
        hunks.iter().map(|h| (h.old_start, h.old_len, h.new_start, h.new_len)).collect()
    }

    #[test]
    fn numbers_as_patches_count_them() {
        assert_eq!(shape("a\nb\nc\n", "a\nx\nc\n", 1), [(1, 3, 1, 3)]);
        assert_eq!(shape("a\nb\nc\n", "a\nx\nc\n", 0), [(2, 1, 2, 1)]);
        assert_eq!(shape("", "a\nb", 3), [(0, 0, 1, 2)]);
        assert_eq!(shape("a\n", "", 3), [(1, 1, 0, 0)]);
        assert_eq!(shape("a\nb\n", "a\nn\nb\n", 0), [(1, 0, 2, 1)]);
        let numbers: String = (0..30).map(|n| format!("{n}\n")).collect();
        let edited = numbers.replace("\n5\n", "\nfive\n").replace("\n12\n", "\ntwelve\n");
        assert_eq!(shape(&numbers, &edited, 3), [(3, 14, 3, 14)]);
        assert_eq!(shape(&numbers, &edited, 2), [(4, 5, 4, 5), (11, 5, 11, 5)]);
        assert_eq!(shape(&numbers, &edited, u32::MAX), [(1, 30, 1, 30)]);
    }

    #[test]
    fn counting() {
        let stat = count(b"a\nb\nc\n", b"a\nc\nd\ne");
        assert_eq!((stat.added, stat.removed), (2, 1));
    }
}
