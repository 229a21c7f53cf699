//! `gemel migrate`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, counted, size};
use gemel_repo::RepoError;
use gemel_store::StoreError;
use gemel_store::legacy::{self, Finding, MigrateFacts, MigrateOptions, MigratePlan, Outcome, Severity};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Turn a 0.12 store into one of this version
///
/// Every object is verified; refs, counters, workspaces and changes in progress are carried over. The old files stay
/// in .gemel/legacy-0.12 unless --remove-old is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Remove the old files in the end
    #[arg(long)]
    remove_old: bool,
    /// Leave out what is damaged instead of refusing; the old files then stay
    #[arg(long)]
    keep_going: bool,
    /// Look at the old store and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let dir = match context.open()? {
        Ok(repo) => repo.store().dir().to_owned(),
        Err(RepoError::Store(StoreError::Legacy { path })) => path,
        Err(other) => return Err(other.into()),
    };
    let (disk, progress) = (context.disk(), context.migration_progress());
    if args.dry_run {
        let plan = legacy::plan(disk.as_ref(), &dir, &*progress)?;
        return Ok(Answer::of(Migrated { outcome: "planned", plan, stored_bytes: 0, old_files: None }).long());
    }
    let options = MigrateOptions {
        keep_going: args.keep_going,
        remove_old: args.remove_old,
        now_ms: context.now_ms,
        progress: &*progress,
    };
    let MigrateFacts { outcome, plan, stored_bytes, old_files } = legacy::migrate(&disk, &dir, &options)?;
    let outcome = match outcome {
        Outcome::Migrated => "migrated",
        Outcome::Completed => "completed",
        Outcome::AlreadyCurrent => "already_current",
    };
    Ok(Answer::done(Migrated { outcome, plan, stored_bytes, old_files }))
}

struct Migrated {
    outcome: &'static str,
    plan: MigratePlan,
    stored_bytes: u64,
    old_files: Option<PathBuf>,
}

impl Migrated {
    /// A migration that had nothing or only its end left to do has counted nothing.
    fn has_counts(&self) -> bool {
        matches!(self.outcome, "planned" | "migrated")
    }

    fn counts(&self) -> [(&'static str, u64); 8] {
        let plan = &self.plan;
        [
            ("objects", plan.objects),
            ("refs", plan.refs),
            ("kept", plan.kept),
            ("counters", plan.counters),
            ("workspaces", plan.workspaces),
            ("pending", plan.pending),
            ("tombstones", plan.tombstones),
            ("remotes", plan.remotes),
        ]
    }
}

impl View for Migrated {
    fn json(&self) -> Map<String, Value> {
        let finding = |finding: &Finding| {
            Obj::new()
                .put("severity", word(finding.severity))
                .put("code", finding.code)
                .put("path", &finding.path)
                .put("message", &finding.detail)
        };
        let mut answer = Obj::new();
        if self.has_counts() {
            answer = self.counts().iter().fold(answer, |answer, (name, count)| answer.put(name, count));
            answer =
                answer.put("object_bytes", &self.plan.object_bytes).put("stored_bytes", &self.stored_bytes);
        }
        answer
            .put("outcome", self.outcome)
            .rows("findings", self.plan.findings.list(), finding)
            .opt("old_files", self.old_files.as_ref())
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        out.lit(match self.outcome {
            "planned" => "a migration would carry over",
            "migrated" => "migrated",
            "completed" => "completed an interrupted migration",
            _ => "nothing to migrate: the store has this version's layout already",
        });
        out.end();
        if self.has_counts() {
            out.field("objects", &format!("{} ({})", self.plan.objects, size(self.plan.object_bytes)));
            for (name, count) in self.counts().into_iter().skip(1).filter(|(_, count)| *count > 0) {
                out.field(name, &count.to_string());
            }
        }
        if self.stored_bytes > 0 {
            out.field("packs", &size(self.stored_bytes));
        }
        for finding in self.plan.findings.list() {
            let style = match finding.severity {
                Severity::Error => Style::Bad,
                Severity::Warning => Style::Caution,
                Severity::Note => Style::Dim,
            };
            out.paint(style, word(finding.severity)).lit(" ").text(&finding.to_string()).end();
        }
        let errors = self.plan.findings.count(Severity::Error);
        if errors > 0 {
            out.lit(&counted(errors, "damaged file")).lit(" cannot be carried over").end();
        }
        if let Some(old) = &self.old_files {
            out.lit("the old files are in ").text(&old.to_string_lossy());
            out.lit("; `gemel migrate --remove-old` removes them").end();
        }
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}
