//! The store's own findings about packs and refs, as problems.

use crate::Result;
use crate::audit::Problem;
use gemel_object::Gid;
use gemel_store::legacy;
use gemel_store::refs::{self, RefFinding, RefFindingKind};
use gemel_store::{Depth, Finding, FindingKind, Store, Visit};
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
    let mut problems: Vec<Problem> = packs.findings.iter().map(pack_problem).collect();
    problems.extend(refs::verify(store.vfs(), store.dir())?.findings.iter().map(ref_problem));
    problems.extend(older_programs(store)?);
    Ok(BytesReport { scanned: packs.objects, ok: packs.objects_ok, problems, unreadable })
}

/// Whether the files that keep gemel 0.12 out are in place.
fn older_programs(store: &Store) -> Result<Vec<Problem>> {
    let wrong = legacy::check_stoppers(store.vfs().as_ref(), store.dir())?;
    let problem = |(name, why): (&str, &str)| {
        Problem::warning("open-to-0.12", None, format!("{} {why}", store.dir().join(name).display()))
    };
    Ok(wrong.into_iter().map(problem).collect())
}

fn pack_problem(finding: &Finding) -> Problem {
    let place = format!("{} at offset {}: {}", finding.path.display(), finding.offset_bytes, finding.detail);
    let with_id = |what: &str| match &finding.id {
        Some(id) => format!("{what} {id} in {place}"),
        None => format!("{what} in {place}"),
    };
    match finding.kind {
        FindingKind::CorruptObject => Problem::error("corrupt-object", finding.id, with_id("corrupt object")),
        FindingKind::InvalidObject => Problem::error("invalid-object", finding.id, with_id("invalid object")),
        FindingKind::DamagedPack => Problem::error("damaged-pack", finding.id, with_id("damage")),
        FindingKind::Interrupted => Problem::warning("interrupted-transaction", finding.id, place),
        FindingKind::Leftover => Problem::warning("stale-temp-file", finding.id, place),
        FindingKind::Index => Problem::error("index-inconsistent", finding.id, place),
        // Derived, and read around: the next writer makes it again.
        FindingKind::IndexMissing => Problem::warning("index-inconsistent", finding.id, place),
    }
}

fn ref_problem(finding: &RefFinding) -> Problem {
    let name = finding.name.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
    let message =
        format!("{name}{} ({} at offset {})", finding.detail, finding.path.display(), finding.offset_bytes);
    match finding.kind {
        RefFindingKind::Damaged | RefFindingKind::UnknownVersion | RefFindingKind::CorruptRef => {
            Problem::error("corrupt-ref", None, message)
        }
        RefFindingKind::InterruptedTransaction | RefFindingKind::CutTransaction => {
            Problem::warning("interrupted-transaction", None, message)
        }
        RefFindingKind::MissingAudit => Problem::warning("missing-audit", None, message),
        RefFindingKind::Leftover => Problem::warning("stale-temp-file", None, message),
    }
}
