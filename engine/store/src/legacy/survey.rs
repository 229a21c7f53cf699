//! One look at a whole 0.12 store: everything read and checked, nothing written.

use super::disk::{self, Kind};
use super::finding::Findings;
use super::objects::{self, Objects};
use super::records::{Reader, Records};
use super::refs::{self, RefMap};
use super::switch::{MARK, OLD};
use super::{MigratePlan, Progress};
use crate::vfs::Vfs;
use crate::{RefValue, Result};
use gemel_object::{Family, Gid};
use std::path::Path;

/// Names the new layout uses beside those of the old one.
const NEW_NAMES: [&str; 5] = ["packs", "refdb", "cache", MARK, OLD];

/// All that can be carried over, and what cannot.
pub(super) struct Survey {
    pub(super) objects: Objects,
    pub(super) refs: RefMap,
    /// Objects of knowledge that no ref reaches and no other object names: 0.12 shows them although no name holds
    /// them, so the new store keeps them by `refs/keep/…`.
    pub(super) kept: Vec<Gid>,
    pub(super) records: Records,
    pub(super) findings: Findings,
    /// Something has a name that the new layout needs; it cannot be left out.
    pub(super) blocked: bool,
}

impl Survey {
    /// Looks at the store in `dir`. With `restart`, what an interrupted migration left is not in the way.
    ///
    /// # Errors
    /// `Io` when the disk fails.
    pub(super) fn take(vfs: &dyn Vfs, dir: &Path, restart: bool, progress: &dyn Progress) -> Result<Survey> {
        let mut findings = Findings::default();
        let mut blocked = false;
        for name in NEW_NAMES {
            if !restart && disk::kind(vfs, &dir.join(name))?.is_some() {
                findings.error("in-the-way", name, "not part of a 0.12 store; move it away");
                blocked = true;
            }
        }
        let mut objects = objects::list(vfs, dir, &mut findings)?;
        objects::verify(vfs, dir, &mut objects, &mut findings, progress)?;
        let refs = refs::read(vfs, dir, &objects, &mut findings)?;
        let reader =
            Reader { vfs, dir, objects: &objects, findings: &mut findings, records: Records::default() };
        let records = reader.read()?;
        if !matches!(disk::kind(vfs, &dir.join(".gitignore"))?, None | Some(Kind::File)) {
            findings.error("not-plain", ".gitignore", "not a plain file");
        }
        findings.sort();
        let kept = unnamed(&objects, &refs, &records);
        Ok(Survey { objects, refs, kept, records, findings, blocked })
    }

    /// The counts, for people.
    pub(super) fn plan(&self) -> MigratePlan {
        let sound = || self.objects.all.iter().filter(|o| o.id.is_some());
        MigratePlan {
            objects: sound().count() as u64,
            object_bytes: sound().map(|o| o.size_bytes).sum(),
            refs: self.refs.len() as u64,
            kept: self.kept.len() as u64,
            counters: self.records.counters,
            workspaces: self.records.workspaces,
            pending: self.records.pending,
            tombstones: self.records.tombstones,
            remotes: self.records.remotes,
            findings: self.findings.clone(),
        }
    }
}

/// Families whose objects say something by themselves. Content, its transformations and what is derived from it
/// mean nothing unless something refers to them.
fn is_knowledge(family: Family) -> bool {
    !matches!(
        family,
        Family::Blob
            | Family::Tree
            | Family::State
            | Family::Operation
            | Family::Config
            | Family::Mapping
            | Family::SemanticEntity
            | Family::SemanticIndex
    )
}

/// The tips among the knowledge that nothing reaches.
fn unnamed(objects: &Objects, refs: &RefMap, records: &Records) -> Vec<Gid> {
    let mut reached = vec![false; objects.all.len()];
    let mut open: Vec<usize> = refs.values().filter_map(|id| objects.find(id)).collect();
    open.extend(records.values.values().filter_map(|value| match value {
        RefValue::Id(id) => objects.find(id),
        RefValue::Record(_) => None,
    }));
    reach(objects, &mut reached, &mut open);
    let mut referred = vec![false; objects.all.len()];
    for (edges, _) in objects.edges.iter().zip(&reached).filter(|(_, reached)| !**reached) {
        edges.iter().for_each(|to| referred[*to as usize] = true);
    }
    let mut kept = Vec::new();
    for (at, loose) in objects.all.iter().enumerate() {
        if let Some(id) = loose.id.filter(|id| !reached[at] && !referred[at] && is_knowledge(id.family())) {
            kept.push(id);
            reached[at] = true;
        }
    }
    // Below a tip that is no knowledge there may be some: an unnamed semantic index refers to none, but nothing
    // says that every family does.
    let mut open: Vec<usize> = kept.iter().filter_map(|id| objects.find(id)).collect();
    reach(objects, &mut reached, &mut open);
    for (at, loose) in objects.all.iter().enumerate() {
        if let Some(id) = loose.id.filter(|id| !reached[at] && is_knowledge(id.family())) {
            kept.push(id);
        }
    }
    kept.sort_unstable();
    kept
}

/// Marks everything reachable from `open`.
fn reach(objects: &Objects, reached: &mut [bool], open: &mut Vec<usize>) {
    open.iter().for_each(|at| reached[*at] = true);
    while let Some(at) = open.pop() {
        for to in &objects.edges[at] {
            let to = *to as usize;
            if !reached[to] {
                reached[to] = true;
                open.push(to);
            }
        }
    }
}
