//! From a query and its JSON parameters to a verb with its arguments.

use super::queries::{DOCUMENT, Form, Query};
use crate::args::{self, Cli};
use crate::commands::Command;
use crate::error::CliError;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, FromArgMatches};
use serde_json::{Map, Value};
use std::any::TypeId;
use std::ffi::OsString;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The grammar of the command line, built once.
pub(crate) struct Grammar {
    /// Parsing needs it mutable, to build the parts that are used.
    parser: Mutex<clap::Command>,
    /// For looking.
    verbs: clap::Command,
}

/// What a parameter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text.
    Text,
    /// An array of texts.
    Texts,
    /// An unsigned integer.
    Count,
    /// True or false.
    Flag,
}

impl fmt::Debug for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Grammar")
    }
}

impl Grammar {
    /// The grammar of all verbs.
    pub(crate) fn new() -> Grammar {
        let mut verbs = args::grammar();
        verbs.build();
        Grammar { parser: Mutex::new(args::grammar()), verbs }
    }

    /// The verb of a form; `None` while it is not built.
    pub(crate) fn verb(&self, form: &Form) -> Option<&clap::Command> {
        let words = form.words.iter().filter(|word| !word.starts_with('-'));
        words.copied().try_fold(&self.verbs, |verb, word| verb.find_subcommand(word))
    }

    /// Whether a verb behind `query` is built.
    pub(crate) fn answers(&self, query: &Query) -> bool {
        query.forms.iter().any(|form| self.verb(form).is_some())
    }

    /// The verb that answers `query` with `params`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: a parameter that is unknown, missing or of another type, and what the verb's own grammar
    /// refuses.
    pub(crate) fn command(&self, query: &Query, params: &Map<String, Value>) -> Result<Command, CliError> {
        // Clients write an option they do not use as null.
        let given: Vec<(&str, &Value)> = params
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.as_str(), value))
            .collect();
        let form = chosen(query, &given)?;
        let verb = self.verb(form).ok_or_else(|| CliError::not_built(&format!("query {:?}", query.name)))?;
        let args = arguments(query, form, verb, &given)?;
        let mut parser = self.parser.lock().unwrap_or_else(PoisonError::into_inner);
        let matches = parser.try_get_matches_from_mut(args);
        let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
        cli.map(|cli| cli.command).map_err(|error| CliError::invalid(args::one_line(&error)))
    }
}

/// What the verb reads where the command line would name a file: a text, or the JSON itself.
///
/// # Errors
/// `INVALID_ARGUMENT` for anything else.
pub(crate) fn document(params: &Map<String, Value>) -> Result<Vec<u8>, CliError> {
    match params.get(DOCUMENT) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(text.clone().into_bytes()),
        Some(value @ Value::Object(_)) => Ok(value.to_string().into_bytes()),
        Some(_) => Err(CliError::invalid(format!("params.{DOCUMENT} must be a string"))),
    }
}

/// The form whose needs are met.
fn chosen<'q>(query: &'q Query, given: &[(&str, &Value)]) -> Result<&'q Form, CliError> {
    let is_given = |name: &&str| given.iter().any(|(given, _)| given == name);
    let met = query.forms.iter().find(|form| form.needs.iter().all(is_given));
    met.ok_or_else(|| {
        let mut needs: Vec<&str> = query.forms.iter().flat_map(|form| form.needs).copied().collect();
        let how = if query.forms.len() > 1 { " or " } else { ", " };
        if query.forms.len() == 1 {
            needs.retain(|name| !is_given(name));
        }
        let needs: Vec<String> = needs.iter().map(|name| format!("params.{name}")).collect();
        CliError::invalid(format!("{} requires {}", query.name, needs.join(how)))
    })
}

/// The arguments of the verb. Values follow `=` or `--`, so that none is taken for a flag.
fn arguments(
    query: &Query,
    form: &Form,
    verb: &clap::Command,
    given: &[(&str, &Value)],
) -> Result<Vec<OsString>, CliError> {
    let mut flags = vec!["gemel".to_owned()];
    flags.extend(form.words.iter().map(|word| (*word).to_owned()));
    for (name, value) in given {
        let known = form.params().any(|known| known == *name);
        if known && *name == DOCUMENT {
            continue;
        }
        let arg = argument(verb, name).filter(|_| known).ok_or_else(|| unknown(query, form, name))?;
        if arg.is_positional() {
            continue;
        }
        let long = arg.get_long().unwrap_or_default();
        match kind(arg) {
            Kind::Flag => {
                if texts(name, Kind::Flag, value)?.pop().is_some() {
                    flags.push(format!("--{long}"));
                }
            }
            kind => flags.extend(texts(name, kind, value)?.iter().map(|text| format!("--{long}={text}"))),
        }
    }
    flags.push("--".to_owned());
    let mut absent = None;
    for arg in verb.get_positionals() {
        let name = arg.get_id().as_str();
        match (given.iter().find(|(given, _)| *given == name), absent) {
            (None, _) => absent = absent.or(Some(name)),
            (Some(_), Some(absent)) => {
                return Err(CliError::invalid(format!("params.{name} requires params.{absent}")));
            }
            (Some((_, value)), None) => flags.extend(texts(name, kind(arg), value)?),
        }
    }
    Ok(flags.into_iter().map(OsString::from).collect())
}

fn unknown(query: &Query, form: &Form, name: &str) -> CliError {
    let takes: Vec<&str> = form.params().collect();
    let takes = if takes.is_empty() { "none".to_owned() } else { takes.join(", ") };
    CliError::invalid(format!("{} does not take params.{name} (it takes {takes})", query.name))
}

/// The argument behind a parameter.
pub(crate) fn argument<'v>(verb: &'v clap::Command, name: &str) -> Option<&'v Arg> {
    verb.get_arguments().find(|arg| arg.get_id() == name)
}

/// What an argument holds.
pub(crate) fn kind(arg: &Arg) -> Kind {
    let many = arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    match arg.get_action() {
        ArgAction::SetTrue => Kind::Flag,
        ArgAction::Append => Kind::Texts,
        _ if many => Kind::Texts,
        _ if is_number(arg.get_value_parser()) => Kind::Count,
        _ => Kind::Text,
    }
}

fn is_number(parser: &ValueParser) -> bool {
    let id = parser.type_id();
    [TypeId::of::<u64>(), TypeId::of::<u32>(), TypeId::of::<usize>()].iter().any(|number| id == *number)
}

/// The texts of a value of that kind; a flag that is set is one empty text.
fn texts(name: &str, kind: Kind, value: &Value) -> Result<Vec<String>, CliError> {
    let bad = |what: &str| Err(CliError::invalid(format!("params.{name} must be {what}")));
    match (kind, value) {
        (Kind::Flag, Value::Bool(flag)) => Ok(flag.then(String::new).into_iter().collect()),
        (Kind::Flag, _) => bad("true or false"),
        (Kind::Count, value) => match value.as_u64() {
            Some(number) => Ok(vec![number.to_string()]),
            None => bad("an unsigned integer"),
        },
        (Kind::Text | Kind::Texts, Value::String(text)) => Ok(vec![text.clone()]),
        (Kind::Texts, Value::Array(elements)) => {
            let all: Option<Vec<String>> =
                elements.iter().map(|element| element.as_str().map(str::to_owned)).collect();
            all.map_or_else(|| bad("an array of strings"), Ok)
        }
        (Kind::Texts, _) => bad("an array of strings"),
        (Kind::Text, _) => bad("a string"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::queries::QUERIES;
    use super::*;

    /// Every parameter of the table is an argument of its verb, and every positional argument is reachable.
    #[test]
    fn the_table_is_true_of_the_grammar() {
        let grammar = Grammar::new();
        for query in QUERIES {
            for form in query.forms {
                let Some(verb) = grammar.verb(form) else { continue };
                for name in form.params() {
                    if name == DOCUMENT {
                        continue;
                    }
                    let arg = argument(verb, name);
                    assert!(arg.is_some(), "{} {name}", query.name);
                    assert!(
                        arg.is_some_and(|arg| arg.get_help().is_some()),
                        "{} {name} has no help",
                        query.name
                    );
                }
            }
        }
    }
}
