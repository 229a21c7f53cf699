//! Capture: a directory becomes a state (workflow, section 3).

use crate::content::build::{Overlay, Stored, TreeSink, build, object_failure, settle};
use crate::content::delta::{PathDelta, root_tree};
use crate::content::disk::{Kind, Stat, is_absent};
use crate::content::error::{ContentError, Result};
use crate::content::read::resolve;
use crate::content::scan::{CachedDir, Content, Leaf, Scan, scan};
use crate::content::worktree::{delta_captured, walk};
use crate::facts::{Progress, Stage};
use gemel_object::families::NewState;
use gemel_object::{Encoded, Gid, Limits};
use gemel_store::{NewObject, Store, Writer};
use rayon::prelude::*;
use std::path::Path;

/// What a capture is told.
#[derive(Clone, Copy)]
pub struct CaptureRequest<'a> {
    /// The directory.
    pub root: &'a Path,
    /// The workspace's recorded state: its paths stay content whatever the ignore rules say.
    pub recorded: Option<Gid>,
    /// Name of the workspace's stat cache, a plain file name such as `stat-default`; none: no cache is used.
    pub cache: Option<&'a str>,
    /// What the result is compared with; the trees of an uncommitted session cannot be read back.
    pub compare_with: CompareWith,
    /// Whether every file is read, whatever the stat cache says.
    pub verify: bool,
    /// Upper bounds on the objects made.
    pub limits: &'a Limits,
    /// Hears how far the reading is.
    pub progress: &'a dyn Progress,
}

/// What a capture is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareWith {
    /// Nothing: [`Capture::changes`] is left empty.
    Nothing,
    /// A directory without content.
    Empty,
    /// A stored state.
    State(Gid),
}

/// What was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The state.
    pub state: Gid,
    /// Its root tree.
    pub root_tree: Gid,
    /// Regular files.
    pub files: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Directories with content, the root not counted.
    pub directories: u64,
    /// Bytes of file content and link targets.
    pub bytes: u64,
    /// Whether nothing changed while it was read.
    pub coherent: bool,
    /// Passes made, 1 to 3.
    pub attempts: u32,
    /// What differs from [`CaptureRequest::compare_with`], by path: `before` there, `after` in the directory.
    pub changes: Vec<PathDelta>,
    /// What was left out although no rule ignores it.
    pub omitted: Vec<Omission>,
}

/// Something that is not content although no rule ignores it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Omission {
    /// The path, escaped where it is no text.
    pub path: String,
    /// Why.
    pub reason: OmissionReason,
}

/// Why something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OmissionReason {
    /// A folder with a repository of its own, of which the recorded state holds nothing.
    NestedRepository,
    /// A socket, pipe or device; a capture refuses it.
    SpecialFile,
    /// A name no tree can hold; a capture refuses it.
    InvalidName,
    /// Larger than an object may be; a capture refuses it.
    TooLarge,
}

impl OmissionReason {
    /// The class used in answers.
    pub fn class(self) -> &'static str {
        match self {
            OmissionReason::NestedRepository => "nested_repository",
            OmissionReason::SpecialFile => "special_file",
            OmissionReason::InvalidName => "invalid_name",
            OmissionReason::TooLarge => "too_large",
        }
    }
}

/// Derived file whose making dates the beginning of a walk.
const CLOCK_FILE: &str = "clock";
/// Passes made at most (workflow, section 3.4).
const MAX_ATTEMPTS: u32 = 3;
/// Extension of a state that tells how it was captured (object model, section 7.2).
const CAPTURE_RECORD: u8 = 0x80;

/// Writes blobs, trees and the state of a directory through `writer`. Nothing is durable before the writer's commit;
/// the stat cache may be replaced before, it is checked against the store when used.
///
/// # Errors
/// `SpecialFile`, `InvalidName`, `Limit` naming the first such path, and no state then exists; `Unstable`, `Io`,
/// `Object`, `Store`, `CorruptObject`.
pub fn capture(store: &Store, writer: &Writer<'_>, request: &CaptureRequest<'_>) -> Result<Capture> {
    capture_watched(store, writer, request, &|_| {})
}

/// As [`capture`]; `between` hears the number of each pass after its files have been read and before they are looked
/// at again.
pub(crate) fn capture_watched(
    store: &Store,
    writer: &Writer<'_>,
    request: &CaptureRequest<'_>,
    between: &dyn Fn(u32),
) -> Result<Capture> {
    let recorded = request.recorded.map(|state| root_tree(store, &state)).transpose()?;
    let mut attempts = 1;
    loop {
        // A change beside the worktree lets the walk know how late it is. Without it more is looked at again.
        let _ = store.cache_write(CLOCK_FILE, b"");
        let CaptureRequest { root, cache, verify, limits, .. } = *request;
        let mut scan = scan(walk(store, root, recorded, cache, verify, limits))?;
        if let Some(refused) = scan.refused() {
            return Err(refusal(refused, request));
        }
        settle(&mut scan, &InStore(writer))?;
        let pending = announce(&scan, (attempts == 1).then_some(writer), request.limits)?;
        request.progress.begin(Stage::Capture, Some(pending));
        let read = resolve(&mut scan, writer, request.limits, request.progress);
        request.progress.end();
        read?;
        between(attempts);
        let coherent = !scan.disturbed && is_unchanged(&scan, request.root)?;
        if coherent || attempts == MAX_ATTEMPTS {
            return finish(scan, store, writer, request, coherent, attempts);
        }
        attempts += 1;
    }
}

/// Makes the trees and the state of a pass.
fn finish(
    mut scan: Scan,
    store: &Store,
    writer: &Writer<'_>,
    request: &CaptureRequest<'_>,
    coherent: bool,
    attempts: u32,
) -> Result<Capture> {
    let against = match request.compare_with {
        CompareWith::State(state) => Some(root_tree(store, &state)?),
        CompareWith::Nothing | CompareWith::Empty => None,
    };
    let overlay = Overlay::new(store);
    let both = Both { writer, overlay: (request.compare_with != CompareWith::Nothing).then_some(&overlay) };
    let root_tree = build(&mut scan, &both, request.limits)?;
    let changes = match request.compare_with {
        CompareWith::Nothing => Vec::new(),
        CompareWith::Empty | CompareWith::State(_) => delta_captured(&overlay, against, root_tree)?,
    };
    let record = format!("{{\"attempts\":{attempts},\"coherent\":{coherent}}}");
    let extensions: &[(u8, &[u8])] = &[(CAPTURE_RECORD, record.as_bytes())];
    let state = NewState { root_tree: Some(root_tree), extensions };
    let state = state.encode(request.limits).map_err(|error| object_failure("", error))?;
    let id = state.id;
    let base = request.recorded.filter(|recorded| *recorded != id);
    writer.put(NewObject { id, bytes: state.bytes, base })?;
    if request.cache.is_some() && (scan.recorded != Some(root_tree) || scan.learnt()) {
        scan.save(store, request.cache, true);
    }
    let mut capture = Capture {
        state: id,
        root_tree,
        files: 0,
        symlinks: 0,
        directories: scan.nodes.iter().skip(1).filter(|node| node.tree.is_some()).count() as u64,
        bytes: 0,
        coherent,
        attempts,
        changes,
        omitted: std::mem::take(&mut scan.omitted),
    };
    scan.each_leaf(&mut |stat| {
        *if stat.kind == Kind::Link { &mut capture.symlinks } else { &mut capture.files } += 1;
        capture.bytes += stat.size;
    });
    Ok(capture)
}

/// Why a capture is refused.
fn refusal(omission: &Omission, request: &CaptureRequest<'_>) -> ContentError {
    let path = omission.path.clone();
    match omission.reason {
        OmissionReason::InvalidName => ContentError::InvalidName { path, reason: NAME_RULE },
        OmissionReason::TooLarge => {
            let found =
                std::fs::symlink_metadata(request.root.join(&path)).map_or(0, |metadata| metadata.len());
            ContentError::Limit {
                what: format!("size of {path}"),
                found,
                limit: request.limits.max_object_bytes,
            }
        }
        OmissionReason::SpecialFile | OmissionReason::NestedRepository => ContentError::SpecialFile { path },
    }
}

/// What a name must be (object model, section 8).
const NAME_RULE: &str = "names are UTF-8 without backslash";

/// Puts trees into the session, and keeps them for comparing when that is asked for: what a session holds cannot be
/// read back.
struct Both<'a, 's> {
    writer: &'a Writer<'s>,
    overlay: Option<&'a Overlay<'s>>,
}

impl TreeSink for Both<'_, '_> {
    fn tree(&self, tree: Encoded, base: Option<Gid>) -> Result<()> {
        if let Some(overlay) = self.overlay {
            overlay.tree(tree.clone(), base)?;
        }
        self.writer.tree(tree, base)
    }
}

/// What the session holds already.
struct InStore<'a, 's>(&'a Writer<'s>);

impl Stored for InStore<'_, '_> {
    fn needs_nothing(&self, cached: &CachedDir<'_>, _: Option<Gid>) -> Result<bool> {
        // A stored tree has all its content stored: sessions become durable as a whole.
        cached.tree().map_or(Ok(true), |tree| Ok(self.0.contains(&tree)))
    }

    fn vouches(&self, cached: &CachedDir<'_>) -> Result<bool> {
        cached.tree().map_or(Ok(false), |tree| Ok(self.0.contains(&tree)))
    }

    fn holds(&self, leaf: &Leaf) -> Result<bool> {
        leaf.blob.map_or(Ok(false), |blob| Ok(self.0.contains(&blob)))
    }
}

/// Whether everything that was looked at is the content of one moment: every directory, file and link is still what it
/// was when it was listed.
///
/// Looking again at what the stat cache vouched for can be spared when all the rest last changed before the walk began,
/// by the clock of its file system. Then all of it stood like that at the beginning: the rest since its last change,
/// what was vouched for up to the moment it was looked at.
fn is_unchanged(scan: &Scan, root: &Path) -> Result<bool> {
    let before_walk = scan.is_older_than_walk();
    let check = |number: usize| -> std::io::Result<bool> {
        let node = &scan.nodes[number];
        if before_walk && matches!(node.content, Content::Cached(_)) {
            return Ok(true);
        }
        let dir = scan.root.beneath(&scan.path(number))?;
        let now = dir.stat_self()?;
        if (now.mtime_ns, now.ino) != (node.stat.mtime_ns, node.stat.ino) {
            return Ok(false);
        }
        let same = |name: &[u8], stat: &Stat| -> std::io::Result<bool> {
            Ok(dir.stat(name)?.is_some_and(|now| now.same_content(stat)))
        };
        match &node.content {
            Content::Cached(number) => {
                for entry in scan.cached(*number).into_iter().flat_map(|cached| cached.entries()) {
                    if !same(entry.name(), &entry.stat())? {
                        return Ok(false);
                    }
                }
            }
            Content::Fresh(leaves) => {
                for leaf in leaves.items() {
                    if !same(leaves.name(leaf), &leaf.stat)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    };
    let changed = (0..scan.nodes.len()).into_par_iter().map(check).find_any(|same| !matches!(same, Ok(true)));
    match changed {
        None => Ok(true),
        Some(Err(error)) if !is_absent(&error) => Err(ContentError::io("stat", root)(error)),
        Some(_) => Ok(false),
    }
}

/// Fewer new files than this are no bulk.
const BULK_FILES: u64 = 256;
/// Fewer new bytes than this are no bulk either.
const BULK_BYTES: u64 = 2 << 20;
/// Bytes of small files read ahead as samples.
const SAMPLE_BYTES: u64 = 4 << 20;
/// Files longer than this are no samples.
const SAMPLE_FILE: u64 = 32 << 10;

/// Tells the session how much is coming, with samples from across the tree; answers the number of files to be read.
fn announce(scan: &Scan, writer: Option<&Writer<'_>>, limits: &Limits) -> Result<u64> {
    let pending = || {
        scan.nodes.iter().enumerate().flat_map(|(number, node)| {
            let leaves = if let Content::Fresh(leaves) = &node.content { Some(leaves) } else { None };
            leaves.into_iter().flat_map(move |leaves| {
                leaves
                    .pending
                    .iter()
                    .filter_map(move |&(at, _)| Some((number, leaves, leaves.items().get(at)?)))
            })
        })
    };
    let is_sample = |leaf: &Leaf| (1..=SAMPLE_FILE).contains(&leaf.stat.size) && leaf.stat.kind != Kind::Link;
    let (mut files, mut bytes, mut small) = (0, 0u64, 0u64);
    for (_, _, leaf) in pending() {
        files += 1;
        bytes += leaf.stat.size;
        small += if is_sample(leaf) { leaf.stat.size } else { 0 };
    }
    let Some(writer) =
        writer.filter(|_| files >= BULK_FILES && bytes >= BULK_BYTES || bytes >= 8 * BULK_BYTES)
    else {
        return Ok(files);
    };
    let step = usize::try_from(small / SAMPLE_BYTES).unwrap_or(usize::MAX).saturating_add(1);
    let chosen: Vec<_> = pending().filter(|(_, _, leaf)| is_sample(leaf)).step_by(step).collect();
    let samples: Vec<Vec<u8>> = chosen
        .par_iter()
        .filter_map(|(number, leaves, leaf)| sample(scan, *number, leaves.name(leaf), leaf, limits))
        .collect();
    writer.expect_bulk(files, bytes, &samples)?;
    Ok(files)
}

/// The bytes of a small file. One that cannot be read is no sample; reading it for good will tell why.
fn sample(scan: &Scan, number: usize, name: &[u8], leaf: &Leaf, limits: &Limits) -> Option<Vec<u8>> {
    let mut file = scan.root.beneath(&scan.path(number)).ok()?.open_file(name).ok()?;
    let size = leaf.stat.size.min(limits.max_object_bytes);
    let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
    file.fill(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests;
