//! The whole path of a change on real input: this checkout's own history and files, a scratch folder, and the `gemel`
//! program. A checkout without history, or with a part of it only, is shown by its files alone.

use crate::program;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Instant;

/// What the demo does beside its defaults.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The program to show; built from this checkout when absent.
    pub program: Option<PathBuf>,
    /// Leave the scratch folder in place.
    pub keep: bool,
}

/// Runs the demo over the project at `root`, writing each command and its answer to `out`.
///
/// # Errors
/// Anything that fails: the disk, the build, a command that ends otherwise than it should.
pub fn run(root: &Path, options: &Options, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let program = match &options.program {
        Some(path) => path.canonicalize()?,
        None => program::build(root)?,
    };
    let scratch = tempfile::Builder::new().prefix("gemel-demo-").tempdir()?;
    let folder = scratch.path().join("project");
    let original = scratch.path().join("original");
    let mut stage = Stage { program, folder: folder.clone(), out };
    let whole = has_history(root)?;
    if whole {
        history(&mut stage, root, scratch.path())?;
        copy(&folder, &original)?;
    } else {
        let files = copy(root, &original)?;
        copy(&original, &folder)?;
        writeln!(stage.out, "The input: {files} files of this checkout, copied to {}\n", folder.display())?;
        stage.gemel(&["init", "--author-name", "Demo", "--author-email", "demo@example.org"])?;
    }
    story(&mut stage)?;
    let before = scratch.path().join("before");
    // The ignore file at the root is configuration until a recorded state holds it, as an imported one does.
    let same = compare(&original, &before, usize::from(!whole))?;
    writeln!(
        stage.out,
        "{same} files of {} compared with the input: all equal, byte for byte",
        before.display()
    )?;
    if options.keep {
        writeln!(stage.out, "Kept: {}", scratch.keep().display())?;
    }
    Ok(())
}

/// Whether the checkout at `root` is a Git repository with all of its history.
fn has_history(root: &Path) -> Result<bool, Box<dyn Error>> {
    if !root.join(".git").exists() {
        return Ok(false);
    }
    let shallow = git(root, &["rev-parse", "--is-shallow-repository"])?;
    Ok(shallow.trim() == "false" && git(root, &["rev-parse", "--verify", "--quiet", "HEAD"]).is_ok())
}

/// The history of the checkout, brought in, looked at and given back.
fn history(stage: &mut Stage, root: &Path, scratch: &Path) -> Result<(), Box<dyn Error>> {
    let project = stage.folder.clone();
    stage.folder = scratch.to_path_buf();
    let (url, dir) = (root.to_str().ok_or("the checkout's path is not UTF-8")?, "project");
    let person = ["--author-name", "Demo", "--author-email", "demo@example.org"];
    stage.gemel(&[&["clone", url, "--dir", dir][..], &person].concat())?;
    stage.folder = project.clone();
    stage.gemel(&["status"])?;
    stage.gemel(&["log", "--limit", "5"])?;
    let head = git(&project, &["rev-parse", "--short=10", "HEAD"])?;
    stage.gemel(&["show", &format!("git:{}", head.trim())])?;
    stage.gemel(&["export-git", "--git-dir", "../back.git"])?;
    let refs = |dir: &Path| {
        git(dir, &["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"])
    };
    let back = scratch.join("back.git");
    let (went_in, came_back) = (refs(&project)?, refs(&back)?);
    if went_in != came_back {
        return Err(format!("branches or tags came back changed:\n{went_in}\n{came_back}").into());
    }
    git(&back, &["fsck", "--full", "--strict"])?;
    let count = git(&back, &["rev-list", "--count", "--all"])?;
    let names = went_in.lines().count();
    writeln!(
        stage.out,
        "{names} branches and tags, {} commits: every object name came back as it was\n",
        count.trim()
    )?;
    Ok(())
}

/// What git says.
fn git(dir: &Path, args: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = program::command("git").args(args).current_dir(dir).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`git {}` ended with {}: {text}", args.join(" "), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The commands, in the order in which a person would give them.
fn story(stage: &mut Stage) -> Result<(), Box<dyn Error>> {
    stage.gemel(&["snapshot", "--label", "before"])?;
    stage.gemel(&["status"])?;
    stage.gemel(&["change", "begin", "--intent-summary", "Tell readers where the demo leaves its files"])?;
    edit(stage)?;
    stage.gemel(&["status"])?;
    let evidence =
        "README.md|pass|test_result|state=result;command=grep -q scratch README.md;exit=0;tool=grep@3";
    stage.gemel(&[
        "change",
        "finish",
        "--summary",
        "README names the scratch folder",
        "--claim",
        "README.md|says where the demo writes|behavior|evidence=0",
        "--evidence",
        evidence,
        "--residual",
        "the wording was not read by a second person|low|verification_gap|claims=0;paths=README.md",
    ])?;
    stage.gemel(&["log", "--operations", "--limit", "2"])?;
    stage.gemel(&["show", "@"])?;
    stage.gemel(&["diff", "before", "@state", "--stat"])?;
    stage.gemel(&["diff", "before", "@state"])?;
    stage.gemel(&["status"])?;
    stage.gemel(&["checkout", "before", "--dir", "../before"])?;
    stage.gemel(&["fsck"])
}

/// The work that the change records: an edited file, a new one, a moved one.
fn edit(stage: &mut Stage) -> io::Result<()> {
    let readme = stage.folder.join("README.md");
    let mut text = fs::read_to_string(&readme)?;
    text.push_str("\nThe demo works in a scratch folder and removes it at the end.\n");
    fs::write(&readme, text)?;
    fs::write(stage.folder.join("NOTES.md"), "# Notes\n\nWritten while the change was open.\n")?;
    fs::rename(stage.folder.join("CHANGELOG.md"), stage.folder.join("docs/CHANGELOG.md"))?;
    writeln!(stage.out, "(README.md edited, NOTES.md added, CHANGELOG.md moved to docs/)\n")
}

/// Where the commands run and where their answers go.
struct Stage<'a> {
    program: PathBuf,
    folder: PathBuf,
    out: &'a mut dyn Write,
}

impl Stage<'_> {
    /// Runs one command, prints it, its answer and its time; a failure ends the demo.
    fn gemel(&mut self, args: &[&str]) -> Result<(), Box<dyn Error>> {
        let shown: Vec<String> = args.iter().map(|arg| shell_word(arg)).collect();
        writeln!(self.out, "$ gemel {}", shown.join(" "))?;
        let started = Instant::now();
        let Output { status, stdout, stderr } =
            program::command(&self.program).args(args).current_dir(&self.folder).output()?;
        let elapsed = started.elapsed();
        self.out.write_all(&stdout)?;
        self.out.write_all(&stderr)?;
        writeln!(self.out, "({:.0} ms)\n", elapsed.as_secs_f64() * 1000.0)?;
        if !status.success() {
            return Err(format!("`gemel {}` ended with {status}", shown.join(" ")).into());
        }
        Ok(())
    }
}

fn shell_word(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@=".contains(c);
    if arg.chars().all(plain) { arg.to_string() } else { format!("'{}'", arg.replace('\'', r"'\''")) }
}

/// Files and links below `root` that its ignore rules leave in, relative to it, sorted.
fn tracked(root: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    let walk = ignore::WalkBuilder::new(root)
        .hidden(false)
        .git_global(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git" && entry.file_name() != ".gemel")
        .build();
    for entry in walk {
        let entry = entry?;
        if entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink()) {
            found.push(entry.path().strip_prefix(root)?.to_path_buf());
        }
    }
    found.sort();
    Ok(found)
}

fn copy(root: &Path, to: &Path) -> Result<usize, Box<dyn Error>> {
    let files = tracked(root)?;
    for file in &files {
        let target = to.join(file);
        fs::create_dir_all(target.parent().unwrap_or(to))?;
        fs::copy(root.join(file), target)?;
    }
    Ok(files.len())
}

/// Compares every file below `written` with the one of the same name in `original`, of which `left_out` are not
/// content; the number of files compared.
fn compare(original: &Path, written: &Path, left_out: usize) -> Result<usize, Box<dyn Error>> {
    let files = tracked(written)?;
    for file in &files {
        if fs::read(original.join(file))? != fs::read(written.join(file))? {
            return Err(format!("{} was not written back as it was", file.display()).into());
        }
    }
    let expected = tracked(original)?.len() - left_out;
    if files.len() != expected {
        return Err(format!("{} files were written back, {expected} went in", files.len()).into());
    }
    Ok(files.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(shell_word("--label"), "--label");
        assert_eq!(shell_word("a b|c"), "'a b|c'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
