//! A run of pack entries, made by one thread: offsets count from its beginning, and deltas stay inside.

use super::delta::Encoder;
use super::zip::Zip;
use crate::object::ObjectKind;
use gemel_object::Gid;
use gemel_store::BulkObject;
use gix::ObjectId;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Entry kind of a delta whose base is named by its distance.
const OFS_DELTA: u8 = 6;
/// Most bases in a row.
const MAX_DEPTH: u16 = 120;

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

/// The body of a Git object. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// The body of a blob object.
    Blob(BulkObject, usize),
    /// Bytes made here.
    Made(Arc<Vec<u8>>),
}

impl Body {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Body::Blob(object, start) => object.bytes().get(*start..).unwrap_or_default(),
            Body::Made(bytes) => bytes,
        }
    }
}

/// What later entries may stand on.
#[derive(Debug)]
struct Recent {
    body: Body,
    offset: usize,
    depth: u16,
}

/// Makes parts, one after the other.
pub(crate) struct PartWriter {
    zip: Zip,
    encoder: Encoder,
    delta: Vec<u8>,
    part: Part,
    recent: HashMap<Gid, Recent>,
    oldest: VecDeque<Gid>,
    recent_bytes: usize,
    kept_bytes: usize,
}

impl PartWriter {
    /// A writer that keeps up to `kept_bytes` of bodies for others to stand on.
    pub(crate) fn new(kept_bytes: usize) -> PartWriter {
        PartWriter {
            zip: Zip::new(),
            encoder: Encoder::default(),
            delta: Vec::new(),
            part: Part::default(),
            recent: HashMap::new(),
            oldest: VecDeque::new(),
            recent_bytes: 0,
            kept_bytes,
        }
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

    /// Adds an entry that was made of the object `from`, as a delta if what was made of `base` is at hand and resembles it.
    ///
    /// # Errors
    /// The compressor's, in words.
    pub(crate) fn put(
        &mut self,
        kind: ObjectKind,
        id: ObjectId,
        from: Gid,
        body: Body,
        base: Option<Gid>,
    ) -> Result<(), String> {
        let offset = self.part.bytes.len();
        self.delta.clear();
        let base = base.and_then(|base| self.recent.get(&base)).filter(|base| base.depth < MAX_DEPTH);
        let most = body.bytes().len() / 2;
        let depth = match base {
            Some(base) if self.encoder.encode(base.body.bytes(), body.bytes(), most, &mut self.delta) => {
                put_header(OFS_DELTA, self.delta.len() as u64, &mut self.part.bytes);
                put_distance((offset - base.offset) as u64, &mut self.part.bytes);
                self.zip.put(&self.delta, &mut self.part.bytes)?;
                base.depth + 1
            }
            _ => {
                put_header(code(kind), body.bytes().len() as u64, &mut self.part.bytes);
                self.zip.put(body.bytes(), &mut self.part.bytes)?;
                0
            }
        };
        self.note(id, offset);
        self.keep(from, Recent { body, offset, depth });
        Ok(())
    }

    /// Hands out what was made and begins anew.
    pub(crate) fn take(&mut self) -> Part {
        self.recent.clear();
        self.oldest.clear();
        self.recent_bytes = 0;
        std::mem::take(&mut self.part)
    }

    fn note(&mut self, id: ObjectId, offset: usize) {
        let crc = crc32fast::hash(&self.part.bytes[offset..]);
        self.part.entries.push(Entry { id, offset: offset as u64, crc });
    }

    fn keep(&mut self, from: Gid, recent: Recent) {
        self.recent_bytes += recent.body.bytes().len();
        if let Some(before) = self.recent.insert(from, recent) {
            self.recent_bytes -= before.body.bytes().len();
        } else {
            self.oldest.push_back(from);
        }
        while self.recent_bytes > self.kept_bytes {
            let Some(gone) = self.oldest.pop_front().and_then(|oldest| self.recent.remove(&oldest)) else {
                break;
            };
            self.recent_bytes -= gone.body.bytes().len();
        }
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
