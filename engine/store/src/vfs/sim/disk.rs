//! The simulated disk as a disk. It has no links, devices or pipes, and takes names of UTF-8 only.

use super::SimDisk;
use super::contents::Node;
use super::file::{SimFile, SimLock, SimMap};
use super::log::Op;
use super::state::State;
use crate::vfs::{AppendFile, Entry, EntryKind, FileBytes, LockGuard, RawEntry, Vfs};
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

impl Vfs for SimDisk {
    fn map(&self, path: &Path) -> io::Result<FileBytes> {
        let mut state = self.alive()?;
        let inode = state.contents.inode(path)?;
        Ok(FileBytes::new(SimMap(state.map(inode)?)))
    }

    fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
        self.read_from(path, 0, max_bytes)
    }

    fn read_from(&self, path: &Path, offset: u64, max_bytes: u64) -> io::Result<Vec<u8>> {
        let state = self.alive()?;
        let data = state.contents.bytes(state.contents.inode(path)?)?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
        let rest = &data[offset..];
        if rest.len() as u64 > max_bytes {
            let message = format!("{} has {} bytes, more than {max_bytes}", path.display(), rest.len());
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        Ok(rest.to_vec())
    }

    fn read_range(&self, path: &Path, offset: u64, len_bytes: usize) -> io::Result<Vec<u8>> {
        let state = self.alive()?;
        let data = state.contents.bytes(state.contents.inode(path)?)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let range = start..start.saturating_add(len_bytes);
        data.get(range).map(<[u8]>::to_vec).ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let mut state = self.alive()?;
        let inode = state.create(path)?;
        Ok(Box::new(SimFile::new(self, &mut state, inode)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let mut state = self.alive()?;
        let inode = state.contents.inode(path)?;
        Ok(Box::new(SimFile::new(self, &mut state, inode)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.alive()?;
        let node = state.contents.node(from)?;
        let (from_slot, to_slot) = (state.contents.slot(from)?, state.contents.slot(to)?);
        match (node, state.contents.node(to)) {
            (_, Err(e)) if e.kind() == ErrorKind::NotFound => {}
            (Node::File(_), Ok(Node::File(_))) => {}
            (Node::File(_), Ok(Node::Dir(_))) => return Err(ErrorKind::IsADirectory.into()),
            (Node::Dir(_), Ok(_)) => return Err(ErrorKind::AlreadyExists.into()),
            (_, Err(e)) => return Err(e),
        }
        if to.starts_with(from) && to != from {
            return Err(ErrorKind::InvalidInput.into());
        }
        state.change("rename", true, Op::Rename { from: from_slot, to: to_slot, node })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.alive()?;
        let op =
            Op::Unlink { node: Node::File(state.contents.inode(path)?), slot: state.contents.slot(path)? };
        state.change("removal", false, op)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.alive()?;
        let dir = state.contents.dir_id(path)?;
        if !state.contents.dir(dir)?.is_empty() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        let op = Op::Unlink { node: Node::Dir(dir), slot: state.contents.slot(path)? };
        state.change("removal of a directory", false, op)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut state = self.alive()?;
        let mut missing = Vec::new();
        for dir in path.ancestors() {
            match state.contents.node(dir) {
                Ok(Node::Dir(_)) => break,
                Ok(Node::File(_)) if dir == path => return Err(ErrorKind::AlreadyExists.into()),
                Err(e) if e.kind() == ErrorKind::NotFound => missing.push(dir),
                Ok(Node::File(_)) => return Err(ErrorKind::NotADirectory.into()),
                Err(e) => return Err(e),
            }
        }
        missing.into_iter().rev().try_for_each(|dir| state.make_dir(dir))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.alive()?;
        let dir = state.contents.dir_id(path)?;
        state.change("sync of a directory", false, Op::SyncDir { dir })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let state = self.alive()?;
        let entries = state.contents.dir(state.contents.dir_id(path)?)?;
        Ok(entries.iter().map(|(name, node)| entry(&state, name, *node)).collect())
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Entry>> {
        let state = self.alive()?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match state.contents.node(path) {
            Ok(node) => Ok(Some(entry(&state, name, node))),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        let mut state = self.alive()?;
        let inode = match state.contents.inode(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => state.create(path)?,
            found => found?,
        };
        let handle = state.new_handle();
        while state.locks.contains_key(&inode) {
            state = self.shared.released.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.alive()?;
        }
        state.locks.insert(inode, handle);
        Ok(Box::new(SimLock { disk: self.clone(), inode, handle }))
    }

    fn temp_path(&self, dir: &Path) -> PathBuf {
        let mut state = self.state();
        loop {
            // Names of an earlier process may still lie there.
            let path = dir.join(format!("tmp-sim-{}", state.new_temporary()));
            if state.contents.node(&path).is_err() {
                return path;
            }
        }
    }

    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        let mut state = self.alive()?;
        if state.exchanges_unsupported {
            return Err(ErrorKind::Unsupported.into());
        }
        let of = |path: &Path| Ok::<_, io::Error>((state.contents.slot(path)?, state.contents.node(path)?));
        let (first, second) = (of(a)?, of(b)?);
        if a.starts_with(b) || b.starts_with(a) {
            return Err(ErrorKind::InvalidInput.into());
        }
        state.change("exchange", true, Op::Exchange { a: first, b: second })
    }

    fn list_raw(&self, path: &Path) -> io::Result<Vec<RawEntry>> {
        Ok(self.list(path)?.into_iter().map(raw).collect())
    }

    fn stat_raw(&self, path: &Path) -> io::Result<Option<RawEntry>> {
        Ok(self.stat(path)?.map(raw))
    }

    fn open_plain(&self, path: &Path) -> io::Result<(u64, Box<dyn Read + Send>)> {
        let state = self.alive()?;
        let inode = state.contents.inode(path).map_err(|e| match e.kind() {
            ErrorKind::IsADirectory => ErrorKind::InvalidData.into(),
            _ => e,
        })?;
        let bytes = state.contents.bytes(inode)?.to_vec();
        Ok((bytes.len() as u64, Box::new(Cursor::new(bytes))))
    }
}

fn entry(state: &State, name: &str, node: Node) -> Entry {
    let size_bytes = match node {
        Node::File(inode) => state.contents.bytes(inode).map_or(0, |data| data.len() as u64),
        Node::Dir(_) => 0,
    };
    Entry { name: name.to_owned(), is_dir: matches!(node, Node::Dir(_)), size_bytes }
}

fn raw(entry: Entry) -> RawEntry {
    let kind = if entry.is_dir { EntryKind::Dir } else { EntryKind::File };
    RawEntry { name: entry.name.into(), kind, size_bytes: entry.size_bytes }
}
