//! Several small objects in one frame (docs/STORAGE.md, "Group"): metadata compresses well together. The plain
//! bytes hold columns: count, ordinals, lengths of codes, lengths of forms, codes, forms.

use crate::names::{self, Named};
use crate::varint::{self, Reader, unzigzag, zigzag};
use crate::{FormatError, Result};
use std::ops::Range;

/// Plain bytes at which a group is closed.
pub const TARGET_BYTES: usize = 64 << 10;
/// Most objects in a group.
pub const MAX_OBJECTS: usize = 4096;

/// Added to the count when names were cut out of the forms.
const NAMED: u64 = 1 << 13;
const _: () = assert!(MAX_OBJECTS < NAMED as usize);
/// Most bytes of all forms together.
const MAX_FORMS: usize = 16 << 20;

/// A group being filled.
#[derive(Clone, Debug, Default)]
pub struct GroupBuilder {
    members: Vec<(u32, usize, usize)>,
    codes: Vec<u8>,
    forms: Vec<u8>,
}

impl GroupBuilder {
    /// Adds an object by its ordinal, its reference codes and its cut form.
    pub fn push(&mut self, ordinal: u32, codes: &[u8], form: &[u8]) {
        self.members.push((ordinal, codes.len(), form.len()));
        self.codes.extend_from_slice(codes);
        self.forms.extend_from_slice(form);
    }

    /// Takes over the members of `other` if both fit one group; `false` and nothing otherwise.
    pub fn absorb(&mut self, other: &GroupBuilder) -> bool {
        let bytes = self.codes.len() + self.forms.len() + other.codes.len() + other.forms.len();
        let fits = bytes <= TARGET_BYTES && self.members.len() + other.members.len() <= MAX_OBJECTS;
        let takes = fits || self.is_empty();
        if takes {
            self.members.extend_from_slice(&other.members);
            self.codes.extend_from_slice(&other.codes);
            self.forms.extend_from_slice(&other.forms);
        }
        takes
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether it should be closed before it grows.
    pub fn is_full(&self) -> bool {
        self.codes.len() + self.forms.len() >= TARGET_BYTES || self.members.len() >= MAX_OBJECTS
    }

    /// Ordinals and reference codes of the members, in slot order.
    pub fn members(&self) -> impl Iterator<Item = (u32, &[u8])> + '_ {
        let mut rest = self.codes.as_slice();
        self.members.iter().map(move |(ordinal, codes, _)| {
            let (own, behind) = rest.split_at_checked(*codes).unwrap_or_default();
            rest = behind;
            (*ordinal, own)
        })
    }

    /// The plain bytes.
    pub fn plain(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.codes.len() + self.forms.len() + self.members.len() * 5 + 4);
        let named = Named::cut(&self.forms);
        let flag = if named.is_some() { NAMED } else { 0 };
        varint::put(&mut out, self.members.len() as u64 + flag);
        let mut last = 0i64;
        for &(ordinal, ..) in &self.members {
            varint::put(&mut out, zigzag(i64::from(ordinal) - last));
            last = i64::from(ordinal);
        }
        self.members.iter().for_each(|m| varint::put(&mut out, m.1 as u64));
        self.members.iter().for_each(|m| varint::put(&mut out, m.2 as u64));
        out.extend_from_slice(&self.codes);
        match named {
            Some(named) => named.put(&mut out),
            None => out.extend_from_slice(&self.forms),
        }
        out
    }
}

/// A group read back.
#[derive(Clone, Debug)]
pub struct Group {
    codes: Vec<u8>,
    forms: Vec<u8>,
    ordinals: Vec<u32>,
    members: Vec<(Range<usize>, Range<usize>)>,
}

impl Group {
    /// Reads plain bytes.
    ///
    /// # Errors
    /// `Cut`, `TooLarge`, `Mismatch` when columns do not fit.
    pub fn parse(plain: &[u8]) -> Result<Group> {
        let mut reader = Reader::new(plain);
        let flagged = reader.uint_at_most("group count", MAX_OBJECTS as u64 | NAMED)?;
        let (count, named) = ((flagged & !NAMED) as usize, flagged & NAMED != 0);
        if count > MAX_OBJECTS {
            let limit = MAX_OBJECTS as u64;
            return Err(FormatError::TooLarge { what: "group count", found: count as u64, limit });
        }
        let mut ordinals = Vec::with_capacity(count);
        let mut last = 0i64;
        for _ in 0..count {
            last = last.checked_add(unzigzag(reader.uint("group ordinal")?)).unwrap_or(-1);
            ordinals.push(u32::try_from(last).map_err(|_| FormatError::TooLarge {
                what: "group ordinal",
                found: last.cast_unsigned(),
                limit: u64::from(u32::MAX),
            })?);
        }
        let ranges = |reader: &mut Reader<'_>| -> Result<(Vec<Range<usize>>, usize)> {
            let (mut ranges, mut at) = (Vec::with_capacity(count), 0usize);
            for _ in 0..count {
                let len = reader.uint_at_most("group member", (MAX_FORMS - at) as u64)? as usize;
                ranges.push(at..at + len);
                at += len;
            }
            Ok((ranges, at))
        };
        let (code_ranges, codes_len) = ranges(&mut reader)?;
        let (form_ranges, forms_len) = ranges(&mut reader)?;
        let codes = reader.take("group codes", codes_len)?.to_vec();
        let forms = match named {
            true => names::splice(&mut reader, forms_len)?,
            false => reader.rest().to_vec(),
        };
        if forms.len() != forms_len {
            let (expected, found) = (forms_len as u64, forms.len() as u64);
            return Err(FormatError::Mismatch { what: "group", expected, found });
        }
        Ok(Group { codes, forms, ordinals, members: code_ranges.into_iter().zip(form_ranges).collect() })
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Ordinal, reference codes and cut form of the member in `slot`.
    pub fn member(&self, slot: usize) -> Option<(u32, &[u8], &[u8])> {
        let (ordinal, (codes, form)) = (self.ordinals.get(slot)?, self.members.get(slot)?);
        Some((*ordinal, self.codes.get(codes.clone())?, self.forms.get(form.clone())?))
    }

    /// The slot of the member with this ordinal. Writers have ordinals ascend.
    pub fn slot_of(&self, ordinal: u32) -> Option<usize> {
        let quick = self.ordinals.binary_search(&ordinal).ok();
        quick.or_else(|| self.ordinals.iter().position(|found| *found == ordinal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_round_trip_and_every_cut_is_refused() {
        round_trip([(5, b"", b"form"), (9, b"codes", b""), (6, b"x", b"yy")]);
        let name = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        round_trip([(5, b"", name), (9, b"codes", b""), (6, b"x", name)]);
    }

    fn round_trip(members: [(u32, &[u8], &[u8]); 3]) {
        let mut builder = GroupBuilder::default();
        members.iter().for_each(|&(o, c, f)| builder.push(o, c, f));
        let plain = builder.plain();
        let group = Group::parse(&plain).unwrap();
        assert_eq!(group.len(), 3);
        for (slot, member) in members.iter().enumerate() {
            assert_eq!(group.member(slot), Some(*member));
            assert_eq!(group.slot_of(member.0), Some(slot));
        }
        let told: Vec<(u32, &[u8])> = builder.members().collect();
        assert_eq!(told, members.map(|(ordinal, codes, _)| (ordinal, codes)));
        assert_eq!(group.slot_of(7), None);
        assert_eq!(group.member(3), None);
        for cut in 0..plain.len() {
            assert!(Group::parse(&plain[..cut]).is_err());
        }
    }
}
