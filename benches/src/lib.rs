//! Inputs shared by the benches.

use gemel_packfmt::{KEY_LEN, Key};
use gemel_tools::corpus::Draw;

/// Keys as identities have them: a class of 1 to 24, most of them blobs and trees, and 32 random bytes.
pub fn random_keys(count: usize, seed: u64) -> Vec<Key> {
    let mut draw = Draw::new(seed);
    let mut key = || {
        let mut key = [0; KEY_LEN];
        key[0] = [1, 1, 1, 2, 4, 7][draw.below(6)];
        for part in key[1..].chunks_exact_mut(8) {
            part.copy_from_slice(&draw.word().to_le_bytes());
        }
        key
    };
    (0..count).map(|_| key()).collect()
}
