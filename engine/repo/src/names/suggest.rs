//! "Did you mean": existing names that look like one that does not exist.

use crate::Result;
use crate::names::resolve::SPACES;
use gemel_store::Refs;

/// Names compared at most; this only serves an error message.
const MAX_SCANNED: usize = 200_000;

/// Names offered at most.
const MAX_OFFERED: usize = 3;

/// Texts longer than this get no suggestions.
const MAX_TEXT_CHARS: usize = 64;

/// Names within two edits of `text` (one, for texts of up to three letters), nearest first.
///
/// # Errors
/// `Store`.
pub(super) fn names_like(refs: &Refs, text: &str) -> Result<Vec<String>> {
    let wanted: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    if wanted.is_empty() || wanted.len() > MAX_TEXT_CHARS {
        return Ok(Vec::new());
    }
    let reach = if wanted.len() <= 3 { 1 } else { 2 };
    let mut found: Vec<(usize, String)> = Vec::new();
    // Names of Git objects are no words.
    let spaces = SPACES.iter().filter(|space| !space.starts_with("refs/mappings/"));
    let mut budget = MAX_SCANNED;
    for space in spaces {
        for (name, _) in refs.scan(space)?.take(budget) {
            budget -= 1;
            let Some(short) = name.strip_prefix(space) else { continue };
            if let Some(edits) = distance(&wanted, short, reach) {
                found.push((edits, short.to_owned()));
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found.into_iter().take(MAX_OFFERED).map(|(_, name)| name).collect())
}

/// Edits (insert, delete, replace, swap of neighbours) between `wanted` and `name` without case, if at most `reach`.
fn distance(wanted: &[char], name: &str, reach: usize) -> Option<usize> {
    let name: Vec<char> =
        name.chars().take(MAX_TEXT_CHARS + reach + 1).flat_map(char::to_lowercase).collect();
    if name.len().abs_diff(wanted.len()) > reach {
        return None;
    }
    let width = name.len() + 1;
    let mut before_last: Vec<usize> = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for (i, a) in wanted.iter().enumerate() {
        let mut row = vec![i + 1; width];
        for (j, b) in name.iter().enumerate() {
            let mut best = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && wanted[i - 1] == *b && name[j - 1] == *a {
                best = best.min(before_last[j - 1] + 1);
            }
            row[j + 1] = best;
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|edits| *edits <= reach)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: &str, name: &str, reach: usize, expected: Option<usize>) {
        let wanted: Vec<char> = wanted.chars().collect();
        assert_eq!(distance(&wanted, name, reach), expected, "{name}");
    }

    #[test]
    fn edits() {
        check("t1", "T1", 1, Some(0));
        check("c1", "C12", 1, Some(1));
        check("relaese", "release", 2, Some(1));
        check("rlese", "release", 2, Some(2));
        check("x", "release", 2, None);
        check("héllo", "HÉLO", 2, Some(1));
        check("abc", "abc/def", 2, None);
    }
}
