//! One pack, opened: a mapped part that an index covers, and the batches behind it.

use super::brief::{MAX_BRIEF, Members};
use super::decode;
use super::tail::{Tail, TornTail};
use crate::vfs::{FileBytes, Vfs};
use crate::{Result, StoreError};
use gemel_packfmt::codec::Dictionary;
use gemel_packfmt::frame::{self, Frame, HEADER_LEN};
use gemel_packfmt::index::{self, Index, IndexBuilder, Place};
use gemel_packfmt::refcode::RefCode;
use gemel_packfmt::{FormatError, KEY_LEN, Key};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Longest part of a pack behind its index that is read into memory. It is read, not mapped, since the session at
/// work may take it back; a longer one means that the index is lost, and no session appends to such a pack.
const MAX_READ_BYTES: u64 = 64 << 20;

/// An index beside the bytes it describes.
pub(crate) struct OpenIndex {
    pub(crate) index: Index,
    pub(crate) bytes: FileBytes,
    /// Whether every section verifies, once that was looked at.
    verified: OnceLock<bool>,
}

impl OpenIndex {
    fn new(bytes: FileBytes) -> Result<OpenIndex, FormatError> {
        Ok(OpenIndex { index: Index::open(&bytes)?, bytes, verified: OnceLock::new() })
    }

    /// Places of objects with brief keys that may be this one.
    fn perhaps(&self, key: &Key) -> impl Iterator<Item = Place> + '_ {
        let ordinals = self.index.perhaps(&self.bytes, key);
        ordinals.filter_map(|ordinal| self.index.place(&self.bytes, ordinal))
    }
}

/// An opened pack.
pub(crate) struct Pack {
    pub(crate) number: u64,
    /// Distinguishes this opened pack from every other of the process, for caches.
    pub(crate) token: u64,
    pub(crate) path: PathBuf,
    /// Bytes covered by the index (only those are ever touched), absent for a pack without index.
    mapped: Option<FileBytes>,
    pub(crate) index: Option<OpenIndex>,
    /// Why a present index was not used.
    pub(crate) index_problem: Option<StoreError>,
    pub(crate) tail: Tail,
    pub(crate) torn: Option<TornTail>,
    dictionaries: Mutex<HashMap<u32, Arc<Dictionary>>>,
}

impl std::fmt::Debug for Pack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pack({}, {} objects)", self.path.display(), self.objects())
    }
}

/// Path of the index that belongs to a pack.
pub(crate) fn index_path(pack: &Path) -> PathBuf {
    pack.with_extension("idx")
}

impl Pack {
    /// Opens a pack and its index; a damaged or missing index is replaced by what the pack itself tells.
    ///
    /// # Errors
    /// `Io`, `UnknownVersion`, `CorruptFile` when the header is damaged or the pack is shorter than its index says.
    pub(crate) fn open(vfs: &dyn Vfs, path: &Path, number: u64) -> Result<Pack> {
        match read_index(vfs, &index_path(path), number) {
            Ok(index) => Pack::open_with(vfs, path, number, index, None),
            Err(error @ StoreError::UnknownVersion { .. }) => Err(error),
            Err(error) => Pack::open_with(vfs, path, number, None, Some(error)),
        }
    }

    /// Opens the pack again as if its index, found damaged, were not there.
    ///
    /// # Errors
    /// As [`Pack::open`].
    pub(crate) fn without_index(&self, vfs: &dyn Vfs) -> Result<Pack> {
        let path = index_path(&self.path);
        let problem = StoreError::CorruptFile { path, offset_bytes: 0, detail: "checksum".to_owned() };
        Pack::open_with(vfs, &self.path, self.number, None, Some(problem))
    }

    fn open_with(
        vfs: &dyn Vfs,
        path: &Path,
        number: u64,
        index: Option<OpenIndex>,
        problem: Option<StoreError>,
    ) -> Result<Pack> {
        let mapped =
            index.as_ref().map(|_| vfs.map(path).map_err(StoreError::io("map", path))).transpose()?;
        let covered = match (&index, &mapped) {
            (Some(open), Some(bytes)) => covered_by(open, path, bytes, number)?,
            _ => 0,
        };
        if let (Some(open), Some(bytes)) = (&index, &mapped)
            && index::ending(&bytes[..usize::try_from(covered).unwrap_or(0)]) != open.index.ending
        {
            let detail = "the index was made from another pack".to_owned();
            let problem = StoreError::CorruptFile { path: index_path(path), offset_bytes: 0, detail };
            return Pack::open_with(vfs, path, number, None, Some(problem));
        }
        let (bytes, base) = read_behind(vfs, path, covered)?;
        let file_len_bytes = base + bytes.len() as u64;
        if index.is_none() {
            check_header(path, &bytes, number)?;
        }
        let objects = index.as_ref().map_or(0, |open| open.index.objects);
        let tail = Tail::read(bytes, base, covered.max(HEADER_LEN as u64), objects);
        let torn =
            (tail.end < file_len_bytes).then_some(TornTail { valid_len_bytes: tail.end, file_len_bytes });
        static TOKENS: AtomicU64 = AtomicU64::new(0);
        let mut pack = Pack {
            number,
            token: TOKENS.fetch_add(1, Ordering::Relaxed),
            path: path.into(),
            mapped,
            index,
            index_problem: problem,
            tail,
            torn,
            dictionaries: Mutex::default(),
        };
        if pack.tail.unindexed {
            super::rebuild::fill_keys(&mut pack);
        }
        Ok(pack)
    }

    /// Number of committed objects.
    pub(crate) fn objects(&self) -> u32 {
        self.tail.first_ordinal + self.tail.objects.len() as u32
    }

    /// Whether a writer may append: nothing stopped half-way, nothing damaged.
    pub(crate) fn is_sound(&self) -> bool {
        self.torn.is_none() && self.tail.damage.is_empty() && self.tail.suspect_from.is_none()
    }

    /// Where `key` is stored, if that is known to be durable.
    pub(crate) fn find_settled(&self, key: &Key, settled: &BTreeMap<u64, u64>) -> Option<Place> {
        let end = *settled.get(&self.number)?;
        self.find(key).filter(|place| place.offset < end)
    }

    /// End of the committed part.
    pub(crate) fn end(&self) -> u64 {
        self.tail.end
    }

    /// Number of foreign keys.
    pub(crate) fn foreign_count(&self) -> u32 {
        let indexed = self.index.as_ref().map_or(0, |open| open.index.foreign);
        self.tail.foreign.last().map_or(indexed, |run| run.first + run.count)
    }

    /// Offsets of dictionary frames, by number.
    pub(crate) fn dictionary_offsets(&self) -> Vec<u64> {
        let indexed = self.index.as_ref().map_or(&[][..], |open| open.index.dictionaries());
        indexed.iter().chain(&self.tail.dictionaries).copied().collect()
    }

    /// Where `key` is stored. A brief key is made to be compared.
    pub(crate) fn find(&self, key: &Key) -> Option<Place> {
        let is_key = |place: &Place| self.made_key(*place, 0).as_ref() == Some(key);
        let indexed = self
            .index
            .as_ref()
            .and_then(|open| self.held(open, key).or_else(|| open.perhaps(key).find(is_key)));
        indexed.or_else(|| self.tail.find(key))
    }

    /// Where `key` is probably stored, for who hashes what is found there; `None` when it is not stored.
    pub(crate) fn guess(&self, key: &Key) -> Option<Place> {
        let indexed = self.index.as_ref().and_then(|open| {
            let mut perhaps = open.perhaps(key);
            match (self.held(open, key), perhaps.next(), perhaps.next()) {
                (None, one, None) => one,
                _ => self.find(key),
            }
        });
        indexed.or_else(|| self.tail.find(key))
    }

    /// Every place at which `key` may be stored, and whether the index is sure of it.
    pub(crate) fn candidates(&self, key: &Key) -> Vec<(Place, bool)> {
        let open = self.index.as_ref();
        let sure = open.and_then(|open| self.held(open, key)).or_else(|| self.tail.find(key));
        let perhaps = open.into_iter().flat_map(|open| open.perhaps(key));
        sure.map(|place| (place, true)).into_iter().chain(perhaps.map(|place| (place, false))).collect()
    }

    fn held(&self, open: &OpenIndex, key: &Key) -> Option<Place> {
        open.index.place(&open.bytes, open.index.find(&open.bytes, key)?)
    }

    /// Key and place of an ordinal; `None` also for an object whose key is brief and cannot be made.
    pub(crate) fn by_ordinal(&self, ordinal: u32) -> Option<(Key, Place)> {
        if ordinal >= self.tail.first_ordinal {
            return self.tail.by_ordinal(ordinal).copied();
        }
        Some((self.key_of(RefCode::Local(ordinal))?, self.place_of(ordinal)?))
    }

    /// The place of an ordinal.
    pub(crate) fn place_of(&self, ordinal: u32) -> Option<Place> {
        if ordinal >= self.tail.first_ordinal {
            return self.tail.by_ordinal(ordinal).map(|(_, place)| *place);
        }
        self.index.as_ref().and_then(|open| open.index.place(&open.bytes, ordinal))
    }

    /// The key a reference code stands for.
    pub(crate) fn key_of(&self, code: RefCode) -> Option<Key> {
        self.key_at(code, 0)
    }

    /// As [`Pack::key_of`], while `made` other keys are being made: a damaged index must not lead in circles.
    pub(crate) fn key_at(&self, code: RefCode, made: u8) -> Option<Key> {
        match code {
            RefCode::Local(ordinal) if ordinal >= self.tail.first_ordinal => {
                self.tail.by_ordinal(ordinal).map(|(key, _)| *key)
            }
            RefCode::Local(ordinal) => {
                let open = self.index.as_ref()?;
                let held = open.index.key(&open.bytes, ordinal);
                held.or_else(|| self.made_key(open.index.place(&open.bytes, ordinal)?, made))
            }
            RefCode::Foreign(number) => {
                let indexed = self
                    .index
                    .as_ref()
                    .zip(self.mapped.as_deref())
                    .and_then(|(open, bytes)| open.index.foreign_key(bytes, number));
                indexed.or_else(|| self.tail.foreign_key(number))
            }
        }
    }

    /// The brief key of the object at a place, made from its bytes; the index must agree.
    fn made_key(&self, place: Place, made: u8) -> Option<Key> {
        let open = self.index.as_ref()?;
        let agrees = |key: &Key| open.index.perhaps(&open.bytes, key).any(|ordinal| ordinal == place.ordinal);
        (made < MAX_BRIEF).then(|| decode::made_key(self, place, made + 1, agrees).ok()).flatten()
    }

    /// The frame at an offset. Unchecked.
    ///
    /// # Errors
    /// Those of [`Frame::parse`].
    pub(crate) fn frame(&self, offset: u64) -> Result<Frame<'_>, FormatError> {
        match (&self.index, &self.mapped) {
            (Some(open), Some(bytes)) if offset < open.index.covered => {
                let covered = usize::try_from(open.index.covered).unwrap_or(usize::MAX).min(bytes.len());
                Frame::parse(&bytes[..covered], offset)
            }
            _ => self.tail.frame(offset),
        }
    }

    /// The dictionary with this number, prepared for reading.
    ///
    /// # Errors
    /// When there is none, or its frame is damaged.
    pub(crate) fn dictionary(&self, number: u32) -> Result<Arc<Dictionary>, FormatError> {
        let mut known = self.dictionaries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dictionary) = known.get(&number) {
            return Ok(dictionary.clone());
        }
        let unknown = FormatError::Unknown { what: "dictionary number", found: u64::from(number) };
        let offset = *self.dictionary_offsets().get(number as usize).ok_or(unknown.clone())?;
        let bytes = decode::control_plain(&self.frame(offset)?)?;
        let dictionary = Arc::new(Dictionary::for_reading(bytes).ok_or(unknown)?);
        known.insert(number, dictionary.clone());
        Ok(dictionary)
    }

    /// Whether the index is lost and what it would say had to be found out by decoding.
    pub(crate) fn lacks_index(&self) -> bool {
        self.tail.unindexed || self.index_problem.is_some()
    }

    /// Whether every section of the index has the bytes it was written with.
    pub(crate) fn index_verifies(&self) -> bool {
        self.index
            .as_ref()
            .is_none_or(|open| *open.verified.get_or_init(|| open.index.verify_all(&open.bytes).is_ok()))
    }

    /// What an index over everything committed says of the end of it.
    fn ending(&self) -> u32 {
        if self.tail.end > self.tail.start {
            return index::ending(self.tail.committed());
        }
        self.index.as_ref().map_or(0, |open| open.index.ending)
    }

    /// Everything an index over the whole pack says.
    pub(crate) fn index_content(&self) -> IndexBuilder {
        let mut content = self.index_lists();
        content.brief = Members::of(self).brief(&content.objects);
        content
    }

    /// As [`Pack::index_content`], without which keys are brief.
    pub(crate) fn index_lists(&self) -> IndexBuilder {
        let open = self.index.as_ref().map(|open| &open.index);
        let mut foreign = open.map_or(&[][..], |index| index.foreign_runs()).to_vec();
        foreign.extend_from_slice(&self.tail.foreign);
        let object = |ordinal| {
            let key = self.key_of(RefCode::Local(ordinal)).unwrap_or([0; KEY_LEN]);
            (key, self.place_of(ordinal).unwrap_or_default())
        };
        IndexBuilder {
            pack: self.number,
            covered: self.end(),
            ending: self.ending(),
            objects: (0..self.objects()).map(object).collect(),
            brief: Vec::new(),
            foreign,
            dictionaries: self.dictionary_offsets(),
        }
    }

    /// Keys of all committed objects, by ordinal.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (Key, Place)> + '_ {
        (0..self.objects()).filter_map(|ordinal| self.by_ordinal(ordinal))
    }
}

/// The bytes of a pack behind `covered`, and the offset they begin at.
fn read_behind(vfs: &dyn Vfs, path: &Path, covered: u64) -> Result<(FileBytes, u64)> {
    match vfs.read_from(path, covered, MAX_READ_BYTES) {
        Ok(bytes) => Ok((FileBytes::new(bytes), covered)),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Ok((vfs.map(path).map_err(StoreError::io("map", path))?, 0))
        }
        Err(error) => Err(StoreError::io("read", path)(error)),
    }
}

/// Bytes of the pack that its index covers.
///
/// # Errors
/// `UnknownVersion`, `CorruptFile` when the header is damaged or the pack is shorter than that.
fn covered_by(open: &OpenIndex, path: &Path, bytes: &[u8], number: u64) -> Result<u64> {
    check_header(path, bytes, number)?;
    let (covered, len_bytes) = (open.index.covered, bytes.len() as u64);
    if len_bytes < covered || covered < HEADER_LEN as u64 {
        let detail = format!("{len_bytes} bytes, its index covers {covered}");
        return Err(StoreError::CorruptFile { path: path.into(), offset_bytes: len_bytes, detail });
    }
    Ok(covered)
}

fn check_header(path: &Path, bytes: &[u8], number: u64) -> Result<()> {
    let found = frame::read_header(bytes).map_err(|error| match error {
        FormatError::Version { found, supported, .. } => {
            StoreError::UnknownVersion { path: path.into(), found, supported }
        }
        other => StoreError::CorruptFile { path: path.into(), offset_bytes: 0, detail: other.to_string() },
    })?;
    if found != number {
        let detail = format!("pack number {found} under the name of {number}");
        return Err(StoreError::CorruptFile { path: path.into(), offset_bytes: 0, detail });
    }
    Ok(())
}

fn read_index(vfs: &dyn Vfs, path: &Path, number: u64) -> Result<Option<OpenIndex>> {
    let bytes = match vfs.map(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("map", path)(error)),
    };
    let damage = |detail: String| StoreError::CorruptFile { path: path.into(), offset_bytes: 0, detail };
    match OpenIndex::new(bytes) {
        Ok(open) if open.index.pack == number => Ok(Some(open)),
        Ok(open) => Err(damage(format!("index of pack {} beside pack {number}", open.index.pack))),
        // One of an older build is made anew from its pack.
        Err(FormatError::Version { found, supported, .. }) if found > supported => {
            Err(StoreError::UnknownVersion { path: path.into(), found, supported })
        }
        Err(error) => Err(damage(error.to_string())),
    }
}
