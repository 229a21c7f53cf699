//! The way back: an export into an empty repository gives every object and ref its name again.

use crate::fixture::{Git, git_in};
use crate::gemel::Gemel;
use gemel_git::export::{ExportRequest, export};
use gemel_repo::facts::Silent;
use std::path::Path;

/// Exports and compares.
pub(crate) fn comes_back(git: &Git, gemel: &Gemel) {
    let back = git.beside("back.git");
    let request = ExportRequest { git_dir: back.clone(), now_ms: 3000, ..ExportRequest::default() };
    export(&gemel.repo, &request, &Silent).unwrap_or_else(|error| panic!("export: {error}"));
    assert_eq!(lines(&git.dir, REFS), lines(&back, REFS), "refs");
    if let Some(head_before) = head(&git.dir) {
        assert_eq!(Some(head_before), head(&back), "HEAD");
    }
    assert_eq!(objects(&git.dir), objects(&back), "objects");
    assert_eq!(complaints(&git.dir), complaints(&back), "what git fsck says");
}

const REFS: &[&str] = &[
    "for-each-ref",
    "--format=%(objectname) %(refname)",
    "refs/heads",
    "refs/tags",
    "refs/notes",
    "refs/replace",
];

/// Lines in order, or that Git cannot tell.
fn lines(dir: &Path, args: &[&str]) -> Option<Vec<String>> {
    let out = git_in(dir, &[&["--no-replace-objects"], args].concat(), b"").ok()?;
    let mut lines: Vec<String> = String::from_utf8_lossy(&out).lines().map(str::to_owned).collect();
    lines.sort();
    Some(lines)
}

/// The branch, or the commit; nothing when it is a tag object, which no Git program makes it.
fn head(dir: &Path) -> Option<Vec<String>> {
    lines(dir, &["symbolic-ref", "--no-recurse", "HEAD"]).or_else(|| {
        let detached = lines(dir, &["rev-parse", "HEAD"]);
        detached.filter(|oid| Some(oid) == lines(dir, &["rev-parse", "HEAD^{commit}"]).as_ref())
    })
}

/// Names of all that the refs taken and `HEAD` lead to.
fn objects(dir: &Path) -> Option<Vec<String>> {
    let mut tips: Vec<String> =
        lines(dir, REFS)?.iter().map(|line| line[..line.find(' ').unwrap_or(0)].to_owned()).collect();
    tips.extend(lines(dir, &["rev-parse", "--verify", "-q", "HEAD^{commit}"]).unwrap_or_default());
    let input = tips.iter().map(|tip| format!("{tip}\n")).collect::<String>();
    let args = ["--no-replace-objects", "rev-list", "--objects", "--no-object-names", "--stdin"];
    let out = git_in(dir, &args, input.as_bytes()).ok()?;
    let mut lines: Vec<String> = String::from_utf8_lossy(&out).lines().map(str::to_owned).collect();
    lines.sort();
    Some(lines)
}

/// What a strict check finds in objects that are reached.
fn complaints(dir: &Path) -> Vec<String> {
    let out = git_in(
        dir,
        &["-c", "gc.auto=0", "fsck", "--full", "--strict", "--no-dangling", "--no-progress"],
        b"",
    );
    let text = out.err().unwrap_or_default();
    let mut lines: Vec<String> =
        text.lines().filter(|line| line.starts_with("error in ")).map(str::to_owned).collect();
    lines.sort();
    lines
}
