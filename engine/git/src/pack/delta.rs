//! Git's delta encoding: copies from a base and literal bytes.
//!
//! What two versions share at both ends is found by comparing; only the middle is searched, by the hashes of its blocks.

/// Length of the blocks of the base that are looked for.
const BLOCK: usize = 16;
/// Shared ends below this are not worth an instruction.
const MIN_END: usize = 8;
/// Longest run of literal bytes in one instruction.
const MAX_LITERAL: usize = 127;
/// Longest copy of one instruction.
const MAX_COPY: usize = 0x10000;
/// Bytes on both sides of the base's middle that are searched, too.
const BESIDE: usize = 4 << 10;
/// Bits of the largest table of blocks.
const MAX_BITS: u32 = 18;

/// Encodes deltas; keeps its table between calls.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    /// One past the start of the block with that hash in the base's middle; 0 for none.
    table: Vec<u32>,
}

impl Encoder {
    /// Appends the delta that makes `target` of `base`; `false`, with `out` as it was, when it would have more than
    /// `most` bytes.
    pub(crate) fn encode(&mut self, base: &[u8], target: &[u8], most: usize, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let (Ok(_), Ok(_)) = (u32::try_from(base.len()), u32::try_from(target.len())) else { return false };
        put_size(base.len(), out);
        put_size(target.len(), out);
        let (prefix, suffix) = shared_ends(base, target);
        let mut ops = Ops { out, end: start.saturating_add(most) };
        ops.copy(0, prefix);
        let middle = &target[prefix..target.len() - suffix];
        // What was inserted often repeats what is next to it.
        let old_at = prefix.saturating_sub(BESIDE);
        let old = &base[old_at..(base.len() - suffix + BESIDE).min(base.len())];
        let done = self.middle(old, old_at, middle, &mut ops);
        ops.copy(base.len() - suffix, suffix);
        let fits = done && ops.fits();
        if !fits {
            out.truncate(start);
        }
        fits
    }

    /// Encodes what lies between the shared ends.
    fn middle(&mut self, old: &[u8], old_at: usize, new: &[u8], ops: &mut Ops<'_>) -> bool {
        if old.len() < BLOCK || new.len() < BLOCK {
            ops.literal(new);
            return ops.fits();
        }
        let bits = (old.len() / BLOCK).next_power_of_two().trailing_zeros().clamp(4, MAX_BITS) + 1;
        self.fill(old, bits);
        let (mut literal, mut at) = (0, 0);
        while let Some(block) = new.get(at..at + BLOCK) {
            let found = self.table.get(slot(block, bits)).copied().unwrap_or(0) as usize;
            let matches = found > 0 && old.get(found - 1..found - 1 + BLOCK) == Some(block);
            if !matches {
                at += 1;
                continue;
            }
            let mut from = found - 1;
            let ahead = common(&old[from + BLOCK..], &new[at + BLOCK..]);
            let behind = common_back(&old[..from], &new[literal..at]);
            (from, at) = (from - behind, at - behind);
            ops.literal(&new[literal..at]);
            let len = behind + BLOCK + ahead;
            ops.copy(old_at + from, len);
            at += len;
            literal = at;
            if !ops.fits() {
                return false;
            }
        }
        ops.literal(&new[literal..]);
        ops.fits()
    }

    fn fill(&mut self, old: &[u8], bits: u32) {
        self.table.clear();
        self.table.resize(1 << bits, 0);
        // The earliest of equal blocks stays: later ones are reached by copying on.
        for (n, block) in old.chunks_exact(BLOCK).enumerate().rev() {
            if let (Some(slot), Ok(at)) =
                (self.table.get_mut(slot(block, bits)), u32::try_from(n * BLOCK + 1))
            {
                *slot = at;
            }
        }
    }
}

/// Where a block goes in a table.
fn slot(block: &[u8], bits: u32) -> usize {
    let half =
        |at: usize| block.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes);
    let mixed = (half(0) ^ half(8).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - bits)) as usize
}

/// Lengths of what both share at the beginning and, behind that, at the end.
fn shared_ends(base: &[u8], target: &[u8]) -> (usize, usize) {
    let most = base.len().min(target.len());
    let prefix = Some(common(base, target)).filter(|len| *len >= MIN_END).unwrap_or(0);
    let left = most - prefix;
    let suffix = common_back(&base[base.len() - left..], &target[target.len() - left..]);
    (prefix, if suffix >= MIN_END { suffix } else { 0 })
}

/// Bytes compared at a time.
const STEP: usize = 32;

/// Length of the common beginning.
fn common(a: &[u8], b: &[u8]) -> usize {
    let (pieces, others) = (a.as_chunks::<STEP>().0, b.as_chunks::<STEP>().0);
    let steps = pieces.iter().zip(others).take_while(|(a, b)| a == b).count() * STEP;
    steps + a[steps..].iter().zip(&b[steps..]).take_while(|(a, b)| a == b).count()
}

/// Length of the common end.
fn common_back(a: &[u8], b: &[u8]) -> usize {
    let (pieces, others) = (a.as_rchunks::<STEP>().1, b.as_rchunks::<STEP>().1);
    let steps = pieces.iter().rev().zip(others.iter().rev()).take_while(|(a, b)| a == b).count() * STEP;
    let (a, b) = (&a[..a.len() - steps], &b[..b.len() - steps]);
    steps + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Instructions on their way out.
struct Ops<'o> {
    out: &'o mut Vec<u8>,
    /// Where it becomes too long.
    end: usize,
}

impl Ops<'_> {
    fn fits(&self) -> bool {
        self.out.len() <= self.end
    }

    fn literal(&mut self, bytes: &[u8]) {
        if self.out.len().saturating_add(bytes.len()) > self.end {
            // Too long already; the length says so.
            self.end = 0;
            return;
        }
        for run in bytes.chunks(MAX_LITERAL) {
            self.out.push(run.len() as u8);
            self.out.extend_from_slice(run);
        }
    }

    fn copy(&mut self, from: usize, len: usize) {
        let (mut from, mut left) = (from, len);
        while left > 0 {
            let len = left.min(MAX_COPY);
            let op_at = self.out.len();
            let mut op = 0x80;
            self.out.push(op);
            for (bit, byte) in (from as u32).to_le_bytes().into_iter().enumerate() {
                if byte != 0 {
                    op |= 1 << bit;
                    self.out.push(byte);
                }
            }
            // A length of 0 stands for the longest.
            for (bit, byte) in (len as u16).to_le_bytes().into_iter().enumerate() {
                if byte != 0 {
                    op |= 0x10 << bit;
                    self.out.push(byte);
                }
            }
            self.out[op_at] = op;
            (from, left) = (from + len, left - len);
        }
    }
}

fn put_size(mut size: usize, out: &mut Vec<u8>) {
    while size >= 0x80 {
        out.push(size as u8 | 0x80);
        size >>= 7;
    }
    out.push(size as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Git's way back, as its documentation tells it.
    fn apply(base: &[u8], delta: &[u8]) -> Vec<u8> {
        let mut rest = delta;
        let mut next = || {
            let (first, left) = rest.split_first().unwrap();
            rest = left;
            *first
        };
        let mut size = || {
            let (mut value, mut shift) = (0usize, 0);
            loop {
                let byte = next();
                value |= usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    return value;
                }
            }
        };
        let (base_len, target_len) = (size(), size());
        assert_eq!(base_len, base.len());
        let mut out = Vec::new();
        while let Some((&op, left)) = rest.split_first() {
            rest = left;
            if op & 0x80 == 0 {
                assert!(op > 0);
                let (bytes, left) = rest.split_at(usize::from(op));
                out.extend_from_slice(bytes);
                rest = left;
                continue;
            }
            let mut number = |bits: std::ops::Range<u32>| {
                let mut value = 0usize;
                for (n, bit) in bits.enumerate() {
                    if op & 1 << bit != 0 {
                        value |= usize::from(rest[0]) << (8 * n);
                        rest = &rest[1..];
                    }
                }
                value
            };
            let (from, len) = (number(0..4), number(4..7));
            let len = if len == 0 { MAX_COPY } else { len };
            out.extend_from_slice(&base[from..from + len]);
        }
        assert_eq!(out.len(), target_len);
        out
    }

    fn text(lines: std::ops::Range<u32>) -> Vec<u8> {
        lines
            .flat_map(|n| {
                format!("line {} of something: {}\n", n, n.wrapping_mul(2_654_435_761)).into_bytes()
            })
            .collect()
    }

    #[test]
    fn deltas_make_their_target() {
        let long = text(0..9000);
        let mut edited = long.clone();
        edited.splice(1000..1040, *b"another");
        edited.splice(90_000..90_000, text(20_000..20_010));
        edited.truncate(edited.len() - 3);
        let mut moved = text(400..600);
        moved.extend(text(0..400));
        let cases: [(&str, Vec<u8>, Vec<u8>, usize); 9] = [
            ("equal", long.clone(), long.clone(), 40),
            ("edited", long.clone(), edited, 700),
            ("moved", text(0..600), moved, 60),
            ("appended", text(0..300), text(0..310), 600),
            ("cut", text(0..300), text(20..280), 30),
            ("from nothing", Vec::new(), b"short".to_vec(), 10),
            ("to nothing", b"short".to_vec(), Vec::new(), 10),
            ("one repeated", vec![0; 200_000], vec![0; 300_000], 160),
            (
                "a middle shorter than a block",
                b"aaaaaaaaaaaaaaaaXbbbbbbbbbbbbbbbb".to_vec(),
                b"aaaaaaaaaaaaaaaaYZbbbbbbbbbbbbbbbb".to_vec(),
                16,
            ),
        ];
        let mut encoder = Encoder::default();
        for (what, base, target, most) in cases {
            let mut out = vec![9];
            assert!(encoder.encode(&base, &target, usize::MAX, &mut out), "{what}");
            assert!(apply(&base, &out[1..]) == target, "{what}");
            assert!(out.len() - 1 <= most, "{what}: {} bytes", out.len() - 1);
            let len = out.len() - 1;
            out.truncate(1);
            assert!(!encoder.encode(&base, &target, len - 1, &mut out), "{what}");
            assert_eq!(out, [9], "{what}");
        }
    }

    #[test]
    fn drawn_edits() {
        let mut encoder = Encoder::default();
        let mut random = 7u64;
        let mut draw = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        for _ in 0..2000 {
            let base: Vec<u8> = (0..draw(400)).map(|_| draw(3) as u8).collect();
            let mut target = base.clone();
            for _ in 0..draw(4) {
                let at = draw(target.len() + 1);
                let end = (at + draw(40)).min(target.len());
                let with: Vec<u8> = (0..draw(60)).map(|_| draw(3) as u8).collect();
                target.splice(at..end, with);
            }
            let mut out = Vec::new();
            assert!(encoder.encode(&base, &target, usize::MAX, &mut out));
            assert_eq!(apply(&base, &out), target);
        }
    }
}
