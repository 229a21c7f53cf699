//! Files that a command is given to read: a path or `-` for standard input, bounded.

use crate::app::Context;
use crate::error::CliError;
use gemel_repo::{Code, RepoError};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The bytes of `path`, of standard input when it is `-`.
///
/// # Errors
/// `NOT_FOUND` without such a file, `LIMIT_EXCEEDED` beyond `limit` bytes, `INVALID_ARGUMENT` for a folder, `INTERNAL`
/// when it cannot be read.
pub(crate) fn read(context: &Context<'_>, path: &Path, limit: u64) -> Result<Vec<u8>, CliError> {
    if path.as_os_str() == "-" {
        if let Some(given) = &context.input {
            return bounded(given.as_slice(), "the document", limit);
        }
        return bounded(io::stdin().lock(), "standard input", limit);
    }
    let shown = path.display().to_string();
    let file = File::open(context.absolute(path)?).map_err(|error| failed(&shown, &error))?;
    if file.metadata().map_err(|error| failed(&shown, &error))?.is_dir() {
        return Err(CliError::invalid(format!("{shown} is a folder")));
    }
    bounded(file, &shown, limit)
}

fn bounded(source: impl Read, shown: &str, limit: u64) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    // One more tells that there is more.
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| failed(shown, &error))?;
    let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if found > limit {
        let what = format!("bytes of {shown}, read so far");
        return Err(RepoError::Limit { what, found, limit }.into());
    }
    Ok(bytes)
}

fn failed(shown: &str, error: &io::Error) -> CliError {
    CliError::new(Code::of_path(error.kind()), format!("cannot read {shown}: {error}"))
}
