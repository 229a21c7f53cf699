//! Arguments: the grammar of the command line, and the echo of what was asked.

use crate::color::ColorChoice;
use crate::commands::Command;
use crate::cursor::MAX_LIMIT;
use crate::envelope::Request;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, CommandFactory, FromArgMatches};
use serde_json::{Map, Value};
use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Evidence-native version control: every change with its claims, its evidence and what stays unresolved.
///
/// ID arguments accept a full identity, a ref path, a name such as C1, a unique prefix of an identity of at least
/// 4 digits (8 without the family), @ (head change), @state (head state) and @trajectory (current trajectory).
#[derive(Debug, clap::Parser)]
#[command(name = "gemel", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command, before or after its words.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Repository root [default: searched for upward from the current directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// Answer as one gemel.query.v1 JSON envelope
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Show when things were recorded
    #[arg(long, global = true)]
    pub(crate) timestamps: bool,
    /// Never start a pager
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// When to colour
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: ColorChoice,
    /// Print no confirmations, notes or progress
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
}

/// A command line that was understood.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// Its arguments.
    pub(crate) cli: Cli,
    /// What to echo.
    pub(crate) request: Request,
}

/// A command line that is not one, or that asks for help.
#[derive(Debug)]
pub(crate) struct Usage {
    /// clap's report.
    pub(crate) error: clap::Error,
    /// As much of the request as could be read.
    pub(crate) request: Request,
    /// Whether an envelope is wanted.
    pub(crate) json: bool,
}

/// The grammar.
pub(crate) fn grammar() -> clap::Command {
    Cli::command()
}

/// Reads the arguments, program name first.
///
/// # Errors
/// Usage errors; help and version texts, which clap reports the same way.
pub(crate) fn parse(args: &[OsString]) -> Result<Parsed, Box<Usage>> {
    let parsed = grammar().try_get_matches_from(args).and_then(|matches| {
        let request = request(&grammar(), &matches);
        Cli::from_arg_matches(&matches).map(|cli| Parsed { cli, request })
    });
    parsed.map_err(|error| {
        // A second, lenient pass finds the words of the command for the envelope.
        let lenient = grammar().ignore_errors(true).try_get_matches_from(args).ok();
        let request = lenient.map(|matches| request(&grammar(), &matches)).unwrap_or_default();
        let json =
            args.iter().skip(1).take_while(|a| a.as_os_str() != "--").any(|a| a.as_os_str() == "--json");
        Box::new(Usage { error, request, json })
    })
}

impl Usage {
    /// Whether the text answers a question (`--help`, `--version`) rather than reporting an error.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self.error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
    }

    /// The error on one line: what is wrong, then clap's tips.
    pub(crate) fn message(&self) -> String {
        let no_words = [ErrorKind::MissingSubcommand, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
        if no_words.contains(&self.error.kind()) {
            let command = format!("gemel {}", self.request.command);
            return format!("'{}' requires a subcommand but one was not provided", command.trim_end());
        }
        one_line(&self.error)
    }
}

/// A report of clap's on one line: what is wrong, then its tips.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let mut message = String::new();
    for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
        if !message.is_empty() {
            message.push_str(if line.starts_with("tip:") || line.starts_with('[') { "; " } else { " " });
        }
        message.push_str(line);
    }
    message
}

/// The words of the command and the parameters the caller gave (query surface, section 1.3).
fn request(grammar: &clap::Command, matches: &ArgMatches) -> Request {
    let (mut command, mut matches) = (grammar, matches);
    let mut words = Vec::new();
    while let Some((name, inner)) = matches.subcommand() {
        let Some(sub) = command.find_subcommand(name) else { break };
        words.push(name);
        (command, matches) = (sub, inner);
    }
    // Without words there are global flags only.
    let params = if words.is_empty() { Map::new() } else { given(command, matches) };
    Request { command: words.join(" "), params }
}

fn given(command: &clap::Command, matches: &ArgMatches) -> Map<String, Value> {
    // The global flags steer how the answer looks; only --timestamps changes what it says.
    let args = command.get_arguments().map(|arg| (arg, arg.get_id().as_str()));
    let mut params = Map::new();
    for (arg, id) in args {
        if matches.value_source(id) == Some(ValueSource::CommandLine) {
            params.insert(id.to_owned(), value(arg, matches));
        }
    }
    if matches.try_get_one::<bool>("timestamps").ok().flatten() == Some(&true) {
        params.insert("timestamps".to_owned(), Value::Bool(true));
    }
    // A capped limit is echoed as it took effect.
    if let Some(limit) = params.get_mut("limit").filter(|limit| limit.as_u64().is_some_and(|n| n > MAX_LIMIT))
    {
        *limit = MAX_LIMIT.into();
    }
    params
}

fn value(arg: &clap::Arg, matches: &ArgMatches) -> Value {
    let id = arg.get_id().as_str();
    match arg.get_action() {
        ArgAction::SetTrue => Value::Bool(true),
        action => {
            let ty = arg.get_value_parser().type_id();
            let number = ty == TypeId::of::<u64>() || ty == TypeId::of::<i64>();
            let texts = matches.get_raw(id).into_iter().flatten();
            let mut values: Vec<Value> = texts.map(|text| scalar(text, number)).collect();
            match (action, values.len()) {
                (ArgAction::Append, _) | (_, 2..) => Value::Array(values),
                _ => values.pop().unwrap_or(Value::Bool(true)),
            }
        }
    }
}

fn scalar(text: &OsStr, number: bool) -> Value {
    let text = text.to_string_lossy();
    let parsed = text.parse::<u64>().map(Value::from).or_else(|_| text.parse::<i64>().map(Value::from));
    match parsed {
        Ok(value) if number => value,
        _ => Value::from(text.into_owned()),
    }
}
