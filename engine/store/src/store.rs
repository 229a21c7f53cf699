//! The store: one `.gemel` directory with its packs, refs and caches.

use crate::packs::{Bulk, PACK_SUFFIX, PackSet, Settled, Writer, maintain, pack_path, recorded};
use crate::vfs::{FileBytes, Vfs};
use crate::{Refs, Result, StoreError, Transaction, refs};
use crate::{create, layout};
use gemel_object::{Family, Gid};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// An opened `.gemel` directory. Cheap to clone, safe to share between threads.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    packs_dir: PathBuf,
    set: RwLock<Option<Arc<PackSet>>>,
    settled: Arc<Settled>,
    /// Whether the store is being created, where nobody else looks.
    unseen: bool,
}

/// A pack that ends before its watermark.
#[derive(Clone, Debug)]
pub(crate) struct Behind {
    pub(crate) path: PathBuf,
    pub(crate) end_bytes: u64,
    pub(crate) acknowledged_bytes: u64,
}

impl Store {
    /// Creates an empty store in `dir` (the `.gemel` directory; created if absent). What else lies there stays.
    ///
    /// # Errors
    /// `AlreadyExists`, `Legacy`, `Io`.
    pub fn init(vfs: Arc<dyn Vfs>, dir: &Path) -> Result<Store> {
        Store::init_with(vfs, dir, |_| Ok(()))
    }

    /// As [`Store::init`], with what `fill` writes to it: one session of a few objects and one small ref transaction. The
    /// store and its first content become visible and durable at once.
    ///
    /// # Errors
    /// As [`Store::init`], and those of `fill`; no store is there then.
    pub fn init_with<E: From<StoreError>>(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        fill: impl FnOnce(&Store) -> Result<(), E>,
    ) -> Result<Store, E> {
        create::create(&vfs, dir, fill)?;
        Ok(Store::open(vfs, dir)?)
    }

    /// Opens the store in `dir`. Packs and refs are opened when first asked for.
    ///
    /// # Errors
    /// `NotARepository`, `Legacy`, `UnknownVersion`, `CorruptFile`, `Io`.
    pub fn open(vfs: Arc<dyn Vfs>, dir: &Path) -> Result<Store> {
        Store::open_as(vfs, dir, false)
    }

    /// Opens a store that is being created.
    pub(crate) fn open_unseen(vfs: Arc<dyn Vfs>, dir: &Path) -> Result<Store> {
        Store::open_as(vfs, dir, true)
    }

    fn open_as(vfs: Arc<dyn Vfs>, dir: &Path, unseen: bool) -> Result<Store> {
        layout::check(vfs.as_ref(), dir)?;
        let packs_dir = dir.join(layout::PACKS);
        let (dir, set) = (dir.to_owned(), RwLock::new(None));
        let inner = Inner { vfs, dir, packs_dir, set, settled: Arc::default(), unseen };
        Ok(Store { inner: Arc::new(inner) })
    }

    pub(crate) fn is_unseen(&self) -> bool {
        self.inner.unseen
    }

    /// The `.gemel` directory.
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// The disk.
    pub fn vfs(&self) -> &Arc<dyn Vfs> {
        &self.inner.vfs
    }

    /// Where packs lie.
    pub(crate) fn packs_dir(&self) -> &Path {
        &self.inner.packs_dir
    }

    fn pack_path(&self, number: u64) -> PathBuf {
        pack_path(&self.inner.packs_dir, number, PACK_SUFFIX)
    }

    /// The packs as last seen.
    pub(crate) fn set(&self) -> Result<Arc<PackSet>> {
        if let Some(set) = self.inner.set.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            return Ok(set.clone());
        }
        self.refresh()
    }

    /// The packs as they are now; opens only what has changed.
    pub(crate) fn refresh(&self) -> Result<Arc<PackSet>> {
        let mut slot = self.inner.set.write().unwrap_or_else(PoisonError::into_inner);
        let before = slot.clone().unwrap_or_default();
        let set = Arc::new(PackSet::load(self.inner.vfs.as_ref(), &self.inner.packs_dir, &before)?);
        *slot = Some(set.clone());
        Ok(set)
    }

    /// The packs, looked at again if the directory has changed.
    pub(crate) fn fresh_set(&self) -> Result<Arc<PackSet>> {
        let set = self.set()?;
        if set.is_stale(self.inner.vfs.as_ref(), &self.inner.packs_dir)? { self.refresh() } else { Ok(set) }
    }

    /// Asks the packs as last seen; if the answer is that something is absent or damaged, once more when they have
    /// changed since, and once more without indexes that turn out to be damaged (DER-06, STO-05).
    fn ask<T>(&self, ask: impl Fn(&PackSet) -> Result<T>) -> Result<T> {
        let doubtful = |error: &StoreError| {
            use StoreError::{CorruptFile, CorruptObject, NotFound};
            matches!(error, NotFound { .. } | CorruptFile { .. } | CorruptObject { .. })
        };
        let mut set = self.set()?;
        let mut done = ask(&set);
        if done.as_ref().is_err_and(doubtful)
            && set.is_stale(self.inner.vfs.as_ref(), &self.inner.packs_dir)?
        {
            set = self.refresh()?;
            done = ask(&set);
        }
        if done.as_ref().is_err_and(doubtful)
            && let Some(trusted) = set.distrusting(self.inner.vfs.as_ref())?
        {
            set = Arc::new(trusted);
            *self.inner.set.write().unwrap_or_else(PoisonError::into_inner) = Some(set.clone());
            done = ask(&set);
        }
        done
    }

    /// As [`Store::ask`], for what is expected to be stored: an absent object may have been in a pack that has lost its
    /// end.
    fn demand<T>(&self, ask: impl Fn(&PackSet) -> Result<T>) -> Result<T> {
        match self.ask(ask) {
            Err(StoreError::NotFound { id }) => Err(match self.behind()?.first() {
                Some(behind) => StoreError::PackBehind {
                    id,
                    path: behind.path.clone(),
                    end_bytes: behind.end_bytes,
                    acknowledged_bytes: behind.acknowledged_bytes,
                },
                None => StoreError::NotFound { id },
            }),
            answer => answer,
        }
    }

    /// Packs that end before their watermarks. Those read in between by writers and repacks are not taken for such:
    /// the marks are read before the packs, and again behind them.
    pub(crate) fn behind(&self) -> Result<Vec<Behind>> {
        let before = recorded(&self.refs()?)?;
        let set = self.fresh_set()?;
        let end =
            |number: u64| set.packs.iter().find(|pack| pack.number == number).map_or(0, |pack| pack.end());
        let is_short = |number: &u64, acknowledged: &u64| end(*number) < *acknowledged;
        if !before.iter().any(|(number, acknowledged)| is_short(number, acknowledged)) {
            return Ok(Vec::new());
        }
        let now = recorded(&self.refs()?)?;
        let short =
            before.into_iter().filter(|(number, at)| is_short(number, at) && now.contains_key(number));
        Ok(short
            .map(|(number, acknowledged_bytes)| Behind {
                path: self.pack_path(number),
                end_bytes: end(number),
                acknowledged_bytes,
            })
            .collect())
    }

    /// The whole envelope of an object, re-hashed (STO-01, SEC-02).
    ///
    /// # Errors
    /// `NotFound`, `PackBehind`, `CorruptObject`, `CorruptFile`, `Io`.
    pub fn read(&self, id: &Gid) -> Result<Vec<u8>> {
        self.demand(|set| set.read(id))
    }

    /// Finds many objects, to be read in the order in which they lie.
    ///
    /// # Errors
    /// As [`Store::read`] for one that is not stored.
    pub fn bulk(&self, ids: &[Gid]) -> Result<Bulk> {
        Bulk::new(self, self.fresh_set()?, ids)
    }

    /// Whether an object is stored.
    ///
    /// # Errors
    /// `Io`, `UnknownVersion`.
    pub fn contains(&self, id: &Gid) -> Result<bool> {
        let holds = |set: &PackSet| match set.locate(id.as_bytes()) {
            Some(_) => Ok(()),
            None => Err(StoreError::NotFound { id: *id }),
        };
        match self.ask(holds) {
            Ok(()) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The first of some objects that no ref may point to: it is not stored before a watermark (STO-07). A transaction
    /// asks once, when its sessions have committed and other writers wait for the lock.
    fn first_not_durable(&self, ids: &[Gid]) -> Result<Option<Gid>> {
        if ids.is_empty() {
            return Ok(None);
        }
        let (settled, set) = (self.settled()?, self.fresh_set()?);
        Ok(set.first_not_settled(ids, &settled))
    }

    /// How far each pack is known to be durable: what refs say, and what this process has committed since.
    pub(crate) fn settled(&self) -> Result<BTreeMap<u64, u64>> {
        self.inner.settled.with(&self.refs()?)
    }

    /// Notes that a pack is durable up to `end`.
    pub(crate) fn settle(&self, number: u64, end: u64) {
        self.inner.settled.note(number, end);
    }

    /// Forgets how far a pack is durable that another has replaced.
    pub(crate) fn forget(&self, number: u64) {
        self.inner.settled.forget(number);
    }

    /// Whether the file of a pack is there. A disk that does not answer counts as yes.
    fn pack_stands(&self, number: u64) -> bool {
        self.inner.vfs.stat(&self.pack_path(number)).map_or(true, |found| found.is_some())
    }

    /// Length of the whole envelope in bytes; blobs are not inflated for it.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn len_bytes(&self, id: &Gid) -> Result<u64> {
        self.demand(|set| set.len_bytes(id))
    }

    /// Writes the body of a blob to `out` in bounded memory; returns its length. The hash is known only at the end:
    /// on error `out` must be thrown away.
    ///
    /// # Errors
    /// As [`Store::read`]; `Source` when `out` fails.
    pub fn stream_blob(&self, id: &Gid, out: &mut dyn Write) -> Result<u64> {
        self.demand(|set| set.located(id).map(drop))?;
        let set = self.set()?;
        set.stream_blob(self.inner.vfs.as_ref(), id, out)
    }

    /// Identities that start with `hex` (lowercase, 0 to 64 digits), ascending, at most `limit`.
    ///
    /// # Errors
    /// `BadPrefix`, `Io`, `UnknownVersion`.
    pub fn matching(&self, family: Option<Family>, hex: &str, limit: usize) -> Result<Vec<Gid>> {
        self.fresh_set()?.matching(family, hex, limit)
    }

    /// Writes the index of every pack whose index is missing or damaged, of all packs if `all`. Returns how many were
    /// written; a pack at which a session works is left to it.
    ///
    /// # Errors
    /// `Io`, `UnknownVersion`.
    pub fn rebuild_indexes(&self, all: bool) -> Result<usize> {
        maintain::rebuild_indexes(self, all)
    }

    /// Removes what stopped sessions left in the packs directory and no session works at. Returns the paths.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove_leftovers(&self) -> Result<Vec<PathBuf>> {
        maintain::remove_leftovers(self)
    }

    /// Every identity stored, ascending, each once.
    ///
    /// # Errors
    /// `Io`, `UnknownVersion`.
    pub fn ids(&self) -> Result<Vec<Gid>> {
        let set = self.fresh_set()?;
        let keys = set.packs.iter().flat_map(|pack| pack.keys());
        let mut ids: Vec<Gid> = keys.filter_map(|(key, _)| Gid::from_bytes(&key)).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Starts a writer session on a pack of its own.
    ///
    /// # Errors
    /// `Io`, `UnknownVersion`.
    pub fn writer(&self) -> Result<Writer<'_>> {
        Writer::new(self)
    }

    /// The refs at this moment.
    ///
    /// # Errors
    /// `CorruptFile`, `UnknownVersion`, `Io`.
    pub fn refs(&self) -> Result<Refs> {
        refs::open(&self.inner.vfs, &self.inner.dir)
    }

    /// Takes the exclusive lock and starts a ref transaction.
    ///
    /// # Errors
    /// As [`Store::refs`].
    pub fn transaction(&self) -> Result<Transaction> {
        let lock = self.inner.dir.join(layout::LOCK);
        let guard = self.inner.vfs.lock(&lock).map_err(StoreError::io("lock", &lock))?;
        layout::close_to_older(self.inner.vfs.as_ref(), &self.inner.dir)?;
        layout::write_gitignore(self.inner.vfs.as_ref(), &self.inner.dir)?;
        let store = self.clone();
        let durable = Box::new(move |ids: &[Gid]| store.first_not_durable(ids));
        let settled = self.inner.settled.clone();
        let transaction = refs::begin(&self.inner.vfs, &self.inner.dir, guard, durable)?;
        let store = self.clone();
        let stands = move |number| store.pack_stands(number);
        let transaction = transaction.settling(Box::new(move |refs| settled.records(refs, &stands)));
        Ok(if self.inner.unseen { transaction.into_list() } else { transaction })
    }

    /// A derived file, if present: `name` is a plain file name such as `stat-default`.
    pub fn cache_read(&self, name: &str) -> Option<FileBytes> {
        self.inner.vfs.map(&self.inner.dir.join(layout::CACHE).join(name)).ok()
    }

    /// Replaces a derived file atomically, without sync. Failure is returned and may be ignored.
    ///
    /// # Errors
    /// `Io`.
    pub fn cache_write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let dir = self.inner.dir.join(layout::CACHE);
        self.inner.vfs.create_dir_all(&dir).map_err(StoreError::io("create", &dir))?;
        let (temp, path) = (self.inner.vfs.temp_path(&dir), dir.join(name));
        let written = (|| {
            let mut file = self.inner.vfs.create_new(&temp).map_err(StoreError::io("create", &temp))?;
            file.append(bytes).map_err(StoreError::io("write", &temp))?;
            self.inner.vfs.rename(&temp, &path).map_err(StoreError::io("rename", &temp))
        })();
        if written.is_err() {
            // Best effort: the name is not used again.
            let _ = self.inner.vfs.remove_file(&temp);
        }
        written
    }
}
