//! Handles, locks and maps of a simulated disk.

use super::SimDisk;
use super::contents::Inode;
use super::state::State;
use crate::vfs::{AppendFile, LockGuard};
use std::io;
use std::ops::Deref;
use std::sync::Arc;

/// A mapped file; the disk watches how long it lives.
pub(super) struct SimMap(pub(super) Arc<Vec<u8>>);

impl Deref for SimMap {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A held lock.
#[derive(Debug)]
pub(super) struct SimLock {
    pub(super) disk: SimDisk,
    pub(super) inode: Inode,
    pub(super) handle: u64,
}

impl LockGuard for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        release(&self.disk, self.inode, self.handle);
    }
}

fn release(disk: &SimDisk, inode: Inode, handle: u64) {
    let mut state = disk.state();
    if state.locks.get(&inode) == Some(&handle) {
        state.locks.remove(&inode);
        disk.shared.released.notify_all();
    }
}

/// A file open for appending.
#[derive(Debug)]
pub(super) struct SimFile {
    disk: SimDisk,
    inode: Inode,
    handle: u64,
    poisoned: bool,
}

impl SimFile {
    pub(super) fn new(disk: &SimDisk, state: &mut State, inode: Inode) -> SimFile {
        SimFile { disk: disk.clone(), inode, handle: state.new_handle(), poisoned: false }
    }

    fn check(&self) -> io::Result<()> {
        if self.poisoned { Err(io::Error::other("an earlier sync of this file failed")) } else { Ok(()) }
    }
}

impl AppendFile for SimFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        self.disk.state().append(self.inode, bytes)
    }

    fn len_bytes(&self) -> u64 {
        self.disk.state().contents.bytes(self.inode).map_or(0, |data| data.len() as u64)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        self.check()?;
        self.disk.state().truncate(self.inode, len_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.check()?;
        let done = self.disk.state().sync(self.inode);
        self.poisoned = done.is_err();
        done
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        let mut state = self.disk.state();
        state.alive()?;
        let holder = *state.locks.entry(self.inode).or_insert(self.handle);
        Ok(holder == self.handle)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        release(&self.disk, self.inode, self.handle);
    }
}
