//! The commit of a session, in numbered steps (docs/STORAGE.md, "Commit of a batch").
//!
//! 1. What groups still hold becomes frames.
//! 2. Foreign keys follow.
//! 3. The mark ends the batch.
//! 4. The buffer goes to the file.
//! 5. The file is synced: in a published pack this is the commit point.
//! 6. A new index is written beside and synced if the batch leaves its keys to it or the tail has grown.
//! 7. The index is renamed into place.
//! 8. A new pack is renamed into place.
//! 9. The directory is synced: for a new pack, the commit point.

use super::brief::Members;
use super::effort::{TAIL_BYTES, TAIL_OBJECTS, TAIL_SHARE};
use super::pack::index_path;
use super::session::Session;
use super::set::{PACK_SUFFIX, pack_path};
use crate::vfs::Vfs;
use crate::{Result, StoreError, WriteReport, layout};
use gemel_packfmt::KEY_LEN;
use gemel_packfmt::index::IndexBuilder;
use gemel_packfmt::mark::Mark;
use std::path::Path;

/// Commits the batch of `session`. `bulk` batches leave their keys to the index. Tells also where the batch ends.
///
/// # Errors
/// `Io`; the batch is then taken back as far as the disk allows.
pub(crate) fn commit(
    vfs: &dyn Vfs,
    dir: &Path,
    mut session: Session,
    bulk: bool,
) -> Result<(WriteReport, u64)> {
    let done = steps(vfs, dir, &mut session, bulk);
    if done.is_err() {
        if session.claim.pack.is_none() {
            // The last steps may have been taken; nobody relies on the pack before a ref transaction says so.
            let _ = vfs.remove_file(&pack_path(dir, session.claim.number, PACK_SUFFIX));
        }
        take_back(vfs, session);
    }
    done
}

fn steps(vfs: &dyn Vfs, dir: &Path, session: &mut Session, bulk: bool) -> Result<(WriteReport, u64)> {
    session.flush_groups()?;
    session.flush_foreign()?;
    let new = session.claim.pack.is_none();
    let keyed = !(bulk && new) || session.foreign_bases;
    let mark = Mark {
        start: session.batch_at,
        first_ordinal: session.first_ordinal,
        objects: session.objects.len() as u32,
        foreign: session.foreign_count,
        dictionaries: session.dictionary_count,
        frames: session.sum.value(),
        keys: keyed.then(|| session.objects.clone()),
    };
    session.put_mark(&mark);
    session.write_buffer()?;
    session.claim.file.sync().map_err(StoreError::io("sync", &session.claim.path))?;
    let published = pack_path(dir, session.claim.number, PACK_SUFFIX);
    if !keyed || tail_has_grown(session) {
        let content = index_content(session);
        let unknown = content.objects.iter().any(|(key, _)| *key == [0; KEY_LEN]);
        // An index that tells at least the beginnings of keys that cannot be made any more is not replaced by one that
        // does not.
        if !keyed || !unknown {
            let indexed = write_index(vfs, &published, &content);
            // Once the batch is committed a missing index costs time only.
            if !keyed || new {
                indexed?;
            }
        }
    }
    if new {
        let from = &session.claim.path;
        vfs.rename(from, &published).map_err(StoreError::io("rename", from))?;
        vfs.sync_dir(dir).map_err(StoreError::io("sync", dir))?;
    }
    session.report.stored_bytes = session.end() - session.batch_at;
    Ok((session.report, session.end()))
}

fn tail_has_grown(session: &Session) -> bool {
    let pack = session.claim.pack.as_ref();
    let covered = pack.map_or(0, |pack| pack.tail.first_ordinal);
    let behind = session.first_ordinal + session.objects.len() as u32 - covered;
    let start = pack.map_or(0, |pack| pack.tail.start);
    behind >= TAIL_OBJECTS && behind >= covered / TAIL_SHARE || session.end() - start >= TAIL_BYTES
}

/// What the index over the pack says once the batch is in it.
fn index_content(session: &Session) -> IndexBuilder {
    let pack = session.claim.pack.as_ref();
    let (mut content, mut members) =
        pack.map(|pack| (pack.index_lists(), Members::of(pack))).unwrap_or_default();
    content.pack = session.claim.number;
    content.covered = session.end();
    content.ending = session.ending;
    content.objects.extend_from_slice(&session.objects);
    content.foreign.extend_from_slice(&session.foreign_runs);
    content.dictionaries.extend_from_slice(&session.dictionaries);
    members.append(&session.members);
    content.brief = members.brief(&content.objects);
    content
}

/// Writes the index of the pack at `published` beside it and renames it into place.
///
/// # Errors
/// `Io`.
pub(crate) fn write_index(vfs: &dyn Vfs, published: &Path, content: &IndexBuilder) -> Result<()> {
    let target = index_path(published);
    let bytes = content.build().map_err(|error| StoreError::CorruptFile {
        path: target.clone(),
        offset_bytes: 0,
        detail: error.to_string(),
    })?;
    let temp = vfs.temp_path(target.parent().unwrap_or(published));
    let written = (|| {
        layout::write_synced(vfs, &temp, &bytes)?;
        vfs.rename(&temp, &target).map_err(StoreError::io("rename", &temp))
    })();
    if written.is_err() {
        // Best effort: a leftover temporary file is reported by fsck and removed by the next gc.
        let _ = vfs.remove_file(&temp);
    }
    written
}

/// Leaves the disk as it was before the session. Failing that, the rest is recognised as a torn tail.
pub(crate) fn take_back(vfs: &dyn Vfs, mut session: Session) {
    if session.claim.pack.is_none() {
        let _ = vfs.remove_file(&session.claim.path);
    } else if session.claim.file.len_bytes() > session.batch_at
        && session.claim.file.truncate(session.batch_at).is_err()
    {
        // A handle that failed to sync refuses everything; another one may do.
        if let Ok(mut file) = vfs.open_append(&session.claim.path) {
            let _ = file.truncate(session.batch_at);
        }
    }
}
