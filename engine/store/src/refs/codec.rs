//! Bounded reading and plain writing of the small binary forms of refs: integers little endian, lengths as LEB128.

use gemel_object::GID_LEN;
use gemel_packfmt::varint;

/// Length of the truncated BLAKE3 that ends a record or a file.
pub(crate) const CHECK_LEN: usize = 16;

/// Longest local record, in bytes.
pub const MAX_RECORD_BYTES: usize = 64 * 1024;

/// First 16 bytes of the BLAKE3 of `bytes`.
pub(crate) fn check_of(bytes: &[u8]) -> [u8; CHECK_LEN] {
    let mut out = [0; CHECK_LEN];
    out.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECK_LEN]);
    out
}

/// What a table or the journal says of a name. Identities are raw: their family is checked where they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// The name was removed.
    Removed,
    /// 33 bytes of an identity.
    Id([u8; GID_LEN]),
    /// Bytes of a local record.
    Record(Vec<u8>),
}

const REMOVED: u8 = 0;
const ID: u8 = 1;
const RECORD: u8 = 2;

impl Stored {
    /// Appends kind and value.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Stored::Removed => out.push(REMOVED),
            Stored::Id(bytes) => {
                out.push(ID);
                out.extend_from_slice(bytes);
            }
            Stored::Record(bytes) => {
                out.push(RECORD);
                put_len(out, bytes.len());
                out.extend_from_slice(bytes);
            }
        }
    }

    /// Reads kind and value.
    pub(crate) fn read(input: &mut Input<'_>) -> Option<Stored> {
        Some(match input.u8()? {
            REMOVED => Stored::Removed,
            ID => Stored::Id(input.array()?),
            RECORD => {
                let len = input.len(MAX_RECORD_BYTES)?;
                Stored::Record(input.take(len)?.to_vec())
            }
            _ => return None,
        })
    }

    /// Steps over a kind and value without copying it.
    #[inline]
    pub(crate) fn skip(input: &mut Input<'_>) -> Option<()> {
        match input.u8()? {
            REMOVED => Some(()),
            ID => input.take(GID_LEN).map(drop),
            RECORD => {
                let len = input.len(MAX_RECORD_BYTES)?;
                input.take(len).map(drop)
            }
            _ => None,
        }
    }
}

/// Appends a length or count as LEB128.
pub(crate) fn put_len(out: &mut Vec<u8>, len: usize) {
    varint::put(out, len as u64);
}

/// A cursor over untrusted bytes. Every method returns `None` past the end or above its bound.
#[derive(Clone, Debug)]
pub(crate) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(len)?;
        self.rest = tail;
        Some(head)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.rest.split_first_chunk::<N>()?;
        self.rest = tail;
        Some(*head)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[b]| b)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// A LEB128 length of at most `max`.
    #[inline]
    pub(crate) fn len(&mut self, max: usize) -> Option<usize> {
        let first = self.u8()?;
        if first < 0x80 {
            return Some(usize::from(first)).filter(|len| *len <= max);
        }
        self.long_len(first, max)
    }

    /// The rest of a length whose first byte says that it has more.
    fn long_len(&mut self, first: u8, max: usize) -> Option<usize> {
        let mut value = u64::from(first & 0x7f);
        for shift in [7, 14, 21, 28, 35] {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return usize::try_from(value).ok().filter(|v| *v <= max);
            }
        }
        None
    }

    /// A LEB128 length of at most `max`, then that many bytes of UTF-8.
    pub(crate) fn text(&mut self, max: usize) -> Option<&'a str> {
        let len = self.len(max)?;
        std::str::from_utf8(self.take(len)?).ok()
    }
}
