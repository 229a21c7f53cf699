//! How hard a session compresses: policy, in one place.

use gemel_packfmt::codec::{Dictionary, Level};
use std::sync::Arc;

/// Plain bytes of announced work from which a session takes a pack of its own.
pub(crate) const BULK_BYTES: u64 = 8 << 20;
/// Announced objects from which a session takes a pack of its own.
pub(crate) const BULK_OBJECTS: u64 = 2000;
/// Largest object stored in one frame; larger ones are chunked.
pub(crate) const CHUNK_FROM: usize = 4 << 20;
/// The same for metadata, whose differences and references are worth a large frame; a group that it joins still fits one.
pub(crate) const METADATA_CHUNK_FROM: usize = 7 << 20;
/// Largest plain length compressed with a dictionary: beyond it the object is context enough for itself.
pub(crate) const DICTIONARY_UP_TO: usize = 64 << 10;
/// Largest object that joins a group of objects written beside each other.
pub(crate) const BESIDE_UP_TO: usize = 16 << 10;
/// Deepest chain of bases a writer makes; readers accept [`gemel_packfmt::frame::MAX_DEPTH`].
pub(crate) const DEPTH: u8 = 40;
/// Size from which a pack takes no more batches.
pub(crate) const PACK_BYTES: u64 = 1 << 30;
/// Objects behind an index from which it is written anew, and the share of the covered ones they must reach.
pub(crate) const TAIL_OBJECTS: u32 = 2048;
/// See [`TAIL_OBJECTS`].
pub(crate) const TAIL_SHARE: u32 = 8;
/// Bytes behind an index from which it is written anew.
pub(crate) const TAIL_BYTES: u64 = 8 << 20;
/// Frames gathered before they are handed to the disk.
pub(crate) const BUFFER_BYTES: usize = 1 << 20;
/// Bytes after which the disk is asked to begin writing: a bulk session would otherwise wait for all at its sync.
pub(crate) const WRITEBACK_BYTES: u64 = 8 << 20;
/// Least sample bytes a dictionary is trained on.
const TRAIN_FROM: usize = 256 << 10;
/// Least samples a dictionary is trained on.
const TRAIN_SAMPLES: usize = 64;

/// Level and dictionary of a session.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    /// zstd level of blobs.
    pub level: Level,
    /// zstd level of differences between blobs.
    pub delta_level: Level,
    /// Number of the dictionary in the session's pack, and the dictionary.
    pub dictionary: Option<(u32, Arc<Dictionary>)>,
}

/// zstd level of a repack, for what has a frame of its own and for groups.
pub(crate) const REPACK_LEVEL: Level = 17;
/// See [`REPACK_LEVEL`].
pub(crate) const REPACK_GROUP_LEVEL: Level = 15;
/// Packs of one size class from which a command merges them, most bytes it then works on, and at which level: a person
/// waits for it.
pub(crate) const CONSOLIDATE_FROM: usize = 8;
/// See [`CONSOLIDATE_FROM`].
pub(crate) const CONSOLIDATE_BYTES: u64 = 32 << 20;
/// See [`CONSOLIDATE_FROM`].
pub(crate) const CONSOLIDATE_LEVEL: Level = 6;
/// Deepest chain of bases a repack makes. Sessions that began before it, and packs that it leaves alone, may stand on
/// any object with as many differences as writers make; together they stay within what readers follow.
pub(crate) const REPACK_DEPTH: u8 = 48;
/// Differences in a row that stand on their neighbour, and segments in a row that stand on the one before.
pub(crate) const SEGMENT: u8 = 40;
/// Longest blob without versions that a repack puts into a group.
pub(crate) const GROUPED_UP_TO: u64 = 2 << 10;
/// Newer neighbours looked at as bases, and how many of them, the most alike, are tried.
pub(crate) const NEIGHBOURS: usize = 64;
/// See [`NEIGHBOURS`].
pub(crate) const TRIED: usize = 4;
const _: () = assert!(REPACK_DEPTH + DEPTH <= gemel_packfmt::frame::MAX_DEPTH);

/// Level for metadata groups and trees: small, written once, read often.
pub(crate) const METADATA_LEVEL: Level = 6;

impl Default for Effort {
    fn default() -> Effort {
        Effort { level: 6, delta_level: 6, dictionary: None }
    }
}

/// The level for about `bytes` of plain data: what is small can afford more. Measured in docs/decisions/effort.md.
pub(crate) fn level_for(bytes: u64) -> Level {
    match bytes >> 20 {
        0..64 => 6,
        64..256 => 3,
        _ => 1,
    }
}

/// The levels of whole blobs, of differences and of groups, for about `bytes` of versions: nearly all of them are differences,
/// and of those few bytes reach the codec.
pub(crate) fn history_levels(bytes: u64) -> (Level, Level, Level) {
    match bytes >> 20 {
        0..512 => (12, 9, 12),
        512..4096 => (9, 6, 9),
        _ => (6, 3, 9),
    }
}

/// Trains on samples if they are worth it.
pub(crate) fn train(samples: &[Vec<u8>]) -> Option<Vec<u8>> {
    let bytes: usize = samples.iter().map(Vec::len).sum();
    (bytes >= TRAIN_FROM && samples.len() >= TRAIN_SAMPLES).then(|| Dictionary::train(samples)).flatten()
}
