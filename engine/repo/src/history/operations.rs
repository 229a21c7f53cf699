//! Operations from the difference between two states (workflow, section 4.4).

use crate::content::PathDelta;
use crate::history::view::{Paired, paired};
use crate::{RepoError, Result};
use gemel_object::families::{NewOperation, NewOperationResult};
use gemel_object::{Encoded, Family, Gid, Limits, ObjectError, OpType, ResultStatus};
use rayon::prelude::*;

/// One file transformation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
    Create { path: &'a str, blob: Gid },
    Write { path: &'a str, old: Gid, new: Gid },
    Delete { path: &'a str, old: Gid },
    Rename { from: &'a str, to: &'a str, blob: Gid },
}

/// The operations of `producer` that lead from one state to the other, by path (renames by their target). They are
/// read off two states, so they begin and end at the time of the comparison.
///
/// # Errors
/// `Object` when a path or a limit does not allow one.
pub(crate) fn operations(
    deltas: &[PathDelta],
    producer: Gid,
    at_ms: i64,
    limits: &Limits,
) -> Result<Vec<Encoded>> {
    let steps = steps(deltas);
    let made: Result<Vec<Encoded>, _> =
        steps.par_iter().map(|step| encode(step, producer, at_ms, limits)).collect();
    made.map_err(|source| RepoError::Object { family: Family::Operation, source })
}

fn steps(deltas: &[PathDelta]) -> Vec<Step<'_>> {
    let mut steps = Vec::with_capacity(deltas.len());
    for Paired { delta, from } in paired(deltas) {
        let path = delta.path.as_str();
        steps.push(match (from, delta.before, delta.after) {
            (Some(source), _, Some((_, blob))) => Step::Rename { from: &source.path, to: path, blob },
            (_, None, Some((_, blob))) => Step::Create { path, blob },
            (_, Some((_, old)), None) => Step::Delete { path, old },
            (_, Some((_, old)), Some((_, new))) => Step::Write { path, old, new },
            (_, None, None) => continue,
        });
    }
    steps
}

fn encode(step: &Step<'_>, producer: Gid, at_ms: i64, limits: &Limits) -> Result<Encoded, ObjectError> {
    let base = NewOperation {
        result: Some(NewOperationResult { status: Some(ResultStatus::Ok), ..NewOperationResult::default() }),
        producer: Some(producer),
        started_at: Some(at_ms),
        ended_at: Some(at_ms),
        ..NewOperation::default()
    };
    match step {
        Step::Create { path, blob } => NewOperation {
            op_type: Some(OpType::CreateFile),
            subject_path: Some(path),
            output_refs: Some(&[*blob]),
            content: Some(*blob),
            ..base
        }
        .encode(limits),
        Step::Write { path, old, new } => NewOperation {
            op_type: Some(OpType::WriteFile),
            subject_path: Some(path),
            input_refs: Some(&[*old]),
            output_refs: Some(&[*new]),
            content: Some(*new),
            ..base
        }
        .encode(limits),
        Step::Delete { path, old } => NewOperation {
            op_type: Some(OpType::DeleteFile),
            subject_path: Some(path),
            input_refs: Some(&[*old]),
            ..base
        }
        .encode(limits),
        Step::Rename { from, to, blob } => NewOperation {
            op_type: Some(OpType::RenamePath),
            subject_path: Some(to),
            input_refs: Some(&[*blob]),
            output_refs: Some(&[*blob]),
            from: Some(from),
            to: Some(to),
            ..base
        }
        .encode(limits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gemel_object::Mode;

    fn blob(n: u8) -> Gid {
        Gid::new(Family::Blob, [n; 32])
    }

    fn delta(path: &str, before: Option<u8>, after: Option<u8>) -> PathDelta {
        let leaf = |n: Option<u8>| n.map(|n| (Mode::File, blob(n)));
        PathDelta { path: path.to_owned(), before: leaf(before), after: leaf(after) }
    }

    #[test]
    fn one_step_a_path_and_renames_by_target() {
        let deltas = [
            delta("a", Some(1), Some(2)),
            delta("b/old", Some(3), None),
            delta("c", None, Some(4)),
            delta("d", Some(5), None),
            delta("e/old", None, Some(3)),
        ];
        assert_eq!(
            steps(&deltas),
            [
                Step::Write { path: "a", old: blob(1), new: blob(2) },
                Step::Create { path: "c", blob: blob(4) },
                Step::Delete { path: "d", old: blob(5) },
                Step::Rename { from: "b/old", to: "e/old", blob: blob(3) },
            ]
        );
        let producer = Gid::new(Family::Producer, [9; 32]);
        assert_eq!(operations(&deltas, producer, 1, &Limits::DEFAULT).unwrap().len(), 4);
    }
}
