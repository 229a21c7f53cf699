//! A believable monorepo out of a seed: the input of the benches, the same on every machine.
//!
//! Packages with nested folders, log-normal sizes, a vocabulary shared by all files, licence headers repeated, copies
//! with small changes, binaries, links, executables and ignore files.

mod draw;
mod edit;
mod history;
mod layout;
mod text;
mod words;

pub use draw::Draw;
pub use edit::{Edits, edit};
pub use history::{HistoryError, HistoryReport, record};

use layout::{Entry, What};
use rayon::prelude::*;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use words::Words;

/// What a generated corpus holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files and links.
    pub files: u64,
    /// Folders below the corpus itself.
    pub folders: u64,
    /// Bytes in all files.
    pub bytes: u64,
}

/// Writes `files` files and links into `dir`, which is created and should be empty. A few more files are written that
/// the corpus's own ignore rules hide.
///
/// # Errors
/// Any error of the disk.
pub fn generate(dir: &Path, files: usize, seed: u64) -> io::Result<Report> {
    let words = Words::new(seed);
    let entries = layout::plan(files, seed, &words);
    let folders: BTreeSet<&str> =
        entries.iter().flat_map(|e| e.path.match_indices('/').map(|(at, _)| &e.path[..at])).collect();
    fs::create_dir_all(dir)?;
    for folder in &folders {
        fs::create_dir_all(dir.join(folder))?;
    }
    let bytes = entries.par_iter().map(|e| write(dir, e, &words)).try_reduce(|| 0, |a, b| Ok(a + b))?;
    Ok(Report { files: entries.len() as u64, folders: folders.len() as u64, bytes })
}

/// The texts of a corpus of `files` files, each in two versions of which the second is a lightly changed copy.
pub fn versions(files: usize, seed: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let words = Words::new(seed);
    let two = |entry: Entry| match entry.what {
        What::Text { file, .. } => {
            let later = text::TextFile { variant: file.variant ^ 0x5DEE_CE66, ..file };
            Some((text::text(&file, &words), text::text(&later, &words)))
        }
        _ => None,
    };
    layout::plan(files, seed, &words).into_iter().filter_map(two).collect()
}

fn write(dir: &Path, entry: &Entry, words: &Words) -> io::Result<u64> {
    let path = dir.join(&entry.path);
    let bytes = match &entry.what {
        What::Text { file, .. } => text::text(file, words),
        What::Fixed(text) => text.clone().into_bytes(),
        What::Binary { size_bytes, seed, dense } => binary(*size_bytes, *seed, *dense),
        What::Link(target) => {
            make_link(Path::new(target), &path)?;
            return Ok(0);
        }
    };
    fs::write(&path, &bytes)?;
    if matches!(entry.what, What::Text { executable: true, .. }) {
        make_executable(&path)?;
    }
    Ok(bytes.len() as u64)
}

/// Random bytes after a short header, or records of which only some fields are random.
fn binary(size_bytes: usize, seed: u64, dense: bool) -> Vec<u8> {
    let mut rng = Draw::new(seed);
    let mut out = Vec::with_capacity(size_bytes + 16);
    out.extend_from_slice(if dense { b"\x89PNG\r\n\x1a\n" } else { b"\0asm\x01\0\0\0" });
    while out.len() < size_bytes {
        if dense {
            out.extend_from_slice(&rng.word().to_le_bytes());
        } else {
            let record = rng.below(4096).to_le_bytes();
            out.extend_from_slice(&record);
            out.extend_from_slice(&[0, 0x41, 0x20, 0, 0x6A, 0x0B, 0, 0]);
        }
    }
    out.truncate(size_bytes);
    out
}

/// Makes a symbolic link at `path`; fine if something is there. Where links are a privilege, a file with the target in
/// it stands for the link, as git does it.
///
/// # Errors
/// Any error of the disk.
pub fn make_link(target: &Path, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    let made = std::os::unix::fs::symlink(target, path);
    #[cfg(not(unix))]
    let made = fs::write(path, target.as_os_str().as_encoded_bytes());
    match made {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hasher;

    /// FNV-1a over paths and contents: a number that tells whether two corpora are the same.
    fn fingerprint(files: usize, seed: u64) -> u64 {
        struct Fnv(u64);
        impl Hasher for Fnv {
            fn write(&mut self, bytes: &[u8]) {
                for byte in bytes {
                    self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
                }
            }
            fn finish(&self) -> u64 {
                self.0
            }
        }
        let words = Words::new(seed);
        let mut hash = Fnv(0xCBF2_9CE4_8422_2325);
        for entry in layout::plan(files, seed, &words) {
            hash.write(entry.path.as_bytes());
            match &entry.what {
                What::Text { file, .. } => hash.write(&text::text(file, &words)),
                What::Fixed(text) | What::Link(text) => hash.write(text.as_bytes()),
                What::Binary { size_bytes, seed, dense } => hash.write(&binary(*size_bytes, *seed, *dense)),
            }
        }
        hash.finish()
    }

    #[test]
    fn the_same_seed_gives_the_same_corpus_on_every_machine() {
        assert_eq!(fingerprint(300, 1), 0x0DAF_0803_D5E7_94C4);
        assert_ne!(fingerprint(300, 1), fingerprint(300, 2));
    }

    #[test]
    fn a_plan_has_the_number_asked_for_and_no_path_twice() {
        let words = Words::new(4);
        for files in [1, 2, 7, 500, 5000] {
            let plan = layout::plan(files, 4, &words);
            let paths: BTreeSet<&str> = plan.iter().map(|e| e.path.as_str()).collect();
            assert_eq!(paths.len(), plan.len());
            assert!(
                plan.len() >= files && plan.len() <= files + files / 100 + 1,
                "{} for {files}",
                plan.len()
            );
        }
    }

    #[test]
    fn sizes_follow_the_plan_of_a_monorepo() {
        let words = Words::new(11);
        let plan = layout::plan(30_000, 11, &words);
        let sizes: Vec<usize> = plan
            .iter()
            .filter_map(|e| match &e.what {
                What::Text { file, .. } => Some(file.size_bytes),
                What::Binary { size_bytes, .. } => Some(*size_bytes),
                What::Fixed(text) => Some(text.len()),
                What::Link(_) => None,
            })
            .collect();
        let mean = sizes.iter().sum::<usize>() / sizes.len();
        assert!((8000..9000).contains(&mean), "mean {mean}");
    }
}
