//! Identities for people: as few digits as tell them apart here.

use gemel_object::Gid;
use gemel_repo::Repo;

/// Digits shown at least; what a bare prefix must have to be accepted as an argument.
const MIN_DIGITS: usize = 8;
/// Digits of an identity.
const ALL_DIGITS: usize = 64;

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The shortest prefix of at least eight digits that names `id` alone in `repo`; all digits when in doubt.
pub(crate) fn short(repo: Option<&Repo>, id: &Gid) -> String {
    let mut digits = hex(id.digest());
    let Some(repo) = repo else {
        digits.truncate(MIN_DIGITS);
        return digits;
    };
    let unique = |length: &usize| {
        let prefix = digits.get(..*length).unwrap_or(&digits);
        repo.store().matching(None, prefix, 2).is_ok_and(|found| found.len() < 2)
    };
    let length = (MIN_DIGITS..ALL_DIGITS).find(unique).unwrap_or(ALL_DIGITS);
    digits.truncate(length);
    digits
}
