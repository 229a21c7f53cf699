//! `gemel fsck`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs, row_id};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_repo::audit::{self, AuditFacts, AuditOptions, Problem, Severity};
use serde_json::{Map, Value};

/// Verify everything stored
///
/// Exits with 0 when all is well, 1 when something was repaired, 2 when problems are left.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Repair what can be rebuilt, and remove leftovers
    #[arg(long)]
    repair: bool,
    /// Rebuild the identity index from the packs
    #[arg(long)]
    rebuild_index: bool,
    /// Show the identity of each object with a problem
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let window = args.page.window(Order::Ascending)?;
    let options = AuditOptions { repair: args.repair, rebuild_index: args.rebuild_index };
    let mut facts = audit::run(context.repo()?, &options, &*context.progress())?;
    let exit = facts.exit_code();
    let found = facts.problems.len();
    let (problems, slice) = window.cut(std::mem::take(&mut facts.problems), problem_id);
    let count = problems.len();
    let view = Verified { facts, problems, found, exit, verbose: args.verbose };
    Ok(Answer::list(view, count, slice).exit(exit))
}

/// A problem has no identity of its own, and several may be about one object.
fn problem_id(problem: &Problem) -> gemel_object::Gid {
    let about = problem.id.map(|id| id.to_string()).unwrap_or_default();
    row_id(&format!("{}\n{}\n{about}\n{}", problem.severity.as_str(), problem.code, problem.message))
}

struct Verified {
    facts: AuditFacts,
    problems: Vec<Problem>,
    found: usize,
    exit: u8,
    verbose: bool,
}

impl View for Verified {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.facts;
        let problem = |problem: &Problem| {
            Obj::new()
                .put("severity", problem.severity.as_str())
                .put("code", problem.code)
                .put("message", &problem.message)
                .opt("id", problem.id.as_ref())
        };
        Obj::new()
            .put("objects_scanned", &facts.objects_scanned)
            .put("objects_ok", &facts.objects_ok)
            .rows("problems", &self.problems, problem)
            .put("repairs", &facts.repairs)
            // A transaction is there or not: none is ever left half done, to be recovered.
            .put("journal_recovered", &false)
            .put("exit_code", &self.exit)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        out.lit(&format!("objects: {}/{} verified", facts.objects_ok, facts.objects_scanned)).end();
        for problem in &self.problems {
            let style = match problem.severity {
                Severity::Error => Style::Bad,
                Severity::Warning => Style::Caution,
            };
            out.paint(style, problem.severity.as_str()).lit(" [").lit(problem.code).lit("] ");
            out.text(&problem.message).end();
            if let Some(id) = problem.id.filter(|_| self.verbose) {
                out.lit("  ").paint(Style::Id, &id.to_string()).end();
            }
        }
        if self.found > self.problems.len() {
            out.lit(&format!("{} of {} problems shown", self.problems.len(), self.found)).end();
        }
        for repair in &facts.repairs {
            out.paint(Style::Good, "repaired").lit(": ").text(repair).end();
        }
        if self.found == 0 {
            out.paint(Style::Good, "repository clean").end();
        }
    }
}
