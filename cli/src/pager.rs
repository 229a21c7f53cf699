//! Long text goes through the reader's pager.
//!
//! The text is complete before the pager starts and the process then becomes the pager, so an interrupt reaches
//! one program only and the terminal is never shared by two.

use crate::environment::Environment;
use std::ffi::{OsStr, OsString};
use std::io::{self, Seek, Write};
use std::process::Command;

/// Used when neither `GEMEL_PAGER` nor `PAGER` is set.
const DEFAULT: &str = "less -FRX";
/// What `less` needs to show colours and to leave short text on the screen, if its user has not said otherwise.
const LESS: &str = "FRX";
/// Characters that only a shell understands; words without them are started directly.
const SHELL_SYNTAX: &[char] =
    &['|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', '#', '~', '=', '%', '\n'];

/// Shows `text` through the pager and does not come back, unless there is none or it cannot be started.
///
/// # Errors
/// Those of the temporary file that carries the text.
pub(crate) fn show(environment: &Environment, text: &[u8]) -> io::Result<()> {
    let configured = environment.pager.clone().unwrap_or_else(|| OsString::from(DEFAULT));
    let Some(mut command) = command(&configured) else { return Ok(()) };
    let mut file = tempfile::tempfile()?;
    file.write_all(text)?;
    file.rewind()?;
    command.stdin(file);
    if !environment.less_is_configured {
        command.env("LESS", LESS);
    }
    become_pager(command);
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "the pager of the reader's own choice")]
fn command(configured: &OsStr) -> Option<Command> {
    let plain = configured.to_str().filter(|text| !text.contains(SHELL_SYNTAX));
    let Some(plain) = plain else {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(configured);
        return Some(shell);
    };
    let mut words = plain.split_whitespace();
    let program = words.next().filter(|program| *program != "cat")?;
    let mut command = Command::new(program);
    command.args(words);
    Some(command)
}

#[cfg(unix)]
fn become_pager(mut command: Command) {
    use std::os::unix::process::CommandExt;
    // Only a failure returns, and then the text is written without a pager.
    drop(command.exec());
}

#[cfg(not(unix))]
fn become_pager(mut command: Command) {
    if let Ok(status) = command.status() {
        std::process::exit(status.code().unwrap_or(0));
    }
}
