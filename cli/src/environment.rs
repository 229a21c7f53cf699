//! What the process was given: arguments, variables, clock, terminals. Read once, here and nowhere else.

use crate::error::CliError;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the variable that pins the clock, milliseconds since 1970.
const TIME_VARIABLE: &str = "GEMEL_TIME_MS";

/// Everything outside the repository that may influence an answer or its looks.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// Program name and arguments.
    pub(crate) args: Vec<OsString>,
    /// Standard output is a terminal.
    pub(crate) stdout_is_terminal: bool,
    /// Standard error is a terminal.
    pub(crate) stderr_is_terminal: bool,
    /// `NO_COLOR` is set and not empty, or the terminal says it is dumb.
    pub(crate) no_color: bool,
    /// `GEMEL_PAGER`, else `PAGER`.
    pub(crate) pager: Option<OsString>,
    /// `LESS` is set, so its user has chosen how it behaves.
    pub(crate) less_is_configured: bool,
    /// Where programs are looked for.
    pub(crate) path: Option<OsString>,
    /// The directory the command was started in, if it still exists.
    pub(crate) current_dir: Option<PathBuf>,
    time: Option<OsString>,
}

impl Environment {
    /// Reads the process environment.
    pub(crate) fn read() -> Environment {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Environment {
            args: std::env::args_os().collect(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            no_color: set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb"),
            // An empty GEMEL_PAGER is a choice too: no pager.
            pager: std::env::var_os("GEMEL_PAGER").or_else(|| std::env::var_os("PAGER")),
            less_is_configured: std::env::var_os("LESS").is_some(),
            path: std::env::var_os("PATH"),
            current_dir: std::env::current_dir().ok(),
            time: std::env::var_os(TIME_VARIABLE),
        }
    }

    /// The one clock reading of this command, in milliseconds since 1970: the pinned value, else the system's.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the variable is set to anything but a whole number of milliseconds.
    pub(crate) fn now_ms(&self) -> Result<i64, CliError> {
        match &self.time {
            Some(text) => pinned(text.to_str()).ok_or_else(|| {
                CliError::invalid(format!(
                    "invalid {TIME_VARIABLE}: {text:?} (expected milliseconds since 1970 as a decimal number)"
                ))
            }),
            None => Ok(system_ms()),
        }
    }
}

fn pinned(text: Option<&str>) -> Option<i64> {
    text.filter(|t| t.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

#[allow(clippy::disallowed_methods, reason = "the one place that reads the clock")]
fn system_ms() -> i64 {
    // A clock before 1970 or beyond the range of i64 is broken; zero says "unknown" everywhere else, too.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_millis()).ok())
        .unwrap_or(0)
}
