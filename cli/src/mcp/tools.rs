//! Tools, made from the table of queries and the grammar of the verbs behind it.

use super::{MAX_ANSWER_BYTES, MIN_ANSWER_BYTES};
use crate::session::Session;
use crate::session::call::{self, Grammar, Kind};
use crate::session::queries::{DOCUMENT, Effect, QUERIES, Query};
use clap::Arg;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The parameter of every tool that bounds its answer.
pub(super) const MAX_BYTES: &str = "max_bytes";

/// Every query this session may answer, as a tool.
pub(super) fn all(session: &Session) -> Vec<Tool> {
    let grammar = session.grammar();
    QUERIES
        .iter()
        .filter(|query| session.permits(query) && grammar.answers(query))
        .map(|query| tool(grammar, query))
        .collect()
}

/// The query behind a tool.
pub(super) fn query(name: &str) -> Option<&'static Query> {
    QUERIES.iter().find(|query| tool_name(query) == name)
}

/// Queries without parameters that are also resources.
pub(super) fn resources(session: &Session) -> impl Iterator<Item = &'static Query> {
    let named = ["status", "next", "policy"].into_iter().filter_map(Query::named);
    named.filter(|query| session.grammar().answers(query))
}

fn tool_name(query: &Query) -> String {
    query.name.replace([' ', '-'], "_")
}

fn tool(grammar: &Grammar, query: &'static Query) -> Tool {
    let annotations = ToolAnnotations::with_title(query.name)
        .read_only(query.effect == Effect::Reads)
        .destructive(false)
        .idempotent(query.effect != Effect::Records)
        .open_world(false);
    Tool::new(tool_name(query), query.about, Arc::new(schema(grammar, query))).with_annotations(annotations)
}

/// The JSON Schema of the parameters.
fn schema(grammar: &Grammar, query: &Query) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required: Option<Vec<&str>> = None;
    for form in query.forms {
        let Some(verb) = grammar.verb(form) else { continue };
        for name in form.params() {
            if let Some(arg) = call::argument(verb, name) {
                properties.insert(name.to_owned(), property(arg));
            } else if name == DOCUMENT {
                let about = "The document: JSON, XML or text, as a string";
                properties.insert(name.to_owned(), json!({"type": "string", "description": about}));
            }
        }
        let needs = form.needs.iter().copied();
        required = Some(match required {
            None => needs.collect(),
            Some(so_far) => needs.filter(|name| so_far.contains(name)).collect(),
        });
    }
    let about = "Largest answer in bytes; lists then have fewer rows and a cursor";
    let bound = json!({
        "type": "integer", "minimum": MIN_ANSWER_BYTES, "maximum": MAX_ANSWER_BYTES, "description": about,
    });
    properties.insert(MAX_BYTES.to_owned(), bound);
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(required.unwrap_or_default()));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

fn property(arg: &Arg) -> Value {
    let values: Vec<String> = match call::kind(arg) {
        Kind::Flag => Vec::new(),
        _ => arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
    };
    let mut one = match call::kind(arg) {
        Kind::Text | Kind::Texts => json!({"type": "string"}),
        Kind::Count => json!({"type": "integer", "minimum": 0}),
        Kind::Flag => json!({"type": "boolean"}),
    };
    if !values.is_empty() {
        one["enum"] = json!(values);
    }
    let mut property = match call::kind(arg) {
        Kind::Texts => json!({"type": "array", "items": one}),
        _ => one,
    };
    if let Some(help) = arg.get_help() {
        property["description"] = json!(help.to_string());
    }
    property
}
