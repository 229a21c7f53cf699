//! `gemel.evidence.v1`: evidence written as a document by whoever observed it (workflow, section 8).

use super::fields::{Fields, bad, wrong};
use super::place::{self, Place};
use super::tree::{self, Bounds};
use crate::history::observation::{Counts, NamedDigest, Observation, Outcome, Reproduction, Tool};
use crate::names::{Accept, resolve_in};
use crate::{RepoError, Result};
use gemel_object::{EvidenceKind, EvidenceOutcome, Family, Gid};
use gemel_store::StoreError;
use serde_json::{Map, Value};

/// Name of the documents.
pub(super) const SCHEMA: &str = "gemel.evidence.v1";

/// Most values in a document: a reference with its role takes three, and an object holds 100,000 references.
const MAX_VALUES: u64 = 400_000;

/// Reads a document and resolves what it refers to.
///
/// # Errors
/// `Invalid`, naming the key; `Store`.
pub(super) fn read(bytes: &[u8], place: &Place<'_>) -> Result<Observation> {
    let value = tree::read(bytes, Bounds { values: MAX_VALUES, keep: |key| !key.starts_with("x-") })
        .map_err(|error| {
            RepoError::invalid(format!("invalid: the document does not read as JSON: {error}"))
        })?;
    match &value {
        Value::Object(members) => observation(members, place),
        other => Err(wrong("the evidence document", "a JSON object", other)),
    }
}

fn observation(members: &Map<String, Value>, place: &Place<'_>) -> Result<Observation> {
    let mut doc = Fields::root(members);
    match doc.text("schema")? {
        Some(SCHEMA) => {}
        Some(other) => return Err(bad("schema", format_args!("{other:?} is unknown (expected {SCHEMA:?})"))),
        None => return Err(bad("schema", format_args!("is missing (expected {SCHEMA:?})"))),
    }
    let producer = match (doc.text("producer")?, place.producer) {
        (None, Some(given)) => given,
        (said, given) => {
            let said =
                place.reference("producer", doc.required("producer", said)?, Some(Family::Producer))?;
            place::agreed("producer", Some(said), given)?;
            said
        }
    };
    let kind = doc.text("kind")?;
    let kind = doc.required("kind", kind)?;
    let kind =
        EvidenceKind::from_text(kind).ok_or_else(|| outside("kind", kind, EvidenceKind::SET.values))?;
    let mut made = Observation::new(producer, kind, place.now_ms);
    made.subject = doc.text("subject")?.map(str::to_owned);
    made.subject_refs = ids(place, doc.list("subject_refs")?)?;
    made.command = doc.text("command")?.map(str::to_owned);
    made.command_ref = one(place, "command_ref", doc.text("command_ref")?, Family::Operation)?;
    for (at, value) in doc.list("inputs")? {
        let (id, role) = artifact(place, at.clone(), value)?;
        match role {
            Some("evaluated_state") if id.family() != Family::State => {
                return Err(bad(&format!("{at}.id"), format_args!("{id} is not a state")));
            }
            Some("evaluated_state") if made.evaluated_state.is_some_and(|state| state != id) => {
                return Err(bad(&at, "is a second evaluated_state"));
            }
            Some("evaluated_state") => made.evaluated_state = Some(id),
            _ => made.inputs.push(id),
        }
    }
    made.environment = one(place, "environment", doc.text("environment")?, Family::Environment)?;
    made.tools = doc.list("tools")?.into_iter().map(tool).collect::<Result<_>>()?;
    made.fixtures = ids(place, doc.list("fixtures")?)?;
    made.normalizers = doc.list("normalizers")?.into_iter().map(pinned).collect::<Result<_>>()?;
    made.comparators = doc.list("comparators")?.into_iter().map(pinned).collect::<Result<_>>()?;
    made.result = doc.object("result")?.map(outcome).transpose()?;
    for (at, value) in doc.list("outputs")? {
        made.outputs.push(artifact(place, at, value)?.0);
    }
    if let Some(fields) = doc.object("reproduction")? {
        made.reproduction = reproduction(fields)?;
    }
    made.created_at_ms = doc.integer("created_at")?.unwrap_or(place.now_ms);
    doc.close()?;
    Ok(made)
}

fn outcome(mut fields: Fields<'_>) -> Result<Outcome> {
    let stated = fields.text("outcome")?;
    let stated = fields.required("outcome", stated)?;
    let made = Outcome {
        outcome: match stated {
            "match" => EvidenceOutcome::Pass,
            text => EvidenceOutcome::from_text(text)
                .ok_or_else(|| outside(&fields.place("outcome"), text, EvidenceOutcome::SET.values))?,
        },
        detail: fields.text("detail")?.map(str::to_owned),
        exit_code: fields.integer("exit_code")?,
        counts: fields.object("counts")?.map(counts).transpose()?,
    };
    fields.close()?;
    Ok(made)
}

/// All four or none, and they add up.
fn counts(mut fields: Fields<'_>) -> Result<Counts> {
    let mut count = |key: &'static str| {
        let value = fields.count(key)?;
        fields.required(key, value)
    };
    let counts = Counts { passed: count("passed")?, failed: count("failed")?, skipped: count("skipped")? };
    let total = count("total")?;
    let sum = [counts.failed, counts.skipped].iter().try_fold(counts.passed, |sum, n| sum.checked_add(*n));
    if sum != Some(total) {
        let Counts { passed, failed, skipped } = counts;
        return Err(bad(
            &fields.place("total"),
            format_args!(
                "is {total}, but passed {passed}, failed {failed} and skipped {skipped} are not as many"
            ),
        ));
    }
    fields.close()?;
    Ok(counts)
}

fn tool((at, value): (String, &Value)) -> Result<Tool> {
    let mut fields = Fields::at(at, value)?;
    let (name, version) = (fields.text("name")?, fields.text("version")?);
    let made = Tool {
        name: fields.required("name", name)?.to_owned(),
        version: fields.required("version", version)?.to_owned(),
        digest: match fields.text("digest")? {
            Some(text) => Some(digest(&fields.place("digest"), text)?),
            None => None,
        },
    };
    fields.close()?;
    Ok(made)
}

fn pinned((at, value): (String, &Value)) -> Result<NamedDigest> {
    let mut fields = Fields::at(at, value)?;
    let (name, text) = (fields.text("name")?, fields.text("digest")?);
    let made = NamedDigest {
        name: fields.required("name", name)?.to_owned(),
        digest: digest(&fields.place("digest"), fields.required("digest", text)?)?,
    };
    fields.close()?;
    Ok(made)
}

fn reproduction(mut fields: Fields<'_>) -> Result<Reproduction> {
    let made = Reproduction {
        replayable: fields.flag("replayable")?,
        inputs_present: fields.flag("inputs_present")?,
        inputs_remote: fields.flag("inputs_remote")?,
        policy_required: fields.flag("policy_required")?,
    };
    fields.close()?;
    Ok(made)
}

/// An object with an optional role.
fn artifact<'v>(place: &Place<'_>, at: String, value: &'v Value) -> Result<(Gid, Option<&'v str>)> {
    let mut fields = Fields::at(at, value)?;
    let text = fields.text("id")?;
    let id = place.reference(&fields.place("id"), fields.required("id", text)?, None)?;
    let role = fields.text("role")?;
    fields.close()?;
    Ok((id, role))
}

fn one(place: &Place<'_>, key: &str, text: Option<&str>, family: Family) -> Result<Option<Gid>> {
    text.map(|text| place.reference(key, text, Some(family))).transpose()
}

fn ids(place: &Place<'_>, list: Vec<(String, &Value)>) -> Result<Vec<Gid>> {
    let read = |(at, value): (String, &Value)| match value {
        Value::String(text) => place.reference(&at, text, None),
        other => Err(wrong(&at, "an identity", other)),
    };
    list.into_iter().map(read).collect()
}

fn digest(place: &str, text: &str) -> Result<[u8; 32]> {
    let hash = blake3::Hash::from_hex(text)
        .map_err(|_| bad(place, format_args!("{text:?} is not 64 hex digits")))?;
    Ok(*hash.as_bytes())
}

fn outside(place: &str, value: &str, allowed: &[&str]) -> RepoError {
    bad(place, format_args!("{value:?} is unknown (expected one of {})", allowed.join(", ")))
}

impl Place<'_> {
    /// The object that a document refers to, which must be stored.
    ///
    /// # Errors
    /// `Invalid`, naming the key, when nothing or several things are meant, or something of another family; `Store`.
    fn reference(&self, key: &str, text: &str, family: Option<Family>) -> Result<Gid> {
        let accept = family.map_or(Accept::ANY, Accept::only);
        let (detail, ids) = match resolve_in(self.repo, &self.refs, text, accept) {
            Ok(id) if self.repo.store().contains(&id)? => return Ok(id),
            Ok(id) => (format!("{id} is not present"), Vec::new()),
            Err(RepoError::Unresolved { .. } | RepoError::Store(StoreError::NotFound { .. })) => {
                (format!("{text:?} is not present"), Vec::new())
            }
            Err(RepoError::Ambiguous { candidates, .. }) => {
                (format!("{text:?} matches several objects"), candidates)
            }
            Err(RepoError::WrongFamily { id, expected, .. }) => {
                (format!("{text} is not {expected}"), vec![id])
            }
            Err(error) => return Err(error),
        };
        Err(RepoError::Invalid { detail: format!("invalid: {key}: {detail}"), ids })
    }
}
