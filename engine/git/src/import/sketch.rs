//! How much two files have in common, from a few numbers about each.

/// Parts of the range of hashes, of each of which the least is kept.
const PARTS: usize = 64;
/// Bytes looked at.
const LOOKED_AT: usize = 256 << 10;
/// Parts that must agree before one file is tried as the base of another.
const ENOUGH: u32 = 6;

/// The least hash of each part, over all strings of eight bytes.
#[derive(Clone, Debug)]
pub(crate) struct Sketch([u64; PARTS]);

impl Sketch {
    /// Looks at the head of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Sketch {
        let mut least = [u64::MAX; PARTS];
        for window in bytes[..bytes.len().min(LOOKED_AT)].windows(8) {
            let word = window.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            let hash = word.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let part = (hash >> 58) as usize;
            least[part] = least[part].min(hash.rotate_left(6));
        }
        Sketch(least)
    }

    /// Parts that agree.
    pub(crate) fn shared(&self, other: &Sketch) -> u32 {
        self.0.iter().zip(&other.0).map(|(a, b)| u32::from(a == b && *a != u64::MAX)).sum()
    }

    /// Whether a difference to the other is likely to be short.
    pub(crate) fn resembles(&self, other: &Sketch) -> bool {
        self.shared(other) >= ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_text_resembles_and_other_text_does_not() {
        let text = |word: &str, from: u32| -> Vec<u8> {
            let number = |n: u32| n.wrapping_mul(2_654_435_761);
            (from..from + 2000).flat_map(|n| format!("{word}{}{word}\n", number(n)).into_bytes()).collect()
        };
        let (one, other) = (text("line", 0), text("other", 1_000_000));
        let mut edited = one.clone();
        edited.splice(500..700, *b"something else");
        let sketch = Sketch::of(&one);
        assert!(sketch.resembles(&Sketch::of(&edited)));
        assert!(!sketch.resembles(&Sketch::of(&other)));
        assert_eq!(Sketch::of(b"short").shared(&Sketch::of(b"short")), 0);
    }
}
