//! Names that Git gave: from an object name of Git to what an import or export made of it, and back.
//!
//! The way there is a look at the refs of mappings. The way back would be a look at every mapping, so its result is kept
//! in a derived file: rows of change and commit, ascending. It holds nothing that the mappings do not say.

use crate::names::resolve::MAX_CANDIDATES;
use crate::{Repo, RepoError, Result};
use gemel_object::families::Mapping;
use gemel_object::{Family, Gid, Limits};
use gemel_store::vfs::FileBytes;
use gemel_store::{RefValue, Refs, Store, StoreError};
use rayon::prelude::*;
use std::collections::HashMap;

/// What stands before a Git object name in an argument.
pub(super) const SCHEME: &str = "git:";

/// Fewest digits of a Git object name.
const MIN_DIGITS: usize = 4;

/// Longest name of a Git object: SHA-256 in hex.
const MAX_DIGITS: usize = 64;

/// Namespaces of mappings, in the order in which a name is looked for.
const SPACES: [&str; 4] = [
    "refs/mappings/import/git_commit/",
    "refs/mappings/export/git_commit/",
    "refs/mappings/import/git_tree/",
    "refs/mappings/export/git_tree/",
];

/// What the mapping `id` maps to; `None` when it does not read as one.
///
/// # Errors
/// `Store`.
pub(super) fn target(store: &Store, id: &Gid) -> Result<Option<Gid>> {
    let envelope = store.read(id)?;
    Ok(Mapping::decode(&envelope, &Limits::DEFAULT).ok().map(|mapping| mapping.to()))
}

/// What the Git object whose name begins with `prefix` was made into; a commit goes before a tree.
///
/// # Errors
/// `Ambiguous`, `Store`.
pub(super) fn resolve(repo: &Repo, refs: &Refs, text: &str, prefix: &str) -> Result<Option<Gid>> {
    let hex = prefix.to_ascii_lowercase();
    let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || !(MIN_DIGITS..=MAX_DIGITS).contains(&hex.len()) {
        return Ok(None);
    }
    for space in SPACES {
        let mut found: Vec<Gid> = Vec::new();
        for (_, value) in refs.scan(&format!("{space}{hex}"))?.take(MAX_CANDIDATES + 1) {
            if let Ok(RefValue::Id(mapping)) = value
                && let Some(to) = target(repo.store(), &mapping)?
                && !found.contains(&to)
            {
                found.push(to);
            }
        }
        match found[..] {
            [] => {}
            [id] => return Ok(Some(id)),
            _ => {
                let more = found.len() > MAX_CANDIDATES;
                found.truncate(MAX_CANDIDATES);
                return Err(RepoError::Ambiguous { text: text.to_owned(), candidates: found, more });
            }
        }
    }
    Ok(None)
}

/// The Git commits that `change` came from or went to, ascending; several when Git told apart what a change does not.
///
/// # Errors
/// `Store`.
pub fn git_names(repo: &Repo, change: &Gid) -> Result<Vec<String>> {
    Ok(GitNames::load(repo)?.of(change))
}

/// Git's names of changes.
#[derive(Debug)]
pub struct GitNames {
    rows: Rows,
}

impl GitNames {
    /// The names as they are now, from the derived file if it is still true; else it is made again.
    ///
    /// # Errors
    /// `Store`.
    pub fn load(repo: &Repo) -> Result<GitNames> {
        let refs = repo.store().refs()?;
        let key = key(&refs)?;
        let kept = repo.store().cache_read(FILE).and_then(Rows::open);
        if let Some(rows) = kept.filter(|rows| rows.key() == key) {
            return Ok(GitNames { rows });
        }
        let bytes = build(repo.store(), &refs, &key)?;
        if bytes.len() > HEADER + CHECK {
            // Derived: failing to keep it costs the next command time and nothing else.
            let _ = repo.store().cache_write(FILE, &bytes);
        }
        Ok(GitNames { rows: Rows::from_vec(bytes) })
    }

    /// The commits of `change`, ascending.
    pub fn of(&self, change: &Gid) -> Vec<String> {
        self.rows.of(change)
    }
}

/// Name of the derived file.
const FILE: &str = "git-names";
const MAGIC: &[u8; 8] = b"gmlgitn1";
const DIGEST: usize = 32;
const HEADER: usize = 8 + DIGEST;
/// Digest of the change, digits of the name, the name in ASCII hex filled up with NULs.
const ROW: usize = DIGEST + 1 + MAX_DIGITS;
const CHECK: usize = 32;

/// What the mappings were when the file was made. Every import that maps commits moves the list of refs or gives out
/// names of changes, and every export maps into a namespace whose size shows.
fn key(refs: &Refs) -> Result<[u8; DIGEST]> {
    let mut hasher = blake3::Hasher::new();
    for name in ["refs/mappings/import/git_refs", "refs/head"] {
        let id = refs.get(name)?.map(|id| id.to_string()).unwrap_or_default();
        hasher.update(id.as_bytes()).update(&[0]);
    }
    hasher.update(&refs.max_number("refs/names", "C")?.to_le_bytes());
    let exported = refs.scan("refs/mappings/export/git_commit/")?.count() as u64;
    hasher.update(&exported.to_le_bytes());
    Ok(*hasher.finalize().as_bytes())
}

/// The bytes of the file.
fn build(store: &Store, refs: &Refs, key: &[u8; DIGEST]) -> Result<Vec<u8>> {
    let mut mappings: Vec<(String, Gid)> = Vec::new();
    for space in SPACES.iter().take(2) {
        for (name, value) in refs.scan(space)? {
            if let (Some(oid), Ok(RefValue::Id(id))) = (name.strip_prefix(space), value)
                && oid.len() <= MAX_DIGITS
            {
                mappings.push((oid.to_owned(), id));
            }
        }
    }
    let targets = targets(store, mappings.iter().map(|(_, id)| *id).collect())?;
    let change = |id: &Gid| targets.get(id).copied().filter(|to| to.family() == Family::Change);
    let mut rows: Vec<(Gid, &str)> =
        mappings.iter().filter_map(|(oid, id)| Some((change(id)?, oid.as_str()))).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut bytes = Vec::with_capacity(HEADER + rows.len() * ROW + CHECK);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(key);
    for (change, oid) in rows {
        bytes.extend_from_slice(change.digest());
        bytes.push(u8::try_from(oid.len()).unwrap_or(0));
        bytes.extend_from_slice(oid.as_bytes());
        bytes.resize(bytes.len() + MAX_DIGITS - oid.len(), 0);
    }
    let check = *blake3::hash(&bytes).as_bytes();
    bytes.extend_from_slice(&check);
    Ok(bytes)
}

/// What mappings map to, read in the order in which they lie. Not every one has to be whole for the others to be told.
fn targets(store: &Store, ids: Vec<Gid>) -> Result<HashMap<Gid, Gid>> {
    let bulk = match store.bulk(&ids) {
        Err(StoreError::NotFound { .. }) => {
            let mut stored = Vec::with_capacity(ids.len());
            for id in ids {
                if store.contains(&id)? {
                    stored.push(id);
                }
            }
            store.bulk(&stored)?
        }
        bulk => bulk?,
    };
    let parts = bulk.parts(PART_OBJECTS, PART_BYTES);
    let read: Vec<Vec<(Gid, Gid)>> = parts
        .into_par_iter()
        .map(|part| {
            let mut reader = bulk.reader(PART_KEPT_BYTES);
            let mut found = Vec::with_capacity(part.len());
            for at in part {
                let Some(object) = reader.read(at)? else { break };
                let to = Mapping::decode(object.bytes(), &Limits::DEFAULT).ok().map(|mapping| mapping.to());
                found.extend(to.map(|to| (object.id, to)));
            }
            Ok(found)
        })
        .collect::<Result<_>>()?;
    Ok(read.into_iter().flatten().collect())
}

/// Mappings read by one thread at a time, and what it keeps of their frames.
const PART_OBJECTS: usize = 4096;
const PART_BYTES: u64 = 16 << 20;
const PART_KEPT_BYTES: usize = 16 << 20;

/// A whole file.
#[derive(Debug)]
enum Rows {
    Kept(FileBytes),
    Made(Vec<u8>),
}

impl Rows {
    /// `None` for anything but a whole file of this version.
    fn open(bytes: FileBytes) -> Option<Rows> {
        let (content, check) = bytes.split_at_checked(bytes.len().checked_sub(CHECK)?)?;
        let rows = content.len().checked_sub(HEADER)?;
        let whole =
            content.starts_with(MAGIC) && rows % ROW == 0 && blake3::hash(content).as_bytes() == check;
        whole.then_some(Rows::Kept(bytes))
    }

    fn from_vec(bytes: Vec<u8>) -> Rows {
        Rows::Made(bytes)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Rows::Kept(bytes) => bytes,
            Rows::Made(bytes) => bytes,
        }
    }

    fn key(&self) -> &[u8] {
        self.bytes().get(MAGIC.len()..HEADER).unwrap_or_default()
    }

    fn of(&self, change: &Gid) -> Vec<String> {
        let end = self.bytes().len().saturating_sub(CHECK);
        let (rows, _) = self.bytes().get(HEADER..end).unwrap_or_default().as_chunks::<ROW>();
        let first = rows.partition_point(|row| row.get(..DIGEST) < Some(change.digest()));
        let of = rows.iter().skip(first).take_while(|row| row.starts_with(change.digest()));
        let name = |row: &[u8; ROW]| {
            let (len, name) = row.get(DIGEST..)?.split_first()?;
            Some(String::from_utf8_lossy(name.get(..usize::from(*len))?).into_owned())
        };
        of.filter_map(name).collect()
    }
}
