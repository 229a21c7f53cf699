//! The journal file: frames, each the records of one append (REF-02, STO-04; docs/STORAGE.md, "Journal").
//!
//! A frame is there as a whole or not at all. The last one may be cut short by a crash, in any of its parts; damage
//! before an intact frame is damage. This file knows bytes only, not which file they came from.

use super::codec::{CHECK_LEN, Input, check_of, put_len};
use super::record::{Position, Record};

const MAGIC: [u8; 4] = *b"GMRJ";
/// Version this build writes and reads.
pub(crate) const VERSION: u8 = 1;
const HEADER_LEN: usize = 16;
/// Longest body; a transaction goes to a table long before it.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// Bytes hashed at most in the search for intact frames behind damage.
const SEARCH_BUDGET: usize = 64 * 1024 * 1024;

/// The frame of these encoded records; `None` when they are too long for one.
pub(crate) fn frame<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let mut out = vec![0; HEADER_LEN];
    for record in records {
        put_len(&mut out, record.len());
        out.extend_from_slice(record);
    }
    let body_len = out.len() - HEADER_LEN;
    if body_len > MAX_BODY {
        return None;
    }
    out[0..4].copy_from_slice(&MAGIC);
    out[4] = VERSION;
    out[8..12].copy_from_slice(&u32::try_from(body_len).ok()?.to_le_bytes());
    let header_check = check_of(&out[..12]);
    out[12..16].copy_from_slice(&header_check[..4]);
    let check = check_of(&out);
    out.extend_from_slice(&check);
    Some(out)
}

/// Whether `bytes` start with an intact header and hold all that it announces.
pub(crate) fn has_whole_length(bytes: &[u8]) -> bool {
    header(bytes).is_some_and(|(version, len)| version == VERSION && len <= bytes.len())
}

/// What stands at a place where a frame should start.
enum Parsed {
    /// An intact frame: its records, the place of the last in the chain, the length of the frame.
    Intact(Vec<(Record, Position)>, Position, usize),
    /// An intact header of a version this build does not read.
    Version(u8),
    /// Anything else: damaged or incomplete. The length that an intact header gives it, else 1.
    Broken(usize),
}

/// Version and length of the whole frame whose header starts `bytes`, if the header is intact.
fn header(bytes: &[u8]) -> Option<(u8, usize)> {
    let mut input = Input::new(bytes);
    if input.array::<4>()? != MAGIC {
        return None;
    }
    let (version, reserved, body_len) = (input.u8()?, input.array::<3>()?, input.u32()?);
    if input.array::<4>()? != check_of(&bytes[..12])[..4] {
        return None;
    }
    let body_len = usize::try_from(body_len).ok().filter(|len| *len <= MAX_BODY)?;
    (reserved == [0; 3] || version != VERSION).then_some((version, HEADER_LEN + body_len + CHECK_LEN))
}

fn parse(bytes: &[u8]) -> Parsed {
    match header(bytes) {
        Some((version, _)) if version != VERSION => Parsed::Version(version),
        Some((_, len)) => match bytes.get(..len).and_then(records_of) {
            Some((records, last)) => Parsed::Intact(records, last, len),
            None => Parsed::Broken(len),
        },
        None => Parsed::Broken(1),
    }
}

/// The records of a whole frame, if it is intact, and the place of the last one in the chain.
fn records_of(whole: &[u8]) -> Option<(Vec<(Record, Position)>, Position)> {
    let (content, check) = whole.split_last_chunk::<CHECK_LEN>()?;
    if check_of(content) != *check {
        return None;
    }
    let mut input = Input::new(content.get(HEADER_LEN..)?);
    let mut records = Vec::new();
    while !input.is_empty() {
        let len = input.len(MAX_BODY)?;
        records.push(Record::decode(input.take(len)?)?);
    }
    let last = records.last().map(|(_, position)| *position)?;
    Some((records, last))
}

/// How a run of frames ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With the last byte.
    Clean,
    /// With an append that was cut short by a crash; it never happened.
    Torn,
    /// At damage: whole frames of later transactions follow, or a record does not continue the chain.
    Damaged(String),
    /// At a frame of a later format version.
    Version(u8),
}

/// Records read from a stretch of journal.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) records: Vec<(Record, Position)>,
    /// Where the last intact frame ends.
    pub(crate) valid_len: usize,
    /// Of the last record; the start if there is none.
    pub(crate) position: Option<Position>,
    pub(crate) end: End,
    /// Where, behind damage, the next intact frame stands, from `valid_len` on.
    pub(crate) resume: Option<usize>,
}

/// Reads the records of `bytes`, which continue the chain at `start`, or any chain without one. Stops at the first
/// thing that is no frame.
pub(crate) fn read_run(bytes: &[u8], start: Option<Position>) -> Run {
    let mut run = Run { records: Vec::new(), valid_len: 0, position: start, end: End::Clean, resume: None };
    while run.valid_len < bytes.len() {
        let rest = &bytes[run.valid_len..];
        match parse(rest) {
            // An old number is what an earlier file left in a block of the disk that a torn append was given.
            Parsed::Intact(_, last, len)
                if run.position.is_some_and(|known| last.sequence <= known.sequence) =>
            {
                run.end_at_damage(rest, len);
                return run;
            }
            Parsed::Intact(records, last, len) => {
                if let Some(detail) = broken_link(&records, run.position) {
                    // Without the chain it is readable, which a search behind the damage makes use of; one that
                    // contradicts itself never is.
                    let step = if broken_link(&records, None).is_some() { len } else { 0 };
                    (run.end, run.resume) = (End::Damaged(detail), Some(step));
                    return run;
                }
                run.position = Some(last);
                run.valid_len += len;
                run.records.extend(records);
            }
            Parsed::Version(version) => {
                run.end = End::Version(version);
                return run;
            }
            Parsed::Broken(len) => {
                run.end_at_damage(rest, len);
                return run;
            }
        }
    }
    run
}

impl Run {
    /// Ends at `rest`, whose first `len` bytes are no frame to be used.
    fn end_at_damage(&mut self, rest: &[u8], len: usize) {
        let last = self.position.map_or(0, |last| last.sequence);
        (self.end, self.resume) = match later_frame(rest, len, last) {
            Later::Found(step) => {
                (End::Damaged(format!("damaged frame; an intact one stands {step} bytes on")), Some(step))
            }
            Later::TooLong => (End::Damaged("damaged beyond what can be searched".to_owned()), None),
            Later::Absent => (End::Torn, None),
        };
    }
}

/// Why `records` do not continue the chain at `last`, if they do not.
fn broken_link(records: &[(Record, Position)], last: Option<Position>) -> Option<String> {
    let mut last = last;
    for (record, position) in records {
        if let Some(detail) = last.and_then(|last| record.breaks_chain(last)) {
            return Some(detail);
        }
        last = Some(*position);
    }
    None
}

/// What stands behind damage.
enum Later {
    /// An intact frame, so many bytes behind the damage.
    Found(usize),
    /// Nothing that is intact.
    Absent,
    /// The bytes claim more frames than are worth hashing.
    TooLong,
}

/// Searches `bytes` from `from` on for an intact frame of a transaction later than `sequence`: damage before such a
/// frame is no torn append. Hashing is bounded, whatever the bytes claim.
fn later_frame(bytes: &[u8], from: usize, sequence: u64) -> Later {
    let mut budget = SEARCH_BUDGET;
    let mut at = from;
    while let Some(rest) = bytes.get(at..) {
        let Some(step) = rest.windows(MAGIC.len()).position(|w| w == MAGIC) else { break };
        at += step;
        let candidate = &bytes[at..];
        match header(candidate) {
            Some((version, _)) if version != VERSION => return Later::Found(at),
            Some((_, len)) => {
                let Some(left) = budget.checked_sub(len.min(candidate.len())) else { return Later::TooLong };
                budget = left;
                if candidate.get(..len).and_then(records_of).is_some_and(|(_, last)| last.sequence > sequence)
                {
                    return Later::Found(at);
                }
            }
            None => {}
        }
        at += 1;
    }
    Later::Absent
}
