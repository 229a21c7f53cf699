//! Every invariant and threat has a row, and every row that is built is named by a test.

use super::Finding;
use super::files::{Files, quoted, rows};
use std::collections::BTreeSet;

const INVARIANTS: &str = "docs/INVARIANTS.md";
const THREATS: &str = "docs/THREAT_MODEL.md";

/// Families of ids and their last numbers.
const FAMILIES: &[(&str, usize)] = &[
    ("ENC", 23),
    ("ID", 6),
    ("OBJ", 12),
    ("FAM", 22),
    ("STO", 8),
    ("REF", 5),
    ("DER", 10),
    ("RET", 7),
    ("QRY", 6),
    ("SEC", 8),
];
const LAST_THREAT: usize = 61;

pub(super) fn check(files: &Files) -> Vec<Finding> {
    let named = named_in_tests(files);
    let invariants =
        FAMILIES.iter().flat_map(|(family, last)| (1..=*last).map(move |n| format!("{family}-{n:02}")));
    let mut findings = table(files, INVARIANTS, &invariants.collect::<Vec<_>>(), &named);
    let threats: Vec<String> = (1..=LAST_THREAT).map(|n| format!("T-{n:02}")).collect();
    findings.extend(table(files, THREATS, &threats, &named));
    findings
}

/// One row for each id; one that is built names a test, and a test names it.
fn table(files: &Files, document: &str, ids: &[String], named: &BTreeSet<String>) -> Vec<Finding> {
    let rows = rows(files.get(document));
    let mut findings = Vec::new();
    for id in ids {
        let Some(row) = rows.iter().find(|row| row.cell("id") == Some(id)) else {
            findings.push(Finding::new(document, 0, format!("no row for {id}")));
            continue;
        };
        let shown = row.cell("shown by").unwrap_or("");
        if shown.starts_with("not built") {
            continue;
        }
        if quoted(shown).next().is_none() {
            findings.push(Finding::new(
                document,
                row.line,
                format!("{id} names no test and is not marked `not built`"),
            ));
        }
        if !named.contains(id) {
            findings.push(Finding::new(document, row.line, format!("{id} is built but no test names it")));
        }
    }
    findings
}

/// Ids that tests name, one by one or as `ENC-01..06`; the data of negative cases counts as the test that runs it.
fn named_in_tests(files: &Files) -> BTreeSet<String> {
    let data = files.0.iter().filter(|(path, _)| path.starts_with("golden/") && path.ends_with(".tsv"));
    let mut named = BTreeSet::new();
    for text in files.tests().chain(data.map(|(_, text)| text.as_str())) {
        for family in FAMILIES.iter().map(|(family, _)| *family).chain(["T"]) {
            collect(text, family, &mut named);
        }
    }
    named
}

fn collect(text: &str, family: &str, named: &mut BTreeSet<String>) {
    let dashed = format!("{family}-");
    for (at, _) in text.match_indices(&dashed) {
        if text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '-') {
            continue;
        }
        let rest = &text[at + dashed.len()..];
        let Some(first) = number(rest) else { continue };
        let after = rest[2..].strip_prefix("..").map(|tail| tail.strip_prefix(&dashed).unwrap_or(tail));
        let last = after.and_then(number).unwrap_or(first);
        named.extend((first..=last).map(|n| format!("{family}-{n:02}")));
    }
}

fn number(text: &str) -> Option<usize> {
    text.get(..2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_ids_and_ranges_are_read() {
        let mut named = BTreeSet::new();
        collect("/// ENC-03, ENC-05..07 and ENC-10..ENC-11; XENC-20, T-1", "ENC", &mut named);
        assert_eq!(Vec::from_iter(named), ["ENC-03", "ENC-05", "ENC-06", "ENC-07", "ENC-10", "ENC-11"]);
    }

    #[test]
    fn rows_are_checked_against_tests() {
        let document = "| id | shown by |\n|---|---|\n| T-01 | `a_test` |\n| T-02 | not built: sync |\n| T-03 | prose |\n";
        let files = Files([(THREATS.to_string(), document.to_string())].into());
        let ids = ["T-01", "T-02", "T-03", "T-04"].map(str::to_string);
        let named = ["T-01", "T-03"].map(str::to_string).into();
        let texts: Vec<String> = table(&files, THREATS, &ids, &named).into_iter().map(|f| f.text).collect();
        assert_eq!(texts, ["T-03 names no test and is not marked `not built`", "no row for T-04"]);
        assert_eq!(table(&files, THREATS, &ids[..1], &BTreeSet::new()).len(), 1);
    }
}
