//! `gemel name`.

use super::made::check_producer;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use gemel_repo::history::{self, NameFacts, NameOptions};
use serde_json::{Map, Value};

/// Give an object a name
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The object
    id: String,
    /// Its name, in refs/names unless it is a full ref path
    name: String,
    /// Let an existing name move
    #[arg(long)]
    force: bool,
    /// Who does it; nothing recorded keeps it, so this is checked only
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    check_producer(context.repo()?, args.producer.as_ref())?;
    let options = NameOptions {
        id: args.id.clone(),
        name: args.name.clone(),
        force: args.force,
        now_ms: context.now_ms,
    };
    Ok(Answer::done(Given(history::name_set(context.repo()?, &options)?)))
}

struct Given(NameFacts);

impl View for Given {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .put("name", &facts.name)
            .put("id", &facts.id)
            .opt("previous", facts.previous.as_ref())
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.paint(Style::Name, &facts.name)
            .lit(" -> ")
            .lit(facts.id.family().name())
            .lit(" ")
            .named(&facts.id, None);
        if let Some(previous) = facts.previous.as_ref().filter(|previous| **previous != facts.id) {
            out.lit(" (was ").named(previous, None).lit(")");
        }
        out.end();
    }
}
