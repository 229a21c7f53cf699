//! What a derivation has read so far, and the sets it works on (object model, section 15.1).

use crate::Result;
use crate::history::graph::{Graph, stored};
use crate::history::nodes::{self, ChangeNode, ClaimNode, EvidenceNode, ResidualNode};
use gemel_object::Gid;
use gemel_object::families::{Environment, Operation};
use gemel_store::Store;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Objects that one thread reads one after another.
const TOGETHER: usize = 256;

/// Where an evidence was gathered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Platform {
    /// Operating system family.
    pub(crate) os: String,
    /// Processor architecture.
    pub(crate) arch: String,
}

/// What the operations of a change touch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Subjects, sources and targets.
    pub(crate) paths: BTreeSet<String>,
    /// Subject, input and output references.
    pub(crate) references: HashSet<Gid>,
}

impl Touched {
    /// Whether a path is touched: it is equal, or one is a prefix of the other by whole segments.
    pub(crate) fn path(&self, path: &str) -> bool {
        if self.paths.contains(path) {
            return true;
        }
        let below = format!("{path}/");
        self.paths.range(below.clone()..).next().is_some_and(|found| found.starts_with(&below))
            || path
                .match_indices('/')
                .any(|(at, _)| path.get(..at).is_some_and(|above| self.paths.contains(above)))
    }
}

/// Objects read so far.
pub(crate) struct World<'s> {
    pub(crate) graph: Graph<'s>,
    claims: HashMap<Gid, Option<Arc<ClaimNode>>>,
    evidence: HashMap<Gid, Option<Arc<EvidenceNode>>>,
    residuals: HashMap<Gid, Option<Arc<ResidualNode>>>,
    platforms: HashMap<Gid, Option<Platform>>,
    touched: HashMap<Gid, Arc<Touched>>,
}

macro_rules! lookup {
    ($(#[$doc:meta])* $name:ident, $many:ident, $map:ident: $node:ident) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// `Store`, `CorruptObject`.
        pub(crate) fn $name(&mut self, id: &Gid) -> Result<Option<Arc<$node>>> {
            if let Some(known) = self.$map.get(id) {
                return Ok(known.clone());
            }
            let node = stored(nodes::$name(self.store(), id))?.map(Arc::new);
            self.$map.insert(*id, node.clone());
            Ok(node)
        }

        /// Reads many at once, on all cores. In the order given: what was recorded together lies together.
        ///
        /// # Errors
        /// `Store`, `CorruptObject`.
        pub(crate) fn $many(&mut self, ids: &[Gid]) -> Result<()> {
            let new: Vec<Gid> = ids.iter().copied().filter(|id| !self.$map.contains_key(id)).collect();
            let store = self.store();
            let read: Vec<Vec<(Gid, Option<Arc<$node>>)>> = new
                .par_chunks(TOGETHER)
                .map(|part| {
                    part.iter().map(|id| Ok((*id, stored(nodes::$name(store, id))?.map(Arc::new)))).collect()
                })
                .collect::<Result<_>>()?;
            self.$map.extend(read.into_iter().flatten());
            Ok(())
        }
    };
}

impl<'s> World<'s> {
    pub(crate) fn new(store: &'s Store) -> World<'s> {
        World {
            graph: Graph::new(store),
            claims: HashMap::new(),
            evidence: HashMap::new(),
            residuals: HashMap::new(),
            platforms: HashMap::new(),
            touched: HashMap::new(),
        }
    }

    pub(crate) fn store(&self) -> &'s Store {
        self.graph.store()
    }

    lookup! {
        /// A claim; `None` when it is not stored.
        claim, load_claims, claims: ClaimNode
    }
    lookup! {
        /// An evidence; `None` when it is not stored.
        evidence, load_evidence, evidence: EvidenceNode
    }
    lookup! {
        /// A residual version; `None` when it is not stored.
        residual, load_residuals, residuals: ResidualNode
    }

    /// Where an evidence was gathered; `None` when it does not say both system and architecture.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn platform(&mut self, evidence: &EvidenceNode) -> Result<Option<Platform>> {
        let Some(id) = evidence.environment else { return Ok(None) };
        if let Some(known) = self.platforms.get(&id) {
            return Ok(known.clone());
        }
        let read = nodes::read(self.store(), &id, |object| {
            let environment = Environment::view(object)?;
            let platform = environment.os().zip(environment.arch());
            Ok(platform.map(|(os, arch)| Platform { os: os.family().to_owned(), arch: arch.to_owned() }))
        });
        let platform = stored(read)?.flatten();
        self.platforms.insert(id, platform.clone());
        Ok(platform)
    }

    /// What a change touches; operations that are not stored touch nothing.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn touched(&mut self, change: &Gid) -> Result<Arc<Touched>> {
        if let Some(known) = self.touched.get(change) {
            return Ok(known.clone());
        }
        let store = self.store();
        let operations = stored(nodes::read(store, change, |object| {
            Ok(gemel_object::families::Change::view(object)?.operations().iter().collect::<Vec<Gid>>())
        }))?;
        let read: Vec<Option<(Vec<String>, Vec<Gid>)>> = operations
            .unwrap_or_default()
            .par_iter()
            .map(|id| stored(nodes::read(store, id, |object| Ok(subjects(&Operation::view(object)?)))))
            .collect::<Result<_>>()?;
        let mut touched = Touched::default();
        for (paths, references) in read.into_iter().flatten() {
            touched.paths.extend(paths);
            touched.references.extend(references);
        }
        let touched = Arc::new(touched);
        self.touched.insert(*change, touched.clone());
        Ok(touched)
    }

    /// A change that is stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn change(&mut self, id: &Gid) -> Result<Option<Arc<ChangeNode>>> {
        self.graph.change(id)
    }
}

fn subjects(operation: &Operation<'_>) -> (Vec<String>, Vec<Gid>) {
    let paths = [operation.subject_path(), operation.from(), operation.to()];
    let references = operation.subject_ref().into_iter();
    let references = references.chain(operation.input_refs().iter()).chain(operation.output_refs().iter());
    (paths.into_iter().flatten().map(str::to_owned).collect(), references.collect())
}

#[cfg(test)]
mod tests {
    use super::Touched;

    #[test]
    fn touching_goes_by_whole_segments() {
        let touched = Touched {
            paths: ["a/b", "c", "e/f/g"].into_iter().map(str::to_owned).collect(),
            ..Touched::default()
        };
        for path in ["a/b", "a", "a/b/x", "c", "c/d", "e", "e/f", "e/f/g/h/i"] {
            assert!(touched.path(path), "{path}");
        }
        for path in ["a/bc", "a/", "b", "cc", "e/g", "e/f/h", ""] {
            assert!(!touched.path(path), "{path}");
        }
    }
}
