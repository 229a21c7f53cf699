//! `gemel show`.

use super::{claims, evidence, residuals, trajectory};
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::fields;
use crate::json::Json;
use crate::render::{Printer, counted};
use gemel_object::{Family, Gid, Limits, Object, blob_header};
use gemel_repo::facts::Omitted;
use gemel_repo::history::{self, Openness, ShowFacts, Veil};
use gemel_repo::{Code, Repo, knowledge, names};
use serde_json::{Map, Value};

/// Show one object
///
/// A blob is shown as its content, everything else field by field; --json answers the canonical form.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The object
    id: String,
    /// Write the canonical bytes, as they are hashed
    #[arg(long, conflicts_with = "compact")]
    raw: bool,
    /// The row that lists of such objects have, named fields where there are no lists, instead of the canonical form
    #[arg(long)]
    compact: bool,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    if args.raw && context.globals.json {
        return Err(CliError::invalid("--raw writes bytes and cannot be combined with --json"));
    }
    if !context.globals.json && !args.compact {
        let id = names::resolve(repo, &args.id)?;
        if id.family() == Family::Blob && (args.raw || !context.environment.stdout_is_terminal) {
            return stream(repo, id, args.raw);
        }
    }
    let facts = history::show(repo, &args.id)?;
    let veil = context.knowing(|session| knowledge::veil(session, &facts.id))?;
    let omitted = match Object::parse(&facts.envelope, &Limits::default()) {
        Ok(object) => veil.omitted(&object),
        Err(_) => Vec::new(),
    };
    if args.raw && !omitted.is_empty() {
        return Err(withheld(&facts.id, &omitted));
    }
    if args.raw {
        return Ok(Answer::raw(move |out| out.write_all(&facts.envelope).map_err(|e| CliError::output(&e))));
    }
    Object::decode(&facts.envelope, &Limits::default()).map_err(|error| {
        CliError::new(
            Code::RepositoryCorrupt,
            format!("corrupt object {}: {error}; run `gemel fsck`", facts.id),
        )
    })?;
    let timestamps = context.globals.timestamps;
    let row = if args.compact { row(context, &facts.id)? } else { None };
    Ok(Answer::of(Shown { facts, veil, compact: args.compact, row, timestamps }).long().omitting(&omitted))
}

/// The row of the object's family. An older version is no row of its own.
fn row(context: &Context<'_>, id: &Gid) -> Result<Option<Map<String, Value>>, CliError> {
    let text = id.to_string();
    let (newest, row) = match id.family() {
        Family::Claim => {
            let row = context.knowing(|session| knowledge::claim_show(session, &text))?.row;
            (row.id, claims::claim_json(&row))
        }
        Family::Residual => {
            let row = context.knowing(|session| knowledge::residual_show(session, &text))?.row;
            (row.id, residuals::residual_json(&row))
        }
        Family::Evidence => {
            let row = context.knowing(|session| knowledge::evidence_show(session, &text, None))?.row;
            (row.id, evidence::row_json(&row))
        }
        Family::Trajectory => {
            let facts = context.knowing(|session| knowledge::trajectory(session, &text))?;
            (facts.id, trajectory::row_json(&facts, context.globals.timestamps))
        }
        _ => return Ok(None),
    };
    let mut row = row.map();
    row.insert("family".to_owned(), id.family().name().json());
    Ok((newest == *id).then_some(row))
}

/// The stored bytes hold what may not be told.
fn withheld(id: &Gid, omitted: &[Omitted]) -> CliError {
    let fields: Vec<&str> = omitted.iter().map(|omitted| omitted.class).collect();
    let message =
        format!("{id} is not shown as it is stored: its disclosure withholds {}", fields.join(", "));
    CliError::new(Code::PolicyDenied, message).with_ids(&[*id])
}

/// A blob may be large: it streams past. Whether its bytes are right is known at the end, and a wrong end fails.
fn stream<'c>(repo: &'c Repo, id: Gid, with_header: bool) -> Result<Answer<'c>, CliError> {
    let envelope_len = repo.store().len_bytes(&id)?;
    Ok(Answer::raw(move |out| {
        if with_header {
            let header = raw_header(envelope_len).ok_or_else(|| {
                CliError::new(Code::RepositoryCorrupt, format!("corrupt object {id}: no header"))
            })?;
            out.write_all(&header).map_err(|e| CliError::output(&e))?;
        }
        Ok(repo.store().stream_blob(&id, out).map(drop)?)
    }))
}

/// The header of a blob whose whole envelope has `envelope_len` bytes.
fn raw_header(envelope_len: u64) -> Option<Vec<u8>> {
    // The header is 9 to 18 bytes; one of these lengths fits.
    (9..=18).find_map(|header_len| {
        let header = blob_header(envelope_len.checked_sub(header_len)?, &Limits::default()).ok()?;
        (header.envelope_len() == envelope_len).then(|| header.as_bytes().to_vec())
    })
}

struct Shown {
    facts: ShowFacts,
    veil: Veil,
    compact: bool,
    /// The row of its family, for the compact form.
    row: Option<Map<String, Value>>,
    timestamps: bool,
}

impl Shown {
    fn object(&self) -> Option<Object<'_>> {
        Object::parse(&self.facts.envelope, &Limits::default()).ok()
    }
}

impl View for Shown {
    fn json(&self) -> Map<String, Value> {
        let Some(object) = self.object() else { return Map::new() };
        let mut answer = match self.compact {
            true if self.row.is_some() => self.row.clone().unwrap_or_default(),
            true => fields::compact(&object, &self.veil, self.timestamps),
            false => fields::canonical(&object, &self.veil),
        };
        answer.insert("id".to_owned(), self.facts.id.json());
        // The name of the object, unless a compact field of its own is called that.
        if let Some(name) = self.facts.name.as_ref() {
            answer.entry("name").or_insert_with(|| name.json());
        }
        answer
    }

    fn human(&self, out: &mut Printer<'_>) {
        let Some(object) = self.object() else { return };
        if object.family() == Family::Blob && !self.compact {
            return content(object.body(), out);
        }
        out.paint(Style::Bold, object.family().name()).lit(" ");
        if let Some(name) = &self.facts.name {
            out.paint(Style::Name, name).lit(" ");
        }
        out.paint(Style::Id, &self.facts.id.to_string()).end();
        for commit in &self.facts.git {
            out.lit("  git: ").paint(Style::Id, commit).end();
        }
        if let Some(author) = self.facts.author.as_ref().filter(|_| self.veil.openness() != Openness::Outline)
        {
            out.lit("  author: ").text(author).end();
        }
        fields::human(&object, &self.veil, out);
    }
}

/// A blob on a terminal.
fn content(body: &[u8], out: &mut Printer<'_>) {
    if body.contains(&0) {
        let bytes = counted(u64::try_from(body.len()).unwrap_or(u64::MAX), "byte");
        out.lit("binary content, ").lit(&bytes).lit("; redirect the output to a file to get it").end();
        return;
    }
    out.content(Style::Plain, body);
    if body.last().is_some_and(|byte| *byte != b'\n') {
        out.end();
    }
}
