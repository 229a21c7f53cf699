//! Syntax of ref names (REF-01, SEC-05; threats T-06, T-23).
//!
//! Names are keys of a table, never paths of a disk, so characters that only a file system or Git minds are allowed:
//! whatever the published program accepts as a label is accepted here. Refused is what leaves or aliases a
//! namespace, and what changes how a line of text is read: control characters, separators of lines, and the
//! characters that reorder text.

use crate::{Result, StoreError};

/// Longest name, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 1024;

/// Most segments between slashes.
pub const MAX_NAME_SEGMENTS: usize = 256;

/// Names one segment after which further segments must follow: the namespace itself is no name.
const NAMESPACE_ROOTS: [&str; 12] = [
    "refs/state",
    "refs/names",
    "refs/trajectories",
    "refs/checkpoints",
    "refs/cases",
    "refs/releases",
    "refs/reconciliations",
    "refs/semantic",
    "refs/mappings",
    "refs/remotes",
    "refs/exchange",
    "refs/keep",
];

/// Checks that `name` is a valid ref name: `refs/…` or `local/…`, at most [`MAX_NAME_BYTES`] long, without empty,
/// `.` or `..` segments, backslashes, control or text-reordering characters.
///
/// # Errors
/// `InvalidRefName`.
pub fn check_name(name: &str) -> Result<()> {
    if is_valid(name) { Ok(()) } else { Err(StoreError::InvalidRefName { name: abbreviated(name) }) }
}

/// Whether [`check_name`] accepts `name`.
pub(crate) fn is_valid(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name.strip_prefix("refs/").or_else(|| name.strip_prefix("local/")).is_some()
        && name.split('/').count() <= MAX_NAME_SEGMENTS
        && name.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
        && !name.chars().any(is_refused)
        && !NAMESPACE_ROOTS.contains(&name)
}

fn is_refused(c: char) -> bool {
    c.is_control()
        || matches!(c, '\\' | '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Bounded copy for an error text.
pub(crate) fn abbreviated(name: &str) -> String {
    name.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::check_name;

    fn label(text: &str) -> bool {
        check_name(&format!("refs/names/{text}")).is_ok()
    }

    /// REF-01: the labels the published program takes are taken here.
    #[test]
    fn accepts_the_labels_of_the_published_program() {
        for text in [
            "a", "a/b", "a.lock", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a b", " a", "a ", "é", "a.b",
            ".a", "a.", "a..b", "@", "a@{b", "-a", "a\"b", "a<b>", "a|b", "日本", "🦀", "e\u{301}", "CON",
            "x/.lock",
        ] {
            assert!(label(text), "{text:?}");
        }
    }

    /// REF-01, SEC-05, T-06, T-23.
    #[test]
    fn refuses_what_leaves_or_aliases_a_namespace() {
        for text in [
            "",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/.",
            "./a",
            "a/../b",
            "../../../x",
            "a\\b",
            "a\tb",
            "a\nb",
            "a\0b",
            "a\u{7f}b",
            "a\u{85}b",
            "a\u{202e}b",
            "a\u{2066}b",
            "a\u{2028}b",
        ] {
            assert!(!label(text), "{text:?}");
        }
        for name in [
            "",
            "refs",
            "refs/",
            "/refs/head",
            "head",
            "Refs/head",
            "heads/x",
            "refs/names",
            "refs/state",
            "local",
            "local/",
            "local//x",
            "./refs/head",
            "REFS/head",
            "refs/remotes",
        ] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["refs/head", "refs/config", "refs/state/head", "local/counters/change", "refs/new/kind"]
        {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn bounds_length_and_depth() {
        assert!(label(&"a".repeat(1024 - 11)));
        assert!(!label(&"a".repeat(1024 - 10)));
        assert!(label(&format!("{}b", "a/".repeat(250))));
        assert!(!label(&format!("{}b", "a/".repeat(260))));
    }
}
