//! The text files of the project, read once, and the tables of its documents.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Folders that hold nothing written by hand.
const SKIPPED: &[&str] = &["target", ".git", ".gemel", "artifacts", "corpus-data"];
/// The files that state the rules, and so name what the rules are about.
pub(super) const RULES: &str = "tools/src/tidy/";
const EXTENSIONS: &[&str] = &["rs", "md", "toml", "tsv", "sh", "yml", "yaml"];

/// Path (with `/`, relative to the root) to content.
pub(super) struct Files(pub(super) BTreeMap<String, String>);

impl Files {
    pub(super) fn read(root: &Path) -> io::Result<Files> {
        let mut found = BTreeMap::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder))? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                let kind = entry.file_type()?;
                if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                    folders.push(path);
                } else if kind.is_file() && is_text(&path) {
                    found.insert(path, String::from_utf8_lossy(&fs::read(entry.path())?).into_owned());
                }
            }
        }
        Ok(Files(found))
    }

    pub(super) fn get(&self, path: &str) -> &str {
        self.0.get(path).map_or("", String::as_str)
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter(|(path, _)| path.ends_with(".md"))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The parts of the sources that are tests: files under `tests/`, and the test modules at the end
    /// of the others.
    pub(super) fn tests(&self) -> impl Iterator<Item = &str> {
        self.rust().filter(|(path, _)| !path.starts_with(RULES)).filter_map(|(path, text)| {
            if path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs") {
                return Some(text);
            }
            let at = tests_start(text);
            (at < text.len()).then(|| &text[at..])
        })
    }
}

/// Where the test module at the end of a source begins; its length if it has none.
pub(super) fn tests_start(text: &str) -> usize {
    const MARK: &str = "#[cfg(test)]";
    let begins_module = |at: usize| {
        let line = text[at + MARK.len()..].trim_start().lines().next().unwrap_or("");
        line.starts_with("mod ") && line.ends_with('{')
    };
    text.match_indices(MARK).map(|(at, _)| at).find(|at| begins_module(*at)).unwrap_or(text.len())
}

fn is_text(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension)) || path == ".ci/run"
}

/// One row of a table in a document.
pub(super) struct Row<'a> {
    pub(super) line: usize,
    header: &'a str,
    cells: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// The cell under the column of this name.
    pub(super) fn cell(&self, column: &str) -> Option<&'a str> {
        let at = split(self.header).iter().position(|name| *name == column)?;
        self.cells.get(at).copied()
    }
}

/// All rows of all tables of a document, without the header rows and their rulers.
pub(super) fn rows(document: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut header = "";
    for (at, line) in document.lines().enumerate() {
        if !line.starts_with('|') {
            header = "";
        } else if header.is_empty() {
            header = line;
        } else if !line.starts_with("|-") && !line.starts_with("| -") {
            rows.push(Row { line: at + 1, header, cells: split(line) });
        }
    }
    rows
}

/// Cells of a table line; `\|` does not end one.
fn split(line: &str) -> Vec<&str> {
    let mut cells = Vec::new();
    let mut from = 1;
    for (at, letter) in line.char_indices().skip(1) {
        if letter == '|' && !line[..at].ends_with('\\') {
            cells.push(line[from..at].trim());
            from = at + 1;
        }
    }
    cells
}

/// The texts between backquotes.
pub(super) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_with_their_columns() {
        let text = "# t\n\n| a | b |\n|---|---|\n| 1 | x\\|y |\n| 2 | `q` |\n\ntext\n";
        let rows = rows(text);
        let found: Vec<_> = rows.iter().map(|r| (r.line, r.cell("a"), r.cell("b"), r.cell("c"))).collect();
        assert_eq!(found, [(5, Some("1"), Some("x\\|y"), None), (6, Some("2"), Some("`q`"), None)]);
        assert_eq!(quoted("a `b` c `d`").collect::<Vec<_>>(), ["b", "d"]);
    }
}
