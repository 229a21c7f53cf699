//! `claim add` and `claim link` (workflow, section 7).

use super::chains::{Chain, carried};
use super::desk::{Desk, Locked, cannot_make, said, sorted, value};
use super::residuals::moved;
use super::trajectory::{self, Added};
use crate::history::graph::Graph;
use crate::history::nodes;
use crate::history::objects::non_empty;
use crate::names::Kind;
use crate::{Named, Repo, RepoError, Result};
use gemel_object::families::NewClaim;
use gemel_object::{ClaimKind, Encoded, Family, Gid};

/// Tags of the fields that a refinement sets anew.
mod tag {
    pub(super) const EVIDENCE: u8 = 0x08;
    pub(super) const SUPERSEDES: u8 = 0x0B;
    pub(super) const CREATED: u8 = 0x0E;
}

/// What `claim add` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct ClaimAddOptions {
    /// What it is about.
    pub subject: String,
    /// What it says.
    pub predicate: String,
    /// `other` when absent.
    pub kind: Option<String>,
    /// Where it holds.
    pub scope: Option<String>,
    /// Evidence it rests on.
    pub evidence: Vec<String>,
    /// The claim it takes the place of.
    pub supersedes: Option<String>,
    /// Who claims it; the default producer when absent.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// What `claim link` is told.
#[derive(Clone, Debug, Default)]
pub struct ClaimLinkOptions {
    /// The claim, at any version.
    pub claim: String,
    /// Evidence it rests on.
    pub evidence: Vec<String>,
    /// Who says so; checked, since the claim stays its producer's.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// A claim that was recorded, or found to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimMade {
    /// The newest version.
    pub claim: Gid,
    /// Its name.
    pub name: String,
    /// The version it takes the place of; none when nothing had to be written.
    pub previous: Option<Gid>,
    /// The evidence named.
    pub evidence: Vec<Gid>,
    /// The version of the trajectory the evidence entered.
    pub trajectory: Option<Named>,
}

/// Records a claim outside a change, about the head change if there is one. Its evidence enters the current trajectory.
///
/// # Errors
/// `Invalid`, `EmptyPredicate`, `EnumValue`, `WrongFamily`, `Unresolved`, `Object`, `Store`.
pub fn claim_add(repo: &Repo, options: &ClaimAddOptions) -> Result<ClaimMade> {
    let desk = Desk::open(repo, options.now_ms)?;
    let subject = said("--subject", &options.subject)?;
    let predicate = said("--predicate", &options.predicate)?;
    let kind =
        options.kind.as_deref().map(|text| value("claim kind", text, ClaimKind::from_text, ClaimKind::SET));
    let kind = kind.transpose()?.unwrap_or(ClaimKind::Other);
    let scope = options.scope.as_deref().map(|text| said("--scope", text)).transpose()?;
    let evidence = desk.ids(&options.evidence, Family::Evidence)?;
    let supersedes = desk.optional(options.supersedes.as_deref(), Family::Claim)?;
    let producer = desk.producer(options.producer.as_deref())?;
    let mut graph = Graph::new(repo.store());
    let mut locked = desk.lock()?;
    let refs = locked.refs().clone();
    let previous = match supersedes {
        // What takes the place of a claim takes that of its newest version.
        Some(id) => Some(Chain::of_claim(desk.store(), &refs, id)?.newest),
        None => None,
    };
    let claim = NewClaim {
        subject: Some(subject),
        predicate: Some(predicate),
        predicate_kind: Some(kind),
        scope,
        producer: Some(producer),
        evidence: non_empty(&evidence),
        supersedes: previous,
        change: refs.get("refs/head")?,
        created_at: Some(options.now_ms),
        ..NewClaim::default()
    };
    let claim = claim.encode(&desk.limits).map_err(cannot_make(Family::Claim))?;
    locked.put(&claim)?;
    let name = locked.name(Kind::Claim, claim.id)?;
    let named = trajectory::current(&mut graph, &refs)?;
    let trajectory = entered(&desk, &mut locked, &mut graph, named, &evidence)?;
    locked.commit("claim add")?;
    Ok(ClaimMade { claim: claim.id, name, previous, evidence, trajectory })
}

/// Links a claim with evidence: a new claim that refines its newest version, or nothing when it has it all. The
/// evidence enters the trajectory of the claim.
///
/// # Errors
/// `Invalid`, `WrongFamily`, `Unresolved`, `Object`, `Store`.
pub fn claim_link(repo: &Repo, options: &ClaimLinkOptions) -> Result<ClaimMade> {
    let desk = Desk::open(repo, options.now_ms)?;
    let claim = desk.id(&options.claim, Family::Claim)?;
    let evidence = desk.ids(&options.evidence, Family::Evidence)?;
    if evidence.is_empty() {
        return Err(RepoError::invalid("nothing to link: name the --evidence"));
    }
    desk.producer(options.producer.as_deref())?;
    let expected = Chain::of_claim(desk.store(), &desk.refs, claim)?;
    let is_linked = |newest: &Gid| -> Result<bool> {
        let linked = nodes::claim(desk.store(), newest)?.evidence;
        Ok(evidence.iter().all(|id| linked.contains(id)))
    };
    if is_linked(&expected.newest)?
        && let Some(name) = expected.name(desk.store(), &desk.refs, Kind::Claim)?
    {
        return Ok(ClaimMade { claim: expected.newest, name, previous: None, evidence, trajectory: None });
    }
    let mut graph = Graph::new(repo.store());
    let mut locked = desk.lock()?;
    let refs = locked.refs().clone();
    let chain = match refs.sequence() == desk.refs.sequence() {
        true => expected,
        false => Chain::of_claim(desk.store(), &refs, claim)?,
    };
    let newest = match is_linked(&chain.newest)? {
        true => chain.newest,
        false => {
            let refined = refined(&desk, &chain.newest, &evidence)?;
            locked.put(&refined)?;
            refined.id
        }
    };
    let name = moved(&mut locked, &chain, Kind::Claim, newest)?;
    let trajectory = if newest == chain.newest {
        None
    } else {
        let named = trajectory::of_claim(&mut graph, &refs, &chain.versions)?;
        entered(&desk, &mut locked, &mut graph, named, &evidence)?
    };
    locked.commit("claim link")?;
    let previous = (newest != chain.newest).then_some(chain.newest);
    Ok(ClaimMade { claim: newest, name, previous, evidence, trajectory })
}

/// The claim with more evidence.
fn refined(desk: &Desk<'_>, claim: &Gid, evidence: &[Gid]) -> Result<Encoded> {
    let linked = nodes::claim(desk.store(), claim)?.evidence;
    let all = sorted([linked.as_slice(), evidence].concat());
    let mut next = carried(desk.store(), claim, &[tag::EVIDENCE, tag::SUPERSEDES, tag::CREATED])?;
    next.body()
        .set(tag::EVIDENCE, all.as_slice())
        .set(tag::SUPERSEDES, *claim)
        .set(tag::CREATED, desk.now_ms);
    next.finish(&desk.limits).map_err(cannot_make(Family::Claim))
}

fn entered(
    desk: &Desk<'_>,
    locked: &mut Locked<'_>,
    graph: &mut Graph<'_>,
    named: Option<trajectory::NamedTrajectory>,
    evidence: &[Gid],
) -> Result<Option<Named>> {
    let Some(named) = named.filter(|_| !evidence.is_empty()) else { return Ok(None) };
    let added = Added { evidence, ..Added::default() };
    let id = trajectory::extend(locked, graph, &named, added, &desk.limits)?;
    Ok(Some(Named { id, name: Some(named.name) }))
}
