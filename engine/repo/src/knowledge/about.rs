//! What is recorded about a subject (query surface, section 3.1).

use crate::Result;
use crate::history::nodes::{EvidenceNode, ResidualNode};
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::subject::{Subject, suffixes};
use crate::knowledge::world::World;
use gemel_object::{Family, Gid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

impl World<'_> {
    /// Known changes that touch a subject: an operation's path, source or target equals it or lies below it; it is an
    /// object that an operation names, or the change itself, or what the change results in or declares; or a claim that
    /// the change declares is about it. Newest first, then by identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn touching(&mut self, subject: &Subject) -> Result<Vec<Gid>> {
        let mut found = BTreeSet::new();
        for text in &subject.texts {
            let ledger = self.ledger()?;
            found.extend(ledger.about(text));
            found.extend(ledger.below(text));
        }
        if let Some(id) = subject.id {
            found.insert(id);
            found.extend(self.operating(&id)?);
            if id.family() == Family::State {
                found.extend(self.resulting_in(&id)?);
            }
            for version in self.all_versions(&id)? {
                found.extend(self.ledger()?.naming(&version));
            }
        }
        for claim in self.claims_about(subject)? {
            for version in &claim.versions {
                found.extend(self.ledger()?.naming(version));
            }
        }
        let mut known = Vec::new();
        for id in found {
            if id.family() == Family::Change && self.is_known(&id)? {
                known.push(id);
            }
        }
        self.newest_first(known)
    }

    /// Known changes whose result has the content of a state.
    fn resulting_in(&mut self, state: &Gid) -> Result<Vec<Gid>> {
        let known = self.known()?;
        match self.graph.root(state)? {
            Some(root) => Ok(self.graph.with_root(&known, &root)?.0),
            None => Ok(Vec::new()),
        }
    }

    /// All versions of a claim or residual, given any of them; of anything else that is declared the object itself.
    fn all_versions(&mut self, id: &Gid) -> Result<Vec<Gid>> {
        match id.family() {
            Family::Claim => Ok(self.newest_claim(id)?.map(|claim| claim.versions).unwrap_or_default()),
            Family::Residual => {
                let newest = self.newest_residual(id)?;
                Ok(self.residual_versions(&newest)?.iter().map(|node| node.id).collect())
            }
            Family::Evidence => Ok(vec![*id]),
            _ => Ok(Vec::new()),
        }
    }

    /// Orders changes: newest first, then by identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn newest_first(&mut self, changes: Vec<Gid>) -> Result<Vec<Gid>> {
        let mut ranked = Vec::with_capacity(changes.len());
        for id in changes {
            let created = self.change(&id)?.map_or(0, |change| change.created_at_ms);
            ranked.push((Reverse(created), id));
        }
        ranked.sort_unstable();
        Ok(ranked.into_iter().map(|(_, id)| id).collect())
    }

    /// Objects of a family about a subject: their subject equals it or one is a whole-segment `::` suffix of the other, or
    /// they name it among their subject references. Ascending.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    fn objects_about(&mut self, subject: &Subject, family: Family) -> Result<BTreeSet<Gid>> {
        let mut found = BTreeSet::new();
        let ledger = self.ledger()?;
        for text in &subject.texts {
            found.extend(suffixes(text).flat_map(|suffix| ledger.about(suffix)));
            found.extend(ledger.ending(text));
        }
        found.retain(|id| id.family() == family);
        if let Some(id) = subject.id {
            for source in self.ledger()?.naming(&id) {
                if source.family() != family {
                    continue;
                }
                let is_about = match family {
                    Family::Claim => self.claim(&source)?.is_some_and(|node| node.subject_refs.contains(&id)),
                    Family::Evidence => {
                        self.evidence(&source)?.is_some_and(|node| node.subject_refs.contains(&id))
                    }
                    _ => false,
                };
                if is_about {
                    found.insert(source);
                }
            }
        }
        Ok(found)
    }

    /// Declared claims about a subject, each at its newest refinement, and those that other claims replaced. Newest
    /// first, then by identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn claims_about(&mut self, subject: &Subject) -> Result<Vec<ScopedClaim>> {
        let mut candidates = self.objects_about(subject, Family::Claim)?;
        candidates.extend(subject.id.filter(|id| id.family() == Family::Claim));
        let candidates: Vec<Gid> = candidates.into_iter().collect();
        self.newest_claims(&candidates)
    }

    /// The declared ones among some claims at their newest refinements. Newest first, then by identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn newest_claims(&mut self, candidates: &[Gid]) -> Result<Vec<ScopedClaim>> {
        let mut rows: BTreeMap<Gid, ScopedClaim> = BTreeMap::new();
        for id in candidates {
            if self.is_declared(id)?
                && let Some(claim) = self.newest_claim(id)?
            {
                rows.entry(claim.node.id).or_insert(claim);
            }
        }
        let mut rows: Vec<ScopedClaim> = rows.into_values().collect();
        rows.sort_by_key(|claim| (Reverse(claim.node.created_at_ms), claim.node.id));
        Ok(rows)
    }

    /// Declared evidence about a subject. Newest first, then by identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn evidence_about(&mut self, subject: &Subject) -> Result<Vec<Arc<EvidenceNode>>> {
        let mut candidates = self.objects_about(subject, Family::Evidence)?;
        candidates.extend(subject.id.filter(|id| id.family() == Family::Evidence));
        let mut rows = Vec::new();
        for id in candidates {
            if self.is_declared(&id)?
                && let Some(node) = self.evidence(&id)?
            {
                rows.push(node);
            }
        }
        rows.sort_by_key(|node| (Reverse(node.created_at_ms), node.id));
        Ok(rows)
    }

    /// Declared residuals that affect a subject, at their newest versions: their scope names it or something below it,
    /// an affected claim is about it, an affected change touches it, or a change that declares them touches it. Newest
    /// first, then by identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn residuals_affecting(&mut self, subject: &Subject) -> Result<Vec<Arc<ResidualNode>>> {
        let mut candidates = self.objects_about(subject, Family::Residual)?;
        for text in &subject.texts {
            candidates.extend(self.ledger()?.below(text));
        }
        candidates.extend(subject.id);
        if let Some(id) = subject.id {
            candidates.extend(self.ledger()?.naming(&id));
        }
        for claim in self.claims_about(subject)? {
            candidates.extend(self.residuals_of(&claim)?);
        }
        for change in self.touching(subject)? {
            candidates.extend(self.ledger()?.naming(&change));
            candidates.extend(self.change(&change)?.iter().flat_map(|node| node.residuals.clone()));
        }
        candidates.retain(|id| id.family() == Family::Residual);
        self.newest_residuals(candidates)
    }

    /// The declared ones among some residuals at their newest versions. Newest first, then by identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn newest_residuals(
        &mut self,
        candidates: impl IntoIterator<Item = Gid>,
    ) -> Result<Vec<Arc<ResidualNode>>> {
        let (mut rows, mut seen) = (Vec::new(), HashSet::new());
        for id in candidates {
            if !self.is_declared(&id)? {
                continue;
            }
            let newest = self.newest_residual(&id)?;
            if seen.insert(newest)
                && let Some(node) = self.residual(&newest)?
            {
                rows.push(node);
            }
        }
        rows.sort_by_key(|node| (Reverse(node.created_at_ms), node.id));
        Ok(rows)
    }

    /// Everything declared of a family, ascending: listed by known changes or trajectory versions, or named.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn declared(&mut self, family: Family) -> Result<Vec<Gid>> {
        let known = self.known()?;
        let mut found: BTreeSet<Gid> = BTreeSet::new();
        for change in self.graph.declaring(&known)? {
            found.extend(change.claims.iter().chain(&change.evidence).chain(&change.residuals).copied());
        }
        for named in self.trajectories()?.iter() {
            let (evidence, residuals) = self.graph.listed_besides(&named.id)?;
            found.extend(evidence.into_iter().chain(residuals));
        }
        found.extend(self.named_knowledge()?.iter().copied());
        if family != Family::Claim {
            // Claims list evidence and residuals of their own.
            let claims: Vec<Gid> = found.iter().copied().filter(|id| id.family() == Family::Claim).collect();
            self.load_claims(&claims)?;
            let (mut open, mut seen) = (claims, HashSet::new());
            while let Some(id) = open.pop() {
                if seen.insert(id)
                    && let Some(claim) = self.claim(&id)?
                {
                    found.extend(claim.evidence.iter().chain(&claim.residuals).copied());
                    open.extend(claim.supersedes);
                }
            }
        }
        found.retain(|id| id.family() == family);
        Ok(found.into_iter().collect())
    }
}
