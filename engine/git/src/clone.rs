//! `clone`: a Git clone whose history is imported (docs/GIT_INTEROP.md).
//!
//! Git itself fetches and writes the working tree, in a folder beside the target that is put in its place when all is
//! done: what fails leaves nothing behind. No hook runs, no template is copied, and no address is taken for an option.

use crate::import::{ImportOptions, ImportReport, import};
use crate::{GitError, Result};
use gemel_repo::facts::Progress;
use gemel_repo::history::{self, CheckoutOptions};
use gemel_repo::{InitOptions, Repo, RepoError, STORE_DIR};
use gemel_store::vfs::Vfs;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// What a clone is told.
#[derive(Clone, Debug)]
pub struct CloneOptions {
    /// Anything Git can fetch from.
    pub url: OsString,
    /// Where the working tree goes (absolute): absent, or an empty folder.
    pub dir: PathBuf,
    /// Where relative addresses start.
    pub current_dir: PathBuf,
    /// The default producer, and the time of everything made.
    pub init: InitOptions,
    /// As [`ImportOptions::keep_oversize`].
    pub keep_oversize: bool,
    /// Whether Git's own progress goes to standard error.
    pub show_git: bool,
}

/// What a clone did.
#[derive(Debug)]
pub struct CloneReport {
    /// The repository, open in its final place.
    pub repo: Repo,
    /// The import.
    pub import: ImportReport,
    /// Paths of the state that are never written (repository metadata).
    pub unwritten: u64,
}

/// Prefix of the folder in which a clone is made.
const SCRATCH: &str = ".gemel-clone-";

/// Lines of Git's own report that are repeated.
const TOLD_LINES: usize = 4;

/// Clones a Git repository with all its heads and tags, and imports it. The working tree holds the state of head, and
/// the default workspace stands there.
///
/// # Errors
/// `Refused` when the folder is in use; `Command` when Git fails; those of `init`, import and checkout, among them
/// `TrackedStore` for a repository that brings store files of its own.
pub fn clone(vfs: &Arc<dyn Vfs>, options: &CloneOptions, progress: &dyn Progress) -> Result<CloneReport> {
    let dir = &options.dir;
    let occupied = is_empty_folder(dir)?;
    if occupied == Some(false) {
        let reason = format!("{} exists and is not an empty folder", dir.display());
        return Err(GitError::Refused { reason });
    }
    let parent = dir.parent().unwrap_or(dir);
    let parents = Parents::make(parent)?;
    let scratch = tempfile::Builder::new()
        .prefix(SCRATCH)
        .tempdir_in(parent)
        .map_err(io("create a folder in", parent))?;
    let work = scratch.path().join("work");
    let followed = git_clone(options, &work)?;
    let (mut report, unwritten) = fill(vfs, options, &work, progress)?;
    // What follows the origin's branches was taken as branches.
    report.refs_left = report.refs_left.saturating_sub(followed);
    put(&work, dir, occupied.is_some())?;
    parents.keep();
    Ok(CloneReport { repo: Repo::open(vfs.clone(), dir)?, import: report, unwritten })
}

/// The folder that a clone of `url` goes to by default: the last part of the address without `.git`.
pub fn default_dir(url: &OsStr) -> Option<String> {
    let text = url.to_str()?.trim_end_matches('/');
    let text = text.strip_suffix("/.git").unwrap_or(text);
    let last = text.rsplit(['/', ':']).next()?;
    let name = last.strip_suffix(".git").unwrap_or(last);
    let usable =
        !matches!(name, "" | "." | "..") && !name.starts_with('-') && !name.contains(char::is_control);
    usable.then(|| name.to_owned())
}

/// Lets Git clone into `work`, and gives every branch of the origin a local one: heads are what an import takes.
/// Answers how many refs follow the origin.
fn git_clone(options: &CloneOptions, work: &Path) -> Result<u64> {
    let mut command = git(&options.current_dir);
    command.arg("clone").arg("--template=").arg("--no-recurse-submodules");
    command.arg(if options.show_git { "--progress" } else { "--quiet" });
    command.arg("--").arg(&options.url).arg(work);
    run(command, "clone", &[], options.show_git)?;
    let mut list = git(work);
    list.args([
        "for-each-ref",
        "--format=%(symref) %(objectname) %(refname)",
        "refs/remotes/origin/",
        "refs/heads/",
    ]);
    let listed = run(list, "for-each-ref", &[], false)?;
    let mut update = git(work);
    update.args(["update-ref", "--stdin"]);
    run(update, "update-ref", &new_branches(&listed), false)?;
    let names =
        listed.split(|byte| *byte == b'\n').filter_map(|line| line.rsplit(|byte| *byte == b' ').next());
    Ok(names.filter(|name| name.starts_with(b"refs/remotes/origin/")).count() as u64)
}

/// The instructions that create a branch for each of the origin's that has none.
fn new_branches(listed: &[u8]) -> Vec<u8> {
    let lines = || listed.split(|byte| *byte == b'\n');
    let has = |branch: &[u8]| lines().any(|line| line.ends_with(&[b" refs/heads/", branch].concat()));
    let mut text = Vec::new();
    for line in lines() {
        // One that points to another, as the origin's `HEAD` does, has three words.
        let Some((oid, name)) = line.strip_prefix(b" ").and_then(|rest| {
            let at = rest.iter().position(|byte| *byte == b' ')?;
            Some((rest.get(..at)?, rest.get(at + 1..)?))
        }) else {
            continue;
        };
        if let Some(branch) = name.strip_prefix(b"refs/remotes/origin/").filter(|branch| !has(branch)) {
            text.extend([b"create refs/heads/", branch, b" ", oid, b"\n"].concat());
        }
    }
    text
}

/// Makes the clone a repository, imports it, and lets the files be those of head's state: what Git's attributes changed
/// on the way out is written as it is recorded.
fn fill(
    vfs: &Arc<dyn Vfs>,
    options: &CloneOptions,
    work: &Path,
    progress: &dyn Progress,
) -> Result<(ImportReport, u64)> {
    let repo = match Repo::init(vfs.clone(), work, &options.init) {
        Ok(begun) => begun.repo,
        // The folder that is told is the one that was asked for.
        Err(RepoError::TrackedStore { tracked, .. }) => {
            return Err(RepoError::TrackedStore { path: options.dir.join(STORE_DIR), tracked }.into());
        }
        Err(error) => return Err(error.into()),
    };
    let how = ImportOptions {
        git_dir: work.join(".git"),
        keep_oversize: options.keep_oversize,
        now_ms: options.init.now_ms,
        ..ImportOptions::default()
    };
    let report = import(&repo, &how, progress)?;
    if report.tip.is_none() {
        return Ok((report, 0));
    }
    let checkout = CheckoutOptions {
        state: "@state".to_owned(),
        force: true,
        now_ms: options.init.now_ms,
        ..CheckoutOptions::default()
    };
    let written = history::checkout(&repo, &checkout, progress)?;
    Ok((report, written.omitted.iter().map(|omitted| omitted.count).sum()))
}

/// Puts what was made in its place: with one rename, or part by part into a folder that was there.
fn put(work: &Path, dir: &Path, exists: bool) -> Result<()> {
    if !exists {
        return std::fs::rename(work, dir).map_err(io("create", dir));
    }
    let mut moved = Vec::new();
    let mut each = || -> Result<()> {
        for entry in std::fs::read_dir(work).map_err(io("read", work))? {
            let entry = entry.map_err(io("read", work))?;
            let target = dir.join(entry.file_name());
            std::fs::rename(entry.path(), &target).map_err(io("create", &target))?;
            moved.push(target);
        }
        Ok(())
    };
    each().inspect_err(|_| {
        for path in &moved {
            let removed = if path.is_dir() && !path.is_symlink() {
                std::fs::remove_dir_all(path)
            } else {
                std::fs::remove_file(path)
            };
            // The failure that led here is the one to tell.
            drop(removed);
        }
    })
}

/// Git, deaf to what the caller's environment says of another repository, and without hooks.
#[allow(clippy::disallowed_methods, reason = "Git fetches; nothing recorded is executed")]
fn git(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir);
    for (name, value) in [
        ("core.hooksPath", "/dev/null"),
        ("protocol.ext.allow", "never"),
        ("core.fsmonitor", "false"),
        ("submodule.recurse", "false"),
        ("advice.detachedHead", "false"),
    ] {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_COMMON_DIR",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
        "GIT_TEMPLATE_DIR",
    ] {
        command.env_remove(name);
    }
    // Files kept elsewhere stay the pointers that the history has.
    command.env("GIT_LFS_SKIP_SMUDGE", "1");
    command
}

/// Runs Git to its end; what it printed.
///
/// # Errors
/// `Command`, with the last lines of its report.
fn run(mut command: Command, what: &'static str, input: &[u8], show: bool) -> Result<Vec<u8>> {
    let failed = |detail: String| GitError::Command { command: what, detail };
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() }).stdout(Stdio::piped());
    command.stderr(if show { Stdio::inherit() } else { Stdio::piped() });
    let mut child = command.spawn().map_err(|error| failed(format!("git does not start: {error}")))?;
    if let Some(mut pipe) = child.stdin.take().filter(|_| !input.is_empty()) {
        pipe.write_all(input).map_err(|error| failed(error.to_string()))?;
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let told = lines.get(lines.len().saturating_sub(TOLD_LINES)..).unwrap_or_default().join("; ");
    Err(failed(if told.is_empty() { output.status.to_string() } else { told }))
}

/// Whether `dir` is a folder without entries; `None` when nothing is there.
fn is_empty_folder(dir: &Path) -> Result<Option<bool>> {
    match std::fs::read_dir(dir) {
        Ok(mut entries) => Ok(Some(entries.next().is_none())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !dir.is_symlink() => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory || dir.is_symlink() => {
            Ok(Some(false))
        }
        Err(error) => Err(io("read", dir)(error)),
    }
}

/// Folders made above the target; removed again unless they are kept.
struct Parents(Vec<PathBuf>);

impl Parents {
    fn make(parent: &Path) -> Result<Parents> {
        let absent = parent.ancestors().take_while(|dir| !dir.exists()).map(Path::to_path_buf).collect();
        let parents = Parents(absent);
        std::fs::create_dir_all(parent).map_err(io("create", parent))?;
        Ok(parents)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        for dir in &self.0 {
            // One that somebody else uses by now is not empty, and stays.
            drop(std::fs::remove_dir(dir));
        }
    }
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> GitError {
    let path = path.to_path_buf();
    move |source| GitError::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_addresses() {
        let name = |url: &str| default_dir(OsStr::new(url));
        for url in
            ["https://x.test/a/plain.git", "file:///v/plain", "host:plain.git/", "/v/plain/.git", "plain"]
        {
            assert_eq!(name(url).as_deref(), Some("plain"), "{url}");
        }
        for url in ["", "/", "..", "https://x.test/..", "--upload-pack=x", "/.git"] {
            assert_eq!(name(url), None, "{url}");
        }
    }

    #[test]
    fn branches_that_are_not_there_yet() {
        let listed = b" 11 refs/heads/main\nrefs/remotes/origin/main 11 refs/remotes/origin/HEAD\n 11 refs/remotes/origin/main\n 22 refs/remotes/origin/a/b\n";
        assert_eq!(new_branches(listed), b"create refs/heads/a/b 22\n");
        assert_eq!(new_branches(b""), b"");
    }
}
