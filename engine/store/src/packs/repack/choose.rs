//! How one object is stored best: against which of a few bases, or by itself.
//!
//! Chains stay short by construction. Most objects stand on their neighbour, every [`SEGMENT`]th on the last such one,
//! and every [`SEGMENT`]th of those on one further up, so that the depth stays within [`REPACK_DEPTH`] and a long
//! history needs few whole copies.

use super::likeness::Likeness;
use crate::packs::decode::Piece;
use crate::packs::effort::{DICTIONARY_UP_TO, REPACK_DEPTH, SEGMENT};
use gemel_object::Gid;
use gemel_packfmt::codec::{self, Aid, Dictionary, Level};
use gemel_packfmt::delta;
use gemel_packfmt::refcode::{KeyOp, key_ops};
use std::sync::Arc;

/// Level at which bases are compared with each other.
const TRIAL_LEVEL: Level = 4;
/// A difference is weighed against compression alone from this share of the plain bytes on.
const DOUBTFUL: usize = 6;
/// A base this many times as long is not tried.
const OUT_OF_PROPORTION: usize = 16;
/// Bytes a new reference takes in a frame, about.
const CODE_BYTES: usize = 2;

/// An object that later ones may stand on.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) id: Gid,
    pub(super) piece: Piece,
    pub(super) depth: u8,
    pub(super) likeness: Likeness,
    /// Steps to `head`.
    steps: u8,
    /// Where its segment begins; absent for one that begins one.
    head: Option<Arc<Base>>,
    /// Steps of heads to `over`.
    head_steps: u8,
    /// What the heads of a row of segments stand on.
    over: Option<Arc<Base>>,
}

/// How an object is stored.
#[derive(Debug)]
pub(super) enum Form {
    /// A difference to a base, with the key operations of a cut object.
    Delta { base: Arc<Base>, place: Place, ops: Vec<KeyOp>, payload: Vec<u8> },
    /// By itself. Cut objects go to a group, so nothing is compressed yet.
    Whole(Whole),
}

/// How the payload of an object that stands by itself was made.
#[derive(Debug)]
pub(super) enum Whole {
    /// In a group.
    Grouped,
    /// Not at all.
    Stored,
    /// With zstd alone.
    Deflated(Vec<u8>),
    /// With the dictionary of the pack.
    WithDictionary(Vec<u8>),
}

/// What an object becomes to its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The next of a segment.
    Next,
    /// The head of the next segment, standing on a head.
    Head,
    /// The head of the next row of segments.
    Row,
}

impl Base {
    /// The object `id` as a base for others, given what it stands on itself.
    pub(super) fn new(id: Gid, piece: Piece, likeness: Likeness, on: Option<(&Arc<Base>, Place)>) -> Base {
        let mut made =
            Base { id, piece, depth: 0, likeness, steps: 0, head: None, head_steps: 0, over: None };
        let Some((on, place)) = on else { return made };
        made.depth = on.depth + 1;
        match place {
            Place::Next => {
                made.steps = on.steps + 1;
                made.head = Some(on.head.clone().unwrap_or_else(|| Arc::clone(on)));
            }
            Place::Head => {
                made.head_steps = on.head_steps + 1;
                made.over = Some(on.over.clone().unwrap_or_else(|| Arc::clone(on)));
            }
            Place::Row => {}
        }
        made
    }

    /// What an object that resembles `self` stands on: `self`, or what lies above it when its segment is full.
    fn effective(self: &Arc<Base>) -> Option<(Arc<Base>, Place)> {
        let head = self.head.as_ref().unwrap_or(self);
        let (chosen, place) = if self.steps + 1 < SEGMENT {
            (self, Place::Next)
        } else if head.head_steps + 1 < SEGMENT {
            (head, Place::Head)
        } else {
            (head.over.as_ref().unwrap_or(head), Place::Row)
        };
        (chosen.depth < REPACK_DEPTH).then(|| (Arc::clone(chosen), place))
    }
}

/// Bytes of a difference, what it is taken to, its key operations and its payload.
type Candidate = (usize, (Arc<Base>, Place), Vec<KeyOp>, Vec<u8>);

/// The best form of `piece` among its differences to `candidates` and compression alone.
pub(super) fn choose(
    piece: &Piece,
    candidates: &[Arc<Base>],
    level: Level,
    dictionary: Option<&Dictionary>,
) -> Form {
    let mut best: Option<Candidate> = None;
    let mut tried: Vec<Gid> = Vec::new();
    for (base, place) in candidates.iter().filter_map(Base::effective) {
        let (long, short) = (base.piece.form.len(), piece.form.len());
        if tried.contains(&base.id)
            || base.piece.keys.is_some() != piece.keys.is_some()
            || long > short.saturating_mul(OUT_OF_PROPORTION).saturating_add(4096)
        {
            continue;
        }
        tried.push(base.id);
        let (ops, cost) = match (&base.piece.keys, &piece.keys) {
            (Some(before), Some(keys)) => {
                let ops = key_ops(before, keys);
                let fresh: usize =
                    ops.iter().map(|op| if let KeyOp::New(n) = op { *n as usize } else { 0 }).sum();
                let cost = ops.len() * 2 + fresh * CODE_BYTES;
                (ops, cost)
            }
            _ => (Vec::new(), 0),
        };
        let limit = best.as_ref().map_or(short + 64, |(size, ..)| *size).saturating_sub(cost);
        let mut payload = Vec::new();
        if delta::encode(&base.piece.form, &piece.form, level.min(TRIAL_LEVEL), limit, &mut payload) {
            best = Some((cost + payload.len(), (base, place), ops, payload));
        }
    }
    if level > TRIAL_LEVEL
        && let Some((size, (base, _), _, payload)) = &mut best
    {
        let mut better = Vec::new();
        if delta::encode(&base.piece.form, &piece.form, level, payload.len(), &mut better) {
            *size = *size - payload.len() + better.len();
            *payload = better;
        }
    }
    match (&piece.keys, best) {
        (Some(keys), Some((size, (base, place), ops, payload)))
            // Alone it would share a group with others like it.
            if size < piece.form.len() / 3 + keys.len() * CODE_BYTES =>
        {
            Form::Delta { base, place, ops, payload }
        }
        (Some(_), _) => Form::Whole(Whole::Grouped),
        (None, Some((size, (base, place), ops, payload))) if size <= piece.form.len() / DOUBTFUL => {
            Form::Delta { base, place, ops, payload }
        }
        (None, best) => {
            let whole = whole(&piece.form, level, dictionary);
            match best {
                Some((size, (base, place), ops, payload)) if size < whole.len_or(piece.form.len()) => {
                    Form::Delta { base, place, ops, payload }
                }
                _ => Form::Whole(whole),
            }
        }
    }
}

impl Whole {
    /// Bytes of the payload, `plain` of one that is stored as it is.
    pub(super) fn len_or(&self, plain: usize) -> usize {
        match self {
            Whole::Grouped | Whole::Stored => plain,
            Whole::Deflated(payload) | Whole::WithDictionary(payload) => payload.len(),
        }
    }
}

fn whole(plain: &[u8], level: Level, dictionary: Option<&Dictionary>) -> Whole {
    let dictionary = dictionary.filter(|_| plain.len() <= DICTIONARY_UP_TO);
    let mut payload = Vec::new();
    match dictionary {
        Some(dictionary) if codec::deflate(plain, Aid::Dictionary(dictionary), level, &mut payload) => {
            Whole::WithDictionary(payload)
        }
        None if codec::deflate(plain, Aid::Alone, level, &mut payload) => Whole::Deflated(payload),
        _ => Whole::Stored,
    }
}
