//! Progress of long work on a terminal.

use gemel_repo::facts::{Progress, Stage};
use gemel_store::legacy::{self, Step};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Work shorter than this shows nothing.
const DELAY: Duration = Duration::from_millis(300);

/// A bar on standard error that appears once the work has taken a while and leaves nothing behind.
pub(crate) struct Bar {
    started: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bar: Option<ProgressBar>,
    step: Option<Step>,
}

impl Bar {
    /// A bar that counts its delay from now.
    pub(crate) fn new() -> Bar {
        Bar { started: Instant::now(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stage begins; it is drawn only by a later step, and only after the delay.
    fn start(&self, state: &mut State, words: &'static str, total: Option<u64>) {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let template = match total {
            Some(_) => "{msg} {bar:30} {human_pos}/{human_len} {eta}",
            None => "{msg} {spinner} {human_pos}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(words);
        if let Some(previous) = state.bar.replace(bar) {
            previous.finish_and_clear();
        }
    }

    fn draw(&self, state: &State, step: impl FnOnce(&ProgressBar)) {
        let Some(bar) = &state.bar else { return };
        if bar.is_hidden() && self.started.elapsed() >= DELAY {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
        step(bar);
    }
}

impl Progress for Bar {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        let words = match stage {
            Stage::Capture => "reading files",
            Stage::Checkout => "writing files",
            Stage::Verify => "verifying objects",
            Stage::Reach => "following references",
            Stage::ReadCommits => "reading commits",
            Stage::CompareCommits => "comparing commits",
            Stage::WriteFiles => "writing file versions",
            Stage::WriteTrees => "writing folder versions",
            Stage::WriteChanges => "writing changes",
        };
        self.start(&mut self.state(), words, total);
    }

    fn advance(&self, units: u64) {
        self.draw(&self.state(), |bar| bar.inc(units));
    }

    fn end(&self) {
        if let Some(bar) = self.state().bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl legacy::Progress for Bar {
    fn at(&self, step: Step, done: u64, total: u64) {
        let mut state = self.state();
        if state.step.replace(step) != Some(step) {
            let words = match step {
                Step::Verify => "verifying old objects",
                Step::Write => "writing packs",
                Step::ReadBack => "reading packs back",
            };
            self.start(&mut state, words, Some(total));
        }
        self.draw(&state, |bar| bar.set_position(done));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.end();
    }
}
