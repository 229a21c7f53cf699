//! Changes to an existing corpus: what a person or an agent does between two snapshots.

use super::draw::Draw;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What an edit run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// Files with lines or bytes replaced.
    pub changed: u64,
    /// Files with text added at the end.
    pub appended: u64,
    /// New files.
    pub created: u64,
    /// Files removed.
    pub removed: u64,
}

/// Edits `count` different files below `dir` (fewer if there are fewer), chosen and changed by `seed`. The folders
/// `.git` and `.gemel`, links and ignored output are left alone.
///
/// # Errors
/// Any error of the disk.
pub fn edit(dir: &Path, count: usize, seed: u64) -> io::Result<Edits> {
    let mut files = Vec::new();
    collect(dir, &mut files)?;
    files.sort();
    let mut rng = Draw::of(seed, 20);
    let mut done = Edits::default();
    for _ in 0..count.min(files.len()) {
        let at = rng.below(files.len());
        let path = files.swap_remove(at);
        edit_one(&path, &mut rng, &mut done)?;
    }
    Ok(done)
}

fn collect(root: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if ![".git", ".gemel", "dist", "build"].iter().any(|skipped| name == *skipped) {
                    folders.push(entry.path());
                }
            } else if kind.is_file() && name != ".gitignore" {
                files.push(entry.path());
            }
        }
    }
    Ok(())
}

fn edit_one(path: &Path, rng: &mut Draw, done: &mut Edits) -> io::Result<()> {
    let mark = format!("edit_{:08x}", rng.word() >> 32);
    let line = format!("    // {mark}: revised in passing\n");
    match rng.below(100) {
        0..6 => {
            done.created += 1;
            fs::write(path.with_file_name(format!("{mark}.txt")), line.repeat(1 + rng.below(40)))
        }
        6..10 => {
            done.removed += 1;
            fs::remove_file(path)
        }
        10..25 => {
            done.appended += 1;
            let mut bytes = fs::read(path)?;
            bytes.extend_from_slice(line.as_bytes());
            fs::write(path, bytes)
        }
        _ => {
            done.changed += 1;
            let bytes = fs::read(path)?;
            fs::write(path, replaced(&bytes, &line, rng))
        }
    }
}

/// Puts `line` in the place of a line, or at the end of a file that has none.
fn replaced(bytes: &[u8], line: &str, rng: &mut Draw) -> Vec<u8> {
    let line_after =
        |at: usize| bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n + 1);
    let from = line_after(rng.below(bytes.len()));
    let to = line_after(from);
    let mut out = bytes[..from].to_vec();
    out.extend_from_slice(line.as_bytes());
    out.extend_from_slice(&bytes[to..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_line_leaves_the_others() {
        let out = replaced(b"one\ntwo\nthree\n", "new\n", &mut Draw::new(1));
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("new\n"));
        assert!(text.lines().filter(|l| ["one", "two", "three"].contains(l)).count() >= 2);
        assert_eq!(replaced(b"", "new\n", &mut Draw::new(1)), b"new\n");
    }
}
