//! One transaction as the journal keeps it (REF-02, REF-03; docs/STORAGE.md, "Journal").
//!
//! Sequence numbers rise by one, and every record names the check of the one before it: the first 16 bytes of the
//! BLAKE3 of its bytes. So a record cannot be left out, repeated or taken from another repository.

use super::codec::{CHECK_LEN, Input, Stored, check_of, put_len};
use super::name::MAX_NAME_BYTES;
use gemel_object::GID_LEN;

/// Longest command text kept.
const MAX_COMMAND: usize = 1024;
/// Most edits a count may claim; bounds nothing but the number itself.
const MAX_EDITS: usize = u32::MAX as usize;

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

/// One transaction.
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
}

/// Where a chain of records has got to: the last sequence number and the check of the record that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) sequence: u64,
    pub(crate) check: [u8; CHECK_LEN],
}

impl Record {
    /// The bytes of the record and its place in the chain.
    pub(crate) fn encode(&self) -> (Vec<u8>, Position) {
        let mut out = vec![if self.edits.is_empty() && self.edit_count > 0 { SUMMARY } else { EDITS }];
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
        let position = Position { sequence: self.sequence, check: check_of(&out) };
        (out, position)
    }

    /// Reads a record that fills `bytes`, and its place in the chain.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Record, Position)> {
        let mut input = Input::new(bytes);
        let kind = input.u8()?;
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
        let record = Record { sequence, time_ms, previous, command, edit_count, edits };
        input.is_empty().then(|| (record, Position { sequence, check: check_of(bytes) }))
    }

    /// Why this record does not continue the chain at `last`, if it does not.
    pub(crate) fn breaks_chain(&self, last: Position) -> Option<String> {
        if self.sequence.checked_sub(last.sequence) != Some(1) {
            return Some(format!("transaction {} follows transaction {}", self.sequence, last.sequence));
        }
        (self.previous != last.check)
            .then(|| format!("transaction {} does not continue the one before it", self.sequence))
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
