//! Writing what was found into a new store, and reading it back.

use super::objects::{self, Loose, Objects, STREAM_BYTES};
use super::survey::Survey;
use super::{Progress, Step, disk};
use crate::vfs::Vfs;
use crate::{NewObject, RefValue, Result, Store, StoreError, WriteReport, Writer};
use gemel_object::{Family, Gid, Limits};
use rayon::prelude::*;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blobs up to this size are samples for a dictionary.
const SAMPLE_BYTES: u64 = 16 << 10;
/// Samples read.
const MAX_SAMPLES: usize = 2000;

/// One migration's copying.
pub(super) struct Build<'a> {
    pub(super) vfs: &'a Arc<dyn Vfs>,
    /// The 0.12 store.
    pub(super) dir: &'a Path,
    pub(super) survey: &'a Survey,
    pub(super) progress: &'a dyn Progress,
}

impl Build<'_> {
    /// Creates the store `new_dir` and fills it. Every object is hashed again as it is copied.
    ///
    /// # Errors
    /// `WrongIdentity` when a file changed since it was verified; whatever the store refuses.
    pub(super) fn write(&self, new_dir: &Path, now_ms: i64) -> Result<WriteReport> {
        let store = Store::init(Arc::clone(self.vfs), new_dir)?;
        let writer = store.writer()?;
        let objects = &self.survey.objects;
        let (blobs, others): (Vec<usize>, Vec<usize>) = (0..objects.all.len())
            .filter(|at| objects.all[*at].id.is_some())
            .partition(|at| objects.all[*at].id.is_some_and(|id| id.family() == Family::Blob));
        let total = (blobs.len() + others.len()) as u64;
        let done = AtomicU64::new(0);
        let copied = || self.progress.at(Step::Write, done.fetch_add(1, Ordering::Relaxed) + 1, total);
        let blob_bytes = blobs.iter().map(|at| objects.all[*at].size_bytes).sum();
        writer.expect_bulk(blobs.len() as u64, blob_bytes, &self.samples(&blobs)?)?;
        blobs.par_iter().try_for_each(|at| {
            self.copy(&writer, &objects.all[*at])?;
            copied();
            Ok::<(), StoreError>(())
        })?;
        for at in references_first(objects, &others) {
            self.copy(&writer, &objects.all[at])?;
            copied();
        }
        let report = writer.commit()?;
        let mut transaction = store.transaction()?;
        for (name, id) in &self.survey.refs {
            transaction.set(name.clone(), *id);
        }
        for id in &self.survey.kept {
            transaction.set(keep_name(id), *id);
        }
        for (name, value) in &self.survey.records.values {
            match value {
                RefValue::Id(id) => transaction.set(name.clone(), *id),
                RefValue::Record(bytes) => transaction.set_record(name.clone(), bytes.clone()),
            }
        }
        transaction.commit("migrate", now_ms)?;
        Ok(report)
    }

    /// Opens the new store and compares everything in it with what was found.
    ///
    /// # Errors
    /// `NotFound` or `CorruptObject` for an object, `CorruptRef` for a ref that did not arrive.
    pub(super) fn read_back(&self, new_dir: &Path) -> Result<()> {
        let store = Store::open(Arc::clone(self.vfs), new_dir)?;
        let all = &self.survey.objects.all;
        let total = all.len() as u64;
        let done = AtomicU64::new(0);
        all.par_iter().try_for_each(|loose| {
            if let Some(id) = loose.id {
                if id.family() == Family::Blob && loose.size_bytes >= STREAM_BYTES {
                    store.stream_blob(&id, &mut io::sink())?;
                } else {
                    store.read(&id)?;
                }
            }
            self.progress.at(Step::ReadBack, done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok::<(), StoreError>(())
        })?;
        let refs = store.refs()?;
        let kept = self.survey.kept.iter().map(|id| (keep_name(id), RefValue::Id(*id)));
        let public = self.survey.refs.iter().map(|(name, id)| (name.clone(), RefValue::Id(*id)));
        let local = self.survey.records.values.iter().map(|(name, value)| (name.clone(), value.clone()));
        for (name, expected) in public.chain(kept).chain(local) {
            let found = match expected {
                RefValue::Id(_) => refs.get(&name)?.map(RefValue::Id),
                RefValue::Record(_) => refs.record(&name)?.map(RefValue::Record),
            };
            if found != Some(expected) {
                return Err(StoreError::CorruptRef {
                    name,
                    detail: "did not arrive in the new store".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn copy(&self, writer: &Writer<'_>, loose: &Loose) -> Result<()> {
        let Some(id) = loose.id else { return Ok(()) };
        let path = self.dir.join(loose.path());
        if id.family() == Family::Blob && loose.size_bytes >= STREAM_BYTES {
            return match objects::open_blob(self.vfs.as_ref(), &path)? {
                Ok(Some(mut blob)) => {
                    let (actual, _) = writer.put_blob_stream(blob.header.body_len(), &mut blob.body)?;
                    same(id, actual)
                }
                Ok(None) => Err(changed(&path, "is of another family")),
                Err(detail) => Err(changed(&path, &detail)),
            };
        }
        let bytes = disk::read(self.vfs.as_ref(), &path, Limits::DEFAULT.max_object_bytes)?
            .map_err(|detail| changed(&path, &detail))?;
        same(id, Gid::of_envelope(id.family(), &bytes))?;
        writer.put(NewObject { id, bytes, base: None }).map(drop)
    }

    /// Bodies of small blobs, spread over all of them.
    fn samples(&self, blobs: &[usize]) -> Result<Vec<Vec<u8>>> {
        let all = &self.survey.objects.all;
        let small: Vec<&Loose> =
            blobs.iter().map(|at| &all[*at]).filter(|l| l.size_bytes <= SAMPLE_BYTES).collect();
        let step = small.len().div_ceil(MAX_SAMPLES).max(1);
        let mut samples = Vec::new();
        for loose in small.iter().step_by(step) {
            let path = self.dir.join(loose.path());
            if let Ok(Some(mut blob)) = objects::open_blob(self.vfs.as_ref(), &path)? {
                let mut body = Vec::new();
                blob.body.read_to_end(&mut body).map_err(StoreError::io("read", &path))?;
                samples.push(body);
            }
        }
        Ok(samples)
    }
}

/// The ref that holds an object no other name holds.
fn keep_name(id: &Gid) -> String {
    let text = id.to_string();
    format!("refs/keep/{}", text.replacen('.', "/", 1))
}

fn same(expected: Gid, actual: Gid) -> Result<()> {
    if expected == actual { Ok(()) } else { Err(StoreError::WrongIdentity { id: expected, actual }) }
}

fn changed(path: &Path, detail: &str) -> StoreError {
    let detail = format!("changed since it was verified: {detail}");
    StoreError::CorruptFile { path: path.to_owned(), offset_bytes: 0, detail }
}

/// `chosen` in an order in which every object follows those it refers to. Iterative: chains may be long.
fn references_first(objects: &Objects, chosen: &[usize]) -> Vec<usize> {
    let mut todo = vec![false; objects.all.len()];
    chosen.iter().for_each(|at| todo[*at] = true);
    let mut order = Vec::with_capacity(chosen.len());
    let mut open: Vec<(usize, usize)> = Vec::new();
    for root in chosen {
        if std::mem::take(&mut todo[*root]) {
            open.push((*root, 0));
        }
        while let Some((at, next)) = open.last_mut() {
            let Some(to) = objects.edges[*at].get(*next) else {
                order.push(*at);
                open.pop();
                continue;
            };
            *next += 1;
            let to = *to as usize;
            if std::mem::take(&mut todo[to]) {
                open.push((to, 0));
            }
        }
    }
    order
}
