//! What may be told of agent runs, context manifests, changes and producers (FAM-10, SEC-08; workflow, section 13).
//!
//! The one place that decides it. An answer that tells more of an object than its identity and summary asks for the
//! object's [`Veil`] and leaves out the fields that it hides, each with an `omitted` entry. Who travels asks
//! [`stays_here`].

use crate::Result;
use crate::facts::Omitted;
use crate::history::graph::stored;
use crate::history::nodes;
use gemel_object::families::{AgentRun, Change, Producer};
use gemel_object::{Disclosure, Family, Field, FieldType, Gid, Object};
use gemel_store::Store;

/// Reason of the `omitted` entries.
const REASON: &str = "disclosure";

/// How much of an object is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Openness {
    /// Identities and summaries only.
    Outline,
    /// Everything but the text of instructions.
    WithoutInstructions,
    /// Everything.
    #[default]
    Whole,
}

impl Openness {
    /// What a disclosure allows.
    pub fn of(disclosure: Disclosure) -> Openness {
        match disclosure {
            Disclosure::Full => Openness::Whole,
            Disclosure::DigestOnly | Disclosure::ExternalAttestation => Openness::WithoutInstructions,
            Disclosure::Redacted | Disclosure::Ephemeral => Openness::Outline,
        }
    }
}

/// Which fields of one object are hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Veil {
    id: Gid,
    openness: Openness,
}

impl Veil {
    pub(crate) fn new(id: Gid, openness: Openness) -> Veil {
        Veil { id, openness }
    }

    /// The veil of an object that says itself how much of it may be told; `None` where that follows from who names it,
    /// as for a context manifest.
    ///
    /// # Errors
    /// `CorruptObject`, `Store`.
    pub(crate) fn own(store: &Store, id: &Gid) -> Result<Option<Veil>> {
        if id.family() == Family::ContextManifest {
            return Ok(None);
        }
        let said = said(store, id)?;
        Ok(Some(Veil::new(*id, said.map_or(Openness::Whole, Openness::of))))
    }

    /// How much is told.
    pub fn openness(&self) -> Openness {
        self.openness
    }

    /// Whether a field of the object's body is left out.
    pub fn hides(&self, field: &Field<'_>) -> bool {
        match self.openness {
            Openness::Whole => false,
            Openness::WithoutInstructions => is_instruction(self.id.family(), field.tag),
            Openness::Outline => !is_outline(self.id.family(), field),
        }
    }

    /// Whether anything of `object` is left out.
    pub fn hides_any(&self, object: &Object<'_>) -> bool {
        object.record().fields().any(|field| self.hides(&field))
    }

    /// An entry for each field of `object` that is left out.
    pub fn omitted(&self, object: &Object<'_>) -> Vec<Omitted> {
        let entry = |class| Omitted { class, count: 1, reason: REASON, ids: vec![self.id.to_string()] };
        let hidden = object.record().fields().filter(|field| self.hides(field));
        hidden.map(|field| entry(field.schema.map_or("extension", |schema| schema.name))).collect()
    }
}

/// The text of instructions.
fn is_instruction(family: Family, tag: u8) -> bool {
    const INSTRUCTION: u8 = 0x0A;
    family == Family::ContextManifest && tag == INSTRUCTION
}

/// Identities, summaries, and what says why the rest is not told.
fn is_outline(family: Family, field: &Field<'_>) -> bool {
    let Some(field) = field.schema else { return false };
    let is_reference = match &field.ty {
        FieldType::Gid(_) => true,
        FieldType::Array(element) => matches!(element, FieldType::Gid(_)),
        _ => false,
    };
    // A producer's name is its summary, and its kind a word for it.
    let is_summary = match family {
        Family::Producer => matches!(field.name, "kind" | "name"),
        _ => field.name == "summary",
    };
    is_reference || is_summary || field.name == "disclosure"
}

/// The disclosure that an object states; `None` when it states none, or is not stored.
///
/// # Errors
/// `CorruptObject`, `Store`.
pub(crate) fn said(store: &Store, id: &Gid) -> Result<Option<Disclosure>> {
    let read = match id.family() {
        Family::AgentRun => nodes::read(store, id, |object| Ok(Some(AgentRun::view(object)?.disclosure()))),
        Family::Change => nodes::read(store, id, |object| Ok(Change::view(object)?.disclosure())),
        Family::Producer => nodes::read(store, id, |object| Ok(Some(Producer::view(object)?.disclosure()))),
        _ => return Ok(None),
    };
    Ok(stored(read)?.flatten())
}

/// How much of a context manifest is told: what the most reserved of the runs and changes that name it allow, and the
/// repository's default where none of them says.
///
/// # Errors
/// `CorruptObject`, `Store`.
pub(crate) fn of_manifest(
    store: &Store,
    named_by: impl IntoIterator<Item = Gid>,
    default: Disclosure,
) -> Result<Openness> {
    let mut least: Option<Openness> = None;
    for id in named_by {
        if matches!(id.family(), Family::AgentRun | Family::Change)
            && let Some(disclosure) = said(store, &id)?
        {
            let openness = Openness::of(disclosure);
            least = Some(least.map_or(openness, |least| least.min(openness)));
        }
    }
    Ok(least.unwrap_or(Openness::of(default)))
}

/// Whether an object never leaves this repository by push, export or exchange, with the manifest it was given.
///
/// # Errors
/// `CorruptObject`, `Store`.
pub(crate) fn stays_here(store: &Store, id: &Gid) -> Result<Option<Stays>> {
    if !matches!(id.family(), Family::AgentRun | Family::Change) {
        return Ok(None);
    }
    let read = nodes::read(store, id, |object| match id.family() {
        Family::AgentRun => {
            let run = AgentRun::view(object)?;
            let stays = run.disclosure() == Disclosure::Ephemeral;
            Ok(stays.then(|| Stays { manifest: run.context_manifest() }))
        }
        _ => {
            let change = Change::view(object)?;
            let stays = change.disclosure() == Some(Disclosure::Ephemeral);
            Ok(stays.then(|| Stays { manifest: change.context_manifest() }))
        }
    });
    Ok(stored(read)?.flatten())
}

/// An ephemeral object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stays {
    /// What it was given, which stays with it.
    pub(crate) manifest: Option<Gid>,
}
