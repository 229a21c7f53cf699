//! Following one line from a version of a file to the one before.

use super::lines::changes;
use imara_diff::Algorithm;

/// Number of lines; a last one without a line break counts.
pub(crate) fn lines(text: &[u8]) -> usize {
    let breaks = text.iter().filter(|byte| **byte == b'\n').count();
    breaks + usize::from(text.last().is_some_and(|byte| *byte != b'\n'))
}

/// Which line of `old` the line `line` of `new` was, both from 0; `None` when it is new. Lines are matched as Git does
/// for blame.
pub(crate) fn traced(old: &[u8], new: &[u8], line: usize) -> Option<usize> {
    if old == new {
        return Some(line);
    }
    if let Some(at) = outside(old, new, line) {
        return Some(at);
    }
    let wanted = u32::try_from(line).ok()?;
    let mut shift = 0_i64;
    for change in changes(old, new, Algorithm::Myers) {
        if wanted < change.after.start {
            break;
        }
        if wanted < change.after.end {
            return None;
        }
        shift = i64::from(change.before.end) - i64::from(change.after.end);
    }
    usize::try_from(i64::from(wanted) + shift).ok()
}

/// The place of a line before or after everything that differs. `None` also for a line whose text occurs among what
/// differs: which of them is the new one takes a comparison.
fn outside(old: &[u8], new: &[u8], line: usize) -> Option<usize> {
    let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let front = new.get(..front)?.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (old_rest, new_rest) = (old.get(front..)?, new.get(front..)?);
    let back = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    // From the first line that begins in what is alike, and on a line of its own on both sides.
    let tail = new_rest.get(new_rest.len() - back..)?;
    let back = tail.iter().position(|byte| *byte == b'\n').map_or(0, |at| tail.len() - at - 1);
    let old_middle = old_rest.get(..old_rest.len() - back)?;
    let new_middle = new_rest.get(..new_rest.len() - back)?;
    let before = lines(new.get(..front)?);
    let (text, at) = if line < before {
        (nth(new, line)?, line)
    } else {
        let after = line.checked_sub(before + lines(new_middle))?;
        (nth(new_rest.get(new_middle.len()..)?, after)?, before + lines(old_middle) + after)
    };
    let occurs = |middle: &[u8]| middle.split_inclusive(|byte| *byte == b'\n').any(|other| other == text);
    (!occurs(old_middle) && !occurs(new_middle)).then_some(at)
}

fn nth(text: &[u8], line: usize) -> Option<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').nth(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &[Option<usize>]) {
        let found: Vec<Option<usize>> =
            (0..lines(new.as_bytes())).map(|line| traced(old.as_bytes(), new.as_bytes(), line)).collect();
        assert_eq!(found, expected, "{old:?} {new:?}");
    }

    #[test]
    fn lines_are_followed() {
        check("a\nb\nc\n", "a\nb\nc\n", &[Some(0), Some(1), Some(2)]);
        check("a\nb\nc\n", "a\nx\nb\nc\n", &[Some(0), None, Some(1), Some(2)]);
        check("a\nb\nc\n", "a\nc\n", &[Some(0), Some(2)]);
        check("a\nb\nc\n", "b\nc\n", &[Some(1), Some(2)]);
        check("a\nb", "a\nb\n", &[Some(0), None]);
        check("a\nb\n", "a\nb", &[Some(0), None]);
        check("", "a\nb", &[None, None]);
        check("xa\n", "ya\n", &[None]);
        check("p\nxa\nq\n", "p\nya\nq\n", &[Some(0), None, Some(2)]);
        check("a\nb\n", "b\na\nb\n", &[None, Some(0), Some(1)]);
        // Which of the same lines is new: the last one.
        check("a\n", "a\na\n", &[Some(0), None]);
        check("a\na\n", "a\n", &[Some(0)]);
        check("x\na\ny\n", "x\na\ny\nx\na\ny\n", &[Some(0), Some(1), Some(2), None, None, None]);
    }

    #[test]
    fn counting() {
        for (text, expected) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(lines(text.as_bytes()), expected);
        }
    }

    /// The quick way gives what the comparison gives.
    #[test]
    fn quick_and_slow_agree() {
        let mut seed = 7_u32;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        for _ in 0..3000 {
            let mut text =
                |kinds: u32| -> Vec<String> { (0..next(9)).map(|_| format!("{}\n", next(kinds))).collect() };
            let old = text(6);
            let mut new = old.clone();
            for _ in 0..next(3) {
                let at = next(u32::try_from(new.len()).unwrap() + 1) as usize;
                match next(3) {
                    0 if at < new.len() => drop(new.remove(at)),
                    _ => new.insert(at, format!("{}\n", next(6))),
                }
            }
            let (old, new) = (old.concat(), new.concat());
            for line in 0..lines(new.as_bytes()) {
                let Some(quick) = outside(old.as_bytes(), new.as_bytes(), line) else { continue };
                let changed = changes(old.as_bytes(), new.as_bytes(), Algorithm::Myers);
                assert!(changed.iter().all(|c| !c.after.contains(&(line as u32))), "{old:?} {new:?} {line}");
                assert_eq!(nth(old.as_bytes(), quick), nth(new.as_bytes(), line));
            }
        }
    }
}
