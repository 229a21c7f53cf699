//! A run of pack entries, made by one thread: offsets count from its beginning, and a base outside is named.

use super::delta::Encoder;
use super::zip::{Zip, stored};
use crate::object::{ObjectKind, hash_body};
use gemel_object::Gid;
use gix::ObjectId;
use gix::hash::Kind;
use std::collections::HashMap;

/// Entry kind of a delta whose base is named by its distance.
const OFS_DELTA: u8 = 6;
/// Entry kind of a delta whose base is named.
const REF_DELTA: u8 = 7;

/// An entry of a pack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) id: ObjectId,
    pub(crate) offset: u64,
    pub(crate) crc: u32,
}

/// Finished entries.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) bytes: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
}

/// An object that another resembles.
pub(crate) struct Base<'b> {
    /// What it was made of.
    pub(crate) from: Gid,
    pub(crate) body: &'b [u8],
}

/// Makes parts, one after the other.
pub(crate) struct PartWriter {
    zip: Zip,
    encoder: Encoder,
    delta: Vec<u8>,
    part: Part,
    /// Entries of this part by what they were made of.
    made: HashMap<Gid, usize>,
}

impl PartWriter {
    pub(crate) fn new() -> PartWriter {
        PartWriter {
            zip: Zip::new(),
            encoder: Encoder::default(),
            delta: Vec::new(),
            part: Part::default(),
            made: HashMap::new(),
        }
    }

    /// Whether this part has what was made of an object.
    pub(crate) fn has(&self, from: &Gid) -> bool {
        self.made.contains_key(from)
    }

    /// Adds an entry that others do not stand on.
    ///
    /// # Errors
    /// The compressor's, in words.
    pub(crate) fn put_alone(&mut self, kind: ObjectKind, id: ObjectId, body: &[u8]) -> Result<(), String> {
        let offset = self.part.bytes.len();
        put_header(code(kind), body.len() as u64, &mut self.part.bytes);
        self.zip.put(body, &mut self.part.bytes)?;
        self.note(id, offset);
        Ok(())
    }

    /// Adds an entry that was made of the object `from`, as a delta if it resembles `base`, which has to be in this part
    /// or elsewhere in the pack. Chains follow those of the store, which are short.
    ///
    /// # Errors
    /// The compressor's, in words.
    pub(crate) fn put(
        &mut self,
        (kind, format): (ObjectKind, Kind),
        id: ObjectId,
        from: Gid,
        body: &[u8],
        base: Option<Base<'_>>,
    ) -> Result<(), String> {
        let offset = self.part.bytes.len();
        self.delta.clear();
        match base {
            Some(base) if self.encoder.encode(base.body, body, body.len() / 2, &mut self.delta) => {
                match self.made.get(&base.from) {
                    Some(at) => {
                        put_header(OFS_DELTA, self.delta.len() as u64, &mut self.part.bytes);
                        put_distance((offset - at) as u64, &mut self.part.bytes);
                    }
                    None => {
                        let name = hash_body(format, kind, base.body);
                        put_header(REF_DELTA, self.delta.len() as u64, &mut self.part.bytes);
                        self.part.bytes.extend_from_slice(name.as_slice());
                    }
                }
                // What trees differ in is names of objects, which nothing makes shorter.
                match kind {
                    ObjectKind::Tree => stored(&self.delta, &mut self.part.bytes),
                    _ => self.zip.put(&self.delta, &mut self.part.bytes)?,
                }
            }
            _ => {
                put_header(code(kind), body.len() as u64, &mut self.part.bytes);
                self.zip.put(body, &mut self.part.bytes)?;
            }
        }
        self.note(id, offset);
        self.made.insert(from, offset);
        Ok(())
    }

    /// Hands out what was made and begins anew.
    pub(crate) fn take(&mut self) -> Part {
        self.made.clear();
        std::mem::take(&mut self.part)
    }

    fn note(&mut self, id: ObjectId, offset: usize) {
        let crc = crc32fast::hash(&self.part.bytes[offset..]);
        self.part.entries.push(Entry { id, offset: offset as u64, crc });
    }
}

/// How packs number the kinds.
pub(super) fn code(kind: ObjectKind) -> u8 {
    match kind {
        ObjectKind::Commit => 1,
        ObjectKind::Tree => 2,
        ObjectKind::Blob => 3,
        ObjectKind::Tag => 4,
    }
}

/// Kind and length before an entry's stream.
pub(super) fn put_header(code: u8, len: u64, out: &mut Vec<u8>) {
    let mut byte = code << 4 | (len & 15) as u8;
    let mut rest = len >> 4;
    while rest > 0 {
        out.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
}

/// How far back a base lies.
fn put_distance(distance: u64, out: &mut Vec<u8>) {
    let (mut bytes, mut at) = ([0u8; 10], 9);
    bytes[at] = (distance & 0x7f) as u8;
    let mut rest = distance >> 7;
    while rest > 0 {
        rest -= 1;
        at -= 1;
        bytes[at] = 0x80 | (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.extend_from_slice(&bytes[at..]);
}
