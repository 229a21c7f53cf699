//! What belongs to a subject, phase by phase (query surface, section 2.3).
//!
//! Candidates are identities; what is told of one is read only while the bundle still takes objects.

use super::Forms;
use super::bundle::{Bundle, BundleObject, Class};
use crate::Result;
use crate::content::entry_at;
use crate::facts::Uncertainty;
use crate::history::graph::stored;
use crate::history::nodes::{self, EvidenceNode, ResidualNode};
use crate::knowledge::lists::{claim_entries, outcome_word, residual_entries};
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::subject::Subject;
use crate::knowledge::why::path_of;
use crate::knowledge::world::World;
use gemel_object::families::{AgentRun, Change, ContextManifest, Trajectory};
use gemel_object::{Disposition, Family, Gid, Mode, blob_header};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Rows that are made together.
const TOGETHER: usize = 32;

/// A bundle being filled.
pub(super) struct Gather<'g, 's> {
    pub(super) world: &'g mut World<'s>,
    pub(super) forms: &'g dyn Forms,
    pub(super) subject: &'g Subject,
    pub(super) intent: Option<Gid>,
    pub(super) bundle: Bundle,
    pub(super) uncertainty: Vec<Uncertainty>,
}

impl Gather<'_, '_> {
    /// Changes that touch the subject.
    pub(super) fn changes(&mut self) -> Result<()> {
        for id in self.world.touching(self.subject)? {
            if !self.bundle.passes(Class::Changes, id) {
                let summary = nodes::read(self.world.store(), &id, |object| {
                    Ok(Change::view(object)?.summary().to_owned())
                })?;
                self.add(Class::Changes, id, summary);
            }
        }
        Ok(())
    }

    /// Claims about the subject; those that fitted.
    pub(super) fn claims(&mut self) -> Result<Vec<ScopedClaim>> {
        let mut claims = self.world.claims_about(self.subject)?;
        claims.retain(|claim| !claim.replaced);
        let mut taken = Vec::new();
        for part in claims.chunks(TOGETHER) {
            let mut open = Vec::new();
            for claim in part {
                if !self.bundle.passes(Class::Claims, claim.node.id) {
                    open.push((claim.clone(), self.world.derived(claim)?));
                }
            }
            let rows = claim_entries(self.world, &open, &mut self.uncertainty)?;
            for (row, (claim, _)) in rows.iter().zip(open) {
                let fields = self.forms.claim(row);
                self.add_row(Class::Claims, row.id, row.predicate.clone(), Value::Object(fields));
                if !self.bundle.is_full() {
                    taken.push(claim);
                }
            }
        }
        Ok(taken)
    }

    /// The file that the subject is.
    pub(super) fn sources(&mut self) -> Result<()> {
        let blob = self.subject.id.filter(|id| id.family() == Family::Blob);
        let path = path_of(self.world, self.subject)?;
        let (blob, path) = match (blob, path, self.world.head_root()?) {
            (Some(blob), ..) => (blob, self.subject.given.clone()),
            (None, Some(path), Some(root)) => match entry_at(self.world.store(), root, &path)? {
                Some((mode, blob)) if mode != Mode::Directory => (blob, path),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        if !self.bundle.passes(Class::Sources, blob) {
            let len = self.world.store().len_bytes(&blob)?;
            self.add(Class::Sources, blob, format!("{path} ({} bytes)", body_len(len)));
        }
        Ok(())
    }

    /// Residuals that affect the subject, and those of the intent: open ones, acknowledged ones, others.
    pub(super) fn residuals(&mut self) -> Result<()> {
        let mut found = self.world.residuals_affecting(self.subject)?;
        if let Some(intent) = self.intent {
            let mut named = self.world.ledger()?.naming(&intent);
            named.retain(|id| id.family() == Family::Residual);
            found
                .extend(self.world.newest_residuals(named)?.into_iter().filter(|n| n.intent == Some(intent)));
        }
        found.sort_by_key(|node| (rank(node), Reverse(node.created_at_ms), node.id));
        found.dedup_by_key(|node| node.id);
        for part in found.chunks(TOGETHER) {
            let mut open: Vec<Arc<ResidualNode>> = Vec::new();
            for node in part {
                if !self.bundle.passes(Class::Residuals, node.id) {
                    open.push(node.clone());
                }
            }
            for row in residual_entries(self.world, &open, &mut self.uncertainty)? {
                let fields = self.forms.residual(&row);
                self.add_row(Class::Residuals, row.id, row.summary, Value::Object(fields));
            }
        }
        Ok(())
    }

    /// Trajectories that touched the subject, then those that share an intent.
    pub(super) fn attempts(&mut self) -> Result<()> {
        for attempt in self.world.attempts_at(self.subject, self.intent)? {
            if !self.bundle.passes(Class::Attempts, attempt.id) {
                let summary = nodes::read(self.world.store(), &attempt.id, |object| {
                    let version = Trajectory::view(object)?;
                    let reason = version.termination_reason().unwrap_or_default();
                    Ok(format!("{}: {reason}", outcome_word(version.outcome())))
                })?;
                self.add(Class::Attempts, attempt.id, summary);
            }
        }
        Ok(())
    }

    /// Evidence that the included claims link, then other evidence about the subject.
    pub(super) fn evidence(&mut self, claims: &[ScopedClaim]) -> Result<()> {
        let linked: BTreeSet<Gid> = claims.iter().flat_map(|claim| claim.node.evidence.clone()).collect();
        let mut nodes: Vec<Arc<EvidenceNode>> = Vec::new();
        for id in &linked {
            nodes.extend(self.world.evidence(id)?);
        }
        nodes.sort_by_key(|node| (Reverse(node.created_at_ms), node.id));
        nodes.extend(self.world.evidence_about(self.subject)?);
        for node in nodes {
            if !self.bundle.passes(Class::Evidence, node.id) {
                let outcome = node.outcome.map_or("no result", |outcome| outcome.as_str());
                self.add(Class::Evidence, node.id, format!("{}: {outcome}", node.kind.as_str()));
            }
        }
        Ok(())
    }

    /// What the agents behind the included changes and trajectories were given.
    pub(super) fn manifests(&mut self) -> Result<()> {
        let included: Vec<Gid> = self.bundle.objects.iter().map(|object| object.id).collect();
        let (mut found, mut runs) = (BTreeSet::new(), HashSet::new());
        for id in included {
            match id.family() {
                Family::Change => {
                    let (run, manifest) = nodes::read(self.world.store(), &id, |object| {
                        let change = Change::view(object)?;
                        Ok((change.agent_run(), change.context_manifest()))
                    })?;
                    runs.extend(run);
                    found.extend(manifest);
                }
                Family::Trajectory => {
                    let run = nodes::read(self.world.store(), &id, |object| {
                        Ok(Trajectory::view(object)?.agent_run())
                    })?;
                    runs.extend(run);
                }
                _ => {}
            }
        }
        for run in runs {
            let manifest = stored(nodes::read(self.world.store(), &run, |object| {
                Ok(AgentRun::view(object)?.context_manifest())
            }))?;
            found.extend(manifest.flatten());
        }
        let mut ranked = Vec::new();
        for id in found {
            let created = stored(nodes::read(self.world.store(), &id, |object| {
                Ok(ContextManifest::view(object)?.created_at().unwrap_or(0))
            }))?;
            ranked.extend(created.map(|created| (Reverse(created), id)));
        }
        ranked.sort_unstable();
        for (_, id) in ranked {
            self.add(Class::Manifests, id, String::new());
        }
        Ok(())
    }

    fn add(&mut self, class: Class, id: Gid, summary: String) {
        self.bundle.add(BundleObject {
            id,
            level: 1,
            summary,
            fields: None,
            object: None,
            content: None,
            class,
        });
    }

    fn add_row(&mut self, class: Class, id: Gid, summary: String, fields: Value) {
        let fields = Some(fields);
        self.bundle.add(BundleObject { id, level: 2, summary, fields, object: None, content: None, class });
    }
}

/// Unsettled ones first.
fn rank(node: &ResidualNode) -> u8 {
    match node.disposition {
        Disposition::Open => 0,
        Disposition::Acknowledged => 1,
        _ => 2,
    }
}

/// The length of a blob's content, from that of its envelope: what is before it says it, too.
fn body_len(envelope_len: u64) -> u64 {
    let fits = |header_len: &u64| {
        let body = envelope_len.checked_sub(*header_len);
        let header = body.and_then(|body| blob_header(body, &gemel_object::Limits::DEFAULT).ok());
        header.is_some_and(|header| header.envelope_len() == envelope_len)
    };
    (1..64).find(fits).map_or(envelope_len, |header_len| envelope_len - header_len)
}
