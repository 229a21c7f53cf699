//! `context`: what is known about a subject, most relevant first, within a budget (query surface, sections 2 and 4.9).

mod bundle;
mod gather;
mod whole;

pub use bundle::{BudgetFacts, BundleObject, Class};

use crate::facts::{Omitted, Uncertainty};
use crate::history::Veil;
use crate::knowledge::lists::{ClaimEntry, ResidualEntry};
use crate::knowledge::session::Session;
use crate::knowledge::subject::Subject;
use crate::names::{Accept, resolve_in};
use crate::{RepoError, Result};
use bundle::Bundle;
use gather::Gather;
use gemel_object::{Family, Gid, Object};
use serde_json::{Map, Value};

/// What `context` is told.
#[derive(Clone, Debug, Default)]
pub struct ContextOptions {
    /// A path, an entity, an object.
    pub subject: String,
    /// Also what was recorded for this intent.
    pub for_intent: Option<String>,
    /// Tokens; 4096 when neither budget is given.
    pub budget: Option<u64>,
    /// Bytes, four to a token.
    pub budget_bytes: Option<u64>,
    /// Which kinds of objects beside changes and sources; all of them when empty. Each may list several, with commas.
    pub include: Vec<String>,
    /// Whether objects are told whole as far as the budget allows.
    pub include_l3: bool,
}

/// How objects are written down: what is told of them is counted, so whoever tells it says how long it is.
pub trait Forms {
    /// The row of a claim, without identity and predicate.
    fn claim(&self, row: &ClaimEntry) -> Map<String, Value>;
    /// The row of a residual, without identity and summary.
    fn residual(&self, row: &ResidualEntry) -> Map<String, Value>;
    /// The canonical form of an object, without what the veil hides.
    fn object(&self, object: &Object<'_>, veil: &Veil) -> Map<String, Value>;
}

/// What is known about a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextFacts {
    /// As given.
    pub subject: String,
    /// The intent asked for.
    pub intent: Option<Gid>,
    /// Tokens.
    pub budget: BudgetFacts,
    /// The objects, in the order in which they were found.
    pub objects: Vec<BundleObject>,
    /// Number of objects by class; every class is there.
    pub expanded: Vec<(Class, u64)>,
    /// Objects met again.
    pub deduplicated: u64,
    /// What comes next, at most 32.
    pub expand: Vec<Gid>,
    /// Whether everything fitted.
    pub complete: bool,
    /// What was adjusted.
    pub notice: Option<String>,
    /// What did not fit, and what may not be told.
    pub omitted: Vec<Omitted>,
    /// What is not known of the subject and the objects.
    pub uncertainty: Vec<Uncertainty>,
}

const INCLUDES: &[&str] = &["claims", "residuals", "attempts", "evidence", "manifests"];

/// Gathers what is known about a subject.
///
/// # Errors
/// `Budget`, `EnumValue` (include), `Unresolved`, `WrongFamily` (intent), `Ambiguous`, `Store`, `CorruptObject`.
pub fn context(
    session: &mut Session<'_>,
    options: &ContextOptions,
    forms: &dyn Forms,
) -> Result<ContextFacts> {
    let (tokens, notice) = bundle::tokens(options.budget, options.budget_bytes)?;
    let wanted = classes(&options.include)?;
    let repo = session.repo();
    let world = session.world()?;
    let intent = options.for_intent.as_deref();
    let intent =
        intent.map(|text| resolve_in(repo, &world.refs, text, Accept::only(Family::Intent))).transpose()?;
    let subject = Subject::read(repo, &world.refs, &options.subject)?;
    let bundle = Bundle::new(tokens);
    let mut gather = Gather { world, forms, subject: &subject, intent, bundle, uncertainty: Vec::new() };
    gather.changes()?;
    let wants = |class: Class| wanted.contains(&class);
    let claims = if wants(Class::Claims) { gather.claims()? } else { Vec::new() };
    gather.sources()?;
    if wants(Class::Residuals) {
        gather.residuals()?;
    }
    if wants(Class::Attempts) {
        gather.attempts()?;
    }
    if wants(Class::Evidence) {
        gather.evidence(&claims)?;
    }
    if wants(Class::Manifests) {
        gather.manifests()?;
    }
    let Gather { world, mut bundle, mut uncertainty, .. } = gather;
    let mut omitted = bundle.omitted();
    if options.include_l3 {
        omitted.extend(whole::tell_whole(world, forms, &mut bundle)?);
    }
    if bundle.objects.is_empty() && !bundle.is_full() {
        uncertainty.extend(world.subject_doubt(&subject)?);
    }
    Ok(ContextFacts {
        subject: subject.given,
        intent,
        budget: bundle.budget,
        expanded: Class::ALL.map(|class| (class, bundle.count(class))).to_vec(),
        deduplicated: bundle.deduplicated,
        complete: !bundle.is_full(),
        expand: bundle.expand,
        objects: bundle.objects,
        notice,
        omitted,
        uncertainty,
    })
}

fn classes(include: &[String]) -> Result<Vec<Class>> {
    let words: Vec<&str> = include.iter().flat_map(|list| list.split(',')).map(str::trim).collect();
    if words.is_empty() {
        return Ok(Class::ALL.to_vec());
    }
    let class = |word: &str| match word {
        "claims" => Ok(Class::Claims),
        "residuals" => Ok(Class::Residuals),
        "attempts" => Ok(Class::Attempts),
        "evidence" => Ok(Class::Evidence),
        "manifests" => Ok(Class::Manifests),
        _ => Err(RepoError::EnumValue { field: "include", value: word.to_owned(), allowed: INCLUDES }),
    };
    words.into_iter().map(class).collect()
}

/// The digest of a bundle, from the compact form of its objects: equal bundles, equal digests.
pub fn bundle_digest(objects: &Value) -> String {
    blake3::hash(objects.to_string().as_bytes()).to_hex().to_string()
}
