//! What this machine is: read from files of the system; `rustc` and `cc` are asked for their versions.
//!
//! Nothing here is told by the repository. The two programs are looked for in the absolute directories of `PATH` that
//! lie outside of it, and started in the root directory, where no folder's own configuration reaches them (SEC-03).

use crate::environment::Environment;
use gemel_repo::history::EnvironmentOptions;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes read of any file or answer.
const MAX_BYTES: u64 = 64 * 1024;
/// How long a program may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked whether it has.
const PAUSE: Duration = Duration::from_millis(5);

/// `given`, with what it leaves out filled in from this machine. `outside` is the repository, in which no program is
/// looked for.
pub(crate) fn filled(
    given: EnvironmentOptions,
    environment: &Environment,
    outside: &Path,
) -> EnvironmentOptions {
    let asked = |program: &str| ask(program, environment, outside).as_deref().and_then(version_in);
    let rustc = || asked("rustc").map(|version| format!("rustc={version}"));
    let cc = || asked("cc").map(|version| format!("cc={version}"));
    let mut filled = machine(given);
    filled.compiler = filled.compiler.or_else(rustc);
    if !filled.tools.iter().any(|tool| tool.starts_with("cc=")) {
        filled.tools.extend(cc());
    }
    filled
}

/// `given`, with system and processor filled in; no program is asked.
pub(crate) fn machine(given: EnvironmentOptions) -> EnvironmentOptions {
    let here = given.os_family.as_deref().is_none_or(|family| family == std::env::consts::OS);
    let release = if here { os_release(&read("/etc/os-release")) } else { [None, None] };
    let [name, version] = release;
    let kernel = if here { line(&read("/proc/sys/kernel/osrelease")) } else { None };
    EnvironmentOptions {
        os_family: given.os_family.or_else(|| Some(std::env::consts::OS.to_owned())),
        os_name: given.os_name.or(name),
        os_version: given.os_version.or(version),
        kernel: given.kernel.or(kernel),
        arch: given.arch.or_else(|| Some(std::env::consts::ARCH.to_owned())),
        ..given
    }
}

/// The first bytes of a file; nothing when it cannot be read.
fn read(path: &str) -> String {
    let mut bytes = Vec::new();
    let taken = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    taken.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The first line that says something.
fn line(text: &str) -> Option<String> {
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// `ID` and `VERSION_ID` of an `os-release` file, without their quotes.
fn os_release(text: &str) -> [Option<String>; 2] {
    ["ID=", "VERSION_ID="].map(|key| {
        let value = text.lines().find_map(|line| line.trim().strip_prefix(key))?;
        let value = value.trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| value.to_owned())
    })
}

/// What a program says of its version.
fn ask(program: &str, environment: &Environment, outside: &Path) -> Option<String> {
    let path = environment.path.as_deref()?;
    let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute() && !dir.starts_with(outside));
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let found = dirs.map(|dir| dir.join(&file)).find(|at| at.is_file() && is_outside(at, outside))?;
    answer(start(&found)?)
}

/// Whether a program lies outside the repository when links are followed, too.
fn is_outside(program: &Path, outside: &Path) -> bool {
    program.canonicalize().is_ok_and(|real| !real.starts_with(outside))
}

#[allow(clippy::disallowed_methods, reason = "asks a compiler of the machine for its version, on request")]
fn start(program: &Path) -> Option<Child> {
    let root: PathBuf = program.ancestors().last()?.to_owned();
    let mut command = Command::new(program);
    command.arg("--version").current_dir(root).stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(Stdio::piped()).spawn().ok()
}

/// What a started program writes; nothing when it fails or takes too long.
fn answer(mut child: Child) -> Option<String> {
    // One that writes more than a pipe holds never ends, and is not one that tells its version.
    let until = Instant::now() + PATIENCE;
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.success(),
            Ok(None) if Instant::now() < until => std::thread::sleep(PAUSE),
            Ok(None) | Err(_) => {
                drop(child.kill());
                drop(child.wait());
                break false;
            }
        }
    };
    let mut bytes = Vec::new();
    child.stdout.take()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    ended.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The first word of the first line that begins with a digit and has a dot: `rustc 1.95.0 (abc)`, `cc (X 12) 12.2.0`.
fn version_in(text: &str) -> Option<String> {
    let mut words = text.lines().next()?.split_whitespace();
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    words.find(is_version).map(|word| word.trim_end_matches([',', ')']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            ("rustc 1.95.0 (59807616e 2026-04-14)\n", Some("1.95.0")),
            ("cc (Debian 12.2.0-14) 12.2.0\nCopyright", Some("12.2.0")),
            ("Apple clang version 15.0.0 (clang-1500)", Some("15.0.0")),
            ("cc: error", None),
            ("", None),
        ] {
            let found = version_in(said);
            assert_eq!(found.as_deref().map(|found| found.split('-').next()), version.map(Some), "{said}");
        }
    }

    #[test]
    fn names_of_systems() {
        let text = "PRETTY_NAME=\"Debian 12\"\nVERSION_ID=\"12\"\nID=debian\n";
        assert_eq!(os_release(text), [Some("debian".to_owned()), Some("12".to_owned())]);
        assert_eq!(os_release("ID=\"\"\nX"), [None, None]);
        assert_eq!(line("\n 6.1.0 \nx"), Some("6.1.0".to_owned()));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_given_stays() {
        let given = EnvironmentOptions {
            os_family: Some("plan9".to_owned()),
            compiler: Some("x=1".to_owned()),
            tools: vec!["cc=1.0".to_owned()],
            ..EnvironmentOptions::default()
        };
        let filled = filled(given.clone(), &Environment::read(), Path::new("/nowhere"));
        assert_eq!(filled.arch.as_deref(), Some(std::env::consts::ARCH));
        assert_eq!((filled.kernel, filled.os_name), (None, None));
        assert_eq!((filled.compiler, filled.tools), (given.compiler, given.tools));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_of_the_repository_is_not_asked() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("its path");
        let program = root.join("cc");
        std::fs::write(&program, "#!/bin/sh\necho cc 9.9.9\n").expect("a program");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a program");
        let mut environment = Environment::read();
        environment.path = Some(root.clone().into());
        assert_eq!(ask("cc", &environment, &root), None);
        assert_eq!(ask("cc", &environment, Path::new("/nowhere")).as_deref(), Some("cc 9.9.9\n"));
    }
}
