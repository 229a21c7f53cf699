//! Every published vector: accepted bytes with their identities, rejected bytes with their errors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what is wrong by panicking")]

use gemel_object::{Limits, Object, ObjectBuilder, refs_of};
use std::path::PathBuf;

fn golden(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden").join(path)
}

fn lines(path: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(golden(path)).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').map(String::from).collect()).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    text.trim_end().as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn limits(text: &str) -> Limits {
    let mut limits = Limits::default();
    for pair in text.split(',').filter(|pair| *pair != "-") {
        let (key, value) = pair.split_once('=').unwrap();
        let value = value.parse().unwrap();
        match key {
            "max_object_bytes" => limits.max_object_bytes = value,
            "max_record_depth" => limits.max_record_depth = value,
            "max_array_elements" => limits.max_array_elements = value,
            "max_refs_per_object" => limits.max_refs_per_object = value,
            "max_string_bytes" => limits.max_string_bytes = value,
            other => panic!("limit {other}"),
        }
    }
    limits
}

fn accepted(name: &str, bytes: &[u8], id: &str, limits: &Limits) {
    let object = Object::decode(bytes, limits).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(object.id().to_string(), id, "{name}");
    let again = ObjectBuilder::from_object(&object).finish_existing(limits).unwrap();
    assert_eq!(again.bytes, bytes, "{name}");
    for found in refs_of(bytes) {
        assert_eq!(&bytes[found.offset..found.offset + 33], found.gid.as_bytes(), "{name}");
    }
}

#[test]
fn positive_lines() {
    let lines = lines("object/positive.tsv");
    assert_eq!(lines.len(), 180);
    for line in lines {
        accepted(&line[0], &unhex(&line[1]), &line[2], &limits(&line[3]));
    }
}

#[test]
fn golden_vectors() {
    let mut seen = 0;
    for entry in std::fs::read_dir(golden("object")).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.to_str().and_then(|path| path.strip_suffix(".gce.hex")) else { continue };
        let id = std::fs::read_to_string(format!("{name}.id")).unwrap();
        accepted(name, &unhex(&std::fs::read_to_string(&path).unwrap()), id.trim_end(), &Limits::default());
        seen += 1;
    }
    assert_eq!(seen, 47);
}

/// Shows T-01..03, T-07.
#[test]
fn negative_lines() {
    let lines = lines("negative/negative.tsv");
    assert_eq!(lines.len(), 273);
    for line in lines {
        let bytes = unhex(&line[1]);
        match Object::decode(&bytes, &limits(&line[3])) {
            Ok(_) => panic!("{} was accepted, not {}", line[0], line[2]),
            Err(error) => assert_eq!(error.name(), line[2], "{}: {error}", line[0]),
        }
    }
}
