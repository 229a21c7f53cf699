//! Decoded objects kept by place, for whoever reads in the order in which they lie: each delta is applied once.

use super::decode::{self, Piece};
use super::pack::Pack;
use super::set::PackSet;
use gemel_object::Limits;
use gemel_packfmt::FormatError;
use gemel_packfmt::frame::{Frame, Kind, MAX_DEPTH, Method};
use gemel_packfmt::index::Place;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// What lies at a place.
pub(super) enum Decoded {
    /// An object that fits one frame.
    Piece(Arc<Piece>),
    /// The envelope of an object in chunks.
    Bytes(Vec<u8>),
}

/// An object decoded.
#[derive(Debug)]
struct Entry {
    piece: Arc<Piece>,
    /// How many bases it stands on.
    depth: usize,
    /// Whether it was asked for since it came here or had its last turn.
    used: bool,
}

/// Decoded objects by place, up to a number of bytes.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pieces: HashMap<(u64, u64), Entry>,
    /// Oldest first; those used since they came here get a second turn.
    order: VecDeque<(u64, u64)>,
    bytes: usize,
    limit: usize,
}

impl Kept {
    /// Keeps up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Kept {
        Kept { limit, ..Kept::default() }
    }

    /// Decodes the object at `place`.
    ///
    /// # Errors
    /// As [`decode::object`]: what is kept changes nothing.
    pub(super) fn decode(
        &mut self,
        set: &PackSet,
        pack: &Pack,
        place: Place,
    ) -> Result<Decoded, FormatError> {
        let (mut pack, mut place) = (pack, place);
        let mut chain = Vec::new();
        let (mut piece, mut depth) = loop {
            if let Some(entry) = self.pieces.get_mut(&(pack.token, place.offset)) {
                entry.used = true;
                break (entry.piece.clone(), entry.depth);
            }
            let frame = pack.frame(place.offset)?;
            match (frame.kind, frame.method) {
                (Kind::Raw { .. } | Kind::Cut { .. }, Method::Delta { base, .. }) => {
                    chain.push((pack, frame));
                    check_depth(chain.len())?;
                    (pack, place) = decode::base_of(set, pack, base)?;
                }
                (Kind::Raw { .. } | Kind::Cut { .. }, _) => {
                    let piece = Arc::new(decode::single(pack, &frame)?);
                    self.keep((pack.token, place.offset), &piece, 0);
                    break (piece, 0);
                }
                (Kind::Group, _) => break (Arc::new(decode::member(pack, &frame, place.ordinal)?), 0),
                (Kind::Large { .. }, _) if chain.is_empty() => {
                    return large(pack, &frame).map(Decoded::Bytes);
                }
                _ => return Err(FormatError::Unknown { what: "object frame", found: frame.offset }),
            }
        };
        check_depth(depth + chain.len())?;
        while let Some((pack, frame)) = chain.pop() {
            piece = Arc::new(decode::apply(pack, &frame, &piece)?);
            depth += 1;
            self.keep((pack.token, frame.offset), &piece, depth);
        }
        Ok(Decoded::Piece(piece))
    }

    fn keep(&mut self, key: (u64, u64), piece: &Arc<Piece>, depth: usize) {
        self.bytes = self.bytes.saturating_add(piece.weight());
        self.pieces.insert(key, Entry { piece: piece.clone(), depth, used: false });
        self.order.push_back(key);
        while self.bytes > self.limit {
            let Some(oldest) = self.order.pop_front() else { break };
            let Some(entry) = self.pieces.get_mut(&oldest) else { continue };
            if std::mem::take(&mut entry.used) {
                self.order.push_back(oldest);
            } else if let Some(entry) = self.pieces.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(entry.piece.weight());
            }
        }
    }
}

fn check_depth(depth: usize) -> Result<(), FormatError> {
    let limit = usize::from(MAX_DEPTH);
    if depth > limit {
        let (found, limit) = (depth as u64, limit as u64);
        return Err(FormatError::TooLarge { what: "chain of bases", found, limit });
    }
    Ok(())
}

/// The bytes of an object in chunks.
fn large(pack: &Pack, frame: &Frame<'_>) -> Result<Vec<u8>, FormatError> {
    let decode::Found::Chunks(chunks, total) = decode::chunks(pack, frame)? else { return Ok(Vec::new()) };
    let limit = Limits::DEFAULT.max_object_bytes;
    if total > limit {
        return Err(FormatError::TooLarge { what: "plain length", found: total, limit });
    }
    let mut bytes = Vec::new();
    for chunk in &chunks {
        bytes.extend_from_slice(&decode::chunk_plain(chunk)?);
    }
    Ok(bytes)
}
