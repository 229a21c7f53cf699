//! One process, watched: both outputs read while it runs, a limit of time, and nothing left behind (threat T-57).
//!
//! The process leads a group of its own. When it ends, or when its time is over, the whole group is killed before the
//! leader is reaped, while its number can still belong to nobody else. A descendant that left the group cannot be
//! killed that way, but it cannot hold the court up either: outputs are then read for a moment longer and left.

use super::policy::Way;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longest wait between two looks at a process that says nothing.
const MAX_TICK: Duration = Duration::from_millis(25);

/// How long outputs are read after the end, in all and without a byte: only what escaped the group still holds them.
const AFTERWARDS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(50));

/// Bytes read at once, and reads before the clock is looked at again.
const READ: (usize, usize) = (64 << 10, 16);

/// How a process ended.
#[derive(Debug)]
pub(super) enum How {
    /// By itself, with a status.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// Killed because its time was over.
    TimedOut,
    /// It never began.
    NotStarted(io::Error),
}

/// One output.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// The first bytes, up to the limit.
    pub(super) kept: Vec<u8>,
    /// All bytes there were.
    pub(super) total: u64,
    hasher: blake3::Hasher,
}

impl Output {
    /// Digest of all bytes, kept or not.
    pub(super) fn digest(&self) -> [u8; 32] {
        *self.hasher.finalize().as_bytes()
    }

    fn take(&mut self, bytes: &[u8], keep: usize) {
        self.hasher.update(bytes);
        self.total = self.total.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let room = keep.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }
}

/// What became of a process.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) how: How,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
}

/// Runs a command in `dir` for at most `timeout`, keeping `keep` bytes of each output.
///
/// # Errors
/// When the process cannot be watched; it is then killed.
pub(super) fn run(command: &str, way: &Way, dir: &Path, timeout: Duration, keep: usize) -> io::Result<Ended> {
    let deadline = Instant::now() + timeout;
    let mut child = match prepare(command, way).current_dir(dir).spawn() {
        Ok(child) => Running { pid: Pid::from_child(&child), child, is_reaped: false },
        Err(error) => {
            let (stdout, stderr) = (Output::default(), Output::default());
            return Ok(Ended { how: How::NotStarted(error), stdout, stderr });
        }
    };
    let mut pipes = Pipes::of(&mut child.child, keep)?;
    let mut tick = Duration::from_millis(1);
    let mut in_time = true;
    while !child.has_ended()? {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            in_time = false;
            break;
        }
        tick = if pipes.read(left.min(tick))? { Duration::from_millis(1) } else { (tick * 2).min(MAX_TICK) };
    }
    let status = child.end()?;
    pipes.read_rest()?;
    let how = match (in_time, status.code(), status.signal()) {
        (false, ..) => How::TimedOut,
        (true, Some(code), _) => How::Exited(code),
        (true, None, signal) => How::Signalled(signal.unwrap_or_default()),
    };
    let [stdout, stderr] = pipes.outputs;
    Ok(Ended { how, stdout, stderr })
}

#[allow(clippy::disallowed_methods, reason = "the court runs what the policy of the repository allows")]
fn prepare(command: &str, way: &Way) -> Command {
    let mut made = match way {
        Way::Shell => {
            let mut shell = Command::new("/bin/sh");
            shell.arg0("sh").args(["-c", "--", command]);
            shell
        }
        Way::Words(words) => {
            let mut program = Command::new(words.first().map_or("", String::as_str));
            program.args(words.iter().skip(1));
            program
        }
    };
    made.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    made
}

/// A process that does not outlive this value.
struct Running {
    child: Child,
    pid: Pid,
    is_reaped: bool,
}

impl Running {
    /// Whether the leader has ended; it is not reaped.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid), options) {
            Ok(status) => Ok(status.is_some()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Kills what is left of the group and reaps the leader.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // A group of which only the leader is left, dead already, may refuse the signal.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let status = self.child.wait()?;
        self.is_reaped = true;
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The number of a group whose leader was reaped may be somebody else's by now.
        if !self.is_reaped {
            let _ = self.end();
        }
    }
}

/// Both outputs of a process.
struct Pipes {
    sources: [Option<Source>; 2],
    outputs: [Output; 2],
    buffer: Vec<u8>,
    keep: usize,
}

enum Source {
    Out(std::process::ChildStdout),
    Err(std::process::ChildStderr),
}

impl Source {
    fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            Source::Out(pipe) => pipe.as_fd(),
            Source::Err(pipe) => pipe.as_fd(),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::Out(pipe) => pipe.read(buffer),
            Source::Err(pipe) => pipe.read(buffer),
        }
    }
}

impl Pipes {
    fn of(child: &mut Child, keep: usize) -> io::Result<Pipes> {
        let sources = [child.stdout.take().map(Source::Out), child.stderr.take().map(Source::Err)];
        for source in sources.iter().flatten() {
            ioctl_fionbio(source.fd(), true)?;
        }
        Ok(Pipes { sources, outputs: Default::default(), buffer: vec![0; READ.0], keep })
    }

    /// Waits for output and reads what is there; whether there was any.
    fn read(&mut self, wait: Duration) -> io::Result<bool> {
        let mut watched: Vec<PollFd<'_>> = Vec::with_capacity(self.sources.len());
        for source in self.sources.iter().flatten() {
            watched.push(PollFd::from_borrowed_fd(source.fd(), PollFlags::IN));
        }
        if watched.is_empty() {
            std::thread::sleep(wait);
            return Ok(false);
        }
        // A signal is a look at the clock more.
        match poll(&mut watched, Timespec::try_from(wait).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut some = false;
        for (source, output) in self.sources.iter_mut().zip(&mut self.outputs) {
            some |= drain(source, output, &mut self.buffer, self.keep)?;
        }
        Ok(some)
    }

    /// Reads what is left when the group is dead.
    fn read_rest(&mut self) -> io::Result<()> {
        let end = Instant::now() + AFTERWARDS.0;
        while self.sources.iter().any(Option::is_some) && Instant::now() < end {
            if !self.read(AFTERWARDS.1)? && self.sources.iter().any(Option::is_some) {
                break;
            }
        }
        Ok(())
    }
}

/// Reads a pipe until it has nothing more for now; at its end it is closed. Whether there was anything.
fn drain(
    source: &mut Option<Source>,
    output: &mut Output,
    buffer: &mut [u8],
    keep: usize,
) -> io::Result<bool> {
    let mut some = false;
    for _ in 0..READ.1 {
        let Some(open) = source else { break };
        match open.read(buffer) {
            Ok(0) => *source = None,
            Ok(len) => {
                output.take(buffer.get(..len).unwrap_or_default(), keep);
                some = true;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(some)
}
