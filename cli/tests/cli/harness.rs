//! A directory of its own, a pinned clock, and the program under test.

use serde_json::Value;
use std::cell::Cell;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Time of the first command of a sandbox; each later one is a second later.
pub(crate) const START_MS: i64 = 1_700_000_000_000;

/// A scratch directory with a repository folder in it.
pub(crate) struct Sandbox {
    scratch: TempDir,
    now_ms: Cell<i64>,
}

/// What a process said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) bytes: Vec<u8>,
}

impl Sandbox {
    /// An empty folder.
    pub(crate) fn empty() -> Sandbox {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        std::fs::create_dir(scratch.path().join("repo")).expect("the repository folder");
        Sandbox { scratch, now_ms: Cell::new(START_MS) }
    }

    /// A fresh repository.
    pub(crate) fn new() -> Sandbox {
        let sandbox = Sandbox::empty();
        sandbox.ok(&["init"]);
        sandbox
    }

    /// A repository with a snapshot and two finished changes; `a.txt` holds `three`.
    pub(crate) fn with_changes() -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.write("a.txt", "one\n");
        sandbox.write("src/main.rs", "fn main() {}\n");
        sandbox.ok(&["snapshot"]);
        sandbox.ok(&["change", "begin", "--intent-summary", "Reach three"]);
        sandbox.write("a.txt", "two\n");
        sandbox.ok(&[
            "change",
            "finish",
            "--summary",
            "one to two",
            "--claim",
            "src/main.rs|compiles|correctness|evidence=0",
            "--evidence",
            "src/main.rs|pass|compiler_result|state=result",
            "--residual",
            "three is missing|low|other|claims=0",
        ]);
        sandbox.ok(&["change", "begin", "--intent", "I1"]);
        sandbox.write("a.txt", "three\n");
        sandbox.ok(&["change", "finish", "--summary", "two to three"]);
        sandbox
    }

    /// The repository folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.scratch.path().join("repo")
    }

    /// The folder around it.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
        std::fs::write(path, content).expect("the file");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).expect("the file")
    }

    /// The program in the repository folder, the clock pinned, nothing of the tester's own environment.
    #[allow(clippy::disallowed_methods, reason = "starts the program under test")]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let now_ms = self.now_ms.get();
        self.now_ms.set(now_ms + 1000);
        let mut command = Command::new(env!("CARGO_BIN_EXE_gemel"));
        command.args(args).current_dir(self.root()).env_clear().stdin(Stdio::null());
        command.env("GEMEL_TIME_MS", now_ms.to_string());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }

    /// Runs the program.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        Said::of(self.command(args))
    }

    /// Runs the program, which must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> Said {
        let said = self.run(args);
        assert_eq!(said.status, 0, "{args:?}: {said:?}");
        said
    }

    /// The envelope of a successful command; standard error stays empty.
    pub(crate) fn envelope(&self, args: &[&str]) -> Value {
        let said = self.ok(&[args, &["--json"]].concat());
        assert_eq!(said.err, "", "{args:?}");
        said.json()
    }

    /// The `result` of a successful command.
    pub(crate) fn result(&self, args: &[&str]) -> Value {
        self.envelope(args)["result"].clone()
    }

    /// The `error` of a refused command: exit 2, an error envelope, the same sentence on standard error.
    pub(crate) fn refused(&self, args: &[&str]) -> Value {
        let said = self.run(&[args, &["--json"]].concat());
        assert_eq!(said.status, 2, "{args:?}: {said:?}");
        let envelope = said.json();
        let keys: Vec<&str> = envelope.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, ["error", "request", "schema"], "{args:?}");
        let message = envelope["error"]["message"].as_str().expect("a message");
        assert_eq!(said.err, format!("error: {message}\n"), "{args:?}");
        let plain = self.run(args);
        assert_eq!((plain.status, plain.out.as_str()), (2, ""), "{args:?}");
        assert!(plain.err.starts_with("error: "), "{args:?}: {}", plain.err);
        envelope["error"].clone()
    }
}

impl Said {
    /// Runs a command to its end.
    pub(crate) fn of(mut command: Command) -> Said {
        let output = command.output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let status = output.status.code().unwrap_or(-1);
        Said { status, out: text(&output.stdout), err: text(&output.stderr), bytes: output.stdout }
    }

    /// Reads `bytes` of standard output, then closes it; what the command said on standard error, and its status.
    pub(crate) fn cut_short(mut command: Command, bytes: usize) -> Said {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut first = vec![0; bytes];
        let mut pipe = child.stdout.take().expect("a pipe");
        pipe.read_exact(&mut first).expect("the first bytes");
        drop(pipe);
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        Said { status: output.status.code().unwrap_or(-1), out: String::new(), err, bytes: first }
    }

    /// Standard output as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
