//! What is to be rewritten: every object once, where it lies, and on what it stands.

use crate::packs::decode::{self, Found, Piece};
use crate::packs::effort::GROUPED_UP_TO;
use crate::packs::hasher::KeyMap;
use crate::packs::pack::Pack;
use crate::packs::set::{PackSet, hash};
use crate::{Result, StoreError};
use gemel_object::{Family, Gid};
use gemel_packfmt::frame::{Frame, Kind, Method};
use gemel_packfmt::index::Place;
use gemel_packfmt::{Key, large};
use std::collections::HashMap;
use std::sync::Arc;

/// Stands for "no item".
pub(super) const NONE: u32 = u32::MAX;

/// How an object is stored now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A frame of its own, whole.
    Raw,
    /// A frame of its own, or a place in a group, in cut form.
    Cut,
    /// In chunks.
    Large,
}

/// One object.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) id: Gid,
    /// Which of the packs.
    pub(super) pack: u32,
    pub(super) place: Place,
    pub(super) shape: Shape,
    /// Whether it stands on a base or has a frame of its own; members of groups do not.
    pub(super) alone: bool,
    /// Whether it shares a group with objects of other families: its writer found that they belong together.
    pub(super) beside: bool,
    /// Plain bytes of its frame; 0 for a member of a group, which is small.
    pub(super) plain_bytes: u64,
    /// Bytes of its frame; 0 for a member of a group.
    pub(super) frame_bytes: u64,
    /// The item it stands on, or [`NONE`].
    pub(super) base: u32,
}

/// All objects of some packs, in the order in which they were written.
#[derive(Debug)]
pub(super) struct Survey {
    /// Where bases in packs that are left alone are found, too.
    pub(super) set: Arc<PackSet>,
    /// The packs to be rewritten, oldest first.
    pub(super) packs: Vec<Arc<Pack>>,
    pub(super) items: Vec<Item>,
    /// Bytes of groups.
    pub(super) group_bytes: u64,
    /// Bytes of the chunks of large objects, and of their lists.
    pub(super) chunk_bytes: u64,
}

impl Survey {
    /// Looks at `packs`.
    ///
    /// # Errors
    /// `CorruptFile` for a pack with a damaged batch, `CorruptObject` for a frame that cannot be read.
    pub(super) fn of(set: Arc<PackSet>, packs: Vec<Arc<Pack>>) -> Result<Survey> {
        let mut survey = Survey { set, packs, items: Vec::new(), group_bytes: 0, chunk_bytes: 0 };
        let (mut by_key, mut bases) = (KeyMap::<Key, u32>::default(), Vec::new());
        for number in 0..survey.packs.len() {
            survey.pack(number, &mut by_key, &mut bases)?;
        }
        for (at, key) in bases {
            let base = by_key.get(&key).copied().unwrap_or(NONE);
            // One that is written later is no base: pieces put together from several packs may say so.
            if let Some(item) = survey.items.get_mut(at as usize) {
                item.base = if base < at { base } else { NONE };
            }
        }
        Ok(survey)
    }

    fn pack(
        &mut self,
        number: usize,
        by_key: &mut KeyMap<Key, u32>,
        bases: &mut Vec<(u32, Key)>,
    ) -> Result<()> {
        let pack = Arc::clone(&self.packs[number]);
        let first = self.items.len();
        // The family of each group, or none of a mixed one.
        let mut groups: HashMap<u64, Option<Family>> = HashMap::new();
        for ordinal in 0..pack.objects() {
            let unreadable = |offset_bytes: u64, detail: String| StoreError::CorruptFile {
                path: pack.path.clone(),
                offset_bytes,
                detail,
            };
            let known =
                pack.by_ordinal(ordinal).and_then(|(key, place)| Some((Gid::from_bytes(&key)?, place)));
            let Some((id, place)) = known else {
                return Err(unreadable(0, format!("object {ordinal} cannot be identified")));
            };
            let frame = pack.frame(place.offset).map_err(|e| unreadable(place.offset, e.to_string()))?;
            let (shape, alone) = match frame.kind {
                Kind::Raw { .. } => (Shape::Raw, true),
                Kind::Cut { .. } => (Shape::Cut, true),
                Kind::Group if id.family() == Family::Blob => (Shape::Raw, false),
                Kind::Group => (Shape::Cut, false),
                Kind::Large { .. } => (Shape::Large, true),
                _ => return Err(unreadable(place.offset, "no frame of an object".to_owned())),
            };
            if shape == Shape::Large {
                self.chunk_bytes += frame.end - frame.offset + chunk_bytes(&pack, &frame);
            }
            if !alone {
                let family = groups.entry(place.offset).or_insert_with(|| {
                    self.group_bytes += frame.end - frame.offset;
                    Some(id.family())
                });
                *family = family.filter(|family| *family == id.family());
            }
            let at = u32::try_from(self.items.len()).unwrap_or(NONE);
            if *by_key.entry(*id.as_bytes()).or_insert(at) != at {
                continue;
            }
            if let Method::Delta { base, .. } = frame.method
                && let Some(key) = pack.key_of(base)
            {
                bases.push((at, key));
            }
            self.items.push(Item {
                id,
                pack: u32::try_from(number).unwrap_or(NONE),
                place,
                shape,
                alone,
                beside: false,
                plain_bytes: if alone { frame.plain_len } else { 0 },
                frame_bytes: if alone { frame.end - frame.offset } else { 0 },
                base: NONE,
            });
        }
        for item in self.items.iter_mut().skip(first) {
            item.beside = groups.get(&item.place.offset) == Some(&None);
        }
        Ok(())
    }

    /// The decoded piece of an object that fits a frame, hashed.
    ///
    /// # Errors
    /// `CorruptObject`.
    pub(super) fn piece(&self, at: u32) -> Result<Piece> {
        let item = &self.items[at as usize];
        let pack = &self.packs[item.pack as usize];
        let damage = |detail: String| StoreError::CorruptObject {
            id: item.id,
            path: pack.path.clone(),
            offset_bytes: item.place.offset,
            detail,
        };
        match decode::object(&self.set, pack, item.place).map_err(|e| damage(e.to_string()))? {
            Found::Whole(piece) => {
                let right = match piece.keys {
                    None => hash(&item.id, &piece.form),
                    Some(_) => {
                        let bytes = piece.clone().envelope().map_err(|e| damage(e.to_string()))?;
                        hash(&item.id, &bytes)
                    }
                };
                match (right, item.shape) {
                    (true, Shape::Raw) => piece.of_blob().map_err(|e| damage(e.to_string())),
                    (true, _) => Ok(piece),
                    (false, _) => Err(damage("its bytes hash to another identity".to_owned())),
                }
            }
            Found::Chunks(..) => Err(damage("is stored in chunks behind a frame of another kind".to_owned())),
        }
    }

    /// Which items are small blobs that stand alone and carry no other: what they have in common shows only together.
    pub(super) fn small_loners(&self) -> Vec<bool> {
        let is_small =
            |item: &Item| item.shape == Shape::Raw && item.base == NONE && item.plain_bytes <= GROUPED_UP_TO;
        let mut loners: Vec<bool> = self.items.iter().map(is_small).collect();
        for item in &self.items {
            if let Some(loner) = loners.get_mut(item.base as usize) {
                *loner = false;
            }
        }
        loners
    }

    /// Whether objects of this kind are worth a frame of their own, to stand on each other: those that did so far, and
    /// trees, of which most are versions of others.
    pub(super) fn is_versioned(&self, at: u32) -> bool {
        let item = &self.items[at as usize];
        item.shape == Shape::Cut && (item.alone || item.id.family() == Family::Tree)
    }
}

/// Bytes of the chunks that the list in `frame` names, as far as they can be read.
fn chunk_bytes(pack: &Pack, frame: &Frame<'_>) -> u64 {
    let offsets = large::read(frame.offset, frame.payload).unwrap_or_default();
    offsets.into_iter().filter_map(|at| pack.frame(at).ok()).map(|chunk| chunk.end - chunk.offset).sum()
}
