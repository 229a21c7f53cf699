//! Pack header and frames (docs/STORAGE.md, "Pack").
//!
//! A pack is a header and then frames back to back. A frame is `kind`, `method`, lengths and numbers, a check over
//! all of it, and the payload. Nothing in a frame is trusted before [`Frame::check`] or a re-hash of what it holds.

use crate::refcode::RefCode;
use crate::varint::{self, Reader};
use crate::{FormatError, Result};

const MAGIC: &[u8; 4] = b"GPAK";
/// Version of the pack layout this build reads and writes.
pub const VERSION: u32 = 1;
const VERSION_AT: usize = MAGIC.len();
const NUMBER_AT: usize = VERSION_AT + 4;
const CHECK_AT: usize = NUMBER_AT + 8;
/// Length of a pack header in bytes.
pub const HEADER_LEN: usize = CHECK_AT + 4;
const _: () = assert!(HEADER_LEN == 20);

/// Most plain bytes one frame may hold; larger objects are chunked.
pub const MAX_FRAME_PLAIN: u64 = 8 << 20;
/// Longest chain of bases a reader follows.
pub const MAX_DEPTH: u8 = 96;
/// Largest frame offset an index can hold.
pub const MAX_OFFSET: u64 = 1 << 36;

/// First four bytes of a BLAKE3 hash: guards against accident, not malice.
pub fn check_of(parts: &[&[u8]]) -> u32 {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| {
        hasher.update(part);
    });
    check_value(&hasher)
}

/// What a check keeps of a hash.
pub(crate) fn check_value(hasher: &blake3::Hasher) -> u32 {
    let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// The header of the pack with number `number`.
pub fn header(number: u64) -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    bytes[..VERSION_AT].copy_from_slice(MAGIC);
    bytes[VERSION_AT..NUMBER_AT].copy_from_slice(&VERSION.to_le_bytes());
    bytes[NUMBER_AT..CHECK_AT].copy_from_slice(&number.to_le_bytes());
    let check = check_of(&[&bytes[..CHECK_AT]]);
    bytes[CHECK_AT..].copy_from_slice(&check.to_le_bytes());
    bytes
}

/// Reads a pack header; returns the pack's number.
///
/// # Errors
/// `Cut`, `Unknown` for another magic, `Checksum`, `Version`.
pub fn read_header(bytes: &[u8]) -> Result<u64> {
    let mut reader = Reader::new(bytes);
    let magic = reader.array::<4>("pack header")?;
    let version = u32::from_le_bytes(reader.array("pack header")?);
    let number = u64::from_le_bytes(reader.array("pack header")?);
    let expected = u32::from_le_bytes(reader.array("pack header")?);
    if &magic != MAGIC {
        return Err(FormatError::Unknown { what: "pack magic", found: u64::from(u32::from_be_bytes(magic)) });
    }
    let found = check_of(&[bytes.get(..CHECK_AT).unwrap_or_default()]);
    if found != expected {
        return Err(checksum("pack header", 0, expected, found));
    }
    if version != VERSION {
        return Err(FormatError::Version { what: "pack", found: version, supported: VERSION });
    }
    Ok(number)
}

pub(crate) fn checksum(what: &'static str, offset: u64, expected: u32, found: u32) -> FormatError {
    FormatError::Checksum { what, offset, expected: u64::from(expected), found: u64::from(found) }
}

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As it is.
    Stored,
    /// Compressed alone.
    Deflated,
    /// Compressed with the pack's dictionary of this number.
    WithDictionary(u32),
    /// As a difference to another object, at this depth of its chain.
    Delta {
        /// The base.
        base: RefCode,
        /// 1 for a base that is no delta itself, and so on.
        depth: u8,
    },
}

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One object whose plain bytes are its envelope.
    Raw {
        /// Its ordinal.
        ordinal: u32,
    },
    /// One object whose plain bytes are a cut form; codes of its keys open the payload.
    Cut {
        /// Its ordinal.
        ordinal: u32,
    },
    /// Several cut objects (see [`crate::group`]).
    Group,
    /// A part of a large object.
    Chunk,
    /// A large object: the list of its chunks (see [`crate::large`]).
    Large {
        /// Its ordinal.
        ordinal: u32,
    },
    /// A compression dictionary.
    Dictionary {
        /// Its number, counted from 0 in the pack.
        number: u32,
    },
    /// Keys that live elsewhere, 33 bytes each.
    Foreign {
        /// Number of the first one.
        first: u32,
    },
    /// The end of a batch (see [`crate::mark`]).
    Mark,
}

const RAW: u8 = 1;
const CUT: u8 = 2;
const GROUP: u8 = 3;
const CHUNK: u8 = 4;
const LARGE: u8 = 5;
const DICTIONARY: u8 = 6;
const FOREIGN: u8 = 7;
const MARK: u8 = 8;
/// First byte of a mark frame, which is always stored as it is: readers look for it behind a damaged place.
pub const MARK_BYTE: u8 = MARK;

/// A frame as found, unchecked.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// What it holds.
    pub kind: Kind,
    /// How its payload is stored.
    pub method: Method,
    /// Plain length, at most [`MAX_FRAME_PLAIN`] except for `Large`, where it is the length of the whole object.
    pub plain_len: u64,
    /// The payload.
    pub payload: &'a [u8],
    /// Offset of the frame in its pack.
    pub offset: u64,
    /// Offset of the next frame.
    pub end: u64,
    head: &'a [u8],
    check: u32,
}

/// Appends a frame.
pub fn put(kind: Kind, method: Method, plain_len: u64, payload: &[&[u8]], out: &mut Vec<u8>) {
    let start = out.len();
    let (code, number) = match kind {
        Kind::Raw { ordinal } => (RAW, Some(ordinal)),
        Kind::Cut { ordinal } => (CUT, Some(ordinal)),
        Kind::Group => (GROUP, None),
        Kind::Chunk => (CHUNK, None),
        Kind::Large { ordinal } => (LARGE, Some(ordinal)),
        Kind::Dictionary { number } => (DICTIONARY, Some(number)),
        Kind::Foreign { first } => (FOREIGN, Some(first)),
        Kind::Mark => (MARK, None),
    };
    let method_code = match method {
        Method::Stored => 0,
        Method::Deflated => 1,
        Method::WithDictionary(_) => 2,
        Method::Delta { base: RefCode::Local(_), .. } => 3,
        Method::Delta { base: RefCode::Foreign(_), .. } => 4,
    };
    out.push(code | method_code << 4);
    varint::put(out, plain_len);
    varint::put(out, payload.iter().map(|part| part.len() as u64).sum());
    number.iter().for_each(|&n| varint::put(out, u64::from(n)));
    match method {
        Method::WithDictionary(n) => varint::put(out, u64::from(n)),
        Method::Delta { base: RefCode::Local(n) | RefCode::Foreign(n), depth } => {
            varint::put(out, u64::from(n));
            out.push(depth);
        }
        Method::Stored | Method::Deflated => {}
    }
    let mut parts = Vec::with_capacity(payload.len() + 1);
    parts.push(&out[start..]);
    parts.extend_from_slice(payload);
    let check = check_of(&parts);
    out.extend_from_slice(&check.to_le_bytes());
    payload.iter().for_each(|part| out.extend_from_slice(part));
}

impl<'a> Frame<'a> {
    /// Reads the frame at `offset` of a pack. Its check is not verified.
    ///
    /// # Errors
    /// `Cut` when the pack ends first, `Unknown` and `TooLarge` for what the layout does not have.
    pub fn parse(pack: &'a [u8], offset: u64) -> Result<Frame<'a>> {
        let cut = FormatError::Cut { what: "frame", offset };
        let start = usize::try_from(offset).map_err(|_| cut.clone())?;
        let bytes = pack.get(start..).filter(|rest| !rest.is_empty()).ok_or(cut.clone())?;
        let mut reader = Reader::new(bytes);
        let [code] = reader.array::<1>("frame")?;
        let limit = if code & 15 == LARGE { u64::MAX >> 1 } else { MAX_FRAME_PLAIN };
        let plain_len = reader.uint_at_most("plain length", limit)?;
        let payload_len = reader.uint("payload length")?;
        let kind = read_kind(code & 15, &mut reader)?;
        let method = read_method(code >> 4, &mut reader)?;
        let head = &bytes[..reader.position()];
        let check = u32::from_le_bytes(reader.array("frame check")?);
        let payload_len = usize::try_from(payload_len).map_err(|_| cut.clone())?;
        let payload = reader.take("frame payload", payload_len).map_err(|_| cut)?;
        let end = offset + reader.position() as u64;
        Ok(Frame { kind, method, plain_len, payload, offset, end, head, check })
    }

    /// Verifies the check over head and payload.
    ///
    /// # Errors
    /// `Checksum`.
    pub fn check(&self) -> Result<()> {
        let found = check_of(&[self.head, self.payload]);
        if found == self.check { Ok(()) } else { Err(checksum("frame", self.offset, self.check, found)) }
    }

    /// The stored check value, which a mark sums up.
    pub fn check_value(&self) -> u32 {
        self.check
    }

    /// The plain length as a size that may be allocated.
    ///
    /// # Errors
    /// `TooLarge` above [`MAX_FRAME_PLAIN`].
    pub fn plain_size(&self) -> Result<usize> {
        if self.plain_len > MAX_FRAME_PLAIN {
            return Err(FormatError::TooLarge {
                what: "plain length",
                found: self.plain_len,
                limit: MAX_FRAME_PLAIN,
            });
        }
        Ok(self.plain_len as usize)
    }
}

fn number(reader: &mut Reader<'_>) -> Result<u32> {
    reader.u32("frame number")
}

fn read_kind(code: u8, reader: &mut Reader<'_>) -> Result<Kind> {
    Ok(match code {
        RAW => Kind::Raw { ordinal: number(reader)? },
        CUT => Kind::Cut { ordinal: number(reader)? },
        GROUP => Kind::Group,
        CHUNK => Kind::Chunk,
        LARGE => Kind::Large { ordinal: number(reader)? },
        DICTIONARY => Kind::Dictionary { number: number(reader)? },
        FOREIGN => Kind::Foreign { first: number(reader)? },
        MARK => Kind::Mark,
        found => return Err(FormatError::Unknown { what: "frame kind", found: u64::from(found) }),
    })
}

fn read_method(code: u8, reader: &mut Reader<'_>) -> Result<Method> {
    Ok(match code {
        0 => Method::Stored,
        1 => Method::Deflated,
        2 => Method::WithDictionary(number(reader)?),
        3 | 4 => {
            let n = number(reader)?;
            let [depth] = reader.array::<1>("delta depth")?;
            if depth > MAX_DEPTH {
                let (found, limit) = (u64::from(depth), u64::from(MAX_DEPTH));
                return Err(FormatError::TooLarge { what: "delta depth", found, limit });
            }
            Method::Delta { base: if code == 3 { RefCode::Local(n) } else { RefCode::Foreign(n) }, depth }
        }
        found => return Err(FormatError::Unknown { what: "frame method", found: u64::from(found) }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_checked() {
        let good = header(7);
        assert_eq!(read_header(&good), Ok(7));
        for i in 0..good.len() {
            let mut bad = good;
            bad[i] ^= 1;
            assert!(read_header(&bad).is_err(), "byte {i}");
            assert!(read_header(&good[..i]).is_err());
        }
    }

    #[test]
    fn frames_round_trip_and_every_flip_is_seen() {
        let kinds = [
            (Kind::Raw { ordinal: 300 }, Method::WithDictionary(2)),
            (Kind::Cut { ordinal: 1 }, Method::Delta { base: RefCode::Foreign(9), depth: 3 }),
            (Kind::Group, Method::Deflated),
            (Kind::Large { ordinal: 0 }, Method::Stored),
        ];
        let mut pack = header(1).to_vec();
        for (kind, method) in kinds {
            put(kind, method, 70_000, &[b"pay", b"load"], &mut pack);
        }
        let mut at = HEADER_LEN as u64;
        for (kind, method) in kinds {
            let frame = Frame::parse(&pack, at).unwrap();
            assert_eq!((frame.kind, frame.method, frame.payload), (kind, method, b"payload".as_slice()));
            frame.check().unwrap();
            at = frame.end;
        }
        assert_eq!(at, pack.len() as u64);
        assert!(Frame::parse(&pack, at).is_err());
        for i in HEADER_LEN..pack.len() {
            let mut bad = pack.clone();
            bad[i] ^= 0x41;
            let mut at = HEADER_LEN as u64;
            let seen = std::iter::from_fn(|| {
                let frame = Frame::parse(&bad, at).ok()?;
                at = frame.end;
                Some(frame.check().is_ok())
            });
            let seen: Vec<bool> = seen.collect();
            assert!(seen.len() != kinds.len() || seen.contains(&false), "byte {i}");
        }
    }
}
