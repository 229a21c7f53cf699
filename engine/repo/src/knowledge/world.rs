//! What a derivation has read so far, and the sets it works on (object model, section 15.1).

use crate::Result;
use crate::history::graph::{ChangeSet, Graph, Lines, stored};
use crate::history::lineage::NamedTrajectory;
use crate::history::nodes::{self, ChangeNode, ClaimNode, EvidenceNode, ResidualNode};
use crate::knowledge::assess::Assessment;
use crate::knowledge::claims::Derived;
use crate::knowledge::freshness::Judge;
use crate::knowledge::ledger::Ledger;
use crate::knowledge::lists::AttemptEntry;
use crate::knowledge::scope::ScopeKind;
use gemel_object::families::Environment;
use gemel_object::{Family, Gid};
use gemel_store::{Refs, Store};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
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

/// Objects read so far, and the refs that say which of them count.
pub(crate) struct World<'s> {
    pub(crate) graph: Graph<'s>,
    pub(crate) refs: Refs,
    pub(super) ledger: Option<Ledger>,
    pub(super) known: Option<Arc<ChangeSet>>,
    /// What leads to head.
    pub(super) leading: Option<Arc<ChangeSet>>,
    /// Known changes by the root trees of their results.
    pub(super) ending: Option<Arc<HashMap<Gid, Vec<Gid>>>>,
    pub(super) versions: Option<Arc<HashMap<Gid, usize>>>,
    pub(super) trajectories: Option<Arc<Vec<NamedTrajectory>>>,
    pub(super) named: Option<Arc<HashSet<Gid>>>,
    pub(super) declared: HashMap<Gid, bool>,
    pub(super) order: Option<Arc<Lines>>,
    pub(super) judge: Option<Judge>,
    /// Trajectories as attempts.
    pub(super) attempts: HashMap<Gid, Arc<AttemptEntry>>,
    /// Newest versions of residuals.
    pub(super) newest: HashMap<Gid, Gid>,
    /// Everything declared of a family, in the order of its list.
    pub(super) lists: HashMap<Family, Arc<Vec<Gid>>>,
    /// Statuses of claims against the head state.
    pub(super) derived: HashMap<Gid, Arc<Derived>>,
    pub(super) assessed: HashMap<ScopeKind, Arc<Assessment>>,
    claims: HashMap<Gid, Option<Arc<ClaimNode>>>,
    evidence: HashMap<Gid, Option<Arc<EvidenceNode>>>,
    residuals: HashMap<Gid, Option<Arc<ResidualNode>>>,
    platforms: HashMap<Gid, Option<Platform>>,
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
    /// What `refs` of `store` say.
    pub(crate) fn new(store: &'s Store, refs: Refs) -> World<'s> {
        World {
            graph: Graph::new(store),
            refs,
            ledger: None,
            known: None,
            leading: None,
            ending: None,
            versions: None,
            trajectories: None,
            named: None,
            declared: HashMap::new(),
            order: None,
            judge: None,
            attempts: HashMap::new(),
            newest: HashMap::new(),
            lists: HashMap::new(),
            derived: HashMap::new(),
            assessed: HashMap::new(),
            claims: HashMap::new(),
            evidence: HashMap::new(),
            residuals: HashMap::new(),
            platforms: HashMap::new(),
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

    /// A change that is stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn change(&mut self, id: &Gid) -> Result<Option<Arc<ChangeNode>>> {
        self.graph.change(id)
    }
}
