//! `gemel fetch`, and what `pull` and `push` share with it: which repository is meant.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::commands::import_git::{Imported, import_into};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, counted};
use gemel_git::import::ImportOptions;
use gemel_repo::history::{Arrival, Arrived};
use gemel_repo::{Code, STORE_DIR};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Bring in the history of another repository
///
/// So far the other repository is a Git repository on this machine: the commits that its HEAD reaches are brought in.
/// Head moves only forward, and no file of the worktree is touched.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Path of a Git repository
    remote: String,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    from_git(context, &args.remote, false)
}

/// Imports what `HEAD` of the Git repository `remote` reaches; with `files` the worktree follows head.
///
/// # Errors
/// As [`git_path`], and those of the import and of the files.
pub(crate) fn from_git<'c>(
    context: &'c Context<'_>,
    remote: &str,
    files: bool,
) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    let options = ImportOptions {
        git_dir: git_path(context, remote)?,
        head: Some("HEAD".to_owned()),
        now_ms: context.now_ms,
        ..ImportOptions::default()
    };
    let progress = context.progress();
    let arrival = Arrival::expect(repo, files, &*progress)?;
    let imported = Imported(import_into(context, repo, &options, false)?);
    let arrived = match files {
        true => arrival.update(repo, context.now_ms, &*progress)?,
        false => arrival.leave(repo, context.now_ms)?,
    };
    Ok(Answer::done(Brought { imported, arrived }))
}

/// The file that makes a folder a store, of this or an earlier release.
const META: &str = "meta.json";

/// The path of a repository that is Git's alone.
///
/// # Errors
/// `INVALID_ARGUMENT` for URLs and for repositories of ours, `NOT_FOUND` when nothing is there.
pub(crate) fn git_path(context: &Context<'_>, remote: &str) -> Result<PathBuf, CliError> {
    let path = match remote.split_once("://") {
        Some(("file", path)) => path,
        Some((scheme, _)) => return Err(CliError::not_built(&format!("transfer over {scheme}"))),
        None => remote,
    };
    let path = context.absolute(Path::new(path))?;
    if path.symlink_metadata().is_err() {
        let message = format!("{remote:?} is neither a remote nor the path of a repository");
        return Err(CliError::new(Code::NotFound, message));
    }
    // A history may keep other things below `.gemel`; what makes a store is its description.
    let is_store = path.file_name().is_some_and(|name| name == STORE_DIR) && path.join(META).exists();
    if is_store || path.join(STORE_DIR).join(META).exists() {
        return Err(CliError::not_built("transfer between Gemel repositories"));
    }
    Ok(path)
}

/// What was brought in, and what became of the files.
struct Brought {
    imported: Imported,
    arrived: Arrived,
}

impl View for Brought {
    fn json(&self) -> Map<String, Value> {
        let worktree = match &self.arrived {
            Arrived::Nothing => Obj::new().put("outcome", "unmoved"),
            Arrived::Stay(reason) => Obj::new().put("outcome", "stays").put("reason", reason),
            Arrived::Written(facts) => Obj::new()
                .put("outcome", "written")
                .put("written", &facts.written.len())
                .put("removed", &facts.removed.len()),
        };
        let mut answer = self.imported.json();
        answer.extend(Obj::new().put("worktree", &worktree).map());
        answer
    }

    fn human(&self, out: &mut Printer<'_>) {
        self.imported.human(out);
        match &self.arrived {
            Arrived::Nothing => {}
            Arrived::Stay(reason) => {
                out.lit("  files stay as they are: ").lit(reason).end();
            }
            Arrived::Written(facts) => {
                let (written, removed) = (facts.written.len() as u64, facts.removed.len() as u64);
                out.lit("  ").lit(&counted(written, "file")).lit(" written");
                if removed > 0 {
                    out.lit(", ").lit(&removed.to_string()).lit(" removed");
                }
                out.end();
            }
        }
    }
}
