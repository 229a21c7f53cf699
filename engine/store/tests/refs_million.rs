//! 1,000,000 refs: right answers by lookup, scan and number, a folded transaction that does not rewrite them, and
//! the time of a lookup, printed beside that of a small database.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod refs_support;

use gemel_object::Family;
use gemel_store::refs::{self, RefOptions};
use gemel_store::vfs::sim::SimDisk;
use refs_support::*;
use std::time::{Duration, Instant};

fn filled(names: u64) -> SimDisk {
    let disk = fresh();
    let mut t = begin(&disk, RefOptions::default()).unwrap();
    for n in 1..=names / 2 {
        t.set(
            format!("refs/mappings/import/git_commit/{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            id(Family::Mapping, n),
        );
        t.set(format!("refs/names/C{n}"), change(n));
    }
    t.commit("import", 0).unwrap();
    disk.fork()
}

fn lookup_time(disk: &SimDisk, names: u64) -> Duration {
    let refs = refs::open(&vfs(disk), dir()).unwrap();
    let wanted: Vec<u64> = (1..=20_000).map(|n: u64| n.wrapping_mul(7_368_787) % (names / 2) + 1).collect();
    let start = Instant::now();
    for n in &wanted {
        assert_eq!(refs.get(&format!("refs/names/C{n}")).unwrap(), Some(change(*n)));
    }
    start.elapsed() / 20_000
}

#[test]
fn a_million_refs() {
    const NAMES: u64 = 1_000_000;
    let (small, large) = (filled(10_000), filled(NAMES));
    println!(
        "lookup among 10,000: {:?}, among 1,000,000: {:?}",
        lookup_time(&small, 10_000),
        lookup_time(&large, NAMES)
    );
    let refs = refs::open(&vfs(&large), dir()).unwrap();
    assert_eq!(refs.max_number("refs/names", "C").unwrap(), NAMES / 2);
    assert_eq!(refs.get("refs/names/C500001").unwrap(), None);
    assert_eq!(refs.count("refs/names/C4999").unwrap(), 1 + 10 + 100);
    let mapped = refs.scan("refs/mappings/").unwrap().next().unwrap().0;
    assert!(mapped.starts_with("refs/mappings/import/git_commit/0000"));
    // A small table goes on top; the large one is not written again.
    let before: u64 = large.files().values().map(|f| f.len() as u64).sum();
    for n in [NAMES, NAMES + 1] {
        commit(&large, RefOptions { tail_records: 0, ..RefOptions::default() }, &step(n)).unwrap();
    }
    let after: u64 = large.files().values().map(|f| f.len() as u64).sum();
    assert!(after < before + 10_000, "{before} {after}");
    let refs = refs::open(&vfs(&large), dir()).unwrap();
    assert_eq!(refs.max_number("refs/names", "C").unwrap(), NAMES + 1);
    assert_eq!(refs.get("refs/names/C77").unwrap(), Some(change(77)));
}
