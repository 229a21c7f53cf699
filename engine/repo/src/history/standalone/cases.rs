//! `case create`, `close` and `list`: larger objectives, as chains of versions under a label.

use super::desk::{Desk, Locked, cannot_make, said, value};
use crate::history::graph::stored;
use crate::history::nodes;
use crate::history::objects::non_empty;
use crate::history::snapshot::check_free;
use crate::names::Kind;
use crate::{Named, Repo, RepoError, Result};
use gemel_object::families::{Case, NewCase};
use gemel_object::{CaseStatus, Encoded, Family, Gid, Limits};
use gemel_store::refs::check_name;
use gemel_store::{RefValue, Refs, Store};
use std::collections::{BTreeMap, HashSet};

/// Namespace of cases.
const SPACE: &str = "refs/cases/";

/// What `case create` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct CaseOptions {
    /// What it is about.
    pub summary: String,
    /// Its name; the next `Case<n>` when absent.
    pub label: Option<String>,
    /// Trajectories that belong to it.
    pub trajectories: Vec<String>,
    /// `open` when absent.
    pub status: Option<String>,
    /// Who opens it; the default producer when absent.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// What `case close` is told.
#[derive(Clone, Debug, Default)]
pub struct CaseCloseOptions {
    /// The case, at any version.
    pub id: String,
    /// `closed` when absent, else `abandoned`.
    pub status: Option<String>,
    /// Trajectories that belong to it, too.
    pub trajectories: Vec<String>,
    /// Who closes it; the default producer when absent.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// A case at its newest version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseRow {
    /// The version, and the label.
    pub case: Named,
    /// The version before.
    pub previous: Option<Gid>,
    /// What it is about.
    pub summary: String,
    /// `open` when no version says.
    pub status: CaseStatus,
    /// The intent it serves.
    pub intent: Option<Gid>,
    /// Trajectories of all versions, ascending.
    pub trajectories: Vec<Gid>,
    /// Changes of all versions, ascending.
    pub changes: Vec<Gid>,
    /// Releases of all versions, ascending.
    pub releases: Vec<Gid>,
    /// Versions.
    pub versions: u64,
    /// When the first was recorded, Unix milliseconds.
    pub created_at_ms: Option<i64>,
    /// When this one was, Unix milliseconds.
    pub updated_at_ms: Option<i64>,
}

/// Opens a case under a label.
///
/// # Errors
/// `Invalid`, `EnumValue`, `NameTaken`, `WrongFamily`, `Unresolved`, `Object`, `Store` (`InvalidRefName`).
pub fn case_create(repo: &Repo, options: &CaseOptions) -> Result<CaseRow> {
    let desk = Desk::open(repo, options.now_ms)?;
    let summary = said("--summary", &options.summary)?;
    let status = options.status.as_deref().map(status).transpose()?.unwrap_or(CaseStatus::Open);
    let label = options.label.as_deref().map(|label| format!("{SPACE}{label}"));
    if let Some(full) = &label {
        check_label(full)?;
    }
    let trajectories = desk.ids(&options.trajectories, Family::Trajectory)?;
    let case = NewCase {
        summary: Some(summary),
        status: Some(status),
        added_trajectories: non_empty(&trajectories),
        producer: Some(desk.producer(options.producer.as_deref())?),
        created_at: Some(options.now_ms),
        updated_at: Some(options.now_ms),
        ..NewCase::default()
    };
    let case = case.encode(&desk.limits).map_err(cannot_make(Family::Case))?;
    if let Some(full) = &label {
        check_free(&desk.refs, full, case.id, false)?;
    }
    let mut locked = desk.lock()?;
    locked.put(&case)?;
    let full = match label {
        Some(full) => {
            check_free(locked.refs(), &full, case.id, false)?;
            full
        }
        None => locked.next(Kind::Case)?.full,
    };
    let name = full.trim_start_matches(SPACE).to_owned();
    locked.transaction.set(full, case.id);
    locked.commit("case create")?;
    row(desk.store(), case.id, Some(name))
}

/// Closes a case: a new version under the same label.
///
/// # Errors
/// `Invalid` for a case that is closed, `EnumValue`, `WrongFamily`, `Unresolved`, `Object`, `Store`.
pub fn case_close(repo: &Repo, options: &CaseCloseOptions) -> Result<CaseRow> {
    let desk = Desk::open(repo, options.now_ms)?;
    let to = match options.status.as_deref().map(status).transpose()? {
        None => CaseStatus::Closed,
        Some(to @ (CaseStatus::Closed | CaseStatus::Abandoned)) => to,
        Some(to) => {
            let detail = format!("--status {to} does not close a case (expected closed or abandoned)");
            return Err(RepoError::invalid(detail));
        }
    };
    let id = desk.id(&options.id, Family::Case)?;
    let trajectories = desk.ids(&options.trajectories, Family::Trajectory)?;
    let producer = desk.producer(options.producer.as_deref())?;
    let mut locked = desk.lock()?;
    let (newest, labels) = newest(desk.store(), locked.refs(), id)?;
    let before = row(desk.store(), newest, None)?;
    if matches!(before.status, CaseStatus::Closed | CaseStatus::Abandoned) {
        return Err(RepoError::Invalid {
            detail: format!("case {newest} is {} already", before.status),
            ids: vec![newest],
        });
    }
    let added: Vec<Gid> = trajectories.into_iter().filter(|id| !before.trajectories.contains(id)).collect();
    let version = closed(&desk, newest, &before, to, &added, producer, &desk.limits)?;
    locked.put(&version)?;
    let name = point(&mut locked, labels, version.id)?;
    locked.commit("case close")?;
    row(desk.store(), version.id, Some(name))
}

fn closed(
    desk: &Desk<'_>,
    newest: Gid,
    before: &CaseRow,
    status: CaseStatus,
    added: &[Gid],
    producer: Gid,
    limits: &Limits,
) -> Result<Encoded> {
    let description = nodes::read(desk.store(), &newest, |object| {
        Ok(Case::view(object)?.description().map(str::to_owned))
    })?;
    NewCase {
        previous: Some(newest),
        summary: Some(&before.summary),
        intent: before.intent,
        description: description.as_deref(),
        status: Some(status),
        added_trajectories: non_empty(added),
        producer: Some(producer),
        created_at: before.created_at_ms,
        updated_at: Some(desk.now_ms),
        ..NewCase::default()
    }
    .encode(limits)
    .map_err(cannot_make(Family::Case))
}

/// Points every label of a chain to `version`; answers the first. A chain without one gets a number.
fn point(locked: &mut Locked<'_>, labels: Vec<String>, version: Gid) -> Result<String> {
    let mut labels = labels.into_iter();
    let first = match labels.next() {
        Some(label) => label,
        None => locked.next(Kind::Case)?.full,
    };
    let name = first.trim_start_matches(SPACE).to_owned();
    locked.transaction.set(first, version);
    for label in labels {
        locked.transaction.set(label, version);
    }
    Ok(name)
}

/// The cases that have a label and, where given, this status, by identity.
///
/// # Errors
/// `EnumValue`, `Store`, `CorruptObject`. Damaged refs are left out: `fsck` reports them.
pub fn case_list(repo: &Repo, status_filter: Option<&str>) -> Result<Vec<CaseRow>> {
    let wanted = status_filter.map(status).transpose()?;
    let mut rows: BTreeMap<Gid, CaseRow> = BTreeMap::new();
    for (full, id) in labelled(&repo.store().refs()?)? {
        if rows.contains_key(&id) {
            continue;
        }
        let name = full.trim_start_matches(SPACE).to_owned();
        let Some(row) = stored(row(repo.store(), id, Some(name)))? else { continue };
        if wanted.is_none_or(|wanted| row.status == wanted) {
            rows.insert(id, row);
        }
    }
    Ok(rows.into_values().collect())
}

fn status(text: &str) -> Result<CaseStatus> {
    value("case status", text, CaseStatus::from_text, CaseStatus::SET)
}

fn check_label(full: &str) -> Result<()> {
    check_name(full)?;
    if Kind::of_name(full).is_some() {
        let short = full.trim_start_matches(SPACE);
        return Err(RepoError::invalid(format!("--label {short:?} is a number that is given, not chosen")));
    }
    Ok(())
}

/// Labels and their cases, by label.
fn labelled(refs: &Refs) -> Result<Vec<(String, Gid)>> {
    let of_case = |(name, value)| match value {
        Ok(RefValue::Id(id)) if id.family() == Family::Case => Some((name, id)),
        _ => None,
    };
    Ok(refs.scan(SPACE)?.filter_map(of_case).collect())
}

/// The newest version of the case `id`, and the labels on it. It is the labelled one whose chain holds `id`.
fn newest(store: &Store, refs: &Refs, id: Gid) -> Result<(Gid, Vec<String>)> {
    let labelled = labelled(refs)?;
    let mut newest = id;
    // A label on the version itself leads nowhere else, unless a newer version has one, too.
    for (_, tip) in &labelled {
        let mut at = Some(*tip);
        let mut seen = HashSet::new();
        while let Some(version) = at.filter(|version| seen.insert(*version)) {
            if version == newest {
                newest = *tip;
                break;
            }
            at = stored(nodes::read(store, &version, |object| Ok(Case::view(object)?.previous())))?.flatten();
        }
    }
    let labels = labelled.into_iter().filter(|(_, tip)| *tip == newest || *tip == id);
    Ok((newest, labels.map(|(full, _)| full).collect()))
}

/// A case with all its versions.
fn row(store: &Store, id: Gid, name: Option<String>) -> Result<CaseRow> {
    let mut row = nodes::read(store, &id, |object| {
        let case = Case::view(object)?;
        Ok(CaseRow {
            case: Named { id, name },
            previous: case.previous(),
            summary: case.summary().to_owned(),
            status: case.status().unwrap_or(CaseStatus::Open),
            intent: case.intent(),
            trajectories: case.added_trajectories().iter().collect(),
            changes: case.added_changes().iter().collect(),
            releases: case.releases().iter().collect(),
            versions: 1,
            created_at_ms: case.created_at(),
            updated_at_ms: case.updated_at().or(case.created_at()),
        })
    })?;
    let mut seen = HashSet::from([id]);
    let mut next = row.previous;
    while let Some(older) = next.filter(|older| seen.insert(*older)) {
        let read = nodes::read(store, &older, |object| {
            let case = Case::view(object)?;
            row.trajectories.extend(case.added_trajectories().iter());
            row.changes.extend(case.added_changes().iter());
            row.releases.extend(case.releases().iter());
            row.created_at_ms = case.created_at().or(row.created_at_ms);
            row.intent = row.intent.or(case.intent());
            Ok(case.previous())
        });
        next = stored(read)?.flatten();
        row.versions += 1;
    }
    for list in [&mut row.trajectories, &mut row.changes, &mut row.releases] {
        list.sort_unstable();
        list.dedup();
    }
    Ok(row)
}
