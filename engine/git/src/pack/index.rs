//! The index of a pack, version 2 of Git's layout.

use super::part::Entry;
use gix::hash::Kind;

const MAGIC: [u8; 8] = *b"\xfftOc\0\0\0\x02";
/// Offsets from here on stand in a table of their own.
const LONG: u64 = 1 << 31;

/// The index of `entries`, ascending by name, without its last field: the hash of all before it.
pub(super) fn index(entries: &[Entry], pack_hash: &[u8], format: Kind) -> Vec<u8> {
    let per_entry = format.len_in_bytes() + 8;
    let mut out = Vec::with_capacity(MAGIC.len() + 1024 + entries.len() * per_entry + 2 * pack_hash.len());
    out.extend_from_slice(&MAGIC);
    let mut counts = [0u32; 256];
    for entry in entries {
        counts[usize::from(entry.id.first_byte())] += 1;
    }
    let mut sum = 0u32;
    for count in counts {
        sum += count;
        out.extend_from_slice(&sum.to_be_bytes());
    }
    for entry in entries {
        out.extend_from_slice(entry.id.as_slice());
    }
    for entry in entries {
        out.extend_from_slice(&entry.crc.to_be_bytes());
    }
    let mut long = Vec::new();
    for entry in entries {
        let short = match u32::try_from(entry.offset) {
            Ok(offset) if entry.offset < LONG => offset,
            _ => {
                long.extend_from_slice(&entry.offset.to_be_bytes());
                (LONG as u32) | (long.len() / 8 - 1) as u32
            }
        };
        out.extend_from_slice(&short.to_be_bytes());
    }
    out.extend_from_slice(&long);
    out.extend_from_slice(pack_hash);
    out
}
