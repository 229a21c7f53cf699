//! Writer sessions: deduplication and compression on the calling threads, one pack, one commit.

use super::claim;
use super::decode::Piece;
use super::effort::{
    self, BESIDE_UP_TO, BULK_BYTES, BULK_OBJECTS, CHUNK_FROM, DEPTH, DICTIONARY_UP_TO, Effort,
    METADATA_CHUNK_FROM, METADATA_LEVEL,
};
use super::publish;
use super::session::{BESIDE_GROUP, PackedGroup, Session, with_length};
use super::set::PackSet;
use crate::{Result, Store, StoreError};
use gemel_object::{Family, Gid, Limits, Object, refs_of};
use gemel_packfmt::codec::{self, Aid, Dictionary, Level};
use gemel_packfmt::frame::{Kind, Method};
use gemel_packfmt::refcode::{KeyOp, key_ops};
use gemel_packfmt::{Key, cut, delta};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// An object to be written: its identity, its whole envelope, and an object it probably resembles.
#[derive(Clone, Debug)]
pub struct NewObject {
    /// Identity; the caller hashed the bytes.
    pub id: Gid,
    /// Whole canonical envelope.
    pub bytes: Vec<u8>,
    /// An earlier version of the same thing, as a base for delta compression.
    pub base: Option<Gid>,
}

/// What a session wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteReport {
    /// Objects that were not stored before.
    pub objects_new: u64,
    /// Objects offered that were stored already.
    pub objects_known: u64,
    /// Bytes appended to packs.
    pub stored_bytes: u64,
    /// Canonical bytes of the new objects.
    pub plain_bytes: u64,
}

/// A writer session: deduplicates, compresses on the calling threads, appends to one pack. All methods may be
/// called from several threads at once.
#[derive(Debug)]
pub struct Writer<'s> {
    pub(super) store: &'s Store,
    pub(super) set: Arc<PackSet>,
    /// How far packs are durable: what lies behind is written again rather than relied on.
    settled: BTreeMap<u64, u64>,
    pub(super) effort: RwLock<Effort>,
    pub(super) state: Mutex<State>,
}

/// Where a session stands.
#[derive(Debug)]
pub(super) struct State {
    pub(super) session: Option<Box<Session>>,
    bulk: bool,
    /// Why the session ended before its commit.
    failure: Option<StoreError>,
    known: u64,
}

impl<'s> Writer<'s> {
    pub(crate) fn new(store: &'s Store) -> Result<Writer<'s>> {
        let state = State { session: None, bulk: false, failure: None, known: 0 };
        let (settled, set) = (store.settled()?, store.fresh_set()?);
        Ok(Writer { store, set, settled, effort: RwLock::default(), state: Mutex::new(state) })
    }

    /// Announces bulk work, so that effort and dictionary can be chosen: about `objects` blobs of `bytes` in all,
    /// and sample bodies of small ones to train on (may be empty). Call it before the first object.
    ///
    /// # Errors
    /// `Io`, `Poisoned`.
    pub fn expect_bulk(&self, objects: u64, bytes: u64, samples: &[Vec<u8>]) -> Result<()> {
        let level = effort::level_for(bytes);
        self.begin(bytes >= BULK_BYTES || objects >= BULK_OBJECTS, level, level, samples)
    }

    /// Announces versions of the same things, about `objects` of `bytes` in all, written by [`Writer::put_on`];
    /// otherwise as [`Writer::expect_bulk`].
    ///
    /// # Errors
    /// `Io`, `Poisoned`.
    pub fn expect_history(&self, objects: u64, bytes: u64, samples: &[Vec<u8>]) -> Result<()> {
        let (level, delta_level, group_level) = effort::history_levels(bytes);
        self.begin(bytes >= BULK_BYTES || objects >= BULK_OBJECTS, level, delta_level, samples)?;
        self.with_session(false, |session| {
            session.group_level = group_level;
            Ok(())
        })
    }

    fn begin(&self, bulk: bool, level: Level, delta_level: Level, samples: &[Vec<u8>]) -> Result<()> {
        let trained = effort::train(samples).and_then(|bytes| Dictionary::for_writing(bytes, level));
        let mut effort = self.effort.write().unwrap_or_else(PoisonError::into_inner);
        (effort.level, effort.delta_level) = (level, delta_level);
        self.with_session(bulk, |session| {
            if let Some(dictionary) = trained {
                let number = session.put_dictionary(dictionary.bytes(), METADATA_LEVEL)?;
                effort.dictionary = Some((number, Arc::new(dictionary)));
            }
            Ok(())
        })
    }

    /// Adds an object unless it is stored; `true` if it is new. Families other than blob are validated, and the
    /// objects they reference should be put before them.
    ///
    /// # Errors
    /// `InvalidObject`, `HashCollision` for other bytes under a known identity (STO-03), `Io`, `Poisoned`.
    pub fn put(&self, object: NewObject) -> Result<bool> {
        if self.contains(&object.id) {
            // Only what is known is hashed here: of new objects the caller made identity and bytes together.
            if !super::set::hash(&object.id, &object.bytes) {
                return Err(StoreError::HashCollision { id: object.id });
            }
            self.lock().known += 1;
            return Ok(false);
        }
        validate(object.id, &object.bytes)?;
        let most = if object.id.family() == Family::Blob { CHUNK_FROM } else { METADATA_CHUNK_FROM };
        if object.bytes.len() > most {
            return self
                .put_chunked(object.id.family(), object.bytes.len() as u64, &[], &mut &object.bytes[..])
                .map(|r| r.1);
        }
        match object.id.family() {
            Family::Blob => self.put_blob(&object),
            family => self.put_metadata(&object, family.code()),
        }
    }

    /// Adds a small object to the group of those that belong beside it, whatever their families, in the order of the
    /// calls: what is written together compresses together. Otherwise as [`Writer::put`].
    ///
    /// # Errors
    /// As [`Writer::put`].
    pub fn put_beside(&self, object: NewObject) -> Result<bool> {
        if object.bytes.len() > BESIDE_UP_TO || self.contains(&object.id) {
            return self.put(object);
        }
        validate(object.id, &object.bytes)?;
        self.put_metadata(&object, BESIDE_GROUP)
    }

    /// Whether an object is stored or was put in this session.
    pub fn contains(&self, id: &Gid) -> bool {
        self.is_stored(id) || self.lock().session.as_ref().is_some_and(|session| session.contains(id))
    }

    /// Makes everything put so far durable and visible to readers. Call it before the ref transaction that names
    /// the objects. Dropping a session without it leaves the store as it was.
    ///
    /// # Errors
    /// `Io`, `Poisoned`; the store is then as it was.
    pub fn commit(self) -> Result<WriteReport> {
        let mut state = self.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.again());
        }
        let known = WriteReport { objects_known: state.known, ..WriteReport::default() };
        let Some(session) = state.session.take() else { return Ok(known) };
        let bulk = state.bulk;
        drop(state);
        if session.objects.is_empty() {
            publish::take_back(self.store.vfs().as_ref(), *session);
            return Ok(known);
        }
        let number = session.claim.number;
        let (report, end) =
            publish::commit(self.store.vfs().as_ref(), self.store.packs_dir(), *session, bulk)?;
        self.store.settle(number, end);
        self.store.refresh()?;
        Ok(WriteReport { objects_known: known.objects_known, ..report })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an object was durable when the session began.
    pub(super) fn is_stored(&self, id: &Gid) -> bool {
        self.set.packs.iter().any(|pack| pack.find_settled(id.as_bytes(), &self.settled).is_some())
    }

    /// Runs `work` on the session, taking a pack first if there is none yet. An error ends the session.
    pub(super) fn with_session<T>(
        &self,
        bulk: bool,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        let mut state = self.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.again());
        }
        if state.session.is_none() {
            let vfs = self.store.vfs().as_ref();
            let claim = claim::claim(
                vfs,
                self.store.packs_dir(),
                &self.set,
                &self.settled,
                !bulk,
                self.store.is_unseen(),
            )?;
            state.session = Some(Box::new(Session::new(claim)));
            state.bulk = bulk;
        }
        let Some(session) = state.session.as_mut() else { return Err(StoreError::Poisoned) };
        let done = work(session);
        if let Err(error) = &done {
            state.failure = Some(error.again());
            if let Some(session) = state.session.take() {
                publish::take_back(self.store.vfs().as_ref(), *session);
            }
        }
        done
    }

    fn put_blob(&self, object: &NewObject) -> Result<bool> {
        let effort = self.effort.read().unwrap_or_else(PoisonError::into_inner).clone();
        let plain = &object.bytes;
        let mut payload = Vec::new();
        if let Some((base, piece, depth)) = self.base(object.base.as_ref(), false) {
            // A difference that is not well below what compression alone gives is not worth its chain.
            if delta::encode(&piece.form, plain, effort.level, plain.len() / 2, &mut payload) {
                return self.with_session(false, |session| {
                    let Some(ordinal) = session.admit(&object.id, plain.len()) else { return Ok(false) };
                    let base = session.code(base.as_bytes());
                    session.foreign_bases = true;
                    let method = Method::Delta { base, depth: depth + 1 };
                    session.put_object(
                        ordinal,
                        Kind::Raw { ordinal },
                        method,
                        plain.len() as u64,
                        &[&payload],
                    )?;
                    Ok(true)
                });
            }
        }
        let dictionary = effort.dictionary.as_ref().filter(|_| plain.len() <= DICTIONARY_UP_TO);
        let aid = dictionary.map_or(Aid::Alone, |(_, dictionary)| Aid::Dictionary(dictionary));
        let method = match (codec::deflate(plain, aid, effort.level, &mut payload), dictionary) {
            (false, _) => Method::Stored,
            (true, None) => Method::Deflated,
            (true, Some((number, _))) => Method::WithDictionary(*number),
        };
        let stored = if method == Method::Stored { plain } else { &payload };
        self.with_session(false, |session| {
            let Some(ordinal) = session.admit(&object.id, plain.len()) else { return Ok(false) };
            session.put_object(ordinal, Kind::Raw { ordinal }, method, plain.len() as u64, &[stored])?;
            Ok(true)
        })
    }

    /// The base of an object if it can serve: stored, of the right shape, not too deep.
    fn base(&self, id: Option<&Gid>, cut: bool) -> Option<(Gid, Piece, u8)> {
        let id = id?;
        let (piece, depth) = self.set.base(id, &self.settled)?;
        (piece.keys.is_some() == cut && depth < DEPTH).then_some((*id, piece, depth))
    }

    /// `group` is the number of the group that the object joins if it stands on nothing.
    fn put_metadata(&self, object: &NewObject, group: u8) -> Result<bool> {
        let (mut positions, mut keys) = (Vec::new(), Vec::new());
        for found in refs_of(&object.bytes) {
            positions.push(found.offset as u32);
            keys.push(*found.gid.as_bytes());
        }
        let mut form = Vec::with_capacity(object.bytes.len());
        let invalid = |e: gemel_packfmt::FormatError| StoreError::InvalidObject {
            family: object.id.family(),
            detail: e.to_string(),
        };
        cut::cut(&object.bytes, &positions, &mut form).map_err(invalid)?;
        if let Some((base, piece, depth)) = self.base(object.base.as_ref(), true) {
            let ops = key_ops(piece.keys.as_deref().unwrap_or_default(), &keys);
            let fresh: usize =
                ops.iter().map(|op| if let KeyOp::New(n) = op { *n as usize } else { 0 }).sum();
            let mut payload = Vec::new();
            if fresh * 2 <= keys.len()
                && delta::encode(&piece.form, &form, METADATA_LEVEL, form.len() / 2 + 16, &mut payload)
            {
                let plain_len = object.bytes.len();
                return self.put_cut_delta(
                    object.id,
                    plain_len,
                    (&keys, &ops),
                    (base, depth),
                    (&form, &payload),
                );
            }
        }
        let full = self.with_session(false, |session| {
            let Some(ordinal) = session.admit(&object.id, object.bytes.len()) else { return Ok(None) };
            let codes = session.codes(ordinal, &keys);
            let full = session.join_group(ordinal, group, &codes, &form);
            Ok(Some(full.map(|full| (full, session.group_level))))
        })?;
        let Some(full) = full else { return Ok(false) };
        if let Some((group, level)) = full {
            // Compressed outside the lock, so that other threads go on.
            let packed = PackedGroup::new(&group, level);
            self.with_session(false, |session| session.put_group(&packed))?;
        }
        Ok(true)
    }

    pub(super) fn put_cut_delta(
        &self,
        id: Gid,
        plain_len: usize,
        (keys, ops): (&[Key], &[KeyOp]),
        (base, depth): (Gid, u8),
        (form, payload): (&[u8], &[u8]),
    ) -> Result<bool> {
        self.with_session(false, |session| {
            let Some(ordinal) = session.admit(&id, plain_len) else { return Ok(false) };
            let codes = with_length(&session.op_codes(ordinal, keys, ops));
            session.foreign_bases |= session.depth_of(&base).is_none();
            let base = session.code(base.as_bytes());
            let method = Method::Delta { base, depth: depth + 1 };
            session.put_object(
                ordinal,
                Kind::Cut { ordinal },
                method,
                form.len() as u64,
                &[&codes, payload],
            )?;
            Ok(true)
        })
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.lock().session.take() {
            publish::take_back(self.store.vfs().as_ref(), *session);
        }
    }
}

/// Whether the envelope is what its identity says; families other than blob obey every rule.
pub(super) fn validate(id: Gid, bytes: &[u8]) -> Result<()> {
    let family = id.family();
    let invalid =
        |error: gemel_object::ObjectError| StoreError::InvalidObject { family, detail: error.to_string() };
    let found = match family {
        Family::Blob => Object::parse(bytes, &Limits::DEFAULT).map_err(invalid)?.family(),
        _ => Object::decode(bytes, &Limits::DEFAULT).map_err(invalid)?.family(),
    };
    if found != family {
        return Err(StoreError::InvalidObject {
            family,
            detail: format!("the envelope says {}", found.name()),
        });
    }
    Ok(())
}
