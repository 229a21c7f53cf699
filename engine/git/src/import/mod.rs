//! Git to Gemel: commits become changes, and everything else that Git knows is kept (docs/GIT_INTEROP.md).
//!
//! A run plans, writes objects, and publishes mappings, names and head in one transaction: what stops it leaves the
//! repository as it was.

mod blobs;
pub(crate) mod changes;
pub(crate) mod commit;
mod discover;
mod family;
mod ids;
pub(crate) mod keep;
mod people;
mod publish;
mod revision;
mod row;
mod seed;
mod select;
mod sketch;
pub(crate) mod source;
mod states;
pub(crate) mod tree;

use crate::Result;
use crate::object::ObjectKind;
use discover::Found;
use gemel_object::Gid;
use gemel_repo::Repo;
use gemel_repo::facts::{Progress, Stage};
use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::hashtable::HashSet;
use keep::Kept;
use source::{Head, Source};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What an import is told.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The Git directory, a worktree or its `.git` file.
    pub git_dir: PathBuf,
    /// One revision to take; without it `HEAD`, every branch and every tag.
    pub head: Option<String>,
    /// Whether files that the Git repository lacks are noted as loss instead of stopping the run.
    pub allow_missing: bool,
    /// Whether files over the object limit are kept in parts and left out of states, instead of stopping the run.
    pub keep_oversize: bool,
    /// Unix milliseconds, for the journal.
    pub now_ms: i64,
}

/// What became of `refs/head`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadOutcome {
    /// There was none.
    Set,
    /// It led to the imported change.
    Advanced,
    /// It stands elsewhere, or is there already.
    Kept,
}

/// What an import did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportReport {
    /// Commits selected, those known from earlier runs at which the walk ended included.
    pub commits: u64,
    /// Changes created.
    pub changes: u64,
    /// Trajectories begun.
    pub trajectories: u64,
    /// Mappings of commits and trees published.
    pub mappings: u64,
    /// Commits recognised as changes of this repository.
    pub relinked: u64,
    /// Trailers that name no change the commit could be, or another version.
    pub ignored_trailers: u64,
    /// Commits whose author says nothing.
    pub unknown_producers: u64,
    /// Git bodies kept as they are.
    pub kept: u64,
    /// Commits that were mapped before.
    pub skipped: u64,
    /// What became of head.
    pub head: HeadOutcome,
    /// The change of the tip.
    pub tip: Option<Gid>,
    /// Refs of the Git repository that were not taken.
    pub refs_left: u64,
    /// Files that states lack, and how many versions: missing or over the limit.
    pub files_lost: u64,
    /// Commits behind whose parents a shallow boundary lies.
    pub shallow: u64,
    /// New objects of every kind.
    pub objects: u64,
    /// Their canonical bytes.
    pub plain_bytes: u64,
    /// Bytes appended to packs.
    pub stored_bytes: u64,
    /// Bytes of the packs of the Git repository.
    pub source_bytes: u64,
}

/// Imports a Git repository.
///
/// # Errors
/// `NotARepository`, `UnknownRevision`, `Missing`, `Damaged`, `Oversize`, `Unfit`; those of the repository. Nothing is
/// visible then.
pub fn import(repo: &Repo, options: &ImportOptions, progress: &dyn Progress) -> Result<ImportReport> {
    let store = repo.store();
    let source = Source::open(&options.git_dir)?;
    let refs = store.refs()?;
    let limits = repo.limits(&refs)?;
    let tips = tips(&source, options)?;
    let writer = store.writer()?;
    let mut kept = Kept::default();

    let imported_before = refs.scan(changes::COMMITS)?.next().is_some();
    if !imported_before {
        // Versions of one thing compress to about a sixteenth.
        writer.expect_history(source.pack_bytes >> 12, source.pack_bytes.saturating_mul(16), &[])?;
    }
    let known = |id: &ObjectId| -> Result<Option<Gid>> {
        if !imported_before {
            return Ok(None);
        }
        match refs.get(&format!("{}{id}", changes::COMMITS))? {
            Some(mapping) => changes::mapped(store, &mapping),
            None => Ok(None),
        }
    };
    progress.begin(Stage::ReadCommits, None);
    let selection = select::select(&source, &tips.commits, &known, progress)?;
    progress.end();

    let mut found = Found::new(source.kind);
    let total = Some(selection.commits.len() as u64);
    seed::seed(&source, store, &refs, &selection, &mut found)?;
    progress.begin(Stage::CompareCommits, total);
    discover::discover(&source, &selection.commits, &mut found, progress)?;
    progress.end();

    progress.begin(Stage::WriteFiles, Some(found.blobs.len() as u64));
    let files = blobs::Blobs {
        source: &source,
        writer: &writer,
        commits: &selection.commits,
        options,
        limits: &limits,
        progress,
    };
    let lost = files.write(&mut found, &mut kept)?;
    for file in &lost {
        if let Some(len_bytes) = file.oversize {
            found.lost.insert(file.blob, len_bytes);
        }
    }
    progress.end();

    progress.begin(Stage::WriteTrees, Some(found.trees.len() as u64));
    states::Trees { source: &source, writer: &writer, limits: &limits, progress }
        .write(&mut found, &mut kept)?;
    progress.end();

    let selected: HashSet<ObjectId> = selection.commits.iter().map(|commit| commit.id).collect();
    let has = |id: &ObjectId| {
        selected.contains(id)
            || known(id).is_ok_and(|change| change.is_some())
            || matches!(found.ids.made_of(id), ids::Made::Object(..))
    };
    let mut reader = source.reader();
    let listed = keep::listed(store, &refs)?;
    let of_refs = tips.others.iter().filter(|target| !listed.contains(*target)).copied();
    let entries = found.unnamed.iter().map(|number| found.ids.name(*number));
    for target in of_refs.chain(entries) {
        kept.closure(&mut reader, target, &has, options.allow_missing, (&writer, &limits))?;
    }

    progress.begin(Stage::WriteChanges, total);
    let mut people = people::People::load(store, &refs, &limits)?;
    let maker = changes::Changes {
        store,
        writer: &writer,
        limits: &limits,
        source: &source,
        commits: &selection.commits,
        found: &found,
        git_import: people.git_import,
    };
    let (done, counts) = maker.write(&mut people, &|n| progress.advance(n))?;
    progress.end();

    let plan = publish::Plan {
        repo,
        source: &source,
        options,
        limits: &limits,
        selection: &selection,
        done: &done,
        kept: &kept.objects,
        people: &people,
        tip: tips.tip,
        taken: &tips.refs,
        sequence: refs.sequence(),
    };
    let outcome = plan.publish(writer)?;
    Ok(ImportReport {
        commits: (selection.commits.len() + selection.known.len()) as u64,
        changes: selection.commits.len() as u64 - counts.relinked,
        trajectories: outcome.trajectories,
        mappings: outcome.mappings,
        relinked: counts.relinked,
        ignored_trailers: counts.ignored_trailers,
        unknown_producers: counts.unknown_producers,
        kept: (kept.objects.len() + done.len()) as u64,
        skipped: selection.known.len() as u64,
        head: outcome.head,
        tip: outcome.tip,
        refs_left: (source.refs.len() - tips.refs.len()) as u64,
        files_lost: lost.len() as u64 + kept.missing,
        shallow: selection.commits.iter().filter(|commit| commit.shallow).count() as u64,
        objects: outcome.written.objects_new,
        plain_bytes: outcome.written.plain_bytes,
        stored_bytes: outcome.written.stored_bytes,
        source_bytes: source.pack_bytes,
    })
}

/// Where a selection begins.
struct Tips {
    commits: Vec<ObjectId>,
    /// Objects to be kept that are no commits of the selection: tags with what they hold, notes, replacements.
    others: Vec<ObjectId>,
    /// The commit whose change head becomes.
    tip: Option<ObjectId>,
    /// Refs that are taken.
    refs: BTreeMap<BString, ObjectId>,
}

fn tips(source: &Source, options: &ImportOptions) -> Result<Tips> {
    let mut reader = source.reader();
    let mut tips = Tips { commits: Vec::new(), others: Vec::new(), tip: None, refs: BTreeMap::new() };
    if let Some(name) = &options.head {
        let id = revision::resolve(source, name)?;
        let commit = peel(&mut reader, id, name.as_str().into())?.ok_or_else(|| {
            crate::GitError::UnknownRevision { name: name.clone(), path: source.path.clone() }
        })?;
        (tips.tip, tips.commits) = (Some(commit), vec![commit]);
        return Ok(tips);
    }
    if let Some(id) = source.head_target() {
        tips.tip = peel(&mut reader, id, "HEAD".into())?;
        tips.commits.extend(tips.tip);
        if matches!(source.head, Head::Detached(_)) && tips.tip != Some(id) {
            tips.others.push(id);
        }
    }
    for (name, id) in &source.refs {
        let history = name.starts_with(b"refs/heads/") || name.starts_with(b"refs/tags/");
        if history {
            let commit = peel(&mut reader, *id, name.as_bstr())?;
            tips.commits.extend(commit);
            if commit != Some(*id) {
                tips.others.push(*id);
            }
        } else if name.starts_with(b"refs/notes/") || name.starts_with(b"refs/replace/") {
            tips.others.push(*id);
        } else {
            continue;
        }
        tips.refs.insert(name.clone(), *id);
    }
    Ok(tips)
}

/// The commit that an object is or that a tag leads to; `name` led here.
fn peel(reader: &mut source::Reader, id: ObjectId, name: &BStr) -> Result<Option<ObjectId>> {
    let (mut id, mut steps) = (id, 0u32);
    loop {
        match reader.header(&id)?.map(|(kind, _)| kind) {
            Some(ObjectKind::Commit) => return Ok(Some(id)),
            Some(ObjectKind::Tag) if steps < 1 << 20 => {
                let body = reader.body(&id, ObjectKind::Tag, &|| format!("named by {name}"))?;
                let Some(target) = keep::tag_target(body, id.kind()) else { return Ok(None) };
                (id, steps) = (target, steps + 1);
            }
            Some(_) => return Ok(None),
            None => {
                return Err(crate::GitError::Missing { oid: id.to_string(), at: format!("named by {name}") });
            }
        }
    }
}
