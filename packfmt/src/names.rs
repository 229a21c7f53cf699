//! Cutting Git's object names out of text, and splicing them back (docs/STORAGE.md, "Names in groups").
//!
//! Written in hex such a name is random text of twice its length, and it is told again and again. A run of exactly 40 or
//! 64 lowercase hex digits is taken out, stored once in binary, and told by a small number after that.

use crate::varint::{self, Reader};
use crate::{FormatError, Result};
use std::collections::HashMap;

/// Bytes of a name: SHA-1, SHA-256.
const WIDTHS: [usize; 2] = [20, 32];

/// Text with its names taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Places and references, then the distinct names.
    columns: Vec<u8>,
    /// What is left of the text.
    rest: Vec<u8>,
}

impl Named {
    /// Takes names out of `text`; `None` when there is none.
    pub fn cut(text: &[u8]) -> Option<Named> {
        let (mut places, mut names, mut rest) = (Vec::new(), Vec::new(), Vec::with_capacity(text.len()));
        let mut known: HashMap<&[u8], u64> = HashMap::new();
        let (mut count, mut end) = (0u64, 0usize);
        let mut at = 0;
        while at < text.len() {
            let run = text[at..].iter().take_while(|b| is_hex(**b)).count();
            if let Some(width) = WIDTHS.iter().position(|width| width * 2 == run) {
                let hex = &text[at..at + run];
                varint::put(&mut places, (at - end) as u64);
                let next = known.len() as u64;
                let number = *known.entry(hex).or_insert(next);
                if number == next {
                    varint::put(&mut places, width as u64);
                    names.extend(hex.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])));
                } else {
                    varint::put(&mut places, WIDTHS.len() as u64 + (next - 1 - number));
                }
                rest.extend_from_slice(&text[end..at]);
                end = at + run;
                count += 1;
            }
            at += run.max(1);
        }
        if count == 0 {
            return None;
        }
        rest.extend_from_slice(&text[end..]);
        let mut columns = Vec::with_capacity(places.len() + names.len() + 8);
        varint::put(&mut columns, count);
        columns.append(&mut places);
        columns.append(&mut names);
        Some(Named { columns, rest })
    }

    /// Appends the columns, then the rest of the text.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.columns);
        out.extend_from_slice(&self.rest);
    }
}

/// Reads what [`Named::put`] appended, up to the end of `reader`, and splices: exactly `text_len` bytes.
///
/// # Errors
/// `Cut`, `TooLarge`, `Mismatch` when the columns do not fit each other or the text.
pub fn splice(reader: &mut Reader<'_>, text_len: usize) -> Result<Vec<u8>> {
    let count = reader.len_within("names")?;
    let mut cuts: Vec<(usize, usize)> = Vec::with_capacity(count);
    let mut widths: Vec<usize> = Vec::new();
    let mut cut_bytes = 0usize;
    for _ in 0..count {
        let gap = reader.uint_at_most("gap before a name", text_len as u64)? as usize;
        let code = reader.uint("number of a name")?;
        let name = match WIDTHS.get(usize::try_from(code).unwrap_or(usize::MAX)) {
            Some(width) => {
                widths.push(*width);
                widths.len() - 1
            }
            None => {
                let back = code - WIDTHS.len() as u64;
                let number = (widths.len() as u64).checked_sub(back.saturating_add(1));
                number.ok_or(FormatError::TooLarge {
                    what: "number of a name",
                    found: code,
                    limit: widths.len() as u64 + 1,
                })? as usize
            }
        };
        cut_bytes = cut_bytes.saturating_add(widths[name] * 2);
        if cut_bytes > text_len {
            return Err(mismatch(text_len, cut_bytes));
        }
        cuts.push((gap, name));
    }
    let mut names = Vec::with_capacity(widths.len());
    for width in &widths {
        names.push(reader.take("name", *width)?);
    }
    if reader.remaining() + cut_bytes != text_len {
        return Err(mismatch(text_len, reader.remaining() + cut_bytes));
    }
    let mut text = Vec::with_capacity(text_len);
    for (gap, name) in cuts {
        text.extend_from_slice(reader.take("text between names", gap)?);
        for byte in names[name] {
            text.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
    text.extend_from_slice(reader.rest());
    Ok(text)
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

fn digit(byte: u8) -> u8 {
    if byte.is_ascii_digit() { byte - b'0' } else { byte - b'a' + 10 }
}

fn mismatch(expected: usize, found: usize) -> FormatError {
    FormatError::Mismatch { what: "text with names", expected: expected as u64, found: found as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(n: u8, len: usize) -> String {
        format!("{n:02x}").repeat(len / 2)
    }

    #[test]
    fn names_come_back_and_damage_is_refused() {
        let (a, b, long) = (hex(0xab, 40), hex(0x07, 40), hex(0x5e, 64));
        for text in [
            format!("tree {a}\nparent {b}\nparent {a}\n{long} {long}"),
            a.to_string(),
            format!("x{a}0 {} {b}", hex(1, 42)),
        ] {
            let named = Named::cut(text.as_bytes());
            let Some(named) = named else { panic!("no names in {text}") };
            let mut bytes = Vec::new();
            named.put(&mut bytes);
            assert!(bytes.len() < text.len());
            let back = splice(&mut Reader::new(&bytes), text.len()).unwrap();
            assert_eq!(back, text.as_bytes());
            for cut in 0..bytes.len() {
                assert!(splice(&mut Reader::new(&bytes[..cut]), text.len()).is_err());
            }
            for at in 0..bytes.len() {
                let mut bad = bytes.clone();
                bad[at] ^= 0x81;
                // Some flips make other text; none makes text of another length.
                if let Ok(text_of) = splice(&mut Reader::new(&bad), text.len()) {
                    assert_eq!(text_of.len(), text.len());
                }
            }
        }
        for none in ["", "abc", &hex(1, 38), &hex(1, 42), &hex(0xab, 40).to_uppercase()] {
            assert_eq!(Named::cut(none.as_bytes()), None, "{none}");
        }
    }
}
