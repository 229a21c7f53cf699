//! The fst over shortest distinguishing prefixes: from key to candidate rank in few steps.

use super::{Index, Section};
use crate::{FormatError, Key, Result};
use fst::raw::{Fst, Output};

/// Builds the fst over sorted keys; equal neighbours are entered once.
pub(super) fn build<'k>(keys: impl Iterator<Item = &'k Key>) -> Result<Vec<u8>> {
    let mut builder = fst::MapBuilder::memory();
    let mut keys = (0u64..).zip(keys).peekable();
    let mut before = 0;
    while let Some((rank, key)) = keys.next() {
        let after = keys.peek().map_or(0, |(_, next)| shared(key, next));
        if after == key.len() {
            continue;
        }
        let len = before.max(after) + 1;
        builder.insert(&key[..len], rank).map_err(refused)?;
        before = after;
    }
    builder.into_inner().map_err(refused)
}

fn shared(a: &Key, b: &Key) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

fn refused(error: fst::Error) -> FormatError {
    FormatError::Codec { what: "fst", detail: error.to_string() }
}

/// An fst whose bytes have been verified.
#[derive(Clone)]
pub struct Prefixes<D>(Fst<D>);

impl<D> std::fmt::Debug for Prefixes<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prefixes")
    }
}

impl<D: AsRef<[u8]>> Prefixes<D> {
    /// Verifies the fst section of `bytes` and opens `data`, which must be that section.
    ///
    /// # Errors
    /// `Checksum`; `Codec` when the fst crate refuses it.
    pub fn open(index: &Index, bytes: &[u8], data: D) -> Result<Prefixes<D>> {
        index.verify(bytes, Section::Prefixes)?;
        Fst::new(data).map(Prefixes).map_err(refused)
    }

    /// The only rank `key` can have; the caller compares the key of that rank ([`Index::holds`]).
    pub fn find(&self, key: &Key) -> Option<u32> {
        let mut node = self.0.root();
        let mut output = Output::zero();
        for &byte in key {
            if node.is_final() {
                break;
            }
            let transition = node.transition(node.find_input(byte)?);
            output = output.cat(transition.out);
            node = self.0.node(transition.addr);
        }
        node.is_final()
            .then(|| output.cat(node.final_output()).value())
            .and_then(|rank| u32::try_from(rank).ok())
    }
}
