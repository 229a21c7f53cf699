//! `gemel.query.v1`: the one shape of every answer and every refusal (query surface, section 1).

use crate::answer::Answer;
use crate::error::Refusal;
use crate::json::Obj;
use serde_json::{Map, Value};

/// Name of the surface.
const SCHEMA: &str = "gemel.query.v1";

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
    let has_more = answer.next_cursor.is_some();
    // The seed's envelope shows this one null.
    let next = answer.next_cursor.as_ref().map_or(Value::Null, |cursor| Value::from(cursor.as_str()));
    let pagination =
        Obj::new().put("count", &answer.count).put("has_more", &has_more).put("next_cursor", &next);
    head(request)
        .put("pagination", &pagination)
        .put("result", &Value::Object(result))
        .put("omitted", &answer.omitted)
        .put("uncertainty", &answer.uncertainty)
        .opt("notice", answer.notice.as_ref())
        .map()
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
