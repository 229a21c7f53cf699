//! `versus import PATH`: the history of any Git repository, brought in, looked at and given back, beside what git does
//! with it.
//!
//! Git's side is a bare clone, heads and tags, made over its own transport; ours is a store into which the same
//! repository was imported. Both read the repository at PATH, which nobody changes. Rows that git needs minutes for run
//! once; all others as often as `--rounds` says, by turns, and the medians count.

use crate::Result;
use crate::library::batch;
use crate::peers::{Gemel, Git, bytes_below, remove};
use crate::process::{self, Taken};
use crate::table::{Bar, Table, Value, median};
use gemel_object::{Gid, Limits, blob_envelope};
use gemel_store::Store;
use gemel_store::vfs::real::RealDisk;
use gemel_tools::corpus::Draw;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const ROWS: [&str; 12] = [
    "clone",
    "fast-import",
    "memory",
    "stored",
    "look",
    "reads",
    "fsck",
    "one-more",
    "export",
    "repack",
    "first-look",
    "all",
];

/// The history of a Git repository: import, looks, reads, export, repack
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The Git repository
    path: PathBuf,
    /// Rounds of each measurement; the median counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// What to measure; fast-import and repack take git many minutes on a long history
    #[arg(long, value_delimiter = ',', default_value = "all", value_parser = ROWS)]
    rows: Vec<String>,
    /// Most bytes after import, as a part of those that `git repack -adf` leaves
    #[arg(long, default_value_t = 1.0)]
    stored_bar: f64,
    /// Seed of the blobs drawn at random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for clones and stores
    #[arg(long)]
    pub(crate) scratch: Option<PathBuf>,
    /// The gemel program to measure, instead of the one of this checkout
    #[arg(long)]
    pub(crate) gemel: Option<PathBuf>,
}

/// Random reads in one measurement.
const READS: usize = 20_000;
/// Rounds of what takes milliseconds.
const LOOKS: usize = 15;
const LOOK_BAR: Value = Value::Time(Duration::from_millis(30));
const ONE_MORE_BAR: Value = Value::Time(Duration::from_millis(500));
const MEMORY_BAR: Value = Value::Bytes(2 << 30);

/// The two sides.
struct Work<'a> {
    git: &'a Git,
    gemel: &'a Gemel,
    args: &'a Args,
    source: PathBuf,
    scratch: &'a Path,
    /// Git's bare clone.
    theirs: PathBuf,
    /// Our repository.
    ours: PathBuf,
    /// Where exports go.
    back: PathBuf,
}

/// Measures the rows that were asked for.
pub(crate) fn measure(
    git: &Git,
    gemel: &Gemel,
    scratch: &Path,
    args: &Args,
    table: &mut Table<'_>,
) -> Result<()> {
    let work = Work {
        source: args.path.canonicalize()?,
        theirs: scratch.join("theirs.git"),
        ours: scratch.join("ours"),
        back: scratch.join("back.git"),
        scratch,
        git,
        gemel,
        args,
    };
    table.note(&format!("{}: {}", work.source.display(), work.size()?))?;
    let cloned = work.import(table)?;
    if work.wants("fast-import") {
        work.fast_import(&cloned, table)?;
    }
    if work.wants("first-look") {
        work.first_look(table)?;
    }
    if work.wants("look") {
        work.look(table)?;
    }
    if work.wants("stored") {
        work.stored(table)?;
    }
    if work.wants("reads") {
        work.reads(table)?;
    }
    if work.wants("fsck") {
        work.fsck(table)?;
    }
    if work.wants("export") {
        work.export(&cloned, table)?;
    }
    if work.wants("one-more") {
        work.one_more(table)?;
    }
    if work.wants("repack") {
        work.repack(table)?;
    }
    Ok(())
}

/// Times of the first rows, which later ones compare with.
struct Cloned {
    clone: Duration,
    import: Duration,
}

impl Work<'_> {
    fn wants(&self, row: &str) -> bool {
        self.args.rows.iter().any(|wanted| wanted == row || wanted == "all")
    }

    fn rounds(&self) -> usize {
        self.args.rounds.max(1)
    }

    /// What the repository holds.
    fn size(&self) -> Result<String> {
        let count = |args: &[&str]| -> Result<String> {
            let output = self.git.command(&self.source, args).output()?;
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let commits = count(&["rev-list", "--count", "--branches", "--tags"])?;
        let refs = count(&["for-each-ref", "--format=x", "refs/heads", "refs/tags"])?.lines().count();
        Ok(format!("{commits} commits, {refs} branches and tags"))
    }

    fn ours(&self, args: &[&str]) -> Command {
        self.gemel.command(&self.ours, args)
    }

    fn theirs(&self, args: &[&str]) -> Command {
        self.git.command(&self.theirs, args)
    }

    /// Both sides anew; by the way the rows about how long that takes and how much memory.
    fn import(&self, table: &mut Table<'_>) -> Result<Cloned> {
        let measured = ["clone", "memory", "export", "fast-import"].iter().any(|row| self.wants(row));
        let (mut ours, mut theirs, mut peak) = (Vec::new(), Vec::new(), 0);
        for _ in 0..if measured { self.rounds() } else { 1 } {
            remove(&self.theirs)?;
            let (from, to) = (text(&self.source)?, text(&self.theirs)?);
            let args = ["clone", "-q", "--bare", "--no-local", "--", from, to];
            theirs.push(process::run(&mut self.git.command(self.scratch, &args))?.time);
            remove(&self.ours)?;
            fs::create_dir_all(&self.ours)?;
            self.gemel.begin(&self.ours)?;
            let taken = process::run_watched(&mut self.ours(&["import-git", "--git-dir", from]))?;
            ours.push(taken.time);
            peak = peak.max(taken.peak_bytes);
        }
        if self.wants("clone") {
            times(table, "import, against clone", &ours, Some(&theirs), Bar::Ratio(1.0))?;
        }
        if self.wants("memory") {
            table.row("import, memory", Value::Bytes(peak), None, Bar::AtMost(MEMORY_BAR))?;
        }
        let middle = |times: &[Duration]| median(times).ok_or("no rounds");
        Ok(Cloned { clone: middle(&theirs)?, import: middle(&ours)? })
    }

    fn fast_import(&self, cloned: &Cloned, table: &mut Table<'_>) -> Result<()> {
        let target = self.scratch.join("fast.git");
        remove(&target)?;
        process::run(&mut self.git.command(self.scratch, &["init", "-q", "--bare", text(&target)?]))?;
        let exported = ["fast-export", "--all", "--signed-tags=verbatim", "--reencode=no"];
        let mut export = self.theirs(&exported);
        let mut import = self.git.command(&target, &["fast-import", "--quiet"]);
        let taken = piped(&mut export, &mut import)?;
        remove(&target)?;
        let theirs = Some(Value::Time(taken));
        table.row("import, against fast-import", Value::Time(cloned.import), theirs, Bar::Ratio(0.15))
    }

    /// What a person meets who looks at a fresh import: nothing that answers derive is there yet.
    fn first_look(&self, table: &mut Table<'_>) -> Result<()> {
        for args in [&["log", "--limit", "100"][..], &["show", "@"]] {
            remove(&self.ours.join(".gemel/cache"))?;
            fs::create_dir_all(self.ours.join(".gemel/cache"))?;
            let taken = process::run(&mut self.ours(args))?;
            table.row(
                &format!("{}, for the first time", args[0]),
                Value::Time(taken.time),
                None,
                Bar::None,
            )?;
        }
        Ok(())
    }

    /// Whole processes that answer at once, over the files of head.
    fn look(&self, table: &mut Table<'_>) -> Result<()> {
        process::run(&mut self.ours(&["checkout", "@state"]))?;
        let head = self.oid("HEAD")?;
        let name = format!("git:{head}");
        type Look<'l> = (&'l str, &'l [&'l str], Option<&'l [&'l str]>);
        let looks: [Look<'_>; 4] = [
            ("log of 100", &["log", "--limit", "100"], Some(&["log", "-100", "--format=%h %as %an %s"])),
            ("show of head", &["show", "@"], Some(&["show", "-s", "HEAD"])),
            ("show of a commit by its name", &["show", &name], Some(&["show", "-s", &head])),
            ("status", &["status"], None),
        ];
        for (what, ours, theirs) in looks {
            let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
            for round in 0..LOOKS + 2 {
                let ours = process::run(&mut self.ours(ours))?.time;
                let theirs = theirs.map(|args| process::run(&mut self.theirs(args))).transpose()?;
                // Two rounds to settle: the first ones keep what they derived.
                if round >= 2 {
                    our_times.push(ours);
                    their_times.extend(theirs.map(|taken: Taken| taken.time));
                }
            }
            let theirs = (!their_times.is_empty()).then_some(their_times.as_slice());
            times(table, what, &our_times, theirs, Bar::AtMost(LOOK_BAR))?;
        }
        Ok(())
    }

    fn stored(&self, table: &mut Table<'_>) -> Result<()> {
        let ours = bytes_below(&self.ours.join(".gemel"))? - cache_bytes(&self.ours)?;
        process::run(&mut self.theirs(&["repack", "-adfq"]))?;
        let theirs = Some(Value::Bytes(pack_bytes(&self.theirs)?));
        table.row("bytes, against repack -adf", Value::Bytes(ours), theirs, Bar::Ratio(self.args.stored_bar))
    }

    fn repack(&self, table: &mut Table<'_>) -> Result<()> {
        let ours = process::run(&mut self.ours(&["repack"]))?.time;
        let theirs = process::run(&mut self.theirs(&["gc", "--aggressive", "--prune=now", "--quiet"]))?.time;
        table.row(
            "repack, against gc --aggressive",
            Value::Time(ours),
            Some(Value::Time(theirs)),
            Bar::None,
        )?;
        let ours = bytes_below(&self.ours.join(".gemel"))? - cache_bytes(&self.ours)?;
        let theirs = Some(Value::Bytes(pack_bytes(&self.theirs)?));
        table.row("bytes, against gc --aggressive", Value::Bytes(ours), theirs, Bar::Ratio(1.0))
    }

    fn export(&self, cloned: &Cloned, table: &mut Table<'_>) -> Result<()> {
        let mut ours = Vec::new();
        for _ in 0..self.rounds() {
            remove(&self.back)?;
            ours.push(process::run(&mut self.ours(&["export-git", "--git-dir", text(&self.back)?]))?.time);
        }
        times(table, "export, against clone", &ours, Some(&[cloned.clone]), Bar::Ratio(1.5))?;
        let listed = |dir: &Path| -> Result<Vec<u8>> {
            let args = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"];
            Ok(self.git.command(dir, &args).output()?.stdout)
        };
        let same = listed(&self.source)? == listed(&self.back)?;
        table.note(if same {
            "every branch and tag came back"
        } else {
            "BRANCHES OR TAGS CAME BACK CHANGED"
        })?;
        remove(&self.back)
    }

    fn fsck(&self, table: &mut Table<'_>) -> Result<()> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds() {
            // What git finds wrong with an old history is no failure of the measurement.
            theirs.push(ended(&mut self.theirs(&["fsck", "--full", "--no-dangling"]))?);
            ours.push(process::run(&mut self.ours(&["fsck"]))?.time);
        }
        times(table, "fsck, everything re-hashed", &ours, Some(&theirs), Bar::Ratio(0.3))
    }

    /// Imports of a repository that has grown by a commit which changes one file.
    fn one_more(&self, table: &mut Table<'_>) -> Result<()> {
        let mut ours = Vec::new();
        for round in 0..self.rounds() {
            self.commit(round)?;
            let args = ["import-git", "--git-dir", text(&self.theirs)?];
            ours.push(process::run(&mut self.ours(&args))?.time);
        }
        times(table, "import of one more commit", &ours, None, Bar::AtMost(ONE_MORE_BAR))
    }

    /// Adds a commit to the branch of git's clone: the first file of head has one line more.
    fn commit(&self, round: usize) -> Result<()> {
        let index = self.scratch.join("index");
        let with_index = |args: &[&str]| {
            let mut command = self.theirs(args);
            command.env("GIT_INDEX_FILE", &index);
            command
        };
        let listing = self.theirs(&["ls-tree", "-r", "HEAD"]).output()?.stdout;
        let listing = String::from_utf8_lossy(&listing);
        let (entry, path) = listing
            .lines()
            .find(|line| line.starts_with("100"))
            .and_then(|line| line.split_once('\t'))
            .ok_or("head holds no file")?;
        let mut words = entry.split(' ');
        let (mode, oid) = (words.next().ok_or("no mode")?, words.nth(1).ok_or("no object name")?);
        let mut body = self.theirs(&["cat-file", "blob", oid]).output()?.stdout;
        body.extend_from_slice(format!("one more line, {round}\n").as_bytes());
        let blob = said(&mut self.theirs(&["hash-object", "-w", "--stdin"]), &body)?;
        said(&mut with_index(&["read-tree", "HEAD"]), &[])?;
        said(
            &mut with_index(&["update-index", "--add", "--cacheinfo", &format!("{mode},{blob},{path}")]),
            &[],
        )?;
        let tree = said(&mut with_index(&["write-tree"]), &[])?;
        let commit = said(&mut self.theirs(&["commit-tree", &tree, "-p", "HEAD", "-m", "one more"]), &[])?;
        said(&mut self.theirs(&["update-ref", "HEAD", &commit]), &[])?;
        Ok(())
    }

    /// Blobs drawn from the whole history: one process of `git cat-file --batch` that is given every name at once, and
    /// one store that is opened and asked for each.
    fn reads(&self, table: &mut Table<'_>) -> Result<()> {
        let listed = self.theirs(&["cat-file", "--batch-all-objects", "--batch-check"]).output()?.stdout;
        let listed = String::from_utf8(listed)?;
        let blobs: Vec<&str> = listed
            .lines()
            .filter(|line| line.contains(" blob "))
            .filter_map(|line| line.split(' ').next())
            .collect();
        if blobs.is_empty() {
            return table.note("no blobs to read");
        }
        let mut draw = Draw::new(self.args.seed);
        let drawn: Vec<&str> = (0..READS).map(|_| blobs[draw.below(blobs.len())]).collect();
        let request: String = drawn.iter().map(|oid| format!("{oid}\n")).collect();
        let ids = self.identities(&request)?;
        let store = || Store::open(Arc::new(RealDisk::new()), &self.ours.join(".gemel"));
        let held = store()?;
        if let Some(absent) = ids.iter().find(|id| !held.contains(id).unwrap_or(false)) {
            return Err(format!("{absent} was not brought in").into());
        }
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds() {
            theirs.push(batch(self.theirs(&["cat-file", "--batch", "--buffer"]), request.clone())?);
            let started = Instant::now();
            let store = store()?;
            let mut bytes = 0;
            for id in &ids {
                bytes += store.read(id)?.len();
            }
            std::hint::black_box(bytes);
            ours.push(started.elapsed());
        }
        let each =
            |times: &[Duration]| -> Vec<Duration> { times.iter().map(|t| *t / READS as u32).collect() };
        times(table, "random read of a blob", &each(&ours), Some(&each(&theirs)), Bar::Ratio(1.0))
    }

    /// The identities of the blobs that are asked for, in order.
    fn identities(&self, request: &str) -> Result<Vec<Gid>> {
        let mut command = self.theirs(&["cat-file", "--batch", "--buffer"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut input = child.stdin.take().ok_or("no input")?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let request = request.to_owned();
        let feeder = thread::spawn(move || input.write_all(request.as_bytes()));
        let (mut ids, mut line) = (Vec::new(), String::new());
        while output.read_line(&mut line)? > 0 {
            let len: usize = line.trim_end().rsplit(' ').next().ok_or("an empty line")?.parse()?;
            let mut body = vec![0; len + 1];
            output.read_exact(&mut body)?;
            ids.push(blob_envelope(&body[..len], &Limits::DEFAULT)?.id);
            line.clear();
        }
        feeder.join().map_err(|_| "feeding failed")??;
        child.wait()?;
        Ok(ids)
    }

    fn oid(&self, revision: &str) -> Result<String> {
        said(&mut self.theirs(&["rev-parse", "--verify", revision]), &[])
    }
}

fn times(
    table: &mut Table<'_>,
    name: &str,
    ours: &[Duration],
    theirs: Option<&[Duration]>,
    bar: Bar,
) -> Result<()> {
    let ours = median(ours).ok_or("no rounds")?;
    table.row(name, Value::Time(ours), theirs.and_then(median).map(Value::Time), bar)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()).into())
}

/// Bytes of packs and their indexes.
fn pack_bytes(git_dir: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(git_dir.join("objects/pack"))? {
        let entry = entry?;
        let kind = entry.path().extension().is_some_and(|ending| ending == "pack" || ending == "idx");
        total += if kind { entry.metadata()?.len() } else { 0 };
    }
    Ok(total)
}

/// Bytes of what answers derived, which a fresh import does not have.
fn cache_bytes(root: &Path) -> Result<u64> {
    bytes_below(&root.join(".gemel/cache"))
}

/// Runs a command to its end, however that is; its time.
fn ended(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    command.status()?;
    Ok(started.elapsed())
}

/// What a command says that is given `input`, without the last line break.
fn said(command: &mut Command, input: &[u8]) -> Result<String> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("no input")?.write_all(input)?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// Two commands, the output of the one the input of the other; their time together.
fn piped(from: &mut Command, to: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    let mut first = from.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = first.stdout.take().ok_or("no output")?;
    let status = to.stdin(output).stdout(Stdio::null()).status()?;
    let ended = first.wait()?;
    if !status.success() || !ended.success() {
        return Err(format!("{from:?} ended with {ended}, {to:?} with {status}").into());
    }
    Ok(started.elapsed())
}
