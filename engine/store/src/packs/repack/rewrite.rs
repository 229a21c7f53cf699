//! Writing all objects of a survey to one new pack.

use super::choose::{Base, Form, Whole, choose};
use super::family::Families;
use super::likeness::Likeness;
use super::survey::{NONE, Shape, Survey};
use crate::packs::decode::{self, Found, Piece, chunk_plain};
use crate::packs::effort::{self, NEIGHBOURS, REPACK_GROUP_LEVEL, TRIED};
use crate::packs::session::{BESIDE_GROUP, PackedGroup, Session, with_length};
use crate::{Result, StoreError};
use gemel_object::Gid;
use gemel_packfmt::codec::{self, Aid, Dictionary, Level};
use gemel_packfmt::frame::{Kind, Method};
use gemel_packfmt::{cut, group::GroupBuilder, large};
use rayon::prelude::*;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Samples a dictionary is trained on: most bytes, most of them, and the longest.
const SAMPLE_BYTES: usize = 8 << 20;
const SAMPLES: usize = 4000;
const SAMPLE_UP_TO: u64 = 32 << 10;
/// Bytes of bases kept because an older version is known to resemble them.
const KEPT_BYTES: usize = 16 << 20;
/// Bytes of neighbours kept.
const NEAR_BYTES: usize = 24 << 20;
/// Objects of groups decoded together.
const BATCH: usize = 1024;

/// Told how many objects of all are written.
pub(super) type Tell<'t> = &'t (dyn Fn(u64) + Sync);

/// A rewriting under way.
pub(super) struct Rewrite<'s> {
    survey: &'s Survey,
    session: Mutex<Session>,
    level: Level,
    dictionary: Option<(u32, Arc<Dictionary>)>,
    tell: Tell<'s>,
}

impl<'s> Rewrite<'s> {
    /// Gives every object its number: in the order in which they were written first, so that references are short.
    pub(super) fn new(survey: &'s Survey, mut session: Session, level: Level, tell: Tell<'s>) -> Rewrite<'s> {
        session.group_level = REPACK_GROUP_LEVEL;
        for item in &survey.items {
            session.admit(&item.id, usize::try_from(item.plain_bytes).unwrap_or(usize::MAX));
        }
        Rewrite { survey, session: Mutex::new(session), level, dictionary: None, tell }
    }

    /// Writes everything; the session, to be committed.
    ///
    /// # Errors
    /// `CorruptObject` for what cannot be read, `Io`, `Limit`.
    pub(super) fn run(mut self) -> Result<Session> {
        let survey = self.survey;
        let shape = |at: u32| survey.items[at as usize].shape;
        let loners = survey.small_loners();
        let is_loner = |at: u32| loners.get(at as usize).copied().unwrap_or_default();
        let raw = Families::of(survey, true, |at| shape(at) == Shape::Raw && !is_loner(at))?;
        self.train(&raw)?;
        self.sequences(&raw)?;
        drop(raw);
        let cut = Families::of(survey, true, |at| survey.is_versioned(at))?;
        self.sequences(&cut)?;
        drop(cut);
        let all = 0..u32::try_from(survey.items.len()).unwrap_or(NONE);
        let is_grouped = |at: &u32| is_loner(*at) || shape(*at) == Shape::Cut && !survey.is_versioned(*at);
        let grouped: Vec<u32> = all.clone().filter(is_grouped).collect();
        self.groups(&grouped)?;
        for at in all.filter(|at| shape(*at) == Shape::Large) {
            self.large(at)?;
            (self.tell)(1);
        }
        Ok(self.session.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Trains a dictionary on what begins sequences: it is what will stand by itself.
    fn train(&mut self, families: &Families) -> Result<()> {
        let survey = self.survey;
        let small = |at: &u32| survey.items[*at as usize].plain_bytes <= SAMPLE_UP_TO;
        let heads: Vec<u32> =
            families.sequences.iter().filter_map(|s| s.first().copied()).filter(small).collect();
        let total: u64 = heads.iter().map(|at| survey.items[*at as usize].plain_bytes).sum();
        let step =
            (heads.len() / SAMPLES).max(usize::try_from(total).unwrap_or(usize::MAX) / SAMPLE_BYTES).max(1);
        let samples: Vec<Vec<u8>> = heads
            .iter()
            .step_by(step)
            .map(|at| survey.piece(*at).map(|piece| piece.form))
            .collect::<Result<_>>()?;
        let trained = effort::train(&samples).and_then(|bytes| Dictionary::for_writing(bytes, self.level));
        if let Some(dictionary) = trained {
            let number = self.lock().put_dictionary(dictionary.bytes(), self.level)?;
            self.dictionary = Some((number, Arc::new(dictionary)));
        }
        Ok(())
    }

    fn sequences(&self, families: &Families) -> Result<()> {
        families
            .sequences
            .par_iter()
            .with_max_len(1)
            .try_for_each(|sequence| self.sequence(sequence, &families.alike))
    }

    /// Writes the versions of something, newest first.
    fn sequence(&self, sequence: &[u32], alike: &HashMap<u32, Vec<u32>>) -> Result<()> {
        let dictionary = self.dictionary.as_ref().map(|(_, dictionary)| dictionary.as_ref());
        forms(self.survey, sequence, alike, self.level, dictionary, |at, piece, form| {
            self.put(&self.survey.items[at as usize].id, piece, form)?;
            (self.tell)(1);
            Ok(())
        })
    }

    fn put(&self, id: &Gid, piece: &Piece, form: &Form) -> Result<()> {
        let mut session = self.lock();
        let Some(ordinal) = session.ordinal_of(id) else { return Ok(()) };
        let len = piece.form.len() as u64;
        match (form, &piece.keys) {
            (Form::Delta { base, ops, payload, .. }, keys) => {
                let method = Method::Delta { base: session.code(base.id.as_bytes()), depth: base.depth + 1 };
                match keys {
                    Some(keys) => {
                        let codes = with_length(&session.op_codes(ordinal, keys, ops));
                        session.put_object(ordinal, Kind::Cut { ordinal }, method, len, &[&codes, payload])
                    }
                    None => session.put_object(ordinal, Kind::Raw { ordinal }, method, len, &[payload]),
                }
            }
            (Form::Whole(_), Some(keys)) => {
                let codes = session.codes(ordinal, keys);
                let Some(group) = session.join_group(ordinal, id.family().code(), &codes, &piece.form) else {
                    return Ok(());
                };
                drop(session);
                let packed = PackedGroup::new(&group, REPACK_GROUP_LEVEL);
                self.lock().put_group(&packed)
            }
            (Form::Whole(whole), None) => {
                let (method, payload) = match (whole, &self.dictionary) {
                    (Whole::Deflated(payload), _) => (Method::Deflated, payload),
                    (Whole::WithDictionary(payload), Some((number, _))) => {
                        (Method::WithDictionary(*number), payload)
                    }
                    _ => (Method::Stored, &piece.form),
                };
                session.put_object(ordinal, Kind::Raw { ordinal }, method, len, &[payload])
            }
        }
    }

    /// An object in cut form; a blob is one without references.
    fn cut_piece(&self, at: u32) -> Result<Piece> {
        let piece = self.survey.piece(at)?;
        if piece.keys.is_some() {
            return Ok(piece);
        }
        let mut form = Vec::with_capacity(piece.form.len() + 1);
        let id = self.survey.items[at as usize].id;
        cut::cut(&piece.form, &[], &mut form)
            .map_err(|e| StoreError::InvalidObject { family: id.family(), detail: e.to_string() })?;
        Ok(Piece { form, keys: Some(Vec::new()) })
    }

    /// Writes objects that share groups, in the order they were written in.
    fn groups(&self, items: &[u32]) -> Result<()> {
        for batch in items.chunks(BATCH) {
            let pieces: Vec<Piece> = batch.par_iter().map(|&at| self.cut_piece(at)).collect::<Result<_>>()?;
            let mut full: Vec<GroupBuilder> = Vec::new();
            {
                let mut session = self.lock();
                for (at, piece) in batch.iter().zip(&pieces) {
                    let item = &self.survey.items[*at as usize];
                    let Some(ordinal) = session.ordinal_of(&item.id) else { continue };
                    let codes = session.codes(ordinal, piece.keys.as_deref().unwrap_or_default());
                    let group = if item.beside { BESIDE_GROUP } else { item.id.family().code() };
                    full.extend(session.join_group(ordinal, group, &codes, &piece.form));
                }
            }
            let packed: Vec<PackedGroup> =
                full.par_iter().map(|group| PackedGroup::new(group, REPACK_GROUP_LEVEL)).collect();
            packed.iter().try_for_each(|group| self.lock().put_group(group))?;
            (self.tell)(batch.len() as u64);
        }
        Ok(())
    }

    /// Writes an object in chunks, one after the other.
    fn large(&self, at: u32) -> Result<()> {
        let item = &self.survey.items[at as usize];
        let pack = &self.survey.packs[item.pack as usize];
        let damage = |detail: String| StoreError::CorruptObject {
            id: item.id,
            path: pack.path.clone(),
            offset_bytes: item.place.offset,
            detail,
        };
        let found = decode::object(&self.survey.set, pack, item.place).map_err(|e| damage(e.to_string()))?;
        let Found::Chunks(chunks, total) = found else { return Err(damage("is not in chunks".to_owned())) };
        let mut session = self.lock();
        let Some(ordinal) = session.ordinal_of(&item.id) else { return Ok(()) };
        let (mut hasher, mut offsets) = (blake3::Hasher::new(), Vec::new());
        for chunk in &chunks {
            let plain = chunk_plain(chunk).map_err(|e| damage(e.to_string()))?;
            hasher.update(&plain);
            let mut payload = Vec::new();
            let (method, bytes) = match codec::deflate(&plain, Aid::Alone, self.level, &mut payload) {
                true => (Method::Deflated, &payload),
                false => (Method::Stored, &plain),
            };
            offsets.push(session.put_frame(Kind::Chunk, method, plain.len() as u64, &[bytes])?);
        }
        if Gid::new(item.id.family(), *hasher.finalize().as_bytes()) != item.id {
            return Err(damage("its bytes hash to another identity".to_owned()));
        }
        let list = large::payload(session.end(), &offsets);
        session.put_object(ordinal, Kind::Large { ordinal }, Method::Stored, total, &[&list])
    }
}

/// Chooses a form for each version of something, newest first, and hands it on.
///
/// # Errors
/// `CorruptObject`, and those of `take`.
pub(super) fn forms(
    survey: &Survey,
    sequence: &[u32],
    alike: &HashMap<u32, Vec<u32>>,
    level: Level,
    dictionary: Option<&Dictionary>,
    mut take: impl FnMut(u32, &Piece, &Form) -> Result<()>,
) -> Result<()> {
    let (mut near, mut near_bytes) = (VecDeque::<Arc<Base>>::new(), 0usize);
    // Bases by the item that is known to resemble them and comes later.
    let mut kept: HashMap<u32, Vec<Arc<Base>>> = HashMap::new();
    let mut kept_bytes = 0usize;
    let mut related: HashMap<u32, Vec<u32>> = HashMap::new();
    for &at in sequence.iter().filter(|_| sequence.len() > 1) {
        let base = survey.items[at as usize].base;
        if base != NONE {
            related.entry(at).or_default().push(base);
            related.entry(base).or_default().push(at);
        }
        related.entry(at).or_default().extend(alike.get(&at).into_iter().flatten());
    }
    for &at in sequence {
        let piece = survey.piece(at)?;
        let known = kept.remove(&at).unwrap_or_default();
        kept_bytes -= known.iter().map(|base| base.piece.form.len()).sum::<usize>();
        let likeness = match sequence {
            [_] => Likeness::default(),
            _ => Likeness::of(&piece),
        };
        let mut closest: Vec<(usize, &Arc<Base>)> =
            near.iter().rev().map(|base| (base.likeness.lacks(&likeness), base)).collect();
        closest.sort_by_key(|(lacking, _)| *lacking);
        let closest = closest.into_iter().take(TRIED).map(|(_, base)| Arc::clone(base));
        let candidates: Vec<Arc<Base>> = closest.chain(known).collect();
        let form = choose(&piece, &candidates, level, dictionary);
        take(at, &piece, &form)?;
        if sequence.len() == 1 {
            break;
        }
        let on = match &form {
            Form::Delta { base, place, .. } => Some((base, *place)),
            Form::Whole(_) => None,
        };
        let item = &survey.items[at as usize];
        let base = Arc::new(Base::new(item.id, piece, likeness, on));
        for other in related.remove(&at).unwrap_or_default() {
            // One that is written already needs no base any more.
            if related.contains_key(&other) && kept_bytes + base.piece.form.len() <= KEPT_BYTES {
                kept_bytes += base.piece.form.len();
                kept.entry(other).or_default().push(Arc::clone(&base));
            }
        }
        near_bytes += base.piece.form.len();
        near.push_back(base);
        while near.len() > NEIGHBOURS || near_bytes > NEAR_BYTES && near.len() > 1 {
            near_bytes -= near.pop_front().map_or(0, |base| base.piece.form.len());
        }
    }
    Ok(())
}
