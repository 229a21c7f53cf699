//! A disk in memory that records, stops, tears and fails each operation.
//!
//! Every operation that changes something has a number, from 0 in the order of the calls. With them a test can
//! - count operations and syncs: [`SimDisk::ops`], [`SimDisk::syncs`];
//! - let the process die at an operation: [`SimDisk::stop_at`];
//! - let an operation fail and the following ones work: [`SimDisk::fail_at`], or the disk be full from one on:
//!   [`SimDisk::fill_from`];
//! - look at every state of the disk that a loss of power may leave: [`SimDisk::crash_images`].
//!
//! ```
//! # use gemel_store::vfs::{Vfs, sim::SimDisk};
//! # use std::path::Path;
//! # fn scenario(disk: &SimDisk) { disk.create_new(Path::new("/a")).unwrap().append(b"x").unwrap(); }
//! # fn assert_old_or_new(_: SimDisk, _: &str) {}
//! let disk = SimDisk::new();
//! scenario(&disk);
//! for k in 0..=disk.ops() {
//!     for image in disk.crash_images(k) {
//!         assert_old_or_new(image.image(), &format!("{} after {}", image.name(), disk.describe(k)));
//!     }
//! }
//! ```
//!
//! What is durable: data and length of a file up to its last sync that succeeded; an entry of a directory (a
//! creation, rename or removal) after a sync of that directory. Everything later may have reached the disk or not,
//! each operation for itself. Reads, maps and listings show what the running system would see.

mod contents;
mod crash;
mod disk;
mod file;
mod log;
mod state;

pub use crash::CrashImage;

use contents::{Contents, Node};
use state::State;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How an operation is to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No space left: half of an append is written; everything else is left undone.
    NoSpace,
    /// An I/O error. As [`Fault::NoSpace`] for an append. After a failed sync the data stays visible but may be lost
    /// even if a later sync succeeds.
    Io,
    /// As [`Fault::Io`], but a failed sync also drops from view what was not synced before.
    IoDropsUnsynced,
}

/// Syncs that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syncs {
    /// Syncs of files.
    pub files: usize,
    /// Syncs of directories.
    pub dirs: usize,
}

impl Syncs {
    /// All of them.
    pub fn total(self) -> usize {
        self.files + self.dirs
    }
}

/// A simulated disk. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SimDisk {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Signalled when a lock is released.
    released: Condvar,
}

impl SimDisk {
    /// An empty disk: a root directory and nothing in it.
    pub fn new() -> SimDisk {
        SimDisk::default()
    }

    /// Number of operations so far, failed ones included: the number of the next one.
    pub fn ops(&self) -> usize {
        self.state().log.len()
    }

    /// Successful syncs so far.
    pub fn syncs(&self) -> Syncs {
        self.state().syncs
    }

    /// What operation `k` did, or `the end`.
    pub fn describe(&self, k: usize) -> String {
        self.state().log.get(k).map_or_else(|| format!("{k}: the end"), |op| format!("{k}: {op}"))
    }

    /// Lets operation `k` and everything after it fail, reads included, as if the process had died. See
    /// [`is_stop`].
    pub fn stop_at(&self, k: usize) {
        self.state().stop_at = Some(k);
    }

    /// Whether an operation has met [`SimDisk::stop_at`].
    pub fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// Lets operation `k` fail; later ones work.
    pub fn fail_at(&self, k: usize, fault: Fault) {
        self.state().faults.insert(k, fault);
    }

    /// Lets every operation from `k` on that needs space fail with [`Fault::NoSpace`].
    pub fn fill_from(&self, k: usize) {
        self.state().full_from = Some(k);
    }

    /// Forgets about faults and a full disk.
    pub fn clear_faults(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.full_from = None;
    }

    /// A disk of its own with what is visible here now, all of it durable, and no operations yet.
    pub fn fork(&self) -> SimDisk {
        let state = self.state();
        SimDisk::from_contents(state.contents.clone())
    }

    /// The disks that a loss of power may leave after operations `0..k`: what is durable, with none, all, each alone
    /// and all but each of the operations that are not, without the data of each file or the entries of each
    /// directory, and with the last append to each file cut, or filled with zeros or garbage in part. Equal ones are told
    /// once. If very many operations are pending, only the oldest and newest of them are taken singly.
    pub fn crash_images(&self, k: usize) -> Vec<CrashImage> {
        crash::images(&self.state(), k)
    }

    /// All files by path with their contents, for comparisons.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.state();
        let content = |node| match node {
            Node::File(inode) => state.contents.files.get(inode).map(|data| data.to_vec()),
            Node::Dir(_) => None,
        };
        state.contents.walk().into_iter().filter_map(|(path, node)| Some((path, content(node)?))).collect()
    }

    /// Puts a file with this content under `path`, whatever was there, as durable content and without an operation:
    /// damage done from outside.
    ///
    /// # Errors
    /// `NotFound` when its directory does not exist.
    pub fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.state().overwrite(path, bytes)
    }

    /// Lets [`exchange`](crate::vfs::Vfs::exchange) answer `Unsupported`, as many file systems do.
    pub fn without_exchange(&self) {
        self.state().exchanges_unsupported = true;
    }

    fn from_contents(contents: Contents) -> SimDisk {
        let state = State { base: contents.clone(), contents, ..State::default() };
        SimDisk { shared: Arc::new(Shared { state: Mutex::new(state), released: Condvar::new() }) }
    }

    /// The state of a disk whose process lives.
    fn alive(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state();
        state.alive()?;
        Ok(state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked while holding it has failed already; others may still look.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The process is to be taken for dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the simulated process has stopped")
    }
}

impl std::error::Error for Stopped {}

/// Whether an error says that the simulated process has stopped.
pub fn is_stop(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
}
