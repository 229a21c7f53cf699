//! The states a loss of power may leave.

use super::SimDisk;
use super::contents::{Contents, DirId, Inode, Node};
use super::log::Op;
use super::state::State;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Pending operations taken singly at each end of the list; all of them if there are fewer.
const SINGLES: usize = 32;

/// A state of the disk after a crash.
#[derive(Clone, Debug)]
pub struct CrashImage {
    name: String,
    contents: Contents,
}

impl CrashImage {
    /// What was taken to have reached the disk, for the messages of a test.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A fresh disk with this content, all of it durable, no locks held, no operations yet.
    pub fn image(&self) -> SimDisk {
        SimDisk::from_contents(self.contents.clone())
    }
}

/// For each operation whether what it did is durable at the end of `log`.
pub(super) fn durable(log: &[Op]) -> Vec<bool> {
    let mut durable = vec![true; log.len()];
    // Backwards: whether the next sync of a file succeeds, and which directories are still synced.
    let mut files: HashMap<Inode, bool> = HashMap::new();
    let mut dirs: HashSet<DirId> = HashSet::new();
    for (op, durable) in log.iter().zip(&mut durable).rev() {
        match op {
            Op::Sync { inode } => drop(files.insert(*inode, true)),
            Op::FailedSync { inode } => drop(files.insert(*inode, false)),
            Op::SyncDir { dir } => drop(dirs.insert(*dir)),
            _ => {}
        }
        *durable = op.data_of().is_none_or(|inode| files.get(&inode) == Some(&true))
            && op.entries_of().iter().flatten().all(|dir| dirs.contains(dir));
    }
    durable
}

/// What becomes of a pending append that reached the disk in part.
#[derive(Clone, Copy, Debug)]
enum Tear {
    /// The first half.
    Cut,
    /// All but the last byte.
    CutLate,
    /// The length, and zeros for data.
    Zeros,
    /// The first half, then zeros.
    HalfZeros,
    /// The second half behind zeros: its block was written first.
    ZerosHalf,
    /// The first half, then what earlier files left in those blocks.
    HalfGarbage,
}

impl Tear {
    const ALL: [Tear; 6] =
        [Tear::Cut, Tear::CutLate, Tear::Zeros, Tear::HalfZeros, Tear::ZerosHalf, Tear::HalfGarbage];

    fn of(self, bytes: &[u8]) -> Vec<u8> {
        let half = bytes.len() / 2;
        let mut torn = bytes.to_vec();
        match self {
            Tear::Cut => torn.truncate(half),
            Tear::CutLate => torn.truncate(bytes.len().saturating_sub(1)),
            Tear::Zeros => torn.fill(0),
            Tear::HalfZeros => torn[half..].fill(0),
            Tear::ZerosHalf => torn[..half].fill(0),
            Tear::HalfGarbage => torn[half..].iter_mut().enumerate().for_each(|(i, b)| *b = (i as u8) ^ 0xA5),
        }
        torn
    }
}

pub(super) fn images(state: &State, k: usize) -> Vec<CrashImage> {
    let log = &state.log[..k.min(state.log.len())];
    let durable = durable(log);
    let pending: Vec<usize> = (0..log.len()).filter(|i| !durable[*i] && log[*i].is_change()).collect();
    let mut family =
        Family { base: &state.base, log, durable: &durable, seen: HashSet::new(), images: Vec::new() };
    family.add("everything reached the disk", |_| true, None);
    family.add("only what is durable", |_| false, None);
    for one in singles(&pending) {
        family.add(&format!("of what is pending only operation {one}"), |i| i == one, None);
        family.add(&format!("all but operation {one}"), |i| i != one, None);
    }
    family.add("data without entries", |i| log[i].data_of().is_some(), None);
    family.add("entries without data", |i| log[i].data_of().is_none(), None);
    for file in pending.iter().filter_map(|i| log[*i].data_of()).collect::<BTreeSet<_>>() {
        family.add(&format!("all but data of file {file}"), |i| log[i].data_of() != Some(file), None);
        family.tears(&pending, file);
    }
    for dir in pending.iter().flat_map(|i| log[*i].entries_of()).flatten().collect::<BTreeSet<_>>() {
        let outside = |i: usize| !log[i].entries_of().contains(&Some(dir));
        family.add(&format!("all but entries of directory {dir}"), outside, None);
    }
    family.images
}

/// The operations taken singly.
fn singles(pending: &[usize]) -> impl Iterator<Item = usize> {
    let skip = SINGLES..pending.len().saturating_sub(SINGLES).max(SINGLES);
    pending.iter().enumerate().filter(move |(n, _)| !skip.contains(n)).map(|(_, i)| *i)
}

struct Family<'a> {
    base: &'a Contents,
    log: &'a [Op],
    durable: &'a [bool],
    seen: HashSet<blake3::Hash>,
    images: Vec<CrashImage>,
}

impl Family<'_> {
    /// Adds the image with the pending operations that `reached` names, one of them torn.
    fn add(&mut self, name: &str, reached: impl Fn(usize) -> bool, torn: Option<(usize, Tear)>) {
        let mut contents = self.base.clone();
        for (i, op) in self.log.iter().enumerate() {
            match (op, torn) {
                (Op::Append { inode, offset, bytes }, Some((at, tear))) if at == i => {
                    contents.write(*inode, *offset, &tear.of(bytes));
                }
                _ if self.durable[i] || reached(i) => contents.apply(op),
                _ => {}
            }
        }
        if self.seen.insert(fingerprint(&contents)) {
            self.images.push(CrashImage { name: name.to_owned(), contents });
        }
    }

    /// The last pending append to a file torn, with everything else there and with only entries and this file there.
    fn tears(&mut self, pending: &[usize], file: Inode) {
        let log = self.log;
        let is_append = |i: &usize| matches!(&log[*i], Op::Append { inode, .. } if *inode == file);
        let Some(last) = pending.iter().copied().rfind(is_append) else {
            return;
        };
        for tear in Tear::ALL {
            let torn = Some((last, tear));
            self.add(&format!("append {last} torn ({tear:?})"), |_| true, torn);
            let alone = |i: usize| log[i].data_of().is_none_or(|inode| inode == file);
            self.add(&format!("append {last} torn ({tear:?}), no other data"), alone, torn);
        }
    }
}

/// What the root leads to, as a digest.
fn fingerprint(contents: &Contents) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for (path, node) in contents.walk() {
        hasher.update(path.as_os_str().as_encoded_bytes()).update(b"\0");
        if let Node::File(inode) = node {
            let data = contents.files.get(inode).map(|data| data.as_slice()).unwrap_or_default();
            hasher.update(b"f").update(&(data.len() as u64).to_le_bytes()).update(data);
        }
    }
    hasher.finalize()
}
