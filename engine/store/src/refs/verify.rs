//! Looking at every byte of the ref database and telling everything that is wrong with it. Writes nothing.

use super::audit::MAX_JOURNAL_BYTES;
use super::codec::Stored;
use super::files::{Files, file_number, is_cut};
use super::journal::{End, read_run};
use super::publish::listed;
use super::record::{Edit, Position, Record};
use super::stack::Stack;
use super::table::{Cursor, Item, Table};
use super::view::checked_name;
use crate::vfs::Vfs;
use crate::{Result, StoreError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefFindingKind {
    /// Bytes that do not match their check, are malformed, or are missing.
    Damaged,
    /// A format version this build does not read.
    UnknownVersion,
    /// A stored name that is invalid, or whose value its namespace does not hold (REF-01, REF-05).
    CorruptRef,
    /// The journal ends in an append that was cut short: a transaction that never happened.
    InterruptedTransaction,
    /// The end of a journal that was cut off and kept aside: an append that was cut short, or a transaction that was
    /// damaged after it had been acknowledged.
    CutTransaction,
    /// A full journal that was kept for audit is gone.
    MissingAudit,
    /// A file that nothing lists; the next folding transaction removes it.
    Leftover,
}

impl RefFindingKind {
    /// Whether refs are lost or wrong; the others are traces of a crash that cost nothing.
    pub fn is_error(self) -> bool {
        matches!(self, RefFindingKind::Damaged | RefFindingKind::UnknownVersion | RefFindingKind::CorruptRef)
    }
}

/// Something found by [`verify`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefFinding {
    /// What kind of thing.
    pub kind: RefFindingKind,
    /// The file.
    pub path: PathBuf,
    /// Where in it, as far as known.
    pub offset_bytes: u64,
    /// The name concerned, or the first of those concerned.
    pub name: Option<String>,
    /// What is wrong.
    pub detail: String,
}

/// What [`verify`] looked at and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefReport {
    /// Tables listed.
    pub tables: u64,
    /// Entries of tables, removals and values replaced later included.
    pub entries: u64,
    /// Journal records, those of full journals included.
    pub transactions: u64,
    /// Everything that is not as it should be.
    pub findings: Vec<RefFinding>,
}

impl RefReport {
    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.kind.is_error())
    }
}

/// Checks every block, record, name and value of the ref database in the store directory `dir`, going on behind
/// damage. Whether identities are stored is not looked at.
///
/// # Errors
/// `Io` when the disk fails; damage is a finding.
pub fn verify(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<RefReport> {
    let files = Files::new(Arc::clone(vfs), dir);
    let mut attempts = 0;
    loop {
        attempts += 1;
        let mut check = Check { files: files.clone(), report: RefReport::default() };
        let stack = match check.files.read_stack() {
            Ok((stack, _)) => stack,
            Err(error) => {
                check.error(error)?;
                return Ok(check.report);
            }
        };
        check.everything(&stack)?;
        // What a writer replaced meanwhile is not missing: looked at again, unless writers never rest.
        let moved = files.read_stack().is_ok_and(|(now, _)| now != stack);
        if !moved || check.report.findings.is_empty() || attempts == MAX_ATTEMPTS {
            return Ok(check.report);
        }
    }
}

/// How often the ref database is looked at again because a writer replaced what was being looked at.
const MAX_ATTEMPTS: usize = 20;

struct Check {
    files: Files,
    report: RefReport,
}

impl Check {
    fn everything(&mut self, stack: &Stack) -> Result<()> {
        self.tables(stack)?;
        let mut last = None;
        for number in &stack.old_journals {
            last = self.old_journal(*number, last)?;
        }
        self.journal(stack, last)?;
        self.waiting(stack);
        self.leftovers(stack)
    }

    fn find(
        &mut self,
        kind: RefFindingKind,
        path: &Path,
        offset_bytes: u64,
        name: Option<&str>,
        detail: String,
    ) {
        let name = name.map(str::to_owned);
        self.report.findings.push(RefFinding { kind, path: path.to_owned(), offset_bytes, name, detail });
    }

    /// Turns an error about contents into a finding; a failing disk stays an error.
    fn error(&mut self, error: StoreError) -> Result<()> {
        self.error_at(error, None)
    }

    fn error_at(&mut self, error: StoreError, name: Option<&str>) -> Result<()> {
        match error {
            StoreError::CorruptFile { path, offset_bytes, detail } => {
                self.find(RefFindingKind::Damaged, &path, offset_bytes, name, detail);
            }
            StoreError::UnknownVersion { path, found, supported } => {
                let detail = format!("format version {found}; this build reads {supported}");
                self.find(RefFindingKind::UnknownVersion, &path, 0, name, detail);
            }
            other => return Err(other),
        }
        Ok(())
    }

    fn tables(&mut self, stack: &Stack) -> Result<()> {
        for listed in &stack.tables {
            self.report.tables += 1;
            let path = self.files.table(listed.number);
            match self.files.vfs.map(&path) {
                Ok(bytes) => match Table::open(bytes, &path, listed) {
                    Ok(table) => self.table(&table)?,
                    Err(error) => self.error(error)?,
                },
                Err(e) if is_absent(&e) => {
                    self.find(RefFindingKind::Damaged, &path, 0, None, "listed table is missing".to_owned());
                }
                Err(source) => return Err(StoreError::Io { op: "read", path, source }),
            }
        }
        Ok(())
    }

    fn table(&mut self, table: &Table) -> Result<()> {
        let (mut entries, mut damaged) = (0, false);
        for item in Cursor::new(table, "") {
            match item {
                Item::Entry(name, stored) => {
                    entries += 1;
                    self.value(table.path(), 0, &name, stored);
                }
                Item::Damaged { from, error, .. } => {
                    damaged = true;
                    self.error_at(error, Some(&from))?;
                }
            }
        }
        self.report.entries += entries;
        if !damaged && entries != table.names() {
            let detail = format!("holds {entries} names, its footer says {}", table.names());
            self.find(RefFindingKind::Damaged, table.path(), 0, None, detail);
        }
        match table.counters() {
            Ok(_) => Ok(()),
            Err(error) => self.error(error),
        }
    }

    fn value(&mut self, path: &Path, offset_bytes: u64, name: &str, stored: Stored) {
        if let Err(error) = checked_name(name, stored) {
            self.find(RefFindingKind::CorruptRef, path, offset_bytes, Some(name), error.to_string());
        }
    }

    /// A full journal, which continues the chain at `last`. Returns where it ends.
    fn old_journal(&mut self, number: u64, last: Option<Position>) -> Result<Option<Position>> {
        let path = self.files.journal(number);
        match self.files.vfs.read_from(&path, 0, MAX_JOURNAL_BYTES) {
            // It may end in a torn append that was left behind; a lost transaction breaks the chain to the next one.
            Ok(bytes) => {
                let (end, torn) = self.records(&path, &bytes, 0, last);
                if bytes.is_empty() || torn == Some(0) {
                    self.find(
                        RefFindingKind::Damaged,
                        &path,
                        0,
                        None,
                        "full journal holds nothing".to_owned(),
                    );
                }
                Ok(end)
            }
            Err(e) if is_absent(&e) => {
                let detail = "full journal is missing".to_owned();
                self.find(RefFindingKind::MissingAudit, &path, 0, None, detail);
                Ok(None)
            }
            Err(source) => Err(StoreError::Io { op: "read", path, source }),
        }
    }

    /// The current journal: the part that is in tables, then the part that is not.
    fn journal(&mut self, stack: &Stack, last: Option<Position>) -> Result<()> {
        let path = self.files.journal(stack.journal);
        let bytes = match self.files.vfs.read_from(&path, 0, MAX_JOURNAL_BYTES) {
            Ok(bytes) => bytes,
            Err(e) if is_absent(&e) => {
                self.find(RefFindingKind::Damaged, &path, 0, None, "the journal is missing".to_owned());
                return Ok(());
            }
            Err(source) => return Err(StoreError::Io { op: "read", path, source }),
        };
        let split = usize::try_from(stack.journal_offset).ok().and_then(|at| bytes.split_at_checked(at));
        let Some((folded, tail)) = split else {
            let detail = format!("has {} bytes, its folded part {}", bytes.len(), stack.journal_offset);
            self.find(RefFindingKind::Damaged, &path, bytes.len() as u64, None, detail);
            return Ok(());
        };
        let (last, torn) = self.records(&path, folded, 0, last);
        if let Some(at) = torn {
            let detail = "the folded part of the journal is damaged".to_owned();
            self.find(RefFindingKind::Damaged, &path, at, None, detail);
        } else if last.is_some_and(|last| last != stack.journaled) {
            let detail = "the journal is not the one its list was written for".to_owned();
            self.find(RefFindingKind::Damaged, &path, stack.journal_offset, None, detail);
        }
        if let (_, Some(at)) = self.records(&path, tail, stack.journal_offset, Some(stack.journaled)) {
            let detail = format!("{} bytes of an append that was cut short", bytes.len() as u64 - at);
            self.find(RefFindingKind::InterruptedTransaction, &path, at, None, detail);
        }
        Ok(())
    }

    /// Checks a stretch of journal that starts at `offset`. Returns the last record's place in the chain and, if the
    /// stretch ends in a torn append, where that is.
    fn records(
        &mut self,
        path: &Path,
        bytes: &[u8],
        offset: u64,
        start: Option<Position>,
    ) -> (Option<Position>, Option<u64>) {
        let (mut at, mut last) = (0, start);
        loop {
            let run = read_run(&bytes[at..], last);
            for (record, _) in run.records {
                self.report.transactions += 1;
                for Edit { name, new, .. } in record.edits {
                    self.value(path, offset + at as u64, &name, new);
                }
            }
            last = run.position;
            let behind = at + run.valid_len;
            let place = offset + behind as u64;
            match run.end {
                End::Clean => return (last, None),
                End::Torn => return (last, Some(place)),
                End::Damaged(detail) => self.find(RefFindingKind::Damaged, path, place, None, detail),
                End::Version(found) => {
                    let detail = format!("journal record of version {found}");
                    self.find(RefFindingKind::UnknownVersion, path, place, None, detail);
                }
            }
            match run.resume {
                // Behind damage any chain is taken.
                Some(step) => (at, last) = (behind + step, None),
                None => return (last, None),
            }
        }
    }

    /// The records beside the tables continue the journal up to the last folded transaction, or beyond: those count as
    /// the journal does.
    fn waiting(&mut self, stack: &Stack) {
        let path = self.files.stack();
        let mut last = Some(stack.journaled);
        let mut is_folded = stack.journaled == stack.folded;
        for bytes in &stack.waiting {
            last = match (last, Record::decode(bytes)) {
                (Some(last), Some((record, position))) if record.breaks_chain(last).is_none() => {
                    is_folded |= position == stack.folded;
                    if record.sequence > stack.folded.sequence {
                        record.edits.into_iter().for_each(|edit| self.value(&path, 0, &edit.name, edit.new));
                    }
                    Some(position)
                }
                _ => None,
            };
        }
        if last.is_none() || !is_folded {
            let detail = "waiting journal records do not lead to the last folded transaction".to_owned();
            self.find(RefFindingKind::Damaged, &path, 0, None, detail);
        }
    }

    fn leftovers(&mut self, stack: &Stack) -> Result<()> {
        let dir = self.files.dir.clone();
        let listed = listed(&self.files, stack);
        for entry in self.files.vfs.list(&dir).map_err(StoreError::io("list", &dir))? {
            let path = dir.join(&entry.name);
            let is_ours = file_number(&entry.name).is_some() || entry.name.starts_with("tmp-");
            if is_cut(&entry.name) {
                let detail = format!(
                    "{} bytes cut off the journal: an append that was cut short, or a damaged transaction; remove \
                     the file when it is not needed",
                    entry.size_bytes
                );
                self.find(RefFindingKind::CutTransaction, &path, 0, None, detail);
            }
            if is_ours && !listed.contains(&path) {
                self.find(RefFindingKind::Leftover, &path, 0, None, "no list names this file".to_owned());
            }
        }
        Ok(())
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData | ErrorKind::IsADirectory)
}
