//! Sizes that decide when refs are folded, compacted and rotated.

/// Sizes of the ref database. The defaults suit a disk; tests force folds and compactions with small ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefOptions {
    /// Unfolded journal bytes after which the next transaction folds them into a table.
    pub tail_bytes: u64,
    /// Unfolded journal records after which the next transaction folds them.
    pub tail_records: usize,
    /// Size of a transaction's record from which it is written as a table instead.
    pub bulk_bytes: usize,
    /// Size at which a table block is closed.
    pub block_bytes: usize,
    /// A table is merged with the next one unless that one is larger by at least this factor.
    pub growth: u64,
    /// Size after which a folding transaction starts a new journal file.
    pub journal_bytes: u64,
    /// Full journal files kept for audit beside the current one.
    pub journals_kept: usize,
}

impl Default for RefOptions {
    fn default() -> RefOptions {
        RefOptions {
            tail_bytes: 64 * 1024,
            tail_records: 256,
            bulk_bytes: 256 * 1024,
            block_bytes: 4096,
            growth: 4,
            journal_bytes: 4 * 1024 * 1024,
            journals_kept: 4,
        }
    }
}
