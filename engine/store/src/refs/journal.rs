//! Journal records: one per transaction, appended and never changed (REF-02, REF-03).
//!
//! ```text
//! offset size  field                                  integers little endian
//!  0     4     magic "GMRJ"
//!  4     1     version, 1
//!  5     1     kind: 1 edits in full, 2 summary (the edits went straight to a table)
//!  6     2     zero
//!  8     4     length of the body
//! 12     4     first bytes of the BLAKE3 of bytes 0..12
//! 16           body: sequence u64, time_ms i64, check of the previous record (16 bytes),
//!              command (LEB128 length, UTF-8), number of edits (LEB128), and for kind 1 per edit:
//!              name (LEB128 length, UTF-8), old value (see `Old`), new value (see `Stored`)
//! end    16    check: first bytes of the BLAKE3 of header and body
//! ```
//!
//! Sequence numbers rise by one and every record names the check of its predecessor, so a record cannot be left
//! out, repeated or taken from another repository. This file knows bytes only, not which file they came from.

use super::codec::{CHECK_LEN, Input, Stored, check_of, put_len};
use super::name::MAX_NAME_BYTES;
use gemel_object::GID_LEN;

const MAGIC: [u8; 4] = *b"GMRJ";
/// Version this build writes and reads.
pub(crate) const VERSION: u8 = 1;
const HEADER_LEN: usize = 16;
/// Longest body; a folding transaction writes a table long before it.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// Longest command text kept.
const MAX_COMMAND: usize = 1024;
/// Most edits a count may claim; bounds nothing but the number itself.
const MAX_EDITS: usize = u32::MAX as usize;
/// Bytes hashed at most in the search for intact records behind damage.
const SEARCH_BUDGET: usize = 64 * 1024 * 1024;

const EDITS: u8 = 1;
const SUMMARY: u8 = 2;

/// The value a transaction replaced, as far as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Old {
    /// The name did not exist.
    Absent,
    /// An identity.
    Id([u8; GID_LEN]),
    /// A record: its length in bytes and its check.
    Record(u32, [u8; CHECK_LEN]),
    /// It could not be read.
    Unreadable,
}

impl Old {
    /// What is kept of a replaced value.
    pub(crate) fn of(stored: &Stored) -> Old {
        match stored {
            Stored::Removed => Old::Absent,
            Stored::Id(id) => Old::Id(*id),
            Stored::Record(bytes) => {
                u32::try_from(bytes.len()).map_or(Old::Unreadable, |len| Old::Record(len, check_of(bytes)))
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Old::Absent => out.push(0),
            Old::Id(id) => {
                out.push(1);
                out.extend_from_slice(id);
            }
            Old::Record(len, check) => {
                out.push(2);
                out.extend_from_slice(&len.to_le_bytes());
                out.extend_from_slice(check);
            }
            Old::Unreadable => out.push(3),
        }
    }

    fn read(input: &mut Input<'_>) -> Option<Old> {
        Some(match input.u8()? {
            0 => Old::Absent,
            1 => Old::Id(input.array()?),
            2 => Old::Record(input.u32()?, input.array()?),
            3 => Old::Unreadable,
            _ => return None,
        })
    }
}

/// One edit of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) name: String,
    pub(crate) old: Old,
    pub(crate) new: Stored,
}

/// A whole record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) sequence: u64,
    pub(crate) time_ms: i64,
    /// Check of the record before it.
    pub(crate) previous: [u8; CHECK_LEN],
    pub(crate) command: String,
    /// Number of edits of the transaction; `edits` holds all of them or, in a summary, none.
    pub(crate) edit_count: usize,
    pub(crate) edits: Vec<Edit>,
    /// Own check; ignored by [`Record::encode`].
    pub(crate) check: [u8; CHECK_LEN],
}

impl Record {
    /// Place in the chain.
    pub(crate) fn position(&self) -> Position {
        Position { sequence: self.sequence, check: self.check }
    }

    /// Reads a record that fills `bytes`.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Record> {
        match parse(bytes) {
            Parsed::Intact(record, len) if len == bytes.len() => Some(record),
            _ => None,
        }
    }

    /// The bytes of the record and its check.
    pub(crate) fn encode(&self) -> Option<(Vec<u8>, [u8; CHECK_LEN])> {
        let mut out = vec![0; HEADER_LEN];
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.time_ms.to_le_bytes());
        out.extend_from_slice(&self.previous);
        let command = bounded(&self.command, MAX_COMMAND);
        put_len(&mut out, command.len());
        out.extend_from_slice(command.as_bytes());
        put_len(&mut out, self.edit_count);
        for edit in &self.edits {
            put_len(&mut out, edit.name.len());
            out.extend_from_slice(edit.name.as_bytes());
            edit.old.write(&mut out);
            edit.new.write(&mut out);
        }
        let body_len = out.len() - HEADER_LEN;
        if body_len > MAX_BODY {
            return None;
        }
        out[0..4].copy_from_slice(&MAGIC);
        out[4] = VERSION;
        out[5] = if self.edits.is_empty() && self.edit_count > 0 { SUMMARY } else { EDITS };
        out[8..12].copy_from_slice(&u32::try_from(body_len).ok()?.to_le_bytes());
        let header_check = check_of(&out[..12]);
        out[12..16].copy_from_slice(&header_check[..4]);
        let check = check_of(&out);
        out.extend_from_slice(&check);
        Some((out, check))
    }
}

/// `text` cut to at most `max` bytes at a character.
fn bounded(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// What stands at a place where a record should start.
enum Parsed {
    /// An intact record and its length.
    Intact(Record, usize),
    /// An intact header of a version this build does not read.
    Version(u8),
    /// Anything else: damaged or incomplete.
    Broken,
}

/// Length of the whole record whose header starts `bytes`, if the header is intact.
fn header(bytes: &[u8]) -> Option<(u8, u8, usize)> {
    let mut input = Input::new(bytes);
    if input.array::<4>()? != MAGIC {
        return None;
    }
    let (version, kind, reserved, body_len) = (input.u8()?, input.u8()?, input.array::<2>()?, input.u32()?);
    if input.array::<4>()? != check_of(&bytes[..12])[..4] {
        return None;
    }
    let body_len = usize::try_from(body_len).ok().filter(|len| *len <= MAX_BODY)?;
    (reserved == [0; 2] || version != VERSION).then_some((version, kind, HEADER_LEN + body_len + CHECK_LEN))
}

fn parse(bytes: &[u8]) -> Parsed {
    match header(bytes) {
        Some((version, _, _)) if version != VERSION => Parsed::Version(version),
        Some((_, kind, len)) => match bytes.get(..len).and_then(|whole| parse_whole(whole, kind)) {
            Some(record) => Parsed::Intact(record, len),
            None => Parsed::Broken,
        },
        None => Parsed::Broken,
    }
}

fn parse_whole(whole: &[u8], kind: u8) -> Option<Record> {
    let (content, check) = whole.split_last_chunk::<CHECK_LEN>()?;
    if check_of(content) != *check {
        return None;
    }
    let mut input = Input::new(content.get(HEADER_LEN..)?);
    let (sequence, time_ms, previous) = (input.u64()?, input.i64()?, input.array()?);
    let command = input.text(MAX_COMMAND)?.to_owned();
    let edit_count = input.len(MAX_EDITS)?;
    let mut edits = Vec::new();
    match kind {
        EDITS => {
            for _ in 0..edit_count {
                let name = input.text(MAX_NAME_BYTES)?.to_owned();
                edits.push(Edit { name, old: Old::read(&mut input)?, new: Stored::read(&mut input)? });
            }
        }
        SUMMARY => {}
        _ => return None,
    }
    input.is_empty().then_some(Record {
        sequence,
        time_ms,
        previous,
        command,
        edit_count,
        edits,
        check: *check,
    })
}

/// Where a chain of records has got to: the last sequence number and the check of the record that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) sequence: u64,
    pub(crate) check: [u8; CHECK_LEN],
}

/// How a run of records ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With the last byte.
    Clean,
    /// With an append that was cut short by a crash; it never happened.
    Torn,
    /// At damage: whole records of later transactions follow, or the record does not continue the chain.
    Damaged(String),
    /// At a record of a later format version.
    Version(u8),
}

/// Records read from a stretch of journal.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) records: Vec<Record>,
    /// Where the last intact record ends.
    pub(crate) valid_len: usize,
    /// Of the last intact record; the start if there is none.
    pub(crate) position: Option<Position>,
    pub(crate) end: End,
    /// Where, behind damage, the next intact record stands, from `valid_len` on.
    pub(crate) resume: Option<usize>,
}

/// Reads the records of `bytes`, which continue the chain at `start`, or any chain without one. Stops at the first
/// thing that is no record.
pub(crate) fn read_run(bytes: &[u8], start: Option<Position>) -> Run {
    let mut run = Run { records: Vec::new(), valid_len: 0, position: start, end: End::Clean, resume: None };
    while run.valid_len < bytes.len() {
        match parse(&bytes[run.valid_len..]) {
            // An old number is what an earlier file left in a block of the disk that a torn append was given.
            Parsed::Intact(record, len)
                if run.position.is_none_or(|last| record.sequence > last.sequence) =>
            {
                if let Some(detail) = run.position.and_then(|last| breaks_chain(&record, last)) {
                    run.end = End::Damaged(detail);
                    run.resume = Some(0);
                    return run;
                }
                run.position = Some(record.position());
                run.valid_len += len;
                run.records.push(record);
            }
            Parsed::Version(version) => {
                run.end = End::Version(version);
                return run;
            }
            Parsed::Intact(..) | Parsed::Broken => {
                let last = run.position.map_or(0, |last| last.sequence);
                (run.end, run.resume) = match later_record(&bytes[run.valid_len..], last) {
                    Later::Found(step) => (
                        End::Damaged(format!("damaged record; an intact one stands {step} bytes on")),
                        Some(step),
                    ),
                    Later::TooLong => (End::Damaged("damaged beyond what can be searched".to_owned()), None),
                    Later::Absent => (End::Torn, None),
                };
                return run;
            }
        }
    }
    run
}

/// Why an intact record does not continue the chain, if it does not.
fn breaks_chain(record: &Record, last: Position) -> Option<String> {
    if record.sequence.checked_sub(last.sequence) != Some(1) {
        return Some(format!("transaction {} follows transaction {}", record.sequence, last.sequence));
    }
    (record.previous != last.check)
        .then(|| format!("transaction {} does not continue the one before it", record.sequence))
}

/// What stands behind damage.
enum Later {
    /// An intact record, so many bytes behind the damage.
    Found(usize),
    /// Nothing that is intact.
    Absent,
    /// The bytes claim more records than are worth hashing.
    TooLong,
}

/// Searches behind the first byte of `bytes` for an intact record of a transaction later than `sequence`: damage
/// before such a record is no torn append. Hashing is bounded, whatever the bytes claim.
fn later_record(bytes: &[u8], sequence: u64) -> Later {
    let mut budget = SEARCH_BUDGET;
    let mut at = 1;
    while let Some(rest) = bytes.get(at..) {
        let Some(step) = rest.windows(MAGIC.len()).position(|w| w == MAGIC) else { break };
        at += step;
        let candidate = &bytes[at..];
        match header(candidate) {
            Some((version, _, _)) if version != VERSION => return Later::Found(at),
            Some((_, kind, len)) => {
                let Some(left) = budget.checked_sub(len.min(candidate.len())) else { return Later::TooLong };
                budget = left;
                let record = candidate.get(..len).and_then(|whole| parse_whole(whole, kind));
                if record.is_some_and(|r| r.sequence > sequence) {
                    return Later::Found(at);
                }
            }
            None => {}
        }
        at += 1;
    }
    Later::Absent
}
