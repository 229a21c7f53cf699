//! `gemel snapshot`.

use super::made::check_producer;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, counted, size};
use gemel_repo::history::{self, SnapshotFacts, SnapshotOptions};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Record the files as a named state
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the state [default: S and the next number]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Let an existing label move
    #[arg(long)]
    force: bool,
    /// Workspace whose state this becomes [default: default]
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Directory to record [default: the workspace's, else the repository root]
    #[arg(long, value_name = "DIR")]
    worktree: Option<PathBuf>,
    /// Read every file, whatever the stat cache remembers
    #[arg(long)]
    verify: bool,
    /// Who records it; a state keeps no producer, so this is checked only
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    check_producer(repo, args.producer.as_ref())?;
    let options = SnapshotOptions {
        label: args.label.clone(),
        force: args.force,
        workspace: args.workspace.clone(),
        worktree: args.worktree.as_deref().map(|dir| context.absolute(dir)).transpose()?,
        verify: args.verify,
        now_ms: context.now_ms,
    };
    let facts = history::snapshot(repo, &options, &*context.progress())?;
    // What was asked for is done; that packs are many is nobody's failure.
    let _ = repo.store().consolidate(context.now_ms);
    let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
    Ok(Answer::done(Captured(facts)).omitting(&omitted).doubting(&uncertainty))
}

struct Captured(SnapshotFacts);

impl View for Captured {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .put("state", &facts.state)
            .put("name", &facts.name)
            .put("files", &facts.files)
            .put("symlinks", &facts.symlinks)
            .put("bytes", &facts.bytes)
            .put("coherent", &facts.coherent)
            .put("attempts", &facts.attempts)
            .opt("unchanged_since", facts.unchanged_since.as_ref())
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit("snapshot ").named(&facts.state, Some(&facts.name));
        out.lit(": ").lit(&counted(facts.files, "file"));
        if facts.symlinks > 0 {
            out.lit(", ").lit(&counted(facts.symlinks, "link"));
        }
        out.lit(", ").lit(&size(facts.bytes)).end();
        if let Some(state) = &facts.unchanged_since {
            out.lit("  nothing changed since ").named(&state.id, state.name.as_deref()).end();
        }
    }
}
