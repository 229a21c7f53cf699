//! One change of an answer to `why`, with what it was for, what it claimed, and what speaks for and against that.

use super::{MAX_ROWS, decision};
use crate::Result;
use crate::facts::{Omitted, Reference};
use crate::history::nodes::{self, EvidenceNode};
use crate::history::view::{intent_reference, omitted_list};
use crate::knowledge::claims::doubt;
use crate::knowledge::freshness::Subjects;
use crate::knowledge::lists::FreshnessFacts;
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::status::{ClaimRow, ResidualRow, claim_row, residual_row};
use crate::knowledge::subject::Subject;
use crate::knowledge::world::World;
use crate::names::Namer;
use gemel_object::families::Change;
use gemel_object::{EvidenceKind, EvidenceOutcome, Gid};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A piece of evidence, in brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyEvidence {
    /// The evidence.
    pub id: Gid,
    /// What sort of observation it is.
    pub kind: &'static str,
    /// What it is about.
    pub subject: Option<String>,
    /// What was observed; `None` when the run has no result.
    pub outcome: Option<&'static str>,
    /// `match`, when a comparison passed.
    pub label: Option<&'static str>,
    /// Relative to the head state.
    pub freshness: FreshnessFacts,
}

/// A reconciliation that decided about changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionFacts {
    /// The reconciliation.
    pub id: Gid,
    /// Its name.
    pub name: String,
    /// What it says of itself.
    pub summary: String,
    /// Why it decided so.
    pub rationale: Option<String>,
}

/// A change with all that explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyNode {
    /// The change.
    pub change: Reference,
    /// What it was for.
    pub intent: Option<Reference>,
    /// What it claims about the subject; else the newest claim about it.
    pub claim: Option<ClaimRow>,
    /// Other claims about the subject that hold, newest first, then by identity.
    pub claims: Vec<Gid>,
    /// Evidence of those claims, then of the change about the subject; each group newest first, then by identity.
    pub evidence: Vec<WhyEvidence>,
    /// Residuals that affect the claim or that the change declares, newest versions. Newest first, then by identity.
    pub residuals: Vec<ResidualRow>,
    /// The newest reconciliation that adopted, rejected or produced a change that touches the subject.
    pub decision: Option<DecisionFacts>,
}

impl WhyNode {
    /// What is told about beside changes.
    pub(super) fn told(&self) -> impl Iterator<Item = Gid> + '_ {
        let claims = self.claim.iter().map(|claim| claim.id).chain(self.claims.iter().copied());
        let evidence = self.evidence.iter().map(|row| row.id);
        claims.chain(evidence).chain(self.residuals.iter().map(|row| row.id))
    }
}

/// What the nodes of one answer share.
pub(super) struct Nodes {
    /// Claims about the subject, newest first; those that others replaced come last.
    claims: Vec<ScopedClaim>,
    /// Evidence about the subject.
    evidence: Vec<Arc<EvidenceNode>>,
    decision: Option<DecisionFacts>,
    /// Rows beyond what lists hold.
    pub(super) omitted: Vec<Omitted>,
    /// Evidence of unknown freshness.
    pub(super) unsure: Vec<(Gid, &'static str)>,
    /// Changes and who made them.
    pub(super) made: Vec<(Gid, Gid)>,
}

impl Nodes {
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(super) fn about(world: &mut World<'_>, subject: &Subject, touching: &[Gid]) -> Result<Nodes> {
        let mut claims = world.claims_about(subject)?;
        claims.sort_by_key(|claim| claim.replaced);
        Ok(Nodes {
            claims,
            evidence: world.evidence_about(subject)?,
            decision: decision::newest(world, touching)?,
            omitted: Vec::new(),
            unsure: Vec::new(),
            made: Vec::new(),
        })
    }

    /// Everything about one change.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(super) fn node(&mut self, world: &mut World<'_>, change: &Gid) -> Result<WhyNode> {
        let (summary, intent, producer) = nodes::read(world.store(), change, |object| {
            let change = Change::view(object)?;
            Ok((change.summary().to_owned(), change.intent(), change.producer()))
        })?;
        self.made.push((*change, producer));
        let namer = Namer::find(world.store(), &world.refs, [*change].into_iter().chain(intent))?;
        let intent = intent.map(|id| intent_reference(world.store(), id, &namer)).transpose()?;
        let claim = self.claim_of(change);
        let others = self.others(claim.as_ref());
        let evidence = self.evidence_of(world, change, claim.as_ref(), &others)?;
        let residuals = self.residuals_of(world, change, claim.as_ref())?;
        let row = match &claim {
            Some(claim) => {
                let derived = world.derived(claim)?;
                self.unsure.extend(derived.unsure.iter().copied());
                Some(claim_row((claim, &derived)))
            }
            None => None,
        };
        Ok(WhyNode {
            change: Reference { id: *change, name: namer.get(change), summary: Some(summary) },
            intent,
            claim: row,
            claims: self.kept("claims", others.iter().map(|claim| claim.node.id).collect(), Gid::to_string),
            evidence,
            residuals,
            decision: self.decision.clone(),
        })
    }

    /// The claim a node tells: the newest that the change declares about the subject and that holds; else the newest
    /// about the subject.
    fn claim_of(&self, change: &Gid) -> Option<ScopedClaim> {
        let own = self.claims.iter().find(|claim| claim.change == Some(*change) && !claim.replaced);
        own.or(self.claims.first()).cloned()
    }

    fn others(&self, told: Option<&ScopedClaim>) -> Vec<ScopedClaim> {
        let told = told.map(|claim| claim.node.id);
        let others = self.claims.iter().filter(|claim| !claim.replaced && Some(claim.node.id) != told);
        others.cloned().collect()
    }

    fn evidence_of(
        &mut self,
        world: &mut World<'_>,
        change: &Gid,
        claim: Option<&ScopedClaim>,
        others: &[ScopedClaim],
    ) -> Result<Vec<WhyEvidence>> {
        let (mut ids, mut seen) = (Vec::new(), BTreeSet::new());
        for claim in claim.into_iter().chain(others) {
            let mut linked = Vec::new();
            for id in &claim.node.evidence {
                if seen.insert(*id) {
                    linked.extend(world.evidence(id)?);
                }
            }
            linked.sort_by_key(|node| (std::cmp::Reverse(node.created_at_ms), node.id));
            ids.extend(linked);
        }
        let declared = world.change(change)?.map(|node| node.evidence.clone()).unwrap_or_default();
        let own = self.evidence.iter().filter(|node| declared.contains(&node.id) && seen.insert(node.id));
        ids.extend(own.cloned());
        let kept = self.kept("evidence", ids, |node| node.id.to_string());
        kept.iter().map(|node| self.evidence_row(world, node)).collect()
    }

    fn evidence_row(&mut self, world: &mut World<'_>, node: &EvidenceNode) -> Result<WhyEvidence> {
        let subjects = Subjects { text: node.subject.as_deref(), references: &node.subject_refs };
        let freshness = world.with_judge(|world, judge| judge.freshness(world, node.evaluated, subjects))?;
        self.unsure.extend(doubt(&freshness, node.evaluated).map(|reason| (node.id, reason)));
        let compares = matches!(node.kind, EvidenceKind::OracleComparison | EvidenceKind::BinaryComparison);
        Ok(WhyEvidence {
            id: node.id,
            kind: node.kind.as_str(),
            subject: node.subject.clone(),
            outcome: node.outcome.map(EvidenceOutcome::as_str),
            label: (compares && node.outcome == Some(EvidenceOutcome::Pass)).then_some("match"),
            freshness: freshness.into(),
        })
    }

    fn residuals_of(
        &mut self,
        world: &mut World<'_>,
        change: &Gid,
        claim: Option<&ScopedClaim>,
    ) -> Result<Vec<ResidualRow>> {
        let mut ids = world.change(change)?.map(|node| node.residuals.clone()).unwrap_or_default();
        if let Some(claim) = claim {
            ids.extend(world.residuals_of(claim)?);
        }
        let rows = world.newest_residuals(ids)?.iter().map(residual_row).collect();
        Ok(self.kept("residuals", rows, |row: &ResidualRow| row.id.to_string()))
    }

    /// The rows of a list that an answer holds; the others are counted.
    fn kept<T>(&mut self, class: &'static str, mut rows: Vec<T>, id: impl Fn(&T) -> String) -> Vec<T> {
        let beyond = rows.split_off(rows.len().min(MAX_ROWS));
        if !beyond.is_empty() {
            self.omitted.push(omitted_list(class, "limit", beyond.iter().map(id).collect()));
        }
        rows
    }
}
