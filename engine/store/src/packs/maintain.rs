//! Named repairs: lost indexes written anew, leftovers of stopped sessions removed.

use super::claim::{self, LOCK_NAME};
use super::pack::{Pack, index_path};
use super::publish;
use super::set::{FIRST, INDEX_SUFFIX, NEW_SUFFIX, PACK_SUFFIX, number_of, pack_name};
use crate::{Result, Store, StoreError};
use std::path::PathBuf;

/// See [`Store::rebuild_indexes`].
pub(crate) fn rebuild_indexes(store: &Store, all: bool) -> Result<usize> {
    let vfs = store.vfs().as_ref();
    let mut written = 0;
    // The first pack is small and never has one.
    for known in store.fresh_set()?.packs.iter().filter(|pack| pack.number != FIRST) {
        let Some(_locked) = claim::lock_pack(vfs, &known.path)? else { continue };
        let Ok(pack) = Pack::open(vfs, &known.path, known.number) else { continue };
        if !pack.lacks_index() && !all && pack.index_verifies() {
            continue;
        }
        let index = index_path(&pack.path);
        if pack.index.is_some() {
            // What a damaged index says of the pack is not believed: the pack is read as if it had none.
            vfs.remove_file(&index).map_err(StoreError::io("remove", &index))?;
        }
        let Ok(pack) = Pack::open(vfs, &known.path, known.number) else { continue };
        publish::write_index(vfs, &pack.path, &pack.index_content())?;
        written += 1;
    }
    store.refresh()?;
    Ok(written)
}

/// See [`Store::remove_leftovers`].
pub(crate) fn remove_leftovers(store: &Store) -> Result<Vec<PathBuf>> {
    let (vfs, dir) = (store.vfs().as_ref(), store.packs_dir());
    let lock = dir.join(LOCK_NAME);
    let _guard = vfs.lock(&lock).map_err(StoreError::io("lock", &lock))?;
    let (mut removed, mut begun) = (Vec::new(), false);
    let entries = vfs.list(dir).map_err(StoreError::io("list", dir))?;
    for entry in &entries {
        let path = dir.join(&entry.name);
        if let Some(number) = number_of(&entry.name, NEW_SUFFIX) {
            match claim::remove_if_dead(vfs, &path, number)? {
                true => removed.push(path),
                false => begun = true,
            }
            continue;
        }
        let orphan = number_of(&entry.name, INDEX_SUFFIX).is_some_and(|number| {
            let stands = |suffix: &str| entries.iter().any(|other| other.name == pack_name(number, suffix));
            !stands(PACK_SUFFIX) && !stands(NEW_SUFFIX)
        });
        // An index is written in the time it takes to sync it; sessions that do so hold the lock of their pack only,
        // so a temporary file is removed when no pack is being worked at.
        let abandoned = entry.name.starts_with("tmp-")
            && !begun
            && store
                .fresh_set()?
                .packs
                .iter()
                .all(|pack| claim::lock_pack(vfs, &pack.path).is_ok_and(|free| free.is_some()));
        if orphan || abandoned {
            vfs.remove_file(&path).map_err(StoreError::io("remove", &path))?;
            removed.push(path);
        }
    }
    Ok(removed)
}
