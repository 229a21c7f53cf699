//! From the text of an argument to an identity (workflow, section 1).

use crate::names::{git, suggest};
use crate::{Repo, RepoError, Result};
use gemel_object::{Family, Gid};
use gemel_store::refs::check_name;
use gemel_store::{Refs, StoreError};

/// Namespaces a bare name is looked up in, first match wins.
pub(super) const SPACES: [&str; 12] = [
    "refs/names/",
    "refs/trajectories/",
    "refs/cases/",
    "refs/releases/",
    "refs/reconciliations/",
    "refs/checkpoints/",
    "refs/mappings/import/git_commit/",
    "refs/mappings/import/git_tree/",
    "refs/mappings/export/git_commit/",
    "refs/mappings/export/git_tree/",
    "refs/mappings/import/external/",
    "refs/mappings/",
];

/// Fewest hex digits of a prefix after `family.`, and without it.
const MIN_PREFIX: (usize, usize) = (4, 8);

/// Candidates listed when a prefix is ambiguous.
pub(super) const MAX_CANDIDATES: usize = 10;

/// Families an argument may name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accept {
    /// The families; empty for any.
    pub(crate) families: &'static [Family],
    /// Their description with article, for the error.
    pub(crate) expected: &'static str,
}

impl Accept {
    /// Any object.
    pub(crate) const ANY: Accept = Accept { families: &[], expected: "an object" };
    /// Whatever has a state.
    pub(crate) const WITH_STATE: Accept = Accept {
        families: &[Family::State, Family::Change, Family::Trajectory, Family::Release],
        expected: "a state",
    };

    /// Objects of one family.
    pub(crate) fn only(family: Family) -> Accept {
        macro_rules! table {
            ($($family:ident $expected:literal)*) => {
                match family {
                    $(Family::$family => Accept { families: &[Family::$family], expected: $expected },)*
                }
            };
        }
        table! {
            Blob "a blob" Tree "a tree" State "a state" Operation "an operation" Episode "an episode"
            Intent "an intent" Change "a change" Case "a case" Trajectory "a trajectory" Claim "a claim"
            Evidence "evidence" Residual "a residual" Verification "a verification" Producer "a producer"
            AgentRun "an agent run" Environment "an environment" Reconciliation "a reconciliation"
            Release "a release" ContextManifest "a context manifest" Checkpoint "a checkpoint" Config "a config"
            Mapping "a mapping" SemanticEntity "a semantic entity" SemanticIndex "a semantic index"
        }
    }

    fn takes(&self, family: Family) -> bool {
        self.families.is_empty() || self.families.contains(&family)
    }

    /// `id` if it fits; where a mapping does not, what it maps to.
    fn check(&self, repo: &Repo, text: &str, id: Gid) -> Result<Gid> {
        if self.takes(id.family()) {
            return Ok(id);
        }
        if id.family() == Family::Mapping
            && let Some(to) = git::target(repo.store(), &id)?.filter(|to| self.takes(to.family()))
        {
            return Ok(to);
        }
        Err(RepoError::WrongFamily { text: text.to_owned(), id, expected: self.expected })
    }
}

/// Resolves an identity argument in every accepted form: full identity, ref path, name, unique prefix with or without
/// family, `@` (head change), `@state` (head state), `@trajectory` (current trajectory), `git:` and a
/// prefix of a Git object name (what an import or export made of a commit or tree).
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `Store` (`NotFound` for an identity that is not stored).
pub fn resolve(repo: &Repo, text: &str) -> Result<Gid> {
    resolve_in(repo, &repo.store().refs()?, text, Accept::ANY)
}

/// As [`resolve`], and the object must be of family `family`.
///
/// # Errors
/// As [`resolve`]; `WrongFamily`.
pub fn resolve_as(repo: &Repo, text: &str, family: Family) -> Result<Gid> {
    resolve_in(repo, &repo.store().refs()?, text, Accept::only(family))
}

/// As [`resolve`], over given refs and among some families only.
///
/// # Errors
/// As [`resolve_as`].
pub(crate) fn resolve_in(repo: &Repo, refs: &Refs, text: &str, accept: Accept) -> Result<Gid> {
    if let Ok(id) = Gid::parse(text) {
        return if repo.store().contains(&id)? {
            accept.check(repo, text, id)
        } else {
            Err(StoreError::NotFound { id }.into())
        };
    }
    if let Some(prefix) = text.strip_prefix(git::SCHEME) {
        let Some(id) = git::resolve(repo, refs, text, prefix)? else {
            return Err(RepoError::Unresolved { text: text.to_owned(), suggestions: Vec::new() });
        };
        return accept.check(repo, text, id);
    }
    if let Some(id) = by_name(refs, text)? {
        return accept.check(repo, text, id);
    }
    if let Some(id) = by_prefix(repo, text, accept)? {
        return accept.check(repo, text, id);
    }
    let shorthand = match text {
        "@" => Some("refs/head"),
        "@state" => Some("refs/state/head"),
        "@trajectory" => Some("refs/trajectories/current"),
        _ => None,
    };
    match shorthand.map(|name| refs.get(name)).transpose()?.flatten() {
        Some(id) => accept.check(repo, text, id),
        None => Err(RepoError::Unresolved {
            text: text.to_owned(),
            suggestions: suggest::names_like(refs, text)?,
        }),
    }
}

/// What `text` names, in every form but a prefix without family: text that is a path as well is not taken for digits.
/// `None` when it names nothing that is stored.
///
/// # Errors
/// `Store`; `Ambiguous` for a prefix with its family.
pub(crate) fn named_by(repo: &Repo, refs: &Refs, text: &str) -> Result<Option<Gid>> {
    if let Ok(id) = Gid::parse(text) {
        return Ok(repo.store().contains(&id)?.then_some(id));
    }
    if let Some(prefix) = text.strip_prefix(git::SCHEME) {
        return git::resolve(repo, refs, text, prefix);
    }
    if let Some(id) = by_name(refs, text)? {
        return Ok(Some(id));
    }
    if text.contains('.')
        && let Some(id) = by_prefix(repo, text, Accept::ANY)?
    {
        return Ok(Some(id));
    }
    match text {
        "@" => Ok(refs.get("refs/head")?),
        "@state" => Ok(refs.get("refs/state/head")?),
        "@trajectory" => Ok(refs.get("refs/trajectories/current")?),
        _ => Ok(None),
    }
}

fn by_name(refs: &Refs, text: &str) -> Result<Option<Gid>> {
    if text.starts_with("refs/") {
        return if check_name(text).is_ok() { Ok(refs.get(text)?) } else { Ok(None) };
    }
    for space in SPACES {
        let full = format!("{space}{text}");
        if check_name(&full).is_ok()
            && let Some(id) = refs.get(&full)?
        {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn by_prefix(repo: &Repo, text: &str, accept: Accept) -> Result<Option<Gid>> {
    let is_hex = |hex: &str| hex.len() <= 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let (mut found, unique_without) = match text.split_once('.') {
        Some((name, hex)) if hex.len() >= MIN_PREFIX.0 && is_hex(hex) => match Family::from_name(name) {
            Some(family) => (repo.store().matching(Some(family), hex, MAX_CANDIDATES + 1)?, false),
            None => return Ok(None),
        },
        None if text.len() >= MIN_PREFIX.1 && is_hex(text) => {
            (repo.store().matching(None, text, MAX_CANDIDATES + 1)?, true)
        }
        _ => return Ok(None),
    };
    if unique_without && found.len() > 1 && !accept.families.is_empty() {
        // Objects the command cannot take do not make a prefix ambiguous.
        let mut fitting = Vec::new();
        for family in accept.families {
            fitting.extend(repo.store().matching(Some(*family), text, MAX_CANDIDATES + 1)?);
        }
        if !fitting.is_empty() {
            found = fitting;
        }
    }
    match found[..] {
        [] => Ok(None),
        [id] => Ok(Some(id)),
        _ => {
            let more = found.len() > MAX_CANDIDATES;
            found.truncate(MAX_CANDIDATES);
            Err(RepoError::Ambiguous { text: text.to_owned(), candidates: found, more })
        }
    }
}
