//! From identities to names in one look: a derived file for repositories with many names.
//!
//! Names lead from text to identity; the other way is a walk over all of them. Where there are many the walk's result is
//! kept: rows of identity and name, ascending, true for one sequence number of the refs. It holds nothing that the refs
//! do not say.

use crate::Result;
use crate::names::Kind;
use gemel_object::{Family, GID_LEN, Gid};
use gemel_store::vfs::FileBytes;
use gemel_store::{RefValue, Refs, RefsMark, Store};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Fewest numbered names for which the file is worth its making.
const WORTH: u64 = 4096;

/// Name of the file among the store's caches.
const FILE: &str = "names";
const MAGIC: &[u8; 8] = b"gmlname1";
const CHECK: usize = 32;
/// Magic, sequence number of the refs, number of rows.
const HEADER: usize = 8 + 8 + 4;
/// Identity, and where its name begins and ends among the texts.
const ROW: usize = GID_LEN + 4 + 4;

/// Namespaces whose names say what an object is called, in the order in which a label is looked for.
const SPACES: [&str; 7] = [
    "refs/trajectories/",
    "refs/checkpoints/",
    "refs/reconciliations/",
    "refs/releases/",
    "refs/cases/",
    "refs/names/",
    "refs/semantic/",
];

/// Store, sequence number and tables of the refs that names were made of.
type Of = (PathBuf, u64, RefsMark);

/// The names last asked for: a session asks again for each answer, and checking a long file takes longer than most answers.
static LAST: Mutex<Option<(Of, Arc<Reverse>)>> = Mutex::new(None);

/// The names of all objects.
#[derive(Debug)]
pub(super) struct Reverse {
    bytes: Bytes,
    rows: usize,
}

#[derive(Debug)]
enum Bytes {
    Kept(FileBytes),
    Made(Vec<u8>),
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Bytes::Kept(bytes) => bytes,
            Bytes::Made(bytes) => bytes,
        }
    }
}

impl Reverse {
    /// The names as `refs` have them; `None` where there are so few that a walk is as good.
    ///
    /// # Errors
    /// `Store`.
    pub(super) fn load(store: &Store, refs: &Refs) -> Result<Option<Arc<Reverse>>> {
        let of = (store.dir().to_path_buf(), refs.sequence(), refs.mark());
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reverse)) = last.as_ref().filter(|(known, _)| *known == of) {
            return Ok(Some(reverse.clone()));
        }
        let found = Reverse::make(store, refs)?.map(Arc::new);
        if let Some(reverse) = &found {
            *last = Some((of, reverse.clone()));
        }
        Ok(found)
    }

    fn make(store: &Store, refs: &Refs) -> Result<Option<Reverse>> {
        let mut numbered = 0u64;
        for kind in [Kind::Change, Kind::State] {
            let most = refs.max_number(kind.namespace().trim_end_matches('/'), kind.prefix())?;
            numbered = numbered.saturating_add(most);
        }
        if numbered < WORTH {
            return Ok(None);
        }
        if let Some(kept) = store.cache_read(FILE).and_then(|bytes| open(Bytes::Kept(bytes), refs.sequence()))
        {
            return Ok(Some(kept));
        }
        let Some(bytes) = build(refs)? else { return Ok(None) };
        // Derived: failing to keep it costs the next command time and nothing else.
        let _ = store.cache_write(FILE, &bytes);
        Ok(open(Bytes::Made(bytes), refs.sequence()))
    }

    /// Whether it tells the names of a family. Mappings are called by what they map.
    pub(super) fn covers(family: Family) -> bool {
        family != Family::Mapping
    }

    /// What `id` is called.
    pub(super) fn name(&self, id: &Gid) -> Option<&str> {
        let bytes = self.bytes.get();
        let texts_at = HEADER + self.rows * ROW;
        let (rows, _) = bytes.get(HEADER..texts_at)?.as_chunks::<ROW>();
        let found = rows.binary_search_by(|row| row[..GID_LEN].cmp(id.as_bytes().as_slice())).ok()?;
        let row = rows.get(found)?;
        let (start, end) = (word(row, GID_LEN)?, word(row, GID_LEN + 4)?);
        std::str::from_utf8(bytes.get(texts_at + start..texts_at + end)?).ok()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)).ok()
}

/// `None` for anything but a whole file of this version and of that sequence number.
fn open(bytes: Bytes, sequence: u64) -> Option<Reverse> {
    let all = bytes.get();
    let (content, check) = all.split_at_checked(all.len().checked_sub(CHECK)?)?;
    let of_refs = u64::from_le_bytes(content.get(8..16)?.try_into().ok()?);
    if !content.starts_with(MAGIC) || of_refs != sequence || blake3::hash(content).as_bytes() != check {
        return None;
    }
    let rows = word(content, 16)?;
    (rows.checked_mul(ROW)?.checked_add(HEADER)? <= content.len()).then_some(Reverse { bytes, rows })
}

/// How a name ranks among those of one object; the least wins. A state goes by its first label, else by its earliest
/// number; everything else by its earliest number, else by its first label.
fn rank(id: &Gid, full: &str) -> (bool, u64) {
    let number = Kind::of_name(full).filter(|(kind, _)| Kind::of_family(id.family()) == Some(*kind));
    let is_label = number.is_none();
    (is_label != (id.family() == Family::State), number.map_or(0, |(_, number)| number))
}

/// The bytes of the file; `None` for more than it can hold.
fn build(refs: &Refs) -> Result<Option<Vec<u8>>> {
    let mut best: HashMap<Gid, ((bool, u64), String)> = HashMap::new();
    for space in SPACES {
        for (full, value) in refs.scan(space)? {
            let Ok(RefValue::Id(id)) = value else { continue };
            let short = full.strip_prefix(space).filter(|short| *short != "current");
            // A name in the space of another family says nothing of this one.
            let own = space == "refs/names/" || super::lookup::own_space(id.family()) == space;
            let Some(short) = short.filter(|_| own) else { continue };
            let found = (rank(&id, &full), short.to_owned());
            match best.entry(id) {
                Entry::Vacant(entry) => drop(entry.insert(found)),
                // Ascending: among equals the first stays.
                Entry::Occupied(mut entry) if found.0 < entry.get().0 => drop(entry.insert(found)),
                Entry::Occupied(_) => {}
            }
        }
    }
    let mut rows: Vec<(Gid, String)> = best.into_iter().map(|(id, (_, name))| (id, name)).collect();
    rows.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    let Ok(count) = u32::try_from(rows.len()) else { return Ok(None) };
    let mut bytes = Vec::with_capacity(HEADER + rows.len() * (ROW + 8) + CHECK);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&refs.sequence().to_le_bytes());
    bytes.extend_from_slice(&count.to_le_bytes());
    let mut at = 0u32;
    for (id, name) in &rows {
        let Some(end) = u32::try_from(name.len()).ok().and_then(|len| at.checked_add(len)) else {
            return Ok(None);
        };
        bytes.extend_from_slice(id.as_bytes());
        bytes.extend_from_slice(&at.to_le_bytes());
        bytes.extend_from_slice(&end.to_le_bytes());
        at = end;
    }
    rows.iter().for_each(|(_, name)| bytes.extend_from_slice(name.as_bytes()));
    let check = *blake3::hash(&bytes).as_bytes();
    bytes.extend_from_slice(&check);
    Ok(Some(bytes))
}
