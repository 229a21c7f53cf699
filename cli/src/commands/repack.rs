//! `gemel repack`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, counted, size};
use gemel_store::legacy::Step;
use gemel_store::{LeftPack, PlannedPack, RepackFacts, RepackOptions, RepackPlan};
use serde_json::{Map, Value};

/// Write the packs anew as one that takes less space
///
/// Other commands may go on meanwhile; a pack that one of them writes to is left alone.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Say what would be done and what there is to be gained; nothing is changed
    #[arg(long)]
    dry_run: bool,
    /// How hard to compress
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=19))]
    level: Option<i32>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let store = context.repo()?.store();
    let plan = store.plan_repack(&RepackOptions { level: args.level })?;
    if args.dry_run {
        return Ok(Answer::of(Planned(plan)).long());
    }
    let progress = context.migration_progress();
    let facts = store.repack(&plan, context.now_ms, &|done, total| progress.at(Step::Write, done, total))?;
    Ok(Answer::done(Done(facts)))
}

struct Planned(RepackPlan);

impl View for Planned {
    fn json(&self) -> Map<String, Value> {
        let plan = &self.0;
        let pack = |pack: &PlannedPack| {
            Obj::new()
                .put("path", &pack.path)
                .put("objects", &pack.objects)
                .put("stored_bytes", &pack.stored_bytes)
        };
        Obj::new()
            .put("dry_run", &true)
            .rows("packs", &plan.packs, pack)
            .rows("left", &plan.left, left_row)
            .put("objects", &plan.objects)
            .put("stored_bytes", &plan.stored_bytes)
            .put("expected_bytes", &plan.expected_bytes)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let plan = &self.0;
        if plan.packs.is_empty() {
            out.lit("nothing to write anew").end();
        } else {
            out.lit("would write ").lit(&counted(plan.packs.len() as u64, "pack")).lit(" with ");
            out.lit(&counted(plan.objects, "object")).lit(" anew as one").end();
            out.field("now", &size(plan.stored_bytes));
            out.field("expected", &format!("about {}", size(plan.expected_bytes)));
        }
        print_left(&plan.left, out);
    }
}

struct Done(RepackFacts);

impl View for Done {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .put("packs", &facts.packs)
            .put("objects", &facts.objects)
            .put("bytes_before", &facts.bytes_before)
            .put("bytes_after", &facts.bytes_after)
            .rows("left", &facts.left, left_row)
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        if facts.packs == 0 {
            out.lit("nothing to write anew").end();
        } else {
            out.lit("wrote ").lit(&counted(facts.packs, "pack")).lit(" with ");
            out.lit(&counted(facts.objects, "object")).lit(" anew as one").end();
            out.field("before", &size(facts.bytes_before));
            out.field("after", &size(facts.bytes_after));
        }
        print_left(&facts.left, out);
    }
}

fn left_row(pack: &LeftPack) -> Obj {
    Obj::new().put("path", &pack.path).put("reason", pack.reason)
}

fn print_left(left: &[LeftPack], out: &mut Printer<'_>) {
    for pack in left {
        out.paint(Style::Caution, "left alone").lit(" ").text(&pack.path.to_string_lossy());
        out.lit(": ").lit(pack.reason).end();
    }
}
