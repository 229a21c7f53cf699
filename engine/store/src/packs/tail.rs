//! The part of a pack behind its index: batches of small commands, read by their marks.

use super::hasher::KeyMap;
use crate::vfs::FileBytes;
use gemel_packfmt::frame::{Frame, Kind, MARK_BYTE};
use gemel_packfmt::index::{self, ForeignRun, Place};
use gemel_packfmt::mark::{FrameSum, Mark};
use gemel_packfmt::{FormatError, KEY_LEN, Key};

/// What lies behind the last mark of a pack: the rest of a session that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TornTail {
    /// End of the last intact batch.
    pub valid_len_bytes: u64,
    /// Length of the file.
    pub file_len_bytes: u64,
}

/// The committed batches behind an index.
#[derive(Debug)]
pub(crate) struct Tail {
    /// Bytes of the pack from `base` on.
    bytes: FileBytes,
    /// Offset of `bytes` in the pack.
    base: u64,
    /// Where the first batch begins.
    pub start: u64,
    /// End of the last batch.
    pub end: u64,
    /// Ordinal of the first object here.
    pub first_ordinal: u32,
    /// Keys and places by ordinal; an unknown key is all zero.
    pub objects: Vec<(Key, Place)>,
    /// Ordinals (less `first_ordinal`) by key.
    pub by_key: KeyMap<Key, u32>,
    /// Foreign keys announced here.
    pub foreign: Vec<ForeignRun>,
    /// Dictionary frames announced here.
    pub dictionaries: Vec<u64>,
    /// Set when a batch leaves its keys to an index that is not there.
    pub unindexed: bool,
    /// Offsets at which something else than a batch was found with more batches behind it.
    pub damage: Vec<u64>,
    /// Number of the first object of the last batch if a frame of that batch fails its check: either the batch
    /// was never acknowledged, or it was damaged since. Its objects may be read, not relied on.
    pub suspect_from: Option<u32>,
}

/// One batch found between `start` and its mark.
struct Batch {
    mark: Mark,
    end: u64,
    foreign: Vec<ForeignRun>,
    dictionaries: Vec<u64>,
}

impl Tail {
    /// Reads the batches from offset `start` of the pack, whose bytes from `base` on are given; `objects` counts
    /// what the index covers. The last batch is verified to the byte; earlier ones were verified by the writer that
    /// followed.
    pub(crate) fn read(bytes: FileBytes, base: u64, start: u64, objects: u32) -> Tail {
        let mut tail = Tail {
            bytes,
            base,
            start,
            end: start,
            first_ordinal: objects,
            objects: Vec::new(),
            by_key: KeyMap::default(),
            foreign: Vec::new(),
            dictionaries: Vec::new(),
            unindexed: false,
            damage: Vec::new(),
            suspect_from: None,
        };
        let mut last = None;
        loop {
            let batch = match next_batch(&tail.bytes, base, tail.end) {
                Ok(batch) => batch,
                Err(_) => match resync(&tail.bytes, base, tail.end) {
                    Some(batch) => {
                        tail.damage.push(tail.end);
                        batch
                    }
                    None => break,
                },
            };
            if !tail.accept(&batch) {
                break;
            }
            last = Some(batch);
        }
        if let Some(batch) = last.filter(|batch| verify_batch(&tail.bytes, base, batch).is_err()) {
            tail.suspect_from = Some(batch.mark.first_ordinal);
        }
        tail.index_keys();
        tail
    }

    /// Takes a batch over; `false` when its numbers contradict what came before.
    fn accept(&mut self, batch: &Batch) -> bool {
        let known = u64::from(self.first_ordinal) + self.objects.len() as u64;
        let Some(lost) = u64::from(batch.mark.first_ordinal).checked_sub(known) else { return false };
        // No pack holds more objects than bytes; marks that add up to more lie, and would be believed with memory.
        let total = self.objects.len() as u64 + lost + u64::from(batch.mark.objects);
        if total > self.bytes.len() as u64 || lost > 0 && self.damage.is_empty() {
            return false;
        }
        let unknown = ([0; KEY_LEN], Place::default());
        self.objects.resize(self.objects.len() + lost as usize, unknown);
        self.end = batch.end;
        self.foreign.extend(&batch.foreign);
        self.dictionaries.extend(&batch.dictionaries);
        match &batch.mark.keys {
            Some(keys) => self.objects.extend(keys),
            None => {
                self.unindexed = true;
                self.objects.resize(total as usize, unknown);
            }
        }
        true
    }

    /// The bytes up to the end of the last batch.
    pub(crate) fn committed(&self) -> &[u8] {
        let len = usize::try_from(self.end - self.base).unwrap_or(usize::MAX);
        self.bytes.get(..len).unwrap_or(&self.bytes)
    }

    /// Fills `by_key` from `objects`.
    pub(crate) fn index_keys(&mut self) {
        self.by_key = (0..).zip(&self.objects).map(|(i, (key, _))| (*key, i)).collect();
    }

    /// The place of a key.
    pub(crate) fn find(&self, key: &Key) -> Option<Place> {
        self.by_key.get(key).and_then(|&i| self.objects.get(i as usize)).map(|(_, place)| *place)
    }

    /// Key and place of an ordinal of the pack.
    pub(crate) fn by_ordinal(&self, ordinal: u32) -> Option<&(Key, Place)> {
        self.objects.get(ordinal.checked_sub(self.first_ordinal)? as usize)
    }

    /// The foreign key with this number, if announced here.
    pub(crate) fn foreign_key(&self, number: u32) -> Option<Key> {
        index::foreign_key(&self.foreign, &self.bytes, self.base, number)
    }

    /// The frame at an offset of the pack.
    pub(crate) fn frame(&self, offset: u64) -> Result<Frame<'_>, FormatError> {
        frame_at(&self.bytes, self.base, offset)
    }
}

/// The frame at `offset` of a pack whose bytes from `base` on are given.
fn frame_at(bytes: &[u8], base: u64, offset: u64) -> Result<Frame<'_>, FormatError> {
    let within = offset.checked_sub(base).ok_or(FormatError::Cut { what: "frame", offset })?;
    let mut frame = Frame::parse(bytes, within)?;
    frame.offset += base;
    frame.end += base;
    Ok(frame)
}

/// Looks behind a damaged place for the next intact mark and the batch it ends.
fn resync(bytes: &[u8], base: u64, from: u64) -> Option<Batch> {
    let within = usize::try_from(from.checked_sub(base)?).ok()?;
    let marks = bytes.get(within..)?.iter().enumerate().filter(|(_, byte)| **byte == MARK_BYTE);
    for (skip, _) in marks {
        let at = from + skip as u64;
        let Ok(frame) = frame_at(bytes, base, at) else { continue };
        if frame.kind != Kind::Mark || frame.check().is_err() {
            continue;
        }
        let Ok(mark) = Mark::read(&frame) else { continue };
        if mark.start < from {
            return Some(Batch { end: frame.end, mark, foreign: Vec::new(), dictionaries: Vec::new() });
        }
        return match next_batch(bytes, base, mark.start) {
            Ok(batch) if batch.end == frame.end => Some(batch),
            _ => Some(Batch { end: frame.end, mark, foreign: Vec::new(), dictionaries: Vec::new() }),
        };
    }
    None
}

fn next_batch(bytes: &[u8], base: u64, from: u64) -> Result<Batch, FormatError> {
    let (mut foreign, mut dictionaries) = (Vec::new(), Vec::new());
    let mut at = from;
    loop {
        let frame = frame_at(bytes, base, at)?;
        at = frame.end;
        match frame.kind {
            Kind::Foreign { first } => {
                foreign.push(foreign_run(&frame, first)?);
            }
            Kind::Dictionary { .. } => dictionaries.push(frame.offset),
            Kind::Mark => {
                frame.check()?;
                let mark = Mark::read(&frame)?;
                if mark.start != from {
                    return Err(FormatError::Mismatch {
                        what: "batch start",
                        expected: from,
                        found: mark.start,
                    });
                }
                return Ok(Batch { mark, end: at, foreign, dictionaries });
            }
            _ => {}
        }
    }
}

/// The run of keys a foreign frame announces.
///
/// # Errors
/// `Mismatch` when the keys are not whole, `TooLarge` when their numbers leave 32 bits.
pub(crate) fn foreign_run(frame: &Frame<'_>, first: u32) -> Result<ForeignRun, FormatError> {
    let found = frame.payload.len() as u64;
    if !found.is_multiple_of(KEY_LEN as u64) {
        let expected = found - found % KEY_LEN as u64;
        return Err(FormatError::Mismatch { what: "foreign keys", expected, found });
    }
    let end = u64::from(first) + found / KEY_LEN as u64;
    let count = u32::try_from(end).map(|end| end - first).map_err(|_| FormatError::TooLarge {
        what: "number of a foreign key",
        found: end,
        limit: u64::from(u32::MAX),
    })?;
    Ok(ForeignRun { offset: frame.end - found, first, count })
}

fn verify_batch(bytes: &[u8], base: u64, batch: &Batch) -> Result<(), FormatError> {
    let mut sum = FrameSum::default();
    let mut at = batch.mark.start;
    loop {
        let frame = frame_at(bytes, base, at)?;
        at = frame.end;
        frame.check()?;
        if frame.kind == Kind::Mark {
            break;
        }
        sum.add(frame.check_value());
    }
    if sum.value() != batch.mark.frames {
        let (expected, found) = (u64::from(batch.mark.frames), u64::from(sum.value()));
        return Err(FormatError::Mismatch { what: "batch frames", expected, found });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gemel_packfmt::frame::{Method, put};

    #[test]
    fn numbers_of_foreign_keys_stay_within_32_bits() {
        let run = |first: u32| {
            let mut bytes = Vec::new();
            put(Kind::Foreign { first }, Method::Stored, 0, &[&[0; 2 * KEY_LEN]], &mut bytes);
            foreign_run(&Frame::parse(&bytes, 0).unwrap(), first)
        };
        assert_eq!(run(u32::MAX - 2).map(|run| (run.first, run.count)), Ok((u32::MAX - 2, 2)));
        assert!(matches!(run(u32::MAX - 1), Err(FormatError::TooLarge { .. })));
    }
}
