//! Making a store: built where nobody looks, made durable once, shown with one rename (docs/STORAGE.md, "A new store").

use crate::layout::{CACHE, GITIGNORE, GITIGNORE_TEXT, LOCK, META, META_TEXT, PACKS, check, close_to_older};
use crate::legacy::{STOPPERS, remove_tree};
use crate::packs::FIRST_PACK;
use crate::vfs::Vfs;
use crate::vfs::unseen::Unseen;
use crate::{Result, Store, StoreError, refs};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Added to the name of a new store while it is built beside its place.
const BESIDE: &str = "-init";
/// Where it is built when its place is taken by a directory that holds other things.
const WITHIN: &str = "init";

/// Creates a store in `dir`, with what `fill` puts into it. What else lies in `dir` stays.
///
/// 1. Directories above that are absent are made and synced.
/// 2. Everything is written to a directory of its own: beside `dir`, or in it if that exists.
/// 3. Files with content and directories with entries are synced, each once. `.gitignore` and what stops older
///    programs are not: writers make them anew.
/// 4. The directory is renamed to `dir` and the one above synced; or its parts are renamed into `dir`, which is synced,
///    and then [`META`] is, which makes it a store, and `dir` is synced again.
///
/// # Errors
/// `AlreadyExists`, `Legacy`, `Io`, and those of `fill`; no store is there then.
pub(crate) fn create<E: From<StoreError>>(
    disk: &Arc<dyn Vfs>,
    dir: &Path,
    fill: impl FnOnce(&Store) -> Result<(), E>,
) -> Result<(), E> {
    let vfs = disk.as_ref();
    check_absent(vfs, dir)?;
    create_above(vfs, dir)?;
    let place = Place::of(vfs, dir)?;
    let lock = place.lock();
    // Of several that create it at once, one does and the others find it done.
    let _guard = vfs.lock(&lock).map_err(StoreError::io("lock", &lock))?;
    let done = (|| {
        check_absent(vfs, dir)?;
        place.clear(vfs)?;
        build(disk, &place.stage, fill)?;
        Ok(place.show(vfs)?)
    })();
    if done.is_err() {
        // Best effort: what stays is cleared by the next attempt.
        let _ = remove_tree(vfs, &place.stage);
    }
    done
}

fn check_absent(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    match check(vfs, dir) {
        Ok(()) => Err(StoreError::AlreadyExists { path: dir.into() }),
        Err(StoreError::NotARepository { .. }) => Ok(()),
        Err(other) => Err(other),
    }
}

/// Step 1. A loss of power must take none of them away later.
fn create_above(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let Some(above) = dir.parent() else { return Ok(()) };
    let mut absent = Vec::new();
    for parent in above.ancestors() {
        if vfs.stat(parent).map_err(StoreError::io("examine", parent))?.is_some() {
            break;
        }
        absent.push(parent);
    }
    vfs.create_dir_all(above).map_err(StoreError::io("create", above))?;
    for parent in absent.iter().filter_map(|path| path.parent()) {
        vfs.sync_dir(parent).map_err(StoreError::io("sync", parent))?;
    }
    Ok(())
}

/// Where a store is built and where it is to stand.
struct Place<'a> {
    dir: &'a Path,
    stage: PathBuf,
    /// Whether `dir` was there before.
    within: bool,
}

impl<'a> Place<'a> {
    fn of(vfs: &dyn Vfs, dir: &'a Path) -> Result<Place<'a>> {
        let within = vfs.stat_raw(dir).map_err(StoreError::io("examine", dir))?.is_some();
        let stage = if within {
            dir.join(WITHIN)
        } else {
            let mut name = dir.file_name().map_or_else(OsString::new, OsString::from);
            name.push(BESIDE);
            dir.with_file_name(name)
        };
        vfs.create_dir_all(&stage).map_err(StoreError::io("create", &stage))?;
        Ok(Place { dir, stage, within })
    }

    fn lock(&self) -> PathBuf {
        if self.within { self.dir.join(LOCK) } else { self.stage.join(LOCK) }
    }

    /// Removes what an attempt left that was stopped. The lock is held, and no store is there.
    fn clear(&self, vfs: &dyn Vfs) -> Result<()> {
        for entry in vfs.list_raw(&self.stage).map_err(StoreError::io("list", &self.stage))? {
            if self.within || entry.name != LOCK {
                remove_tree(vfs, &self.stage.join(entry.name))?;
            }
        }
        if self.within {
            for part in [FIRST_PACK, refs::DIR] {
                remove_tree(vfs, &self.dir.join(part))?;
            }
        }
        Ok(())
    }

    /// Step 4.
    fn show(&self, vfs: &dyn Vfs) -> Result<()> {
        match self.within {
            true => self.move_parts(vfs),
            false => self.rename(vfs),
        }
    }

    fn rename(&self, vfs: &dyn Vfs) -> Result<()> {
        let above = self.dir.parent().unwrap_or(self.dir);
        vfs.rename(&self.stage, self.dir).map_err(StoreError::io("rename", &self.stage))?;
        vfs.sync_dir(above).map_err(|error| {
            // Nobody was told of it.
            let _ = vfs.rename(self.dir, &self.stage);
            StoreError::io("sync", above)(error)
        })
    }

    fn move_parts(&self, vfs: &dyn Vfs) -> Result<()> {
        close_to_older(vfs, self.dir)?;
        for part in [PACKS, CACHE, refs::DIR, FIRST_PACK, GITIGNORE] {
            let (from, to) = (self.stage.join(part), self.dir.join(part));
            let stands = |path: &Path| {
                vfs.stat_raw(path).map(|found| found.is_some()).map_err(StoreError::io("examine", path))
            };
            if stands(&from)? && !stands(&to)? {
                vfs.rename(&from, &to).map_err(StoreError::io("rename", &from))?;
            }
        }
        // A rename is durable once both directories are.
        let sync = || {
            let dirs = [self.stage.as_path(), self.dir];
            dirs.into_iter().try_for_each(|dir| vfs.sync_dir(dir).map_err(StoreError::io("sync", dir)))
        };
        sync()?;
        let (from, meta) = (self.stage.join(META), self.dir.join(META));
        vfs.rename(&from, &meta).map_err(StoreError::io("rename", &from))?;
        if let Err(error) = sync() {
            let _ = vfs.rename(&meta, &from);
            return Err(error);
        }
        // The store stands; what is left of the other directory harms nobody.
        let _ = remove_tree(vfs, &self.stage);
        Ok(())
    }
}

/// Steps 2 and 3.
fn build<E: From<StoreError>>(
    disk: &Arc<dyn Vfs>,
    stage: &Path,
    fill: impl FnOnce(&Store) -> Result<(), E>,
) -> Result<(), E> {
    let unseen: Arc<dyn Vfs> = Arc::new(Unseen(Arc::clone(disk)));
    let vfs = unseen.as_ref();
    close_to_older(vfs, stage)?;
    for part in [PACKS, CACHE] {
        let path = stage.join(part);
        vfs.create_dir_all(&path).map_err(StoreError::io("create", &path))?;
    }
    write(vfs, &stage.join(GITIGNORE), GITIGNORE_TEXT)?;
    write(vfs, &stage.join(META), META_TEXT)?;
    refs::init(&unseen, stage)?;
    fill(&Store::open_unseen(Arc::clone(&unseen), stage)?)?;
    Ok(sync_all(disk.as_ref(), stage)?)
}

fn write(vfs: &dyn Vfs, path: &Path, text: &str) -> Result<()> {
    let mut file = vfs.create_new(path).map_err(StoreError::io("create", path))?;
    file.append(text.as_bytes()).map_err(StoreError::io("write", path))
}

/// Step 3, deepest first.
fn sync_all(vfs: &dyn Vfs, stage: &Path) -> Result<()> {
    let mut dirs = vec![stage.to_owned()];
    let mut at = 0;
    while let Some(dir) = dirs.get(at).cloned() {
        at += 1;
        let mut held = false;
        for entry in vfs.list(&dir).map_err(StoreError::io("list", &dir))? {
            let path = dir.join(&entry.name);
            let derived =
                dir == stage && (entry.name == GITIGNORE || STOPPERS.contains(&entry.name.as_str()));
            // What packs a lock was taken for is not there yet.
            held |= entry.is_dir || entry.name != LOCK;
            if entry.is_dir {
                dirs.push(path);
            } else if entry.size_bytes > 0 && !derived {
                let mut file = vfs.open_append(&path).map_err(StoreError::io("open", &path))?;
                file.sync().map_err(StoreError::io("sync", &path))?;
            }
        }
        if !held {
            dirs.remove(at - 1);
            at -= 1;
        }
    }
    for dir in dirs.iter().rev() {
        vfs.sync_dir(dir).map_err(StoreError::io("sync", dir))?;
    }
    Ok(())
}
