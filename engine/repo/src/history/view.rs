//! From content and stored objects to the small facts that answers share.

use crate::Result;
use crate::content::{Capture, Omission, OmissionReason, PathDelta, pair_renames};
use crate::facts::{Omitted, PathChange, PathStatus, Reference, Uncertainty};
use crate::history::graph::stored;
use crate::history::nodes;
use crate::names::Namer;
use gemel_object::families::Intent;
use gemel_object::{Gid, Mode, Tree};
use gemel_store::Store;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// Most things listed in an omission.
pub(crate) const MAX_LISTED: usize = 8;

/// A difference, and the deletion it is the other half of when a file moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paired<'d> {
    pub(crate) delta: &'d PathDelta,
    pub(crate) from: Option<&'d PathDelta>,
}

/// Differences with moves paired (workflow, section 4.4): one row a path, a move under its target. Operations, `diff` and
/// `status` all count these.
pub(crate) fn paired(deltas: &[PathDelta]) -> Vec<Paired<'_>> {
    let renames = pair_renames(deltas);
    let sources: HashMap<usize, usize> = renames.iter().map(|rename| (rename.to, rename.from)).collect();
    let moved: HashSet<usize> = renames.iter().map(|rename| rename.from).collect();
    let rows = deltas.iter().enumerate().filter(|(at, _)| !moved.contains(at));
    rows.map(|(at, delta)| Paired { delta, from: sources.get(&at).and_then(|from| deltas.get(*from)) })
        .collect()
}

impl Paired<'_> {
    /// How the path differs.
    pub(crate) fn status(&self) -> PathStatus {
        match (self.from, self.delta.before, self.delta.after) {
            (Some(_), ..) => PathStatus::Renamed,
            (None, None, _) => PathStatus::Added,
            (None, _, None) => PathStatus::Deleted,
            (None, Some((before, _)), Some((after, _))) if is_link(before) != is_link(after) => {
                PathStatus::TypeChanged
            }
            _ => PathStatus::Modified,
        }
    }
}

/// How each path differs.
pub(crate) fn path_changes(deltas: &[PathDelta]) -> Vec<PathChange> {
    let change = |row: &Paired<'_>| PathChange {
        path: row.delta.path.clone(),
        status: row.status(),
        from: row.from.map(|source| source.path.clone()),
    };
    paired(deltas).iter().map(change).collect()
}

/// Whether a mode is that of a symbolic link.
pub(crate) fn is_link(mode: Mode) -> bool {
    mode == Mode::Link
}

/// What a capture left out, by class.
pub(crate) fn omitted(omissions: &[Omission]) -> Vec<Omitted> {
    let mut by_reason: BTreeMap<OmissionReason, Vec<String>> = BTreeMap::new();
    for omission in omissions {
        by_reason.entry(omission.reason).or_default().push(omission.path.clone());
    }
    let rows =
        by_reason.into_iter().map(|(reason, paths)| omitted_list(reason.class(), "not_content", paths));
    rows.collect()
}

/// The rule file in the root of `dir` when it is there and no content, because the recorded state does not hold it
/// (workflow, section 3.1).
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn root_rules(store: &Store, dir: &Path, recorded: Option<Gid>) -> Result<Option<Omitted>> {
    const RULES: &str = ".gitignore";
    if dir.join(RULES).symlink_metadata().is_err() {
        return Ok(None);
    }
    let is_tracked = match recorded {
        Some(state) => {
            let tree = nodes::root_tree(store, &state)?;
            nodes::read(store, &tree, |object| Ok(Tree::view(object)?.get(RULES).is_some()))?
        }
        None => false,
    };
    Ok((!is_tracked).then(|| omitted_list("root_gitignore", "not_content", vec![RULES.to_owned()])))
}

/// Things left out for one reason.
pub(crate) fn omitted_list(class: &'static str, reason: &'static str, things: Vec<String>) -> Omitted {
    let count = u64::try_from(things.len()).unwrap_or(u64::MAX);
    Omitted { class, count, reason, ids: if things.len() <= MAX_LISTED { things } else { Vec::new() } }
}

/// What a cap leaves out of a list; nothing when it leaves out nothing.
pub(crate) fn left_out(class: &'static str, count: usize) -> Option<Omitted> {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    (count > 0).then(|| Omitted { class, count, reason: "limit", ids: Vec::new() })
}

/// Says so when files changed while they were read (DER-09).
pub(crate) fn capture_uncertainty(capture: &Capture) -> Vec<Uncertainty> {
    if capture.coherent {
        return Vec::new();
    }
    let reason = format!(
        "files changed while they were read, in {} of {} attempts",
        capture.attempts, capture.attempts
    );
    vec![Uncertainty { class: "capture", ids: vec![capture.state.to_string()], reason }]
}

/// Says so when files changed while they were compared.
pub(crate) fn coherence(coherent: bool) -> Vec<Uncertainty> {
    if coherent {
        return Vec::new();
    }
    let reason = "files changed while they were read".to_owned();
    vec![Uncertainty { class: "capture", ids: Vec::new(), reason }]
}

/// An intent with its summary; one that is not stored has none.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn intent_reference(store: &Store, id: Gid, namer: &Namer) -> Result<Reference> {
    let summary = stored(nodes::read(store, &id, |object| Ok(Intent::view(object)?.summary().to_owned())))?;
    Ok(Reference { id, name: namer.get(&id), summary })
}
