//! `gemel export-git`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, counted, size};
use gemel_git::export::{ExportReport, ExportRequest, Format, RefChange, RefOutcome, export};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Write the history to a Git repository: what came from Git as it was, other changes as commits
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Git directory, or a worktree of it; created if nothing is there [default: .git in the repository root]
    #[arg(long, value_name = "DIR")]
    git_dir: Option<PathBuf>,
    /// Branch that gets head [default: the one HEAD had at import, else main]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// How changes are written: 1 as release 0.12 does, every change anew; 2 with imported commits as they were
    #[arg(long, value_name = "N", default_value = "2", value_parser = ["1", "2"])]
    format: String,
    /// Name the claims of a change in its commit
    #[arg(long)]
    include_claims: bool,
    /// Move refs that lead elsewhere or are checked out; what they named may be lost
    #[arg(long)]
    force: bool,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    let git_dir = match &args.git_dir {
        Some(dir) => context.absolute(dir)?,
        None => repo.root().join(".git"),
    };
    let request = ExportRequest {
        git_dir,
        branch: args.branch.clone(),
        format: if args.format == "1" { Format::One } else { Format::Two },
        include_claims: args.include_claims,
        force: args.force,
        now_ms: context.now_ms,
    };
    Ok(Answer::done(Exported(export(repo, &request, &*context.progress())?)))
}

/// What an export did, for people and programs.
pub(crate) struct Exported(pub(crate) ExportReport);

impl View for Exported {
    fn json(&self) -> Map<String, Value> {
        let report = &self.0;
        let moved = report.refs.iter().filter(|outcome| outcome.change != RefChange::Unchanged);
        Obj::new()
            .put("commits", &(report.replayed + report.made))
            .put("replayed", &report.replayed)
            .put("made", &report.made)
            .put("objects", &report.objects)
            .put("pack_bytes", &report.pack_bytes)
            .put("mappings", &report.mappings)
            .put("created", &report.created)
            .put("refs", &(report.refs.len() as u64))
            .rows("moved", moved, shown)
            .opt("branch", report.branch.as_ref())
            .opt("head", report.head.as_ref())
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let report = &self.0;
        out.lit("exported ").lit(&counted(report.replayed + report.made, "commit"));
        if let Some(branch) = &report.branch {
            out.lit(" to ").text(branch);
        }
        out.end();
        if report.objects > 0 {
            out.lit("  ")
                .lit(&counted(report.objects, "object"))
                .lit(", ")
                .lit(&size(report.pack_bytes))
                .end();
        }
        if let Some(head) = &report.head {
            out.lit("  head is ").lit(head).end();
        }
        let count = |change| report.refs.iter().filter(|r| r.change == change).count() as u64;
        let told = [
            (RefChange::Created, "created"),
            (RefChange::Forward, "moved forward"),
            (RefChange::Unchanged, "unchanged"),
        ];
        for (change, what) in told {
            if count(change) > 0 {
                out.lit("  ").lit(&counted(count(change), "ref")).lit(" ").lit(what).end();
            }
        }
        for forced in report.refs.iter().filter(|r| r.change == RefChange::Forced) {
            out.lit("  ").text(&forced.name).lit(" no longer names ");
            out.lit(forced.old.as_deref().unwrap_or_default()).end();
        }
    }
}

fn shown(outcome: &RefOutcome) -> Obj {
    let change = match outcome.change {
        RefChange::Created => "created",
        RefChange::Unchanged => "unchanged",
        RefChange::Forward => "forward",
        RefChange::Forced => "forced",
    };
    Obj::new()
        .put("name", &outcome.name)
        .opt("old", outcome.old.as_ref())
        .put("new", &outcome.new)
        .put("change", change)
}
