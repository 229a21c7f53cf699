//! `gemel.query.v1`: the one shape of every answer and every refusal (query surface, section 1).

use crate::answer::{Answer, Body};
use crate::error::{CliError, Refusal};
use crate::json::Obj;
use gemel_repo::Code;
use serde_json::{Map, Value};

/// Name of the surface.
const SCHEMA: &str = "gemel.query.v1";
/// Name of the surface inside a session.
const AGENT_SCHEMA: &str = "gemel.agent.v1";

/// What was asked, as echoed in every envelope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// Words of the command.
    pub(crate) command: String,
    /// Parameters the caller gave, after parsing.
    pub(crate) params: Map<String, Value>,
}

/// The envelope of an answer whose `result` is `result`.
pub(crate) fn answer(request: &Request, answer: &Answer, result: Map<String, Value>) -> Map<String, Value> {
    head(request)
        .put("pagination", &pagination(answer))
        .put("result", &Value::Object(result))
        .put("omitted", &answer.omitted)
        .put("uncertainty", &answer.uncertainty)
        .opt("notice", answer.notice.as_ref())
        .map()
}

fn pagination(answer: &Answer<'_>) -> Obj {
    let has_more = answer.next_cursor.is_some();
    // The seed's envelope shows this one null.
    let next = answer.next_cursor.as_ref().map_or(Value::Null, |cursor| Value::from(cursor.as_str()));
    Obj::new().put("count", &answer.count).put("has_more", &has_more).put("next_cursor", &next)
}

/// An answer inside a session (query surface, section 5), without the identity of the request.
///
/// # Errors
/// `INTERNAL` for an answer of bytes, which no session asks for.
pub(crate) fn agent(answer: &Answer<'_>) -> Result<Map<String, Value>, CliError> {
    let Body::View(view) = &answer.body else {
        return Err(CliError::new(Code::Internal, "the answer is no JSON"));
    };
    let form = Obj::new()
        .put("schema", AGENT_SCHEMA)
        .put("result", &Value::Object(view.json()))
        .put("omitted", &answer.omitted)
        .put("uncertainty", &answer.uncertainty)
        .opt("notice", answer.notice.as_ref())
        .opt("pagination", answer.listed.then(|| pagination(answer)).as_ref());
    Ok(form.map())
}

/// A refusal inside a session: the session's own code, and the code of the query beside it.
pub(crate) fn agent_refusal(code: &str, refusal: &Refusal) -> Map<String, Value> {
    let ids = (!refusal.ids.is_empty()).then_some(&refusal.ids);
    let error = Obj::new()
        .put("code", code)
        .put("message", &refusal.message)
        .put("query_code", refusal.code.as_str())
        .opt("ids", ids);
    Obj::new().put("schema", AGENT_SCHEMA).put("error", &error).map()
}

/// The envelope of a refusal.
pub(crate) fn refusal(request: &Request, refusal: &Refusal) -> Map<String, Value> {
    let ids = (!refusal.ids.is_empty()).then_some(&refusal.ids);
    let error =
        Obj::new().put("code", refusal.code.as_str()).put("message", &refusal.message).opt("ids", ids);
    head(request).put("error", &error).map()
}

/// The bytes of an envelope on the command line: two spaces of indentation and a final line break.
pub(crate) fn pretty(envelope: &Map<String, Value>) -> String {
    // Maps, strings and numbers always serialise; an empty line would be the honest answer if they did not.
    let mut text = serde_json::to_string_pretty(envelope).unwrap_or_default();
    text.push('\n');
    text
}

fn head(request: &Request) -> Obj {
    let params = Value::Object(request.params.clone());
    let request = Obj::new().put("command", &request.command).put("params", &params);
    Obj::new().put("schema", SCHEMA).put("request", &request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_in_byte_order() {
        // serde_json sorts members only as long as nobody in the build asks it to keep their order.
        let map = Obj::new().put("b", "").put("a", "").put("B", "").map();
        assert_eq!(map.keys().map(String::as_str).collect::<Vec<_>>(), ["B", "a", "b"]);
    }
}
