//! `gemel checkout`.

use super::made::check_producer;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, counted};
use gemel_repo::history::{self, CheckoutFacts, CheckoutOptions};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Make a directory hold a state
///
/// Exact by default: files that the state does not hold are removed, except .gemel, .git, an untracked root
/// .gitignore and ignored files. Nothing unrecorded is overwritten or removed without --force.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A state, or a change, trajectory or release that has one
    state: String,
    /// Directory to write [default: the workspace's, else the repository root]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Workspace whose state moves [default: default; none with --dir alone]
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Leave files that the state does not hold
    #[arg(long)]
    overlay: bool,
    /// Overwrite and remove unrecorded files
    #[arg(long)]
    force: bool,
    /// Show what would happen and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Who does it; nothing recorded keeps it, so this is checked only
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    check_producer(context.repo()?, args.producer.as_ref())?;
    let options = CheckoutOptions {
        state: args.state.clone(),
        dir: args.dir.as_deref().map(|dir| context.absolute(dir)).transpose()?,
        workspace: args.workspace.clone(),
        overlay: args.overlay,
        force: args.force,
        dry_run: args.dry_run,
        now_ms: context.now_ms,
    };
    let facts = history::checkout(context.repo()?, &options, &*context.progress())?;
    let omitted = facts.omitted.clone();
    let view = Written(facts);
    let answer = if args.dry_run { Answer::of(view).long() } else { Answer::done(view) };
    Ok(answer.omitting(&omitted))
}

struct Written(CheckoutFacts);

impl View for Written {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .put("state", &facts.state.id)
            .opt("state_name", facts.state.name.as_ref())
            .put("dir", &facts.dir)
            .put("mode", if facts.overlay { "overlay" } else { "exact" })
            .opt("workspace", facts.workspace.as_ref())
            .put("removed", &facts.removed)
            .put("written", &facts.written)
            .opt("dry_run", facts.dry_run.then_some(&true))
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit(if facts.dry_run { "would check out " } else { "checked out " });
        out.named(&facts.state.id, facts.state.name.as_deref());
        out.lit(" into ").text(&facts.dir.to_string_lossy());
        out.lit(if facts.overlay { " (overlay)" } else { "" }).end();
        let written = u64::try_from(facts.written.len()).unwrap_or(u64::MAX);
        out.lit("  written: ").lit(&counted(written, "file")).end();
        if facts.dry_run {
            for path in &facts.written {
                out.lit("  ").paint(Style::Added, "write").lit("   ").text(path).end();
            }
        }
        for path in &facts.removed {
            out.lit("  ").paint(Style::Removed, if facts.dry_run { "remove" } else { "removed" });
            out.lit("  ").text(path).end();
        }
    }
}
