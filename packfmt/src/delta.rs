//! Differences to a base (docs/STORAGE.md, "Delta payload"): the common head and tail are counted, the rest is
//! compressed against the middle of the base.

use crate::codec::{self, Aid, Level};
use crate::varint::{self, Reader};
use crate::{FormatError, Result};

/// Bytes of the base on either side of its middle that are offered as context.
const CONTEXT: usize = 4 << 10;

const STORED: u64 = 0;
const DEFLATED: u64 = 1;

/// Appends the difference from `base` to `plain`; `false` and nothing when it would not be shorter than `at_most`.
pub fn encode(base: &[u8], plain: &[u8], level: Level, at_most: usize, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let head = common_head(base, plain);
    let tail = common_tail(&base[head..], &plain[head..]);
    let middle = &plain[head..plain.len() - tail];
    varint::put(out, head as u64);
    varint::put(out, tail as u64);
    let mut payload = Vec::new();
    if codec::deflate(middle, Aid::Prefix(window(base, head, tail)), level, &mut payload) {
        varint::put(out, DEFLATED);
        out.extend_from_slice(&payload);
    } else {
        varint::put(out, STORED);
        out.extend_from_slice(middle);
    }
    let shorter = out.len() - start < at_most;
    if !shorter {
        out.truncate(start);
    }
    shorter
}

/// Bytes that both begin with. Words first: versions of a file share most of their bytes.
fn common_head(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).take_while(|(x, y)| x == y).count() * 8;
    words + a[words..].iter().zip(&b[words..]).take_while(|(x, y)| x == y).count()
}

/// Bytes that both end with.
fn common_tail(a: &[u8], b: &[u8]) -> usize {
    let (of_a, of_b) = (a.as_rchunks::<8>().1.iter().rev(), b.as_rchunks::<8>().1.iter().rev());
    let words = of_a.zip(of_b).take_while(|(x, y)| x == y).count() * 8;
    let (a, b) = (&a[..a.len() - words], &b[..b.len() - words]);
    words + a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count()
}

fn window(base: &[u8], head: usize, tail: usize) -> &[u8] {
    let from = head.saturating_sub(CONTEXT);
    let to = (base.len() - tail + CONTEXT).min(base.len());
    &base[from..to.max(from)]
}

/// Appends the `plain_len` bytes that `payload` makes of `base`.
///
/// # Errors
/// `Mismatch` when the lengths do not fit each other, and those of [`codec::inflate`].
pub fn decode(base: &[u8], payload: &[u8], plain_len: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut reader = Reader::new(payload);
    let limit = base.len().min(plain_len) as u64;
    let head = reader.uint_at_most("delta head", limit)? as usize;
    let tail = reader.uint_at_most("delta tail", limit - head as u64)? as usize;
    let form = reader.uint("delta form")?;
    let middle = plain_len - head - tail;
    out.reserve(plain_len);
    out.extend_from_slice(&base[..head]);
    match form {
        DEFLATED => codec::inflate(reader.rest(), Aid::Prefix(window(base, head, tail)), middle, out)?,
        STORED if reader.remaining() == middle => out.extend_from_slice(reader.rest()),
        STORED => {
            let found = reader.remaining() as u64;
            return Err(FormatError::Mismatch { what: "delta middle", expected: middle as u64, found });
        }
        found => return Err(FormatError::Unknown { what: "delta form", found }),
    }
    out.extend_from_slice(&base[base.len() - tail..]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_round_trip() {
        let base: Vec<u8> =
            (0..30_000u32).flat_map(|i| (i.wrapping_mul(2_654_435_761)).to_le_bytes()).collect();
        let mut edited = base.clone();
        edited.splice(60_000..60_010, *b"something else");
        let cases: [(&[u8], &[u8]); 6] = [
            (b"", b"abc"),
            (b"abc", b""),
            (b"abc", b"abc"),
            (b"aaaa", b"aaaaaa"),
            (&base, &edited),
            (&edited, &base),
        ];
        for (from, to) in cases {
            let mut payload = Vec::new();
            assert!(encode(from, to, 3, usize::MAX, &mut payload));
            let mut back = Vec::new();
            decode(from, &payload, to.len(), &mut back).unwrap();
            assert_eq!(back, to);
        }
        let mut payload = Vec::new();
        assert!(encode(&base, &edited, 3, 200, &mut payload));
        assert!(!encode(&base, &edited, 3, 3, &mut Vec::new()));
        for cut in 0..payload.len() {
            assert!(decode(&base, &payload[..cut], edited.len(), &mut Vec::new()).is_err());
        }
    }
}
