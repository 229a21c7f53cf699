//! The refs of a 0.12 store: a tree of files under `refs/`, each one line with a full identity, and the journal of
//! the transaction that was being applied (REF-02, REF-05, T-15).

use super::disk::{self, Kind};
use super::finding::Findings;
use super::objects::Objects;
use crate::Result;
use crate::refs::{MAX_NAME_SEGMENTS, check_name, rule};
use crate::vfs::Vfs;
use gemel_object::Gid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folder of the refs.
pub(super) const REFS: &str = "refs";
/// The journal: the edits of the transaction being applied, empty between transactions.
const JOURNAL: &str = "journal/journal.log";
/// A ref file holds about 90 bytes; white space around the identity is accepted as 0.12 accepts it.
const MAX_REF_BYTES: u64 = 4096;
/// A transaction of 0.12 names few refs, a pull all of them.
const MAX_JOURNAL_BYTES: u64 = 64 << 20;

/// Refs by name.
pub(super) type RefMap = BTreeMap<String, Gid>;

/// Reads all refs, applies an interrupted transaction, and checks names, families and targets.
///
/// # Errors
/// `Io` when the disk fails.
pub(super) fn read(vfs: &dyn Vfs, dir: &Path, objects: &Objects, findings: &mut Findings) -> Result<RefMap> {
    let mut refs = RefMap::new();
    match disk::kind(vfs, &dir.join(REFS))? {
        Some(Kind::Dir) => walk(vfs, dir, &mut refs, findings)?,
        None => findings.error("corrupt-store", REFS, "the folder of the refs is absent"),
        Some(_) => findings.error("not-plain", REFS, "not a folder; not followed"),
    }
    recover(vfs, dir, &mut refs, findings)?;
    refs.retain(|name, id| is_sound(name, id, objects, findings));
    Ok(refs)
}

/// Reads every file below `refs/`, iteratively.
fn walk(vfs: &dyn Vfs, dir: &Path, refs: &mut RefMap, findings: &mut Findings) -> Result<()> {
    let mut folders = vec![(PathBuf::from(REFS), 1)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in disk::list(vfs, &dir.join(&folder))? {
            let path = folder.join(&entry.name);
            match entry.kind {
                Kind::Dir if depth < MAX_NAME_SEGMENTS => folders.push((path, depth + 1)),
                Kind::Dir => findings.error("corrupt-ref", path, "nested deeper than a ref name may be"),
                Kind::File if is_temporary(&entry.name.to_string_lossy()) => {
                    findings.note("stale-temp-file", path, "left by an interrupted write; not carried over");
                }
                Kind::File => read_one(vfs, dir, &path, refs, findings)?,
                Kind::Link | Kind::Other => {
                    findings.error(
                        "not-plain",
                        path,
                        "a link or special file in the place of a ref; not followed",
                    );
                }
            }
        }
    }
    Ok(())
}

fn read_one(
    vfs: &dyn Vfs,
    dir: &Path,
    path: &Path,
    refs: &mut RefMap,
    findings: &mut Findings,
) -> Result<()> {
    let Some(name) = name_of(path) else {
        findings.error("corrupt-ref", path, "its name is not UTF-8");
        return Ok(());
    };
    match disk::read_text(vfs, &dir.join(path), MAX_REF_BYTES)?.and_then(|text| identity(&text)) {
        Ok(id) => drop(refs.insert(name, id)),
        Err(detail) => findings.error("corrupt-ref", path, detail),
    }
    Ok(())
}

/// The ref name of a path below `.gemel`, whatever the platform's separator.
fn name_of(path: &Path) -> Option<String> {
    let segments: Option<Vec<&str>> = path.iter().map(|segment| segment.to_str()).collect();
    Some(segments?.join("/"))
}

/// `.tmp-<process>-<serial>`, as 0.12 names files it is about to rename.
fn is_temporary(name: &str) -> bool {
    let numbers = name.strip_prefix(".tmp-").and_then(|rest| rest.split_once('-'));
    numbers
        .is_some_and(|(a, b)| [a, b].iter().all(|n| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit())))
}

/// The identity on the one line of a ref file.
pub(super) fn identity(text: &str) -> Result<Gid, String> {
    Gid::parse(text.trim_ascii()).map_err(|e| e.to_string())
}

/// Whether a ref can be stored: its name, its family, its target.
fn is_sound(name: &str, id: &Gid, objects: &Objects, findings: &mut Findings) -> bool {
    if check_name(name).is_err() {
        findings.error("invalid-ref-name", name, "not a valid ref name");
    } else if !rule(name).allows_id(name, id) {
        findings.error("ref-family", name, format!("points to {id}, it may hold {}", rule(name).expected()));
    } else if objects.find(id).is_none() {
        let state = if objects.has_tomb(id) { "pruned" } else { "not stored or damaged" };
        findings.error("dangling-ref", name, format!("points to {id}, which is {state}"));
    } else {
        return true;
    }
    false
}

/// One line of the journal.
struct Edit {
    name: String,
    previous: Option<Gid>,
    new: Gid,
}

/// Completes or takes back the transaction that a stopped 0.12 left in its journal. 0.12 writes all edits and the
/// mark `commit` before it touches the first ref, and empties the journal after the last.
fn recover(vfs: &dyn Vfs, dir: &Path, refs: &mut RefMap, findings: &mut Findings) -> Result<()> {
    let path = dir.join(JOURNAL);
    if disk::kind(vfs, &dir.join("journal"))? != Some(Kind::Dir) || disk::kind(vfs, &path)?.is_none() {
        return Ok(());
    }
    let text = match disk::read_text(vfs, &path, MAX_JOURNAL_BYTES)? {
        Ok(text) => text,
        Err(detail) => {
            findings.error("interrupted-transaction", JOURNAL, detail);
            return Ok(());
        }
    };
    let mut open: Vec<Edit> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match parse_line(line) {
            Some(Line::Edit(edit)) => open.push(edit),
            Some(Line::Commit) => settle(std::mem::take(&mut open), true, refs, findings),
            None => {
                findings.error(
                    "interrupted-transaction",
                    JOURNAL,
                    format!("line {} does not read", number + 1),
                );
                return Ok(());
            }
        }
    }
    settle(open, false, refs, findings);
    Ok(())
}

/// Moves the refs of one transaction all forward or all back. A ref that is neither at its old nor at its new value
/// was set by somebody else since, so the transaction is history and nothing is touched.
fn settle(edits: Vec<Edit>, committed: bool, refs: &mut RefMap, findings: &mut Findings) {
    let current = |edit: &Edit| refs.get(&edit.name).copied();
    let applicable = edits.iter().all(|e| current(e) == e.previous || current(e) == Some(e.new));
    let target = |edit: &Edit| if committed { Some(edit.new) } else { edit.previous };
    if !applicable || edits.iter().all(|e| current(e) == target(e)) {
        return;
    }
    let done = if committed { "completed" } else { "taken back" };
    findings.note("interrupted-transaction", JOURNAL, format!("{done}: {} ref(s)", edits.len()));
    for edit in edits {
        match target(&edit) {
            Some(id) => drop(refs.insert(edit.name, id)),
            None => drop(refs.remove(&edit.name)),
        }
    }
}

enum Line {
    Edit(Edit),
    Commit,
}

fn parse_line(line: &str) -> Option<Line> {
    let value: Value = serde_json::from_str(line).ok()?;
    match value.get("op")?.as_str()? {
        "commit" => Some(Line::Commit),
        "set" => {
            let id = |key: &str| Gid::parse(value.get(key)?.as_str()?).ok();
            let previous = if value.get("prev")?.is_null() { None } else { Some(id("prev")?) };
            let name = value.get("ref")?.as_str()?.to_owned();
            Some(Line::Edit(Edit { name, previous, new: id("new")? }))
        }
        _ => None,
    }
}
