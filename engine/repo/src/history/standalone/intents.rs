//! `intent create`, `show` and `list`.

use super::desk::{Desk, Made, all_said, cannot_make, said};
use crate::facts::Reference;
use crate::history::graph::{Graph, stored};
use crate::history::lineage::named_trajectories;
use crate::history::nodes;
use crate::history::objects::non_empty;
use crate::history::view;
use crate::names::{Accept, Kind, Namer, resolve_in};
use crate::{Named, Repo, Result};
use gemel_object::families::{Intent, NewIntent};
use gemel_object::{Family, Gid, Strings, TrajectoryOutcome};
use gemel_store::RefValue;

/// What `intent create` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct IntentOptions {
    /// What is wanted.
    pub summary: String,
    /// More about it.
    pub description: Option<String>,
    /// When it is reached.
    pub criteria: Vec<String>,
    /// What it is about: paths, entities.
    pub scope: Vec<String>,
    /// The intent it is a part of.
    pub parent: Option<String>,
    /// Who wants it; the default producer when absent.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// An intent, with what was attempted for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentFacts {
    /// The intent.
    pub intent: Reference,
    /// More about it.
    pub description: Option<String>,
    /// When it is reached.
    pub criteria: Vec<String>,
    /// What must hold meanwhile.
    pub constraints: Vec<String>,
    /// What it is about.
    pub requested_scope: Vec<String>,
    /// What it must leave alone.
    pub prohibited_scope: Vec<String>,
    /// The intent it is a part of.
    pub parent: Option<Reference>,
    /// Who wants it.
    pub producer: Option<Named>,
    /// When it was recorded, Unix milliseconds.
    pub created_at_ms: Option<i64>,
    /// Trajectories with this intent: newest version, name, outcome. By number.
    pub trajectories: Vec<(Gid, String, Option<TrajectoryOutcome>)>,
}

/// A row of `intent list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentRow {
    /// The intent.
    pub intent: Reference,
    /// The intent it is a part of.
    pub parent: Option<Gid>,
}

/// Records an intent and names it `I<n>`.
///
/// # Errors
/// `Invalid`, `WrongFamily`, `Unresolved`, `Object`, `Store`.
pub fn intent_create(repo: &Repo, options: &IntentOptions) -> Result<Made> {
    let desk = Desk::open(repo, options.now_ms)?;
    let summary = said("--summary", &options.summary)?;
    all_said("--criterion", &options.criteria)?;
    all_said("--scope", &options.scope)?;
    let intent = NewIntent {
        summary: Some(summary),
        description: options.description.as_deref(),
        acceptance_criteria: non_empty(&options.criteria).map(Strings::Owned),
        requested_scope: non_empty(&options.scope).map(Strings::Owned),
        parent_intent: desk.optional(options.parent.as_deref(), Family::Intent)?,
        producer: Some(desk.producer(options.producer.as_deref())?),
        created_at: Some(options.now_ms),
        ..NewIntent::default()
    };
    let intent = intent.encode(&desk.limits).map_err(cannot_make(Family::Intent))?;
    desk.keep("intent create", Kind::Intent, &intent, |_| Ok(()))
}

/// The intent that `text` names.
///
/// # Errors
/// `Unresolved`, `WrongFamily`, `Store`.
pub fn intent_show(repo: &Repo, text: &str) -> Result<IntentFacts> {
    let refs = repo.store().refs()?;
    let id = resolve_in(repo, &refs, text, Accept::only(Family::Intent))?;
    let texts = |list: gemel_object::List<'_, &str>| list.iter().map(str::to_owned).collect::<Vec<_>>();
    let (mut facts, parent, producer) = nodes::read(repo.store(), &id, |object| {
        let intent = Intent::view(object)?;
        let facts = IntentFacts {
            intent: Reference { id, name: None, summary: Some(intent.summary().to_owned()) },
            description: intent.description().map(str::to_owned),
            criteria: texts(intent.acceptance_criteria()),
            constraints: texts(intent.constraints()),
            requested_scope: texts(intent.requested_scope()),
            prohibited_scope: texts(intent.prohibited_scope()),
            parent: None,
            producer: None,
            created_at_ms: intent.created_at(),
            trajectories: Vec::new(),
        };
        Ok((facts, intent.parent_intent(), intent.producer()))
    })?;
    let namer = Namer::find(repo.store(), &refs, [id].into_iter().chain(parent).chain(producer))?;
    facts.intent.name = namer.get(&id);
    facts.parent = parent.map(|id| view::intent_reference(repo.store(), id, &namer)).transpose()?;
    facts.producer = producer.map(|id| namer.named(id));
    let mut graph = Graph::new(repo.store());
    for named in named_trajectories(&refs)? {
        if let Some(head) = graph.trajectory_head(&named.id)?.filter(|head| head.intent == Some(id)) {
            facts.trajectories.push((named.id, named.name, head.outcome));
        }
    }
    Ok(facts)
}

/// All named intents, by identity.
///
/// # Errors
/// `Store`, `CorruptObject`. Damaged refs are left out: `fsck` reports them.
pub fn intent_list(repo: &Repo) -> Result<Vec<IntentRow>> {
    let refs = repo.store().refs()?;
    let mut ids: Vec<Gid> = Vec::new();
    for (_, value) in refs.scan(Kind::Intent.namespace())? {
        ids.extend(match value {
            Ok(RefValue::Id(id)) if id.family() == Family::Intent => Some(id),
            _ => None,
        });
    }
    let ids = super::desk::sorted(ids);
    let namer = Namer::find(repo.store(), &refs, ids.iter().copied())?;
    let mut rows = Vec::new();
    for id in ids {
        let read = nodes::read(repo.store(), &id, |object| {
            let intent = Intent::view(object)?;
            Ok((intent.summary().to_owned(), intent.parent_intent()))
        });
        let Some((summary, parent)) = stored(read)? else { continue };
        rows.push(IntentRow {
            intent: Reference { id, name: namer.get(&id), summary: Some(summary) },
            parent,
        });
    }
    Ok(rows)
}
