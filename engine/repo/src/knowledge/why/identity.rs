//! Where a subject is now.

use crate::Result;
use crate::content::entry_at;
use crate::history::graph::stored;
use crate::history::nodes;
use crate::knowledge::subject::Subject;
use crate::knowledge::world::World;
use gemel_object::families::{Change, Operation};
use gemel_object::{Family, Gid};
use std::collections::HashSet;

/// Where a subject is now, and how sure that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFacts {
    /// Its path in the head state.
    pub path: Option<String>,
    /// `explicit`: the path itself, or recorded renames of it; `unknown`.
    pub lineage: &'static str,
    /// `high` or `low`.
    pub confidence: &'static str,
}

/// Finds a subject in the head state: where it was, or where recorded renames led.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(super) fn find(world: &mut World<'_>, subject: &Subject, touching: &[Gid]) -> Result<IdentityFacts> {
    let unknown = IdentityFacts { path: None, lineage: "unknown", confidence: "low" };
    let Some(mut path) = path_of(world, subject)? else { return Ok(unknown) };
    let Some(root) = world.head_root()? else { return Ok(unknown) };
    let mut seen = HashSet::new();
    while seen.insert(path.clone()) {
        if entry_at(world.store(), root, &path)?.is_some() {
            return Ok(IdentityFacts { path: Some(path), lineage: "explicit", confidence: "high" });
        }
        let leaving =
            if subject.texts.contains(&path) { touching.to_vec() } else { world.touching_path(&path)? };
        let Some(last) = world.last_touching(&leaving)? else { break };
        match renamed(world, &last, &path)? {
            Some(to) => path = to,
            None => break,
        }
    }
    Ok(unknown)
}

/// The path a subject is, or the one that the object it names is about.
pub(crate) fn path_of(world: &mut World<'_>, subject: &Subject) -> Result<Option<String>> {
    let Some(id) = subject.id else { return Ok(subject.texts.first().cloned()) };
    Ok(match id.family() {
        Family::Claim => world.claim(&id)?.and_then(|node| node.subject.clone()),
        Family::Evidence => world.evidence(&id)?.and_then(|node| node.subject.clone()),
        Family::Residual => world.residual(&id)?.and_then(|node| match node.paths.as_slice() {
            [path] => Some(path.clone()),
            _ => None,
        }),
        _ => None,
    })
}

/// Where a change moved `path` to, if it did.
fn renamed(world: &World<'_>, change: &Gid, path: &str) -> Result<Option<String>> {
    let operations: Vec<Gid> =
        nodes::read(world.store(), change, |object| Ok(Change::view(object)?.operations().iter().collect()))?;
    for id in operations {
        let target = stored(nodes::read(world.store(), &id, |object| {
            let operation = Operation::view(object)?;
            let moved = operation.from() == Some(path);
            Ok(operation.to().filter(|_| moved).map(str::to_owned))
        }))?;
        if let Some(to) = target.flatten() {
            return Ok(Some(to));
        }
    }
    Ok(None)
}
