//! `residuals` (query surface, section 4.5).

use super::page::{Window, page};
use crate::facts::{Page, Uncertainty};
use crate::history::nodes::{self, ResidualNode};
use crate::knowledge::doubts::undeclared;
use crate::knowledge::readiness::severity_rank;
use crate::knowledge::session::Session;
use crate::knowledge::subject::Subject;
use crate::knowledge::world::World;
use crate::names::{Accept, Namer, resolve_in};
use crate::{RepoError, Result};
use gemel_object::families::Residual;
use gemel_object::{Disposition, Family, Gid, ResidualSeverity};
use gemel_store::StoreError;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Order of a list of residuals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResidualOrder {
    /// Newest version first, then by identity.
    #[default]
    Newest,
    /// Blocking ones first, then by first observation, then by identity (object model, section 15.4).
    Severity,
}

/// What `residuals` is told.
#[derive(Clone, Debug, Default)]
pub struct ResidualsOptions {
    /// Only residuals that affect this.
    pub subject: Option<String>,
    /// Only those with this disposition.
    pub disposition: Option<String>,
    /// Only those of this severity.
    pub severity: Option<String>,
    /// In which order.
    pub order: ResidualOrder,
    /// Which part of the list.
    pub window: Window,
}

/// What a residual concerns, as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResidualScopeFacts {
    /// The intent.
    pub intent: Option<Gid>,
    /// Trajectories, ascending.
    pub trajectories: Vec<Gid>,
    /// Paths, ascending.
    pub paths: Vec<String>,
    /// Entities, ascending.
    pub entities: Vec<Gid>,
}

/// A residual at its newest version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidualEntry {
    /// The newest version.
    pub id: Gid,
    /// Its name.
    pub name: Option<String>,
    /// What is unresolved.
    pub summary: String,
    /// What sort of disagreement it is.
    pub classification: Option<&'static str>,
    /// `low` to `blocking`; absent in the object reads as `medium`.
    pub severity: &'static str,
    /// Newest disposition.
    pub disposition: &'static str,
    /// Changes that came after what it affects and after its declaration.
    pub descendant_changes: u64,
    /// What it concerns; `None` when the object has no scope.
    pub scope: Option<ResidualScopeFacts>,
    /// The evidence that showed it.
    pub origin_evidence: Option<Gid>,
    /// Claims it affects, newest refinements, ascending.
    pub affected_claims: Vec<Gid>,
    /// Changes it affects, ascending.
    pub affected_changes: Vec<Gid>,
    /// The change that declares it.
    pub declared_by: Option<Gid>,
    /// Its first version.
    pub first_id: Gid,
    /// Why it has its disposition.
    pub reason: Option<String>,
}

/// A page of residuals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidualsFacts {
    /// The rows, in the order asked for.
    pub rows: Vec<ResidualEntry>,
    /// Which part of the list they are.
    pub page: Page,
    /// What is not known of the subject and of the rows.
    pub uncertainty: Vec<Uncertainty>,
}

/// Lists residuals at their newest versions.
///
/// # Errors
/// `EnumValue` (disposition, severity), `Invalid` (limit 0), `Ambiguous`, `Store`, `CorruptObject`.
pub fn residuals(session: &mut Session<'_>, options: &ResidualsOptions) -> Result<ResidualsFacts> {
    let disposition = options.disposition.as_deref().map(parse_disposition).transpose()?;
    let severity = options.severity.as_deref().map(parse_severity).transpose()?;
    let repo = session.repo();
    let world = session.world()?;
    let (mut ids, subject) = match &options.subject {
        Some(text) => {
            let subject = Subject::read(repo, &world.refs, text)?;
            let found = world.residuals_affecting(&subject)?;
            (Arc::new(found.iter().map(|node| node.id).collect()), Some(subject))
        }
        None => (world.all_residuals()?, None),
    };
    if options.order == ResidualOrder::Severity {
        ids = Arc::new(by_severity(world, &ids)?);
    }
    let (found, page) = page(&ids, &options.window, |id| {
        let node = world.residual(id)?;
        Ok(node.filter(|node| {
            disposition.is_none_or(|wanted| node.disposition == wanted)
                && severity.is_none_or(|wanted| node.severity == wanted)
        }))
    })?;
    let mut uncertainty = Vec::new();
    if let Some(subject) = subject.filter(|_| ids.is_empty()) {
        uncertainty.extend(world.subject_doubt(&subject)?);
    }
    let rows = describe(world, &found, &mut uncertainty)?;
    Ok(ResidualsFacts { rows, page, uncertainty })
}

/// One residual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidualFacts {
    /// The residual at its newest version.
    pub row: ResidualEntry,
    /// What is not known of it.
    pub uncertainty: Vec<Uncertainty>,
}

/// The residual that `text` names, by any of its versions.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `WrongFamily`, `Store`, `CorruptObject`.
pub fn residual_show(session: &mut Session<'_>, text: &str) -> Result<ResidualFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let id = resolve_in(repo, &world.refs, text, Accept::only(Family::Residual))?;
    let absent = || RepoError::from(StoreError::NotFound { id });
    let newest = world.newest_residual(&id)?;
    let node = world.residual(&newest)?.ok_or_else(absent)?;
    let mut uncertainty = Vec::new();
    let rows = describe(world, &[node], &mut uncertainty)?;
    Ok(ResidualFacts { row: rows.into_iter().next().ok_or_else(absent)?, uncertainty })
}

fn parse_disposition(text: &str) -> Result<Disposition> {
    let allowed = Disposition::SET.values;
    let value = text.to_owned();
    Disposition::from_text(text).ok_or(RepoError::EnumValue { field: "disposition", value, allowed })
}

fn parse_severity(text: &str) -> Result<ResidualSeverity> {
    let allowed = ResidualSeverity::SET.values;
    let value = text.to_owned();
    ResidualSeverity::from_text(text).ok_or(RepoError::EnumValue { field: "severity", value, allowed })
}

fn by_severity(world: &mut World<'_>, ids: &[Gid]) -> Result<Vec<Gid>> {
    let mut ranked = Vec::with_capacity(ids.len());
    for id in ids {
        if let Some(node) = world.residual(id)? {
            ranked.push((severity_rank(node.severity), node.first_observed_ms, *id));
        }
    }
    ranked.sort_unstable();
    Ok(ranked.into_iter().map(|(_, _, id)| id).collect())
}

/// The rows of residuals, and what is not known of them.
pub(crate) fn describe(
    world: &mut World<'_>,
    found: &[Arc<ResidualNode>],
    uncertainty: &mut Vec<Uncertainty>,
) -> Result<Vec<ResidualEntry>> {
    let (mut rows, mut orphans) = (Vec::new(), BTreeSet::new());
    for node in found {
        let versions: Vec<Gid> =
            world.residual_versions(&node.id)?.iter().map(|version| version.id).collect();
        uncertainty.extend(world.fork_doubts(&versions)?);
        let declaring = declaring_changes(world, &versions)?;
        let declared_by = world.earliest(&declaring)?;
        if declared_by.is_none() {
            orphans.insert(node.id);
        }
        let starts: BTreeSet<Gid> = declaring.iter().chain(&node.changes).copied().collect();
        let (classification, reason, scope) = nodes::read(world.store(), &node.id, |object| {
            let residual = Residual::view(object)?;
            let reason = residual.disposition_event().and_then(|event| event.reason().map(str::to_owned));
            Ok((residual.classification(), reason, residual.scope().is_some()))
        })?;
        rows.push(ResidualEntry {
            id: node.id,
            name: None,
            summary: node.summary.clone(),
            classification: classification.map(|class| class.as_str()),
            severity: node.severity.as_str(),
            disposition: node.disposition.as_str(),
            descendant_changes: persistence(world, &starts)?,
            scope: scope.then(|| recorded_scope(node)),
            origin_evidence: node.origin,
            affected_claims: world.newest_of(&node.claims)?,
            affected_changes: ascending(&node.changes),
            declared_by,
            first_id: versions.last().copied().unwrap_or(node.id),
            reason,
        });
    }
    uncertainty.extend(undeclared(&orphans));
    let namer = Namer::find(world.store(), &world.refs, rows.iter().map(|row| row.id))?;
    rows.iter_mut().for_each(|row| row.name = namer.get(&row.id));
    Ok(rows)
}

fn recorded_scope(node: &ResidualNode) -> ResidualScopeFacts {
    let mut paths = node.paths.clone();
    paths.sort_unstable();
    paths.dedup();
    ResidualScopeFacts {
        intent: node.intent,
        trajectories: ascending(&node.trajectories),
        paths,
        entities: ascending(&node.entities),
    }
}

fn ascending(ids: &[Gid]) -> Vec<Gid> {
    ids.iter().copied().collect::<BTreeSet<Gid>>().into_iter().collect()
}

/// The known changes that list one of the versions of a residual.
fn declaring_changes(world: &mut World<'_>, versions: &[Gid]) -> Result<BTreeSet<Gid>> {
    let mut found = BTreeSet::new();
    for version in versions {
        for source in world.ledger()?.naming(version) {
            if source.family() == Family::Change
                && world.is_known(&source)?
                && world.change(&source)?.is_some_and(|change| change.residuals.contains(version))
            {
                found.insert(source);
            }
        }
    }
    Ok(found)
}

/// The number of reachable changes that descend from one of `starts`; one of these counts when it descends from another
/// (object model, section 15.4; DER-03).
fn persistence(world: &mut World<'_>, starts: &BTreeSet<Gid>) -> Result<u64> {
    let order = world.order()?;
    let known: Vec<Gid> = starts.iter().copied().filter(|id| order.holds(&world.graph, id)).collect();
    let reached = order.descendants(&world.graph, &known).count();
    let mut topmost = 0;
    for start in &known {
        let others: Vec<Gid> = known.iter().copied().filter(|other| other != start).collect();
        let below = order.descendants(&world.graph, &others);
        topmost += u64::from(!order.is_descendant(&world.graph, &below, start));
    }
    Ok(reached - topmost)
}

impl World<'_> {
    /// The newest refinements of claims, ascending; one that is not stored stands for itself.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn newest_of(&mut self, claims: &[Gid]) -> Result<Vec<Gid>> {
        let mut found = BTreeSet::new();
        for id in claims {
            found.insert(self.newest_claim(id)?.map_or(*id, |claim| claim.node.id));
        }
        Ok(found.into_iter().collect())
    }

    /// Of some changes the one recorded first, then the lowest identity.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn earliest(&mut self, changes: &BTreeSet<Gid>) -> Result<Option<Gid>> {
        let mut first: Option<(i64, Gid)> = None;
        for id in changes {
            let rank = (self.change(id)?.map_or(0, |change| change.created_at_ms), *id);
            first = Some(first.map_or(rank, |old| old.min(rank)));
        }
        Ok(first.map(|(_, id)| id))
    }
}
