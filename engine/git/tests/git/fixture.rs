//! Git repositories made for a test: plumbing for objects that no porcelain writes, `fast-import` for the rest.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Modes as trees write them.
pub(crate) const FILE: &str = "100644";
pub(crate) const FOLDER: &str = "40000";
pub(crate) const GITLINK: &str = "160000";
/// Commits of another repository.
pub(crate) const ELSEWHERE: &str = "1111111111111111111111111111111111111111";
pub(crate) const ELSEWHERE_2: &str = "2222222222222222222222222222222222222222";

/// A Git repository in a temporary folder.
pub(crate) struct Git {
    pub(crate) temp: tempfile::TempDir,
    /// Where commands run.
    pub(crate) dir: PathBuf,
    /// What the import is given.
    pub(crate) git_dir: PathBuf,
}

impl Git {
    /// A bare repository whose `HEAD` is `main`.
    pub(crate) fn new() -> Git {
        Git::init(&["--bare", "--initial-branch=main"])
    }

    pub(crate) fn init(args: &[&str]) -> Git {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = temp.path().join("git");
        std::fs::create_dir(&dir).unwrap();
        let git_dir = if args.contains(&"--bare") { dir.clone() } else { dir.join(".git") };
        let git = Git { temp, dir, git_dir };
        git.run(&[&["init", "--quiet", "--template="], args].concat());
        git
    }

    /// A folder beside it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(crate) fn run(&self, args: &[&str]) -> String {
        String::from_utf8_lossy(&self.feed(args, b"")).trim_end().to_owned()
    }

    /// What Git prints, given `input`.
    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        git_in(&self.dir, args, input).unwrap_or_else(|error| panic!("git {args:?}: {error}"))
    }

    /// Writes an object that Git itself would not have made.
    pub(crate) fn object(&self, kind: &str, body: &[u8]) -> String {
        let out = self.feed(&["hash-object", "-t", kind, "-w", "--literally", "--stdin"], body);
        String::from_utf8(out).unwrap().trim_end().to_owned()
    }

    pub(crate) fn blob(&self, body: &[u8]) -> String {
        self.object("blob", body)
    }

    /// A tree with these entries in this order, whatever they are: mode, name, object.
    pub(crate) fn tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut body = Vec::new();
        for (mode, name, object) in entries {
            body.extend_from_slice(mode.as_bytes());
            body.push(b' ');
            body.extend_from_slice(name);
            body.push(0);
            body.extend(
                (0..object.len()).step_by(2).map(|at| u8::from_str_radix(&object[at..at + 2], 16).unwrap()),
            );
        }
        self.object("tree", &body)
    }

    /// A tree with one small file.
    pub(crate) fn small_tree(&self) -> String {
        self.tree(&[(FILE, b"f", &self.blob(b"x\n"))])
    }

    /// An ordinary commit.
    pub(crate) fn commit(&self, tree: &str, parents: &[&str], message: &str) -> String {
        self.commit_at(tree, parents, 1_000_000_000, message)
    }

    pub(crate) fn commit_at(&self, tree: &str, parents: &[&str], seconds: i64, message: &str) -> String {
        let mut body = format!("tree {tree}\n");
        for parent in parents {
            let _ = writeln!(body, "parent {parent}");
        }
        let _ = write!(body, "{}\n{message}\n", people(seconds));
        self.object("commit", body.as_bytes())
    }

    /// A commit with this after the tree line.
    pub(crate) fn raw_commit(&self, tree: &str, rest: &[u8]) -> String {
        self.object("commit", &[format!("tree {tree}\n").as_bytes(), rest].concat())
    }

    /// An annotated tag.
    pub(crate) fn tag(&self, target: &str, kind: &str, name: &str) -> String {
        let tagger = "tagger Ada <ada@x.test> 1000000000 +0000";
        self.object(
            "tag",
            format!("object {target}\ntype {kind}\ntag {name}\n{tagger}\n\nnoted\n").as_bytes(),
        )
    }

    /// Sets a ref without asking whether Git would.
    pub(crate) fn set(&self, name: &str, target: &str) {
        let at = self.git_dir.join(name);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, format!("{target}\n")).unwrap();
    }

    /// Takes a stream of commands.
    pub(crate) fn fast_import(&self, stream: &[u8]) {
        self.feed(&["fast-import", "--quiet", "--force"], stream);
    }

    pub(crate) fn head(&self) -> String {
        self.run(&["rev-parse", "HEAD^{commit}"])
    }

    /// Where the loose object `oid` lies.
    pub(crate) fn loose(&self, oid: &str) -> PathBuf {
        self.git_dir.join("objects").join(&oid[..2]).join(&oid[2..])
    }
}

/// Headers of both people, and the empty line.
pub(crate) fn people(seconds: i64) -> String {
    format!("author Ada <ada@x.test> {seconds} +0000\ncommitter Com <com@x.test> {seconds} +0000\n")
}

/// What Git prints in `dir`, given `input`, or what it says when it fails.
pub(crate) fn git_in(dir: &Path, args: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name == "PATH"))
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_GRAFT_FILE", "/dev/null"),
            ("GIT_AUTHOR_NAME", "Ada"),
            ("GIT_AUTHOR_EMAIL", "ada@x.test"),
            ("GIT_AUTHOR_DATE", "1000000000 +0000"),
            ("GIT_COMMITTER_NAME", "Com"),
            ("GIT_COMMITTER_EMAIL", "com@x.test"),
            ("GIT_COMMITTER_DATE", "1000000000 +0000"),
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("these tests need the `git` program: it builds the repositories they import");
    let mut stdin = child.stdin.take().unwrap();
    let out = std::thread::scope(|scope| {
        // It may stop before it has read everything.
        scope.spawn(move || stdin.write_all(input).ok());
        child.wait_with_output().unwrap()
    });
    if out.status.success() { Ok(out.stdout) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
}

/// A history told commit by commit, a second apart.
pub(crate) struct Story<'g> {
    git: &'g Git,
    stream: Vec<u8>,
    seconds: i64,
    /// Branches by name, and whether this stream has said where they begin.
    branches: BTreeMap<String, bool>,
}

impl<'g> Story<'g> {
    pub(crate) fn new(git: &'g Git) -> Story<'g> {
        Story { git, stream: Vec::new(), seconds: 1_000_000_000, branches: BTreeMap::new() }
    }

    /// A commit on `branch`, which begins at nothing. `edits` are paths with their text; a mark before the path says
    /// what else it is: `*` a program, `@` a link, `=` the commit of a submodule, `-` no longer there.
    pub(crate) fn commit(&mut self, branch: &str, message: &str, edits: &[(&str, &str)]) -> &mut Self {
        self.merge(branch, &[], message, edits)
    }

    /// The same with further parents: branches.
    pub(crate) fn merge(
        &mut self,
        branch: &str,
        others: &[&str],
        message: &str,
        edits: &[(&str, &str)],
    ) -> &mut Self {
        let out = &mut self.stream;
        let _ = write!(out, "commit refs/heads/{branch}\n{}", people(self.seconds));
        let _ = writeln!(out, "data {}\n{message}", message.len());
        if self.branches.insert(branch.to_owned(), true) == Some(false) {
            let _ = writeln!(out, "from refs/heads/{branch}^0");
        }
        for other in others {
            let _ = writeln!(out, "merge refs/heads/{other}");
        }
        for (path, text) in edits {
            let (mark, name) = path.split_at(1);
            let (mode, name) = match mark {
                "*" => ("100755", name),
                "@" => ("120000", name),
                "=" => {
                    let _ = writeln!(out, "M 160000 {text} {name}");
                    continue;
                }
                "-" => {
                    let _ = writeln!(out, "D {name}");
                    continue;
                }
                _ => (FILE, *path),
            };
            let _ = writeln!(out, "M {mode} inline {name}\ndata {}\n{text}", text.len());
        }
        out.push(b'\n');
        self.seconds += 1;
        self
    }

    /// Begins `branch` where `at` is.
    pub(crate) fn branch(&mut self, branch: &str, at: &str) -> &mut Self {
        let _ = writeln!(self.stream, "reset refs/heads/{branch}\nfrom refs/heads/{at}\n");
        self.branches.insert(branch.to_owned(), true);
        self
    }

    /// Hands it to Git.
    pub(crate) fn told(&mut self) {
        self.git.fast_import(&std::mem::take(&mut self.stream));
        self.branches.values_mut().for_each(|said| *said = false);
    }
}
