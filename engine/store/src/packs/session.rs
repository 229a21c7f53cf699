//! The serial part of a writer session: ordinals, reference codes, groups and the buffer of frames.

use super::brief::Members;
use super::claim::Claim;
use super::effort::{BUFFER_BYTES, METADATA_LEVEL, WRITEBACK_BYTES};
use super::hasher::KeyMap;
use crate::{Result, StoreError, WriteReport};
use gemel_object::{Family, Gid};
use gemel_packfmt::codec::{self, Aid, Level};
use gemel_packfmt::frame::{Frame, Kind, MAX_OFFSET, Method, put};
use gemel_packfmt::group::GroupBuilder;
use gemel_packfmt::index::{self, ForeignRun, Place};
use gemel_packfmt::mark::{FrameSum, Mark};
use gemel_packfmt::refcode::{Codes, KeyOp, RefCode, put_op};
use gemel_packfmt::{Key, varint};

/// The group of objects that are written beside each other.
pub(crate) const BESIDE_GROUP: u8 = 0;
/// One group is filled for each family, at the place of its code; codes begin at 1.
const GROUPS: usize = Family::ALL.len() + 1;

/// State of a session that has taken a pack.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) claim: Claim,
    /// Frames not handed to the disk yet; they begin at `buffer_at`.
    buffer: Vec<u8>,
    buffer_at: u64,
    /// Up to where the disk was asked to begin writing.
    handed_over: u64,
    /// Where the batch begins.
    pub(crate) batch_at: u64,
    pub(crate) first_ordinal: u32,
    /// Ordinals by identity, and keys with places by ordinal, of this batch.
    ordinals: KeyMap<Gid, u32>,
    pub(crate) objects: Vec<(Key, Place)>,
    /// On how many bases each of them stands.
    depths: Vec<u8>,
    /// Numbers of foreign keys, and those not yet written.
    foreign: KeyMap<Key, u32>,
    foreign_new: Vec<Key>,
    pub(crate) foreign_count: u32,
    pub(crate) foreign_runs: Vec<ForeignRun>,
    pub(crate) dictionaries: Vec<u64>,
    pub(crate) dictionary_count: u32,
    groups: Vec<GroupBuilder>,
    /// Members of the groups that were written.
    pub(crate) members: Members,
    pub(crate) sum: FrameSum,
    /// Whether an object of this batch stands on a base in another pack.
    pub(crate) foreign_bases: bool,
    pub(crate) report: WriteReport,
    /// Level at which groups are compressed.
    pub(crate) group_level: Level,
    /// What an index says of the end of the pack, known once the mark is written.
    pub(crate) ending: u32,
}

impl Session {
    pub(crate) fn new(claim: Claim) -> Session {
        let at = claim.file.len_bytes();
        let pack = claim.pack.as_ref();
        let foreign = pack.into_iter().flat_map(|pack| {
            pack.tail.foreign.iter().flat_map(move |run| {
                (run.first..run.first + run.count).filter_map(|n| Some((pack.tail.foreign_key(n)?, n)))
            })
        });
        Session {
            buffer: Vec::new(),
            buffer_at: at,
            handed_over: at,
            batch_at: at,
            first_ordinal: pack.map_or(0, |pack| pack.objects()),
            ordinals: KeyMap::default(),
            objects: Vec::new(),
            depths: Vec::new(),
            foreign: foreign.collect(),
            foreign_new: Vec::new(),
            foreign_count: pack.map_or(0, |pack| pack.foreign_count()),
            foreign_runs: Vec::new(),
            dictionaries: Vec::new(),
            dictionary_count: pack.map_or(0, |pack| pack.dictionary_offsets().len() as u32),
            groups: vec![GroupBuilder::default(); GROUPS],
            members: Members::default(),
            sum: FrameSum::default(),
            foreign_bases: false,
            report: WriteReport::default(),
            group_level: METADATA_LEVEL,
            ending: 0,
            claim,
        }
    }

    /// Whether this session holds the object.
    pub(crate) fn contains(&self, id: &Gid) -> bool {
        self.ordinals.contains_key(id)
    }

    /// On how many bases an object of this session stands; `None` if it is not of this session.
    pub(crate) fn depth_of(&self, id: &Gid) -> Option<u8> {
        let ordinal = self.ordinals.get(id)?;
        self.depths.get((ordinal - self.first_ordinal) as usize).copied()
    }

    /// Gives the object the next ordinal; `None` if the session has it already.
    pub(crate) fn admit(&mut self, id: &Gid, plain_bytes: usize) -> Option<u32> {
        let ordinal = self.first_ordinal.checked_add(u32::try_from(self.objects.len()).ok()?)?;
        if self.ordinals.contains_key(id) {
            return None;
        }
        self.ordinals.insert(*id, ordinal);
        self.objects.push((*id.as_bytes(), Place::default()));
        self.depths.push(0);
        self.report.objects_new += 1;
        self.report.plain_bytes += plain_bytes as u64;
        Some(ordinal)
    }

    /// The number of an object of this batch.
    pub(crate) fn ordinal_of(&self, id: &Gid) -> Option<u32> {
        self.ordinals.get(id).copied()
    }

    /// Appends a dictionary; its number.
    ///
    /// # Errors
    /// As [`Session::put_frame`].
    pub(crate) fn put_dictionary(&mut self, bytes: &[u8], level: Level) -> Result<u32> {
        let mut payload = Vec::new();
        let method = match codec::deflate(bytes, Aid::Alone, level, &mut payload) {
            true => Method::Deflated,
            false => Method::Stored,
        };
        let stored = if method == Method::Stored { bytes } else { &payload };
        let number = self.dictionary_count;
        let kind = Kind::Dictionary { number };
        let offset = self.put_frame(kind, method, bytes.len() as u64, &[stored])?;
        self.dictionaries.push(offset);
        self.dictionary_count += 1;
        Ok(number)
    }

    /// The code under which this pack knows a key; unknown ones become foreign.
    pub(crate) fn code(&mut self, key: &Key) -> RefCode {
        if let Some(&ordinal) = Gid::from_bytes(key).as_ref().and_then(|id| self.ordinals.get(id)) {
            return RefCode::Local(ordinal);
        }
        if let Some(tail) = self.claim.pack.as_ref().map(|pack| &pack.tail)
            && let Some(&within) = tail.by_key.get(key)
        {
            return RefCode::Local(tail.first_ordinal + within);
        }
        let next = self.foreign_count;
        let number = *self.foreign.entry(*key).or_insert(next);
        if number == next {
            self.foreign_new.push(*key);
            self.foreign_count += 1;
        }
        RefCode::Foreign(number)
    }

    /// Reference codes of a whole list of keys.
    pub(crate) fn codes(&mut self, ordinal: u32, keys: &[Key]) -> Vec<u8> {
        let mut state = Codes::of(ordinal);
        let mut out = Vec::with_capacity(keys.len() * 2);
        for key in keys {
            let code = self.code(key);
            state.put(code, &mut out);
        }
        out
    }

    /// Key operations with the codes of new keys.
    pub(crate) fn op_codes(&mut self, ordinal: u32, keys: &[Key], ops: &[KeyOp]) -> Vec<u8> {
        let mut state = Codes::of(ordinal);
        let (mut out, mut at) = (Vec::new(), 0usize);
        for &op in ops {
            put_op(op, &mut out);
            match op {
                KeyOp::Copy(n) => at += n as usize,
                KeyOp::Skip(_) => {}
                KeyOp::New(n) => {
                    for key in keys.iter().skip(at).take(n as usize) {
                        let code = self.code(key);
                        state.put(code, &mut out);
                    }
                    at += n as usize;
                }
            }
        }
        out
    }

    /// Appends the frame of one object.
    ///
    /// # Errors
    /// `Io`, `Limit` when the pack is full.
    pub(crate) fn put_object(
        &mut self,
        ordinal: u32,
        kind: Kind,
        method: Method,
        len: u64,
        payload: &[&[u8]],
    ) -> Result<()> {
        let offset = self.put_frame(kind, method, len, payload)?;
        if let (Method::Delta { depth, .. }, Some(own)) =
            (method, self.depths.get_mut((ordinal - self.first_ordinal) as usize))
        {
            *own = depth;
        }
        self.set_place(ordinal, offset);
        Ok(())
    }

    fn set_place(&mut self, ordinal: u32, offset: u64) {
        if let Some((_, place)) = self.objects.get_mut((ordinal - self.first_ordinal) as usize) {
            *place = Place { offset, ordinal };
        }
    }

    /// Appends any frame; returns its offset.
    ///
    /// # Errors
    /// `Io`, `Limit` when the pack is full.
    pub(crate) fn put_frame(
        &mut self,
        kind: Kind,
        method: Method,
        len: u64,
        payload: &[&[u8]],
    ) -> Result<u64> {
        let offset = self.end();
        if offset >= MAX_OFFSET {
            let what = format!("size of {}", self.claim.path.display());
            return Err(StoreError::Limit { what, found: offset, limit: MAX_OFFSET });
        }
        let within = self.buffer.len();
        put(kind, method, len, payload, &mut self.buffer);
        if let Ok(frame) = Frame::parse(&self.buffer, within as u64) {
            self.sum.add(frame.check_value());
        }
        if self.buffer.len() >= BUFFER_BYTES {
            self.write_buffer()?;
        }
        Ok(offset)
    }

    /// Where the next frame begins.
    pub(crate) fn end(&self) -> u64 {
        self.buffer_at + self.buffer.len() as u64
    }

    /// Hands the buffer to the disk.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn write_buffer(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.claim.file.append(&self.buffer).map_err(StoreError::io("write", &self.claim.path))?;
            self.buffer_at += self.buffer.len() as u64;
            self.buffer.clear();
            if self.buffer_at - self.handed_over >= WRITEBACK_BYTES {
                self.claim.file.begin_writeback();
                self.handed_over = self.buffer_at;
            }
        }
        Ok(())
    }

    /// Appends the mark, which is no part of the sum it holds.
    pub(crate) fn put_mark(&mut self, mark: &Mark) {
        let start = self.buffer.len();
        mark.put(&mut self.buffer);
        self.ending = index::ending(&self.buffer[start..]);
    }

    /// Takes the session back to `offset`: frames behind it were for an object that is not wanted.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn rewind(&mut self, offset: u64, sum: FrameSum) -> Result<()> {
        match offset.checked_sub(self.buffer_at) {
            Some(keep) => self.buffer.truncate(usize::try_from(keep).unwrap_or(usize::MAX)),
            None => {
                self.buffer.clear();
                self.claim.file.truncate(offset).map_err(StoreError::io("truncate", &self.claim.path))?;
                self.buffer_at = offset;
                self.handed_over = self.handed_over.min(offset);
            }
        }
        self.sum = sum;
        Ok(())
    }

    /// Adds an object to its family's group; returns the group if it is now full.
    pub(crate) fn join_group(
        &mut self,
        ordinal: u32,
        family: u8,
        codes: &[u8],
        form: &[u8],
    ) -> Option<GroupBuilder> {
        let group = self.groups.get_mut(usize::from(family))?;
        group.push(ordinal, codes, form);
        group.is_full().then(|| std::mem::take(group))
    }

    /// Appends a compressed group.
    ///
    /// # Errors
    /// As [`Session::put_frame`].
    pub(crate) fn put_group(&mut self, group: &PackedGroup) -> Result<()> {
        let method = if group.deflated { Method::Deflated } else { Method::Stored };
        let offset = self.put_frame(Kind::Group, method, group.plain_len, &[&group.payload])?;
        group.members.ordinals().for_each(|ordinal| self.set_place(ordinal, offset));
        self.members.append(&group.members);
        Ok(())
    }

    /// Appends what groups hold, few small ones as one.
    ///
    /// # Errors
    /// As [`Session::put_frame`].
    pub(crate) fn flush_groups(&mut self) -> Result<()> {
        let groups: Vec<GroupBuilder> = self.groups.iter_mut().map(std::mem::take).collect();
        let mut mixed = GroupBuilder::default();
        for group in groups.into_iter().filter(|group| !group.is_empty()) {
            if !mixed.absorb(&group) {
                self.put_group(&PackedGroup::new(&mixed, self.group_level))?;
                mixed = group;
            }
        }
        if !mixed.is_empty() {
            self.put_group(&PackedGroup::new(&mixed, self.group_level))?;
        }
        Ok(())
    }

    /// Appends the foreign keys announced by this batch.
    ///
    /// # Errors
    /// As [`Session::put_frame`].
    pub(crate) fn flush_foreign(&mut self) -> Result<()> {
        let keys = std::mem::take(&mut self.foreign_new);
        let mut first = self.foreign_count - keys.len() as u32;
        for part in keys.chunks(1 << 16) {
            self.put_frame(Kind::Foreign { first }, Method::Stored, 0, &[part.as_flattened()])?;
            let offset = self.end() - part.as_flattened().len() as u64;
            let count = part.len() as u32;
            self.foreign_runs.push(ForeignRun { offset, first, count });
            first += count;
        }
        Ok(())
    }
}

/// A group compressed outside the session's lock.
#[derive(Debug)]
pub(crate) struct PackedGroup {
    payload: Vec<u8>,
    deflated: bool,
    plain_len: u64,
    members: Members,
}

impl PackedGroup {
    /// Compresses a group.
    pub(crate) fn new(group: &GroupBuilder, level: Level) -> PackedGroup {
        let plain = group.plain();
        let plain_len = plain.len() as u64;
        let mut payload = Vec::new();
        let deflated = codec::deflate(&plain, Aid::Alone, level, &mut payload);
        if !deflated {
            payload = plain;
        }
        let mut members = Members::default();
        group.members().for_each(|(ordinal, codes)| members.note(ordinal, codes));
        PackedGroup { payload, deflated, plain_len, members }
    }
}

/// Reference codes as they open the payload of a cut object's frame.
pub(crate) fn with_length(codes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(codes.len() + 3);
    varint::put(&mut out, codes.len() as u64);
    out.extend_from_slice(codes);
    out
}
