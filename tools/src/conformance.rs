//! `gemel-tools conformance DIR`: runs a folder of pinned objects against the object library.
//!
//! A folder may hold `positive.tsv` (bytes that are accepted, with their identities), `negative.tsv` (bytes that are
//! rejected, with the error each must give), and golden envelopes, in `golden/` or beside the tables.

use crate::vectors::{self, Row, Table};
use gemel_object::json::{build, project};
use gemel_object::{Gid, Limits, Object, ObjectBuilder, refs_of};
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Arguments of the tool.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder with positive.tsv, negative.tsv or golden/
    pub dir: PathBuf,
}

/// What a folder's cases came to.
#[derive(Debug, Default)]
pub struct Report {
    /// Cases that hold.
    pub passed: usize,
    /// A line for each case that does not.
    pub failures: Vec<String>,
}

impl Report {
    fn add(&mut self, kind: &str, name: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(reason) => self.failures.push(format!("{kind} {name}: {reason}")),
        }
    }
}

/// Runs the folder, prints the cases that fail and, last, the count. Whether all passed.
///
/// # Errors
/// When the folder holds nothing to run or cannot be read.
pub fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let report = check(&args.dir)?;
    let mut out = io::stdout().lock();
    for failure in &report.failures {
        writeln!(out, "{failure}")?;
    }
    writeln!(out, "{} passed, {} failed", report.passed, report.failures.len())?;
    Ok(report.failures.is_empty())
}

/// Runs every case of the folder `dir`.
///
/// # Errors
/// When the folder holds nothing to run or cannot be read.
pub fn check(dir: &Path) -> Result<Report, Box<dyn Error>> {
    let mut report = Report::default();
    let positive = Table::read(&dir.join("positive.tsv"))?;
    let negative = Table::read(&dir.join("negative.tsv"))?;
    let nested = dir.join("golden");
    let golden = if nested.is_dir() { nested } else { dir.to_owned() };
    for row in positive.iter().flat_map(Table::rows) {
        report.add("positive", row.cell("name"), accepted_row(row));
    }
    for row in negative.iter().flat_map(Table::rows) {
        report.add("negative", row.cell("name"), rejected(row));
    }
    check_golden(&golden, &mut report)?;
    if positive.is_none() && negative.is_none() && report.passed + report.failures.len() == 0 {
        return Err(
            format!("{} holds no positive.tsv, negative.tsv or golden envelopes", dir.display()).into()
        );
    }
    Ok(report)
}

fn accepted_row(row: Row<'_>) -> Result<(), String> {
    accepted(&row.bytes()?, row.cell("id"), &row.limits()?)
}

/// The bytes decode, bear the identity, and come out the same when their values are written again, directly and by
/// way of the JSON projection.
fn accepted(bytes: &[u8], id: &str, limits: &Limits) -> Result<(), String> {
    let object = Object::decode(bytes, limits).map_err(|error| format!("rejected, {error}"))?;
    let found = object.id();
    if found.to_string() != id {
        return Err(format!("identity {found}, expected {id}"));
    }
    let again = ObjectBuilder::from_object(&object).finish_existing(limits);
    match again {
        Ok(again) if again.bytes == bytes => {}
        Ok(again) => return Err(format!("encodes to {}", vectors::hex(&again.bytes))),
        Err(error) => return Err(format!("does not encode, {error}")),
    }
    let text = project(&object, &[]).to_string();
    let value = serde_json::from_str(&text).map_err(|error| format!("projects to no JSON: {error}"))?;
    let rebuilt = build(&vectors::from_serde(&value)?).and_then(|builder| builder.finish_existing(limits));
    match rebuilt {
        Ok(rebuilt) if rebuilt.bytes == bytes => {}
        _ => return Err(format!("is not rebuilt from {text}")),
    }
    let misplaced = refs_of(bytes)
        .find(|found| bytes.get(found.offset..).is_none_or(|from| !from.starts_with(found.gid.as_bytes())));
    misplaced.map_or(Ok(()), |found| Err(format!("no {} at offset {}", found.gid, found.offset)))
}

/// The bytes are rejected with the error the line names. A textual identity is a line's bytes read as text.
fn rejected(row: Row<'_>) -> Result<(), String> {
    let (bytes, limits, expected) = (row.bytes()?, row.limits()?, row.cell("error"));
    let found = if expected == "MalformedIdentity" {
        Gid::parse(&String::from_utf8_lossy(&bytes)).err().map(|_| "MalformedIdentity")
    } else {
        Object::decode(&bytes, &limits).err().map(|error| error.name())
    };
    match found {
        Some(name) if name == expected => Ok(()),
        Some(name) => Err(format!("{name}, expected {expected}")),
        None => Err(format!("accepted, expected {expected}")),
    }
}

/// Each envelope bears its identity; what the manifest describes makes the same bytes.
fn check_golden(folder: &Path, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if !folder.is_dir() {
        return Ok(());
    }
    let described = vectors::manifest(&folder.join("manifest.json"))?;
    let envelopes = vectors::envelopes(folder)?;
    for (name, (hex, id)) in &envelopes {
        let outcome = vectors::unhex(hex).and_then(|bytes| {
            let id = id.as_deref().ok_or("no identity beside it")?;
            accepted(&bytes, id.trim_end(), &Limits::DEFAULT)?;
            match described.iter().find(|vector| &vector.name == name).map(vectors::Described::encode) {
                Some(Ok(built)) if built.bytes != bytes => {
                    Err("its description makes other bytes".to_owned())
                }
                Some(Err(error)) => Err(format!("its description makes no object, {error}")),
                _ => Ok(()),
            }
        });
        report.add("golden", name, outcome);
    }
    for vector in described.iter().filter(|vector| !envelopes.contains_key(&vector.name)) {
        report.add("golden", &vector.name, Err("described, but there is no envelope".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ROOT;
    use std::fs;

    fn golden(path: &str) -> PathBuf {
        Path::new(ROOT).join("golden").join(path)
    }

    #[test]
    fn every_published_case_holds() {
        for (path, cases) in [("object", 180 + 47), ("negative", 273)] {
            let report = check(&golden(path)).unwrap();
            assert_eq!(report.failures, Vec::<String>::new());
            assert_eq!(report.passed, cases);
        }
    }

    #[test]
    fn wrong_expectations_are_failures() {
        let dir = tempfile::tempdir().unwrap();
        let hi = "47454d4c01010100026869";
        fs::write(
            dir.path().join("positive.tsv"),
            format!("name\thex\tid\nhi\t{hi}\tblob.00\nodd\t123\tx\n"),
        )
        .unwrap();
        let lines = format!(
            "name\thex\terror\tlimits\nhi\t{hi}\tBadMagic\t-\nsmall\t{hi}\tLimitExceeded\tmax_object_bytes=10\n\
             other\t{hi}\tLimitExceeded\tmax_bytes=1\nempty\t\tLengthMismatch\t-\n"
        );
        fs::write(dir.path().join("negative.tsv"), lines).unwrap();
        fs::create_dir(dir.path().join("golden")).unwrap();
        fs::write(dir.path().join("golden/hi.gce.hex"), format!("{hi}\n")).unwrap();
        let report = check(dir.path()).unwrap();
        assert_eq!(report.passed, 2);
        let failed: Vec<&str> =
            report.failures.iter().map(|line| line.split(':').next().unwrap_or_default()).collect();
        assert_eq!(failed, ["positive hi", "positive odd", "negative hi", "negative other", "golden hi"]);
    }

    #[test]
    fn an_empty_folder_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check(dir.path()).is_err());
        assert!(check(&dir.path().join("absent")).is_err());
    }
}
