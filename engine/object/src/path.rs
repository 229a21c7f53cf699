//! Paths and tree names (object model, section 8).

/// Whether `bytes` is a canonical path: segments joined by single slashes, none of them `.` or `..`, no backslash
/// and no NUL (ENC-23).
pub fn is_canonical_path(bytes: &[u8]) -> bool {
    bytes.split(|&b| b == b'/').all(is_path_segment)
}

/// Whether `bytes` may name a tree entry: one segment of a canonical path (FAM-04).
#[inline]
pub fn is_path_segment(bytes: &[u8]) -> bool {
    // Without an early exit the loop runs on whole words; names are short and nearly always good.
    let forbidden = bytes.iter().fold(false, |found, b| found | matches!(b, b'/' | b'\\' | 0));
    !forbidden && !matches!(bytes, b"" | b"." | b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_and_paths() {
        for good in ["a", "...", ".a", "a.", "a b", "a:b", "~", "\u{7f}", ".git", " "] {
            assert!(is_path_segment(good.as_bytes()), "{good:?}");
            assert!(is_canonical_path(good.as_bytes()), "{good:?}");
        }
        assert!(is_canonical_path(b"a/b/c"));
        assert!(!is_path_segment(b"a/b"));
        for bad in ["", ".", "..", "/", "/a", "a/", "a//b", "a/./b", "../a", "a\\b", "a\0"] {
            assert!(!is_canonical_path(bad.as_bytes()), "{bad:?}");
        }
    }
}
