//! Length of files, and words that have no place in a finished project.

use super::Finding;
use super::files::{Files, RULES};
use std::path::Path;

const LONGEST: usize = 900;
/// A longer file says why in a line of this beginning among its first ones.
const REASON: &str = "// Long because ";
const NEVER: &[&str] =
    &["TODO", "FIXME", "XXX", "todo!", "unimplemented!", "../shared", "crates.io-index", "index.crates.io"];

pub(super) fn check(files: &Files, root: &Path) -> Vec<Finding> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let here = root.to_string_lossy();
    let mut findings = Vec::new();
    for (path, text) in &files.0 {
        let lines = text.lines().count();
        if path.ends_with(".rs")
            && lines > LONGEST
            && !text.lines().take(20).any(|line| line.starts_with(REASON))
        {
            let text = format!("{lines} lines: split it, or say why not in a line `{REASON}...`");
            findings.push(Finding::new(path, 0, text));
        }
        if path.starts_with(RULES) {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            for word in NEVER.iter().filter(|word| holds(line, word)) {
                findings.push(Finding::new(path, at + 1, format!("`{word}` has no place here")));
            }
            if here.len() > 1 && line.contains(&*here) {
                findings.push(Finding::new(path, at + 1, "a path of the machine it was written on"));
            }
        }
    }
    findings
}

/// Whether a line has the word, not as a part of a longer one.
fn holds(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !joins(before) && (!joins(after) || word.ends_with(['!', '/']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        let files = Files([(path.to_string(), text.to_string())].into());
        check(&files, Path::new("/no/such/root")).len()
    }

    #[test]
    fn forbidden_words_are_found_as_words() {
        assert_eq!(found("a.rs", "// TODO later\n"), 1);
        assert_eq!(found("a.rs", "let MASTODON = METODOS;\n"), 0);
        assert_eq!(found("a.rs", "fn f() { todo!() }\n"), 1);
        assert_eq!(found("a.rs", "let todo = 1;\n"), 0);
        assert_eq!(found("docs/a.md", "at /no/such/root/x\n"), 1);
    }

    #[test]
    fn a_long_file_needs_a_reason() {
        let long = "fn f() {}\n".repeat(901);
        assert_eq!(found("a.rs", &long), 1);
        assert_eq!(found("a.rs", &format!("// Long because it is one table\n{long}")), 0);
        assert_eq!(found("a.rs", &"fn f() {}\n".repeat(900)), 0);
    }
}
