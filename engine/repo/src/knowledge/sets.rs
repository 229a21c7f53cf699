//! Which objects count: known changes, declared claims, evidence and residuals, and their newest versions (query surface,
//! section 3.1; object model, section 13).

use crate::Result;
use crate::facts::Named;
use crate::history::graph::{ChangeSet, Lines};
use crate::history::known::known_changes;
use crate::history::lineage::{NamedTrajectory, named_trajectories};
use crate::history::nodes::{ClaimNode, ResidualNode};
use crate::knowledge::ledger::Ledger;
use crate::knowledge::world::World;
use gemel_object::{Family, Gid};
use gemel_store::RefValue;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Where versions of claims, evidence and residuals are named. `refs/keep` holds versions that never had a name of their
/// own: those of a migrated 0.12 store, or of a peer.
const SPACES: [&str; 6] = [
    "refs/names/Cl",
    "refs/names/E",
    "refs/names/R",
    "refs/keep/claim/",
    "refs/keep/evidence/",
    "refs/keep/residual/",
];

/// A claim at its newest refinement.
#[derive(Clone, Debug)]
pub(crate) struct ScopedClaim {
    pub(crate) node: Arc<ClaimNode>,
    /// The versions it refines, and itself.
    pub(crate) versions: Vec<Gid>,
    /// The change that declared it.
    pub(crate) change: Option<Gid>,
    /// The state it was declared at: result of that change.
    pub(crate) declared_at: Option<Gid>,
    /// Whether another claim replaced it.
    pub(crate) replaced: bool,
}

impl World<'_> {
    /// What objects are looked up in.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn ledger(&mut self) -> Result<&Ledger> {
        let ledger = match self.ledger.take() {
            Some(ledger) => ledger,
            None => {
                let (store, refs) = (self.store(), self.refs.clone());
                Ledger::open(store, &refs, || {
                    let known = self.known()?;
                    Ok(self.graph.members(&known))
                })?
            }
        };
        Ok(self.ledger.insert(ledger))
    }

    /// Changes with an operation that names an object. Ascending.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn operating(&mut self, id: &Gid) -> Result<Vec<Gid>> {
        let store = self.store();
        self.ledger()?.operating(store, id)
    }

    /// The changes the repository knows.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn known(&mut self) -> Result<Arc<ChangeSet>> {
        if let Some(known) = &self.known {
            return Ok(known.clone());
        }
        let known = Arc::new(known_changes(&mut self.graph, &self.refs)?);
        Ok(self.known.insert(known).clone())
    }

    /// Whether a change is known.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn is_known(&mut self, change: &Gid) -> Result<bool> {
        let known = self.known()?;
        Ok(self.graph.holds(&known, change))
    }

    /// The known changes and everything that led to them, as lines: ancestry and descendants are asked of it.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn order(&mut self) -> Result<Arc<Lines>> {
        if let Some(order) = &self.order {
            return Ok(order.clone());
        }
        let known = self.known()?;
        let known = self.graph.members(&known);
        let reachable = self.graph.ancestors(known)?;
        let head = self.refs.get("refs/head")?;
        let order = Arc::new(Lines::of(&mut self.graph, &reachable, head)?);
        Ok(self.order.insert(order).clone())
    }

    /// Every named trajectory, by number.
    ///
    /// # Errors
    /// `Store`.
    pub(crate) fn trajectories(&mut self) -> Result<Arc<Vec<NamedTrajectory>>> {
        if let Some(named) = &self.trajectories {
            return Ok(named.clone());
        }
        let named = Arc::new(named_trajectories(&self.refs)?);
        Ok(self.trajectories.insert(named).clone())
    }

    /// For each version of a named trajectory the place of that one in [`World::trajectories`].
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn versions(&mut self) -> Result<Arc<HashMap<Gid, usize>>> {
        if let Some(versions) = &self.versions {
            return Ok(versions.clone());
        }
        let mut versions = HashMap::new();
        for (at, named) in self.trajectories()?.iter().enumerate() {
            for version in self.graph.versions(&named.id)? {
                versions.entry(version).or_insert(at);
            }
        }
        let versions = Arc::new(versions);
        Ok(self.versions.insert(versions).clone())
    }

    /// The trajectories that list a change, by number.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn trajectories_of(&mut self, change: &Gid) -> Result<Vec<NamedTrajectory>> {
        let (named, versions) = (self.trajectories()?, self.versions()?);
        let mut found = BTreeSet::new();
        for source in self.ledger()?.naming(change) {
            if source.family() == Family::Trajectory
                && let Some(at) = versions.get(&source)
                && self.graph.version_lists(&source, change)?
            {
                found.insert(*at);
            }
        }
        Ok(found.into_iter().filter_map(|at| named.get(at).cloned()).collect())
    }

    /// The trajectory that lists a change; of several the one with the highest number.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn trajectory_of(&mut self, change: &Gid) -> Result<Option<Named>> {
        let named = self.trajectories_of(change)?.pop();
        Ok(named.map(|named| Named { id: named.id, name: Some(named.name) }))
    }

    /// Whether a claim, evidence or residual is declared: a known change, a version of a named trajectory or a declared
    /// claim lists it, a newer version leads to it, or it has a name.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn is_declared(&mut self, id: &Gid) -> Result<bool> {
        if let Some(known) = self.declared.get(id) {
            return Ok(*known);
        }
        // Objects that lead here, as long as none of them counts by itself.
        let (mut open, mut seen) = (vec![*id], HashSet::from([*id]));
        let mut declared = false;
        while let Some(at) = open.pop() {
            if self.named_knowledge()?.contains(&at) {
                declared = true;
                break;
            }
            for source in self.ledger()?.naming(&at) {
                if self.lists(&source, &at)? {
                    declared = true;
                } else if self.leads(&source, &at)? && seen.insert(source) {
                    open.push(source);
                }
            }
            if declared {
                break;
            }
        }
        self.declared.insert(*id, declared);
        Ok(declared)
    }

    /// Whether a known change or a version of a named trajectory lists it.
    fn lists(&mut self, source: &Gid, id: &Gid) -> Result<bool> {
        match source.family() {
            Family::Change => Ok(self.is_known(source)?
                && self.change(source)?.is_some_and(|change| {
                    change.claims.contains(id)
                        || change.evidence.contains(id)
                        || change.residuals.contains(id)
                })),
            Family::Trajectory => Ok(self.versions()?.contains_key(source)),
            _ => Ok(false),
        }
    }

    /// Whether it counts if `source` does: a claim lists it, or a newer version.
    fn leads(&mut self, source: &Gid, id: &Gid) -> Result<bool> {
        match source.family() {
            Family::Claim => Ok(self.claim(source)?.is_some_and(|claim| {
                claim.supersedes == Some(*id) || claim.evidence.contains(id) || claim.residuals.contains(id)
            })),
            Family::Residual => Ok(self.residual(source)?.is_some_and(|node| node.previous == Some(*id))),
            _ => Ok(false),
        }
    }

    /// Claims, evidence and residuals that have names.
    ///
    /// # Errors
    /// `Store`.
    pub(crate) fn named_knowledge(&mut self) -> Result<Arc<HashSet<Gid>>> {
        if let Some(named) = &self.named {
            return Ok(named.clone());
        }
        let mut named = HashSet::new();
        for space in SPACES {
            for (_, value) in self.refs.scan(space)? {
                match value {
                    Ok(RefValue::Id(id))
                        if matches!(id.family(), Family::Claim | Family::Evidence | Family::Residual) =>
                    {
                        named.insert(id);
                    }
                    _ => {}
                }
            }
        }
        Ok(self.named.insert(Arc::new(named)).clone())
    }

    /// The newest version of a residual: the declared one that no other follows. Of several the one that has a name, then
    /// the one last created, then the lowest identity (object model, section 13).
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn newest_residual(&mut self, id: &Gid) -> Result<Gid> {
        if let Some(known) = self.newest.get(id) {
            return Ok(*known);
        }
        let newest = self.find_newest_residual(id)?;
        self.newest.insert(*id, newest);
        Ok(newest)
    }

    fn find_newest_residual(&mut self, id: &Gid) -> Result<Gid> {
        let first = self.residual_versions(id)?.last().map_or(*id, |first| first.id);
        let (mut open, mut seen, mut last) = (vec![first], HashSet::from([first]), Vec::new());
        while let Some(version) = open.pop() {
            let before = open.len();
            for source in self.ledger()?.naming(&version) {
                if source.family() == Family::Residual
                    && self.residual(&source)?.is_some_and(|node| node.previous == Some(version))
                    && self.is_declared(&source)?
                    && seen.insert(source)
                {
                    open.push(source);
                }
            }
            if open.len() == before {
                last.push(version);
            }
        }
        if let [only] = last[..] {
            return Ok(only);
        }
        let named = self.named_knowledge()?;
        let mut ranked = Vec::with_capacity(last.len());
        for id in last {
            let created = self.residual(&id)?.map_or(0, |node| node.created_at_ms);
            ranked.push((!named.contains(&id), Reverse(created), id));
        }
        Ok(ranked.into_iter().min().map_or(*id, |(.., id)| id))
    }

    /// A residual version and those before it, newest first, as far as they are stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn residual_versions(&mut self, newest: &Gid) -> Result<Vec<Arc<ResidualNode>>> {
        let mut versions: Vec<Arc<ResidualNode>> = Vec::new();
        let mut next = Some(*newest);
        while let Some(id) = next
            && versions.iter().all(|node| node.id != id)
            && let Some(node) = self.residual(&id)?
        {
            next = node.previous;
            versions.push(node);
        }
        Ok(versions)
    }

    /// The newest refinement of a claim, with all versions and whether another claim replaced it. A refinement says the
    /// same of the same subject; anything else that supersedes it is a replacement.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn newest_claim(&mut self, id: &Gid) -> Result<Option<ScopedClaim>> {
        let Some(mut first) = self.claim(id)? else { return Ok(None) };
        // What it refines itself.
        let mut versions = vec![first.id];
        while let Some(older) = first.supersedes
            && !versions.contains(&older)
            && let Some(node) = self.claim(&older)?
            && refines(&first, &node)
        {
            versions.push(node.id);
            first = node;
        }
        versions.truncate(1);
        versions[0] = first.id;
        let (mut newest, mut replaced) = (first.clone(), false);
        loop {
            let mut refinements = Vec::new();
            for source in self.ledger()?.naming(&newest.id) {
                if source.family() != Family::Claim {
                    continue;
                }
                let Some(node) = self.claim(&source)? else { continue };
                if node.supersedes != Some(newest.id) || !self.is_declared(&source)? {
                    continue;
                }
                if refines(&node, &newest) {
                    refinements.push(node);
                } else {
                    replaced = true;
                }
            }
            match refinements.into_iter().min_by_key(|node| (Reverse(node.created_at_ms), node.id)) {
                Some(next) if !versions.contains(&next.id) => {
                    versions.push(next.id);
                    newest = next;
                }
                _ => break,
            }
        }
        let change = self.declaring_change_of(&newest, &first, &versions)?;
        let declared_at = match change {
            Some(change) => self.change(&change)?.and_then(|change| change.result),
            None => None,
        };
        Ok(Some(ScopedClaim { node: newest, versions, change, declared_at, replaced }))
    }

    fn declaring_change_of(
        &mut self,
        newest: &ClaimNode,
        first: &ClaimNode,
        versions: &[Gid],
    ) -> Result<Option<Gid>> {
        if let Some(change) = newest.change.or(first.change) {
            return Ok(Some(change));
        }
        let mut earliest: Option<(i64, Gid)> = None;
        for version in versions {
            if let Some(change) = self.declaring_change(version)? {
                let created = self.change(&change)?.map_or(0, |node| node.created_at_ms);
                let rank = (created, change);
                earliest = Some(earliest.map_or(rank, |old| old.min(rank)));
            }
        }
        Ok(earliest.map(|(_, change)| change))
    }

    /// The known change that lists a claim, evidence or residual: the earliest, then the lowest identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn declaring_change(&mut self, id: &Gid) -> Result<Option<Gid>> {
        let mut earliest: Option<(i64, Gid)> = None;
        for source in self.ledger()?.naming(id) {
            if source.family() == Family::Change
                && self.lists(&source, id)?
                && let Some(node) = self.change(&source)?
            {
                let rank = (node.created_at_ms, source);
                earliest = Some(earliest.map_or(rank, |old| old.min(rank)));
            }
        }
        Ok(earliest.map(|(_, change)| change))
    }

    /// Newest versions of the residuals that name one of the versions of a claim, or that the newest one names,
    /// ascending.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn residuals_of(&mut self, claim: &ScopedClaim) -> Result<BTreeSet<Gid>> {
        let mut found = BTreeSet::new();
        for id in &claim.node.residuals {
            found.insert(self.newest_residual(id)?);
        }
        for version in &claim.versions {
            for source in self.ledger()?.naming(version) {
                if source.family() != Family::Residual || !self.is_declared(&source)? {
                    continue;
                }
                let newest = self.newest_residual(&source)?;
                if self.residual(&newest)?.is_some_and(|node| node.claims.contains(version)) {
                    found.insert(newest);
                }
            }
        }
        Ok(found)
    }
}

/// Whether a claim says the same of the same subject as an older one.
pub(crate) fn refines(newer: &ClaimNode, older: &ClaimNode) -> bool {
    newer.subject == older.subject && newer.predicate == older.predicate
}
