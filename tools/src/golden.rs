//! `gemel-tools golden`: makes the golden objects anew from their descriptions and compares them with the pinned
//! bytes. Pinned files are written once and never again: `--write` adds those that are absent.

use crate::program::ROOT;
use crate::{conformance, vectors};
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Arguments of the tool.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the pinned objects, instead of this checkout's
    #[arg(long, default_value_os_t = Path::new(ROOT).join("golden"))]
    pub dir: PathBuf,
    /// Write the files that are absent
    #[arg(long)]
    pub write: bool,
}

/// Compares, writes what is absent if asked to, and prints what differs. Whether all is as pinned.
///
/// # Errors
/// When a file cannot be read or written.
pub fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let mut out = io::stdout().lock();
    let written = if args.write { add_absent(&args.dir.join("object"))? } else { Vec::new() };
    for path in &written {
        writeln!(out, "wrote {}", path.display())?;
    }
    let mut passed = 0;
    let mut failures = Vec::new();
    for folder in ["object", "negative"] {
        let report = conformance::check(&args.dir.join(folder))?;
        passed += report.passed;
        failures.extend(report.failures);
    }
    for failure in &failures {
        writeln!(out, "{failure}")?;
    }
    writeln!(out, "{passed} as pinned, {} not, {} files written", failures.len(), written.len())?;
    Ok(failures.is_empty())
}

/// Writes the envelope and identity of every described vector that has none; the files written.
fn add_absent(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut written = Vec::new();
    for vector in vectors::manifest(&folder.join("manifest.json"))? {
        let built = vector.encode().map_err(|error| format!("{}: {error}", vector.name))?;
        let files = [
            (vectors::envelope_file(folder, &vector.name), vectors::hex(&built.bytes)),
            (vectors::identity_file(folder, &vector.name), built.id.to_string()),
        ];
        for (path, content) in files {
            match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => writeln!(file, "{content}")?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error.into()),
            }
            written.push(path);
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_files_come_out_as_pinned_and_present_ones_stay() {
        let pinned = Path::new(ROOT).join("golden/object");
        let dir = tempfile::tempdir().unwrap();
        fs::copy(pinned.join("manifest.json"), dir.path().join("manifest.json")).unwrap();
        fs::write(dir.path().join("blob-hello.id"), "kept\n").unwrap();
        assert_eq!(add_absent(dir.path()).unwrap().len(), 2 * 47 - 1);
        assert_eq!(fs::read(dir.path().join("blob-hello.id")).unwrap(), b"kept\n");
        for (name, content) in vectors::envelopes(&pinned).unwrap() {
            let again = vectors::envelopes(dir.path()).unwrap();
            assert_eq!(again.get(&name).map(|found| &found.0), Some(&content.0), "{name}");
        }
        assert_eq!(add_absent(dir.path()).unwrap(), Vec::<PathBuf>::new());
    }
}
