//! What objects are looked up by: the subjects they are about, and the objects they name.

use crate::history::graph::stored;
use crate::history::nodes;
use crate::{RepoError, Result};
use gemel_object::families::{Change, Claim, Evidence, Operation, Residual};
use gemel_object::{Family, Gid, Limits, Object, refs_of};
use gemel_store::Store;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Stands among the subjects of claims and residuals that name changes themselves, so that those no change lists are
/// found. No path or entity is called that.
pub(super) const LOOSE: &str = "\0names changes";

/// Families that knowledge is made of.
pub(crate) fn is_member(family: Family) -> bool {
    use Family::{
        AgentRun, Case, Change, Checkpoint, Claim, ContextManifest, Episode, Evidence, Intent,
        Reconciliation, Release, Residual, Trajectory, Verification,
    };
    matches!(
        family,
        AgentRun
            | Case
            | Change
            | Checkpoint
            | Claim
            | ContextManifest
            | Episode
            | Evidence
            | Intent
            | Reconciliation
            | Release
            | Residual
            | Trajectory
            | Verification
    )
}

/// What one object says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fact {
    /// Paths of operations, subjects of claims and evidence, paths of the scopes of residuals.
    pub(crate) subjects: Vec<String>,
    /// Objects it names, but for the parents of a change.
    pub(crate) names: Vec<Gid>,
    /// Objects that the operations of a change name.
    pub(crate) operands: Vec<Gid>,
    /// Further objects of these families that are reached through it.
    pub(crate) beyond: Vec<Gid>,
}

impl Fact {
    /// Reads an object; `None` when it is not stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn read(store: &Store, id: &Gid) -> Result<Option<Fact>> {
        let Some(bytes) = stored(store.read(id).map_err(RepoError::from))? else { return Ok(None) };
        Fact::of(store, id, &bytes).map(Some)
    }

    /// What the envelope of `id` says. Operations of a change are read for it.
    ///
    /// # Errors
    /// As [`Fact::read`].
    pub(crate) fn of(store: &Store, id: &Gid, bytes: &[u8]) -> Result<Fact> {
        let corrupt =
            |e: gemel_object::ObjectError| RepoError::CorruptObject { id: *id, detail: e.to_string() };
        let object = Object::parse(bytes, &Limits::DEFAULT).map_err(corrupt)?;
        let mut fact = Fact::default();
        let mut subject_refs: Vec<Gid> = Vec::new();
        match id.family() {
            Family::Change => {
                let change = Change::view(&object).map_err(corrupt)?;
                fact.beyond.extend(change.causal_parents().iter());
                for operation in change.operations().iter() {
                    fact.add_operation(store, &operation)?;
                }
            }
            Family::Claim => {
                let claim = Claim::view(&object).map_err(corrupt)?;
                fact.subjects.extend(claim.subject().map(str::to_owned));
                fact.subjects.extend(claim.change().map(|_| LOOSE.to_owned()));
                subject_refs.extend(claim.subject_refs().iter());
            }
            Family::Evidence => {
                let evidence = Evidence::view(&object).map_err(corrupt)?;
                fact.subjects.extend(evidence.subject().map(str::to_owned));
                subject_refs.extend(evidence.subject_refs().iter().chain(evidence.input_refs().iter()));
            }
            Family::Residual => {
                let residual = Residual::view(&object).map_err(corrupt)?;
                if !residual.affected_changes().is_empty() {
                    fact.subjects.push(LOOSE.to_owned());
                }
                if let Some(scope) = residual.scope() {
                    fact.subjects.extend(scope.paths().iter().map(str::to_owned));
                    subject_refs.extend(scope.entities().iter());
                }
            }
            _ => {}
        }
        let parents: HashSet<Gid> = fact.beyond.iter().copied().collect();
        for found in refs_of(bytes) {
            if is_member(found.gid.family()) && !parents.contains(&found.gid) {
                fact.names.push(found.gid);
            }
        }
        fact.names.extend(subject_refs);
        tidy(&mut fact.subjects);
        tidy(&mut fact.names);
        tidy(&mut fact.operands);
        Ok(fact)
    }

    fn add_operation(&mut self, store: &Store, id: &Gid) -> Result<()> {
        let read = stored(nodes::read(store, id, |object| {
            let operation = Operation::view(object)?;
            let paths = [operation.subject_path(), operation.from(), operation.to()];
            let paths: Vec<String> = paths.into_iter().flatten().map(str::to_owned).collect();
            let operands = operation.subject_ref().into_iter();
            let operands =
                operands.chain(operation.input_refs().iter()).chain(operation.output_refs().iter());
            Ok((paths, operands.collect::<Vec<Gid>>()))
        }))?;
        // One that is not stored touches nothing.
        if let Some((paths, operands)) = read {
            self.subjects.extend(paths);
            self.operands.extend(operands);
        }
        Ok(())
    }
}

fn tidy<T: Ord>(list: &mut Vec<T>) {
    list.sort_unstable();
    list.dedup();
}

/// `crate::a::b` as `b::a::crate`, so that what ends with something is found as what begins with it. `None` for text of
/// one segment.
pub(crate) fn reversed(subject: &str) -> Option<String> {
    if !subject.contains("::") {
        return None;
    }
    let segments: Vec<&str> = subject.rsplit("::").collect();
    Some(segments.join("::"))
}

/// Facts of many objects, in memory.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    members: HashSet<Gid>,
    subjects: BTreeMap<String, Vec<Gid>>,
    reversed: BTreeMap<String, Vec<Gid>>,
    naming: HashMap<Gid, Vec<Gid>>,
    operating: HashMap<Gid, Vec<Gid>>,
}

impl Facts {
    #[cfg(test)]
    pub(crate) fn holds(&self, id: &Gid) -> bool {
        self.members.contains(id)
    }

    /// Adds what `id` says, once.
    pub(crate) fn add(&mut self, id: Gid, fact: Fact) {
        if !self.members.insert(id) {
            return;
        }
        for subject in fact.subjects {
            if let Some(reversed) = reversed(&subject) {
                self.reversed.entry(reversed).or_default().push(id);
            }
            self.subjects.entry(subject).or_default().push(id);
        }
        for named in fact.names {
            self.naming.entry(named).or_default().push(id);
        }
        for operand in fact.operands {
            self.operating.entry(operand).or_default().push(id);
        }
    }

    /// Objects about exactly `subject`.
    pub(crate) fn about<'f>(&'f self, subject: &str) -> impl Iterator<Item = Gid> + use<'f> {
        self.subjects.get(subject).into_iter().flatten().copied()
    }

    /// Objects about something that begins with `prefix`.
    pub(crate) fn below<'f>(&'f self, prefix: &str) -> impl Iterator<Item = Gid> + use<'f> {
        starting(&self.subjects, prefix)
    }

    /// Objects about something whose reversed form begins with `prefix`.
    pub(crate) fn ending<'f>(&'f self, prefix: &str) -> impl Iterator<Item = Gid> + use<'f> {
        starting(&self.reversed, prefix)
    }

    /// Objects that name `id`.
    pub(crate) fn naming<'f>(&'f self, id: &Gid) -> impl Iterator<Item = Gid> + use<'f> {
        self.naming.get(id).into_iter().flatten().copied()
    }

    /// Changes with an operation that names `id`.
    pub(crate) fn operating<'f>(&'f self, id: &Gid) -> impl Iterator<Item = Gid> + use<'f> {
        self.operating.get(id).into_iter().flatten().copied()
    }
}

fn starting<'f>(map: &'f BTreeMap<String, Vec<Gid>>, prefix: &str) -> impl Iterator<Item = Gid> + use<'f> {
    let prefix = prefix.to_owned();
    map.range(prefix.clone()..)
        .take_while(move |(text, _)| text.starts_with(&prefix))
        .flat_map(|(_, ids)| ids.iter().copied())
}
