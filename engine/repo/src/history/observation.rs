//! Evidence that comes from outside a change: what was observed, made an object, kept under a name (workflow,
//! sections 1, 8 and 15).

use crate::history::objects::non_empty;
use crate::names::{Allocator, Kind, Namer};
use crate::{Repo, RepoError, Result};
use gemel_object::families::{
    NewCounts, NewEvidence, NewEvidenceResult, NewNamedDigest, NewReproduction, NewTool,
};
use gemel_object::{Encoded, EvidenceKind, EvidenceOutcome, Family, Gid, Limits};
use gemel_store::NewObject;

/// Evidence to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Observation {
    pub(crate) producer: Gid,
    pub(crate) kind: EvidenceKind,
    pub(crate) subject: Option<String>,
    pub(crate) subject_refs: Vec<Gid>,
    pub(crate) command: Option<String>,
    pub(crate) command_ref: Option<Gid>,
    pub(crate) inputs: Vec<Gid>,
    pub(crate) environment: Option<Gid>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) fixtures: Vec<Gid>,
    pub(crate) normalizers: Vec<NamedDigest>,
    pub(crate) comparators: Vec<NamedDigest>,
    /// Absent when all that is known is that the tool ran.
    pub(crate) result: Option<Outcome>,
    pub(crate) outputs: Vec<Gid>,
    pub(crate) reproduction: Reproduction,
    pub(crate) created_at_ms: i64,
    pub(crate) evaluated_state: Option<Gid>,
}

/// A tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) digest: Option<[u8; 32]>,
}

/// Something pinned by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedDigest {
    pub(crate) name: String,
    pub(crate) digest: [u8; 32],
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) outcome: EvidenceOutcome,
    pub(crate) detail: Option<String>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) counts: Option<Counts>,
}

/// Numbers of cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were not run.
    pub skipped: u64,
}

impl Counts {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }
}

/// What a repetition would need; absent where nobody said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reproduction {
    pub(crate) replayable: Option<bool>,
    pub(crate) inputs_present: Option<bool>,
    pub(crate) inputs_remote: Option<bool>,
    pub(crate) policy_required: Option<bool>,
}

impl Observation {
    /// An observation that says nothing but who, what kind and when.
    pub(crate) fn new(producer: Gid, kind: EvidenceKind, created_at_ms: i64) -> Observation {
        Observation {
            producer,
            kind,
            subject: None,
            subject_refs: Vec::new(),
            command: None,
            command_ref: None,
            inputs: Vec::new(),
            environment: None,
            tools: Vec::new(),
            fixtures: Vec::new(),
            normalizers: Vec::new(),
            comparators: Vec::new(),
            result: None,
            outputs: Vec::new(),
            reproduction: Reproduction::default(),
            created_at_ms,
            evaluated_state: None,
        }
    }

    /// The evidence object. Lists keep their order; empty ones are left out.
    ///
    /// # Errors
    /// `Object`.
    pub(crate) fn encode(&self, limits: &Limits) -> Result<Encoded> {
        let tools: Vec<NewTool<'_>> = self.tools.iter().map(Tool::object).collect();
        let normalizers: Vec<NewNamedDigest<'_>> = self.normalizers.iter().map(NamedDigest::object).collect();
        let comparators: Vec<NewNamedDigest<'_>> = self.comparators.iter().map(NamedDigest::object).collect();
        let Reproduction { replayable, inputs_present, inputs_remote, policy_required } = self.reproduction;
        let reproduction = NewReproduction {
            replayable,
            inputs_present,
            inputs_remote,
            policy_required,
            ..NewReproduction::default()
        };
        NewEvidence {
            producer: Some(self.producer),
            kind: Some(self.kind),
            subject: self.subject.as_deref(),
            subject_refs: non_empty(&self.subject_refs),
            command: self.command.as_deref(),
            command_ref: self.command_ref,
            input_refs: non_empty(&self.inputs),
            environment: self.environment,
            tools: non_empty(&tools),
            fixtures: non_empty(&self.fixtures),
            normalizers: non_empty(&normalizers),
            comparators: non_empty(&comparators),
            result: self.result.as_ref().map(Outcome::object),
            output_refs: non_empty(&self.outputs),
            reproduction: (self.reproduction != Reproduction::default()).then_some(reproduction),
            created_at: Some(self.created_at_ms),
            evaluated_state: self.evaluated_state,
            ..NewEvidence::default()
        }
        .encode(limits)
        .map_err(|source| RepoError::Object { family: Family::Evidence, source })
    }
}

impl Tool {
    fn object(&self) -> NewTool<'_> {
        NewTool {
            name: Some(&self.name),
            version: Some(&self.version),
            digest: self.digest.as_ref().map(<[u8; 32]>::as_slice),
            ..NewTool::default()
        }
    }
}

impl NamedDigest {
    fn object(&self) -> NewNamedDigest<'_> {
        NewNamedDigest { name: Some(&self.name), digest: Some(&self.digest), ..NewNamedDigest::default() }
    }
}

impl Outcome {
    fn object(&self) -> NewEvidenceResult<'_> {
        let counts = self.counts.map(|counts| NewCounts {
            passed: Some(counts.passed),
            failed: Some(counts.failed),
            skipped: Some(counts.skipped),
            total: Some(counts.total()),
            ..NewCounts::default()
        });
        NewEvidenceResult {
            outcome: Some(self.outcome),
            detail: self.detail.as_deref(),
            exit_code: self.exit_code,
            counts,
            ..NewEvidenceResult::default()
        }
    }
}

/// Makes evidence durable, with the objects it refers to that are new, and names each `E<n>` in one transaction. What
/// has a name keeps it, so that the same observation twice changes nothing.
///
/// # Errors
/// `Store`, `Limit`.
pub(crate) fn keep(
    repo: &Repo,
    command: &str,
    evidence: &[Encoded],
    beside: &[Encoded],
    now_ms: i64,
) -> Result<Vec<String>> {
    let writer = repo.store().writer()?;
    for object in beside {
        writer.put(NewObject { id: object.id, bytes: object.bytes.clone(), base: None })?;
    }
    let mut known = Vec::new();
    for object in evidence {
        if !writer.put(NewObject { id: object.id, bytes: object.bytes.clone(), base: None })? {
            known.push(object.id);
        }
    }
    writer.commit()?;
    let mut transaction = repo.store().transaction()?;
    let mut named = Namer::find(repo.store(), transaction.refs(), known)?;
    let mut names = Allocator::new(transaction.refs());
    let mut given = Vec::with_capacity(evidence.len());
    let mut is_new = false;
    for Encoded { id, .. } in evidence {
        let name = match named.get(id) {
            Some(name) => name,
            None => {
                let name = names.next(Kind::Evidence)?;
                transaction.set(name.full, *id);
                named.add(*id, name.short.clone());
                is_new = true;
                name.short
            }
        };
        given.push(name);
    }
    if is_new {
        names.save(&mut transaction);
        transaction.commit(command, now_ms)?;
    }
    Ok(given)
}
