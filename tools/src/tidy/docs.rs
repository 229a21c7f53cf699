//! Documents point at things that exist: linked files, quoted paths, named tests.

use super::Finding;
use super::files::{Files, quoted, rows};
use std::collections::BTreeSet;
use std::path::Path;

/// Folders at the top of the project: a quoted text that starts with one is a path.
const TOP: &[&str] =
    &["packfmt/", "engine/", "cli/", "tools/", "golden/", "docs/", "benches/", "tests/", ".ci/"];
/// Columns of tables whose quoted names are functions of tests.
const TEST_COLUMNS: &[&str] = &["shown by", "test"];

pub(super) fn check(files: &Files, root: &Path) -> Vec<Finding> {
    let functions = functions(files);
    let mut findings = Vec::new();
    for (path, text) in files.documents() {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (at, line) in text.lines().enumerate() {
            for target in links(line).filter(|target| !root.join(folder).join(target).exists()) {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    format!("link to `{target}`, which does not exist"),
                ));
            }
            for target in quoted(line).filter(|quote| is_path(quote) && !root.join(quote).exists()) {
                findings.push(Finding::new(path, at + 1, format!("names `{target}`, which does not exist")));
            }
        }
        for row in rows(text) {
            for cell in TEST_COLUMNS.iter().filter_map(|column| row.cell(column)) {
                for name in quoted(cell).filter(|name| is_function(name) && !functions.contains(name)) {
                    findings.push(Finding::new(
                        path,
                        row.line,
                        format!("names the test `{name}`, which does not exist"),
                    ));
                }
            }
        }
    }
    findings
}

/// Local targets of `[text](target)`, without a part after `#`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split('#').next()?;
        (!target.is_empty() && !target.contains("://")).then_some(target)
    })
}

fn is_path(quote: &str) -> bool {
    TOP.iter().any(|top| quote.starts_with(top))
        && quote.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

fn is_function(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Names of all functions in the sources.
fn functions(files: &Files) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for (_, text) in files.rust() {
        for (at, _) in text.match_indices("fn ") {
            let rest = &text[at + 3..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.insert(&rest[..end]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_paths_and_tests_are_found() {
        let document = "see [a](https://example.org), [b](#part), [c](gone.md) and `engine/gone.rs`, `engine/*`\n\n\
                        | id | shown by |\n|---|---|\n| X | `alive`, `dead`, `a b` |\n";
        let files = Files(
            [("docs/x.md", document), ("engine/a.rs", "fn alive() {}")]
                .map(|(path, text)| (path.to_string(), text.to_string()))
                .into(),
        );
        let texts: Vec<String> =
            check(&files, Path::new("/no/such/root")).into_iter().map(|f| f.text).collect();
        assert_eq!(
            texts,
            [
                "link to `gone.md`, which does not exist",
                "names `engine/gone.rs`, which does not exist",
                "names the test `dead`, which does not exist",
            ]
        );
    }
}
