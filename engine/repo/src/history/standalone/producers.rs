//! `producer create` and `list`.

use super::desk::{Desk, Made, cannot_make, disclosure, said, sorted, value};
use crate::history::graph::stored;
use crate::history::nodes;
use crate::names::{Kind, Namer};
use crate::{Named, Repo, RepoError, Result};
use gemel_object::families::{NewAgent, NewAutomation, NewHuman, NewIdentity, NewProducer, Producer};
use gemel_object::{Disclosure, Family, Gid, ProducerKind};
use gemel_store::RefValue;
use gemel_store::refs::local;

/// What `producer create` is told.
#[derive(Clone, Debug, Default)]
pub struct ProducerOptions {
    /// One of the producer kinds.
    pub kind: String,
    /// What it is called.
    pub name: String,
    /// Mail address, of a human.
    pub email: Option<String>,
    /// Model family, of an agent.
    pub model_family: Option<String>,
    /// Model, of an agent.
    pub model_id: Option<String>,
    /// Harness, of an agent.
    pub harness: Option<String>,
    /// One of the disclosure set; `FULL` for a human and the repository's default for everything else when absent.
    pub disclosure: Option<String>,
    /// Whether it is who acts from now on when a command names nobody.
    pub default: bool,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// A row of `producer list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerRow {
    /// The producer.
    pub producer: Named,
    /// What it is.
    pub kind: ProducerKind,
    /// What it is called.
    pub called: String,
    /// How much of its inputs it lets others see.
    pub disclosure: Disclosure,
    /// Mail address, of a human; nothing of a producer that discloses nothing.
    pub email: Option<String>,
    /// Model family, model and harness, of an agent; the same.
    pub agent: [Option<String>; 3],
    /// Whether it acts when a command names nobody.
    pub is_default: bool,
}

/// Records a producer and names it `P<n>`.
///
/// # Errors
/// `Invalid`, `EnumValue`, `Object`, `Store`.
pub fn producer_create(repo: &Repo, options: &ProducerOptions) -> Result<Made> {
    let desk = Desk::open(repo, options.now_ms)?;
    let kind = value("producer kind", &options.kind, ProducerKind::from_text, ProducerKind::SET)?;
    let name = said("--name", &options.name)?;
    only_of(kind, ProducerKind::Human, &[("--email", &options.email)])?;
    let of_agent = [
        ("--model-family", &options.model_family),
        ("--model-id", &options.model_id),
        ("--harness", &options.harness),
    ];
    only_of(kind, ProducerKind::Agent, &of_agent)?;
    let disclosure = match (&options.disclosure, kind) {
        (Some(text), _) => disclosure(text)?,
        (None, ProducerKind::Human) => Disclosure::Full,
        (None, _) => repo.disclosure_default(&desk.refs)?,
    };
    let producer = NewProducer {
        kind: Some(kind),
        name: Some(name),
        identity: identity(kind, name, options),
        disclosure: Some(disclosure),
        created_at: Some(options.now_ms),
        ..NewProducer::default()
    };
    let producer = producer.encode(&desk.limits).map_err(cannot_make(Family::Producer))?;
    let id = producer.id;
    desk.keep("producer create", Kind::Producer, &producer, |transaction| {
        if options.default {
            transaction.set(local::DEFAULT_PRODUCER, id);
        }
        Ok(())
    })
}

/// Refuses flags that describe a producer of another kind.
fn only_of(kind: ProducerKind, of: ProducerKind, flags: &[(&str, &Option<String>)]) -> Result<()> {
    for (flag, text) in flags {
        let Some(text) = text else { continue };
        if kind != of {
            let detail = format!("{flag} describes a producer of kind {of}, not {kind}");
            return Err(RepoError::invalid(detail));
        }
        said(flag, text)?;
    }
    Ok(())
}

/// Who it is. What is unknown or imported has no identity (FAM-18), and a tool's is its name.
fn identity<'o>(kind: ProducerKind, name: &'o str, options: &'o ProducerOptions) -> Option<NewIdentity<'o>> {
    let blank = NewIdentity::default();
    match kind {
        ProducerKind::Human => {
            let human = NewHuman { name: Some(name), email: options.email.as_deref(), ..NewHuman::default() };
            Some(NewIdentity { human: Some(human), ..blank })
        }
        ProducerKind::Agent => {
            let agent = NewAgent {
                model_family: options.model_family.as_deref(),
                model_id: options.model_id.as_deref(),
                harness: options.harness.as_deref(),
                ..NewAgent::default()
            };
            Some(NewIdentity { agent: Some(agent), ..blank })
        }
        ProducerKind::Automation
        | ProducerKind::Compiler
        | ProducerKind::Fuzzer
        | ProducerKind::ExternalOracle => {
            let automation = NewAutomation { system: Some(name), ..NewAutomation::default() };
            Some(NewIdentity { automation: Some(automation), ..blank })
        }
        ProducerKind::GitImport | ProducerKind::Unknown => None,
    }
}

/// All named producers and the default one, by identity.
///
/// # Errors
/// `Store`, `CorruptObject`. Damaged refs are left out: `fsck` reports them.
pub fn producer_list(repo: &Repo) -> Result<Vec<ProducerRow>> {
    let refs = repo.store().refs()?;
    let default = refs.get(local::DEFAULT_PRODUCER)?;
    let mut ids: Vec<Gid> = default.into_iter().filter(|id| id.family() == Family::Producer).collect();
    for (_, value) in refs.scan(Kind::Producer.namespace())? {
        ids.extend(match value {
            Ok(RefValue::Id(id)) if id.family() == Family::Producer => Some(id),
            _ => None,
        });
    }
    let ids = sorted(ids);
    let namer = Namer::find(repo.store(), &refs, ids.iter().copied())?;
    let mut rows = Vec::new();
    for id in ids {
        let read = nodes::read(repo.store(), &id, |object| {
            let producer = Producer::view(object)?;
            let shown = !matches!(producer.disclosure(), Disclosure::Redacted | Disclosure::Ephemeral);
            let identity = producer.identity().filter(|_| shown);
            let agent = identity.as_ref().and_then(|identity| identity.agent());
            let owned = |text: Option<&str>| text.map(str::to_owned);
            Ok(ProducerRow {
                producer: namer.named(id),
                kind: producer.kind(),
                called: producer.name().to_owned(),
                disclosure: producer.disclosure(),
                email: owned(
                    identity.as_ref().and_then(|identity| identity.human()).and_then(|human| human.email()),
                ),
                agent: agent.map_or([None, None, None], |agent| {
                    [owned(agent.model_family()), owned(agent.model_id()), owned(agent.harness())]
                }),
                is_default: default == Some(id),
            })
        });
        rows.extend(stored(read)?);
    }
    Ok(rows)
}
