//! Files: every version of a path in a row, newest first, each on the one written before it.

use super::discover::{BlobUse, Found};
use super::ids::Made;
use super::select::Commit;
use super::source::{Reader, Source};
use super::keep::Kept;
use super::family::{Family, families};
use super::row::{Newest, Step};
use super::ImportOptions;
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

/// A held version; the last to ask for it gets it whole.
fn take(held: &mut HashMap<u32, (Step, u32)>, place: u32) -> Option<Step> {
    let (_, left) = held.get_mut(&place)?;
    *left -= 1;
    if *left == 0 { held.remove(&place).map(|(step, _)| step) } else { held.get(&place).map(|(step, _)| step.clone()) }
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
        let done: Vec<Vec<(u32, Made, Option<LostFile>)>> = families(found)
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
            // Versions that others are still to stand on, by their place.
            let mut held: HashMap<u32, (Step, u32)> = HashMap::new();
            for (place, member) in (0..).zip(family) {
                self.progress.advance(1);
                let base = member.base.and_then(|base| take(&mut held, base));
                if !matches!(found.ids.made(member.seen.blob), Made::Nothing | Made::Lost) {
                    continue;
                }
                let Some(object) = self.read(found, reader, &member.seen, &mut made)? else { continue };
                made.push((member.seen.blob, Made::Object(object.id(), false), None));
                let step = match base {
                    Some(base) => base.next(self.writer, object)?,
                    None => newest.begin(self.writer, object)?,
                };
                if member.standing > 0 {
                    held.insert(place, (step, member.standing));
                }
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
