//! Maps keyed by identities: their bytes are random already, so eight of them are the hash.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Takes eight bytes of a digest as the hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(tail) = bytes.last_chunk::<8>() {
            self.0 = u64::from_le_bytes(*tail);
        }
    }

    // The length prefix of an array adds nothing.
    fn write_usize(&mut self, _: usize) {}
}

/// A map from keys or identities.
pub(crate) type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<DigestHasher>>;
