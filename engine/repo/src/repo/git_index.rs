//! Whether the enclosing Git repository tracks files of the store (threat T-31).
//!
//! A store that came out of a Git checkout is somebody else's: its policy, allowlist and refs must not be taken
//! over. Only the paths of Git's index are read, in order, up to the place where `.gemel/` would stand. An index
//! that does not read is Git's problem and tracks nothing here.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Longest path accepted from an index.
const MAX_PATH_BYTES: usize = 64 << 10;

/// Longest name that flags tell.
const MAX_LENGTH: u16 = 0xFFF;

/// Most entries looked at.
const MAX_ENTRIES: u32 = 100_000_000;

/// Names in a store that this release or an earlier one reads or writes. What else a history happens to keep there is
/// never looked at.
const STORE_NAMES: [&str; 16] = [
    "cache",
    "court.allowlist",
    "exchange-state",
    "index",
    "init",
    "journal",
    "legacy-0.12",
    "lock",
    "meta.json",
    "migrating",
    "objects",
    "packs",
    "refdb",
    "refs",
    "remotes.json",
    "worktrees",
];

/// Ends of the names of files beside those.
const STORE_SUFFIXES: [&str; 4] = [".pack", ".idx", ".new", ".json"];

/// Whether a path below the store is one of the store's own; file systems may not tell letter cases apart. Exchange
/// material is for everybody, but a link in its place is not.
fn is_store_file(below: &[u8]) -> bool {
    let top = below.split(|byte| *byte == b'/').next().unwrap_or_default();
    let top = String::from_utf8_lossy(top).to_ascii_lowercase();
    STORE_NAMES.contains(&top.as_str())
        || STORE_SUFFIXES.iter().any(|suffix| top.ends_with(suffix))
        || below.eq_ignore_ascii_case(b"exchange")
}

/// The first tracked path that makes the store `dir`: the directory itself, as a link or a submodule, a file of the store
/// in it, or a link in the place of `.gitignore` or `exchange/`. Where a link leads to the store, both places are looked at.
pub(super) fn tracked_store_file(dir: &Path) -> Option<String> {
    let real = dir.canonicalize().ok().filter(|real| real != dir);
    std::iter::once(dir.to_owned()).chain(real).find_map(|dir| tracked_at(&dir))
}

/// The first tracked path that makes `dir`.
fn tracked_at(dir: &Path) -> Option<String> {
    let (top, git_dir) = dir.ancestors().skip(1).find_map(|top| git_dir(top).map(|git| (top, git)))?;
    let relative = dir.strip_prefix(top).ok()?;
    let mut prefix = Vec::new();
    for part in relative.components() {
        prefix.extend_from_slice(part.as_os_str().as_encoded_bytes());
        prefix.push(b'/');
    }
    // With `core.splitIndex` most entries live in shared files beside the index.
    let shared = std::fs::read_dir(&git_dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let shared = shared
        .filter(|path| path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"sharedindex.")));
    std::iter::once(git_dir.join("index")).chain(shared).find_map(|path| search(&path, &prefix))
}

/// The Git directory that makes `dir` the top of a Git worktree.
fn git_dir(dir: &Path) -> Option<PathBuf> {
    let path = dir.join(".git");
    let kind = std::fs::metadata(&path).ok()?;
    if kind.is_dir() {
        return Some(path);
    }
    let mut text = String::new();
    open_regular(&path)?.take(4096).read_to_string(&mut text).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    Some(dir.join(target))
}

/// Opens a regular file; anything else that stands there is not waited for.
fn open_regular(path: &Path) -> Option<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).ok()?);
    }
    let file = options.open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

fn search(index: &Path, prefix: &[u8]) -> Option<String> {
    // Object names are 20 bytes long, or 32 with SHA-256; nothing in the file says which.
    [20, 32].into_iter().find_map(|oid_len| {
        let file = BufReader::with_capacity(64 << 10, open_regular(index)?);
        first_below(file, oid_len, prefix)
    })?
}

/// `None` when the bytes are no index with names of this length; else the first offending path, if any: the one that is
/// `prefix` without its last byte, a slash, or one that begins with it.
fn first_below(mut input: impl BufRead, oid_len: usize, prefix: &[u8]) -> Option<Option<String>> {
    let mut header = [0; 12];
    input.read_exact(&mut header).ok()?;
    let word = |at: usize| header.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    let (version, count) = (word(4)?, word(8)?);
    if !header.starts_with(b"DIRC") || !(2..=4).contains(&version) || count > MAX_ENTRIES {
        return None;
    }
    let mut name = Vec::new();
    for _ in 0..count {
        read_entry(&mut input, oid_len, version, &mut name)?;
        if prefix.strip_suffix(b"/") == Some(name.as_slice()) {
            return Some(Some(String::from_utf8_lossy(&name).into_owned()));
        }
        if let Some(below) = name.strip_prefix(prefix) {
            if is_store_file(below) {
                return Some(Some(String::from_utf8_lossy(&name).into_owned()));
            }
        } else if name.as_slice() > prefix {
            return Some(None);
        }
    }
    Some(None)
}

/// Reads one entry; `name` holds the previous path and then this one.
fn read_entry(input: &mut impl BufRead, oid_len: usize, version: u32, name: &mut Vec<u8>) -> Option<()> {
    let mut stat = [0; 40];
    let mut oid_and_flags = [0; 34];
    let rest = oid_and_flags.get_mut(..oid_len + 2)?;
    input.read_exact(&mut stat).ok()?;
    input.read_exact(rest).ok()?;
    let mode = u32::from_be_bytes([stat[24], stat[25], stat[26], stat[27]]);
    if !matches!(mode, 0o100_644 | 0o100_755 | 0o120_000 | 0o160_000 | 0o040_000) {
        return None;
    }
    let mut fixed = 40 + oid_len + 2;
    let flags = u16::from_be_bytes([*rest.get(oid_len)?, *rest.get(oid_len + 1)?]);
    let extended = flags & 0x4000 != 0;
    if extended {
        input.read_exact(&mut [0; 2]).ok()?;
        fixed += 2;
    }
    if version == 4 {
        let strip = read_offset(input)?;
        name.truncate(name.len().checked_sub(strip)?);
        read_text(input, name)?;
        return has_length(flags, name);
    }
    name.clear();
    read_text(input, name)?;
    has_length(flags, name)?;
    // Padded with NULs to a multiple of eight, one NUL at least; that one is read.
    let padding = 8 - (fixed + name.len()) % 8 - 1;
    input.read_exact(&mut [0; 8][..padding]).ok()
}

/// Whether the flags tell the length of the name, as far as they can.
fn has_length(flags: u16, name: &[u8]) -> Option<()> {
    (usize::from(flags & MAX_LENGTH) == name.len().min(usize::from(MAX_LENGTH))).then_some(())
}

/// Appends bytes up to a NUL.
fn read_text(input: &mut impl BufRead, name: &mut Vec<u8>) -> Option<()> {
    let room = u64::try_from(MAX_PATH_BYTES.checked_sub(name.len())?).ok()?;
    input.by_ref().take(room).read_until(0, name).ok()?;
    (name.pop()? == 0 && !name.is_empty()).then_some(())
}

/// The variable-width integer of version 4.
fn read_offset(input: &mut impl Read) -> Option<usize> {
    let mut byte = [0];
    input.read_exact(&mut byte).ok()?;
    let mut value = usize::from(byte[0] & 0x7F);
    while byte[0] & 0x80 != 0 {
        input.read_exact(&mut byte).ok()?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte[0] & 0x7F))?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(version: u32, oid_len: usize, paths: &[&str]) -> Vec<u8> {
        let mut out = b"DIRC".to_vec();
        out.extend(version.to_be_bytes());
        out.extend(u32::try_from(paths.len()).unwrap().to_be_bytes());
        let mut previous = "";
        for path in paths {
            let start = out.len();
            out.extend([0; 24]);
            out.extend(0o100_644u32.to_be_bytes());
            out.extend([0; 12]);
            out.extend(vec![7; oid_len]);
            out.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
            if version == 4 {
                let shared = previous.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
                out.push(u8::try_from(previous.len() - shared).unwrap());
                out.extend(&path.as_bytes()[shared..]);
                out.push(0);
                previous = path;
            } else {
                out.extend(path.as_bytes());
                out.push(0);
                while !(out.len() - start).is_multiple_of(8) {
                    out.push(0);
                }
            }
        }
        out.extend([0; 20]);
        out
    }

    fn check(paths: &[&str], prefix: &str, expected: Option<&str>) {
        for (version, oid_len) in [(2, 20), (3, 20), (4, 20), (2, 32), (4, 32)] {
            let bytes = index(version, oid_len, paths);
            let found = first_below(bytes.as_slice(), oid_len, prefix.as_bytes());
            assert_eq!(found, Some(expected.map(str::to_owned)), "{paths:?} {version} {oid_len}");
            for cut in 0..bytes.len() {
                let _ = first_below(&bytes[..cut], oid_len, prefix.as_bytes());
            }
        }
    }

    /// T-31
    #[test]
    fn finds_files_of_the_store_and_nothing_else() {
        check(&[], ".gemel/", None);
        check(
            &[".gemel-x", ".gemel/.gitignore", ".gemel/exchange/a", "a", "b/.gemel/meta.json"],
            ".gemel/",
            None,
        );
        check(&[".a", ".gemel-x", ".gemel/meta.json", "z"], ".gemel/", Some(".gemel/meta.json"));
        check(&[".gemel/.gitignore", ".gemel/court.allowlist"], ".gemel/", Some(".gemel/court.allowlist"));
        check(&["a", "b/.gemel/packs/x", "c"], "b/.gemel/", Some("b/.gemel/packs/x"));
        check(&["a", "b/.gemel/packs/x", "c"], "c/.gemel/", None);
        check(&[".gemel", ".gemel-x"], ".gemel/", Some(".gemel"));
        check(&["a/.gemel", "b"], "a/.gemel/", Some("a/.gemel"));
        check(&[".gemel/exchange"], ".gemel/", Some(".gemel/exchange"));
        check(&[".gemel/Packs/x"], ".gemel/", Some(".gemel/Packs/x"));
        check(&[".gemel/00000001.pack"], ".gemel/", Some(".gemel/00000001.pack"));
        // Nothing of a store.
        check(&[".gemel/notes/meta.json", ".gemel/q"], ".gemel/", None);
    }

    #[test]
    fn other_bytes_are_no_index() {
        assert_eq!(first_below(b"DIRC".as_slice(), 20, b".gemel/"), None);
        assert_eq!(first_below([0xFF; 4096].as_slice(), 20, b".gemel/"), None);
        let sha256 = index(2, 32, &["a", ".b"]);
        assert_eq!(first_below(sha256.as_slice(), 20, b".gemel/"), None);
    }
}
