//! `config show` and `config set`: the repository's policy, as a chain of complete versions.

use super::chains::carried;
use super::desk::{Desk, cannot_make, disclosure, said, value};
use crate::history::graph::stored;
use crate::history::nodes;
use crate::{Repo, RepoError, Result};
use gemel_object::families::{Config, NewRequiredEntry, NewRequiredPlatform, NewRequiredVerification};
use gemel_object::{ClaimKind, Disclosure, ExecutionPolicy, Family, Gid};
use gemel_store::Store;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Tags of the fields that a new version sets anew.
mod tag {
    pub(super) const PREVIOUS: u8 = 0x01;
    pub(super) const EXECUTION: u8 = 0x04;
    pub(super) const DISCLOSURE: u8 = 0x05;
    pub(super) const CREATED: u8 = 0x07;
    pub(super) const REQUIRED: u8 = 0x08;
    /// Extension: why this version was made, as text. Of this version only.
    pub(super) const REASON: u8 = 0x80;
    /// Extension: who made it, as a textual identity. Of this version only.
    pub(super) const PRODUCER: u8 = 0x81;
}

/// What the config ref points to.
const CONFIG: &str = "refs/config";

/// A verification that is required.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredRow {
    /// Kind of claim.
    pub kind: String,
    /// Operating system family.
    pub platform: String,
    /// Processor architecture.
    pub arch: String,
}

/// The policy in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFacts {
    /// The config.
    pub id: Gid,
    /// The version before.
    pub previous: Option<Gid>,
    /// Versions so far.
    pub versions: u64,
    /// Whether recorded commands may be run.
    pub execution_policy: ExecutionPolicy,
    /// The disclosure of what names none.
    pub disclosure_default: Disclosure,
    /// Required verifications, ascending and each once.
    pub required: Vec<RequiredRow>,
    /// Why this version was made.
    pub reason: Option<String>,
    /// Who made it.
    pub producer: Option<String>,
    /// When, Unix milliseconds.
    pub created_at_ms: Option<i64>,
}

/// What `config set` is told. What is not named stays as it is.
#[derive(Clone, Debug, Default)]
pub struct ConfigOptions {
    /// One of the execution policies.
    pub execution_policy: Option<String>,
    /// The required verifications, `KIND=PLATFORM/ARCH`; they take the place of those before.
    pub require: Vec<String>,
    /// Whether nothing is required any more.
    pub require_nothing: bool,
    /// One of the disclosure set.
    pub disclosure_default: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Who decides.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// A new version of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSet {
    /// The policy now.
    pub now: ConfigFacts,
    /// Verifications that were required and are no more.
    pub dropped: Vec<RequiredRow>,
}

/// The policy in force.
///
/// # Errors
/// `Invalid` when there is none; `Store`, `CorruptObject`.
pub fn config_show(repo: &Repo) -> Result<ConfigFacts> {
    let refs = repo.store().refs()?;
    facts(repo.store(), refs.get(CONFIG)?.ok_or_else(no_config)?)
}

/// Publishes a new version of the policy.
///
/// # Errors
/// `Invalid`, `EnumValue`, `WrongFamily`, `Unresolved`, `Object`, `Store`.
pub fn config_set(repo: &Repo, options: &ConfigOptions) -> Result<ConfigSet> {
    let desk = Desk::open(repo, options.now_ms)?;
    let execution = options
        .execution_policy
        .as_deref()
        .map(|text| value("execution policy", text, ExecutionPolicy::from_text, ExecutionPolicy::SET));
    let execution = execution.transpose()?;
    let disclosure = options.disclosure_default.as_deref().map(disclosure).transpose()?;
    let required = required(options)?;
    if execution.is_none() && disclosure.is_none() && required.is_none() {
        return Err(RepoError::invalid(
            "nothing to set: name an --execution-policy, a --require or a --disclosure-default",
        ));
    }
    let reason = options.reason.as_deref().map(|text| said("--reason", text)).transpose()?;
    let producer = desk.optional(options.producer.as_deref(), Family::Producer)?;
    let mut locked = desk.lock()?;
    let previous = locked.refs().get(CONFIG)?.ok_or_else(no_config)?;
    let before = facts(desk.store(), previous)?;
    let mut without = vec![tag::PREVIOUS, tag::CREATED, tag::REASON, tag::PRODUCER];
    without.extend(execution.map(|_| tag::EXECUTION));
    without.extend(disclosure.map(|_| tag::DISCLOSURE));
    without.extend(required.as_ref().map(|_| tag::REQUIRED));
    let mut next = carried(desk.store(), &previous, &without)?;
    let body = next.body();
    body.set(tag::PREVIOUS, previous)
        .set_if(tag::EXECUTION, execution)
        .set_if(tag::DISCLOSURE, disclosure)
        .set(tag::CREATED, options.now_ms);
    if let Some(required) = &required {
        set_required(body, required);
    }
    if let Some(reason) = reason {
        body.ext(tag::REASON, reason.as_bytes());
    }
    if let Some(producer) = producer {
        body.ext(tag::PRODUCER, producer.to_string().as_bytes());
    }
    let next = next.finish(&desk.limits).map_err(cannot_make(Family::Config))?;
    locked.put(&next)?;
    locked.transaction.set(CONFIG, next.id);
    locked.commit("config set")?;
    let now = facts(desk.store(), next.id)?;
    let dropped = before.required.into_iter().filter(|row| !now.required.contains(row)).collect();
    Ok(ConfigSet { now, dropped })
}

fn no_config() -> RepoError {
    RepoError::invalid("this repository has no config; run `gemel fsck`")
}

/// Reads the verifications named; `None` when they stay as they are.
fn required(options: &ConfigOptions) -> Result<Option<BTreeSet<RequiredRow>>> {
    if options.require_nothing {
        return match options.require.is_empty() {
            true => Ok(Some(BTreeSet::new())),
            false => Err(RepoError::invalid("--require and --require-nothing exclude each other")),
        };
    }
    let row = |text: &String| -> Result<RequiredRow> {
        let parts = text.split_once('=').and_then(|(kind, at)| Some((kind, at.split_once('/')?)));
        match parts {
            Some((kind, (platform, arch)))
                if !platform.is_empty() && !arch.is_empty() && !arch.contains('/') =>
            {
                value("claim kind", kind, ClaimKind::from_text, ClaimKind::SET)?;
                let (kind, platform, arch) = (kind.to_owned(), platform.to_owned(), arch.to_owned());
                Ok(RequiredRow { kind, platform, arch })
            }
            _ => Err(RepoError::invalid(format!("--require {text:?} is not KIND=PLATFORM/ARCH"))),
        }
    };
    let rows = options.require.iter().map(row).collect::<Result<BTreeSet<_>>>()?;
    Ok((!rows.is_empty()).then_some(rows))
}

fn set_required(body: &mut gemel_object::RecordBuilder, required: &BTreeSet<RequiredRow>) {
    let mut by_kind: BTreeMap<&str, Vec<NewRequiredPlatform<'_>>> = BTreeMap::new();
    for row in required {
        by_kind.entry(&row.kind).or_default().push(NewRequiredPlatform {
            platform: Some(&row.platform),
            arch: Some(&row.arch),
            ..NewRequiredPlatform::default()
        });
    }
    let entries: Vec<NewRequiredEntry<'_>> = by_kind
        .iter()
        .map(|(kind, platforms)| NewRequiredEntry {
            kind: Some(kind),
            platforms: Some(platforms),
            ..NewRequiredEntry::default()
        })
        .collect();
    // Without entries the field stays out: nothing is required.
    if !entries.is_empty() {
        let required =
            NewRequiredVerification { entries: Some(&entries), ..NewRequiredVerification::default() };
        body.set(tag::REQUIRED, required);
    }
}

fn facts(store: &Store, id: Gid) -> Result<ConfigFacts> {
    let mut facts = nodes::read(store, &id, |object| {
        let config = Config::view(object)?;
        let mut required = BTreeSet::new();
        for entry in config.required_verification().iter().flat_map(|matrix| matrix.entries().iter()) {
            required.extend(entry.platforms().iter().map(|platform| RequiredRow {
                kind: entry.kind().to_owned(),
                platform: platform.platform().to_owned(),
                arch: platform.arch().to_owned(),
            }));
        }
        let text = |tag: u8| {
            object
                .record()
                .extension(tag)
                .and_then(|bytes| std::str::from_utf8(bytes).ok())
                .map(str::to_owned)
        };
        Ok(ConfigFacts {
            id,
            previous: config.previous(),
            versions: 1,
            execution_policy: config.execution_policy(),
            disclosure_default: config.disclosure_default().unwrap_or(Disclosure::DigestOnly),
            required: required.into_iter().collect(),
            reason: text(tag::REASON),
            producer: text(tag::PRODUCER),
            created_at_ms: config.created_at(),
        })
    })?;
    let mut seen = HashSet::from([id]);
    let mut next = facts.previous;
    while let Some(older) = next.filter(|older| seen.insert(*older)) {
        next = stored(nodes::read(store, &older, |object| Ok(Config::view(object)?.previous())))?.flatten();
        facts.versions += 1;
    }
    Ok(facts)
}
