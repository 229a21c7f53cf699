//! The largest number used with each prefix: `refs/names/C` -> 1000 when `refs/names/C1000` has been set.

use crate::refs::codec::{Input, put_len};
use std::collections::BTreeMap;

/// Most prefixes a table tells; beyond it, it says that it does not tell all.
const MAX_KEYS: usize = 1024;
/// Letters a counted prefix may have.
const MAX_LETTERS: usize = 8;
const MAX_KEY_BYTES: usize = 1024;

/// Largest number per prefix of a set of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    largest: BTreeMap<String, u64>,
    complete: bool,
}

impl Counters {
    pub(crate) fn new() -> Counters {
        Counters { largest: BTreeMap::new(), complete: true }
    }

    /// Takes note of `name`, if it is numbered.
    pub(crate) fn note(&mut self, name: &str) {
        if let Some((key, number)) = split_numbered(name) {
            self.raise(key, number);
        }
    }

    /// Takes over what `other` knows.
    pub(crate) fn merge(&mut self, other: &Counters) {
        self.complete &= other.complete;
        for (key, number) in &other.largest {
            self.raise(key, *number);
        }
    }

    fn raise(&mut self, key: &str, number: u64) {
        if let Some(largest) = self.largest.get_mut(key) {
            *largest = number.max(*largest);
        } else if self.largest.len() < MAX_KEYS {
            self.largest.insert(key.to_owned(), number);
        } else {
            self.complete = false;
        }
    }

    /// Largest number noted under `key`, 0 if none; `None` when that is not known.
    pub(crate) fn get(&self, key: &str) -> Option<u64> {
        match self.largest.get(key) {
            Some(number) => Some(*number),
            None => self.complete.then_some(0),
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Block bytes; empty when there is nothing to tell.
    pub(super) fn encode(&self) -> Vec<u8> {
        if self.largest.is_empty() {
            return Vec::new();
        }
        let mut out = vec![super::COUNTERS];
        for (key, number) in &self.largest {
            put_len(&mut out, key.len());
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(&number.to_le_bytes());
        }
        out
    }

    pub(super) fn decode(block: &[u8], complete: bool) -> Option<Counters> {
        let mut input = Input::new(block);
        let mut counters = Counters { largest: BTreeMap::new(), complete };
        if input.u8()? != super::COUNTERS {
            return None;
        }
        while !input.is_empty() {
            let key = input.text(MAX_KEY_BYTES)?.to_owned();
            counters.largest.insert(key, input.u64()?);
        }
        (counters.largest.len() <= MAX_KEYS).then_some(counters)
    }
}

/// `refs/names/C12` -> (`refs/names/C`, 12): one namespace below `refs/`, letters, a number without leading zeros.
pub(crate) fn split_numbered(name: &str) -> Option<(&str, u64)> {
    let (space, last) = name.strip_prefix("refs/")?.split_once('/')?;
    let letters = last.bytes().take_while(u8::is_ascii_alphabetic).count();
    let digits = &last[letters..];
    let plain = (1..=MAX_LETTERS).contains(&letters)
        && !digits.is_empty()
        && !digits.starts_with('0')
        && digits.bytes().all(|b| b.is_ascii_digit());
    if !plain {
        return None;
    }
    let number = digits.parse().ok()?;
    name.get(.."refs/".len() + space.len() + 1 + letters).map(|key| (key, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names() {
        for (name, expected) in [
            ("refs/names/C12", Some(("refs/names/C", 12))),
            ("refs/names/Cl1", Some(("refs/names/Cl", 1))),
            ("refs/trajectories/T7", Some(("refs/trajectories/T", 7))),
            ("refs/names/C012", None),
            ("refs/names/C0", None),
            ("refs/names/C", None),
            ("refs/names/12", None),
            ("refs/names/C1x", None),
            ("refs/names/a/C1", None),
            ("refs/names/C99999999999999999999", None),
            ("refs/head", None),
            ("local/counters/C1", None),
            ("refs/names/é1", None),
        ] {
            assert_eq!(split_numbered(name), expected, "{name}");
        }
    }

    #[test]
    fn more_prefixes_than_told_are_unknown_not_zero() {
        let mut counters = Counters::new();
        counters.note("refs/names/C5");
        for a in b'a'..=b'z' {
            for b in b'a'..=b'z' {
                for c in b'a'..=b'c' {
                    counters.note(&format!("refs/names/{}{}{}9", a as char, b as char, c as char));
                }
            }
        }
        assert_eq!(counters.get("refs/names/C"), Some(5));
        assert_eq!(counters.get("refs/names/unheard"), None);
        let block = counters.encode();
        assert_eq!(Counters::decode(&block, false), Some(counters));
    }
}
