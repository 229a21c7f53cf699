//! Changes that do not lead to head, counted for the log.
//!
//! Finding them means looking at every name, so the answer is kept in a derived file for as long as no ref moves.

use crate::Result;
use crate::facts::Omitted;
use crate::history::graph::{ChangeSet, Graph};
use crate::history::known::known_changes;
use crate::history::view;
use gemel_object::{GID_LEN, Gid};
use gemel_store::{Refs, Store};

/// Name of the derived file.
const FILE: &str = "log-elsewhere";
const MAGIC: &[u8; 8] = b"gmlelse1";
/// Magic, sequence of the refs, head, number of changes; behind them those that are told one by one.
const HEADER: usize = 8 + 8 + GID_LEN + 8;
const CHECK: usize = 32;
/// With fewer changes finding them is cheap.
const WORTH_KEEPING: usize = 4096;

/// Known changes outside of `set`, which holds those that lead to head: a change whose input no change ends in begins a
/// line of its own (workflow, section 4.5).
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn elsewhere(graph: &mut Graph<'_>, refs: &Refs, set: &ChangeSet) -> Result<Vec<Omitted>> {
    let head = refs.get("refs/head")?.filter(|_| set.len() >= WORTH_KEEPING);
    let key = head.map(|head| key(refs, &head));
    if let Some(key) = &key
        && let Some((count, ids)) = kept(graph.store(), key)
    {
        return Ok(told(count, ids));
    }
    let known = known_changes(graph, refs)?;
    let mut others: Vec<Gid> = graph.members(&known).into_iter().filter(|id| !graph.holds(set, id)).collect();
    others.sort_unstable();
    let count = others.len() as u64;
    if others.len() > view::MAX_LISTED {
        others.clear();
    }
    // What is absent may come without a ref being moved.
    if let Some(mut bytes) = key.filter(|_| known.missing.is_empty()) {
        bytes.extend_from_slice(&count.to_le_bytes());
        others.iter().for_each(|id| bytes.extend_from_slice(id.as_bytes()));
        let check = *blake3::hash(&bytes).as_bytes();
        bytes.extend_from_slice(&check);
        // Derived: failing to keep it costs the next command time and nothing else.
        let _ = graph.store().cache_write(FILE, &bytes);
    }
    Ok(told(count, others))
}

fn key(refs: &Refs, head: &Gid) -> Vec<u8> {
    let mut key = MAGIC.to_vec();
    key.extend_from_slice(&refs.sequence().to_le_bytes());
    key.extend_from_slice(head.as_bytes());
    key
}

fn kept(store: &Store, key: &[u8]) -> Option<(u64, Vec<Gid>)> {
    let bytes = store.cache_read(FILE)?;
    let (content, check) = bytes.split_at_checked(bytes.len().checked_sub(CHECK)?)?;
    if !content.starts_with(key) || blake3::hash(content).as_bytes() != check {
        return None;
    }
    let count = u64::from_le_bytes(content.get(HEADER - 8..HEADER)?.try_into().ok()?);
    let ids = content.get(HEADER..)?.chunks(GID_LEN).map(|id| Gid::from_bytes(id.try_into().ok()?));
    Some((count, ids.collect::<Option<_>>()?))
}

fn told(count: u64, ids: Vec<Gid>) -> Vec<Omitted> {
    let ids = ids.iter().map(Gid::to_string).collect();
    let row = Omitted { class: "change", count, reason: "scope", ids };
    if count == 0 { Vec::new() } else { vec![row] }
}
