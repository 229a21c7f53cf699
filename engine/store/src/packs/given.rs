//! Objects written on bases that the caller holds: importers write long runs of versions and have each at hand.

use super::effort::{CHUNK_FROM, DEPTH, METADATA_CHUNK_FROM, METADATA_LEVEL};
use super::writer::{NewObject, Writer, validate};
use crate::{Result, StoreError};
use gemel_object::{Family, Gid, refs_of};
use gemel_packfmt::frame::{Kind, Method};
use gemel_packfmt::refcode::{KeyOp, key_ops};
use gemel_packfmt::{Key, cut, delta};
use std::sync::PoisonError;

/// An object ready to be written, and to be the base of others.
#[derive(Clone, Debug)]
pub struct Prepared {
    id: Gid,
    bytes: Vec<u8>,
    /// Cut form and keys; blobs have none.
    cut: Option<(Vec<u8>, Vec<Key>)>,
}

impl Prepared {
    /// Takes an identity with its whole envelope; the caller hashed the bytes.
    ///
    /// # Errors
    /// `InvalidObject` when references overlap.
    pub fn new(id: Gid, bytes: Vec<u8>) -> Result<Prepared> {
        let cut = match id.family() {
            Family::Blob => None,
            family => {
                let (mut positions, mut keys) = (Vec::new(), Vec::new());
                for found in refs_of(&bytes) {
                    positions.push(found.offset as u32);
                    keys.push(*found.gid.as_bytes());
                }
                let mut form = Vec::with_capacity(bytes.len());
                cut::cut(&bytes, &positions, &mut form)
                    .map_err(|e| StoreError::InvalidObject { family, detail: e.to_string() })?;
                Some((form, keys))
            }
        };
        Ok(Prepared { id, bytes, cut })
    }

    /// The identity.
    pub fn id(&self) -> Gid {
        self.id
    }

    /// The whole envelope.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Writer<'_> {
    /// Adds an object on the first of `bases` that can serve: one that this session wrote and that does not stand
    /// too deep. Without one it is written as by [`Writer::put`]. `true` if it is new.
    ///
    /// # Errors
    /// As [`Writer::put`].
    pub fn put_on(&self, object: &Prepared, bases: &[&Prepared]) -> Result<bool> {
        let whole = || NewObject { id: object.id, bytes: object.bytes.clone(), base: None };
        let most = if object.cut.is_none() { CHUNK_FROM } else { METADATA_CHUNK_FROM };
        if object.bytes.len() > most || self.contains(&object.id) {
            return self.put(whole());
        }
        let serving = bases.iter().find_map(|base| {
            let depth = self.depth_in_session(&base.id)?;
            (depth < DEPTH && base.bytes.len() <= most && base.cut.is_some() == object.cut.is_some())
                .then_some((*base, depth))
        });
        let Some((base, depth)) = serving else { return self.put(whole()) };
        validate(object.id, &object.bytes)?;
        let written = match (&object.cut, &base.cut) {
            (Some(own), Some(of_base)) => self.put_cut_on(object, own, (base.id, of_base, depth))?,
            _ => self.put_raw_on(object, base, depth)?,
        };
        written.map_or_else(|| self.put(whole()), Ok)
    }

    /// `None`: the difference is not worth its chain.
    fn put_raw_on(&self, object: &Prepared, base: &Prepared, depth: u8) -> Result<Option<bool>> {
        let level = self.effort.read().unwrap_or_else(PoisonError::into_inner).delta_level;
        let (plain, mut payload) = (&object.bytes, Vec::new());
        if !delta::encode(&base.bytes, plain, level, plain.len() / 2, &mut payload) {
            return Ok(None);
        }
        self.with_session(false, |session| {
            let Some(ordinal) = session.admit(&object.id, plain.len()) else { return Ok(Some(false)) };
            let base = session.code(base.id.as_bytes());
            let method = Method::Delta { base, depth: depth + 1 };
            session.put_object(ordinal, Kind::Raw { ordinal }, method, plain.len() as u64, &[&payload])?;
            Ok(Some(true))
        })
    }

    /// `None`: the difference is not worth its chain.
    fn put_cut_on(
        &self,
        object: &Prepared,
        (form, keys): &(Vec<u8>, Vec<Key>),
        (base, (base_form, base_keys), depth): (Gid, &(Vec<u8>, Vec<Key>), u8),
    ) -> Result<Option<bool>> {
        let ops = key_ops(base_keys, keys);
        let fresh: usize = ops.iter().map(|op| if let KeyOp::New(n) = op { *n as usize } else { 0 }).sum();
        let mut payload = Vec::new();
        if fresh * 2 > keys.len()
            || !delta::encode(base_form, form, METADATA_LEVEL, form.len() / 2 + 16, &mut payload)
        {
            return Ok(None);
        }
        let plain_len = object.bytes.len();
        self.put_cut_delta(object.id, plain_len, (keys, &ops), (base, depth), (form, &payload)).map(Some)
    }

    /// On how many bases an object of this session stands; `None` if it is not of this session.
    fn depth_in_session(&self, id: &Gid) -> Option<u8> {
        self.lock().session.as_ref()?.depth_of(id)
    }
}
