//! One big file in and out: what counts is memory.

use crate::Result;
use crate::peers::{Gemel, Git, remove};
use crate::process;
use crate::table::{Bar, Table, Value};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

const BAR: Value = Value::Bytes(320 << 20);

pub(crate) fn measure(git: &Git, gemel: &Gemel, scratch: &Path, mib: u64, table: &mut Table) -> Result<()> {
    let dir = scratch.join("big");
    fs::create_dir_all(&dir)?;
    write_file(&dir.join("big.bin"), mib)?;
    let name = |what: &str| format!("one {mib} MiB file {what}");

    git.begin(&dir)?;
    let git_in = process::run_watched(&mut git.command(&dir, &["add", "-A"]))?;
    process::run(&mut git.command(&dir, &["commit", "-qm", "big"]))?;
    gemel.begin(&dir)?;
    let ours_in = process::run_watched(&mut gemel.command(&dir, &["snapshot"]))?;
    row(table, &name("in"), &ours_in, &git_in)?;

    let (ours_out, git_out) = (scratch.join("big-ours"), scratch.join("big-git"));
    let args = ["worktree", "add", "-q", "--detach", text(&git_out)?];
    let git_taken = process::run_watched(&mut git.command(&dir, &args))?;
    let ours_taken =
        process::run_watched(&mut gemel.command(&dir, &["checkout", "S1", "--dir", text(&ours_out)?]))?;
    row(table, &name("out"), &ours_taken, &git_taken)?;
    if !same(&dir.join("big.bin"), &ours_out.join("big.bin"))? {
        return Err("the big file came out otherwise than it went in".into());
    }
    for folder in [dir, ours_out, git_out] {
        remove(&folder)?;
    }
    Ok(())
}

fn row(table: &mut Table, name: &str, ours: &process::Taken, git: &process::Taken) -> Result<()> {
    let memory = |taken: &process::Taken| Value::Bytes(taken.peak_bytes);
    table.row(&format!("{name}, memory"), memory(ours), Some(memory(git)), Bar::AtMost(BAR))?;
    table.row(&format!("{name}, time"), Value::Time(ours.time), Some(Value::Time(git.time)), Bar::None)
}

/// Blocks that do not compress, every third one zeros.
fn write_file(path: &Path, mib: u64) -> Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut block = vec![0u8; 1 << 20];
    for n in 0..mib {
        for word in block.chunks_exact_mut(8) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            word.copy_from_slice(&if n % 3 == 2 { [0; 8] } else { (state ^ (state >> 29)).to_le_bytes() });
        }
        file.write_all(&block)?;
    }
    Ok(file.flush()?)
}

fn same(a: &Path, b: &Path) -> Result<bool> {
    if fs::metadata(a)?.len() != fs::metadata(b)?.len() {
        return Ok(false);
    }
    let open = |path: &Path| File::open(path).map(|file| BufReader::with_capacity(1 << 20, file));
    let (mut a, mut b) = (open(a)?, open(b)?);
    let (mut left, mut right) = (vec![0u8; 1 << 16], vec![0u8; 1 << 16]);
    loop {
        let n = a.read(&mut left)?;
        if n == 0 {
            return Ok(true);
        }
        b.read_exact(&mut right[..n])?;
        if left[..n] != right[..n] {
            return Ok(false);
        }
    }
}

pub(crate) fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()).into())
}
