//! Revisions as Git writes them: a name, then steps to ancestors.

use super::source::Source;
use super::{commit, peel};
use crate::object::ObjectKind;
use crate::{GitError, Result};
use gix::ObjectId;

/// The object that `HEAD`, a full or short ref name, an object name or the beginning of one stands for, after steps
/// such as `~2`, `^2` or `^{commit}`.
///
/// # Errors
/// `UnknownRevision`; `Missing` and `Damaged` on the way.
pub(super) fn resolve(source: &Source, name: &str) -> Result<ObjectId> {
    let unknown = || GitError::UnknownRevision { name: name.to_owned(), path: source.path.clone() };
    // No ref name holds either sign.
    let (base, mut steps) = name.split_at(name.find(['~', '^']).unwrap_or(name.len()));
    let mut reader = source.reader();
    let mut id = match source.resolve(base) {
        Some(id) => id,
        None => reader.by_prefix(base)?.ok_or_else(unknown)?,
    };
    while !steps.is_empty() {
        let commit = peel(&mut reader, id, name.into())?.ok_or_else(unknown)?;
        if let Some(rest) = steps.strip_prefix("^{}").or_else(|| steps.strip_prefix("^{commit}")) {
            (id, steps) = (commit, rest);
            continue;
        }
        let (sign, rest) = steps.split_at(1);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (digits, rest) = rest.split_at(digits);
        let count: u32 = if digits.is_empty() { 1 } else { digits.parse().map_err(|_| unknown())? };
        // So many first parents, or one parent by its number; both count from one, and none is the commit itself.
        let (times, which) = if sign == "~" { (count, 1) } else { (count.min(1), count) };
        id = commit;
        for _ in 0..times {
            let at = || format!("named by {name}");
            let body = reader.body(&id, ObjectKind::Commit, &at)?;
            let (_, parents) = commit::links(body, source.kind).map_err(|detail| GitError::Damaged {
                oid: id.to_string(),
                at: at(),
                detail,
            })?;
            id = usize::try_from(which).ok().and_then(|n| parents.get(n - 1)).copied().ok_or_else(unknown)?;
        }
        match (sign, rest.chars().next()) {
            ("~" | "^", None | Some('~' | '^')) => steps = rest,
            _ => return Err(unknown()),
        }
    }
    Ok(id)
}
