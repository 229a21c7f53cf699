//! `gemel producer create` and `list`.

use super::made::Recorded;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::cursor::{Order, PageArgs};
use crate::error::CliError;
use crate::json::Obj;
use crate::render::{Printer, Table};
use gemel_repo::history::{self, Made, ProducerOptions, ProducerRow};
use serde_json::{Map, Value};

/// Record or list producers: who acts
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Create(CreateArgs),
    List(ListArgs),
}

/// Record a producer
#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// human, agent, automation, compiler, fuzzer, external_oracle, git_import or unknown
    #[arg(long, value_name = "KIND", default_value = "human")]
    kind: String,
    /// What it is called
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Mail address of a human
    #[arg(long, value_name = "EMAIL")]
    email: Option<String>,
    /// Model family of an agent
    #[arg(long, value_name = "NAME")]
    model_family: Option<String>,
    /// Model of an agent
    #[arg(long, value_name = "NAME")]
    model_id: Option<String>,
    /// Harness of an agent
    #[arg(long, value_name = "NAME")]
    harness: Option<String>,
    /// FULL, DIGEST_ONLY, REDACTED, EXTERNAL_ATTESTATION or EPHEMERAL
    /// [default: FULL for a human, else the repository's]
    #[arg(long, value_name = "LEVEL")]
    disclosure: Option<String>,
    /// Let it act from now on when a command names nobody
    #[arg(long)]
    default: bool,
}

/// List producers
#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    match &args.action {
        Action::Create(args) => {
            let options = ProducerOptions {
                kind: args.kind.clone(),
                name: args.name.clone(),
                email: args.email.clone(),
                model_family: args.model_family.clone(),
                model_id: args.model_id.clone(),
                harness: args.harness.clone(),
                disclosure: args.disclosure.clone(),
                default: args.default,
                now_ms: context.now_ms,
            };
            let made = history::producer_create(context.repo()?, &options)?;
            Ok(Answer::done(Created { made, default: args.default }))
        }
        Action::List(args) => {
            let window = args.page.window(Order::Ascending)?;
            let (rows, slice) =
                window.cut(history::producer_list(context.repo()?)?, |row: &ProducerRow| row.producer.id);
            let count = rows.len();
            Ok(Answer::list(Listed(rows), count, slice))
        }
    }
}

struct Created {
    made: Made,
    default: bool,
}

impl Created {
    fn recorded(&self) -> Recorded {
        Recorded { made: self.made.clone(), key: Some("producer"), noun: "producer" }
    }
}

impl View for Created {
    fn json(&self) -> Map<String, Value> {
        let mut answer = self.recorded().json();
        answer.insert("default".to_owned(), Value::from(self.default));
        answer
    }

    fn human(&self, out: &mut Printer<'_>) {
        self.recorded().human(out);
        if self.default {
            out.lit("  acts from now on when a command names nobody").end();
        }
    }
}

struct Listed(Vec<ProducerRow>);

impl View for Listed {
    fn json(&self) -> Map<String, Value> {
        let row = |row: &ProducerRow| {
            let [family, model, harness] = &row.agent;
            Obj::new()
                .put("id", &row.producer.id)
                .opt("name", row.producer.name.as_ref())
                .put("kind", row.kind.as_str())
                .put("display_name", &row.called)
                .put("disclosure", row.disclosure.as_str())
                .opt("email", row.email.as_ref())
                .opt("model_family", family.as_ref())
                .opt("model_id", model.as_ref())
                .opt("harness", harness.as_ref())
                .put("default", &row.is_default)
        };
        Obj::new().rows("producers", &self.0, row).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let mut table = Table::default();
        for row in &self.0 {
            let called = match &row.email {
                Some(email) => format!("{} <{email}>", row.called),
                None => row.called.clone(),
            };
            let default = if row.is_default { "default" } else { "" };
            table.row([
                (Style::Name, row.producer.name.clone().unwrap_or_default()),
                (Style::Id, out.short(&row.producer.id)),
                (Style::Plain, row.kind.as_str().to_owned()),
                (Style::Plain, called),
                (Style::Dim, row.disclosure.as_str().to_owned()),
                (Style::Caution, default.to_owned()),
            ]);
        }
        table.print("", out);
    }
}
