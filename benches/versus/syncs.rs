//! Syncs of each command, counted by the simulated disk; the worktree is a real one.

use crate::Result;
use crate::table::{Bar, Table, Value};
use gemel_repo::facts::Silent;
use gemel_repo::history::{self, BeginOptions, CheckoutOptions, FinishOptions, NameOptions, SnapshotOptions};
use gemel_repo::{InitOptions, Repo};
use gemel_store::vfs::Vfs;
use gemel_store::vfs::sim::SimDisk;
use gemel_tools::corpus;
use std::path::Path;
use std::sync::Arc;

const BAR: Value = Value::Count(6);

/// The commands on a repository of `files` files. What a command may cost does not depend on their number.
pub(crate) fn measure(scratch: &Path, files: usize, seed: u64, table: &mut Table) -> Result<()> {
    let dir = scratch.join(format!("syncs-{files}"));
    corpus::generate(&dir, files, seed)?;
    let disk = SimDisk::new();
    disk.create_dir_all(&dir)?;
    let mut counter = Counter { disk: disk.clone(), last: 0, files, table };
    let repo = Repo::init(Arc::new(disk), &dir, &InitOptions::default())?.repo;
    counter.say("init", Bar::AtMost(BAR))?;
    let snapshot = |repo| history::snapshot(repo, &SnapshotOptions::default(), &Silent);
    snapshot(&repo)?;
    counter.say("first snapshot", Bar::AtMost(BAR))?;
    corpus::edit(&dir, files / 10, seed)?;
    snapshot(&repo)?;
    counter.say("snapshot after edits", Bar::AtMost(BAR))?;
    let intent_summary = Some("count the syncs".to_string());
    history::begin(&repo, &BeginOptions { intent_summary, ..BeginOptions::default() })?;
    counter.say("change begin", Bar::AtMost(BAR))?;
    corpus::edit(&dir, files / 10, seed + 1)?;
    let finish = FinishOptions {
        claims: vec!["src|is counted|other|evidence=0".to_string()],
        evidence: vec!["src|pass".to_string()],
        residuals: vec!["one open end|low|other|claims=0".to_string()],
        ..FinishOptions::default()
    };
    history::finish(&repo, &finish, &Silent)?;
    counter.say("change finish", Bar::AtMost(BAR))?;
    let name = NameOptions { id: "S1".to_string(), name: "before".to_string(), ..NameOptions::default() };
    history::name_set(&repo, &name)?;
    counter.say("name", Bar::AtMost(BAR))?;
    let out = Some(scratch.join(format!("syncs-out-{files}")));
    history::checkout(
        &repo,
        &CheckoutOptions { state: "S1".to_string(), dir: out, ..CheckoutOptions::default() },
        &Silent,
    )?;
    counter.say("checkout", Bar::AtMost(BAR))
}

/// Tells the syncs since it was asked last.
struct Counter<'a, 't> {
    disk: SimDisk,
    last: usize,
    files: usize,
    table: &'a mut Table<'t>,
}

impl Counter<'_, '_> {
    fn say(&mut self, command: &str, bar: Bar) -> Result<()> {
        let total = self.disk.syncs().total();
        let count = Value::Count((total - self.last) as u64);
        self.last = total;
        self.table.row(&format!("syncs, {command}, {} files", self.files), count, None, bar)
    }
}
