//! Running a command to its end, with its time and its peak memory.

use crate::Result;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What a command took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) time: Duration,
    /// Highest resident size seen, of the process itself; 0 where the system does not tell.
    pub(crate) peak_bytes: u64,
}

/// Runs a command without output; a status other than success is an error with what it wrote to standard error.
pub(crate) fn run(command: &mut Command) -> Result<Taken> {
    measure(command, false)
}

/// As [`run`], and watches memory while the command runs.
pub(crate) fn run_watched(command: &mut Command) -> Result<Taken> {
    measure(command, true)
}

fn measure(command: &mut Command, watch: bool) -> Result<Taken> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let started = Instant::now();
    let child = command.spawn()?;
    let ended = AtomicBool::new(false);
    let id = child.id();
    let (output, time, peak_bytes) = thread::scope(|scope| {
        let watcher = watch.then(|| scope.spawn(|| peak_until(id, &ended)));
        let output = child.wait_with_output();
        let time = started.elapsed();
        ended.store(true, Ordering::Relaxed);
        (output, time, watcher.and_then(|w| w.join().ok()).unwrap_or(0))
    });
    let output = output?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}: {text}", output.status).into());
    }
    Ok(Taken { time, peak_bytes })
}

/// The kernel keeps the highest resident size itself; polling only has to catch it before the process is gone.
fn peak_until(id: u32, ended: &AtomicBool) -> u64 {
    let path = format!("/proc/{id}/status");
    let mut peak = 0;
    while !ended.load(Ordering::Relaxed) {
        if let Ok(status) = fs::read_to_string(&path) {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
            peak = peak.max(kib.unwrap_or(0) * 1024);
        }
        thread::sleep(Duration::from_millis(2));
    }
    peak
}
