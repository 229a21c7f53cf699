//! A simulated disk behind its mutex: checks, faults, and doing what is recorded.

use super::contents::{Contents, Inode, Node};
use super::log::Op;
use super::{Fault, Stopped, Syncs};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Weak};

/// A map that may be alive, and its length.
pub(super) type Mapped = (Weak<Vec<u8>>, usize);

#[derive(Debug, Default)]
pub(super) struct State {
    /// What was there, and durable, before the first operation.
    pub(super) base: Contents,
    /// What is visible now.
    pub(super) contents: Contents,
    pub(super) log: Vec<Op>,
    pub(super) syncs: Syncs,
    pub(super) stop_at: Option<usize>,
    pub(super) stopped: bool,
    pub(super) faults: BTreeMap<usize, Fault>,
    pub(super) full_from: Option<usize>,
    pub(super) exchanges_unsupported: bool,
    /// Locked files and the handles that hold the locks.
    pub(super) locks: HashMap<Inode, u64>,
    /// Maps of files and their lengths.
    pub(super) maps: HashMap<Inode, Vec<Mapped>>,
    pub(super) next_handle: u64,
    pub(super) next_temporary: u64,
}

impl State {
    /// Fails once the process has stopped.
    pub(super) fn alive(&self) -> io::Result<()> {
        if self.stopped { Err(io::Error::other(Stopped)) } else { Ok(()) }
    }

    /// Starts an operation: the stop and the fault set for it. A full disk refuses what `needs_space`.
    fn start(&mut self, needs_space: bool) -> io::Result<Option<Fault>> {
        let number = self.log.len();
        if self.stop_at.is_some_and(|k| number >= k) {
            self.stopped = true;
        }
        self.alive()?;
        let is_full = needs_space && self.full_from.is_some_and(|k| number >= k);
        Ok(self.faults.get(&number).copied().or(is_full.then_some(Fault::NoSpace)))
    }

    /// Does and records an operation that has no effect when it fails.
    pub(super) fn change(&mut self, what: &'static str, needs_space: bool, op: Op) -> io::Result<()> {
        match self.start(needs_space)? {
            None => {
                self.perform(op);
                Ok(())
            }
            Some(fault) => {
                self.log.push(Op::Failed { what });
                Err(error_of(fault))
            }
        }
    }

    fn perform(&mut self, op: Op) {
        self.contents.apply(&op);
        match op {
            Op::Sync { .. } => self.syncs.files += 1,
            Op::SyncDir { .. } => self.syncs.dirs += 1,
            _ => {}
        }
        self.log.push(op);
    }

    /// Makes an empty file.
    pub(super) fn create(&mut self, path: &Path) -> io::Result<Inode> {
        match self.contents.node(path) {
            Ok(_) => return Err(ErrorKind::AlreadyExists.into()),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        let slot = self.contents.slot(path)?;
        let inode = self.contents.files.len();
        self.change("creation", true, Op::Link { slot, node: Node::File(inode) })?;
        Ok(inode)
    }

    pub(super) fn make_dir(&mut self, path: &Path) -> io::Result<()> {
        let slot = self.contents.slot(path)?;
        let node = Node::Dir(self.contents.dirs.len());
        self.change("creation of a directory", true, Op::Link { slot, node })
    }

    /// Appends, as far as faults let it.
    pub(super) fn append(&mut self, inode: Inode, bytes: &[u8]) -> io::Result<()> {
        let fault = self.start(true)?;
        let offset = self.contents.bytes(inode)?.len();
        let written = if fault.is_some() { &bytes[..bytes.len() / 2] } else { bytes };
        self.perform(Op::Append { inode, offset, bytes: Arc::from(written) });
        fault.map_or(Ok(()), |fault| Err(error_of(fault)))
    }

    /// Cuts a file; an error if a reader maps what would go.
    pub(super) fn truncate(&mut self, inode: Inode, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > self.contents.bytes(inode)?.len() {
            return Err(ErrorKind::InvalidInput.into());
        }
        if self.is_mapped_beyond(inode, len) {
            return Err(io::Error::other("a mapped file would be shortened: a reader would be killed"));
        }
        self.change("truncation", false, Op::Truncate { inode, len })
    }

    /// Makes a file durable, or loses what was to be.
    pub(super) fn sync(&mut self, inode: Inode) -> io::Result<()> {
        let Some(fault) = self.start(false)? else {
            self.perform(Op::Sync { inode });
            return Ok(());
        };
        if fault == Fault::IoDropsUnsynced {
            let synced = self.synced_bytes(inode);
            if let Some(data) = self.contents.files.get_mut(inode) {
                *data = Arc::new(synced);
            }
        }
        self.log.push(Op::FailedSync { inode });
        Err(error_of(fault))
    }

    /// What a file would hold if everything unsynced were lost.
    fn synced_bytes(&self, inode: Inode) -> Vec<u8> {
        let mut contents = self.base.clone();
        for (op, durable) in self.log.iter().zip(super::crash::durable(&self.log)) {
            if durable && op.data_of() == Some(inode) {
                contents.apply(op);
            }
        }
        contents.files.get(inode).map(|data| data.to_vec()).unwrap_or_default()
    }

    /// Puts durable content under a path, without an operation.
    pub(super) fn overwrite(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let slot = self.contents.slot(path)?;
        let inode = self.contents.files.len().max(self.base.files.len());
        let link = Op::Link { slot, node: Node::File(inode) };
        for contents in [&mut self.base, &mut self.contents] {
            contents.apply(&link);
            contents.write(inode, 0, bytes);
        }
        Ok(())
    }

    /// A copy of a file's bytes whose life is watched.
    pub(super) fn map(&mut self, inode: Inode) -> io::Result<Arc<Vec<u8>>> {
        let data = Arc::new(self.contents.bytes(inode)?.to_vec());
        let maps = self.maps.entry(inode).or_default();
        maps.retain(|(map, _)| map.strong_count() > 0);
        maps.push((Arc::downgrade(&data), data.len()));
        Ok(data)
    }

    fn is_mapped_beyond(&self, inode: Inode, len: usize) -> bool {
        let maps = self.maps.get(&inode).into_iter().flatten();
        maps.filter(|(map, _)| map.strong_count() > 0).any(|(_, mapped)| *mapped > len)
    }

    pub(super) fn new_handle(&mut self) -> u64 {
        self.next_handle += 1;
        self.next_handle
    }

    pub(super) fn new_temporary(&mut self) -> u64 {
        self.next_temporary += 1;
        self.next_temporary
    }
}

fn error_of(fault: Fault) -> io::Error {
    match fault {
        Fault::NoSpace => io::Error::new(ErrorKind::StorageFull, "no space left on the simulated disk"),
        Fault::Io | Fault::IoDropsUnsynced => io::Error::other("simulated input/output error"),
    }
}
