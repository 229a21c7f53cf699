//! Inputs shared by the benches.

use gemel_object::{Family, Gid, Limits, Mode, ObjectError, blob_envelope, tree_envelope};
use gemel_packfmt::{KEY_LEN, Key};
use gemel_store::NewObject;
use gemel_tools::corpus::{self, Draw};

/// Keys as the identities of a monorepo: eight blobs to a tree, and 32 random bytes.
pub fn random_keys(count: usize, seed: u64) -> Vec<Key> {
    let mut draw = Draw::new(seed);
    let mut key = || {
        let mut key = [0; KEY_LEN];
        key[0] = if draw.below(9) == 0 { Family::Tree } else { Family::Blob }.code();
        for part in key[1..].chunks_exact_mut(8) {
            part.copy_from_slice(&draw.word().to_le_bytes());
        }
        key
    };
    (0..count).map(|_| key()).collect()
}

/// The envelope of a tree of `width` files.
///
/// # Errors
/// None for a width that a tree may have.
pub fn tree(width: usize) -> Result<Vec<u8>, ObjectError> {
    let keys = random_keys(width, 1);
    let names: Vec<String> = (0..width).map(|n| format!("file{n:06}.rs")).collect();
    let entries = names.iter().zip(&keys).map(|(name, key)| {
        let mut digest = [0; 32];
        digest.copy_from_slice(&key[1..]);
        (name.as_str(), Mode::File, Gid::new(Family::Blob, digest))
    });
    Ok(tree_envelope(entries, &Limits::DEFAULT)?.bytes)
}

/// Blobs of the texts of a corpus, in two versions, the second of which names the first as its base.
#[derive(Clone, Debug)]
pub struct Sources {
    /// First versions.
    pub first: Vec<NewObject>,
    /// Versions with a small change each.
    pub second: Vec<NewObject>,
}

impl Sources {
    /// Two versions of about `files` texts.
    ///
    /// # Errors
    /// None for texts below the size limit.
    pub fn new(files: usize, seed: u64) -> Result<Sources, ObjectError> {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (old, new) in corpus::versions(files, seed) {
            let old = blob(&old, None)?;
            second.push(blob(&new, Some(old.id))?);
            first.push(old);
        }
        Ok(Sources { first, second })
    }

    /// Canonical bytes of one version.
    pub fn bytes(&self) -> u64 {
        self.first.iter().map(|object| object.bytes.len() as u64).sum()
    }
}

fn blob(body: &[u8], base: Option<Gid>) -> Result<NewObject, ObjectError> {
    let encoded = blob_envelope(body, &Limits::DEFAULT)?;
    Ok(NewObject { id: encoded.id, bytes: encoded.bytes, base })
}
