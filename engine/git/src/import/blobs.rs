//! Files: every version of a path in a row, newest first, each on the one written before it.

use super::ImportOptions;
use super::discover::{BlobUse, Delta, Found};
use super::family::{Family, families};
use super::ids::Made;
use super::keep::Kept;
use super::row::{Held, Newest, Step};
use super::select::Commit;
use super::source::{Reader, Source};
use crate::object::ObjectKind;
use crate::{GitError, Result};
use gemel_object::{Limits, blob_envelope};
use gemel_repo::facts::Progress;
use gemel_store::{Prepared, Writer};
use rayon::prelude::*;
use std::collections::HashMap;

/// What the files of a run need.
pub(crate) struct Blobs<'a> {
    pub(crate) source: &'a Source,
    pub(crate) writer: &'a Writer<'a>,
    pub(crate) commits: &'a [Commit],
    pub(crate) options: &'a ImportOptions,
    pub(crate) limits: &'a Limits,
    pub(crate) progress: &'a dyn Progress,
}

/// Families that one thread takes at a time.
const AT_ONCE: usize = 64;

/// The families of all files; those whose newest paths end alike stand together, and come in portions.
fn portions(found: &Found) -> Vec<Vec<Family>> {
    let place: HashMap<u32, u32> = found.blobs.iter().zip(0..).map(|(seen, at)| (seen.blob, at)).collect();
    let empty = found.ids.get(&gix::ObjectId::empty_blob(found.format));
    let pair = |delta: &Delta| {
        let (before, after) = (delta.before?.1, delta.after?.1);
        let far = before == after || Some(before) == empty || Some(after) == empty;
        if far { None } else { Some((*place.get(&before)?, *place.get(&after)?)) }
    };
    let pairs: Vec<(u32, u32)> = found.deltas.iter().rev().flatten().filter_map(pair).collect();
    let families = families(found.blobs.len(), &pairs);
    let path = |family: &Family| {
        family.first().map_or("", |member| found.paths.text(found.blobs[member.at as usize].path))
    };
    let mut named: Vec<(Vec<&str>, Family)> =
        families.into_iter().map(|family| (path(&family).rsplit('/').collect(), family)).collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let mut portions: Vec<Vec<Family>> = Vec::new();
    let mut last = None;
    for (path, family) in named {
        let name = path.first().copied();
        match portions.last_mut() {
            Some(portion) if last == name && portion.len() < AT_ONCE => portion.push(family),
            _ => portions.push(vec![family]),
        }
        last = name;
    }
    portions
}

/// A file that no state holds.
#[derive(Debug)]
pub(crate) struct LostFile {
    pub(crate) blob: u32,
    /// Its length if it is over the object limit; `None` when it is missing.
    pub(crate) oversize: Option<u64>,
}

impl Blobs<'_> {
    /// Writes every file that was found and notes what became of each. Answers those that no state can hold.
    ///
    /// # Errors
    /// `Missing`, `Damaged`, `Oversize`; those of the store.
    pub(crate) fn write(&self, found: &mut Found, kept: &mut Kept) -> Result<Vec<LostFile>> {
        let done: Vec<Vec<(u32, Made, Option<LostFile>)>> = portions(found)
            .par_iter()
            .map_init(|| self.source.reader(), |reader, portion| self.portion(found, reader, portion))
            .collect::<Result<_>>()?;
        let mut lost = Vec::new();
        for (blob, made, file) in done.into_iter().flatten() {
            found.ids.set(blob, made);
            lost.extend(file);
        }
        for file in &lost {
            if file.oversize.is_some() {
                kept.file(&mut self.source.reader(), found.ids.name(file.blob), (self.writer, self.limits))?;
            }
        }
        Ok(lost)
    }

    /// Writes families whose newest paths end in the same name.
    fn portion(
        &self,
        found: &Found,
        reader: &mut Reader,
        portion: &[Family],
    ) -> Result<Vec<(u32, Made, Option<LostFile>)>> {
        let (mut made, mut newest) = (Vec::new(), Newest::default());
        for family in portion {
            let mut held = Held::<Step>::default();
            for (place, member) in (0..).zip(family) {
                self.progress.advance(1);
                let seen = &found.blobs[member.at as usize];
                let base = member.base.and_then(|base| held.take(base));
                if found.ids.made(seen.blob) != Made::Nothing {
                    continue;
                }
                let Some(object) = self.read(found, reader, seen, &mut made)? else { continue };
                made.push((seen.blob, Made::Object(object.id(), false), None));
                let step: Step = match base {
                    Some(base) => base.next(self.writer, object)?,
                    None => newest.begin(self.writer, object)?,
                };
                held.keep(place, step, member.standing);
            }
        }
        Ok(made)
    }

    /// The file as an object, or the note that no state holds it.
    fn read(
        &self,
        found: &Found,
        reader: &mut Reader,
        seen: &BlobUse,
        made: &mut Vec<(u32, Made, Option<LostFile>)>,
    ) -> Result<Option<Prepared>> {
        let id = found.ids.name(seen.blob);
        let commit = || self.commits.get(seen.commit as usize).map_or(String::new(), |c| c.id.to_string());
        let path = || found.paths.text(seen.path).to_owned();
        let at = || format!("file {} of commit {}", path(), commit());
        let mut lose = |oversize: Option<u64>| {
            made.push((seen.blob, Made::Lost, Some(LostFile { blob: seen.blob, oversize })));
            Ok(None)
        };
        match reader.header(&id)? {
            None if self.options.allow_missing => return lose(None),
            None => return Err(GitError::Missing { oid: id.to_string(), at: at() }),
            // The envelope adds a few bytes to the body.
            Some((_, len_bytes)) if len_bytes.saturating_add(16) > self.limits.max_object_bytes => {
                if self.options.keep_oversize {
                    return lose(Some(len_bytes));
                }
                let limit_bytes = self.limits.max_object_bytes;
                return Err(GitError::Oversize { path: path(), commit: commit(), len_bytes, limit_bytes });
            }
            Some(_) => {}
        }
        let body = reader.body(&id, ObjectKind::Blob, &at)?;
        let encoded = blob_envelope(body, self.limits).map_err(|e| GitError::Unfit {
            what: "a file",
            commit: commit(),
            detail: e.to_string(),
        })?;
        Ok(Some(Prepared::new(encoded.id, encoded.bytes)?))
    }
}
