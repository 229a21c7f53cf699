//! Compression of one frame's payload, with reused per-thread contexts (docs/STORAGE.md, "Methods").
//!
//! Payloads are zstd frames without magic, content size, dictionary id or checksum: the pack frame around them
//! holds all four. The window never exceeds [`MAX_WINDOW_LOG`], when writing and when reading.

use crate::{FormatError, Result};
use std::cell::RefCell;
use zstd_safe::zstd_sys;
use zstd_safe::{CCtx, CDict, CParameter, DCtx, DDict, DParameter, FrameFormat, ResetDirective};

/// Largest window, as a power of two: 8 MiB.
pub const MAX_WINDOW_LOG: u32 = 23;

/// Plain length from which far matches are searched for.
const LONG_DISTANCE_FROM: usize = 256 << 10;

/// Size a trained dictionary is cut to.
const DICTIONARY_BYTES: usize = 110 << 10;

/// Length of the segments a dictionary is put together from. One fixed choice trains five times as fast as a search
/// for the best one, and is as good within a percent on source trees.
const SEGMENT_BYTES: u32 = 200;
/// Length of the strings whose frequency rates a segment.
const DMER_BYTES: u32 = 8;

/// Effort of compression: a zstd level.
pub type Level = i32;

thread_local! {
    static ENCODER: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static DECODER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// A dictionary prepared for both directions.
pub struct Dictionary {
    bytes: Vec<u8>,
    encoder: Option<CDict<'static>>,
    decoder: DDict<'static>,
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dictionary({} bytes)", self.bytes.len())
    }
}

impl Dictionary {
    /// Prepares `bytes` for inflating; `None` when zstd refuses them.
    pub fn for_reading(bytes: Vec<u8>) -> Option<Dictionary> {
        let decoder = DDict::try_create(&bytes)?;
        Some(Dictionary { bytes, encoder: None, decoder })
    }

    /// Prepares `bytes` for both directions; `None` when zstd refuses them.
    pub fn for_writing(bytes: Vec<u8>, level: Level) -> Option<Dictionary> {
        let encoder = Some(CDict::try_create(&bytes, level)?);
        let decoder = DDict::try_create(&bytes)?;
        Some(Dictionary { bytes, encoder, decoder })
    }

    /// Trains a dictionary on samples; `None` when they are too few or too uniform to help.
    pub fn train(samples: &[Vec<u8>]) -> Option<Vec<u8>> {
        let sizes: Vec<usize> = samples.iter().map(Vec::len).collect();
        let all = samples.concat();
        let mut dictionary = vec![0u8; DICTIONARY_BYTES];
        let parameters = zstd_sys::ZDICT_fastCover_params_t {
            k: SEGMENT_BYTES,
            d: DMER_BYTES,
            f: 20,
            steps: 0,
            nbThreads: 1,
            splitPoint: 1.0,
            accel: 1,
            shrinkDict: 0,
            shrinkDictMaxRegression: 0,
            zParams: zstd_sys::ZDICT_params_t { compressionLevel: 0, notificationLevel: 0, dictID: 0 },
        };
        let count = u32::try_from(sizes.len()).ok()?;
        // SAFETY: both buffers are as long as is said, and the sizes add up to the samples' length.
        let code = unsafe {
            zstd_sys::ZDICT_trainFromBuffer_fastCover(
                dictionary.as_mut_ptr().cast(),
                dictionary.len(),
                all.as_ptr().cast(),
                sizes.as_ptr(),
                count,
                parameters,
            )
        };
        // SAFETY: plain arithmetic on a return code.
        if unsafe { zstd_sys::ZDICT_isError(code) } != 0 || code == 0 || code > dictionary.len() {
            return None;
        }
        dictionary.truncate(code);
        Some(dictionary)
    }

    /// The dictionary itself.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What a payload is compressed against.
#[derive(Clone, Copy, Debug)]
pub enum Aid<'a> {
    /// Nothing.
    Alone,
    /// A trained dictionary.
    Dictionary(&'a Dictionary),
    /// Bytes that probably resemble it.
    Prefix(&'a [u8]),
}

/// Appends the compressed form of `plain` to `out` if it is shorter than `plain`; `false` and nothing otherwise.
pub fn deflate(plain: &[u8], aid: Aid<'_>, level: Level, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.reserve(plain.len());
    let done = ENCODER.with_borrow_mut(|ctx| deflate_with(ctx, plain, aid, level, out));
    if done.is_err() || out.len() - start >= plain.len() {
        out.truncate(start);
        return false;
    }
    true
}

fn deflate_with(
    ctx: &mut CCtx<'static>,
    plain: &[u8],
    aid: Aid<'_>,
    level: Level,
    out: &mut Vec<u8>,
) -> Result<(), usize> {
    ctx.reset(ResetDirective::SessionAndParameters)?;
    for parameter in [
        CParameter::Format(FrameFormat::Magicless),
        CParameter::ContentSizeFlag(false),
        CParameter::DictIdFlag(false),
        CParameter::CompressionLevel(level),
    ] {
        ctx.set_parameter(parameter)?;
    }
    let mut reach = plain.len();
    match aid {
        Aid::Alone => {}
        Aid::Dictionary(dictionary) => {
            if let Some(encoder) = &dictionary.encoder {
                // SAFETY: used by the one call of `compress2` below, while `dictionary` is borrowed. A reset, there or at
                // the start of the next use, forgets the reference without following it.
                ctx.ref_cdict(unsafe {
                    std::mem::transmute::<&CDict<'static>, &'static CDict<'static>>(encoder)
                })?;
            }
        }
        Aid::Prefix(prefix) => {
            reach += prefix.len();
            // SAFETY: as above.
            ctx.ref_prefix(unsafe { std::mem::transmute::<&[u8], &'static [u8]>(prefix) })?;
        }
    }
    if reach > LONG_DISTANCE_FROM {
        ctx.set_parameter(CParameter::EnableLongDistanceMatching(true))?;
    }
    if reach > LONG_DISTANCE_FROM || matches!(aid, Aid::Prefix(_)) {
        ctx.set_parameter(CParameter::WindowLog(window_log(reach)))?;
    }
    let mut tail = Tail::new(out, plain.len());
    let outcome = ctx.compress2(&mut tail.buffer, plain);
    ctx.reset(ResetDirective::SessionAndParameters)?;
    outcome?;
    tail.keep();
    Ok(())
}

fn window_log(reach: usize) -> u32 {
    (usize::BITS - reach.saturating_sub(1).leading_zeros()).clamp(10, MAX_WINDOW_LOG)
}

/// Room behind the bytes of a vector, lent to zstd as a vector of its own.
struct Tail<'v> {
    out: &'v mut Vec<u8>,
    buffer: Vec<u8>,
}

impl<'v> Tail<'v> {
    fn new(out: &'v mut Vec<u8>, capacity: usize) -> Tail<'v> {
        // An empty target can be lent itself; appending to a filled one costs a copy.
        let mut buffer = if out.is_empty() { std::mem::take(out) } else { Vec::new() };
        buffer.reserve(capacity);
        Tail { out, buffer }
    }

    fn keep(self) {
        if self.out.is_empty() {
            *self.out = self.buffer;
        } else {
            self.out.extend_from_slice(&self.buffer);
        }
    }
}

/// Appends exactly `plain_len` inflated bytes to `out`. The caller has bounded `plain_len`.
///
/// # Errors
/// `Codec` when zstd refuses the payload, wants a larger window or makes more bytes; `Mismatch` when it makes fewer.
pub fn inflate(payload: &[u8], aid: Aid<'_>, plain_len: usize, out: &mut Vec<u8>) -> Result<()> {
    DECODER.with_borrow_mut(|ctx| {
        inflate_with(ctx, payload, aid, plain_len, out).map_err(|code| FormatError::Codec {
            what: "payload",
            detail: zstd_safe::get_error_name(code).to_owned(),
        })
    })?;
    Ok(())
}

fn inflate_with(
    ctx: &mut DCtx<'static>,
    payload: &[u8],
    aid: Aid<'_>,
    plain_len: usize,
    out: &mut Vec<u8>,
) -> Result<(), usize> {
    ctx.reset(ResetDirective::SessionAndParameters)?;
    ctx.set_parameter(DParameter::Format(FrameFormat::Magicless))?;
    ctx.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG))?;
    match aid {
        Aid::Alone => {}
        Aid::Dictionary(dictionary) => {
            let decoder = &dictionary.decoder;
            // SAFETY: used by the one call of `decompress` below, while `dictionary` is borrowed, and forgotten in the
            // reset behind it.
            ctx.ref_ddict(unsafe {
                std::mem::transmute::<&DDict<'static>, &'static DDict<'static>>(decoder)
            })?;
        }
        Aid::Prefix(prefix) => {
            // SAFETY: as above.
            ctx.ref_prefix(unsafe { std::mem::transmute::<&[u8], &'static [u8]>(prefix) })?;
        }
    }
    let start = out.len();
    out.resize(start + plain_len, 0);
    let outcome = ctx.decompress(&mut out[start..], payload);
    ctx.reset(ResetDirective::SessionAndParameters)?;
    match outcome {
        Ok(made) if made == plain_len => Ok(()),
        Ok(_) => {
            out.truncate(start);
            Err(WRONG_SIZE)
        }
        Err(code) => {
            out.truncate(start);
            Err(code)
        }
    }
}

/// zstd's code for "source size wrong", negated as zstd returns it.
const WRONG_SIZE: usize = 0usize.wrapping_sub(72);

#[cfg(test)]
mod tests {
    use super::*;

    fn text(n: usize) -> Vec<u8> {
        (0..n).flat_map(|i| format!("line {} of {}\n", i * 7 % 101, i % 13).into_bytes()).collect()
    }

    #[test]
    fn payloads_round_trip_with_every_aid() {
        let plain = text(400);
        let samples: Vec<Vec<u8>> = (0..600).map(|i| text(20 + i % 30)).collect();
        let trained = Dictionary::train(&samples).unwrap();
        let dictionary = Dictionary::for_writing(trained.clone(), 3).unwrap();
        let reading = Dictionary::for_reading(trained).unwrap();
        let prefix = text(390);
        let aids = [
            (Aid::Alone, Aid::Alone),
            (Aid::Dictionary(&dictionary), Aid::Dictionary(&reading)),
            (Aid::Prefix(&prefix), Aid::Prefix(&prefix)),
        ];
        for (write, read) in aids {
            let mut payload = b"kept".to_vec();
            assert!(deflate(&plain, write, 3, &mut payload));
            let mut back = b"kept too".to_vec();
            inflate(&payload[4..], read, plain.len(), &mut back).unwrap();
            assert_eq!(&back[8..], plain);
            for wrong in [plain.len() - 1, plain.len() + 1] {
                assert!(inflate(&payload[4..], read, wrong, &mut Vec::new()).is_err());
            }
        }
    }

    #[test]
    fn far_matches_in_large_prefixes_are_found() {
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u8
        };
        let base: Vec<u8> = (0..2 << 20).map(|_| noise()).collect();
        let mut edited = base.clone();
        edited[1 << 20..(1 << 20) + 100].fill(7);
        let mut payload = Vec::new();
        assert!(deflate(&edited, Aid::Prefix(&base), 3, &mut payload));
        assert!(payload.len() < 5000, "{}", payload.len());
        let mut back = Vec::new();
        inflate(&payload, Aid::Prefix(&base), edited.len(), &mut back).unwrap();
        assert_eq!(back, edited);
    }

    #[test]
    fn noise_is_left_alone() {
        let noise: Vec<u8> = blake3::Hasher::new().finalize_xof().fill_vec(4096);
        assert!(!deflate(&noise, Aid::Alone, 3, &mut Vec::new()));
        assert!(!deflate(b"", Aid::Alone, 3, &mut Vec::new()));
    }

    trait FillVec {
        fn fill_vec(self, n: usize) -> Vec<u8>;
    }
    impl FillVec for blake3::OutputReader {
        fn fill_vec(mut self, n: usize) -> Vec<u8> {
            let mut out = vec![0; n];
            self.fill(&mut out);
            out
        }
    }
}
