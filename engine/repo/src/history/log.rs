//! `log`: changes, children before parents (query surface, section 4.14).

use crate::facts::{Cursor, Named, Omitted, Page, Uncertainty};
use crate::history::disclosure::Openness;
use crate::history::elsewhere::elsewhere;
use crate::history::graph::{ChangeSet, Graph, stored};
use crate::history::known::known_changes;
use crate::history::lineage::named_trajectories;
use crate::history::nodes;
use crate::history::view;
use crate::names::{Accept, Namer, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::families::{Change, Episode, Operation, Producer};
use gemel_object::{Family, Gid, ProducerKind};
use gemel_store::{Refs, Store};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// Most rows of one page.
const MAX_LIMIT: u64 = 1000;

/// Which changes are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogOrder {
    /// Those that lead to head.
    #[default]
    Head,
    /// All known ones (query surface, section 3.1).
    All,
}

/// What `log` is told.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Which changes.
    pub scope: LogOrder,
    /// Only those of this trajectory, in any accepted form.
    pub trajectory: Option<String>,
    /// Whether rows carry operation details.
    pub operations: bool,
    /// Whether the rows are grouped by episode as well.
    pub episodes: bool,
    /// Rows at most; 0 is refused, more than 1000 capped.
    pub limit: u64,
    /// Where to go on.
    pub cursor: Option<Cursor>,
}

/// A change in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// The change.
    pub id: Gid,
    /// Its name.
    pub name: Option<String>,
    /// Its summary.
    pub summary: String,
    /// Where it started.
    pub input_state: Option<Named>,
    /// Where it ended.
    pub resulting_state: Option<Named>,
    /// The trajectory whose versions list it (DER-08).
    pub trajectory: Option<Named>,
    /// Its operations.
    pub operations: Vec<Gid>,
    /// Their details, when asked for.
    pub operation_rows: Vec<OperationRow>,
    /// Causal parents.
    pub parents: Vec<Gid>,
    /// When it was recorded, Unix milliseconds.
    pub created_at_ms: Option<i64>,
    /// Who made it.
    pub producer: Gid,
    /// Their name, when they are a person.
    pub author: Option<String>,
    /// The episode it names.
    pub episode: Option<Gid>,
    /// How much of the change is told: of an outline neither time, author nor what operations did.
    pub openness: Openness,
}

/// An operation in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRow {
    /// The operation.
    pub id: Gid,
    /// Its kind; not told of a change that tells an outline only.
    pub op_type: Option<String>,
    /// The path it is about.
    pub path: Option<String>,
    /// Where a rename came from.
    pub from: Option<String>,
}

/// Changes of one period of activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpisodeFacts {
    /// The episode; `None` for changes that name none.
    pub id: Option<Gid>,
    /// What it says of itself.
    pub summary: Option<String>,
    /// How it ended.
    pub outcome: Option<&'static str>,
    /// Its changes on this page.
    pub changes: Vec<Gid>,
}

/// A page of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFacts {
    /// The rows.
    pub rows: Vec<LogRow>,
    /// The rows by episode, when asked for; in the order of the rows.
    pub episodes: Vec<EpisodeFacts>,
    /// Which part of the list they are.
    pub page: Page,
    /// Known changes that do not lead to head, when only those that do are listed.
    pub omitted: Vec<Omitted>,
    /// Ancestors that are named but not stored.
    pub uncertainty: Vec<Uncertainty>,
}

/// Lists changes, children before parents; among those free to come next the newest first, then by identity.
///
/// # Errors
/// `Invalid` (limit 0), `Cursor`, `Unresolved`, `Store`.
pub fn log(repo: &Repo, options: &LogOptions) -> Result<LogFacts> {
    check(options)?;
    let refs = repo.store().refs()?;
    let mut graph = Graph::new(repo.store());
    let set = changes_of(repo, &refs, &mut graph, options)?;
    let omitted = if options.trajectory.is_none() && options.scope == LogOrder::Head {
        elsewhere(&mut graph, &refs, &set)?
    } else {
        Vec::new()
    };
    let facts = page_of(&refs, &mut graph, &set, omitted, options)?;
    graph.keep();
    Ok(facts)
}

/// Refuses a page of nothing.
///
/// # Errors
/// `Invalid`.
pub(crate) fn check(options: &LogOptions) -> Result<()> {
    if options.limit == 0 {
        return Err(RepoError::invalid("--limit must be at least 1"));
    }
    Ok(())
}

/// A page of the log of a set of changes.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn page_of(
    refs: &Refs,
    graph: &mut Graph<'_>,
    set: &ChangeSet,
    mut omitted: Vec<Omitted>,
    options: &LogOptions,
) -> Result<LogFacts> {
    let limit = usize::try_from(options.limit.min(MAX_LIMIT)).unwrap_or(usize::MAX);
    let sent =
        options.cursor.as_ref().map_or(0, |cursor| usize::try_from(cursor.offset).unwrap_or(usize::MAX));
    let mut order = graph.children_first(set, sent.saturating_add(limit))?;
    let total = set.len();
    if let Some(cursor) = &options.cursor
        && sent.checked_sub(1).and_then(|at| order.get(at)) != Some(&cursor.anchor)
    {
        // The list has changed since; the anchor may be anywhere.
        order = graph.children_first(set, usize::MAX)?;
    }
    let (start, notice) = start(&order, options.cursor.as_ref());
    let capped = options.limit > MAX_LIMIT;
    let rows: Vec<Gid> = order.iter().skip(start).take(limit).copied().collect();
    let end = start + rows.len();
    let next =
        rows.last().filter(|_| end < total).map(|anchor| Cursor { anchor: *anchor, offset: end as u64 });
    let notices = [capped.then(|| format!("limit capped at {MAX_LIMIT}")), notice];
    let rows = describe(refs, graph, &rows, options.operations)?;
    if options.operations {
        omitted.extend(withheld(&rows));
    }
    Ok(LogFacts {
        page: Page {
            count: rows.len() as u64,
            next,
            notice: notices.into_iter().flatten().reduce(|a, b| format!("{a}; {b}")),
        },
        episodes: if options.episodes { episodes(graph.store(), &rows)? } else { Vec::new() },
        rows,
        omitted,
        uncertainty: missing(set),
    })
}

/// The episodes that rows belong to, in the order of the rows.
fn episodes(store: &Store, rows: &[LogRow]) -> Result<Vec<EpisodeFacts>> {
    let mut found: Vec<EpisodeFacts> = Vec::new();
    for row in rows {
        if let Some(group) = found.iter_mut().find(|group| group.id == row.episode) {
            group.changes.push(row.id);
            continue;
        }
        let told = |id: Gid| {
            stored(nodes::read(store, &id, |object| {
                let episode = Episode::view(object)?;
                Ok((episode.summary().map(str::to_owned), episode.outcome().map(|outcome| outcome.as_str())))
            }))
        };
        let (summary, outcome) = row.episode.map(told).transpose()?.flatten().unwrap_or_default();
        found.push(EpisodeFacts { id: row.episode, summary, outcome, changes: vec![row.id] });
    }
    Ok(found)
}

/// What the operations of changes that tell an outline only did.
fn withheld(rows: &[LogRow]) -> Option<Omitted> {
    let outlined = rows.iter().filter(|row| row.openness == Openness::Outline && !row.operations.is_empty());
    let ids: Vec<String> = outlined.map(|row| row.id.to_string()).collect();
    (!ids.is_empty()).then(|| view::omitted_list("operations", "disclosure", ids))
}

/// The changes to list.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `WrongFamily`, `Store`, `CorruptObject`.
pub(crate) fn changes_of(
    repo: &Repo,
    refs: &Refs,
    graph: &mut Graph<'_>,
    options: &LogOptions,
) -> Result<ChangeSet> {
    if let Some(text) = &options.trajectory {
        let id = resolve_in(repo, refs, text, Accept::only(Family::Trajectory))?;
        let mut set = ChangeSet::default();
        graph.include_sequence(&mut set, &id)?;
        return Ok(set);
    }
    match options.scope {
        LogOrder::Head => graph.ancestors(refs.get("refs/head")?),
        LogOrder::All => known_changes(graph, refs),
    }
}

/// Where the page starts, and what to say about it (query surface, section 1.4).
fn start(order: &[Gid], cursor: Option<&Cursor>) -> (usize, Option<String>) {
    let Some(cursor) = cursor else { return (0, None) };
    let offset = usize::try_from(cursor.offset).unwrap_or(usize::MAX);
    if offset.checked_sub(1).and_then(|at| order.get(at)) == Some(&cursor.anchor) {
        return (offset, None);
    }
    match order.iter().position(|id| *id == cursor.anchor) {
        Some(at) => (at + 1, None),
        None => (0, Some("the row the cursor points at is gone; the list starts over".to_owned())),
    }
}

fn missing(set: &ChangeSet) -> Vec<Uncertainty> {
    if set.missing.is_empty() {
        return Vec::new();
    }
    let reason = format!("{} change(s) are named but not stored here", set.missing.len());
    let ids = set.missing.iter().take(8).map(Gid::to_string).collect();
    vec![Uncertainty { class: "history", ids, reason }]
}

fn describe(refs: &Refs, graph: &mut Graph<'_>, rows: &[Gid], operations: bool) -> Result<Vec<LogRow>> {
    let store = graph.store();
    let mut found: Vec<LogRow> =
        rows.par_iter().map(|id| row(store, id, operations)).collect::<Result<_>>()?;
    let states =
        found.iter().flat_map(|row| row.input_state.iter().chain(&row.resulting_state)).map(|s| s.id);
    let namer = Namer::find(store, refs, rows.iter().copied().chain(states.collect::<Vec<_>>()))?;
    let trajectories = attribute(graph, refs, rows)?;
    let people = people(store, found.iter().map(|row| row.producer))?;
    for row in &mut found {
        let named = row.openness != Openness::Outline;
        row.author = people.get(&row.producer).cloned().flatten().filter(|_| named);
        row.name = namer.get(&row.id);
        row.trajectory = trajectories.get(&row.id).cloned();
        for state in [&mut row.input_state, &mut row.resulting_state].into_iter().flatten() {
            state.name = namer.get(&state.id);
        }
    }
    Ok(found)
}

/// The names of producers that are people.
fn people(store: &Store, ids: impl Iterator<Item = Gid>) -> Result<HashMap<Gid, Option<String>>> {
    let ids: HashSet<Gid> = ids.collect();
    let name = |id: &Gid| -> Result<Option<String>> {
        let read = nodes::read(store, id, |object| {
            let producer = Producer::view(object)?;
            let human = producer.kind() == ProducerKind::Human;
            Ok(human.then(|| producer.name().to_owned()))
        });
        Ok(stored(read)?.flatten())
    };
    ids.into_iter().map(|id| Ok((id, name(&id)?))).collect()
}

fn row(store: &Store, id: &Gid, operations: bool) -> Result<LogRow> {
    let unnamed = |id: Gid| Named { id, name: None };
    let mut row = nodes::read(store, id, |object| {
        let change = Change::view(object)?;
        Ok(LogRow {
            id: *id,
            name: None,
            summary: change.summary().to_owned(),
            input_state: change.input_state().map(unnamed),
            resulting_state: change.resulting_state().map(unnamed),
            trajectory: None,
            operations: change.operations().iter().collect(),
            operation_rows: Vec::new(),
            parents: change.causal_parents().iter().collect(),
            created_at_ms: change.created_at(),
            producer: change.producer(),
            author: None,
            episode: change.episode(),
            openness: change.disclosure().map_or(Openness::Whole, Openness::of),
        })
    })?;
    let bare = |id: &Gid| OperationRow { id: *id, op_type: None, path: None, from: None };
    if row.openness == Openness::Outline {
        row.created_at_ms = None;
        if operations {
            row.operation_rows = row.operations.iter().map(bare).collect();
        }
    } else if operations {
        let read: Result<Vec<Option<OperationRow>>> =
            row.operations.par_iter().map(|id| stored(operation(store, id))).collect();
        row.operation_rows = read?.into_iter().flatten().collect();
    }
    Ok(row)
}

fn operation(store: &Store, id: &Gid) -> Result<OperationRow> {
    nodes::read(store, id, |object| {
        let operation = Operation::view(object)?;
        Ok(OperationRow {
            id: *id,
            op_type: Some(operation.op_type().as_str().to_owned()),
            path: operation.subject_path().map(str::to_owned),
            from: operation.from().map(str::to_owned),
        })
    })
}

/// The trajectories whose versions list the changes (DER-08): never the one that is selected now. Where several do,
/// the one with the highest number is taken; newest trajectories are looked at first, since newest changes are asked
/// for most.
fn attribute(graph: &mut Graph<'_>, refs: &Refs, changes: &[Gid]) -> Result<HashMap<Gid, Named>> {
    let mut open = changes.to_vec();
    let mut found = HashMap::new();
    for named in named_trajectories(refs)?.into_iter().rev() {
        if open.is_empty() {
            break;
        }
        for change in graph.take_listed(&named.id, &mut open)? {
            found.insert(change, Named { id: named.id, name: Some(named.name.clone()) });
        }
    }
    Ok(found)
}
