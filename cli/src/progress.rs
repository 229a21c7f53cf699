//! Progress of long work on a terminal.

use gemel_repo::facts::{Progress, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work shorter than this shows nothing.
const DELAY: Duration = Duration::from_millis(300);

/// A bar on standard error that appears once the work has taken a while and leaves nothing behind.
pub(crate) struct Bar {
    started: Instant,
    bar: Mutex<Option<ProgressBar>>,
}

impl Bar {
    /// A bar that counts its delay from now.
    pub(crate) fn new() -> Bar {
        Bar { started: Instant::now(), bar: Mutex::new(None) }
    }

    fn with(&self, act: impl FnOnce(&mut Option<ProgressBar>)) {
        act(&mut self.bar.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Progress for Bar {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        // Drawn only by `advance`, and only after the delay.
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let template = match total {
            Some(_) => "{msg} {wide_bar} {human_pos}/{human_len} {eta}",
            None => "{msg} {spinner} {human_pos}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(word(stage));
        self.with(|slot| *slot = Some(bar));
    }

    fn advance(&self, units: u64) {
        self.with(|slot| {
            let Some(bar) = slot else { return };
            if bar.is_hidden() && self.started.elapsed() >= DELAY {
                bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            }
            bar.inc(units);
        });
    }

    fn end(&self) {
        self.with(|slot| {
            if let Some(bar) = slot.take() {
                bar.finish_and_clear();
            }
        });
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.end();
    }
}

fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Capture => "reading files",
        Stage::Checkout => "writing files",
        Stage::Verify => "verifying objects",
        Stage::Reach => "following references",
    }
}
