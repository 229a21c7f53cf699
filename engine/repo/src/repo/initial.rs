//! The objects and records a repository begins with (object model, section 12).

use super::InitOptions;
use crate::names::{self, Kind};
use crate::{RepoError, Result};
use gemel_object::families::{
    NewAutomation, NewConfig, NewConfigLimits, NewGcPolicy, NewHuman, NewIdentity, NewProducer, NewRetention,
    NewRetentionTier,
};
use gemel_object::{
    DefaultUnknown, Disclosure, Encoded, ExecutionPolicy, Family, Limits, ObjectError, ProducerKind,
    RetentionPolicy,
};
use gemel_store::refs::local;
use gemel_store::{NewObject, Refs, Store};
use std::path::Path;

/// Version of the automation producer: a constant of the format, so that identities agree between releases.
const AUTOMATION_VERSION: &str = "0.1.0";

/// The first objects.
pub(super) struct Initial {
    pub(super) producer: Encoded,
    pub(super) config: Encoded,
}

/// Builds producer and config.
///
/// # Errors
/// `Invalid` for a mail address without a name, an empty name, or a text over the limits.
pub(super) fn objects(options: &InitOptions) -> Result<Initial> {
    let (name, email) = (options.author_name.as_deref(), options.author_email.as_deref());
    if email.is_some() && name.is_none() {
        return Err(RepoError::invalid("--author-email needs --author-name"));
    }
    if name.is_some_and(str::is_empty) {
        return Err(RepoError::invalid("--author-name is empty"));
    }
    let producer = match name {
        Some(name) => human(name, email, options.now_ms),
        None => automation("gemel", options.now_ms),
    };
    let made = |e: ObjectError| RepoError::invalid(e.to_string());
    Ok(Initial { producer: producer.map_err(made)?, config: config(options.now_ms).map_err(made)? })
}

fn human(name: &str, email: Option<&str>, now_ms: i64) -> Result<Encoded, ObjectError> {
    let human = NewHuman { name: Some(name), email, ..NewHuman::default() };
    NewProducer {
        kind: Some(ProducerKind::Human),
        name: Some(name),
        identity: Some(NewIdentity { human: Some(human), ..NewIdentity::default() }),
        disclosure: Some(Disclosure::Full),
        created_at: Some(now_ms),
        ..NewProducer::default()
    }
    .encode(&Limits::DEFAULT)
}

fn automation(system: &str, now_ms: i64) -> Result<Encoded, ObjectError> {
    let automation =
        NewAutomation { system: Some(system), version: Some(AUTOMATION_VERSION), ..NewAutomation::default() };
    NewProducer {
        kind: Some(ProducerKind::Automation),
        name: Some(system),
        identity: Some(NewIdentity { automation: Some(automation), ..NewIdentity::default() }),
        disclosure: Some(Disclosure::DigestOnly),
        created_at: Some(now_ms),
        ..NewProducer::default()
    }
    .encode(&Limits::DEFAULT)
}

/// The producer of what courts observe, the same in every repository (object model, section 12).
///
/// # Errors
/// `Object`, which a limit below a hundred bytes would cause.
pub(crate) fn court_runner() -> Result<Encoded> {
    automation("court-runner", 0).map_err(|source| RepoError::Object { family: Family::Producer, source })
}

fn config(now_ms: i64) -> Result<Encoded, ObjectError> {
    let tier = |tier: u64, policy: RetentionPolicy, days: Option<u64>| NewRetentionTier {
        tier: Some(tier),
        policy: Some(policy),
        days,
        ..NewRetentionTier::default()
    };
    let tiers = [
        tier(0, RetentionPolicy::RetainForever, None),
        tier(1, RetentionPolicy::RetainPolicy, None),
        tier(2, RetentionPolicy::PruneAfterDays, Some(90)),
        tier(3, RetentionPolicy::PruneAfterDays, Some(14)),
    ];
    let limits = Limits::DEFAULT;
    NewConfig {
        retention: Some(NewRetention {
            tiers: Some(&tiers),
            default_unknown: Some(DefaultUnknown::Retain),
            ..NewRetention::default()
        }),
        gc: Some(NewGcPolicy { enabled: Some(false), interval_days: Some(7), ..NewGcPolicy::default() }),
        execution_policy: Some(ExecutionPolicy::NeverAutoExecute),
        disclosure_default: Some(Disclosure::DigestOnly),
        limits: Some(NewConfigLimits {
            max_object_bytes: Some(limits.max_object_bytes),
            max_record_depth: Some(limits.max_record_depth),
            max_array_elements: Some(limits.max_array_elements),
            max_refs_per_object: Some(limits.max_refs_per_object),
            max_string_bytes: Some(limits.max_string_bytes),
            ..NewConfigLimits::default()
        }),
        created_at: Some(now_ms),
        ..NewConfig::default()
    }
    .encode(&limits)
}

fn is_begun(refs: &Refs) -> Result<bool> {
    Ok(refs.get("refs/config")?.is_some() || refs.get(local::DEFAULT_PRODUCER)?.is_some())
}

/// Stores the objects and names them, in the store of the repository at `root`.
///
/// # Errors
/// `AlreadyExists`, `Store`.
pub(super) fn publish(store: &Store, root: &Path, objects: &Initial, now_ms: i64) -> Result<()> {
    if is_begun(&store.refs()?)? {
        return Err(RepoError::AlreadyExists { path: root.to_path_buf() });
    }
    let writer = store.writer()?;
    for object in [&objects.producer, &objects.config] {
        writer.put(NewObject { id: object.id, bytes: object.bytes.clone(), base: None })?;
    }
    writer.commit()?;
    let mut transaction = store.transaction()?;
    if is_begun(transaction.refs())? {
        // Another process was faster.
        return Err(RepoError::AlreadyExists { path: root.to_path_buf() });
    }
    let mut names = names::Allocator::new(transaction.refs());
    let producer_name = names.next(Kind::Producer)?;
    transaction.set("refs/config", objects.config.id);
    transaction.set(producer_name.full, objects.producer.id);
    transaction.set(local::DEFAULT_PRODUCER, objects.producer.id);
    names.save(&mut transaction);
    transaction.commit("init", now_ms)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Identities that the object model pins for time 0.
    #[test]
    fn pinned_identities() {
        let objects = objects(&InitOptions::default()).unwrap();
        assert_eq!(
            objects.config.id.to_string(),
            "config.bbd4644444dfaeb004ee825e6e86addd81c9a7d22084720e54f9aed9375253bb"
        );
        assert_eq!(
            objects.producer.id.to_string(),
            "producer.06ff971e7bf19de0c069e0e230a03f470f242aabf7496ee7e3b5558301e7e730"
        );
        assert_eq!(
            court_runner().unwrap().id.to_string(),
            "producer.114bd62022bc2af7db8646e4d0a658df18cacd8a0021af560f48b7d454c6825d"
        );
    }

    #[test]
    fn author_arguments() {
        let options = |name: Option<&str>, email: Option<&str>| InitOptions {
            author_name: name.map(str::to_owned),
            author_email: email.map(str::to_owned),
            now_ms: 0,
        };
        assert!(objects(&options(None, Some("a@b"))).is_err());
        assert!(objects(&options(Some(""), None)).is_err());
        let plain = objects(&options(Some("A"), None)).unwrap();
        let mailed = objects(&options(Some("A"), Some("a@b"))).unwrap();
        assert_ne!(plain.producer.id, mailed.producer.id);
    }
}
