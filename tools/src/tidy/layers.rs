//! What a crate and a module may lean on, as the tables of docs/ARCHITECTURE.md say it.

use super::Finding;
use super::files::{Files, quoted, rows, tests_start};

const MAP: &str = "docs/ARCHITECTURE.md";

pub(super) fn check(files: &Files) -> Vec<Finding> {
    let mut findings = crates(files);
    findings.extend(modules(files));
    findings
}

/// Every dependency in a crate's manifest stands in the `uses` column of its row, and every crate has a row.
fn crates(files: &Files) -> Vec<Finding> {
    let map = rows(files.get(MAP));
    let mut findings = Vec::new();
    for (path, text) in files.0.iter().filter(|(path, _)| path.ends_with("/Cargo.toml")) {
        let folder = path.trim_end_matches("/Cargo.toml");
        let row =
            map.iter().find(|row| row.cell("folder").is_some_and(|cell| quoted(cell).any(|f| f == folder)));
        let Some(uses) = row.and_then(|row| row.cell("uses")) else {
            findings.push(Finding::new(path, 0, format!("{MAP} has no row for `{folder}`")));
            continue;
        };
        for (line, name) in dependencies(text) {
            if !quoted(uses).any(|used| used == name) {
                findings.push(Finding::new(path, line, format!("{MAP} does not let {folder} use `{name}`")));
            }
        }
    }
    findings
}

/// Names under `[dependencies]`, platform-specific ones too; dependencies of tests and build scripts are left out.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (at, line) in manifest.lines().enumerate() {
        if let Some(section) = line.strip_prefix('[') {
            inside = section.trim_end().trim_end_matches(']').ends_with("dependencies")
                && !section.contains("dev-dependencies")
                && !section.contains("build-dependencies");
        } else if inside && let Some((name, _)) = line.split_once(['.', '=', ' ']) {
            let name = name.trim();
            if !name.is_empty() && !name.starts_with('#') {
                found.push((at + 1, name));
            }
        }
    }
    found
}

/// In a row `| folder | order |` with `a` < `b` < `c`, no file of `a` mentions `b` or `c`.
fn modules(files: &Files) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in rows(files.get(MAP)) {
        let (Some(folder), Some(order)) = (row.cell("modules of"), row.cell("order")) else { continue };
        let Some(folder) = quoted(folder).next() else { continue };
        let order: Vec<&str> = quoted(order).collect();
        for (rank, module) in order.iter().enumerate() {
            let (file, below) = (format!("{folder}/{module}.rs"), format!("{folder}/{module}/"));
            let mut seen = false;
            for (path, text) in files.rust().filter(|(path, _)| *path == file || path.starts_with(&below)) {
                seen = true;
                let code = product(text);
                for (line, name) in mentioned(&code) {
                    if order[rank + 1..].contains(&name.as_str()) {
                        let text = format!("`{module}` lies below `{name}` in {MAP} and must not use it");
                        findings.push(Finding::new(path, line, text));
                    }
                }
            }
            if !seen {
                findings.push(Finding::new(
                    MAP,
                    row.line,
                    format!("there is no module `{module}` in {folder}"),
                ));
            }
        }
    }
    findings
}

/// The code of a source without comments and without its tests, line numbers kept.
fn product(text: &str) -> String {
    text[..tests_start(text)]
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Modules of the own crate that code names as `crate::name` or `crate::{name, other::{..}}`, with their lines.
fn mentioned(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            found.extend(first_names(list).into_iter().map(|name| (line, name)));
        } else {
            found.push((line, name(rest)));
        }
    }
    found
}

fn name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// First name of each item of a brace list, up to its closing brace.
fn first_names(list: &str) -> Vec<String> {
    let mut depth = 1;
    let mut item_starts = true;
    let mut found = Vec::new();
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => item_starts = true,
            _ if letter.is_whitespace() => {}
            _ if item_starts && depth == 1 => {
                found.push(name(&list[at..]));
                item_starts = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(source: &str) -> Files {
        let map = "| folder | uses |\n|---|---|\n| `engine/repo` | `fst` |\n\n\
                   | modules of | order |\n|---|---|\n| `engine/repo/src` | `content` < `history` |\n";
        let manifest =
            "[package]\nname = \"x\"\n[dependencies]\nfst = \"1\"\n[dev-dependencies]\nproptest = \"1\"\n";
        let files = [
            (MAP, map),
            ("engine/repo/Cargo.toml", manifest),
            ("engine/repo/src/content/mod.rs", source),
            ("engine/repo/src/history.rs", "use crate::content;\n"),
        ];
        Files(files.iter().map(|(path, text)| ((*path).to_string(), (*text).to_string())).collect())
    }

    #[test]
    fn an_upward_import_is_found_in_every_spelling() {
        let check = |source: &str, expected: usize| {
            assert_eq!(modules(&project(source)).len(), expected, "{source}");
        };
        check("use crate::error::Error;\n", 0);
        check("// see crate::history\nfn f() {}\n", 0);
        check("#[cfg(test)]\nmod tests {\n    use crate::history::log;\n}\n", 0);
        check("use crate::history::log;\n", 1);
        check("fn f() { crate::history::log() }\n", 1);
        check("use crate::{error::{Error, history}, names};\n", 0);
        check("use crate::{\n    error::{Error},\n    history,\n};\n", 1);
    }

    #[test]
    fn a_dependency_outside_the_table_is_found() {
        assert_eq!(crates(&project("")), []);
        let mut files = project("");
        let manifest = "[dependencies]\nfst.workspace = true\nrayon.workspace = true\n".to_string();
        files.0.insert("engine/repo/Cargo.toml".to_string(), manifest);
        let texts: Vec<String> = crates(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            ["engine/repo/Cargo.toml:3: docs/ARCHITECTURE.md does not let engine/repo use `rayon`"]
        );
    }
}
