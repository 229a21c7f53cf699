//! From content and stored objects to the small facts that answers share.

use crate::Result;
use crate::content::{Capture, Omission, OmissionReason, PathDelta};
use crate::facts::{Omitted, PathChange, PathStatus, Reference, Uncertainty};
use crate::history::graph::stored;
use crate::history::nodes;
use crate::names::Namer;
use gemel_object::families::Intent;
use gemel_object::{Gid, Mode};
use gemel_store::Store;
use std::collections::BTreeMap;

/// Most paths listed in an omission.
const MAX_LISTED: usize = 8;

/// How each path differs.
pub(crate) fn path_changes(deltas: &[PathDelta]) -> Vec<PathChange> {
    let status = |delta: &PathDelta| match (delta.before, delta.after) {
        (None, _) => PathStatus::Added,
        (_, None) => PathStatus::Deleted,
        (Some((before, _)), Some((after, _))) if is_link(before) != is_link(after) => PathStatus::TypeChanged,
        _ => PathStatus::Modified,
    };
    deltas.iter().map(|delta| PathChange { path: delta.path.clone(), status: status(delta) }).collect()
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
        by_reason.into_iter().map(|(reason, paths)| omitted_paths(reason.class(), "not_content", paths));
    rows.collect()
}

/// Paths left out for one reason.
pub(crate) fn omitted_paths(class: &'static str, reason: &'static str, paths: Vec<String>) -> Omitted {
    let count = u64::try_from(paths.len()).unwrap_or(u64::MAX);
    Omitted { class, count, reason, ids: if paths.len() <= MAX_LISTED { paths } else { Vec::new() } }
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
