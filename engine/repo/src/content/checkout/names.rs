//! Names that are never written to a worktree: repository metadata, plain or disguised (T-26).
//!
//! File systems take many names for one. What any of those in use would take for `.git` or `.gemel` is refused on all
//! of them, so that a state means the same everywhere.

/// Code points that HFS+ leaves out when it compares names.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// Whether some file system takes `name` for `.git` or `.gemel`: other case, ignorable code points, dots and spaces at
/// the end, a stream behind a colon, the short form NTFS gives it.
pub(crate) fn is_metadata_name(name: &str) -> bool {
    // Nearly every name is plain and begins otherwise.
    if name.is_ascii() && !name.starts_with(['.', 'g', 'G']) {
        return false;
    }
    let base = name.split(':').next().unwrap_or_default();
    let shown: String = base.chars().filter(|&c| !is_ignorable(c)).map(|c| c.to_ascii_lowercase()).collect();
    let shown = shown.trim_end_matches(['.', ' ']);
    matches!(shown, ".git" | ".gemel" | "git~1" | "gemel~1")
}

/// Whether Windows cannot hold a file called `name`: a device, whatever its extension, or characters with a meaning.
pub(crate) fn is_reserved_on_windows(name: &str) -> bool {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
    let base = name.split('.').next().unwrap_or_default().trim_end_matches(' ').to_ascii_lowercase();
    let numbered = ["com", "lpt"].iter().filter_map(|device| base.strip_prefix(device)).any(|rest| {
        let mut chars = rest.chars();
        matches!((chars.next(), chars.next()), (Some('1'..='9' | '¹' | '²' | '³'), None))
    });
    DEVICES.contains(&base.as_str())
        || numbered
        || name.ends_with(['.', ' '])
        || name.contains(|c: char| {
            c.is_ascii_control() || matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*' | '\\')
        })
}

/// The part of `path` up to its first component that must not be written here.
pub(crate) fn unsafe_part(path: &str) -> Option<&str> {
    let mut end = 0;
    for name in path.split('/') {
        end += name.len();
        if is_metadata_name(name) || (cfg!(windows) && is_reserved_on_windows(name)) {
            return path.get(..end);
        }
        end += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises() {
        for name in [
            ".git",
            ".GIT",
            ".gIt",
            ".git.",
            ".git ",
            ".git. .",
            "git~1",
            "GIT~1",
            ".gemel",
            ".Gemel",
            "GEMEL~1",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".gi\u{206f}t",
            ".gemel\u{202e} .",
        ] {
            assert!(is_metadata_name(name), "{name:?}");
        }
        for name in [
            "git",
            ".gitignore",
            ".gitmodules",
            ".gi",
            "git~2",
            "..git",
            ".gemela",
            "x.git",
            ".gît",
            "a:.git",
        ] {
            assert!(!is_metadata_name(name), "{name:?}");
        }
        assert_eq!(unsafe_part("a/b/.GIT/hooks/x"), Some("a/b/.GIT"));
        assert_eq!(unsafe_part("git~1"), Some("git~1"));
        assert_eq!(unsafe_part("a/b/c"), None);
    }

    #[test]
    fn devices() {
        for name in ["CON", "con.txt", "Com1", "lpt9.x.y", "nul ", "a.", "a ", "a?b", "x:y"] {
            assert!(is_reserved_on_windows(name), "{name:?}");
        }
        for name in ["console", "com", "com10", "com0", "a b", "aux_"] {
            assert!(!is_reserved_on_windows(name), "{name:?}");
        }
    }
}
