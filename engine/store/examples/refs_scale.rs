//! Prints what refs cost by their number: `cargo run --release -p gemel-store --example refs_scale [NAMES...]`.

use gemel_object::{Family, Gid};
use gemel_store::refs;
use gemel_store::vfs::{Vfs, real::RealDisk};
use std::error::Error;
use std::hint::black_box;
use std::io::{Write, stdout};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let sizes: Vec<u64> = std::env::args().skip(1).map(|n| n.parse()).collect::<Result<_, _>>()?;
    let sizes = if sizes.is_empty() { vec![10_000, 100_000, 1_000_000] } else { sizes };
    let mut out = stdout();
    writeln!(
        out,
        "names      bulk write   bytes/name  open     lookup   absent   max_number  small commit  scan/name"
    )?;
    for names in sizes {
        writeln!(out, "{}", measure(names)?)?;
    }
    Ok(())
}

/// Spreads numbers so that neighbours in time are none in order, as object names are.
fn scattered(n: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn name(n: u64) -> String {
    format!("refs/mappings/import/git_commit/{:016x}{:016x}{:08x}", scattered(n), scattered(n + 7), n)
}

fn id(family: Family, n: u64) -> Gid {
    Gid::of_envelope(family, &n.to_le_bytes())
}

fn measure(names: u64) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let dir = folder.path();
    let disk: Arc<dyn Vfs> = Arc::new(RealDisk::new());
    refs::init(&disk, dir)?;
    let start = Instant::now();
    let mut bulk = begin(&disk, dir)?;
    for n in 0..names / 2 {
        bulk.set(name(n), id(Family::Mapping, n));
        bulk.set(format!("refs/names/C{}", n + 1), id(Family::Change, n));
    }
    bulk.commit("import", 0)?;
    let written = start.elapsed();
    let bytes: u64 = disk.list(&dir.join("refdb"))?.iter().map(|e| e.size_bytes).sum();

    let start = Instant::now();
    for _ in 0..100 {
        black_box(refs::open(&disk, dir)?);
    }
    let opened = start.elapsed() / 100;

    const LOOKUPS: u64 = 200_000;
    let refs = refs::open(&disk, dir)?;
    let wanted: Vec<String> = (0..LOOKUPS).map(|n| name(scattered(n) % (names / 2))).collect();
    let absent: Vec<String> = (0..LOOKUPS).map(|n| name(names + n)).collect();
    let time = |list: &[String]| -> Result<u128, Box<dyn Error>> {
        let start = Instant::now();
        for name in list {
            black_box(refs.get(name)?);
        }
        Ok(start.elapsed().as_nanos() / u128::from(LOOKUPS))
    };
    time(&wanted)?;
    let (found, missed) = (time(&wanted)?, time(&absent)?);

    let start = Instant::now();
    let largest = refs::open(&disk, dir)?.max_number("refs/names", "C")?;
    let numbered = start.elapsed();

    let start = Instant::now();
    for n in 0..100 {
        let mut t = begin(&disk, dir)?;
        t.set("refs/head", id(Family::Change, n));
        t.set(format!("refs/names/C{}", largest + n), id(Family::Change, n));
        t.commit("finish", 0)?;
    }
    let small = start.elapsed() / 100;

    let start = Instant::now();
    let scanned = refs.count("")?;
    let scan = start.elapsed().as_nanos() / u128::from(scanned);
    Ok(format!(
        "{names:<10} {written:<12.1?} {:<11.1} {opened:<8.0?} {found:<5} ns {missed:<5} ns {numbered:<11.0?} {small:<13.0?} {scan} ns",
        bytes as f64 / names as f64
    ))
}

fn begin(disk: &Arc<dyn Vfs>, dir: &Path) -> Result<gemel_store::Transaction, Box<dyn Error>> {
    let lock = disk.lock(&dir.join("lock"))?;
    Ok(refs::begin(disk, dir, lock, Box::new(|_| Ok(None)))?)
}
