//! Ends of batches (docs/STORAGE.md, "Mark"). What lies behind the last intact mark of a pack was never
//! acknowledged. A mark either lists the keys of its batch or leaves them to the index written with it.

use crate::frame::{self, Frame, Kind, Method};
use crate::index::Place;
use crate::varint::{self, Reader};
use crate::{FormatError, KEY_LEN, Key, Result};

/// The content of a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Offset of the batch's first frame.
    pub start: u64,
    /// Ordinal of the batch's first object.
    pub first_ordinal: u32,
    /// Number of objects in the batch.
    pub objects: u32,
    /// Number of foreign keys in the pack, this batch included.
    pub foreign: u32,
    /// Number of dictionaries in the pack, this batch included.
    pub dictionaries: u32,
    /// Check over the checks of the batch's frames, in order.
    pub frames: u32,
    /// Key and place of the batch's objects by ordinal, if they are listed here.
    pub keys: Option<Vec<(Key, Place)>>,
}

/// Sums up frame checks for [`Mark::frames`].
#[derive(Clone, Debug, Default)]
pub struct FrameSum(blake3::Hasher);

impl FrameSum {
    /// Adds the next frame's check.
    pub fn add(&mut self, check: u32) {
        self.0.update(&check.to_le_bytes());
    }

    /// The sum so far.
    pub fn value(&self) -> u32 {
        frame::check_value(&self.0)
    }
}

impl Mark {
    /// Appends the mark as a frame.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut head = Vec::new();
        varint::put(&mut head, self.start);
        for n in [self.first_ordinal, self.objects, self.foreign, self.dictionaries] {
            varint::put(&mut head, u64::from(n));
        }
        head.extend_from_slice(&self.frames.to_le_bytes());
        head.push(u8::from(self.keys.is_some()));
        let mut keys = Vec::new();
        for (key, place) in self.keys.iter().flatten() {
            keys.extend_from_slice(key);
            keys.extend_from_slice(&(place.offset << UNUSED_BITS).to_le_bytes()[..PLACE_LEN]);
        }
        frame::put(Kind::Mark, Method::Stored, 0, &[&head, &keys], out);
    }

    /// Reads the payload of a mark frame.
    ///
    /// # Errors
    /// `Cut`, `TooLarge`, `Mismatch` when the keys do not match the object count.
    pub fn read(frame: &Frame<'_>) -> Result<Mark> {
        let mut reader = Reader::new(frame.payload);
        let start = reader.uint_at_most("batch start", frame.offset)?;
        let mut number = || reader.u32("mark number");
        let [first_ordinal, objects, foreign, dictionaries] = [number()?, number()?, number()?, number()?];
        let frames = u32::from_le_bytes(reader.array("mark")?);
        let [keyed] = reader.array::<1>("mark")?;
        let rest = reader.rest();
        let expected = if keyed == 1 { u64::from(objects) * ENTRY_LEN as u64 } else { 0 };
        if rest.len() as u64 != expected {
            return Err(FormatError::Mismatch { what: "mark keys", expected, found: rest.len() as u64 });
        }
        let entries = (first_ordinal..=u32::MAX).zip(rest.as_chunks::<ENTRY_LEN>().0);
        let keys = (keyed == 1).then(|| entries.map(|(ordinal, raw)| read_entry(ordinal, raw)).collect());
        Ok(Mark { start, first_ordinal, objects, foreign, dictionaries, frames, keys })
    }
}

/// Bytes of an offset in the list of keys; the bits below it are not used any more.
const PLACE_LEN: usize = 6;
const UNUSED_BITS: u32 = 12;
const _: () = assert!(frame::MAX_OFFSET == 1 << (PLACE_LEN as u32 * 8 - UNUSED_BITS));
const ENTRY_LEN: usize = KEY_LEN + PLACE_LEN;

fn read_entry(ordinal: u32, raw: &[u8; ENTRY_LEN]) -> (Key, Place) {
    let (mut key, mut place) = ([0; KEY_LEN], [0; 8]);
    key.copy_from_slice(&raw[..KEY_LEN]);
    place[..PLACE_LEN].copy_from_slice(&raw[KEY_LEN..]);
    (key, Place { offset: u64::from_le_bytes(place) >> UNUSED_BITS, ordinal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_round_trip() {
        let listed = (3..5).map(|ordinal| ([7; KEY_LEN], Place { offset: 5, ordinal })).collect();
        for keys in [None, Some(vec![]), Some(listed)] {
            let objects = keys.as_ref().map_or(5, |k: &Vec<(Key, Place)>| k.len() as u32);
            let mark =
                Mark { start: 0, first_ordinal: 3, objects, foreign: 4, dictionaries: 1, frames: 99, keys };
            let mut out = Vec::new();
            mark.put(&mut out);
            let frame = Frame::parse(&out, 0).unwrap();
            frame.check().unwrap();
            assert_eq!(Mark::read(&frame), Ok(mark));
        }
    }
}
