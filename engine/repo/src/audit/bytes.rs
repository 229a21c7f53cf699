//! The store's own findings about packs and refs, as problems.

use crate::Result;
use crate::audit::Problem;
use gemel_object::Gid;
use gemel_store::refs::{self, RefFinding, RefFindingKind};
use gemel_store::{Depth, Finding, FindingKind, Store, StoreError, Visit};
use std::collections::HashSet;

/// What the store says of its bytes.
pub(super) struct BytesReport {
    pub(super) scanned: u64,
    pub(super) ok: u64,
    pub(super) problems: Vec<Problem>,
    /// Stored objects that cannot be read or are no valid objects.
    pub(super) unreadable: HashSet<Gid>,
}

/// Verifies packs and refs; `visit` is handed every object that hashes to its identity.
///
/// # Errors
/// Only when the packs cannot be listed at all, or the disk fails.
pub(super) fn verify(store: &Store, visit: Visit<'_>) -> Result<BytesReport> {
    let packs = store.verify(Depth::Canonical, visit)?;
    let unreadable = packs
        .findings
        .iter()
        .filter(|finding| matches!(finding.kind, FindingKind::CorruptObject | FindingKind::InvalidObject));
    let unreadable = unreadable.filter_map(|finding| finding.id).collect();
    let mut problems = Vec::new();
    for finding in &packs.findings {
        problems.push(pack_problem(store, finding)?);
    }
    problems.extend(refs::verify(store.vfs(), store.dir())?.findings.iter().map(ref_problem));
    Ok(BytesReport { scanned: packs.objects, ok: packs.objects_ok, problems, unreadable })
}

fn pack_problem(store: &Store, finding: &Finding) -> Result<Problem> {
    let place = format!("{} at offset {}: {}", finding.path.display(), finding.offset_bytes, finding.detail);
    let with_id = |what: &str| match &finding.id {
        Some(id) => format!("{what} {id} in {place}"),
        None => format!("{what} in {place}"),
    };
    Ok(match finding.kind {
        FindingKind::CorruptObject => Problem::error("corrupt-object", finding.id, with_id("corrupt object")),
        FindingKind::InvalidObject => Problem::error("invalid-object", finding.id, with_id("invalid object")),
        FindingKind::DamagedPack => Problem::error("damaged-pack", finding.id, with_id("damage")),
        FindingKind::Interrupted => Problem::warning("interrupted-transaction", finding.id, place),
        FindingKind::Leftover => Problem::warning("stale-temp-file", finding.id, place),
        // An index that is not there yet is made by the next writer; one that contradicts its pack is damage.
        FindingKind::Index => match store.vfs().stat(&finding.path) {
            Ok(None) => Problem::warning("index-inconsistent", finding.id, place),
            Ok(Some(_)) => Problem::error("index-inconsistent", finding.id, place),
            Err(source) => {
                return Err(StoreError::Io { op: "examine", path: finding.path.clone(), source }.into());
            }
        },
    })
}

fn ref_problem(finding: &RefFinding) -> Problem {
    let name = finding.name.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
    let message =
        format!("{name}{} ({} at offset {})", finding.detail, finding.path.display(), finding.offset_bytes);
    match finding.kind {
        RefFindingKind::Damaged | RefFindingKind::UnknownVersion | RefFindingKind::CorruptRef => {
            Problem::error("corrupt-ref", None, message)
        }
        RefFindingKind::InterruptedTransaction => Problem::warning("interrupted-transaction", None, message),
        RefFindingKind::MissingAudit => Problem::warning("missing-audit", None, message),
        RefFindingKind::Leftover => Problem::warning("stale-temp-file", None, message),
    }
}
