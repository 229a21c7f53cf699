//! Keeping what was read for the next command.

use crate::Result;
use crate::history::graph::file::{self, FileWriter, GraphFile};
use crate::history::graph::record::{ChangeRecord, EXTRA, NONE, Num, TrajectoryRecord};
use crate::history::graph::{Graph, stored};
use crate::history::nodes;
use crate::history::table::index;
use gemel_object::Gid;
use rayon::prelude::*;
use std::collections::HashSet;

/// Records read from objects before the file is written anew: rewriting it costs a few milliseconds for every 100,000
/// records in it.
const WORTH_KEEPING: usize = 256;

impl Graph<'_> {
    /// Writes the derived file when enough was read that it does not hold. The answer of the command stands already:
    /// a file that cannot be written is no failure.
    pub(crate) fn keep(mut self) {
        if self.changes.len() + self.trajectories.len() < WORTH_KEEPING {
            return;
        }
        self.ensure_file();
        if self.changes.len() + self.trajectories.len() == 0 || self.fill_roots().is_err() {
            return;
        }
        if let Some(bytes) = self.image() {
            let _ = self.store.cache_write(file::NAME, &bytes);
        }
    }

    /// Reads the root trees of the states of new changes: comparing content is what states are looked up for.
    fn fill_roots(&mut self) -> Result<()> {
        let wanted: HashSet<Num> =
            self.changes.values().flatten().flat_map(|r| [r.input, r.result]).collect();
        let file = self.file();
        let known =
            |num: &Num| self.roots.contains_key(num) || file.is_some_and(|file| file.root(*num).is_some());
        let mut open: Vec<(Num, Gid)> = wanted
            .into_iter()
            .filter(|num| !known(num))
            .filter_map(|num| Some((num, self.id(num)?)))
            .collect();
        // Numbers follow the walk, and neighbours in history are neighbours in packs.
        open.sort_unstable();
        let store = self.store;
        let read: Vec<Vec<(Num, Option<Gid>)>> = open
            .par_chunks(1024)
            .map(|part| {
                part.iter().map(|(num, id)| Ok((*num, stored(nodes::root_tree(store, id))?))).collect()
            })
            .collect::<Result<_>>()?;
        let read: Vec<(Num, Option<Gid>)> = read.into_iter().flatten().collect();
        for (num, root) in read {
            let root = root.map(|root| self.intern(&root));
            self.roots.insert(num, root);
        }
        Ok(())
    }

    /// The file with everything known.
    fn image(&self) -> Option<Vec<u8>> {
        let (ids, renumbering) = self.merged();
        let mut writer = FileWriter::new(ids)?;
        let new = |num: Num| renumbering.of(num);
        if let Some(file) = self.file() {
            for state in file.states() {
                if let Some(root) = file.root(state) {
                    writer.set_root(new(state), new(root));
                }
            }
            for num in file.changes() {
                if let Some(record) = file.change(num) {
                    self.copy_change(&mut writer, &renumbering, num, &record);
                }
            }
            for num in file.trajectories() {
                if let Some(record) = file.trajectory(num) {
                    self.copy_trajectory(&mut writer, &renumbering, num, &record);
                }
            }
        }
        for (state, root) in &self.roots {
            if let Some(root) = root {
                writer.set_root(new(*state), new(*root));
            }
        }
        for (num, record) in self.changes.iter().filter_map(|(num, record)| Some((num, record.as_ref()?))) {
            self.copy_change(&mut writer, &renumbering, *num, record);
        }
        for (num, record) in
            self.trajectories.iter().filter_map(|(num, record)| Some((num, record.as_ref()?)))
        {
            self.copy_trajectory(&mut writer, &renumbering, *num, record);
        }
        writer.finish()
    }

    fn copy_change(
        &self,
        writer: &mut FileWriter,
        renumbering: &Renumbering,
        num: Num,
        record: &ChangeRecord,
    ) {
        let new = |num: Num| renumbering.of(num);
        let len = [record.parents, record.claims, record.evidence, record.residuals];
        let lists = self.list(record.list, 0, len.into_iter().fold(0, u32::saturating_add));
        let record = ChangeRecord {
            intent: new(record.intent),
            input: new(record.input),
            result: new(record.result),
            ..*record
        };
        writer.set_change(new(num), record, lists.map(new));
    }

    fn copy_trajectory(
        &self,
        writer: &mut FileWriter,
        renumbering: &Renumbering,
        num: Num,
        record: &TrajectoryRecord,
    ) {
        let new = |num: Num| renumbering.of(num);
        let len = [record.changes, record.evidence, record.residuals];
        let lists = self.list(record.list, 0, len.into_iter().fold(0, u32::saturating_add));
        let record = TrajectoryRecord {
            previous: new(record.previous),
            intent: new(record.intent),
            base: new(record.base),
            ..*record
        };
        writer.set_trajectory(new(num), record, lists.map(new));
    }

    /// All identities ascending, and their new numbers.
    fn merged(&self) -> (Vec<Gid>, Renumbering) {
        let in_file = self.file().map_or(0, GraphFile::len);
        let mut extra: Vec<(Gid, Num)> = self.nums.iter().map(|(id, num)| (*id, *num)).collect();
        extra.sort_unstable();
        let mut renumbering =
            Renumbering { file: Vec::with_capacity(index(in_file)), extra: vec![NONE; self.ids.len()] };
        let mut ids = Vec::with_capacity(index(in_file) + extra.len());
        let mut extra = extra.into_iter().peekable();
        for num in 0..in_file {
            let Some(id) = self.id(num) else {
                renumbering.file.push(NONE);
                continue;
            };
            while let Some((other, at)) = extra.next_if(|(other, _)| *other < id) {
                renumbering.set_extra(at, &ids);
                ids.push(other);
            }
            renumbering.file.push(u32::try_from(ids.len()).unwrap_or(NONE));
            ids.push(id);
        }
        for (id, at) in extra {
            renumbering.set_extra(at, &ids);
            ids.push(id);
        }
        (ids, renumbering)
    }
}

struct Renumbering {
    file: Vec<Num>,
    extra: Vec<Num>,
}

impl Renumbering {
    fn set_extra(&mut self, old: Num, ids: &[Gid]) {
        if let Some(slot) = self.extra.get_mut(index(old.saturating_sub(EXTRA))) {
            *slot = u32::try_from(ids.len()).unwrap_or(NONE);
        }
    }

    fn of(&self, old: Num) -> Num {
        let found = match old.checked_sub(EXTRA) {
            Some(at) => self.extra.get(index(at)),
            None => self.file.get(index(old)),
        };
        found.copied().unwrap_or(NONE)
    }
}
