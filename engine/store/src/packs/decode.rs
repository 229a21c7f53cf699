//! From a place in a pack back to the bytes of an object.
//!
//! Nothing returned here is trusted: the caller re-hashes it. Chains of bases are followed iteratively and to a
//! bounded depth; every buffer is bounded by the plain length a frame may declare.

use super::pack::Pack;
use super::set::PackSet;
use gemel_object::{EnvelopeHeader, Gid, Limits};
use gemel_packfmt::codec::{self, Aid};
use gemel_packfmt::frame::{Frame, Kind, MAX_DEPTH, Method};
use gemel_packfmt::group::Group;
use gemel_packfmt::index::Place;
use gemel_packfmt::refcode::{Codes, KeyOp, RefCode, take_op};
use gemel_packfmt::varint::Reader;
use gemel_packfmt::{FormatError, KEY_LEN, Key, cut, delta, large};
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

/// An object before its keys are spliced in.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Envelope, or cut form when there are keys.
    pub form: Vec<u8>,
    /// Keys cut out; absent for an object stored whole.
    pub keys: Option<Vec<Key>>,
}

impl Piece {
    /// The envelope.
    ///
    /// # Errors
    /// `Mismatch`, `Cut` when form and keys do not fit.
    pub(crate) fn envelope(self) -> Result<Vec<u8>, FormatError> {
        match self.keys {
            None => Ok(self.form),
            Some(_) => self.splice(),
        }
    }

    /// The envelope, made beside the piece.
    ///
    /// # Errors
    /// As [`Piece::envelope`].
    pub(crate) fn splice(&self) -> Result<Vec<u8>, FormatError> {
        let mut out = Vec::new();
        cut::splice(&self.form, self.keys.as_deref().unwrap_or_default(), &mut out)?;
        Ok(out)
    }

    /// The piece as that of a blob, which has no keys whatever it is stored in: a repack puts small ones into groups.
    ///
    /// # Errors
    /// As [`Piece::envelope`].
    pub(crate) fn of_blob(self) -> Result<Piece, FormatError> {
        Ok(Piece { form: self.envelope()?, keys: None })
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn weight(&self) -> usize {
        self.form.len() + self.keys.as_ref().map_or(0, |keys| keys.len() * KEY_LEN)
    }
}

/// What is found at a place.
pub(crate) enum Found<'p> {
    /// An object that fits one frame.
    Whole(Piece),
    /// A large object: its chunk frames.
    Chunks(Vec<Frame<'p>>, u64),
}

/// Plain bytes of a dictionary or other control frame.
///
/// # Errors
/// `Checksum`, and those of inflating.
pub(crate) fn control_plain(frame: &Frame<'_>) -> Result<Vec<u8>, FormatError> {
    frame.check()?;
    plain(frame, frame.payload, Aid::Alone)
}

fn plain(frame: &Frame<'_>, payload: &[u8], aid: Aid<'_>) -> Result<Vec<u8>, FormatError> {
    let size = frame.plain_size()?;
    match frame.method {
        Method::Stored if payload.len() == size => Ok(payload.to_vec()),
        Method::Stored => {
            let (expected, found) = (size as u64, payload.len() as u64);
            Err(FormatError::Mismatch { what: "stored payload", expected, found })
        }
        _ => {
            let mut out = Vec::new();
            codec::inflate(payload, aid, size, &mut out)?;
            Ok(out)
        }
    }
}

/// Plain bytes of a chunk frame.
///
/// # Errors
/// `Unknown` for another kind or a method chunks never have, and those of inflating.
pub(crate) fn chunk_plain(frame: &Frame<'_>) -> Result<Vec<u8>, FormatError> {
    match (frame.kind, frame.method) {
        (Kind::Chunk, Method::Stored | Method::Deflated) => plain(frame, frame.payload, Aid::Alone),
        _ => Err(FormatError::Unknown { what: "chunk frame", found: frame.offset }),
    }
}

/// One link of a chain: a delta waiting for its base.
struct Link<'p> {
    pack: &'p Pack,
    frame: Frame<'p>,
}

/// Decodes the object at `place`.
///
/// # Errors
/// Any layout violation along the chain of bases.
pub(crate) fn object<'p>(set: &'p PackSet, pack: &'p Pack, place: Place) -> Result<Found<'p>, FormatError> {
    let (mut pack, mut place) = (pack, place);
    let mut chain: Vec<Link<'p>> = Vec::new();
    let root = loop {
        let frame = pack.frame(place.offset)?;
        match (frame.kind, frame.method) {
            (Kind::Raw { .. } | Kind::Cut { .. }, Method::Delta { base, .. }) => {
                if chain.len() >= usize::from(MAX_DEPTH) {
                    let limit = u64::from(MAX_DEPTH);
                    return Err(FormatError::TooLarge { what: "chain of bases", found: limit + 1, limit });
                }
                chain.push(Link { pack, frame });
                (pack, place) = base_of(set, pack, base)?;
            }
            (Kind::Raw { .. } | Kind::Cut { .. }, _) => break single(pack, &frame)?,
            (Kind::Group, _) => break member(pack, &frame, place.ordinal)?,
            (Kind::Large { .. }, _) if chain.is_empty() => return chunks(pack, &frame),
            _ => return Err(FormatError::Unknown { what: "object frame", found: frame.offset }),
        }
    };
    let mut piece = root;
    while let Some(link) = chain.pop() {
        piece = apply(link.pack, &link.frame, &piece)?;
    }
    Ok(Found::Whole(piece))
}

/// How many bases the object at `place` stands on, as its frame declares.
pub(crate) fn depth_at(pack: &Pack, place: Place) -> u8 {
    match pack.frame(place.offset).map(|frame| frame.method) {
        Ok(Method::Delta { depth, .. }) => depth,
        _ => 0,
    }
}

pub(super) fn base_of<'p>(
    set: &'p PackSet,
    pack: &'p Pack,
    base: RefCode,
) -> Result<(&'p Pack, Place), FormatError> {
    let missing = || FormatError::Unknown { what: "base of a delta", found: u64::from(number_of(base)) };
    match base {
        RefCode::Local(ordinal) => pack.place_of(ordinal).map(|place| (pack, place)).ok_or_else(missing),
        RefCode::Foreign(_) => {
            let key = pack.key_of(base).ok_or_else(missing)?;
            set.locate(&key).ok_or_else(missing)
        }
    }
}

fn number_of(code: RefCode) -> u32 {
    match code {
        RefCode::Local(n) | RefCode::Foreign(n) => n,
    }
}

pub(super) fn single(pack: &Pack, frame: &Frame<'_>) -> Result<Piece, FormatError> {
    let mut reader = Reader::new(frame.payload);
    let codes = match frame.kind {
        Kind::Cut { ordinal } => {
            let len = reader.len_within("reference codes")?;
            Some((ordinal, reader.take("reference codes", len)?))
        }
        _ => None,
    };
    let payload = reader.rest();
    let form = match frame.method {
        Method::WithDictionary(number) => {
            plain(frame, payload, Aid::Dictionary(pack.dictionary(number)?.as_ref()))?
        }
        _ => plain(frame, payload, Aid::Alone)?,
    };
    let keys = codes.map(|(ordinal, codes)| read_keys(pack, ordinal, codes, &form, 0)).transpose()?;
    Ok(Piece { form, keys })
}

/// `made` counts the keys that are being made.
fn read_keys(
    pack: &Pack,
    ordinal: u32,
    codes: &[u8],
    form: &[u8],
    made: u8,
) -> Result<Vec<Key>, FormatError> {
    let count = cut::key_count(form)?;
    let mut reader = Reader::new(codes);
    let mut state = Codes::of(ordinal);
    let mut keys = Vec::with_capacity(count.min(codes.len()));
    for _ in 0..count {
        keys.push(key_of(pack, state.take(&mut reader)?, made)?);
    }
    Ok(keys)
}

fn key_of(pack: &Pack, code: RefCode, made: u8) -> Result<Key, FormatError> {
    let unknown = || FormatError::Unknown { what: "reference code", found: u64::from(number_of(code)) };
    // While an index is made again some are not known yet.
    pack.key_at(code, made).filter(|key| *key != [0; KEY_LEN]).ok_or_else(unknown)
}

pub(super) fn apply(pack: &Pack, frame: &Frame<'_>, base: &Piece) -> Result<Piece, FormatError> {
    if let (Kind::Raw { .. }, Some([])) = (frame.kind, base.keys.as_deref()) {
        return apply(pack, frame, &base.clone().of_blob()?);
    }
    let mut reader = Reader::new(frame.payload);
    let keys = match (frame.kind, &base.keys) {
        (Kind::Cut { ordinal }, Some(base_keys)) => {
            let len = reader.len_within("key operations")?;
            Some(apply_ops(pack, ordinal, base_keys, reader.take("key operations", len)?)?)
        }
        (Kind::Raw { .. }, None) => None,
        _ => return Err(FormatError::Unknown { what: "kind of base", found: frame.offset }),
    };
    let mut form = Vec::new();
    delta::decode(&base.form, reader.rest(), frame.plain_size()?, &mut form)?;
    Ok(Piece { form, keys })
}

fn apply_ops(pack: &Pack, ordinal: u32, base: &[Key], ops: &[u8]) -> Result<Vec<Key>, FormatError> {
    let mut reader = Reader::new(ops);
    let mut state = Codes::of(ordinal);
    let (mut keys, mut at) = (Vec::new(), 0usize);
    let span = |at: usize, n: u32| -> Result<&[Key], FormatError> {
        let cut = FormatError::Cut { what: "keys of the base", offset: at as u64 };
        base.get(at..at.saturating_add(n as usize)).ok_or(cut)
    };
    while reader.remaining() > 0 {
        match take_op(&mut reader)? {
            KeyOp::Copy(n) => {
                keys.extend_from_slice(span(at, n)?);
                at += n as usize;
            }
            KeyOp::Skip(n) => at = at.saturating_add(span(at, n)?.len()),
            KeyOp::New(n) => {
                for _ in 0..n {
                    keys.push(key_of(pack, state.take(&mut reader)?, 0)?);
                }
            }
        }
    }
    Ok(keys)
}

pub(super) fn chunks<'p>(pack: &'p Pack, frame: &Frame<'p>) -> Result<Found<'p>, FormatError> {
    frame.check()?;
    let offsets = large::read(frame.offset, frame.payload)?;
    let chunks = offsets.into_iter().map(|at| pack.frame(at)).collect::<Result<Vec<_>, _>>()?;
    let found: u64 = chunks.iter().map(|chunk| chunk.plain_len).sum();
    if found != frame.plain_len {
        return Err(FormatError::Mismatch { what: "chunk lengths", expected: frame.plain_len, found });
    }
    Ok(Found::Chunks(chunks, frame.plain_len))
}

pub(super) fn member(pack: &Pack, frame: &Frame<'_>, ordinal: u32) -> Result<Piece, FormatError> {
    let open = group_at(pack, frame)?;
    let slot = open.slot(ordinal)?;
    open.piece(pack, slot, 0)
}

/// The key of the member of a group at `place`, made from its bytes. `made` counts the keys that are being made, this
/// one included; `is_known` is asked about a key that was not made before.
///
/// # Errors
/// Those of reading the group and its member; `Unknown` when the key is not known.
pub(crate) fn made_key(
    pack: &Pack,
    place: Place,
    made: u8,
    is_known: impl FnOnce(&Key) -> bool,
) -> Result<Key, FormatError> {
    let frame = pack.frame(place.offset)?;
    let open = match frame.kind {
        Kind::Group => group_at(pack, &frame)?,
        _ => return Err(FormatError::Unknown { what: "group", found: place.offset }),
    };
    let slot = open.slot(place.ordinal)?;
    let kept = open.keys.get(slot).and_then(OnceLock::get);
    if let Some(key) = kept {
        return Ok(*key);
    }
    let key = *identity_of(&open.piece(pack, slot, made)?.envelope()?, place)?.as_bytes();
    if !is_known(&key) {
        return Err(FormatError::Unknown { what: "key of a member", found: u64::from(place.ordinal) });
    }
    open.keys.get(slot).map(|kept| kept.get_or_init(|| key));
    Ok(key)
}

/// The identity of an envelope, or of the beginning of one whose hash is not asked for.
///
/// # Errors
/// `Cut` when it is none.
pub(crate) fn identity_of(envelope: &[u8], place: Place) -> Result<Gid, FormatError> {
    let header = EnvelopeHeader::read(envelope, &Limits::DEFAULT)
        .map_err(|_| FormatError::Cut { what: "envelope", offset: place.offset })?;
    Ok(Gid::of_envelope(header.family(), envelope))
}

/// A group inflated, and the keys of its members that were made.
#[derive(Debug)]
pub(crate) struct OpenGroup {
    pub(crate) group: Group,
    keys: Vec<OnceLock<Key>>,
}

impl OpenGroup {
    fn slot(&self, ordinal: u32) -> Result<usize, FormatError> {
        let unknown = FormatError::Unknown { what: "member of a group", found: u64::from(ordinal) };
        self.group.slot_of(ordinal).ok_or(unknown)
    }

    fn piece(&self, pack: &Pack, slot: usize, made: u8) -> Result<Piece, FormatError> {
        let unknown = FormatError::Unknown { what: "group slot", found: slot as u64 };
        let (ordinal, codes, form) = self.group.member(slot).ok_or(unknown)?;
        let keys = read_keys(pack, ordinal, codes, form, made)?;
        Ok(Piece { form: form.to_vec(), keys: Some(keys) })
    }
}

/// Groups kept inflated per thread: neighbours are read one after the other.
const KEPT_GROUPS: usize = 8;

thread_local! {
    static GROUPS: RefCell<Vec<(u64, u64, Arc<OpenGroup>)>> = const { RefCell::new(Vec::new()) };
}

/// The group in a frame, from this thread's cache if it was read lately. Its check is verified, so that what its members
/// hash to is believed.
///
/// # Errors
/// `Checksum`, those of inflating and of [`Group::parse`].
pub(crate) fn group_at(pack: &Pack, frame: &Frame<'_>) -> Result<Arc<OpenGroup>, FormatError> {
    let key = (pack.token, frame.offset);
    let kept = GROUPS.with_borrow_mut(|groups| {
        let at = groups.iter().position(|(token, offset, _)| (*token, *offset) == key)?;
        let entry = groups.remove(at);
        let group = entry.2.clone();
        groups.push(entry);
        Some(group)
    });
    if let Some(group) = kept {
        return Ok(group);
    }
    let group = Group::parse(&control_plain(frame)?)?;
    let keys = (0..group.len()).map(|_| OnceLock::new()).collect();
    let group = Arc::new(OpenGroup { group, keys });
    GROUPS.with_borrow_mut(|groups| {
        if groups.len() >= KEPT_GROUPS {
            groups.remove(0);
        }
        groups.push((key.0, key.1, group.clone()));
    });
    Ok(group)
}
