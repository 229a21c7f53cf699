//! All packs of a store at one moment.

use super::decode::{self, Found, Piece};
use super::pack::Pack;
use crate::vfs::Vfs;
use crate::{Result, StoreError};
use gemel_object::{EnvelopeHeader, Family, Gid, Limits};
use gemel_packfmt::frame::Frame;
use gemel_packfmt::index::Place;
use gemel_packfmt::refcode::RefCode;
use gemel_packfmt::{FormatError, Key};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Extension of a published pack.
pub(crate) const PACK_SUFFIX: &str = ".pack";
/// Extension of a pack whose first batch is not committed.
pub(crate) const NEW_SUFFIX: &str = ".new";

/// Extension of an index.
pub(crate) const INDEX_SUFFIX: &str = ".idx";

/// The number in a pack's file name, if it is one with this suffix.
pub(crate) fn number_of(name: &str, suffix: &str) -> Option<u64> {
    let digits = name.strip_suffix(suffix)?;
    let canonical = digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_digit());
    canonical.then(|| digits.parse().ok())?
}

/// The file name of a pack.
pub(crate) fn pack_name(number: u64, suffix: &str) -> String {
    format!("{number:08}{suffix}")
}

/// The pack that a new store begins with. It lies beside the directory of packs, so that `init` has one directory less
/// to sync; it is never continued.
pub(crate) const FIRST: u64 = 0;
/// Its file name.
pub(crate) const FIRST_PACK: &str = "00000000.pack";

/// Where a file of the pack `number` lies; `dir` is the directory of packs.
pub(crate) fn pack_path(dir: &Path, number: u64, suffix: &str) -> PathBuf {
    let dir = if number == FIRST { dir.parent().unwrap_or(dir) } else { dir };
    dir.join(pack_name(number, suffix))
}

/// An immutable list of opened packs, newest first.
#[derive(Debug, Default)]
pub(crate) struct PackSet {
    pub(crate) packs: Vec<Arc<Pack>>,
    /// Packs that could not be opened at all, and why.
    pub(crate) damaged: Vec<(PathBuf, StoreError)>,
    /// Names and sizes listed when this set was made.
    listing: Vec<(String, u64)>,
}

impl PackSet {
    /// Opens what `dir` holds, taking over from `before` what has not changed.
    ///
    /// # Errors
    /// `Io` when the directory cannot be listed; `UnknownVersion` of any pack.
    pub(crate) fn load(vfs: &dyn Vfs, dir: &Path, before: &PackSet) -> Result<PackSet> {
        let listing = list(vfs, dir)?;
        let mut set = PackSet { listing, ..PackSet::default() };
        for (name, _) in &set.listing {
            let Some(number) = number_of(name, PACK_SUFFIX) else { continue };
            if let Some(same) = before.unchanged(&set.listing, number) {
                set.packs.push(same);
                continue;
            }
            let path = pack_path(dir, number, PACK_SUFFIX);
            match Pack::open(vfs, &path, number) {
                Ok(pack) => set.packs.push(Arc::new(pack)),
                Err(error @ StoreError::UnknownVersion { .. }) => return Err(error),
                // Replaced since it was listed: the next look finds its successor.
                Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => set.damaged.push((path, error)),
            }
        }
        set.packs.sort_by_key(|pack| std::cmp::Reverse(pack.number));
        Ok(set)
    }

    /// This set with every pack whose index does not verify opened without it; `None` when all do. A damaged index may
    /// hide an object or point to a wrong place, so this is asked when an object was not found or not right.
    ///
    /// # Errors
    /// Those of opening a pack.
    pub(crate) fn distrusting(&self, vfs: &dyn Vfs) -> Result<Option<PackSet>> {
        if self.packs.iter().all(|pack| pack.index_verifies()) {
            return Ok(None);
        }
        let again = |pack: &Arc<Pack>| match pack.index_verifies() {
            true => Ok(pack.clone()),
            false => pack.without_index(vfs).map(Arc::new),
        };
        let packs = self.packs.iter().map(again).collect::<Result<_>>()?;
        let damaged = Vec::new();
        Ok(Some(PackSet { packs, damaged, listing: self.listing.clone() }))
    }

    /// Whether the directory now lists something else than when this set was made.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn is_stale(&self, vfs: &dyn Vfs, dir: &Path) -> Result<bool> {
        Ok(list(vfs, dir)? != self.listing)
    }

    fn unchanged(&self, now: &[(String, u64)], number: u64) -> Option<Arc<Pack>> {
        let stem = pack_name(number, ".");
        let files = |listing: &[(String, u64)]| -> Vec<(String, u64)> {
            listing.iter().filter(|(name, _)| name.starts_with(&stem)).cloned().collect()
        };
        (files(now) == files(&self.listing)).then_some(())?;
        self.packs.iter().find(|pack| pack.number == number).cloned()
    }

    /// Pack and place of a key.
    pub(crate) fn locate(&self, key: &Key) -> Option<(&Pack, Place)> {
        self.packs.iter().find_map(|pack| pack.find(key).map(|place| (pack.as_ref(), place)))
    }

    /// The first of some objects that is not stored, or only behind what is known to be durable. They are looked at in the
    /// order in which they lie, so that each group is inflated once.
    pub(crate) fn first_not_settled(&self, ids: &[Gid], settled: &BTreeMap<u64, u64>) -> Option<Gid> {
        let probably = |key: &Key| {
            self.packs.iter().find_map(|pack| pack.guess(key).map(|place| (pack.number, place.offset)))
        };
        let mut placed: Vec<_> =
            ids.iter().enumerate().map(|(at, id)| (probably(id.as_bytes()), at, id)).collect();
        placed.sort_unstable();
        let is_settled =
            |id: &Gid| self.packs.iter().any(|pack| pack.find_settled(id.as_bytes(), settled).is_some());
        let absent =
            placed.par_chunks(1024).flat_map_iter(|part| part.iter().filter(|(_, _, id)| !is_settled(id)));
        absent.min_by_key(|(_, at, _)| *at).map(|(_, _, id)| **id)
    }

    /// The decoded piece of an object that may serve as a base: durable, whole in one frame, undamaged; and how many
    /// bases it stands on itself.
    pub(crate) fn base(&self, id: &Gid, settled: &BTreeMap<u64, u64>) -> Option<(Piece, u8)> {
        let found =
            self.packs.iter().find_map(|pack| Some((pack, pack.find_settled(id.as_bytes(), settled)?)));
        let (pack, place) = found?;
        match decode::object(self, pack, place) {
            Ok(Found::Whole(piece)) => {
                let right = match piece.keys {
                    None => hash(id, &piece.form),
                    Some(_) => piece.clone().envelope().is_ok_and(|bytes| hash(id, &bytes)),
                };
                let piece = match id.family() {
                    Family::Blob => piece.of_blob().ok()?,
                    _ => piece,
                };
                right.then(|| (piece, decode::depth_at(pack, place)))
            }
            _ => None,
        }
    }

    /// The envelope of an object, re-hashed. Every copy is tried before damage is reported.
    ///
    /// # Errors
    /// `NotFound`, `CorruptObject`, `CorruptFile`.
    pub(crate) fn read(&self, id: &Gid) -> Result<Vec<u8>> {
        let mut damage = None;
        for pack in &self.packs {
            for (place, sure) in pack.candidates(id.as_bytes()) {
                match self.decode_at(id, pack, place) {
                    Ok(bytes) if hash(id, &bytes) => return Ok(bytes),
                    Ok(_) if sure => damage = damage.or_else(|| Some(other_identity(id, pack, place))),
                    // Another one that begins alike.
                    Ok(_) => {}
                    Err(error) => damage = damage.or(Some(error)),
                }
            }
        }
        Err(damage.unwrap_or_else(|| self.absent(id)))
    }

    /// Pack and place of an object. Where that is not known because the object is damaged, the error is that of reading it.
    pub(crate) fn located(&self, id: &Gid) -> Result<(&Pack, Place)> {
        self.locate(id.as_bytes()).ok_or_else(|| self.read(id).err().unwrap_or_else(|| self.absent(id)))
    }

    /// The error for an object no readable pack holds.
    fn absent(&self, id: &Gid) -> StoreError {
        match self.damaged.first() {
            Some((path, error)) => StoreError::CorruptFile {
                path: path.clone(),
                offset_bytes: 0,
                detail: format!("{id} is in no readable pack, and this one is damaged: {error}"),
            },
            None => StoreError::NotFound { id: *id },
        }
    }

    /// What lies at `place`, which should be the object.
    fn decode_at(&self, id: &Gid, pack: &Pack, place: Place) -> Result<Vec<u8>> {
        let damage = |detail: String| corrupt(id, pack, place, detail);
        match decode::object(self, pack, place).map_err(|e| damage(e.to_string()))? {
            Found::Whole(piece) => piece.envelope().map_err(|e| damage(e.to_string())),
            Found::Chunks(chunks, total) => {
                if total > Limits::DEFAULT.max_object_bytes {
                    return Err(damage(format!("declares {total} bytes")));
                }
                let mut bytes = Vec::new();
                for chunk in &chunks {
                    bytes.extend_from_slice(&decode::chunk_plain(chunk).map_err(|e| damage(e.to_string()))?);
                }
                Ok(bytes)
            }
        }
    }

    /// Length of an object's envelope.
    ///
    /// # Errors
    /// As [`PackSet::read`].
    pub(crate) fn len_bytes(&self, id: &Gid) -> Result<u64> {
        let (pack, place) = self.located(id)?;
        let damage = |e: FormatError| corrupt(id, pack, place, e.to_string());
        let frame = pack.frame(place.offset).map_err(damage)?;
        match frame.kind {
            gemel_packfmt::frame::Kind::Raw { .. } | gemel_packfmt::frame::Kind::Large { .. } => {
                Ok(frame.plain_len)
            }
            _ => Ok(self.read(id)?.len() as u64),
        }
    }

    /// Writes the body of a blob to `out`, chunk by chunk. Chunks are read, not mapped: memory stays bounded.
    ///
    /// # Errors
    /// As [`PackSet::read`]; `Source` when `out` fails.
    pub(crate) fn stream_blob(&self, vfs: &dyn Vfs, id: &Gid, out: &mut dyn Write) -> Result<u64> {
        let (pack, place) = self.located(id)?;
        let damage = |detail: String| corrupt(id, pack, place, detail);
        let mut write = |bytes: &[u8]| out.write_all(bytes).map_err(|source| StoreError::Source { source });
        let found = decode::object(self, pack, place).map_err(|e| damage(e.to_string()))?;
        let Found::Chunks(chunks, total) = found else {
            let bytes = self.read(id)?;
            let body = body_of(&bytes).ok_or_else(|| damage("no envelope".into()))?;
            write(body)?;
            return Ok(body.len() as u64);
        };
        let mut hasher = blake3::Hasher::new();
        let mut header_len = None;
        for chunk in &chunks {
            let plain = read_chunk(vfs, pack, chunk).map_err(|e| damage(e.to_string()))?;
            hasher.update(&plain);
            let skip = match header_len {
                Some(_) => 0,
                None => plain.len() - body_of(&plain).ok_or_else(|| damage("no envelope".into()))?.len(),
            };
            header_len.get_or_insert(skip);
            write(&plain[skip..])?;
        }
        if Gid::new(id.family(), *hasher.finalize().as_bytes()) != *id {
            return Err(damage("its bytes hash to another identity".into()));
        }
        Ok(total.saturating_sub(header_len.unwrap_or(0) as u64))
    }
}

/// Plain bytes of a chunk, read from the file instead of through the map its frame was found in, unless a repack has
/// removed the file.
fn read_chunk(vfs: &dyn Vfs, pack: &Pack, chunk: &Frame<'_>) -> std::result::Result<Vec<u8>, FormatError> {
    let cut = FormatError::Cut { what: "chunk", offset: chunk.offset };
    let len = usize::try_from(chunk.end - chunk.offset).map_err(|_| cut.clone())?;
    let bytes = match vfs.read_range(&pack.path, chunk.offset, len) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return decode::chunk_plain(chunk),
        read => read.map_err(|_| cut)?,
    };
    decode::chunk_plain(&Frame::parse(&bytes, 0)?)
}

impl PackSet {
    /// Identities that start with `hex`, ascending, at most `limit`.
    ///
    /// # Errors
    /// `BadPrefix`.
    pub(crate) fn matching(&self, family: Option<Family>, hex: &str, limit: usize) -> Result<Vec<Gid>> {
        let (low, odd) = prefix_bytes(hex)
            .ok_or_else(|| StoreError::BadPrefix { text: hex.chars().take(80).collect() })?;
        let families = family.map_or(Family::ALL.to_vec(), |one| vec![one]);
        let mut found = BTreeSet::new();
        for pack in &self.packs {
            let fits = |key: &Key| starts_with(&key[1..], &low, odd);
            for family in &families {
                for brief in [false, true] {
                    let Some(open) = &pack.index else { continue };
                    let class = (family.code(), brief);
                    let ordinals = open.index.beginning(&open.bytes, class, &low, hex.len() as u32 * 4);
                    let keys = ordinals.filter_map(|ordinal| pack.key_of(RefCode::Local(ordinal)));
                    found.extend(keys.filter(fits).take(limit).filter_map(|key| Gid::from_bytes(&key)));
                }
                let tail = pack.tail.objects.iter().map(|(key, _)| key);
                found.extend(tail.filter(|k| k[0] == family.code() && fits(k)).filter_map(Gid::from_bytes));
            }
        }
        Ok(found.into_iter().take(limit).collect())
    }
}

/// The bytes of a hex prefix, and whether the last one stands for its upper half only.
fn prefix_bytes(hex: &str) -> Option<(Vec<u8>, bool)> {
    let digits = hex.bytes().map(|c| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    });
    let digits: Vec<u8> = digits.collect::<Option<_>>()?;
    (digits.len() <= 64).then_some(())?;
    Some((
        digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0)).collect(),
        digits.len() % 2 == 1,
    ))
}

fn starts_with(digest: &[u8], prefix: &[u8], odd: bool) -> bool {
    match prefix.split_last() {
        Some((last, whole)) if odd => {
            digest.starts_with(whole) && digest.get(whole.len()).is_some_and(|byte| byte & 0xf0 == *last)
        }
        _ => digest.starts_with(prefix),
    }
}

/// What follows the header of an envelope (or of its beginning).
fn body_of(envelope: &[u8]) -> Option<&[u8]> {
    let header = EnvelopeHeader::read(envelope, &Limits::DEFAULT).ok()?;
    envelope.get(header.as_bytes().len()..)
}

/// Whether `bytes` hash to `id`.
pub(crate) fn hash(id: &Gid, bytes: &[u8]) -> bool {
    Gid::of_envelope(id.family(), bytes) == *id
}

fn other_identity(id: &Gid, pack: &Pack, place: Place) -> StoreError {
    corrupt(id, pack, place, "its bytes hash to another identity".to_owned())
}

fn corrupt(id: &Gid, pack: &Pack, place: Place, detail: String) -> StoreError {
    StoreError::CorruptObject { id: *id, path: pack.path.clone(), offset_bytes: place.offset, detail }
}

fn list(vfs: &dyn Vfs, dir: &Path) -> Result<Vec<(String, u64)>> {
    let first = pack_path(dir, FIRST, PACK_SUFFIX);
    let first = vfs.stat(&first).map_err(StoreError::io("examine", &first))?;
    let entries = vfs.list(dir).map_err(StoreError::io("list", dir))?;
    let is_ours = |name: &str| {
        [PACK_SUFFIX, INDEX_SUFFIX]
            .iter()
            .any(|suffix| name.ends_with(suffix) && number_of(name, suffix) != Some(FIRST))
    };
    let entries = entries.into_iter().filter(|entry| is_ours(&entry.name));
    Ok(first.into_iter().chain(entries).filter(|e| !e.is_dir).map(|e| (e.name, e.size_bytes)).collect())
}
