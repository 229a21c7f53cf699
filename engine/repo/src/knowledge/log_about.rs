//! `log --subject`: the part of the log that touches something (query surface, sections 3.1 and 4.14).

use crate::Result;
use crate::facts::Omitted;
use crate::history::graph::ChangeSet;
use crate::history::log::{changes_of, check, page_of};
use crate::history::{LogFacts, LogOptions, LogOrder};
use crate::knowledge::session::Session;
use crate::knowledge::subject::Subject;
use gemel_object::Gid;

/// Lists the changes that touch `subject`, in the order of the log.
///
/// # Errors
/// As for the log; `Ambiguous`.
pub fn log_about(session: &mut Session<'_>, subject: &str, options: &LogOptions) -> Result<LogFacts> {
    check(options)?;
    let repo = session.repo();
    let world = session.world()?;
    let subject = Subject::read(repo, &world.refs, subject)?;
    let touching = world.touching(&subject)?;
    let refs = world.refs.clone();
    let scope = changes_of(repo, &refs, &mut world.graph, options)?;
    let (listed, elsewhere): (Vec<Gid>, Vec<Gid>) =
        touching.iter().partition(|id| world.graph.holds(&scope, id));
    let mut set = ChangeSet::default();
    world.graph.include(&mut set, listed)?;
    let mut omitted = Vec::new();
    if options.trajectory.is_none() && options.scope == LogOrder::Head && !elsewhere.is_empty() {
        let count = u64::try_from(elsewhere.len()).unwrap_or(u64::MAX);
        omitted.push(Omitted { class: "change", count, reason: "scope", ids: Vec::new() });
    }
    let mut facts = page_of(&refs, &mut world.graph, &set, omitted, options)?;
    if touching.is_empty() {
        facts.uncertainty.extend(world.subject_doubt(&subject)?);
    }
    Ok(facts)
}
