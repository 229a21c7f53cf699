//! What the repository's config and records decide for every command.

use super::Repo;
use crate::history::nodes;
use crate::names::{Accept, resolve_in};
use crate::{RepoError, Result};
use gemel_object::families::Config;
use gemel_object::{Disclosure, Gid, Limits};
use gemel_store::refs::local;
use gemel_store::{Refs, Store};

/// The disclosure of what names none: the config's default, `DIGEST_ONLY` without one.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn disclosure_default(store: &Store, refs: &Refs) -> Result<Disclosure> {
    let Some(id) = refs.get("refs/config")? else { return Ok(Disclosure::DigestOnly) };
    let default = nodes::read(store, &id, |object| Ok(Config::view(object)?.disclosure_default()))?;
    Ok(default.unwrap_or(Disclosure::DigestOnly))
}

impl Repo {
    /// The limits on objects: those of the format, lowered by the config's (object model, section 6).
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub fn limits(&self, refs: &Refs) -> Result<Limits> {
        let Some(id) = refs.get("refs/config")? else { return Ok(Limits::DEFAULT) };
        nodes::read(self.store(), &id, |object| {
            let Some(policy) = Config::view(object)?.limits() else { return Ok(Limits::DEFAULT) };
            Ok(Limits::DEFAULT.lowered_by(&Limits {
                max_object_bytes: policy.max_object_bytes(),
                max_record_depth: policy.max_record_depth(),
                max_array_elements: policy.max_array_elements(),
                max_refs_per_object: policy.max_refs_per_object(),
                max_string_bytes: policy.max_string_bytes(),
            }))
        })
    }

    /// As [`disclosure_default`].
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn disclosure_default(&self, refs: &Refs) -> Result<Disclosure> {
        disclosure_default(self.store(), refs)
    }

    /// The producer that `text` names; without it `pending`, else the default producer.
    ///
    /// # Errors
    /// As for resolving; `Invalid` when there is no default.
    pub(crate) fn producer(&self, refs: &Refs, text: Option<&str>, pending: Option<Gid>) -> Result<Gid> {
        if let Some(text) = text {
            return resolve_in(self, refs, text, Accept::only(gemel_object::Family::Producer));
        }
        if let Some(id) = pending {
            return Ok(id);
        }
        match refs.get(local::DEFAULT_PRODUCER)? {
            Some(id) if id.family() == gemel_object::Family::Producer => Ok(id),
            Some(id) => Err(RepoError::RecordCorrupt {
                name: local::DEFAULT_PRODUCER.to_owned(),
                detail: format!("{id} is not a producer"),
            }),
            None => {
                Err(RepoError::invalid("this repository has no default producer; name one with --producer"))
            }
        }
    }
}
