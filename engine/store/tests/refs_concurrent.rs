//! Readers beside writers on a real disk: whatever is folded, replaced and removed under them, they see whole
//! transactions, in order (STO-04, REF-04, T-22).
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod refs_support;

use gemel_store::refs;
use gemel_store::vfs::{Vfs, real::RealDisk};
use refs_support::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const WRITERS: u64 = 3;
const TRANSACTIONS: u64 = 60;

/// Every transaction raises one number and writes it under two names.
fn write(disk: &Arc<dyn Vfs>, dir: &Path, writer: u64) {
    for _ in 0..TRANSACTIONS {
        let lock = disk.lock(&dir.join("lock")).unwrap();
        let mut t = refs::begin_with(disk, dir, lock, Box::new(|_| Ok(None)), TINY).unwrap();
        let n = t.refs().max_number("refs/names", "C").unwrap() + 1;
        t.set("refs/head", change(n));
        t.set(format!("refs/names/C{n}"), change(n));
        t.set_record(format!("local/writers/{writer}"), n.to_string().into_bytes());
        t.commit("write", 0).unwrap();
    }
}

fn watch(disk: &Arc<dyn Vfs>, dir: &Path, done: &AtomicBool) -> usize {
    let (mut last, mut looks) = (0, 0);
    while !done.load(Ordering::Acquire) {
        let refs = refs::open(disk, dir).unwrap();
        let n = refs.max_number("refs/names", "C").unwrap();
        assert!(n >= last, "{n} after {last}");
        assert_eq!(refs.sequence(), n, "one number a transaction");
        if n > 0 {
            assert_eq!(refs.get("refs/head").unwrap(), Some(change(n)));
            assert_eq!(refs.count("refs/names/").unwrap(), n);
        }
        let report = refs::verify(disk, dir).unwrap();
        assert!(!report.has_errors(), "{:?}", report.findings);
        (last, looks) = (n, looks + 1);
    }
    looks
}

#[test]
fn readers_see_whole_transactions_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let disk: Arc<dyn Vfs> = Arc::new(RealDisk::new());
    refs::init(&disk, dir).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| watch(&disk, dir, &done))).collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                scope.spawn({
                    let disk = &disk;
                    move || write(disk, dir, w)
                })
            })
            .collect();
        let written: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
        done.store(true, Ordering::Release);
        assert!(readers.into_iter().all(|r| r.join().unwrap() > 0));
        assert!(written.iter().all(Result::is_ok));
    });
    let refs = refs::open(&disk, dir).unwrap();
    assert_eq!(refs.max_number("refs/names", "C").unwrap(), WRITERS * TRANSACTIONS);
    assert_eq!(refs::verify(&disk, dir).unwrap().findings, []);
}
