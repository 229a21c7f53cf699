//! What a real source tree takes on disk: packs and their indexes against git's objects after `git gc`. What either
//! keeps to look at a worktree again (stat cache, index) is left out.

use crate::Result;
use crate::peers::{Gemel, Git, bytes_below, remove};
use crate::process;
use crate::table::{Bar, Table, Value};
use gemel_tools::corpus;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn measure(
    git: &Git,
    gemel: &Gemel,
    scratch: &Path,
    trees: &[PathBuf],
    table: &mut Table,
) -> Result<()> {
    if trees.is_empty() {
        table.note("stored bytes: give source trees with --tree PATH")?;
    }
    for tree in trees {
        let dir = scratch.join("stored");
        remove(&dir)?;
        copy(tree, &dir)?;
        git.begin(&dir)?;
        git.commit(&dir)?;
        process::run(&mut git.command(&dir, &["gc", "--quiet"]))?;
        let theirs = bytes_below(&dir.join(".git/objects"))?;
        remove(&dir.join(".git"))?;
        gemel.begin(&dir)?;
        process::run(&mut gemel.command(&dir, &["snapshot"]))?;
        let ours = bytes_below(&dir.join(".gemel/packs"))?;
        let name =
            tree.file_name().map_or_else(|| tree.display().to_string(), |n| n.to_string_lossy().into_owned());
        let name = format!("stored bytes, {name}");
        table.row(&name, Value::Bytes(ours), Some(Value::Bytes(theirs)), Bar::Ratio(1.0))?;
        remove(&dir)?;
    }
    Ok(())
}

/// Copies a tree without the stores in it; links stay links.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let (source, target) = (entry.path(), to.join(&name));
        let kind = entry.file_type()?;
        if name == ".git" || name == ".gemel" {
            continue;
        } else if kind.is_dir() {
            copy(&source, &target)?;
        } else if kind.is_symlink() {
            corpus::make_link(&fs::read_link(&source)?, &target)?;
        } else {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}
