//! Rows measured through the library: random reads, identity lookup.

use crate::peers::Git;
use crate::table::{Bar, Table, Value, median};
use crate::{Options, Result};
use gemel_benches::random_keys;
use gemel_object::{Gid, Limits, blob_envelope};
use gemel_packfmt::Key;
use gemel_packfmt::index::{Index, IndexBuilder, Place};
use gemel_store::Store;
use gemel_store::vfs::real::RealDisk;
use gemel_tools::corpus::Draw;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const READS: usize = 20_000;
const LOOKUPS: usize = 1_000_000;
const LOOKUP_BAR: Value = Value::Time(Duration::from_nanos(400));
const SIZE_BAR: Value = Value::BytesEach(46.0);

/// Blobs of random files of the monorepo, all of them in random order: one process of `git cat-file --batch` that is
/// given every name at once, and one store that is opened and asked for each.
pub(crate) fn reads(
    git: &Git,
    theirs: &Path,
    ours: &Path,
    options: &Options,
    table: &mut Table,
) -> Result<()> {
    let names = listing(git, theirs)?;
    let mut draw = Draw::new(options.seed);
    let sample: Vec<&(String, PathBuf)> =
        (0..READS.min(names.len())).map(|_| &names[draw.below(names.len())]).collect();
    let request: String = sample.iter().map(|(oid, _)| format!("{oid}\n")).collect();
    // The newest state is equal in both, so the bytes of the working copy tell the identity.
    let ids: Vec<Gid> =
        sample.iter().map(|(_, path)| blob_id(&fs::read(ours.join(path))?)).collect::<Result<_>>()?;
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds.max(1) {
        their_times.push(batch(git.command(theirs, &["cat-file", "--batch", "--buffer"]), request.clone())?);
        let started = Instant::now();
        let store = Store::open(Arc::new(RealDisk::new()), &ours.join(".gemel"))?;
        let mut bytes = 0;
        for id in &ids {
            bytes += store.read(id)?.len();
        }
        std::hint::black_box(bytes);
        our_times.push(started.elapsed());
    }
    let each = |times: &[Duration]| median(times).map(|time| Value::Time(time / READS as u32));
    let ours = each(&our_times).ok_or("no rounds")?;
    table.row("random read of a blob", ours, each(&their_times), Bar::Ratio(0.5))
}

fn blob_id(body: &[u8]) -> Result<Gid> {
    Ok(blob_envelope(body, &Limits::DEFAULT)?.id)
}

/// Object names and paths of the regular files of HEAD that are in the working copy.
fn listing(git: &Git, dir: &Path) -> Result<Vec<(String, PathBuf)>> {
    let output = git.command(dir, &["ls-tree", "-r", "-z", "HEAD"]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut found = Vec::new();
    for line in text.split_terminator('\0') {
        let (what, path) = line.split_once('\t').ok_or("unexpected line of ls-tree")?;
        // The ignore file at the root is configuration to gemel, not content.
        if what.starts_with("100") && path != ".gitignore" {
            let oid = what.rsplit(' ').next().ok_or("unexpected line of ls-tree")?;
            found.push((oid.to_string(), PathBuf::from(path)));
        }
    }
    Ok(found)
}

/// Time from start to last byte of a process that is fed `input`; its output is read and thrown away.
pub(crate) fn batch(mut command: Command, input: String) -> Result<Duration> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    let mut stdout = child.stdout.take().ok_or("no output")?;
    let feeder = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let mut buffer = vec![0; 1 << 16];
    while stdout.read(&mut buffer)? > 0 {}
    feeder.join().map_err(|_| "feeding failed")??;
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("{command:?} ended with {status}").into());
    }
    Ok(started.elapsed())
}

/// Warm lookups of random keys in one index of `keys` objects, each hit checked against the key table.
pub(crate) fn lookup(keys: usize, seed: u64, table: &mut Table) -> Result<()> {
    let keys = random_keys(keys, seed);
    let place = |ordinal: u32| Place { offset: 16 + u64::from(ordinal) * 300, ordinal };
    let objects = keys.iter().zip(0u32..).map(|(key, n)| (*key, place(n))).collect();
    let bytes = IndexBuilder { objects, ..IndexBuilder::default() }.build()?;
    let index = Index::open(&bytes)?;
    let mut draw = Draw::new(seed);
    // Copied, so that the key asked for is at hand, as it is to a caller.
    let asked: Vec<Key> = (0..LOOKUPS).map(|_| keys[draw.below(keys.len())]).collect();
    let mut times = Vec::new();
    for _ in 0..5 {
        let started = Instant::now();
        let hit = |key: &&Key| index.find(&bytes, key).is_some();
        if asked.iter().filter(hit).count() != asked.len() {
            return Err("a key was not found".into());
        }
        times.push(started.elapsed() / LOOKUPS as u32);
    }
    let each = bytes.len() as f64 / keys.len() as f64;
    let name = |what: &str| format!("{what}, {} keys", keys.len());
    table.row(
        &name("id lookup"),
        Value::Time(median(&times).ok_or("no rounds")?),
        None,
        Bar::AtMost(LOOKUP_BAR),
    )?;
    table.row(&name("index per object"), Value::BytesEach(each), None, Bar::AtMost(SIZE_BAR))
}
