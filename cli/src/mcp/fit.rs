//! Answers no larger than the client wants: lists with fewer rows and a cursor, bundles with a smaller budget, other
//! answers with shorter arrays that say so. JSON is never cut.

use super::tools::MAX_BYTES;
use super::{MAX_ANSWER_BYTES, MIN_ANSWER_BYTES};
use crate::answer::{Answer, Body};
use crate::app::notes;
use crate::envelope;
use crate::error::{CliError, Refusal};
use crate::render::Printer;
use crate::session::Session;
use crate::session::queries::{Query, Room};
use gemel_repo::{Code, Repo};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Bytes of a refusal's message at most.
const REFUSAL_BYTES: usize = 512;
/// Identities in a refusal at most.
const REFUSAL_IDS: usize = 8;
/// Bytes of the text beside an answer at most.
const TEXT_BYTES: usize = 8 << 10;
/// What surrounds text and JSON in a result.
const FRAME_BYTES: usize = 256;
/// Questions asked anew for one answer at most.
const ROUNDS: usize = 12;

/// An answer that fits.
#[derive(Debug)]
pub(super) struct Fitted {
    /// `gemel.agent.v1`.
    pub(super) structured: Map<String, Value>,
    /// The same for people.
    pub(super) text: String,
}

/// A refusal as an answer that fits: what it quotes may be as long as what was asked.
pub(super) fn refusal(mut refusal: Refusal) -> Fitted {
    refusal.message = cut(refusal.message, REFUSAL_BYTES, "…");
    refusal.ids.truncate(REFUSAL_IDS);
    let text = format!("{}: {}", refusal.code.as_str(), refusal.message);
    let code = if refusal.code == Code::Internal { "internal" } else { "query_failed" };
    Fitted { structured: envelope::agent_refusal(code, &refusal), text }
}

/// What came out of one try.
struct Try {
    structured: Map<String, Value>,
    bytes: usize,
    rows: Option<usize>,
    text: String,
}

/// Answers `query` in at most `max_bytes`, or the parameter of that name, whichever is smaller.
///
/// # Errors
/// Refusals of the query; `LIMIT_EXCEEDED` when not even the smallest answer fits.
pub(super) fn answer(
    session: &Session,
    query: &Query,
    mut params: Map<String, Value>,
    max_bytes: usize,
) -> Result<Fitted, CliError> {
    let max_bytes = bound(params.remove(MAX_BYTES), max_bytes)?;
    let text_bytes = TEXT_BYTES.min(max_bytes / 4);
    let room = max_bytes - text_bytes - FRAME_BYTES;
    let mut lowered: Option<String> = None;
    for _ in 0..ROUNDS {
        let mut tried = session.ask(query, &params, |answer, repo| attempt(answer, repo, text_bytes))?;
        if tried.bytes <= room {
            let mut text = tried.text;
            if let Some(notice) = &lowered {
                add_notice(&mut tried.structured, notice);
                text = cut(format!("notice: {notice}\n{text}"), text_bytes, CUT);
            }
            return Ok(Fitted { structured: tried.structured, text });
        }
        // Room for the notice.
        lowered = match smaller(query, &tried, room - FRAME_BYTES, &mut params) {
            Some(notice) => Some(notice),
            None if query.room == Room::Arrays => return trimmed(tried, room),
            None => return Err(too_large(tried.bytes, room)),
        };
    }
    Err(CliError::new(Code::LimitExceeded, "the answer does not become small enough"))
}

fn bound(asked: Option<Value>, max_bytes: usize) -> Result<usize, CliError> {
    let asked = match asked {
        None | Some(Value::Null) => return Ok(max_bytes),
        Some(asked) => asked.as_u64().filter(|bytes| (MIN_ANSWER_BYTES..=MAX_ANSWER_BYTES).contains(bytes)),
    };
    let asked = asked.and_then(|bytes| usize::try_from(bytes).ok());
    asked.map(|bytes| bytes.min(max_bytes)).ok_or_else(|| {
        let range = format!("{MIN_ANSWER_BYTES} to {MAX_ANSWER_BYTES}");
        CliError::invalid(format!("params.{MAX_BYTES} must be an integer from {range}"))
    })
}

fn attempt(answer: &Answer<'_>, repo: &Repo, text_bytes: usize) -> Result<Try, CliError> {
    let structured = envelope::agent(answer)?;
    let bytes = bytes_of(&structured);
    let text = text(answer, repo, text_bytes);
    Ok(Try { structured, bytes, rows: answer.listed.then_some(answer.count), text })
}

/// Lowers what the query is asked for; what to say about it. `None` when it is at its least.
fn smaller(query: &Query, tried: &Try, room: usize, params: &mut Map<String, Value>) -> Option<String> {
    let scaled = |whole: usize| whole.saturating_mul(room) / tried.bytes.max(1);
    match (query.room, tried.rows) {
        (Room::Rows, Some(rows)) if rows > 1 => {
            let rows = (scaled(rows) * 9 / 10).clamp(1, rows - 1);
            params.insert("limit".to_owned(), json!(rows));
            Some(format!("{rows} rows, because more do not fit max_bytes; the list goes on with the cursor"))
        }
        (Room::Budget, _) => {
            let number =
                |key: &str| params.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
            let asked = number("budget").map_or(usize::MAX, |tokens| tokens.saturating_mul(TOKEN_BYTES));
            let asked = asked.min(number("budget_bytes").unwrap_or(usize::MAX));
            // Without any, the budget that would have led to this answer.
            let budget = if asked == usize::MAX { room } else { scaled(asked) * 9 / 10 };
            let least = LEAST_TOKENS * TOKEN_BYTES;
            if asked <= least {
                return None;
            }
            let budget = budget.clamp(least, asked - 1);
            params.remove("budget");
            params.insert("budget_bytes".to_owned(), json!(budget));
            Some(format!(
                "the budget is {} tokens, because more does not fit max_bytes",
                budget / TOKEN_BYTES
            ))
        }
        _ => None,
    }
}

/// Bytes of a token, as budgets count them.
const TOKEN_BYTES: usize = 4;
/// The smallest budget.
const LEAST_TOKENS: usize = 64;

/// Shortens the largest arrays from their end until the answer fits, and says so in `omitted`.
fn trimmed(tried: Try, room: usize) -> Result<Fitted, CliError> {
    let Try { mut structured, mut bytes, text, .. } = tried;
    let whole = bytes;
    while bytes > room {
        let mut largest = None;
        if let Some(result) = structured.get("result") {
            find_largest(result, &mut Vec::new(), &mut largest);
        }
        let (_, path) = largest.ok_or_else(|| too_large(whole, room))?;
        let over = bytes - room + FRAME_BYTES;
        let mut count = 0u64;
        if let Some(Value::Array(array)) = at(structured.get_mut("result"), &path) {
            let mut removed = 0;
            while removed < over {
                let Some(element) = array.pop() else { break };
                removed += element.to_string().len() + 1;
                count += 1;
            }
        }
        let omission = json!({"class": path.join("."), "count": count, "reason": "limit"});
        if let Some(Value::Array(omitted)) = structured.get_mut("omitted") {
            omitted.push(omission);
        }
        bytes = bytes_of(&structured);
    }
    add_notice(&mut structured, "arrays were shortened, because more does not fit max_bytes");
    Ok(Fitted { structured, text })
}

/// The largest array that is not empty and not inside another one: its bytes and where it is.
fn find_largest(value: &Value, path: &mut Vec<String>, largest: &mut Option<(usize, Vec<String>)>) {
    match value {
        Value::Array(array) if !array.is_empty() => {
            let bytes = value.to_string().len();
            if largest.as_ref().is_none_or(|(found, _)| bytes > *found) {
                *largest = Some((bytes, path.clone()));
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                path.push(key.clone());
                find_largest(member, path, largest);
                path.pop();
            }
        }
        _ => {}
    }
}

fn at<'v>(value: Option<&'v mut Value>, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value?, |value, key| value.get_mut(key))
}

fn add_notice(structured: &mut Map<String, Value>, notice: &str) {
    let notice = match structured.get("notice").and_then(Value::as_str) {
        Some(first) => format!("{first}; {notice}"),
        None => notice.to_owned(),
    };
    structured.insert("notice".to_owned(), Value::from(notice));
}

fn bytes_of(structured: &Map<String, Value>) -> usize {
    let mut counter = Counter(0);
    // Counting cannot fail.
    drop(serde_json::to_writer(&mut counter, structured));
    counter.0
}

fn too_large(bytes: usize, room: usize) -> CliError {
    let message = format!("the answer has {bytes} bytes, and {room} are left for it; raise {MAX_BYTES}");
    CliError::new(Code::LimitExceeded, message)
}

/// The answer as the command line would print it, as far as it goes into `limit` bytes of a JSON string.
fn text(answer: &Answer<'_>, repo: &Repo, limit: usize) -> String {
    let mut kept = Kept { bytes: Vec::new(), limit };
    let mut printer = Printer::new(&mut kept, Some(repo), false, true);
    if let Body::View(view) = &answer.body {
        view.human(&mut printer);
    }
    if let Some(cursor) = &answer.next_cursor {
        printer.lit("next: cursor ").lit(cursor).end();
    }
    notes(answer, &mut printer);
    // Text that is too long ends early, and says so.
    let whole = printer.finish().is_ok();
    let text = String::from_utf8_lossy(&kept.bytes).into_owned();
    let text = if whole { text } else { format!("{text}{CUT}") };
    cut(text, limit, CUT)
}

const CUT: &str = "… (structuredContent has all of it)\n";

/// `text`, cut between letters so that it takes at most `limit` bytes as a JSON string.
fn cut(text: String, limit: usize, mark: &str) -> String {
    if Value::from(text.as_str()).to_string().len() <= limit {
        return text;
    }
    let mut left = limit.saturating_sub(mark.len() + 4);
    let mut end = 0;
    for (at, letter) in text.char_indices() {
        let bytes = match letter {
            '"' | '\\' | '\n' | '\t' | '\r' => 2,
            letter if letter.is_control() => 6,
            letter => letter.len_utf8(),
        };
        if bytes > left {
            break;
        }
        left -= bytes;
        end = at + letter.len_utf8();
    }
    format!("{}{mark}", text.get(..end).unwrap_or_default())
}

/// Counts bytes.
struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the first bytes, then fails, so that no view goes on printing for nobody.
struct Kept {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let kept = bytes.len().min(self.limit - self.bytes.len());
        self.bytes.extend(bytes.iter().take(kept));
        if kept < bytes.len() {
            return Err(io::Error::other("the text is long enough"));
        }
        Ok(kept)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_letters_and_counts_escapes() {
        for text in ["", "abc", "äöü\n\"\\", "\u{1}\u{1f}\u{7f}", "😀😀😀"] {
            let text = text.repeat(400);
            for limit in [200, 201, 202, 203, 500, 10_000] {
                let cut = cut(text.clone(), limit, CUT);
                assert!(Value::from(cut.as_str()).to_string().len() <= limit, "{limit}");
                assert!(cut == text || cut.ends_with(CUT) && text.starts_with(cut.trim_end_matches(CUT)));
            }
        }
    }

    #[test]
    fn the_largest_arrays_are_shortened_and_counted() {
        let numbers: Vec<u32> = (0..2000).collect();
        let answer = json!({
            "result": {"small": [1, 2], "deep": {"large": numbers}, "rows": [{"inner": [1]}]},
            "omitted": [],
        });
        let structured = answer.as_object().expect("an object").clone();
        let whole = bytes_of(&structured);
        let tried = Try { bytes: whole, structured, rows: None, text: String::new() };
        let fitted = trimmed(tried, 2000).expect("it fits");
        assert!(bytes_of(&fitted.structured) <= 2000 + FRAME_BYTES);
        let kept = fitted.structured["result"]["deep"]["large"].as_array().expect("an array").len();
        let omission = &fitted.structured["omitted"][0];
        assert_eq!(omission["class"], "deep.large");
        assert_eq!(omission["count"].as_u64(), Some(2000 - kept as u64));
        assert_eq!(fitted.structured["result"]["small"], json!([1, 2]));
        // Without arrays there is nothing to shorten.
        let structured = json!({"result": {"text": "x".repeat(5000)}, "omitted": []});
        let structured = structured.as_object().expect("an object").clone();
        let tried = Try { bytes: bytes_of(&structured), structured, rows: None, text: String::new() };
        assert!(trimmed(tried, 2000).is_err());
    }
}
