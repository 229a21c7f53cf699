//! The stat cache: what a directory held when it was last looked at, so that looking again reads only what changed
//! (workflow, section 3; STORAGE, stat cache).
//!
//! One file per workspace, derived: deleting, cutting or damaging it costs time and changes no answer. Directories
//! lie in the order of a walk level by level, entries by directory, so that a walk reads the file as it lies, mapped,
//! without building anything. All numbers are little-endian.
//!
//! | part | content |
//! |---|---|
//! | header | [`HEADER_LEN`] bytes, see the constants |
//! | directories | [`DIR_LEN`] bytes each; number 0 is the root; the children of one lie together |
//! | entries | [`ENTRY_LEN`] bytes each: files and links |
//! | names | the bytes all names point into |
//! | checksum | BLAKE3 of all before it |

use crate::content::disk::{Kind, Stat};
use crate::content::ignore::RuleDigest;
use gemel_object::{Family, GID_LEN, Gid, Mode};
use gemel_store::vfs::FileBytes;
use std::ops::Range;

const MAGIC: [u8; 8] = *b"GEMLSTAT";
const VERSION: u32 = 1;

const AT_VERSION: usize = 8;
const AT_DIRS: usize = AT_VERSION + 4;
const AT_ENTRIES: usize = AT_DIRS + 4;
const AT_NAMES: usize = AT_ENTRIES + 4;
const AT_HORIZON: usize = AT_NAMES + 4;
const AT_OBSERVED: usize = AT_HORIZON + 8;
const AT_RECORDED: usize = AT_OBSERVED + 8;
const HEADER_LEN: usize = AT_RECORDED + GID_LEN;

const DIR_NAME: usize = 0;
const DIR_NAME_LEN: usize = DIR_NAME + 4;
const DIR_ENTRIES: usize = DIR_NAME_LEN + 4;
const DIR_ENTRY_COUNT: usize = DIR_ENTRIES + 4;
const DIR_CHILDREN: usize = DIR_ENTRY_COUNT + 4;
const DIR_CHILD_COUNT: usize = DIR_CHILDREN + 4;
const DIR_MTIME: usize = DIR_CHILD_COUNT + 4;
const DIR_CTIME: usize = DIR_MTIME + 8;
const DIR_INO: usize = DIR_CTIME + 8;
const DIR_RULES: usize = DIR_INO + 8;
const DIR_TREE: usize = DIR_RULES + 16;
const DIR_RECORDED: usize = DIR_TREE + GID_LEN;
const DIR_FLAGS: usize = DIR_RECORDED + GID_LEN;
const DIR_LEN: usize = DIR_FLAGS + 1;

const ENTRY_NAME: usize = 0;
const ENTRY_NAME_LEN: usize = ENTRY_NAME + 4;
const ENTRY_SIZE: usize = ENTRY_NAME_LEN + 4;
const ENTRY_MTIME: usize = ENTRY_SIZE + 8;
const ENTRY_CTIME: usize = ENTRY_MTIME + 8;
const ENTRY_INO: usize = ENTRY_CTIME + 8;
const ENTRY_BLOB: usize = ENTRY_INO + 8;
const ENTRY_KIND: usize = ENTRY_BLOB + 32;
const ENTRY_LEN: usize = ENTRY_KIND + 1;

const CHECKSUM_LEN: usize = 32;

/// What is known of a directory besides its stat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DirFlags {
    /// It is ignored: only recorded paths below it are content.
    pub(crate) ignored: bool,
    /// It holds a repository of its own and is not walked.
    pub(crate) nested: bool,
    /// It has a `.gitignore`.
    pub(crate) has_rules: bool,
    /// Its list of entries cannot be trusted, only the entries themselves.
    pub(crate) unlisted: bool,
}

impl DirFlags {
    fn to_byte(self) -> u8 {
        u8::from(self.ignored)
            | u8::from(self.nested) << 1
            | u8::from(self.has_rules) << 2
            | u8::from(self.unlisted) << 3
    }

    fn from_byte(byte: u8) -> DirFlags {
        DirFlags {
            ignored: byte & 1 != 0,
            nested: byte & 2 != 0,
            has_rules: byte & 4 != 0,
            unlisted: byte & 8 != 0,
        }
    }
}

/// A directory of the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedDir<'c> {
    raw: &'c [u8],
    cache: &'c StatCache,
}

/// A file or link of the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedEntry<'c> {
    raw: &'c [u8],
    cache: &'c StatCache,
}

/// A stat cache whose every index was checked.
#[derive(Debug)]
pub(crate) struct StatCache {
    bytes: FileBytes,
    dirs: usize,
    entries_at: usize,
    names_at: usize,
    names_end: usize,
}

impl StatCache {
    /// Checks the bytes of a cache file. `None`: damaged, of another version, not one at all.
    pub(crate) fn open(bytes: FileBytes) -> Option<StatCache> {
        if bytes.get(..AT_VERSION)? != MAGIC || u32_at(bytes.get(..HEADER_LEN)?, AT_VERSION) != VERSION {
            return None;
        }
        let count = |at| usize::try_from(u32_at(&bytes, at)).ok();
        let dirs = count(AT_DIRS)?;
        let entries = count(AT_ENTRIES)?;
        let entries_at = HEADER_LEN.checked_add(dirs.checked_mul(DIR_LEN)?)?;
        let names_at = entries_at.checked_add(entries.checked_mul(ENTRY_LEN)?)?;
        let names_end = names_at.checked_add(count(AT_NAMES)?)?;
        if dirs == 0 || bytes.len() != names_end.checked_add(CHECKSUM_LEN)? {
            return None;
        }
        if blake3::hash(bytes.get(..names_end)?).as_bytes() != bytes.get(names_end..)? {
            return None;
        }
        let cache = StatCache { bytes, dirs, entries_at, names_at, names_end };
        cache.is_whole(entries).then_some(cache)
    }

    /// Whether every index lies where it should: each directory's children and entries follow those of the one
    /// before, so that a walk ends and visits each once.
    fn is_whole(&self, entries: usize) -> bool {
        let (mut next_child, mut next_entry) = (1, 0);
        for number in 0..self.dirs {
            let dir = self.dir(number);
            let (children, held) = (dir.children(), dir.entry_range());
            if children.start != next_child || held.start != next_entry || !self.holds_name(dir.raw, DIR_NAME)
            {
                return false;
            }
            if !children.is_empty() && children.start <= number {
                return false;
            }
            (next_child, next_entry) = (children.end, held.end);
            if next_child > self.dirs || next_entry > entries {
                return false;
            }
        }
        let named = (0..entries).all(|number| self.holds_name(self.entry(number).raw, ENTRY_NAME));
        next_child == self.dirs && next_entry == entries && named
    }

    fn holds_name(&self, raw: &[u8], at: usize) -> bool {
        let end = u64::from(u32_at(raw, at)) + u64::from(u32_at(raw, at + 4));
        end <= (self.names_end - self.names_at) as u64
    }

    /// No entry or directory changed at or after this time can be trusted to be unchanged by its times alone.
    pub(crate) fn horizon_ns(&self) -> i64 {
        i64_at(&self.bytes, AT_HORIZON)
    }

    /// The latest time of change that was met when the cache was made.
    pub(crate) fn observed_ns(&self) -> i64 {
        i64_at(&self.bytes, AT_OBSERVED)
    }

    /// The root tree that decided which ignored paths are content.
    pub(crate) fn recorded(&self) -> Option<Gid> {
        gid_at(&self.bytes, AT_RECORDED)
    }

    /// Directory `number`; the root is 0.
    pub(crate) fn dir(&self, number: usize) -> CachedDir<'_> {
        let at = HEADER_LEN + number * DIR_LEN;
        CachedDir { raw: self.bytes.get(at..at + DIR_LEN).unwrap_or(&[0; DIR_LEN]), cache: self }
    }

    fn entry(&self, number: usize) -> CachedEntry<'_> {
        let at = self.entries_at + number * ENTRY_LEN;
        CachedEntry { raw: self.bytes.get(at..at + ENTRY_LEN).unwrap_or(&[0; ENTRY_LEN]), cache: self }
    }

    fn name(&self, raw: &[u8], at: usize) -> &[u8] {
        let start = self.names_at + u32_at(raw, at) as usize;
        self.bytes.get(start..start + u32_at(raw, at + 4) as usize).unwrap_or_default()
    }
}

impl<'c> CachedDir<'c> {
    /// Its name; empty for the root.
    pub(crate) fn name(&self) -> &'c [u8] {
        self.cache.name(self.raw, DIR_NAME)
    }

    /// Its stat when it was listed.
    pub(crate) fn stat(&self) -> Stat {
        Stat {
            kind: Kind::Directory,
            size: 0,
            mtime_ns: i64_at(self.raw, DIR_MTIME),
            ctime_ns: i64_at(self.raw, DIR_CTIME),
            ino: u64_at(self.raw, DIR_INO),
        }
    }

    /// Digest of the rules that applied in it.
    pub(crate) fn rules(&self) -> RuleDigest {
        self.raw.get(DIR_RULES..DIR_TREE).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default()
    }

    /// Its tree; none without content.
    pub(crate) fn tree(&self) -> Option<Gid> {
        gid_at(self.raw, DIR_TREE)
    }

    /// The tree the recorded state has there.
    pub(crate) fn recorded(&self) -> Option<Gid> {
        gid_at(self.raw, DIR_RECORDED)
    }

    /// What else is known.
    pub(crate) fn flags(&self) -> DirFlags {
        DirFlags::from_byte(self.raw.get(DIR_FLAGS).copied().unwrap_or_default())
    }

    /// Numbers of its subdirectories.
    pub(crate) fn children(&self) -> Range<usize> {
        range_at(self.raw, DIR_CHILDREN, DIR_CHILD_COUNT)
    }

    fn entry_range(&self) -> Range<usize> {
        range_at(self.raw, DIR_ENTRIES, DIR_ENTRY_COUNT)
    }

    /// Its files and links, ascending by name.
    pub(crate) fn entries(&self) -> impl ExactSizeIterator<Item = CachedEntry<'c>> + Clone + use<'c> {
        let cache = self.cache;
        self.entry_range().map(move |number| cache.entry(number))
    }

    /// Its subdirectories, ascending by name, with their numbers.
    pub(crate) fn subdirs(&self) -> impl ExactSizeIterator<Item = (usize, CachedDir<'c>)> + Clone + use<'c> {
        let cache = self.cache;
        self.children().map(move |number| (number, cache.dir(number)))
    }
}

impl<'c> CachedEntry<'c> {
    /// Its name.
    pub(crate) fn name(&self) -> &'c [u8] {
        self.cache.name(self.raw, ENTRY_NAME)
    }

    /// Its mode.
    pub(crate) fn mode(&self) -> Mode {
        match self.raw.get(ENTRY_KIND) {
            Some(1) => Mode::Executable,
            Some(2) => Mode::Link,
            _ => Mode::File,
        }
    }

    /// Its stat when it was read.
    pub(crate) fn stat(&self) -> Stat {
        Stat {
            kind: match self.mode() {
                Mode::Executable => Kind::Executable,
                Mode::Link => Kind::Link,
                _ => Kind::File,
            },
            size: u64_at(self.raw, ENTRY_SIZE),
            mtime_ns: i64_at(self.raw, ENTRY_MTIME),
            ctime_ns: i64_at(self.raw, ENTRY_CTIME),
            ino: u64_at(self.raw, ENTRY_INO),
        }
    }

    /// Its content.
    pub(crate) fn blob(&self) -> Gid {
        let digest = self.raw.get(ENTRY_BLOB..ENTRY_KIND).and_then(|bytes| bytes.try_into().ok());
        Gid::new(Family::Blob, digest.unwrap_or_default())
    }
}

/// Writes a cache file, directory after directory in the order of the walk.
#[derive(Debug)]
pub(crate) struct CacheWriter {
    dirs: Vec<u8>,
    entries: Vec<u8>,
    names: Vec<u8>,
    next_child: usize,
}

impl CacheWriter {
    /// Begins a cache.
    pub(crate) fn new() -> CacheWriter {
        CacheWriter { dirs: Vec::new(), entries: Vec::new(), names: Vec::new(), next_child: 1 }
    }

    /// Adds the next directory. Its entries have been added just before, its children follow once the directories before
    /// them have been added.
    pub(crate) fn dir(&mut self, dir: &DirRecord<'_>) -> Option<()> {
        let (name_at, name_len) = self.name(dir.name)?;
        let raw = &mut self.dirs;
        put_u32(raw, name_at);
        put_u32(raw, name_len);
        put_u32(raw, u32::try_from((self.entries.len() / ENTRY_LEN).checked_sub(dir.entries)?).ok()?);
        put_u32(raw, u32::try_from(dir.entries).ok()?);
        put_u32(raw, u32::try_from(self.next_child).ok()?);
        put_u32(raw, u32::try_from(dir.children).ok()?);
        self.next_child += dir.children;
        raw.extend_from_slice(&dir.stat.mtime_ns.to_le_bytes());
        raw.extend_from_slice(&dir.stat.ctime_ns.to_le_bytes());
        raw.extend_from_slice(&dir.stat.ino.to_le_bytes());
        raw.extend_from_slice(&dir.rules);
        raw.extend_from_slice(&gid_bytes(dir.tree));
        raw.extend_from_slice(&gid_bytes(dir.recorded));
        raw.push(dir.flags.to_byte());
        Some(())
    }

    /// Adds an entry of the directory added next.
    pub(crate) fn entry(&mut self, name: &[u8], stat: &Stat, blob: &Gid) -> Option<()> {
        let (name_at, name_len) = self.name(name)?;
        let raw = &mut self.entries;
        put_u32(raw, name_at);
        put_u32(raw, name_len);
        raw.extend_from_slice(&stat.size.to_le_bytes());
        raw.extend_from_slice(&stat.mtime_ns.to_le_bytes());
        raw.extend_from_slice(&stat.ctime_ns.to_le_bytes());
        raw.extend_from_slice(&stat.ino.to_le_bytes());
        raw.extend_from_slice(blob.digest());
        raw.push(match stat.kind {
            Kind::Executable => 1,
            Kind::Link => 2,
            _ => 0,
        });
        Some(())
    }

    fn name(&mut self, name: &[u8]) -> Option<(u32, u32)> {
        let at = u32::try_from(self.names.len()).ok()?;
        self.names.extend_from_slice(name);
        Some((at, u32::try_from(name.len()).ok()?))
    }

    /// The bytes of the file.
    pub(crate) fn finish(self, horizon_ns: i64, observed_ns: i64, recorded: Option<Gid>) -> Option<Vec<u8>> {
        let body = self.dirs.len() + self.entries.len() + self.names.len();
        let mut bytes = Vec::with_capacity(HEADER_LEN + body + CHECKSUM_LEN);
        bytes.extend_from_slice(&MAGIC);
        put_u32(&mut bytes, VERSION);
        put_u32(&mut bytes, u32::try_from(self.dirs.len() / DIR_LEN).ok()?);
        put_u32(&mut bytes, u32::try_from(self.entries.len() / ENTRY_LEN).ok()?);
        put_u32(&mut bytes, u32::try_from(self.names.len()).ok()?);
        bytes.extend_from_slice(&horizon_ns.to_le_bytes());
        bytes.extend_from_slice(&observed_ns.to_le_bytes());
        bytes.extend_from_slice(&gid_bytes(recorded));
        bytes.extend_from_slice(&self.dirs);
        bytes.extend_from_slice(&self.entries);
        bytes.extend_from_slice(&self.names);
        let checksum = blake3::hash(&bytes);
        bytes.extend_from_slice(checksum.as_bytes());
        Some(bytes)
    }
}

/// A directory to be written to a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirRecord<'a> {
    /// Its name.
    pub(crate) name: &'a [u8],
    /// Its stat when it was listed.
    pub(crate) stat: Stat,
    /// Digest of the rules that apply in it.
    pub(crate) rules: RuleDigest,
    /// Its tree.
    pub(crate) tree: Option<Gid>,
    /// The tree the recorded state has there.
    pub(crate) recorded: Option<Gid>,
    /// What else is known.
    pub(crate) flags: DirFlags,
    /// Number of its entries.
    pub(crate) entries: usize,
    /// Number of its subdirectories.
    pub(crate) children: usize,
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// The fields of a record whose length was checked; 0 past its end.
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(array_at(bytes, at))
}

/// A tree's identity; zeros stand for none.
fn gid_at(bytes: &[u8], at: usize) -> Option<Gid> {
    Gid::from_bytes(&array_at(bytes, at)).filter(|gid| gid.family() == Family::Tree)
}

fn gid_bytes(gid: Option<Gid>) -> [u8; GID_LEN] {
    gid.map_or([0; GID_LEN], |gid| *gid.as_bytes())
}

fn range_at(bytes: &[u8], start: usize, count: usize) -> Range<usize> {
    let start = u32_at(bytes, start) as usize;
    start..start + u32_at(bytes, count) as usize
}
