//! `gemel serve`: questions over standard input, one JSON object a line, answered in order.
//!
//! The session reads and never writes. Requests that would move objects are refused until transfer exists.

use crate::answer::Answer;
use crate::app::Context;
use crate::error::CliError;
use crate::json::{Json, Obj};
use gemel_object::Gid;
use gemel_repo::{Repo, RepoError, history};
use serde_json::{Map, Value};
use std::io::{BufRead, Read as _, Write};
use std::path::PathBuf;

/// Answer questions about refs and objects over standard input and output
///
/// One JSON object a line, {"id":1,"op":"list_refs"}, and one a line back. Nothing is written to the repository.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Repository root [default: --repo, else searched for upward]
    path: Option<PathBuf>,
    /// Refuse whatever writes; so far nothing does
    #[arg(long)]
    read_only: bool,
}

/// Longest request line.
const MAX_LINE_BYTES: u64 = 16 << 20;

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let named = args.path.as_ref().map(|path| context.absolute(path)).transpose()?;
    let opened = named.map(|root| Repo::open(context.disk(), &root)).transpose()?;
    if opened.is_none() {
        context.repo()?;
    }
    let read_only = args.read_only;
    Ok(Answer::raw(move |out| {
        let repo = match &opened {
            Some(repo) => repo,
            None => context.repo()?,
        };
        session(&Session { repo, read_only }, &mut std::io::stdin().lock(), out)
    }))
}

/// Answers requests until the input ends.
fn session(session: &Session<'_>, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<(), CliError> {
    loop {
        let mut line = Vec::new();
        let read =
            |error| CliError::new(gemel_repo::Code::Internal, format!("cannot read requests: {error}"));
        if (&mut *input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(read)? == 0 {
            return Ok(());
        }
        let answer = if line.len() as u64 == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            skip_line(input).map_err(read)?;
            failure(0, "limit_exceeded", &format!("a request line is longer than {MAX_LINE_BYTES} bytes"))
        } else if line.trim_ascii().is_empty() {
            continue;
        } else {
            session.answer(&line)
        };
        let mut text = Value::Object(answer).to_string();
        text.push('\n');
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| CliError::output(&e))?;
    }
}

/// Passes over the rest of a line without keeping it.
fn skip_line(input: &mut dyn BufRead) -> std::io::Result<()> {
    loop {
        let held = input.fill_buf()?;
        let end = held.iter().position(|byte| *byte == b'\n');
        let (used, done) = (end.map_or(held.len(), |at| at + 1), end.is_some() || held.is_empty());
        input.consume(used);
        if done {
            return Ok(());
        }
    }
}

struct Session<'r> {
    repo: &'r Repo,
    read_only: bool,
}

/// Why a request gets no answer: code and message.
type Failure = (&'static str, String);

impl Session<'_> {
    fn answer(&self, line: &[u8]) -> Map<String, Value> {
        let Ok(Value::Object(request)) = serde_json::from_slice(line) else {
            return failure(0, "invalid_request", "a request is one JSON object a line");
        };
        let id = request.get("id").and_then(Value::as_u64).unwrap_or(0);
        let op = request.get("op").and_then(Value::as_str).unwrap_or_default();
        let empty = Map::new();
        let params = match request.get("params") {
            None => &empty,
            Some(Value::Object(params)) => params,
            Some(_) => return failure(id, "invalid_request", "params is no object"),
        };
        match self.perform(op, params) {
            Ok(facts) => facts.put("id", &id).put("op", op).put("ok", &true).map(),
            Err((code, message)) => failure(id, code, &message),
        }
    }

    fn perform(&self, op: &str, params: &Map<String, Value>) -> Result<Obj, Failure> {
        let failed = |error: RepoError| ("query_failed", error.to_string());
        match op {
            "list_refs" => {
                let refs = history::shared_refs(self.repo).map_err(failed)?;
                Ok(Obj::new().rows("refs", &refs, |(name, id)| Value::Array(vec![name.json(), id.json()])))
            }
            "reachable" => {
                let ids = history::closure(self.repo, &ids(params, "seeds")?).map_err(failed)?;
                Ok(Obj::new().put("ids", &ids))
            }
            "missing" => {
                let mut absent = Vec::new();
                for id in ids(params, "ids")? {
                    if !self.repo.store().contains(&id).map_err(|e| failed(e.into()))? {
                        absent.push(id);
                    }
                }
                Ok(Obj::new().put("ids", &absent))
            }
            "push" | "update_refs" if self.read_only => {
                Err(("query_failed", "server is read-only".to_owned()))
            }
            "fetch" | "push" | "update_refs" => {
                Err(("query_failed", format!("{op} is not built yet; nothing was done")))
            }
            other => Err(("query_failed", format!("unknown op {other:?}"))),
        }
    }
}

/// Identities in a member of the parameters; none when it is absent.
fn ids(params: &Map<String, Value>, key: &str) -> Result<Vec<Gid>, Failure> {
    let Some(value) = params.get(key) else { return Ok(Vec::new()) };
    let Some(list) = value.as_array() else { return Err(("query_failed", format!("{key} is no array"))) };
    let id = |value: &Value| {
        let text = value
            .as_str()
            .ok_or_else(|| ("query_failed", format!("{key} holds something that is no text")))?;
        Gid::parse(text).map_err(|error| ("query_failed", format!("{text:?} is no identity: {error}")))
    };
    list.iter().map(id).collect()
}

fn failure(id: u64, code: &str, message: &str) -> Map<String, Value> {
    let error = Obj::new().put("code", code).put("message", message);
    Obj::new().put("error", &error).put("id", &id).put("ok", &false).map()
}
