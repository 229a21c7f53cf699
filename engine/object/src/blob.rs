//! Envelope headers (object model, section 3), blobs, and hashing an object that is never in memory whole.

use crate::schema::{ENCODING_VERSION, MAGIC};
use crate::varint::{MAX_LEN, read_uint, write_uint};
use crate::{Encoded, Family, FamilySchema, Gid, LimitKind, Limits, ObjectError};

/// Bytes before the body length: magic, encoding version, family, schema version, flags.
pub(crate) const FIXED_LEN: usize = 8;
/// The shortest envelope: a header and a body length of one byte.
const MIN_LEN: usize = FIXED_LEN + 1;

/// The bytes before the body of an envelope, 9 to 18 of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeHeader {
    family: Family,
    body_len: u64,
    bytes: Vec<u8>,
}

impl EnvelopeHeader {
    /// The longest header in bytes.
    pub const MAX_LEN: usize = FIXED_LEN + MAX_LEN;

    /// The header of a `family` object with `body_len` body bytes.
    ///
    /// # Errors
    /// `LimitExceeded` when the envelope would be too large.
    pub fn new(family: Family, body_len: u64, limits: &Limits) -> Result<EnvelopeHeader, ObjectError> {
        let mut bytes = Vec::with_capacity(Self::MAX_LEN);
        write_header(&mut bytes, family, body_len);
        check_size(bytes.len(), body_len, limits)?;
        Ok(EnvelopeHeader { family, body_len, bytes })
    }

    /// Reads the header at the front of `prefix`, which may be the whole envelope or its first 18 bytes.
    ///
    /// # Errors
    /// The checks of an envelope up to its size limit, in their order.
    pub fn read(prefix: &[u8], limits: &Limits) -> Result<EnvelopeHeader, ObjectError> {
        let (schema, len, body_len) = read_header(prefix, limits)?;
        let bytes = prefix.get(..len).unwrap_or_default().to_vec();
        Ok(EnvelopeHeader { family: schema.family, body_len, bytes })
    }

    /// The family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Bytes of the body.
    pub fn body_len(&self) -> u64 {
        self.body_len
    }

    /// Bytes of the whole envelope.
    pub fn envelope_len(&self) -> u64 {
        self.body_len.saturating_add(self.bytes.len() as u64)
    }

    /// The header itself.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

pub(crate) fn write_header(out: &mut Vec<u8>, family: Family, body_len: u64) {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[ENCODING_VERSION, family.code(), FamilySchema::of(family).schema_version, 0]);
    write_uint(out, body_len);
}

fn check_size(header_len: usize, body_len: u64, limits: &Limits) -> Result<(), ObjectError> {
    let found = body_len.saturating_add(header_len as u64);
    let max = limits.max_object_bytes;
    let limit = LimitKind::ObjectBytes;
    if found > max { Err(ObjectError::LimitExceeded { at: FIXED_LEN, limit, max, found }) } else { Ok(()) }
}

/// Checks 1 to 8 (object model, section 4): the declaration, the offset of the body, its declared length.
#[inline]
pub(crate) fn read_header(
    input: &[u8],
    limits: &Limits,
) -> Result<(&'static FamilySchema, usize, u64), ObjectError> {
    let available = input.len() as u64;
    let Some(&[m0, m1, m2, m3, encoding, family, schema_version, flags, _]) = input.first_chunk::<MIN_LEN>()
    else {
        return Err(ObjectError::LengthMismatch { at: 0, declared: MIN_LEN as u64, available });
    };
    if [m0, m1, m2, m3] != MAGIC {
        return Err(ObjectError::BadMagic { found: [m0, m1, m2, m3] });
    }
    if encoding != ENCODING_VERSION {
        return Err(ObjectError::UnknownEncodingVersion { found: encoding });
    }
    let Some(known) = Family::from_code(family) else {
        return Err(ObjectError::UnknownFamily { at: 5, found: family });
    };
    let schema = FamilySchema::of(known);
    if schema_version != schema.schema_version {
        return Err(ObjectError::UnknownSchemaVersion { family: known, found: schema_version });
    }
    if flags != 0 {
        return Err(ObjectError::ReservedFlags { found: flags });
    }
    let (body_len, body_at) = read_uint(input, FIXED_LEN, input.len())?;
    check_size(body_at, body_len, limits)?;
    Ok((schema, body_at, body_len))
}

/// The header of a blob of `content_len` bytes, for writing content that streams past.
///
/// # Errors
/// `LimitExceeded` when the envelope would be too large.
pub fn blob_header(content_len: u64, limits: &Limits) -> Result<EnvelopeHeader, ObjectError> {
    EnvelopeHeader::new(Family::Blob, content_len, limits)
}

/// The blob that holds `content`.
///
/// # Errors
/// `LimitExceeded` when the envelope would be too large.
pub fn blob_envelope(content: &[u8], limits: &Limits) -> Result<Encoded, ObjectError> {
    let mut bytes = Vec::with_capacity(content.len().saturating_add(EnvelopeHeader::MAX_LEN));
    write_header(&mut bytes, Family::Blob, content.len() as u64);
    check_size(bytes.len(), content.len() as u64, limits)?;
    bytes.extend_from_slice(content);
    Ok(Encoded { id: Gid::of_envelope(Family::Blob, &bytes), bytes })
}

/// Names an object whose envelope arrives in pieces.
#[derive(Clone, Debug)]
pub struct EnvelopeHasher {
    family: Family,
    hasher: blake3::Hasher,
}

impl EnvelopeHasher {
    /// Starts with the bytes of `header`; the body follows through [`EnvelopeHasher::update`].
    pub fn new(header: &EnvelopeHeader) -> EnvelopeHasher {
        let mut hasher = blake3::Hasher::new();
        hasher.update(header.as_bytes());
        EnvelopeHasher { family: header.family(), hasher }
    }

    /// Adds the next bytes of the body. Long pieces hash faster than short ones.
    pub fn update(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
    }

    /// The identity. The length of what was added is the caller's to check.
    pub fn finish(&self) -> Gid {
        Gid::new(self.family, *self.hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_is_its_header_and_its_content() {
        let blob = blob_envelope(b"hi", &Limits::DEFAULT).unwrap();
        assert_eq!(blob.bytes, b"GEML\x01\x01\x01\x00\x02hi");
        let header = blob_header(2, &Limits::DEFAULT).unwrap();
        assert_eq!(header.as_bytes(), b"GEML\x01\x01\x01\x00\x02");
        assert_eq!(EnvelopeHeader::read(&blob.bytes, &Limits::DEFAULT), Ok(header.clone()));
        assert_eq!(header.envelope_len(), 11);
        let mut hasher = EnvelopeHasher::new(&header);
        hasher.update(b"h");
        hasher.update(b"i");
        assert_eq!(hasher.finish(), blob.id);
    }

    #[test]
    fn the_limit_counts_the_whole_envelope() {
        let limits = Limits { max_object_bytes: 11, ..Limits::DEFAULT };
        assert!(blob_envelope(b"hi", &limits).is_ok());
        assert_eq!(blob_envelope(b"hip", &limits).unwrap_err().name(), "LimitExceeded");
        assert_eq!(blob_header(3, &limits).unwrap_err().name(), "LimitExceeded");
        assert_eq!(blob_header(u64::MAX, &Limits::DEFAULT).unwrap_err().name(), "LimitExceeded");
    }
}
