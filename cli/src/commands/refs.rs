//! `gemel refs`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs, row_id};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table};
use gemel_repo::history::{self, RefRow};
use serde_json::{Map, Value};

/// List refs with their targets
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only refs whose full name starts with this; `refs/` may be left out
    #[arg(default_value = "", hide_default_value = true)]
    prefix: String,
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let window = args.page.window(Order::Ascending)?;
    let rows = history::refs_list(context.repo()?, &args.prefix)?;
    let (rows, slice) = window.cut(rows, |row| row_id(&row.name));
    let count = rows.len();
    Ok(Answer::list(Listed(rows), count, slice))
}

struct Listed(Vec<RefRow>);

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        let row = |row: &RefRow| {
            Obj::new()
                .put("name", &row.name)
                .opt("id", row.target.as_ref().ok())
                .opt("problem", row.target.as_ref().err())
        };
        Obj::new().rows("refs", &self.0, row).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let mut table = Table::default();
        for row in &self.0 {
            let target = match &row.target {
                Ok(id) => (Style::Id, format!("{}.{}", id.family().name(), out.short(id))),
                Err(problem) => (Style::Bad, problem.clone()),
            };
            table.row([(Style::Name, row.name.clone()), target]);
        }
        table.print("", out);
    }
}
