//! What a repack is going to gain: tried on a sample.

use super::choose::{Form, Whole};
use super::family::Families;
use super::rewrite::forms;
use super::survey::{Shape, Survey};
use crate::Result;
use gemel_packfmt::codec::Level;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Plain bytes of the sample of each kind.
const SAMPLE_BYTES: u64 = 12 << 20;
/// Versions looked at of each thing.
const VERSIONS: usize = 100;
/// Bytes of a frame beside its payload, about.
const FRAME_BYTES: u64 = 14;
/// Bytes of an index for each object, about.
const INDEX_BYTES: u64 = 48;
/// Members of a group share what they have in common: one takes this part of its plain bytes, about.
const GROUPED: u64 = 4;

/// Bytes of the pack and the index that a repack of `survey` makes, about.
///
/// # Errors
/// `CorruptObject`.
pub(super) fn expected_bytes(survey: &Survey, level: Level) -> Result<u64> {
    // Groups and chunks are compressed by themselves, now as then.
    let kept = survey.group_bytes + survey.chunk_bytes;
    let mut expected = kept + survey.items.len() as u64 * INDEX_BYTES;
    for shape in [Shape::Raw, Shape::Cut] {
        expected += sampled(survey, level, |at| {
            let item = &survey.items[at as usize];
            item.shape == shape && item.alone
        })?;
    }
    Ok(expected)
}

/// Bytes that the frames of the items `wanted` selects will take.
fn sampled(survey: &Survey, level: Level, wanted: impl Fn(u32) -> bool) -> Result<u64> {
    let families = Families::of(survey, false, wanted)?;
    let sum = |of: fn(&Survey, u32) -> u64| -> u64 {
        families.sequences.iter().flatten().map(|at| of(survey, *at)).sum()
    };
    let stored = sum(|survey, at| survey.items[at as usize].frame_bytes);
    let plain = sum(|survey, at| survey.items[at as usize].plain_bytes);
    let step = usize::try_from(plain / SAMPLE_BYTES).unwrap_or(usize::MAX).max(1);
    let sample: Vec<&[u32]> =
        families.sequences.iter().step_by(step).map(|s| &s[..s.len().min(VERSIONS)]).collect();
    let (before, after) = (AtomicU64::new(0), AtomicU64::new(0));
    sample.par_iter().try_for_each(|sequence| {
        forms(survey, sequence, &HashMap::new(), level, None, |at, piece, form| {
            let bytes = match form {
                Form::Delta { payload, .. } => payload.len() as u64 + FRAME_BYTES,
                Form::Whole(Whole::Grouped) => piece.form.len() as u64 / GROUPED,
                Form::Whole(whole) => whole.len_or(piece.form.len()) as u64 + FRAME_BYTES,
            };
            after.fetch_add(bytes, Ordering::Relaxed);
            before.fetch_add(survey.items[at as usize].frame_bytes, Ordering::Relaxed);
            Ok(())
        })
    })?;
    let (before, after) = (before.into_inner().max(1), after.into_inner());
    Ok(u64::try_from(u128::from(stored) * u128::from(after) / u128::from(before)).unwrap_or(u64::MAX))
}
