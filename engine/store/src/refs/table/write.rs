//! Writing a table in one pass, in memory bounded by its index.

use super::{
    BlockRef, Counters, FOOTER_LEN, INDEX, LEAF, MAGIC, MAX_BLOCK, MAX_HEIGHT, VERSION, block_check, suffix,
};
use crate::refs::codec::{CHECK_LEN, Stored, check_of, put_len};
use crate::vfs::AppendFile;
use std::io;

/// Bytes gathered before they are handed to the disk.
const CHUNK: usize = 1024 * 1024;

/// Writes names in ascending order to a new file. Syncing it is the caller's.
pub(crate) struct TableWriter<'f> {
    file: &'f mut dyn AppendFile,
    pending: Vec<u8>,
    written: u64,
    block_bytes: usize,
    leaf: BlockBuilder,
    /// First name and place of every finished leaf.
    leaves: Vec<(String, BlockRef)>,
    counters: Counters,
    names: u64,
    removed: u64,
}

/// Length and footer check of a finished table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) size_bytes: u64,
    pub(crate) check: [u8; CHECK_LEN],
}

impl<'f> TableWriter<'f> {
    /// Starts a table in the empty `file`; blocks are closed at `block_bytes`.
    pub(crate) fn new(file: &'f mut dyn AppendFile, block_bytes: usize) -> TableWriter<'f> {
        let mut pending = Vec::new();
        pending.extend_from_slice(&MAGIC);
        pending.extend_from_slice(&VERSION.to_le_bytes());
        TableWriter {
            file,
            pending,
            written: 0,
            // Room for one more entry of the largest kind must stay below what a reader takes.
            block_bytes: block_bytes.clamp(256, MAX_BLOCK / 2),
            leaf: BlockBuilder::new(LEAF),
            leaves: Vec::new(),
            counters: Counters::new(),
            names: 0,
            removed: 0,
        }
    }

    /// Takes over the counters of a table merged into this one.
    pub(crate) fn merge_counters(&mut self, counters: &Counters) {
        self.counters.merge(counters);
    }

    /// Takes note that a name was used, without storing it.
    pub(crate) fn forget(&mut self, name: &str) {
        self.counters.note(name);
    }

    /// Adds a name greater than all before.
    pub(crate) fn add(&mut self, name: &str, value: &Stored) -> io::Result<()> {
        self.counters.note(name);
        self.names += 1;
        self.removed += u64::from(*value == Stored::Removed);
        self.leaf.start_entry(name);
        value.write(&mut self.leaf.bytes);
        if self.leaf.bytes.len() >= self.block_bytes {
            self.close_leaf()?;
        }
        Ok(())
    }

    /// Writes index, counters and footer; `None` when no name was added and the file is of no use.
    pub(crate) fn finish(mut self) -> io::Result<Option<Written>> {
        if self.names == 0 {
            return Ok(None);
        }
        if !self.leaf.is_empty() {
            self.close_leaf()?;
        }
        let mut level = std::mem::take(&mut self.leaves);
        let mut height = 0;
        while level.len() > 1 {
            level = self.write_index(&level)?;
            height += 1;
            if height > MAX_HEIGHT {
                return Err(io::Error::other("ref table is too large"));
            }
        }
        let counters_block = self.counters.encode();
        let counters = match counters_block.is_empty() {
            true => BlockRef { offset: 0, len: 0, check: [0; 8] },
            false => self.put_block(&counters_block)?,
        };
        let root = level
            .first()
            .map(|(_, root)| *root)
            .ok_or_else(|| io::Error::other("ref table without a root"))?;
        let check = self.write_footer(root, height, counters)?;
        self.flush()?;
        Ok(Some(Written { size_bytes: self.written, check }))
    }

    fn close_leaf(&mut self) -> io::Result<()> {
        let (first, bytes) = std::mem::replace(&mut self.leaf, BlockBuilder::new(LEAF)).finish();
        let place = self.put_block(&bytes)?;
        self.leaves.push((first, place));
        Ok(())
    }

    /// Writes one level of index above `children`. Every block has two children at least, so levels end.
    fn write_index(&mut self, children: &[(String, BlockRef)]) -> io::Result<Vec<(String, BlockRef)>> {
        let mut level = Vec::new();
        let mut block = BlockBuilder::new(INDEX);
        let mut fanout = 0;
        for (position, (first, place)) in children.iter().enumerate() {
            block.start_entry(first);
            place.write(&mut block.bytes);
            fanout += 1;
            // A last child alone would make a block of one; it joins this one.
            let last_but_one = position + 2 == children.len();
            if fanout >= 2 && block.bytes.len() >= self.block_bytes && !last_but_one {
                let (key, bytes) = std::mem::replace(&mut block, BlockBuilder::new(INDEX)).finish();
                level.push((key, self.put_block(&bytes)?));
                fanout = 0;
            }
        }
        if !block.is_empty() {
            let (key, bytes) = block.finish();
            level.push((key, self.put_block(&bytes)?));
        }
        Ok(level)
    }

    fn write_footer(
        &mut self,
        root: BlockRef,
        height: u8,
        counters: BlockRef,
    ) -> io::Result<[u8; CHECK_LEN]> {
        let size_bytes = self.position() + FOOTER_LEN as u64;
        let mut out = Vec::with_capacity(FOOTER_LEN);
        root.write(&mut out);
        out.push(height);
        counters.write(&mut out);
        out.push(u8::from(self.counters.is_complete()));
        for number in [self.names, self.removed, size_bytes] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&MAGIC);
        let check = check_of(&out);
        out.extend_from_slice(&check);
        debug_assert_eq!(out.len(), FOOTER_LEN);
        self.put(&out)?;
        Ok(check)
    }

    fn put_block(&mut self, bytes: &[u8]) -> io::Result<BlockRef> {
        let len = u32::try_from(bytes.len()).ok().filter(|len| *len as usize <= MAX_BLOCK);
        let len = len.ok_or_else(|| io::Error::other("ref table block is too large"))?;
        let place = BlockRef { offset: self.position(), len, check: block_check(bytes) };
        self.put(bytes)?;
        Ok(place)
    }

    fn position(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.append(&self.pending)?;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

/// Gathers entries whose names share prefixes.
struct BlockBuilder {
    bytes: Vec<u8>,
    first: String,
    last: String,
}

impl BlockBuilder {
    fn new(kind: u8) -> BlockBuilder {
        BlockBuilder { bytes: vec![kind], first: String::new(), last: String::new() }
    }

    fn is_empty(&self) -> bool {
        self.bytes.len() == 1
    }

    fn start_entry(&mut self, name: &str) {
        if self.is_empty() {
            name.clone_into(&mut self.first);
        }
        // Compared as bytes: a character may be cut, names are put together again before they are text.
        let shared = self.last.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        put_len(&mut self.bytes, shared);
        suffix::put(&mut self.bytes, &name.as_bytes()[shared..]);
        name.clone_into(&mut self.last);
    }

    fn finish(self) -> (String, Vec<u8>) {
        (self.first, self.bytes)
    }
}
