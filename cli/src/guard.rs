//! A defect must not look like an answer: a panic becomes an ordinary internal error with its place.

use crate::error::CliError;
use gemel_repo::Code;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::sync::{Mutex, PoisonError};

/// What the first panic of this process said, and where.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Runs `work`; a panic in it, or in a thread it waits for, is an `INTERNAL` refusal.
///
/// # Errors
/// Those of `work`.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, CliError>) -> Result<T, CliError> {
    set_hook(Box::new(remember));
    // Nothing that a panic could have left half done is looked at afterwards: the process reports and ends.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let said = FIRST.lock().unwrap_or_else(PoisonError::into_inner).take();
        let said = said.unwrap_or_else(|| "unknown".to_owned());
        Err(CliError::new(Code::Internal, format!("internal error: {said}; this is a defect in gemel")))
    })
}

fn remember(info: &PanicHookInfo<'_>) {
    let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
    let said = info.payload_as_str().unwrap_or("no message");
    let mut text = format!("{said}{place}");
    // Captured only when the usual variables ask for it.
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        text.push_str(&format!("\n{backtrace}"));
    }
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        let outcome = guarded(|| -> Result<(), CliError> { panic!("odd") });
        let Err(CliError::Refused(refusal)) = outcome else { panic!("a refusal was expected") };
        assert_eq!(refusal.code, Code::Internal);
        assert!(refusal.message.starts_with("internal error: odd (cli/src/guard.rs:"), "{}", refusal.message);
    }
}
