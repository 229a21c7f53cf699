//! Ref tables: immutable sorted files of names and values (docs/STORAGE.md, "Ref table").
//!
//! Names ascend by bytes and are stored as the length they share with the name before them in the block and the
//! rest. An index entry holds the first name below a child and the first 8 bytes of the BLAKE3 of the child, so the
//! footer's check, which the stack file repeats, covers every byte; a lookup verifies one block a level, whatever
//! the number of names. Children stand before their parents. Height 0 means that the root is a leaf.
//!
//! *Counters* say, for every name `refs/<namespace>/<letters><number>`, the largest number the table or any table
//! merged into it has held.

mod counters;
mod cursor;
mod read;
mod suffix;
mod write;

pub(crate) use counters::{Counters, split_numbered};
pub(crate) use cursor::{Cursor, Item};
pub(crate) use read::Table;
pub(crate) use write::TableWriter;

use super::codec::Input;

const MAGIC: [u8; 4] = *b"GMRT";
/// Version this build writes.
const VERSION: u32 = 2;
/// Oldest version it reads: one without packed digits.
const OLDEST: u32 = 1;
const HEADER_LEN: usize = 8;
const FOOTER_LEN: usize = 8 + 4 + 8 + 1 + 8 + 4 + 8 + 1 + 8 + 8 + 8 + 4 + 4 + 16;
const BLOCK_CHECK_LEN: usize = 8;
/// Longest block read: one record of the largest size closes any block.
const MAX_BLOCK: usize = 256 * 1024;
/// Most index levels; each divides by dozens.
const MAX_HEIGHT: u8 = 12;
const LEAF: u8 = b'L';
const INDEX: u8 = b'I';
const COUNTERS: u8 = b'N';

/// Where a block lies and what it hashes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockRef {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) check: [u8; BLOCK_CHECK_LEN],
}

impl BlockRef {
    fn read(input: &mut Input<'_>) -> Option<BlockRef> {
        Some(BlockRef { offset: input.u64()?, len: input.u32()?, check: input.array()? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&self.check);
    }
}

fn block_check(bytes: &[u8]) -> [u8; BLOCK_CHECK_LEN] {
    let mut out = [0; BLOCK_CHECK_LEN];
    out.copy_from_slice(&blake3::hash(bytes).as_bytes()[..BLOCK_CHECK_LEN]);
    out
}
