//! What lies on a simulated disk: directories and files by number, and the entries that name them.

use super::log::Op;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Number of a file's content.
pub(super) type Inode = usize;
/// Number of a directory; 0 is the root.
pub(super) type DirId = usize;
/// Deepest path that is walked.
const MAX_DEPTH: usize = 64;

/// What an entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    File(Inode),
    Dir(DirId),
}

/// An entry's place: its directory and its name there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) dir: DirId,
    pub(super) name: String,
}

/// Directories and files. What no entry names stays for handles that are still open.
#[derive(Clone, Debug)]
pub(super) struct Contents {
    pub(super) dirs: Vec<BTreeMap<String, Node>>,
    pub(super) files: Vec<Arc<Vec<u8>>>,
}

impl Default for Contents {
    fn default() -> Contents {
        Contents { dirs: vec![BTreeMap::new()], files: Vec::new() }
    }
}

impl Contents {
    /// What `path` names.
    pub(super) fn node(&self, path: &Path) -> io::Result<Node> {
        let mut node = Node::Dir(0);
        for component in path.components() {
            let Component::Normal(name) = component else {
                continue;
            };
            let Node::Dir(dir) = node else {
                return Err(ErrorKind::NotADirectory.into());
            };
            let name = name.to_str().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
            node = *self.dir(dir)?.get(name).ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
        }
        Ok(node)
    }

    /// The file `path` names.
    pub(super) fn inode(&self, path: &Path) -> io::Result<Inode> {
        match self.node(path)? {
            Node::File(inode) => Ok(inode),
            Node::Dir(_) => Err(ErrorKind::IsADirectory.into()),
        }
    }

    /// The directory `path` names.
    pub(super) fn dir_id(&self, path: &Path) -> io::Result<DirId> {
        match self.node(path)? {
            Node::Dir(dir) => Ok(dir),
            Node::File(_) => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// Where the entry of `path` is or would be; its directory must exist.
    pub(super) fn slot(&self, path: &Path) -> io::Result<Slot> {
        let invalid = || io::Error::from(ErrorKind::InvalidInput);
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(invalid)?.to_owned();
        Ok(Slot { dir: self.dir_id(path.parent().ok_or_else(invalid)?)?, name })
    }

    pub(super) fn dir(&self, dir: DirId) -> io::Result<&BTreeMap<String, Node>> {
        self.dirs.get(dir).ok_or_else(|| ErrorKind::NotFound.into())
    }

    pub(super) fn bytes(&self, inode: Inode) -> io::Result<&Arc<Vec<u8>>> {
        self.files.get(inode).ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Does what an operation does, without asking whether it may.
    pub(super) fn apply(&mut self, op: &Op) {
        match op {
            Op::Link { slot, node } => self.link(slot, *node),
            Op::Unlink { slot, node } => self.unlink(slot, *node),
            Op::Rename { from, to, node } => {
                self.unlink(from, *node);
                self.link(to, *node);
            }
            Op::Exchange { a: (slot_a, node_a), b: (slot_b, node_b) } => {
                self.link(slot_a, *node_b);
                self.link(slot_b, *node_a);
            }
            Op::Append { inode, offset, bytes } => self.write(*inode, *offset, bytes),
            Op::Truncate { inode, len } => {
                if let Some(data) = self.data(*inode) {
                    data.truncate(*len);
                }
            }
            Op::Sync { .. } | Op::SyncDir { .. } | Op::FailedSync { .. } | Op::Failed { .. } => {}
        }
    }

    fn link(&mut self, slot: &Slot, node: Node) {
        let most = if let Node::Dir(dir) = node { dir.max(slot.dir) } else { slot.dir };
        if self.dirs.len() <= most {
            self.dirs.resize_with(most + 1, BTreeMap::new);
        }
        if let Node::File(inode) = node {
            self.data(inode);
        }
        if let Some(entries) = self.dirs.get_mut(slot.dir) {
            entries.insert(slot.name.clone(), node);
        }
    }

    fn unlink(&mut self, slot: &Slot, node: Node) {
        if let Some(entries) = self.dirs.get_mut(slot.dir)
            && entries.get(&slot.name) == Some(&node)
        {
            entries.remove(&slot.name);
        }
    }

    /// Writes into a file; a gap before `offset` reads as zeros.
    pub(super) fn write(&mut self, inode: Inode, offset: usize, bytes: &[u8]) {
        let Some(data) = self.data(inode) else { return };
        let end = offset + bytes.len();
        if data.len() < end {
            data.resize(end, 0);
        }
        data[offset..end].copy_from_slice(bytes);
    }

    fn data(&mut self, inode: Inode) -> Option<&mut Vec<u8>> {
        if self.files.len() <= inode {
            self.files.resize_with(inode + 1, Arc::default);
        }
        self.files.get_mut(inode).map(Arc::make_mut)
    }

    /// Everything that the root leads to, ascending by path within each directory.
    pub(super) fn walk(&self) -> Vec<(PathBuf, Node)> {
        let mut found = Vec::new();
        let mut waiting = vec![(PathBuf::from("/"), 0, 0)];
        while let Some((path, dir, depth)) = waiting.pop() {
            for (name, node) in self.dirs.get(dir).into_iter().flatten() {
                let path = path.join(name);
                if let Node::Dir(below) = node
                    && depth < MAX_DEPTH
                {
                    waiting.push((path.clone(), *below, depth + 1));
                }
                found.push((path, *node));
            }
        }
        found
    }
}
