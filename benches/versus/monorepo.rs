//! The rows over the monorepo: two equal copies, one for each program, and the rounds alternate.

use crate::big::text;
use crate::library;
use crate::peers::{Gemel, Git, bytes_below, remove};
use crate::process;
use crate::table::{Bar, Table, Value, median};
use crate::{Options, Result};
use gemel_tools::corpus;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EDITS: usize = 100;
const STATUS_ROUNDS: usize = 9;
const MEMORY: Value = Value::Bytes(400 << 20);

/// The two copies and what works on them.
struct Pair<'a> {
    git: &'a Git,
    gemel: &'a Gemel,
    theirs: PathBuf,
    ours: PathBuf,
    rounds: usize,
}

pub(crate) fn measure(
    git: &Git,
    gemel: &Gemel,
    scratch: &Path,
    options: &Options,
    table: &mut Table,
) -> Result<()> {
    let (theirs, ours) = (scratch.join("monorepo-git"), scratch.join("monorepo-ours"));
    corpus::generate(&theirs, options.files, options.seed)?;
    let report = corpus::generate(&ours, options.files, options.seed)?;
    table
        .note(&format!("monorepo: {} files, {} bytes, seed {}", report.files, report.bytes, options.seed))?;
    let pair = Pair { git, gemel, theirs, ours, rounds: options.rounds.max(1) };
    pair.first_snapshot(table)?;
    if options.wants("monorepo") {
        pair.status(table)?;
        pair.edits(options.seed, table)?;
    }
    table.note("git gc before the rows that read: git reads from its pack")?;
    process::run(&mut git.command(&pair.theirs, &["gc", "--quiet"]))?;
    if options.wants("monorepo") {
        pair.stored(table)?;
        pair.checkout(scratch, table)?;
        pair.fsck(table)?;
    }
    if options.wants("reads") {
        library::reads(git, &pair.theirs, &pair.ours, options, table)?;
    }
    remove(&pair.theirs)?;
    remove(&pair.ours)
}

impl Pair<'_> {
    fn first_snapshot(&self, table: &mut Table) -> Result<()> {
        let (mut ours, mut theirs, mut peak) = (Vec::new(), Vec::new(), 0);
        for _ in 0..self.rounds {
            self.git.begin(&self.theirs)?;
            theirs.push(self.git.commit(&self.theirs)?.time);
            self.gemel.begin(&self.ours)?;
            let taken = process::run_watched(&mut self.gemel.command(&self.ours, &["snapshot"]))?;
            ours.push(taken.time);
            peak = peak.max(taken.peak_bytes);
        }
        times(table, "first snapshot", &ours, &theirs, 0.15)?;
        table.row("first snapshot, memory", Value::Bytes(peak), None, Bar::AtMost(MEMORY))
    }

    fn status(&self, table: &mut Table) -> Result<()> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..STATUS_ROUNDS + 2 {
            let git = process::run(&mut self.git.command(&self.theirs, &["status"]))?.time;
            let gemel = process::run(&mut self.gemel.command(&self.ours, &["status"]))?.time;
            // Two rounds to settle: git writes its untracked cache, both leave behind times too fresh to trust.
            if round >= 2 {
                theirs.push(git);
                ours.push(gemel);
            }
        }
        times(table, "clean status", &ours, &theirs, 0.8)
    }

    fn edits(&self, seed: u64, table: &mut Table) -> Result<()> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..self.rounds as u64 {
            for copy in [&self.theirs, &self.ours] {
                corpus::edit(copy, EDITS, seed + 1000 + round)?;
            }
            theirs.push(self.git.commit(&self.theirs)?.time);
            ours.push(process::run(&mut self.gemel.command(&self.ours, &["snapshot"]))?.time);
        }
        times(table, "snapshot after 100 edits", &ours, &theirs, 0.4)
    }

    fn stored(&self, table: &mut Table) -> Result<()> {
        let theirs = bytes_below(&self.theirs.join(".git/objects"))?;
        let ours = bytes_below(&self.ours.join(".gemel/packs"))?;
        table.row("stored bytes, monorepo", Value::Bytes(ours), Some(Value::Bytes(theirs)), Bar::None)
    }

    fn checkout(&self, scratch: &Path, table: &mut Table) -> Result<()> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (git_dir, our_dir) = (scratch.join("out-git"), scratch.join("out-ours"));
        // The first snapshot is S1, and each round of edits gave one more.
        let last = format!("S{}", 1 + self.rounds);
        for _ in 0..self.rounds {
            let args = ["worktree", "add", "-q", "--detach", text(&git_dir)?, "HEAD"];
            theirs.push(process::run(&mut self.git.command(&self.theirs, &args))?.time);
            let args = ["checkout", &last, "--dir", text(&our_dir)?];
            ours.push(process::run(&mut self.gemel.command(&self.ours, &args))?.time);
            process::run(
                &mut self.git.command(&self.theirs, &["worktree", "remove", "--force", text(&git_dir)?]),
            )?;
            remove(&our_dir)?;
        }
        times(table, "checkout into an empty folder", &ours, &theirs, 0.7)
    }

    fn fsck(&self, table: &mut Table) -> Result<()> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            theirs.push(process::run(&mut self.git.command(&self.theirs, &["fsck", "--full"]))?.time);
            ours.push(process::run(&mut self.gemel.command(&self.ours, &["fsck"]))?.time);
        }
        times(table, "fsck, everything re-hashed", &ours, &theirs, 0.3)
    }
}

fn times(table: &mut Table, name: &str, ours: &[Duration], theirs: &[Duration], bar: f64) -> Result<()> {
    let ours = median(ours).ok_or("no rounds")?;
    table.row(name, Value::Time(ours), median(theirs).map(Value::Time), Bar::Ratio(bar))
}
