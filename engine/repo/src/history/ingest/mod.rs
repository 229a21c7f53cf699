//! `evidence ingest`: what a tool wrote down becomes evidence (workflow, section 8).
//!
//! Nothing is executed, no claim is linked: that a tool ran, what came out, and what that says of a claim are three
//! statements, and only the first two are recorded here.

mod document;
mod fields;
mod tree;

use crate::history::observation::{self, Counts};
use crate::names::{Accept, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::{EvidenceKind, EvidenceOutcome, Family, Gid};
use gemel_store::Refs;

/// Most bytes of a file that is read; a document of our own may have a sixteenth of that.
pub const MAX_INPUT_BYTES: u64 = 64 << 20;

/// Most bytes of a `gemel.evidence.v1` document.
const MAX_DOCUMENT_BYTES: u64 = MAX_INPUT_BYTES / 16;

/// What `evidence ingest` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct IngestOptions {
    /// Who observed it; a document of our own names its producer itself.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestFacts {
    /// The evidence, in the order of the file; never empty.
    pub evidence: Vec<Ingested>,
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

/// Where a file arrives.
struct Place<'a> {
    repo: &'a Repo,
    refs: &'a Refs,
    /// The producer that was named beside the file.
    producer: Option<Gid>,
    now_ms: i64,
}

impl Place<'_> {
    /// Refuses two answers to one question, one in the document and one beside it.
    ///
    /// # Errors
    /// `Invalid`, naming the key.
    fn agree<T: PartialEq>(&self, key: &str, said: Option<T>, given: Option<T>) -> Result<()> {
        match (said, given) {
            (Some(said), Some(given)) if said != given => Err(RepoError::invalid(format!(
                "invalid: {key}: the document names another one than --{key}"
            ))),
            _ => Ok(()),
        }
    }
}

/// Records the evidence in `bytes`.
///
/// # Errors
/// `Invalid` for a document that does not read or refers to what is not there, naming the key; `Limit`; `Object`;
/// `Store`. Nothing is then recorded.
pub fn ingest(repo: &Repo, bytes: &[u8], options: &IngestOptions) -> Result<IngestFacts> {
    let refs = repo.store().refs()?;
    let limits = repo.limits(&refs)?;
    let producer = options.producer.as_deref();
    let producer = producer.map(|text| resolve_in(repo, &refs, text, Accept::only(Family::Producer)));
    let place = Place { repo, refs: &refs, producer: producer.transpose()?, now_ms: options.now_ms };
    let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if found > MAX_DOCUMENT_BYTES {
        let what = format!("bytes of a {} document", document::SCHEMA);
        return Err(RepoError::Limit { what, found, limit: MAX_DOCUMENT_BYTES });
    }
    let made = document::read(bytes, &place)?;
    let object = made.encode(&limits)?;
    let names =
        observation::keep(repo, "evidence ingest", std::slice::from_ref(&object), &[], options.now_ms)?;
    let result = made.result.as_ref();
    let rows = names.into_iter().map(|name| Ingested {
        id: object.id,
        name,
        kind: made.kind,
        subject: made.subject.clone(),
        outcome: result.map(|result| result.outcome),
        counts: result.and_then(|result| result.counts),
    });
    Ok(IngestFacts { evidence: rows.collect() })
}
