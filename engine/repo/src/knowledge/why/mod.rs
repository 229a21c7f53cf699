//! `why`: where a thing comes from, what was claimed about it and decided, and what was tried before (query surface,
//! section 4.2; workflow, section 15.1).

mod decision;
mod identity;
mod node;
mod origin;

pub use identity::IdentityFacts;
pub(crate) use identity::path_of;
pub use node::{DecisionFacts, WhyEvidence, WhyNode};

use crate::Result;
use crate::facts::{Omitted, Uncertainty};
use crate::history::view::omitted_list;
use crate::knowledge::claims::doubts;
use crate::knowledge::lists::AttemptEntry;
use crate::knowledge::session::Session;
use crate::knowledge::subject::Subject;
use crate::knowledge::world::World;
use crate::names::Namer;
use gemel_object::Gid;
use node::Nodes;
use origin::Origin;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of one list of an answer at most; the others are counted as omitted.
const MAX_ROWS: usize = 100;

/// Why a subject is as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyFacts {
    /// As given.
    pub subject: String,
    /// Where the subject is now.
    pub current_identity: IdentityFacts,
    /// What introduced it.
    pub introduced_by: Option<WhyNode>,
    /// The newest change of head's history that touches it.
    pub last_modified_by: Option<WhyNode>,
    /// Trajectories that touched it or share an intent with one that did, but for the open one that introduced it.
    pub previous_approaches: Vec<AttemptEntry>,
    /// Names of the claims, evidence and residuals told about.
    pub names: BTreeMap<Gid, String>,
    /// Rows beyond what a list holds.
    pub omitted: Vec<Omitted>,
    /// A subject nothing touches, evidence of unknown freshness, unknown producers.
    pub uncertainty: Vec<Uncertainty>,
}

/// Tells why a subject is as it is: a path, an entity, or an object by name or identity.
///
/// # Errors
/// `Ambiguous`, `Store`, `CorruptObject`.
pub fn why(session: &mut Session<'_>, subject: &str) -> Result<WhyFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let subject = Subject::read(repo, &world.refs, subject)?;
    let touching = world.touching(&subject)?;
    let (introduced, mut uncertainty) = match subject.line.filter(|_| subject.id.is_none()) {
        Some(line) => line_origin(world, &subject, line)?,
        None => (world.first_touching(&touching)?, Vec::new()),
    };
    let modified = world.last_touching(&touching)?;
    let mut nodes = Nodes::about(world, &subject, &touching)?;
    let introduced_by = introduced.map(|change| nodes.node(world, &change)).transpose()?;
    let last_modified_by = modified.map(|change| nodes.node(world, &change)).transpose()?;
    let mut omitted = nodes.omitted;
    let previous_approaches = approaches(world, &subject, introduced.as_ref(), &mut omitted)?;
    if introduced_by.is_none() && uncertainty.is_empty() {
        uncertainty.push(nothing_touches(&subject));
    }
    uncertainty.extend(unindexed(&subject));
    uncertainty.extend(doubts(&nodes.unsure));
    uncertainty.extend(world.provenance_doubts(&nodes.made)?);
    let told = introduced_by.iter().chain(&last_modified_by).flat_map(WhyNode::told);
    let told: BTreeSet<Gid> = told.collect();
    let namer = Namer::find(world.store(), &world.refs, told.iter().copied())?;
    Ok(WhyFacts {
        current_identity: identity::find(world, &subject, &touching)?,
        subject: subject.given,
        introduced_by,
        last_modified_by,
        previous_approaches,
        names: told.into_iter().filter_map(|id| Some((id, namer.get(&id)?))).collect(),
        omitted,
        uncertainty,
    })
}

/// The change that gave a line its text, and what is not sure of that.
fn line_origin(
    world: &mut World<'_>,
    subject: &Subject,
    line: u64,
) -> Result<(Option<Gid>, Vec<Uncertainty>)> {
    let Some(path) = subject.texts.first() else { return Ok((None, Vec::new())) };
    let doubt = |class, change: Option<Gid>, reason: String| Uncertainty {
        class,
        ids: change.iter().map(Gid::to_string).collect(),
        reason,
    };
    Ok(match origin::find(world, path, line)? {
        Origin::Change(change) => (Some(change), Vec::new()),
        Origin::Before(change) => {
            let reason =
                format!("line {line} of {path:?} was there before the first change that touches it here");
            (change, vec![doubt("lineage", change, reason)])
        }
        Origin::NoFile => {
            (None, vec![doubt("subject", None, format!("the head state has no file {path:?}"))])
        }
        Origin::NoLine(count) => {
            (None, vec![doubt("subject", None, format!("{path:?} has {count} lines in the head state"))])
        }
    })
}

/// The attempts at a subject but for the open one that introduced it.
fn approaches(
    world: &mut World<'_>,
    subject: &Subject,
    introduced: Option<&Gid>,
    omitted: &mut Vec<Omitted>,
) -> Result<Vec<AttemptEntry>> {
    let mut own = BTreeSet::new();
    if let Some(change) = introduced {
        for named in world.trajectories_of(change)? {
            if world.graph.trajectory_head(&named.id)?.is_some_and(|head| head.outcome.is_none()) {
                own.insert(named.id);
            }
        }
    }
    let mut found = world.attempts_at(subject, None)?;
    found.retain(|attempt| !own.contains(&attempt.id));
    let beyond = found.split_off(found.len().min(MAX_ROWS));
    if !beyond.is_empty() {
        let ids = beyond.iter().map(|attempt| attempt.id.to_string()).collect();
        omitted.push(omitted_list("previous_approaches", "limit", ids));
    }
    let mut rows = Vec::with_capacity(found.len());
    for attempt in found {
        rows.extend(world.attempt(&attempt.id, attempt.touched)?);
    }
    Ok(rows)
}

fn nothing_touches(subject: &Subject) -> Uncertainty {
    Uncertainty {
        class: "subject",
        ids: subject.id.iter().map(Gid::to_string).collect(),
        reason: format!("no recorded change touches {:?}", subject.given),
    }
}

/// Says that an entity was looked up by its text alone.
fn unindexed(subject: &Subject) -> Option<Uncertainty> {
    let is_entity = subject.id.is_none() && subject.texts.iter().any(|text| text.contains("::"));
    is_entity.then(|| Uncertainty {
        class: "entity",
        ids: Vec::new(),
        reason: format!("no index of entities holds {:?}; it was matched by its text", subject.given),
    })
}
