//! `gemel protocol`: a session for programs, one JSON object a line in and out (query surface, section 5).

use crate::answer::Answer;
use crate::app::Context;
use crate::envelope;
use crate::error::{CliError, Refusal};
use crate::session::lines::{self, Line};
use crate::session::queries::{self, Query};
use crate::session::{Rights, Session, strict};
use gemel_repo::Code;
use serde_json::{Map, Value};
use std::io::{BufRead, Write};

/// Answer questions over standard input and output, one JSON object a line
///
/// A request is {"id":1,"query":"why","params":{"subject":"src/main.rs"}}; its answer is one line of gemel.agent.v1
/// with the same id. Nothing is executed, and no question records knowledge.
#[derive(Debug, clap::Args)]
#[command(after_long_help = queries::listed())]
pub(crate) struct Args {
    /// Refuse queries that store derived objects
    #[arg(long)]
    read_only: bool,
}

/// Longest request line, without its line break.
const MAX_LINE_BYTES: usize = 64 << 10;
/// Longest answer, with its line break.
const MAX_ANSWER_BYTES: usize = 4 << 20;

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let rights = if args.read_only { Rights::Read } else { Rights::Derive };
    let session = Session::open(context, rights)?;
    Ok(Answer::raw(move |out| converse(&session, &mut std::io::stdin().lock(), out)))
}

/// Answers requests until the input ends. Each answer is written out before the next request is read.
fn converse(session: &Session, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<(), CliError> {
    let unreadable = |error| CliError::new(Code::Internal, format!("cannot read requests: {error}"));
    while let Some(line) = lines::next(input, MAX_LINE_BYTES).map_err(unreadable)? {
        let answer = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => answer(session, &line),
            Line::TooLong(start) => {
                let id = strict::parse(&start).id.unwrap_or(0);
                let message = format!("a request line is longer than {MAX_LINE_BYTES} bytes");
                failure(id, "limit_exceeded", Code::LimitExceeded, message)
            }
        };
        out.write_all(&answer).and_then(|()| out.flush()).map_err(|e| CliError::output(&e))?;
    }
    Ok(())
}

/// A request that was understood.
struct Request {
    query: String,
    params: Map<String, Value>,
}

/// The line that answers a line.
fn answer(session: &Session, line: &[u8]) -> Vec<u8> {
    let strict::Parsed { id, value } = strict::parse(line);
    let (id, request) = match (id, value.and_then(|value| request(id, value))) {
        (Some(id), Ok(request)) => (id, request),
        (id, Err(message)) => {
            return failure(id.unwrap_or(0), "invalid_request", Code::InvalidArgument, message);
        }
        (None, Ok(_)) => return failure(0, "invalid_request", Code::InvalidArgument, NO_ID.to_owned()),
    };
    let Some(query) = Query::named(&request.query).filter(|query| query.is_question()) else {
        let message = format!("unknown query {:?}", request.query);
        return failure(id, "query_failed", Code::InvalidArgument, message);
    };
    let found = session.ask(query, &request.params, |answer, _| {
        let mut map = envelope::agent(answer)?;
        map.insert("id".to_owned(), Value::from(id));
        Ok(line_of(map))
    });
    match found {
        Ok(line) if line.len() <= MAX_ANSWER_BYTES => line,
        Ok(line) => {
            let message = format!("the answer has {} bytes, more than {MAX_ANSWER_BYTES}", line.len());
            failure(id, "limit_exceeded", Code::LimitExceeded, message)
        }
        Err(CliError::Refused(refusal)) => {
            refused(id, if refusal.code == Code::Internal { "internal" } else { "query_failed" }, &refusal)
        }
        Err(CliError::BrokenPipe) => {
            failure(id, "internal", Code::Internal, "a pipe of the repository closed".to_owned())
        }
    }
}

const NO_ID: &str = "request requires an id, an unsigned integer";

/// Reads the members of a request.
fn request(id: Option<u64>, value: Value) -> Result<Request, String> {
    let Value::Object(mut members) = value else { return Err("request must be a JSON object".to_owned()) };
    if let Some(key) = members.keys().find(|key| !["id", "query", "params"].contains(&key.as_str())) {
        return Err(format!("unknown member {key:?} (a request has id, query and params)"));
    }
    if id.is_none() {
        return Err(NO_ID.to_owned());
    }
    let query = match members.remove("query") {
        Some(Value::String(query)) => query,
        Some(_) => return Err("query must be a string".to_owned()),
        None => return Err("request requires a query".to_owned()),
    };
    let params = match members.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err("params must be an object".to_owned()),
    };
    Ok(Request { query, params })
}

fn failure(id: u64, code: &str, query_code: Code, message: String) -> Vec<u8> {
    refused(id, code, &Refusal { code: query_code, message, ids: Vec::new(), hint: None })
}

fn refused(id: u64, code: &str, refusal: &Refusal) -> Vec<u8> {
    let mut map = envelope::agent_refusal(code, refusal);
    map.insert("id".to_owned(), Value::from(id));
    line_of(map)
}

fn line_of(map: Map<String, Value>) -> Vec<u8> {
    let mut line = Value::Object(map).to_string().into_bytes();
    line.push(b'\n');
    line
}
