//! Arguments that stand for a state (command line, section 3.2).

use crate::history::graph::Graph;
use crate::history::nodes;
use crate::names::{Accept, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::{Family, Gid};
use gemel_store::Refs;

/// Resolves to a state; a change names its result, a trajectory the result of its last change or its base, a release
/// its state.
///
/// # Errors
/// As for [`resolve`](crate::names::resolve); `WrongFamily` for anything without a state.
pub fn resolve_state(repo: &Repo, text: &str) -> Result<Gid> {
    state_of(repo, &repo.store().refs()?, text)
}

/// As [`resolve_state`], over given refs.
///
/// # Errors
/// As [`resolve_state`].
pub(crate) fn state_of(repo: &Repo, refs: &Refs, text: &str) -> Result<Gid> {
    let id = resolve_in(repo, refs, text, Accept::WITH_STATE)?;
    let state = match id.family() {
        Family::Change => nodes::change(repo.store(), &id)?.result,
        Family::Trajectory => {
            let mut graph = Graph::new(repo.store());
            let version = graph.trajectory(&id)?;
            version.map(|version| graph.last_result(&version)).transpose()?.flatten()
        }
        Family::Release => Some(nodes::release_state(repo.store(), &id)?),
        _ => Some(id),
    };
    state.ok_or_else(|| RepoError::WrongFamily {
        text: text.to_owned(),
        id,
        expected: Accept::WITH_STATE.expected,
    })
}
