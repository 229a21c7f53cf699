//! Many objects read in the order in which they lie: what one stands on was decoded just before it, so that each delta is
//! applied once and each group inflated once.

use super::decode::{self, Piece};
use super::kept::{Decoded, Kept};
use super::set::{PackSet, hash};
use crate::{Result, Store};
use gemel_object::Gid;
use gemel_packfmt::frame::{Kind, Method};
use gemel_packfmt::index::Place;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// An object and where it lies; nowhere if only [`Store::read`] knows how to get it.
#[derive(Debug)]
struct Placed {
    id: Gid,
    at: Option<(u32, Place)>,
}

/// Objects to be read, in the order in which they lie. Made by [`Store::bulk`]; cheap to share between threads.
#[derive(Debug)]
pub struct Bulk {
    store: Store,
    set: Arc<PackSet>,
    placed: Vec<Placed>,
}

impl Bulk {
    /// Finds `ids`, each once.
    ///
    /// # Errors
    /// As [`Store::read`] for the first that is not stored.
    pub(crate) fn new(store: &Store, set: Arc<PackSet>, ids: &[Gid]) -> Result<Bulk> {
        let mut placed = Vec::with_capacity(ids.len());
        for id in ids {
            let key = id.as_bytes();
            let found = set.packs.iter().zip(0u32..).find_map(|(pack, n)| Some((n, pack.guess(key)?)));
            if found.is_none() {
                // Told as it is told everywhere, and read from where it may have been moved to.
                store.read(id)?;
            }
            placed.push(Placed { id: *id, at: found });
        }
        placed.sort_unstable_by_key(|object| {
            (object.at.map(|(pack, place)| (pack, place.offset, place.ordinal)), object.id)
        });
        placed.dedup_by_key(|object| object.id);
        Ok(Bulk { store: store.clone(), set, placed })
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.placed.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.placed.is_empty()
    }

    /// The identity at a place of the order.
    pub fn id(&self, at: usize) -> Option<Gid> {
        self.placed.get(at).map(|object| object.id)
    }

    /// About how long an object is, in bytes, without decoding it: exact for a blob stored alone or in chunks, 0 for
    /// what shares a frame with others.
    pub fn about_bytes(&self, at: usize) -> u64 {
        let Some((pack, place)) = self.placed.get(at).and_then(|object| object.at) else { return 0 };
        let frame = self.set.packs.get(pack as usize).and_then(|pack| pack.frame(place.offset).ok());
        match frame.map(|frame| (frame.kind, frame.plain_len)) {
            Some((Kind::Raw { .. } | Kind::Cut { .. } | Kind::Large { .. }, len_bytes)) => len_bytes,
            _ => 0,
        }
    }

    /// Cuts the order into ranges of at least `objects` objects or `bytes` bytes, so that each reader gets objects
    /// that stand on each other; a cut waits a while for one that stands on nothing.
    pub fn parts(&self, objects: usize, bytes: u64) -> Vec<Range<usize>> {
        let (mut parts, mut start, mut sum) = (Vec::new(), 0, 0u64);
        for at in 0..self.placed.len() {
            let full = at - start >= objects || sum >= bytes;
            let overdue = at - start >= objects.saturating_mul(2) || sum >= bytes.saturating_mul(2);
            if full && at > start && (overdue || !self.stands_on_another(at)) {
                parts.push(start..at);
                (start, sum) = (at, 0);
            }
            sum = sum.saturating_add(self.about_bytes(at));
        }
        if start < self.placed.len() {
            parts.push(start..self.placed.len());
        }
        parts
    }

    fn stands_on_another(&self, at: usize) -> bool {
        let place = self.placed.get(at).and_then(|object| object.at);
        let frame =
            place.and_then(|(pack, place)| self.set.packs.get(pack as usize)?.frame(place.offset).ok());
        frame.is_some_and(|frame| matches!(frame.method, Method::Delta { .. }))
    }

    /// A reader for one thread that keeps up to `kept_bytes` of decoded objects.
    pub fn reader(&self, kept_bytes: usize) -> BulkReader<'_> {
        BulkReader { bulk: self, kept: Kept::new(kept_bytes), doubtful: false }
    }
}

/// An object read. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BulkObject {
    /// Its identity.
    pub id: Gid,
    /// What it is stored as a difference to, and therefore resembles.
    pub base: Option<Gid>,
    content: Content,
    base_piece: Option<Arc<Piece>>,
}

#[derive(Clone, Debug)]
enum Content {
    /// An object without cut keys.
    Piece(Arc<Piece>),
    Bytes(Arc<Vec<u8>>),
}

impl BulkObject {
    /// The whole envelope.
    pub fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Piece(piece) => &piece.form,
            Content::Bytes(bytes) => bytes,
        }
    }

    /// The envelope of its base as the object was decoded with it, if that is at hand. It was not hashed now: whoever
    /// relies on it being the base hashes it, or has read it from the same reader.
    pub fn base_bytes(&self) -> Option<Cow<'_, [u8]>> {
        let piece = self.base_piece.as_ref()?;
        match piece.keys {
            None => Some(Cow::Borrowed(&piece.form)),
            Some(_) => piece.splice().ok().map(Cow::Owned),
        }
    }
}

/// Reads objects of a [`Bulk`] for one thread; quick as long as the places asked for ascend.
#[derive(Debug)]
pub struct BulkReader<'b> {
    bulk: &'b Bulk,
    kept: Kept,
    /// Whether an object had to be read from elsewhere: what was decoded here is then no base for others.
    doubtful: bool,
}

impl BulkReader<'_> {
    /// The object at a place of the order, re-hashed (STO-01, SEC-02); `None` behind the last.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read(&mut self, at: usize) -> Result<Option<BulkObject>> {
        let Some(Placed { id, at }) = self.bulk.placed.get(at) else { return Ok(None) };
        let found = match at {
            Some((pack, place)) => self.at(id, *pack, *place),
            None => None,
        };
        match found {
            Some(object) => Ok(Some(object)),
            // Another copy may be sound, and if none is, that is where it is told.
            None => {
                self.doubtful = true;
                let content = Content::Bytes(Arc::new(self.bulk.store.read(id)?));
                Ok(Some(BulkObject { id: *id, base: None, content, base_piece: None }))
            }
        }
    }

    fn at(&mut self, id: &Gid, pack: u32, place: Place) -> Option<BulkObject> {
        let set = &self.bulk.set;
        let pack = set.packs.get(pack as usize)?;
        let content = match self.kept.decode(set, pack, place).ok()? {
            Decoded::Piece(piece) if piece.keys.is_none() => Content::Piece(piece),
            Decoded::Piece(piece) => Content::Bytes(Arc::new(piece.splice().ok()?)),
            Decoded::Bytes(bytes) => Content::Bytes(Arc::new(bytes)),
        };
        let mut object = BulkObject { id: *id, base: None, content, base_piece: None };
        if !hash(id, object.bytes()) {
            return None;
        }
        if let (Method::Delta { base, .. }, false) = (pack.frame(place.offset).ok()?.method, self.doubtful) {
            object.base = pack.key_of(base).and_then(|key| Gid::from_bytes(&key));
            // Decoded a moment ago, and therefore kept.
            let (base_pack, base_place) = decode::base_of(set, pack, base).ok()?;
            if let Ok(Decoded::Piece(piece)) = self.kept.decode(set, base_pack, base_place) {
                object.base_piece = Some(piece);
            }
        }
        Some(object)
    }
}
