//! Keys of a pack whose index is gone: every object is decoded and hashed.

use super::decode::{self, Found, chunk_plain, group_at, identity_of};
use super::pack::Pack;
use super::set::PackSet;
use gemel_object::{EnvelopeHeader, Gid, Limits};
use gemel_packfmt::FormatError;
use gemel_packfmt::frame::Kind;
use gemel_packfmt::index::Place;
use gemel_packfmt::{KEY_LEN, Key};
use rayon::prelude::*;

/// Fills the unknown keys of `pack`'s tail. What does not decode stays unknown; fsck reports it.
pub(crate) fn fill_keys(pack: &mut Pack) {
    let places = places(pack);
    for (ordinal, place) in &places {
        if let Some(slot) = pack.tail.objects.get_mut(*ordinal as usize - pack.tail.first_ordinal as usize)
            && slot.0 == [0; KEY_LEN]
        {
            slot.1 = *place;
        }
    }
    // Objects without references need no other key, so all cores can work on them first.
    let independent = |place: &Place| {
        pack.frame(place.offset).is_ok_and(|f| matches!(f.kind, Kind::Raw { .. } | Kind::Large { .. }))
    };
    let (first, rest): (Vec<_>, Vec<_>) = places.into_iter().partition(|(_, place)| independent(place));
    let found: Vec<(u32, Key)> =
        first.par_iter().filter_map(|(ordinal, place)| Some((*ordinal, key_at(pack, *place)?))).collect();
    found.into_iter().for_each(|(ordinal, key)| set_key(pack, ordinal, key));
    // Others need the keys of what they refer to or stand on, which may have any number: back and forth until nothing
    // more is found.
    let mut rest = rest;
    loop {
        let mut unknown = Vec::new();
        for (ordinal, place) in &rest {
            match key_at(pack, *place) {
                Some(key) => set_key(pack, *ordinal, key),
                None => unknown.push((*ordinal, *place)),
            }
        }
        if unknown.is_empty() || unknown.len() == rest.len() {
            break;
        }
        unknown.reverse();
        rest = unknown;
    }
    pack.tail.index_keys();
}

fn set_key(pack: &mut Pack, ordinal: u32, key: Key) {
    let within = (ordinal - pack.tail.first_ordinal) as usize;
    if let Some(slot) = pack.tail.objects.get_mut(within) {
        slot.0 = key;
    }
}

/// Ordinals and places of the objects in frames behind the index, by ordinal.
fn places(pack: &Pack) -> Vec<(u32, Place)> {
    let mut places = Vec::new();
    let mut at = pack.tail.start;
    while let Ok(frame) = pack.frame(at) {
        if at >= pack.tail.end {
            break;
        }
        at = frame.end;
        match frame.kind {
            Kind::Raw { ordinal } | Kind::Cut { ordinal } | Kind::Large { ordinal } => {
                places.push((ordinal, Place { offset: frame.offset, ordinal }));
            }
            Kind::Group => {
                let Ok(open) = group_at(pack, &frame) else { continue };
                let members = (0..open.group.len()).filter_map(|slot| open.group.member(slot));
                places
                    .extend(members.map(|(ordinal, ..)| (ordinal, Place { offset: frame.offset, ordinal })));
            }
            _ => {}
        }
    }
    places.retain(|(ordinal, _)| pack.tail.by_ordinal(*ordinal).is_some());
    places.sort_unstable_by_key(|(ordinal, _)| *ordinal);
    places
}

fn key_at(pack: &Pack, place: Place) -> Option<Key> {
    // Bases in other packs cannot be reached from here; only sessions that append to a pack with an index use
    // them, and those list their keys.
    identity(&PackSet::default(), pack, place).ok().map(|id| *id.as_bytes())
}

/// The identity of the object stored at a place, from its bytes alone.
///
/// # Errors
/// Any layout violation.
pub(crate) fn identity(set: &PackSet, pack: &Pack, place: Place) -> Result<Gid, FormatError> {
    let no_envelope = |_| FormatError::Cut { what: "envelope", offset: place.offset };
    match decode::object(set, pack, place)? {
        Found::Whole(piece) => identity_of(&piece.envelope()?, place),
        Found::Chunks(chunks, _) => {
            let mut hasher = blake3::Hasher::new();
            let mut family = None;
            for chunk in &chunks {
                let plain = chunk_plain(chunk)?;
                if family.is_none() {
                    family =
                        Some(EnvelopeHeader::read(&plain, &Limits::DEFAULT).map_err(no_envelope)?.family());
                }
                hasher.update(&plain);
            }
            let family = family.ok_or(FormatError::Cut { what: "envelope", offset: place.offset })?;
            Ok(Gid::new(family, *hasher.finalize().as_bytes()))
        }
    }
}
