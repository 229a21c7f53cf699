//! Writing files and links. Each is made under a name of its own and then renamed, so that nobody sees half of one.

use super::free_name;
use super::plan::{Step, body, by_dir};
use super::run::{Run, base_name};
use crate::content::disk::{self, Dir, Stat};
use crate::content::error::{ContentError, Result};
use crate::content::read::STREAM_OVER;
use gemel_object::Mode;
use gemel_store::StoreError;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Write};

/// A file or link that was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// Its position in the plan.
    pub(super) position: usize,
    /// What it is now.
    pub(super) stat: Stat,
}

/// Files of one directory that one thread writes in a row.
const BATCH: usize = 64;

impl Run<'_> {
    /// Writes everything, on all cores.
    pub(super) fn write_files(&self) -> Result<Vec<Written>> {
        let groups = by_dir(self.plan.write.iter().map(String::as_str));
        let batches: Vec<(&str, &[usize])> = groups
            .iter()
            .flat_map(|(dir, group)| group.chunks(BATCH).map(move |batch| (*dir, batch)))
            .collect();
        let written: Vec<Vec<Written>> =
            batches.par_iter().map(|(dir, batch)| self.write_batch(dir, batch)).collect::<Result<_>>()?;
        Ok(written.into_iter().flatten().collect())
    }

    fn write_batch(&self, dir: &str, batch: &[usize]) -> Result<Vec<Written>> {
        let Some(dir) = self.open(dir)? else { return Err(ContentError::Changed { path: dir.to_owned() }) };
        batch
            .iter()
            .map(|&position| {
                let stat = self.write_one(&dir, &self.plan.write[position], &self.plan.steps[position])?;
                self.request.progress.advance(1);
                Ok(Written { position, stat })
            })
            .collect()
    }

    fn write_one(&self, dir: &Dir, path: &str, step: &Step) -> Result<Stat> {
        if step.mode == Mode::Link {
            return self.write_link(dir, path, step);
        }
        let executable = step.mode == Mode::Executable;
        let made = free_name(|name| dir.create(name, executable));
        let (temp, mut file) = made.map_err(|error| self.failed("create", path, error))?;
        let placed = self.fill(&mut file, path, step).and_then(|()| {
            if self.settles_modes {
                disk::settle_mode(&file, executable)
                    .map_err(|error| self.failed("set mode of", path, error))?;
            }
            self.place(dir, &temp, path, step)
        });
        if placed.is_err() {
            let _ = dir.remove_file(&temp);
        }
        placed?;
        // Only now: renaming changes the time of change.
        disk::stat_file(&file).map_err(|error| self.failed("stat", path, error))
    }

    fn fill(&self, file: &mut File, path: &str, step: &Step) -> Result<()> {
        if self.store.len_bytes(&step.blob)? > STREAM_OVER {
            return match self.store.stream_blob(&step.blob, file) {
                Err(StoreError::Source { source }) => Err(self.failed("write", path, source)),
                result => Ok(result.map(|_| ())?),
            };
        }
        let envelope = self.store.read(&step.blob)?;
        file.write_all(body(&step.blob, &envelope)?).map_err(|error| self.failed("write", path, error))
    }

    fn write_link(&self, dir: &Dir, path: &str, step: &Step) -> Result<Stat> {
        let envelope = self.store.read(&step.blob)?;
        let target = body(&step.blob, &envelope)?;
        let made = free_name(|name| dir.symlink(target, name));
        let (temp, ()) = made.map_err(|error| self.failed("create", path, error))?;
        let placed = self.place(dir, &temp, path, step);
        if placed.is_err() {
            let _ = dir.remove_file(&temp);
        }
        placed?;
        let stat = dir.stat(base_name(path).as_bytes()).map_err(|error| self.failed("stat", path, error))?;
        stat.ok_or_else(|| ContentError::Changed { path: path.to_owned() })
    }

    /// Gives a finished file its name, if nothing has changed there since the plan was made.
    fn place(&self, dir: &Dir, temp: &[u8], path: &str, step: &Step) -> Result<()> {
        let name = base_name(path).as_bytes();
        let now = match &step.replaces {
            Some(_) => dir.stat(name).map_err(|error| self.failed("stat", path, error))?,
            None => match dir.rename_new(temp, name) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    dir.stat(name).map_err(|error| self.failed("stat", path, error))?
                }
                Err(error) => return Err(self.failed("rename to", path, error)),
            },
        };
        if let Some(now) = now {
            self.unchanged(path, step.replaces.as_ref(), &now)?;
        }
        dir.rename_over(temp, name).map_err(|error| self.failed("rename to", path, error))
    }
}
