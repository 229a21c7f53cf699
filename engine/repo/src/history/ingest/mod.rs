//! `evidence ingest`: what a tool wrote down becomes evidence (workflow, section 8).
//!
//! Nothing is executed, no claim is linked: that a tool ran, what came out, and what that says of a claim are three
//! statements, and only the first two are recorded here.

mod document;
mod fields;
mod format;
mod place;
mod report;
mod tree;

pub use format::Format;

use crate::facts::{Omitted, Progress, Uncertainty};
use crate::history::EnvironmentOptions;
use crate::history::observation::{self, Counts, Observation, Outcome, Tool};
use crate::{Repo, RepoError, Result};
use gemel_object::{Encoded, EvidenceKind, EvidenceOutcome, Family, Gid, blob_envelope};
use place::Place;
use report::Report;
use std::path::PathBuf;

/// Most bytes of a file that is read; a document of our own may have a sixteenth of that.
pub const MAX_INPUT_BYTES: u64 = 64 << 20;

/// Most bytes of a `gemel.evidence.v1` document.
const MAX_DOCUMENT_BYTES: u64 = MAX_INPUT_BYTES / 16;

/// What `evidence ingest` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct IngestOptions {
    /// One of [`Format::WORDS`]; `auto` when absent.
    pub format: Option<String>,
    /// Who observed it; else the document's producer, for reports the default one.
    pub producer: Option<String>,
    /// What it is about, whatever the report says.
    pub subject: Option<String>,
    /// The state it was observed at: `result`, `head`, `none` or a state. Reports stand at the workspace's recorded
    /// state when this is absent and the files are those of that state.
    pub state: Option<String>,
    /// The workspace whose files it was observed on; `default` when absent.
    pub workspace: Option<String>,
    /// Where it was observed.
    pub environment: Option<String>,
    /// Where it was observed, to be recorded with it; excludes `environment`.
    pub machine: Option<EnvironmentOptions>,
    /// Tools beside those that the report names, `NAME=VERSION`.
    pub tools: Vec<String>,
    /// The file, absolute: that it lies among the recorded files makes them no others.
    pub file: Option<PathBuf>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestFacts {
    /// What the file was read as.
    pub format: Format,
    /// The evidence, in the order of the file; never empty.
    pub evidence: Vec<Ingested>,
    /// The file itself, unless it is a document of our own.
    pub raw: Option<Gid>,
    /// The state it was observed at.
    pub evaluated_state: Option<Gid>,
    /// Where it was observed.
    pub environment: Option<Gid>,
    /// What could not be read.
    pub omitted: Vec<Omitted>,
    /// What the file leaves open.
    pub uncertainty: Vec<Uncertainty>,
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ingested {
    /// The evidence.
    pub id: Gid,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: EvidenceKind,
    /// What it is about.
    pub subject: Option<String>,
    /// What came out, if that is known.
    pub outcome: Option<EvidenceOutcome>,
    /// Numbers of cases.
    pub counts: Option<Counts>,
}

/// Records the evidence in `bytes`.
///
/// # Errors
/// `Invalid` for a file that does not read or refers to what is not there, naming the key; `EnumValue` for an unknown
/// format; `Limit`; `Object`; `Store`. Nothing is then recorded.
pub fn ingest(
    repo: &Repo,
    bytes: &[u8],
    options: &IngestOptions,
    progress: &dyn Progress,
) -> Result<IngestFacts> {
    let format = match options.format.as_deref() {
        None | Some("auto") => Format::of(bytes),
        Some(text) => Format::from_text(text).ok_or_else(|| RepoError::EnumValue {
            field: "format",
            value: text.to_owned(),
            allowed: &Format::WORDS,
        })?,
    };
    let most = if format == Format::Gemel { MAX_DOCUMENT_BYTES } else { MAX_INPUT_BYTES };
    let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if found > most {
        let what = format!("bytes of a file in format {}", format.as_str());
        return Err(RepoError::Limit { what, found, limit: most });
    }
    let mut place = Place::find(repo, options)?;
    let mut draft = match format {
        Format::Gemel => of_document(bytes, &place, options)?,
        _ => of_reports(format, bytes, &mut place, options, progress)?,
    };
    let limits = &place.limits;
    let objects = draft.made.iter().map(|made| made.encode(limits)).collect::<Result<Vec<_>>>()?;
    for (doubt, at) in &mut draft.doubts {
        doubt.ids = objects.get(*at).map(|object| object.id.to_string()).into_iter().collect();
    }
    let mut beside = draft.beside;
    beside.extend(place.machine.take());
    let names = observation::keep(repo, "evidence ingest", &objects, &beside, options.now_ms)?;
    let rows = objects.iter().zip(&draft.made).zip(names).map(|((object, made), name)| Ingested {
        id: object.id,
        name,
        kind: made.kind,
        subject: made.subject.clone(),
        outcome: made.result.as_ref().map(|result| result.outcome),
        counts: made.result.as_ref().and_then(|result| result.counts),
    });
    let first = draft.made.first();
    let mut uncertainty: Vec<Uncertainty> = draft.doubts.into_iter().map(|(doubt, _)| doubt).collect();
    uncertainty.append(&mut place.doubts);
    Ok(IngestFacts {
        format,
        evidence: rows.collect(),
        raw: draft.raw,
        evaluated_state: first.and_then(|made| made.evaluated_state),
        environment: first.and_then(|made| made.environment),
        omitted: draft.omitted,
        uncertainty,
    })
}

/// What a file becomes.
struct Draft {
    made: Vec<Observation>,
    beside: Vec<Encoded>,
    raw: Option<Gid>,
    omitted: Vec<Omitted>,
    /// Each with the position of what it is about.
    doubts: Vec<(Uncertainty, usize)>,
}

/// A document says all itself; what is said beside it may fill gaps, not contradict.
fn of_document(bytes: &[u8], place: &Place<'_>, options: &IngestOptions) -> Result<Draft> {
    if !options.tools.is_empty() {
        return Err(RepoError::invalid(
            "--tool is for reports of other formats: the document names its tools",
        ));
    }
    let mut made = document::read(bytes, place)?;
    let subject = options.subject.as_ref();
    made.subject = place::agreed("subject", made.subject.as_ref(), subject)?.cloned();
    let environment = place.environment();
    made.environment =
        place::agreed("environment", made.environment.as_ref(), environment.as_ref())?.copied();
    let state = match options.state {
        Some(_) => place.stated(options)?,
        None => None,
    };
    made.evaluated_state = place::agreed("state", made.evaluated_state.as_ref(), state.as_ref())?.copied();
    Ok(Draft { made: vec![made], beside: Vec::new(), raw: None, omitted: Vec::new(), doubts: Vec::new() })
}

fn of_reports(
    format: Format,
    bytes: &[u8],
    place: &mut Place<'_>,
    options: &IngestOptions,
    progress: &dyn Progress,
) -> Result<Draft> {
    let reports = report::read(format, bytes).map_err(|error| {
        RepoError::invalid(format!("invalid: the file does not read as {}: {error}", format.as_str()))
    })?;
    let given = options.tools.iter().map(|text| given_tool(text)).collect::<Result<Vec<_>>>()?;
    let producer = place.repo.producer(&place.refs, None, place.producer)?;
    let state = match options.state {
        Some(_) => place.stated(options)?,
        None => place.clean_state(options, progress)?,
    };
    let raw = blob_envelope(bytes, &place.limits)
        .map_err(|source| RepoError::Object { family: Family::Blob, source })?;
    let mut draft = Draft {
        made: Vec::new(),
        beside: Vec::new(),
        raw: Some(raw.id),
        omitted: Vec::new(),
        doubts: Vec::new(),
    };
    let mut unparsed = 0u64;
    for (at, report) in reports.into_iter().enumerate() {
        unparsed = unparsed.saturating_add(report.unparsed);
        draft.doubts.extend(
            report
                .doubts
                .iter()
                .map(|(class, reason)| (Uncertainty { class, ids: Vec::new(), reason: reason.clone() }, at)),
        );
        let mut made = Observation::new(producer, report.kind, options.now_ms);
        made.evaluated_state = state;
        made.environment = place.environment();
        made.outputs = vec![raw.id];
        fill(&mut made, report, options.subject.as_ref(), &given);
        draft.made.push(made);
    }
    if unparsed > 0 {
        draft.omitted.push(Omitted {
            class: format.as_str(),
            count: unparsed,
            reason: "unparsed",
            ids: Vec::new(),
        });
    }
    draft.beside.push(raw);
    Ok(draft)
}

/// What a report says, as an observation says it.
fn fill(made: &mut Observation, report: Report, subject: Option<&String>, given: &[Tool]) {
    made.subject = subject.cloned().or(report.subject);
    made.command = report.command;
    let named = report.tools.into_iter().filter(|tool| given.iter().all(|given| given.name != tool.name));
    made.tools = given.iter().cloned().chain(named).collect();
    let (detail, exit_code, counts) = (report.detail.text(), report.exit_code, report.counts);
    made.result = report.outcome.map(|outcome| Outcome { outcome, detail, exit_code, counts });
}

fn given_tool(text: &str) -> Result<Tool> {
    match text.split_once('=') {
        Some((name, version)) if !name.is_empty() && !version.is_empty() => {
            Ok(Tool { name: name.to_owned(), version: version.to_owned(), digest: None })
        }
        _ => Err(RepoError::invalid(format!("--tool {text:?} is not NAME=VERSION"))),
    }
}
