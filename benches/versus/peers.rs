//! The two programs, each in a clean environment of its own.

use crate::Result;
use crate::process;
use gemel_tools::program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// git without the configuration of the machine or its user: a name, no signing, no work in the background.
#[derive(Debug)]
pub(crate) struct Git {
    home: PathBuf,
}

const GIT_CONFIG: &str = "[user]\n\tname = Bench\n\temail = bench@example.org\n[init]\n\tdefaultBranch = main\n\
    [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[commit]\n\tgpgsign = false\n[core]\n\tuntrackedCache = true\n\
    [advice]\n\tdetachedHead = false\n";

impl Git {
    pub(crate) fn new(scratch: &Path) -> Result<Git> {
        let home = scratch.join("git-home");
        fs::create_dir_all(&home)?;
        fs::write(home.join(".gitconfig"), GIT_CONFIG)?;
        Ok(Git { home })
    }

    /// What `git --version` says.
    pub(crate) fn version(&self) -> Result<String> {
        let output = self.command(&self.home, &["--version"]).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    }

    /// `git ARGS` in `dir`.
    pub(crate) fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = program::command("git");
        command.args(args).current_dir(dir).env("HOME", &self.home).env("GIT_CONFIG_NOSYSTEM", "1");
        for inherited in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "XDG_CONFIG_HOME"] {
            command.env_remove(inherited);
        }
        command
    }

    /// A new repository in `dir`, in place of one that is there.
    pub(crate) fn begin(&self, dir: &Path) -> Result<()> {
        remove(&dir.join(".git"))?;
        process::run(&mut self.command(dir, &["init", "-q"]))?;
        Ok(())
    }

    /// `git add -A` and `git commit`, the time of both.
    pub(crate) fn commit(&self, dir: &Path) -> Result<process::Taken> {
        let add = process::run(&mut self.command(dir, &["add", "-A"]))?;
        let commit = process::run(&mut self.command(dir, &["commit", "-qm", "work", "--allow-empty"]))?;
        Ok(process::Taken { time: add.time + commit.time, peak_bytes: 0 })
    }
}

/// The gemel program.
#[derive(Debug)]
pub(crate) struct Gemel {
    program: PathBuf,
}

impl Gemel {
    pub(crate) fn new(program: PathBuf) -> Gemel {
        Gemel { program }
    }

    /// `gemel ARGS` in `dir`.
    pub(crate) fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = program::command(&self.program);
        command.args(args).current_dir(dir);
        command
    }

    /// A new store in `dir`, in place of one that is there.
    pub(crate) fn begin(&self, dir: &Path) -> Result<()> {
        remove(&dir.join(".gemel"))?;
        process::run(&mut self.command(dir, &["init"]))?;
        Ok(())
    }
}

/// Removes a folder with all it holds; fine if it is not there.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
        _ => Ok(()),
    }
}

/// Bytes of all files below a folder.
pub(crate) fn bytes_below(folder: &Path) -> Result<u64> {
    let mut total = 0;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                total += entry.metadata()?.len();
            }
        }
    }
    Ok(total)
}
