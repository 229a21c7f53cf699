//! Names of the records that a store keeps beside the refs it may share.

/// Identity of the producer used when a command names none.
pub const DEFAULT_PRODUCER: &str = "local/default_producer";
/// Prefix of counters: `local/counters/<kind>`, a decimal number as text.
pub const COUNTERS: &str = "local/counters/";
/// Prefix of tombstones: `local/tombstones/<identity>`, the text of a pruned object's tombstone.
pub const TOMBSTONES: &str = "local/tombstones/";
/// Prefix of workspace records: `<name>/state`, `<name>/change`, `<name>/pending`, `<name>/path`.
pub const WORKTREES: &str = "local/worktrees/";
/// Prefix of remotes, by name, carried over from release 0.12.
pub(crate) const REMOTES: &str = "local/remotes/";
/// Prefix of the state of exchange, carried over from release 0.12.
pub(crate) const EXCHANGE: &str = "local/exchange/";
