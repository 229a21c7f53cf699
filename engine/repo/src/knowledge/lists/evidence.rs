//! `evidence show` and `evidence list` (query surface, section 4.4).

use super::page::{Window, page};
use crate::facts::{Page, Uncertainty};
use crate::history::nodes::{self, EvidenceNode};
use crate::history::{Veil, state_of};
use crate::knowledge::claims::{doubt, doubts};
use crate::knowledge::freshness::{Freshness, Judge, Subjects};
use crate::knowledge::session::Session;
use crate::knowledge::subject::Subject;
use crate::knowledge::world::World;
use crate::names::{Accept, Namer, resolve_in};
use crate::{RepoError, Result};
use gemel_object::families::Evidence;
use gemel_object::{EvidenceKind, EvidenceOutcome, Family, Gid};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What `evidence list` is told.
#[derive(Clone, Debug, Default)]
pub struct EvidenceListOptions {
    /// Only evidence about this.
    pub subject: Option<String>,
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<String>,
    /// Of a subject also the evidence that claims about it link, whatever that is about itself.
    pub all: bool,
    /// Which part of the list.
    pub window: Window,
}

/// Whether evidence still speaks about a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreshnessFacts {
    /// `FRESH`, `MAY_REQUIRE_REFRESH` or `UNKNOWN`.
    pub status: &'static str,
    /// The changes that touched what it is about, ascending.
    pub caused_by: Vec<Gid>,
}

/// Numbers of cases, as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseCounts {
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were not run.
    pub skipped: u64,
    /// All of them.
    pub total: u64,
}

/// What is recorded about repeating an observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReproductionFacts {
    /// Whether it can be run again.
    pub replayable: Option<bool>,
    /// Whether what it needs is stored here.
    pub inputs_present: Option<bool>,
    /// Whether it needs something from elsewhere.
    pub inputs_remote: Option<bool>,
    /// Whether a policy must allow it.
    pub policy_required: Option<bool>,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceEntry {
    /// The evidence.
    pub id: Gid,
    /// Its name.
    pub name: Option<String>,
    /// What sort of observation it is.
    pub kind: &'static str,
    /// What it is about.
    pub subject: Option<String>,
    /// What was observed; `None` when the run has no result.
    pub outcome: Option<&'static str>,
    /// The state it was gathered at.
    pub evaluated_state: Option<Gid>,
    /// Relative to the head state, or the state asked about.
    pub freshness: FreshnessFacts,
    /// Recorded values only.
    pub reproduction: ReproductionFacts,
    /// Who or what observed it.
    pub producer: Gid,
    /// Where.
    pub environment: Option<Gid>,
    /// Operating system family of the environment.
    pub platform: Option<String>,
    /// Processor architecture of the environment.
    pub arch: Option<String>,
    /// What was run.
    pub command: Option<String>,
    /// Numbers of cases.
    pub counts: Option<CaseCounts>,
    /// How the command ended.
    pub exit_code: Option<i64>,
    /// Newest refinements of the claims that link it, ascending.
    pub claims: Vec<Gid>,
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceFacts {
    /// The row.
    pub row: EvidenceEntry,
    /// The canonical envelope, re-hashed.
    pub envelope: Vec<u8>,
    /// What of it may be told.
    pub veil: Veil,
    /// What is not known of it.
    pub uncertainty: Vec<Uncertainty>,
}

/// A page of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceListFacts {
    /// The rows, newest first, then by identity.
    pub rows: Vec<EvidenceEntry>,
    /// Which part of the list they are.
    pub page: Page,
    /// What is not known of the subject and of the rows.
    pub uncertainty: Vec<Uncertainty>,
}

/// Shows one piece of evidence, fresh or not against the head state or `state`.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `WrongFamily`, `Store`, `CorruptObject`.
pub fn evidence_show(session: &mut Session<'_>, id: &str, state: Option<&str>) -> Result<EvidenceFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let id = resolve_in(repo, &world.refs, id, Accept::only(Family::Evidence))?;
    let state = state.map(|text| state_of(repo, &world.refs, text)).transpose()?;
    let envelope = repo.store().read(&id)?;
    let node = Arc::new(nodes::evidence(repo.store(), &id)?);
    let mut uncertainty = Vec::new();
    let rows = match state {
        Some(state) => {
            let mut judge = Judge::at(world, state)?;
            describe(world, &mut judge, &[node], &mut uncertainty)?
        }
        None => world.with_judge(|world, judge| describe(world, judge, &[node], &mut uncertainty))?,
    };
    let row = rows.into_iter().next().ok_or_else(|| RepoError::invalid("evidence without a row"))?;
    Ok(EvidenceFacts { row, envelope, veil: world.veil(&id)?, uncertainty })
}

/// Lists evidence with its freshness against the head state.
///
/// # Errors
/// `EnumValue` (kind, outcome), `Invalid` (limit 0), `Ambiguous`, `Store`, `CorruptObject`.
pub fn evidence_list(session: &mut Session<'_>, options: &EvidenceListOptions) -> Result<EvidenceListFacts> {
    let kind = options.kind.as_deref().map(parse_kind).transpose()?;
    let outcome = options.outcome.as_deref().map(parse_outcome).transpose()?;
    let repo = session.repo();
    let world = session.world()?;
    let (ids, subject) = match &options.subject {
        Some(text) => {
            let subject = Subject::read(repo, &world.refs, text)?;
            (Arc::new(about(world, &subject, options.all)?), Some(subject))
        }
        None => (world.all_evidence()?, None),
    };
    let (found, page) = page(&ids, &options.window, |id| {
        let node = world.evidence(id)?;
        Ok(node.filter(|node| {
            kind.is_none_or(|wanted| node.kind == wanted)
                && outcome.is_none_or(|wanted| node.outcome == Some(wanted))
        }))
    })?;
    let mut uncertainty = Vec::new();
    if let Some(subject) = subject.filter(|_| ids.is_empty()) {
        uncertainty.extend(world.subject_doubt(&subject)?);
    }
    let rows = world.with_judge(|world, judge| describe(world, judge, &found, &mut uncertainty))?;
    Ok(EvidenceListFacts { rows, page, uncertainty })
}

fn parse_kind(text: &str) -> Result<EvidenceKind> {
    let allowed = EvidenceKind::SET.values;
    EvidenceKind::from_text(text).ok_or(RepoError::EnumValue {
        field: "kind",
        value: text.to_owned(),
        allowed,
    })
}

fn parse_outcome(text: &str) -> Result<EvidenceOutcome> {
    let allowed = EvidenceOutcome::SET.values;
    let value = text.to_owned();
    EvidenceOutcome::from_text(text).ok_or(RepoError::EnumValue { field: "outcome", value, allowed })
}

/// Evidence about a subject, and with `linked` what claims about it link. Newest first, then by identity.
fn about(world: &mut World<'_>, subject: &Subject, linked: bool) -> Result<Vec<Gid>> {
    let mut nodes = world.evidence_about(subject)?;
    if linked {
        let mut seen: BTreeSet<Gid> = nodes.iter().map(|node| node.id).collect();
        for claim in world.claims_about(subject)? {
            for id in &claim.node.evidence {
                if seen.insert(*id) {
                    nodes.extend(world.evidence(id)?);
                }
            }
        }
        nodes.sort_by_key(|node| (std::cmp::Reverse(node.created_at_ms), node.id));
    }
    Ok(nodes.iter().map(|node| node.id).collect())
}

/// The rows of evidence, and what is not known of them.
fn describe(
    world: &mut World<'_>,
    judge: &mut Judge,
    found: &[Arc<EvidenceNode>],
    uncertainty: &mut Vec<Uncertainty>,
) -> Result<Vec<EvidenceEntry>> {
    let (mut rows, mut made, mut unsure) = (Vec::new(), Vec::new(), Vec::new());
    for node in found {
        let subjects = Subjects { text: node.subject.as_deref(), references: &node.subject_refs };
        let freshness = judge.freshness(world, node.evaluated, subjects)?;
        unsure.extend(doubt(&freshness, node.evaluated).map(|reason| (node.id, reason)));
        let mut row = nodes::read(world.store(), &node.id, |object| {
            let evidence = Evidence::view(object)?;
            Ok(recorded(node, &evidence))
        })?;
        made.push((node.id, row.producer));
        row.freshness = freshness.into();
        if let Some(platform) = world.platform(node)? {
            (row.platform, row.arch) = (Some(platform.os), Some(platform.arch));
        }
        row.claims = linking(world, &node.id)?;
        rows.push(row);
    }
    uncertainty.extend(doubts(&unsure));
    uncertainty.extend(world.provenance_doubts(&made)?);
    let namer = Namer::find(world.store(), &world.refs, rows.iter().map(|row| row.id))?;
    rows.iter_mut().for_each(|row| row.name = namer.get(&row.id));
    Ok(rows)
}

impl World<'_> {
    /// The rows of evidence, fresh or not against the head state.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn evidence_rows(&mut self, found: &[Arc<EvidenceNode>]) -> Result<Vec<EvidenceEntry>> {
        self.with_judge(|world, judge| describe(world, judge, found, &mut Vec::new()))
    }
}

/// What the evidence says of itself.
fn recorded(node: &EvidenceNode, evidence: &Evidence<'_>) -> EvidenceEntry {
    let result = evidence.result();
    let counts = result.as_ref().and_then(|result| result.counts());
    let reproduction = evidence.reproduction().map(|reproduction| ReproductionFacts {
        replayable: reproduction.replayable(),
        inputs_present: reproduction.inputs_present(),
        inputs_remote: reproduction.inputs_remote(),
        policy_required: reproduction.policy_required(),
    });
    EvidenceEntry {
        id: node.id,
        name: None,
        kind: node.kind.as_str(),
        subject: node.subject.clone(),
        outcome: node.outcome.map(|outcome| outcome.as_str()),
        evaluated_state: node.evaluated,
        freshness: Freshness::Unknown.into(),
        reproduction: reproduction.unwrap_or_default(),
        producer: evidence.producer(),
        environment: node.environment,
        platform: None,
        arch: None,
        command: evidence.command().map(str::to_owned),
        counts: counts.map(|counts| CaseCounts {
            passed: counts.passed(),
            failed: counts.failed(),
            skipped: counts.skipped(),
            total: counts.total(),
        }),
        exit_code: result.and_then(|result| result.exit_code()),
        claims: Vec::new(),
    }
}

/// Newest refinements of the declared claims that link an evidence, as far as these still do. Ascending.
pub(crate) fn linking(world: &mut World<'_>, evidence: &Gid) -> Result<Vec<Gid>> {
    let mut found = BTreeSet::new();
    for source in world.ledger()?.naming(evidence) {
        if source.family() == Family::Claim
            && world.is_declared(&source)?
            && let Some(claim) = world.newest_claim(&source)?
            && claim.node.evidence.contains(evidence)
        {
            found.insert(claim.node.id);
        }
    }
    Ok(found.into_iter().collect())
}

impl From<Freshness> for FreshnessFacts {
    fn from(freshness: Freshness) -> FreshnessFacts {
        match freshness {
            Freshness::Fresh => FreshnessFacts { status: "FRESH", caused_by: Vec::new() },
            Freshness::MayRequireRefresh(caused_by) => {
                FreshnessFacts { status: "MAY_REQUIRE_REFRESH", caused_by }
            }
            Freshness::Unknown => FreshnessFacts { status: "UNKNOWN", caused_by: Vec::new() },
        }
    }
}
