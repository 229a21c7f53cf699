//! The whole process of `status` where there is nearly nothing to do.

use crate::Result;
use crate::peers::{Gemel, Git};
use crate::process;
use crate::table::{Bar, Table, Value, median};
use std::fs;
use std::path::Path;
use std::time::Duration;

const FILES: usize = 10;
const ROUNDS: usize = 40;
const BAR: Duration = Duration::from_millis(10);

pub(crate) fn measure(git: &Git, gemel: &Gemel, scratch: &Path, table: &mut Table) -> Result<()> {
    let dir = scratch.join("tiny");
    fs::create_dir_all(dir.join("src"))?;
    for n in 0..FILES {
        fs::write(dir.join(format!("src/file{n}.txt")), format!("file {n}\n").repeat(n + 1))?;
    }
    git.begin(&dir)?;
    git.commit(&dir)?;
    gemel.begin(&dir)?;
    process::run(&mut gemel.command(&dir, &["snapshot"]))?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(process::run(&mut git.command(&dir, &["status"]))?.time);
        ours.push(process::run(&mut gemel.command(&dir, &["status"]))?.time);
    }
    let time = |times: &[Duration]| median(times).map(Value::Time);
    let ours = time(&ours).ok_or("no rounds")?;
    table.row("status, tiny repository", ours, time(&theirs), Bar::AtMost(Value::Time(BAR)))
}
