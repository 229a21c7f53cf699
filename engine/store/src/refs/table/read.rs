//! Opening a table and looking up one name.

use super::{
    BLOCK_CHECK_LEN, BlockRef, COUNTERS, Counters, FOOTER_LEN, HEADER_LEN, INDEX, LEAF, MAGIC, MAX_BLOCK,
    MAX_HEIGHT, OLDEST, VERSION, block_check, suffix,
};
use crate::refs::codec::{CHECK_LEN, Input, Stored, check_of};
use crate::refs::name::MAX_NAME_BYTES;
use crate::refs::stack::TableEntry;
use crate::vfs::FileBytes;
use crate::{Result, StoreError};
use std::cmp::Ordering as Order;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// An opened table: its footer is checked, its blocks are checked as they are touched.
pub(crate) struct Table {
    bytes: FileBytes,
    path: PathBuf,
    root: BlockRef,
    height: u8,
    counters: BlockRef,
    counters_complete: bool,
    names: u64,
    verified: Verified,
    counters_cache: OnceLock<Counters>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({}, {} names)", self.path.display(), self.names)
    }
}

/// Fields of a footer, unchecked.
struct RawFooter {
    root: BlockRef,
    height: u8,
    counters: BlockRef,
    counters_complete: u8,
    names: u64,
    size_bytes: u64,
    check: [u8; CHECK_LEN],
}

impl RawFooter {
    fn parse(bytes: &[u8]) -> Option<RawFooter> {
        let (content, check) = bytes.split_last_chunk::<CHECK_LEN>()?;
        if check_of(content) != *check {
            return None;
        }
        let mut input = Input::new(content);
        let (root, height) = (BlockRef::read(&mut input)?, input.u8()?);
        let (counters, counters_complete) = (BlockRef::read(&mut input)?, input.u8()?);
        let (names, _removed, size_bytes) = (input.u64()?, input.u64()?, input.u64()?);
        let sealed =
            (OLDEST..=VERSION).contains(&input.u32()?) && input.array::<4>()? == MAGIC && input.is_empty();
        sealed.then_some(RawFooter {
            root,
            height,
            counters,
            counters_complete,
            names,
            size_bytes,
            check: *check,
        })
    }
}

impl Table {
    /// Opens the table at `path`, which the stack describes as `listed`.
    ///
    /// # Errors
    /// `UnknownVersion`, `CorruptFile`.
    pub(crate) fn open(bytes: FileBytes, path: &Path, listed: &TableEntry) -> Result<Table> {
        let size_bytes = bytes.len() as u64;
        let corrupt = |at: usize, detail: String| StoreError::CorruptFile {
            path: path.to_owned(),
            offset_bytes: at as u64,
            detail,
        };
        let mut head = Input::new(&bytes);
        if head.array::<4>() != Some(MAGIC) {
            return Err(corrupt(0, "not a ref table".to_owned()));
        }
        match head.u32() {
            Some(OLDEST..=VERSION) => {}
            Some(found) => {
                return Err(StoreError::UnknownVersion { path: path.to_owned(), found, supported: VERSION });
            }
            None => return Err(corrupt(0, "ref table is cut short".to_owned())),
        }
        if size_bytes != listed.size_bytes {
            return Err(corrupt(
                0,
                format!("ref table has {size_bytes} bytes, its list says {}", listed.size_bytes),
            ));
        }
        let footer_at = bytes.len().saturating_sub(FOOTER_LEN).max(HEADER_LEN);
        let footer = RawFooter::parse(bytes.get(footer_at..).unwrap_or_default())
            .ok_or_else(|| corrupt(footer_at, "footer of ref table is damaged".to_owned()))?;
        let end = footer_at as u64;
        let plausible = footer.check == listed.check
            && footer.size_bytes == size_bytes
            && footer.height <= MAX_HEIGHT
            && footer.counters_complete <= 1
            && is_within(&footer.root, end)
            && (footer.counters.len == 0 || is_within(&footer.counters, end));
        if !plausible {
            return Err(corrupt(footer_at, "footer of ref table is not the one listed".to_owned()));
        }
        Ok(Table {
            path: path.to_owned(),
            root: footer.root,
            height: footer.height,
            counters: footer.counters,
            counters_complete: footer.counters_complete == 1,
            names: footer.names,
            verified: Verified::new(bytes.len()),
            counters_cache: OnceLock::new(),
            bytes,
        })
    }

    /// Names the table holds, removals included.
    pub(crate) fn names(&self) -> u64 {
        self.names
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn root(&self) -> (BlockRef, u8) {
        (self.root, self.height)
    }

    /// The value of `name`; `None` when the table does not mention it.
    ///
    /// # Errors
    /// `CorruptFile` when a block on the way is damaged.
    pub(crate) fn lookup(&self, name: &str) -> Result<Option<Stored>> {
        let mut place = self.root;
        for _ in 0..self.height {
            match find_child(self.block(&place, INDEX)?, name.as_bytes(), &place) {
                Some(Some(child)) => place = child,
                Some(None) => return Ok(None),
                None => return Err(self.malformed(&place)),
            }
        }
        find_value(self.block(&place, LEAF)?, name.as_bytes()).ok_or_else(|| self.malformed(&place))
    }

    /// Largest numbers used.
    ///
    /// # Errors
    /// `CorruptFile`.
    pub(crate) fn counters(&self) -> Result<&Counters> {
        if let Some(counters) = self.counters_cache.get() {
            return Ok(counters);
        }
        let counters = match self.counters.len {
            0 => Counters::new(),
            _ => Counters::decode(self.block(&self.counters, COUNTERS)?, self.counters_complete)
                .ok_or_else(|| self.malformed(&self.counters))?,
        };
        Ok(self.counters_cache.get_or_init(|| counters))
    }

    /// Verified bytes of a block.
    ///
    /// # Errors
    /// `CorruptFile`.
    pub(super) fn block(&self, place: &BlockRef, kind: u8) -> Result<&[u8]> {
        let start = usize::try_from(place.offset).unwrap_or(usize::MAX);
        let bytes = start
            .checked_add(place.len as usize)
            .filter(|_| place.len as usize <= MAX_BLOCK)
            .and_then(|end| self.bytes.get(start..end))
            .ok_or_else(|| self.corrupt(place.offset, "block lies outside the ref table"))?;
        if !self.verified.contains(place) {
            if block_check(bytes) != place.check {
                return Err(self.corrupt(place.offset, "block of ref table does not match its check"));
            }
            self.verified.insert(place);
        }
        if bytes.first() != Some(&kind) {
            return Err(self.malformed(place));
        }
        Ok(bytes)
    }

    pub(super) fn malformed(&self, place: &BlockRef) -> StoreError {
        self.corrupt(place.offset, "block of ref table is malformed")
    }

    fn corrupt(&self, offset_bytes: u64, detail: &str) -> StoreError {
        StoreError::CorruptFile { path: self.path.clone(), offset_bytes, detail: detail.to_owned() }
    }
}

fn is_within(place: &BlockRef, end: u64) -> bool {
    place.len as usize <= MAX_BLOCK
        && place.offset >= HEADER_LEN as u64
        && place.offset.checked_add(u64::from(place.len)).is_some_and(|e| e <= end)
}

/// Blocks that were verified since the table was opened, by where they start. Blocks of the usual size have a slot of
/// their own; where two share one, the loser is verified again.
struct Verified {
    pages: Box<[OnceLock<Box<[AtomicU64]>>]>,
}

/// Bytes of table that share a slot, as a power of two.
const SLOT_SHIFT: u32 = 12;
/// Slots of a page; pages are made when they are needed.
const PAGE_SLOTS: usize = 512;

impl Verified {
    fn new(table_bytes: usize) -> Verified {
        let slots = (table_bytes >> SLOT_SHIFT) + 1;
        Verified { pages: (0..slots.div_ceil(PAGE_SLOTS)).map(|_| OnceLock::new()).collect() }
    }

    fn slot(&self, place: &BlockRef) -> Option<&AtomicU64> {
        let slot = usize::try_from(place.offset >> SLOT_SHIFT).ok()?;
        let new_page = || (0..PAGE_SLOTS).map(|_| AtomicU64::new(0)).collect();
        self.pages.get(slot / PAGE_SLOTS)?.get_or_init(new_page).get(slot % PAGE_SLOTS)
    }

    /// Offset and check together: two parents may disagree about one block. Zero is the empty slot.
    fn key(place: &BlockRef) -> u64 {
        (place.offset ^ u64::from_le_bytes(place.check)).max(1)
    }

    fn contains(&self, place: &BlockRef) -> bool {
        self.slot(place).is_some_and(|slot| slot.load(Ordering::Relaxed) == Self::key(place))
    }

    fn insert(&self, place: &BlockRef) {
        if let Some(slot) = self.slot(place) {
            slot.store(Self::key(place), Ordering::Relaxed);
        }
    }
}

/// Rebuilds the names of a block, one after another.
pub(super) struct Names {
    pub(super) current: Vec<u8>,
}

impl Names {
    pub(super) fn new() -> Names {
        Names { current: Vec::with_capacity(64) }
    }

    /// Reads the name of the next entry into `current`. It must be greater than the one before, and say that it
    /// shares all that it shares with it: [`Seek`] relies on both.
    pub(super) fn read(&mut self, input: &mut Input<'_>, first: bool) -> Option<()> {
        let shared = input.len(self.current.len())?;
        let suffix = suffix::read(input, MAX_NAME_BYTES - shared)?;
        let suffix = suffix.bytes();
        if !first && suffix.first()? <= self.current.get(shared).unwrap_or(&0) && shared < self.current.len()
        {
            return None;
        }
        self.current.truncate(shared);
        self.current.extend_from_slice(suffix);
        Some(())
    }
}

/// Compares the names of a block with one wanted name without rebuilding them: what an entry shares with the one
/// before it says most of the answer.
struct Seek<'n> {
    wanted: &'n [u8],
    /// Bytes that `wanted` shares with the entry before, which is less than it.
    matched: usize,
    /// Length of that entry.
    last_len: usize,
}

impl Seek<'_> {
    fn new(wanted: &[u8]) -> Seek<'_> {
        Seek { wanted, matched: 0, last_len: 0 }
    }

    /// Steps over the name of the next entry and says how it compares with the wanted one.
    #[inline]
    fn next(&mut self, input: &mut Input<'_>) -> Option<Order> {
        let shared = input.len(self.last_len)?;
        let suffix = suffix::read(input, MAX_NAME_BYTES - shared)?;
        let suffix = suffix.bytes();
        self.last_len = shared + suffix.len();
        Some(match shared.cmp(&self.matched) {
            // As far below the wanted name as the one before it.
            Order::Greater => Order::Less,
            // It left the one before upwards where the wanted name still agrees with that one.
            Order::Less => Order::Greater,
            Order::Equal => {
                let rest = self.wanted.get(shared..)?;
                self.matched += suffix.iter().zip(rest).take_while(|(a, b)| a == b).count();
                suffix.cmp(rest)
            }
        })
    }
}

/// The child of an index block that may hold `name`. Outer `None`: malformed; inner `None`: `name` is before all.
fn find_child(block: &[u8], name: &[u8], parent: &BlockRef) -> Option<Option<BlockRef>> {
    let (mut input, mut seek) = (Input::new(block.get(1..)?), Seek::new(name));
    let mut found = None;
    while !input.is_empty() {
        let order = seek.next(&mut input)?;
        let child = BlockRef::read(&mut input)?;
        if order == Order::Greater {
            break;
        }
        found = Some(child);
        if order == Order::Equal {
            break;
        }
    }
    // Children stand before their parents, so no walk returns to a block.
    match found {
        Some(child) if child.offset.checked_add(u64::from(child.len))? > parent.offset => None,
        found => Some(found),
    }
}

/// The value of `name` in a leaf. Outer `None`: malformed.
fn find_value(block: &[u8], name: &[u8]) -> Option<Option<Stored>> {
    let (mut input, mut seek) = (Input::new(block.get(1..)?), Seek::new(name));
    while !input.is_empty() {
        match seek.next(&mut input)? {
            Order::Less => Stored::skip(&mut input)?,
            Order::Equal => return Stored::read(&mut input).map(Some),
            Order::Greater => return Some(None),
        }
    }
    Some(None)
}

const _: () = assert!(BLOCK_CHECK_LEN == 8);
