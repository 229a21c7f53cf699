//! `gemel import-git`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, counted, size};
use gemel_git::import::{HeadOutcome, ImportOptions, ImportReport, import};
use gemel_repo::{Repo, history};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Bring in the history of a Git repository
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Git directory, or a worktree of it [default: .git in the repository root]
    #[arg(long, value_name = "DIR")]
    git_dir: Option<PathBuf>,
    /// Take what this revision reaches [default: HEAD, every branch and every tag]
    #[arg(long, value_name = "REV")]
    head: Option<String>,
    /// Note files that the Git repository lacks as loss instead of stopping
    #[arg(long)]
    allow_missing: bool,
    /// What to do with files over the object limit: stop, or keep their bytes outside of states
    #[arg(long, value_name = "HOW", default_value = "stop")]
    oversize: Oversize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Oversize {
    Stop,
    Keep,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    let git_dir = match &args.git_dir {
        Some(dir) => context.absolute(dir)?,
        None => repo.root().join(".git"),
    };
    let options = ImportOptions {
        git_dir,
        head: args.head.clone(),
        allow_missing: args.allow_missing,
        keep_oversize: args.oversize == Oversize::Keep,
        now_ms: context.now_ms,
    };
    let own = options.head.is_none() && is_same(&options.git_dir, &repo.root().join(".git"));
    let report = import_into(context, repo, &options, own)?;
    Ok(Answer::done(Imported(report)))
}

/// Imports; with `own` the root's files are those of the Git repository's `HEAD`, and the default workspace follows.
pub(crate) fn import_into(
    context: &Context<'_>,
    repo: &Repo,
    options: &ImportOptions,
    own: bool,
) -> Result<ImportReport, CliError> {
    let before = repo.store().refs()?.get("refs/state/head")?;
    let report = import(repo, options, &*context.progress())?;
    let after = repo.store().refs()?.get("refs/state/head")?;
    if let Some(state) = after.filter(|_| own && report.head != HeadOutcome::Kept) {
        history::adopt(repo, before, state, context.now_ms)?;
    }
    Ok(report)
}

/// Whether two paths lead to one place.
fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    // A worktree stands for its Git directory.
    let inner = real(&a.join(".git")).or_else(|| real(a));
    inner.is_some() && inner == real(b)
}

/// What an import did, for people and programs.
pub(crate) struct Imported(pub(crate) ImportReport);

impl View for Imported {
    fn json(&self) -> Map<String, Value> {
        let report = &self.0;
        Obj::new()
            .put("commits", &report.commits)
            .put("changes", &report.changes)
            .put("trajectories", &report.trajectories)
            .put("mappings", &report.mappings)
            .put("relinked", &report.relinked)
            .put("ignored_trailers", &report.ignored_trailers)
            .put("unknown_producers", &report.unknown_producers)
            .put("kept", &report.kept)
            .put("skipped", &report.skipped)
            .put("head", &head_word(report.head))
            .put("refs_left", &report.refs_left)
            .put("files_lost", &report.files_lost)
            .put("shallow", &report.shallow)
            .put("objects", &report.objects)
            .put("plain_bytes", &report.plain_bytes)
            .put("stored_bytes", &report.stored_bytes)
            .put("source_bytes", &report.source_bytes)
            .opt("tip", report.tip.as_ref())
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let report = &self.0;
        out.lit("imported ").lit(&counted(report.changes, "change"));
        out.lit(" from ").lit(&counted(report.commits, "commit"));
        if report.relinked > 0 {
            out.lit(", ").lit(&report.relinked.to_string()).lit(" recognised as changes of this repository");
        }
        out.end();
        if report.objects > 0 {
            out.lit("  ").lit(&counted(report.objects, "object")).lit(", ").lit(&size(report.plain_bytes));
            out.lit(" stored in ").lit(&size(report.stored_bytes));
            if let Some(percent) = report.stored_bytes.saturating_mul(100).checked_div(report.source_bytes) {
                out.lit(&format!(" ({percent} % of Git's packs)"));
            }
            out.end();
        }
        match report.head {
            HeadOutcome::Set | HeadOutcome::Advanced => {
                if let Some(tip) = &report.tip {
                    out.lit("  head is now ").named(tip, None).end();
                }
            }
            HeadOutcome::Kept if report.changes > 0 => {
                out.lit("  head stays where it was: it does not lead to what was imported").end();
            }
            HeadOutcome::Kept => {}
        }
        for (count, what) in [
            (report.files_lost, "file versions are not in states (see the loss of the mappings)"),
            (report.shallow, "commits have parents behind a shallow boundary"),
            (report.ignored_trailers, "GEMEL trailers name nothing here and were ignored"),
            (report.refs_left, "other refs were not taken (only branches, tags, notes and replacements are)"),
        ] {
            if count > 0 {
                out.lit("  ").lit(&count.to_string()).lit(" ").lit(what).end();
            }
        }
    }
}

fn head_word(head: HeadOutcome) -> &'static str {
    match head {
        HeadOutcome::Set => "set",
        HeadOutcome::Advanced => "advanced",
        HeadOutcome::Kept => "kept",
    }
}
