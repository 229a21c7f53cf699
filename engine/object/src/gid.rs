//! Identities: a family and the BLAKE3-256 of an envelope (object model, section 9).

use crate::Family;
use std::fmt;

/// Length of a binary identity: one family byte and 32 digest bytes.
pub const GID_LEN: usize = 33;

/// The identity of a canonical object. Ordered by family code, then digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gid([u8; GID_LEN]);

/// Text that is not an identity (ID-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedIdentity(pub String);

impl fmt::Display for MalformedIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed identity: {:?}", self.0)
    }
}

impl std::error::Error for MalformedIdentity {}

impl Gid {
    /// The identity of family `family` with digest `digest`.
    pub fn new(family: Family, digest: [u8; 32]) -> Gid {
        let mut bytes = [0; GID_LEN];
        bytes[0] = family.code();
        bytes[1..].copy_from_slice(&digest);
        Gid(bytes)
    }

    /// Hashes a whole envelope of family `family` (ID-01). The envelope is not validated.
    pub fn of_envelope(family: Family, envelope: &[u8]) -> Gid {
        Gid::new(family, *blake3::hash(envelope).as_bytes())
    }

    /// Reads the binary form; `None` when the family code is unknown.
    pub fn from_bytes(bytes: &[u8; GID_LEN]) -> Option<Gid> {
        Family::from_code(bytes[0]).map(|_| Gid(*bytes))
    }

    /// The binary form: family code, then digest.
    pub fn as_bytes(&self) -> &[u8; GID_LEN] {
        &self.0
    }

    /// The family.
    pub fn family(&self) -> Family {
        // The constructors admit known codes only.
        Family::from_code(self.0[0]).unwrap_or(Family::Blob)
    }

    /// The 32 digest bytes.
    pub fn digest(&self) -> &[u8] {
        &self.0[1..]
    }

    /// Parses `<family>.<64 lowercase hex digits>`, nothing before or after.
    ///
    /// # Errors
    /// [`MalformedIdentity`] on any other text (ID-04).
    pub fn parse(text: &str) -> Result<Gid, MalformedIdentity> {
        let malformed = || MalformedIdentity(text.chars().take(120).collect());
        let (name, hex) = text.split_once('.').ok_or_else(malformed)?;
        let family = Family::from_name(name).ok_or_else(malformed)?;
        if hex.len() != 64 {
            return Err(malformed());
        }
        let mut digest = [0u8; 32];
        for (byte, pair) in digest.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            *byte = nibble(pair[0]).zip(nibble(pair[1])).map(|(h, l)| h << 4 | l).ok_or_else(malformed)?;
        }
        Ok(Gid::new(family, digest))
    }
}

fn nibble(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family().name())?;
        f.write_str(".")?;
        self.digest().iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
