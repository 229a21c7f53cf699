//! Turning a directory from a 0.12 store into one of this layout, so that a stop at any point leaves one or the
//! other whole.
//!
//! Both layouts lie in the same directory. The new one is built aside and moved in under names that 0.12 never
//! looks at. Then one atomic exchange puts the stopper file `refs` in the place of the folder `refs`: before it,
//! 0.12 reads and writes its store and this program calls it a 0.12 store; after it, 0.12 is stopped and the new
//! store is complete. What follows only tidies up.
//!
//! | step | what | a stop right after it leaves |
//! |---|---|---|
//! | 1 | folder `migrating/` | a 0.12 store; the next run starts over |
//! | 2 | the new store in `migrating/new/`, synced and read back | the same |
//! | 3 | stoppers in `migrating/stop/`, a copy of `meta.json` in `migrating/` | the same |
//! | 4 | `packs/`, `refdb/`, `cache/` and an absent `.gitignore` moved up | the same |
//! | 5 | `meta.json`: fields of both layouts and `"migration": "prepared"` | the same; 0.12 works on with it |
//! | 6 | **exchange of `refs`**, synced | the new store, open to this program only |
//! | 7 | the other stoppers, the old things to `legacy-0.12/` | the same; the next run goes on here |
//! | 8 | final `meta.json` | the same |
//! | 9 | `migrating/` removed | the new store, nothing left to do |
//!
//! Where the file system cannot exchange, step 6 is two renames, and a stop between them leaves a directory that
//! neither program opens and the next migration completes.

use super::disk::{self, Kind};
use super::stopper::{STOPPER_TEXT, STOPPERS};
use super::{Layout, layout_of};
use crate::layout::{GITIGNORE, LOCK, META, META_MAX, write_synced};
use crate::vfs::Vfs;
use crate::{Result, StoreError};
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Folder of a migration that is not finished.
pub(super) const MARK: &str = "migrating";
/// Folder of what was the 0.12 store.
pub(super) const OLD: &str = "legacy-0.12";
/// The parts of a new store that are moved up.
pub(super) const PARTS: [&str; 3] = ["packs", "refdb", "cache"];
/// The name whose exchange decides.
const DECISIVE: &str = "refs";

/// How far a directory has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A 0.12 store, with (`restart`) or without leftovers of a migration that stopped before it was decided.
    Old { restart: bool },
    /// Decided, not tidied up.
    Decided,
    /// A store of this layout.
    New,
}

/// The directories of one migration.
pub(super) struct Switch<'a> {
    vfs: &'a dyn Vfs,
    dir: &'a Path,
}

impl<'a> Switch<'a> {
    pub(super) fn new(vfs: &'a dyn Vfs, dir: &'a Path) -> Switch<'a> {
        Switch { vfs, dir }
    }

    /// Where the new store is built.
    pub(super) fn new_dir(&self) -> PathBuf {
        self.mark().join("new")
    }

    fn mark(&self) -> PathBuf {
        self.dir.join(MARK)
    }

    fn stop(&self, name: &str) -> PathBuf {
        self.mark().join("stop").join(name)
    }

    /// How far the directory has come.
    ///
    /// # Errors
    /// `NotARepository` without `meta.json`; `CorruptFile`, `Io`.
    pub(super) fn phase(&self) -> Result<Phase> {
        let marked = disk::kind(self.vfs, &self.mark())?.is_some();
        let decisive = disk::kind(self.vfs, &self.dir.join(DECISIVE))?;
        Ok(match (self.layout()?, decisive) {
            (Layout::Legacy, _) => Phase::Old { restart: marked },
            (Layout::Prepared, Some(Kind::File)) => Phase::Decided,
            // Between the two renames of a file system that cannot exchange.
            (Layout::Prepared, None) if self.is_dir(&self.dir.join(OLD).join(DECISIVE))? => Phase::Decided,
            (Layout::Prepared, _) => Phase::Old { restart: true },
            (Layout::Current, _) if marked => Phase::Decided,
            (Layout::Current, _) => Phase::New,
        })
    }

    fn layout(&self) -> Result<Layout> {
        let path = self.dir.join(META);
        if disk::kind(self.vfs, &path)?.is_none() {
            return Err(StoreError::NotARepository { path: self.dir.to_owned() });
        }
        let value = self.json(&path)?;
        layout_of(&value).ok_or_else(|| corrupt(&path, "no schema this build knows"))
    }

    /// Removes what a migration left that stopped before it was decided.
    ///
    /// # Errors
    /// `CorruptFile` when `legacy-0.12/` holds something or `migrating/` was made by something else, `Io`.
    pub(super) fn clean(&self) -> Result<()> {
        self.check_mark()?;
        let old = self.dir.join(OLD);
        match disk::kind(self.vfs, &old)? {
            None => {}
            Some(Kind::Dir) if disk::list(self.vfs, &old)?.is_empty() => disk::remove_tree(self.vfs, &old)?,
            Some(_) => return Err(corrupt(&old, "in the way of a migration; move it away")),
        }
        for part in PARTS {
            disk::remove_tree(self.vfs, &self.dir.join(part))?;
        }
        disk::remove_tree(self.vfs, &self.mark())?;
        disk::sync_dir(self.vfs, self.dir)
    }

    /// Whether `migrating/` holds what a migration leaves there, and nothing else.
    fn check_mark(&self) -> Result<()> {
        let mark = self.mark();
        match disk::kind(self.vfs, &mark)? {
            None => return Ok(()),
            Some(Kind::Dir) => {}
            Some(_) => return Err(corrupt(&mark, "in the way of a migration; move it away")),
        }
        for entry in disk::list(self.vfs, &mark)? {
            let name = entry.name.to_string_lossy();
            if !["new", "new-init", "stop", META].contains(&&*name) && !name.starts_with("tmp-") {
                return Err(corrupt(&mark.join(&entry.name), "not left by a migration; move it away"));
            }
        }
        Ok(())
    }

    /// Step 1.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn begin(&self) -> Result<()> {
        disk::create_dir(self.vfs, &self.mark())?;
        disk::sync_dir(self.vfs, self.dir)
    }

    /// Steps 3 to 5, once the new store is whole in its own directory.
    ///
    /// # Errors
    /// `CorruptFile` when the new store holds a part this code does not know, `Io`.
    pub(super) fn prepare(&self) -> Result<()> {
        let new = self.new_dir();
        let old_meta = self.read_meta(&self.dir.join(META))?;
        let prepared = prepared_meta(self.json(&self.dir.join(META))?, &self.json(&new.join(META))?);
        disk::create_dir(self.vfs, &self.mark().join("stop"))?;
        for name in STOPPERS {
            write_synced(self.vfs, &self.stop(name), STOPPER_TEXT.as_bytes())?;
        }
        write_synced(self.vfs, &self.mark().join(META), &old_meta)?;
        disk::sync_dir(self.vfs, &self.mark().join("stop"))?;
        disk::sync_dir(self.vfs, &self.mark())?;
        self.move_up(&new)?;
        self.replace_meta(prepared.to_string().as_bytes())
    }

    /// Step 4.
    fn move_up(&self, new: &Path) -> Result<()> {
        for entry in disk::list(self.vfs, new)? {
            let from = new.join(&entry.name);
            match entry.name.to_str() {
                Some(name) if PARTS.contains(&name) => disk::rename(self.vfs, &from, &self.dir.join(name))?,
                Some(GITIGNORE) if disk::kind(self.vfs, &self.dir.join(GITIGNORE))?.is_none() => {
                    disk::rename(self.vfs, &from, &self.dir.join(GITIGNORE))?;
                }
                Some(name) if STOPPERS.contains(&name) || [META, LOCK, GITIGNORE].contains(&name) => {}
                _ => return Err(corrupt(&from, "a part of a store that the migration does not know")),
            }
        }
        disk::sync_dir(self.vfs, new)?;
        disk::sync_dir(self.vfs, self.dir)
    }

    /// Step 6.
    ///
    /// # Errors
    /// `Io`; whether it has happened is then told by [`Switch::phase`].
    pub(super) fn decide(&self) -> Result<()> {
        self.clear_place(DECISIVE)?;
        self.sync(&[self.dir, &self.mark().join("stop")])
    }

    /// Steps 7 to 9. Every part of it may have happened already; each is durable before the next begins, because
    /// they move the same entries.
    ///
    /// # Errors
    /// `CorruptFile`, `Io`; the next run goes on.
    pub(super) fn finish(&self) -> Result<()> {
        let (old, stop) = (self.dir.join(OLD), self.mark().join("stop"));
        if self.is_dir(&stop)? {
            self.create_old()?;
            for name in STOPPERS {
                self.clear_place(name)?;
            }
            self.sync(&[self.dir, &stop, &old])?;
            for name in STOPPERS {
                self.put_away(name)?;
            }
            self.sync(&[&stop, &old])?;
            for name in STOPPERS {
                self.put_stopper(name)?;
            }
            let saved = self.mark().join(META);
            if disk::kind(self.vfs, &saved)?.is_some() {
                disk::rename(self.vfs, &saved, &old.join(META))?;
            }
            self.sync(&[self.dir, &stop, &self.mark(), &old])?;
        }
        let new_meta = self.new_dir().join(META);
        if disk::kind(self.vfs, &new_meta)?.is_some() {
            let bytes = self.read_meta(&new_meta)?;
            self.replace_meta(&bytes)?;
        }
        self.remove_mark(&stop)
    }

    fn create_old(&self) -> Result<()> {
        disk::create_dir(self.vfs, &self.dir.join(OLD))?;
        disk::sync_dir(self.vfs, self.dir)
    }

    /// Gets the old thing out of the place of a stopper: by exchange to `migrating/stop/`, where the file system
    /// cannot by a rename to `legacy-0.12/`.
    fn clear_place(&self, name: &str) -> Result<()> {
        let (here, stop) = (self.dir.join(name), self.stop(name));
        if disk::kind(self.vfs, &here)?.is_none() || self.is_stopper(&here)? {
            return Ok(());
        }
        match self.vfs.exchange(&here, &stop) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == ErrorKind::Unsupported => {
                self.create_old()?;
                disk::rename(self.vfs, &here, &self.dir.join(OLD).join(name))?;
                self.sync(&[self.dir, &self.dir.join(OLD)])
            }
            Err(e) => Err(StoreError::io("exchange", &here)(e)),
        }
    }

    /// Moves what was exchanged to `legacy-0.12/`.
    fn put_away(&self, name: &str) -> Result<()> {
        let stop = self.stop(name);
        if disk::kind(self.vfs, &stop)?.is_none() || self.is_stopper(&stop)? {
            return Ok(());
        }
        disk::rename(self.vfs, &stop, &self.dir.join(OLD).join(name))
    }

    /// Puts a stopper where nothing is.
    fn put_stopper(&self, name: &str) -> Result<()> {
        let (here, stop) = (self.dir.join(name), self.stop(name));
        if disk::kind(self.vfs, &here)?.is_some() {
            return Ok(());
        }
        if disk::kind(self.vfs, &stop)?.is_none() {
            // Synced with its content, as it is told apart from an old file by its text until the end.
            write_synced(self.vfs, &stop, STOPPER_TEXT.as_bytes())?;
        }
        disk::rename(self.vfs, &stop, &here)
    }

    fn sync(&self, dirs: &[&Path]) -> Result<()> {
        dirs.iter().try_for_each(|dir| disk::sync_dir(self.vfs, dir))
    }

    fn is_stopper(&self, path: &Path) -> Result<bool> {
        Ok(disk::kind(self.vfs, path)? == Some(Kind::File)
            && disk::read(self.vfs, path, STOPPER_TEXT.len() as u64)?
                .is_ok_and(|b| b == STOPPER_TEXT.as_bytes()))
    }

    /// Step 9. Never removes anything of the old store.
    fn remove_mark(&self, stop: &Path) -> Result<()> {
        if self.is_dir(stop)? {
            for entry in disk::list(self.vfs, stop)? {
                let path = stop.join(entry.name);
                if !self.is_stopper(&path)? {
                    return Err(corrupt(&path, "left by an unfinished migration and not removed"));
                }
            }
        }
        disk::remove_tree(self.vfs, &self.mark())?;
        disk::sync_dir(self.vfs, self.dir)
    }

    /// Replaces `meta.json` durably. The temporary file lies in `migrating/`, which goes in the end.
    fn replace_meta(&self, bytes: &[u8]) -> Result<()> {
        let temp = self.vfs.temp_path(&self.mark());
        write_synced(self.vfs, &temp, bytes)?;
        disk::rename(self.vfs, &temp, &self.dir.join(META))?;
        self.sync(&[self.dir, &self.mark()])
    }

    fn json(&self, path: &Path) -> Result<Value> {
        let bytes = self.read_meta(path)?;
        serde_json::from_slice(&bytes).map_err(|e| corrupt(path, e))
    }

    fn read_meta(&self, path: &Path) -> Result<Vec<u8>> {
        disk::read(self.vfs, path, META_MAX)?.map_err(|detail| corrupt(path, detail))
    }

    fn is_dir(&self, path: &Path) -> Result<bool> {
        Ok(disk::kind(self.vfs, path)? == Some(Kind::Dir))
    }
}

/// The new store's `meta.json` with the fields 0.12 reads, so that 0.12 works until it is stopped.
fn prepared_meta(old: Value, new: &Value) -> Value {
    let mut meta = new.clone();
    if let (Some(meta), Value::Object(old)) = (meta.as_object_mut(), old) {
        for (key, value) in old {
            if matches!(key.as_str(), "counters" | "default_producer") {
                meta.insert(key, value);
            }
        }
        meta.insert("migration".to_owned(), "prepared".into());
    }
    meta
}

fn corrupt(path: &Path, detail: impl std::fmt::Display) -> StoreError {
    StoreError::CorruptFile { path: path.to_owned(), offset_bytes: 0, detail: detail.to_string() }
}
