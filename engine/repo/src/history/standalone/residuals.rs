//! `residual add`, `residual resolve` and `residual link` (workflow, section 6).

use super::chains::{Chain, carried};
use super::desk::{Desk, Locked, all_said, cannot_make, said, sorted, value};
use super::trajectory::{self, Added};
use crate::facts::Uncertainty;
use crate::history::graph::Graph;
use crate::history::nodes;
use crate::history::objects::non_empty;
use crate::names::Kind;
use crate::{Named, Repo, RepoError, Result};
use gemel_object::families::{NewDispositionEvent, NewResidual, NewResidualScope, Residual};
use gemel_object::{Disposition, Encoded, Family, Gid, ResidualClass, ResidualSeverity, Strings};

/// Tags of the fields that a new version sets anew.
mod tag {
    pub(super) const PREVIOUS: u8 = 0x01;
    pub(super) const SCOPE: u8 = 0x05;
    pub(super) const CLAIMS: u8 = 0x06;
    pub(super) const CHANGES: u8 = 0x07;
    pub(super) const ORIGIN: u8 = 0x08;
    pub(super) const EVENT: u8 = 0x0A;
    pub(super) const CREATED: u8 = 0x0C;
}

/// What `residual add` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct ResidualAddOptions {
    /// What is left.
    pub summary: String,
    /// `medium` when absent.
    pub severity: Option<String>,
    /// `other` when absent.
    pub classification: Option<String>,
    /// Claims it stands against.
    pub claims: Vec<String>,
    /// The evidence that showed it.
    pub origin: Option<String>,
    /// Paths it is about.
    pub paths: Vec<String>,
    /// Changes it is about.
    pub changes: Vec<String>,
    /// Who found it; the default producer when absent.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// What `residual link` is told.
#[derive(Clone, Debug, Default)]
pub struct ResidualLinkOptions {
    /// The residual, at any version.
    pub id: String,
    /// Claims it stands against.
    pub claims: Vec<String>,
    /// The evidence that showed it.
    pub origin: Option<String>,
    /// Paths it is about.
    pub paths: Vec<String>,
    /// Changes it is about.
    pub changes: Vec<String>,
    /// Who says so; checked, since a link has no place for it.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// What `residual resolve` is told.
#[derive(Clone, Debug, Default)]
pub struct ResidualResolveOptions {
    /// The residual, at any version.
    pub id: String,
    /// One of the dispositions.
    pub disposition: String,
    /// Why.
    pub reason: Option<String>,
    /// The evidence it rests on.
    pub evidence: Option<String>,
    /// The reconciliation that brought it.
    pub reconciliation: Option<String>,
    /// Who decides; the default producer when absent.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// A residual that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidualAdded {
    /// The residual.
    pub id: Gid,
    /// Its name.
    pub name: String,
    /// The version of the trajectory it entered.
    pub trajectory: Option<Named>,
    /// That no trajectory was open.
    pub uncertainty: Vec<Uncertainty>,
}

/// A new version of a residual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidualVersion {
    /// The version it follows.
    pub previous: Gid,
    /// The newest version; the same when nothing had to be written.
    pub version: Gid,
    /// Its disposition.
    pub disposition: Disposition,
    /// Its name.
    pub name: String,
}

/// Records a residual outside a change; it enters the current trajectory.
///
/// # Errors
/// `Invalid`, `EnumValue`, `WrongFamily`, `Unresolved`, `Object`, `Store`.
pub fn residual_add(repo: &Repo, options: &ResidualAddOptions) -> Result<ResidualAdded> {
    let desk = Desk::open(repo, options.now_ms)?;
    let summary = said("--summary", &options.summary)?;
    let severity = options
        .severity
        .as_deref()
        .map(|text| value("severity", text, ResidualSeverity::from_text, ResidualSeverity::SET));
    let class = options
        .classification
        .as_deref()
        .map(|text| value("classification", text, ResidualClass::from_text, ResidualClass::SET));
    all_said("--path", &options.paths)?;
    let paths = sorted_texts(&options.paths);
    let claims = desk.ids(&options.claims, Family::Claim)?;
    let changes = desk.ids(&options.changes, Family::Change)?;
    desk.producer(options.producer.as_deref())?;
    let scope = NewResidualScope { paths: Some(Strings::Owned(&paths)), ..NewResidualScope::default() };
    let residual = NewResidual {
        summary: Some(summary),
        classification: Some(class.transpose()?.unwrap_or(ResidualClass::Other)),
        severity: Some(severity.transpose()?.unwrap_or(ResidualSeverity::Medium)),
        scope: (!paths.is_empty()).then_some(scope),
        affected_claims: non_empty(&claims),
        affected_changes: non_empty(&changes),
        origin_evidence: desk.optional(options.origin.as_deref(), Family::Evidence)?,
        first_observed_at: Some(options.now_ms),
        created_at: Some(options.now_ms),
        ..NewResidual::default()
    };
    let residual = residual.encode(&desk.limits).map_err(cannot_make(Family::Residual))?;
    let mut graph = Graph::new(repo.store());
    let mut locked = desk.lock()?;
    locked.put(&residual)?;
    let name = locked.name(Kind::Residual, residual.id)?;
    let refs = locked.refs().clone();
    let trajectory = match trajectory::current(&mut graph, &refs)? {
        Some(named) => {
            let added = Added { residuals: &[residual.id], ..Added::default() };
            let id = trajectory::extend(&mut locked, &mut graph, &named, added, &desk.limits)?;
            Some(Named { id, name: Some(named.name) })
        }
        None => None,
    };
    locked.commit("residual add")?;
    let uncertainty = trajectory.is_none().then(|| Uncertainty {
        class: "declaring_change",
        ids: vec![residual.id.to_string()],
        reason: "no trajectory is open: it belongs to none, and only its name leads to it".to_owned(),
    });
    Ok(ResidualAdded { id: residual.id, name, trajectory, uncertainty: uncertainty.into_iter().collect() })
}

/// Gives a residual a disposition: a new version of its newest one. It may reopen.
///
/// # Errors
/// `EnumValue`, `WrongFamily`, `Unresolved`, `Object`, `Store`.
pub fn residual_resolve(repo: &Repo, options: &ResidualResolveOptions) -> Result<ResidualVersion> {
    let desk = Desk::open(repo, options.now_ms)?;
    let disposition = value("disposition", &options.disposition, Disposition::from_text, Disposition::SET)?;
    let event = NewDispositionEvent {
        disposition: Some(disposition),
        by: Some(desk.producer(options.producer.as_deref())?),
        evidence: desk.optional(options.evidence.as_deref(), Family::Evidence)?,
        reconciliation: desk.optional(options.reconciliation.as_deref(), Family::Reconciliation)?,
        reason: options.reason.as_deref().map(|text| said("--reason", text)).transpose()?,
        at: Some(options.now_ms),
        ..NewDispositionEvent::default()
    };
    new_version(&desk, &options.id, "residual resolve", |newest| {
        let mut next = carried(desk.store(), newest, &[tag::PREVIOUS, tag::EVENT, tag::CREATED])?;
        next.body().set(tag::PREVIOUS, *newest).set(tag::EVENT, event).set(tag::CREATED, desk.now_ms);
        next.finish(&desk.limits).map(Some).map_err(cannot_make(Family::Residual))
    })
}

/// Adds links to a residual: a new version of its newest one, or nothing when it has them all.
///
/// # Errors
/// `Invalid` when nothing is named or another evidence is its origin; `WrongFamily`, `Unresolved`, `Object`, `Store`.
pub fn residual_link(repo: &Repo, options: &ResidualLinkOptions) -> Result<ResidualVersion> {
    let desk = Desk::open(repo, options.now_ms)?;
    all_said("--path", &options.paths)?;
    let new = Links {
        claims: desk.ids(&options.claims, Family::Claim)?,
        changes: desk.ids(&options.changes, Family::Change)?,
        paths: sorted_texts(&options.paths),
        origin: desk.optional(options.origin.as_deref(), Family::Evidence)?,
    };
    if new == Links::default() {
        return Err(RepoError::invalid("nothing to link: name a --claim, --change, --path or --origin"));
    }
    desk.producer(options.producer.as_deref())?;
    new_version(&desk, &options.id, "residual link", |newest| {
        let old = Links::of(&desk, newest)?;
        let all = old.with(&new, newest)?;
        if all == old {
            return Ok(None);
        }
        let set = [tag::PREVIOUS, tag::SCOPE, tag::CLAIMS, tag::CHANGES, tag::ORIGIN, tag::CREATED];
        let mut next = carried(desk.store(), newest, &set)?;
        nodes::read(desk.store(), newest, |object| {
            let body = next.body();
            body.set(tag::PREVIOUS, *newest)
                .set_if(tag::CLAIMS, non_empty(&all.claims))
                .set_if(tag::CHANGES, non_empty(&all.changes))
                .set_if(tag::ORIGIN, all.origin)
                .set(tag::CREATED, desk.now_ms);
            let scope = Residual::view(object)?.scope();
            if all.paths.is_empty() && scope.is_none() {
                return Ok(());
            }
            let trajectories: Vec<Gid> = scope.iter().flat_map(|s| s.trajectories().iter()).collect();
            let entities: Vec<Gid> = scope.iter().flat_map(|s| s.entities().iter()).collect();
            let extensions: Vec<(u8, &[u8])> = scope.iter().flat_map(|s| s.record().extensions()).collect();
            let scope = NewResidualScope {
                intent: scope.as_ref().and_then(|scope| scope.intent()),
                trajectories: non_empty(&trajectories),
                paths: non_empty(&all.paths).map(Strings::Owned),
                entities: non_empty(&entities),
                extensions: &extensions,
            };
            body.set(tag::SCOPE, scope);
            Ok(())
        })?;
        next.finish(&desk.limits).map(Some).map_err(cannot_make(Family::Residual))
    })
}

/// What a residual is linked with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Links {
    claims: Vec<Gid>,
    changes: Vec<Gid>,
    paths: Vec<String>,
    origin: Option<Gid>,
}

impl Links {
    fn of(desk: &Desk<'_>, id: &Gid) -> Result<Links> {
        nodes::read(desk.store(), id, |object| {
            let residual = Residual::view(object)?;
            let paths = residual.scope().map(|scope| scope.paths().iter().map(str::to_owned).collect());
            Ok(Links {
                claims: residual.affected_claims().iter().collect(),
                changes: residual.affected_changes().iter().collect(),
                paths: paths.unwrap_or_default(),
                origin: residual.origin_evidence(),
            })
        })
    }

    /// These and `new`; a list stays as it is when nothing is new to it.
    fn with(&self, new: &Links, residual: &Gid) -> Result<Links> {
        if let (Some(old), Some(new)) = (self.origin, new.origin)
            && old != new
        {
            return Err(RepoError::Invalid {
                detail: format!("residual {residual} was shown by {old}; a residual has one --origin"),
                ids: vec![*residual, old],
            });
        }
        let ids = |old: &[Gid], new: &[Gid]| match new.iter().all(|id| old.contains(id)) {
            true => old.to_vec(),
            false => sorted([old, new].concat()),
        };
        let paths = match new.paths.iter().all(|path| self.paths.contains(path)) {
            true => self.paths.clone(),
            false => sorted_texts(&[self.paths.as_slice(), new.paths.as_slice()].concat()),
        };
        Ok(Links {
            claims: ids(&self.claims, &new.claims),
            changes: ids(&self.changes, &new.changes),
            paths,
            origin: self.origin.or(new.origin),
        })
    }
}

/// Appends what `make` builds on the newest version of the residual `text` names; its name moves. The newest version is
/// decided under the lock, looked for before.
fn new_version(
    desk: &Desk<'_>,
    text: &str,
    command: &str,
    make: impl FnOnce(&Gid) -> Result<Option<Encoded>>,
) -> Result<ResidualVersion> {
    let id = desk.id(text, Family::Residual)?;
    let expected = Chain::of_residual(desk.store(), &desk.refs, id)?;
    let mut locked = desk.lock()?;
    let refs = locked.refs().clone();
    let chain = match refs.sequence() == desk.refs.sequence() {
        true => expected,
        false => Chain::of_residual(desk.store(), &refs, id)?,
    };
    let previous = chain.newest;
    let version = make(&previous)?;
    if let Some(version) = &version {
        locked.put(version)?;
    }
    let id = version.as_ref().map_or(previous, |version| version.id);
    let name = moved(&mut locked, &chain, Kind::Residual, id)?;
    locked.commit(command)?;
    let disposition = nodes::residual(desk.store(), &id)?.disposition;
    Ok(ResidualVersion { previous, version: id, disposition, name })
}

/// Moves the name of a chain to `newest`; a chain without a numbered name gets one.
///
/// # Errors
/// `Store`, `Limit`.
pub(super) fn moved(locked: &mut Locked<'_>, chain: &Chain, kind: Kind, newest: Gid) -> Result<String> {
    let refs = locked.refs().clone();
    let (full, short) = match chain.name(locked.store, &refs, kind)? {
        Some(short) => (format!("{}{short}", kind.namespace()), short),
        None => {
            let name = locked.next(kind)?;
            (name.full, name.short)
        }
    };
    locked.transaction.set(full, newest);
    Ok(short)
}

fn sorted_texts(texts: &[String]) -> Vec<String> {
    let mut texts = texts.to_vec();
    texts.sort_unstable();
    texts.dedup();
    texts
}
