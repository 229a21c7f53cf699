//! Refs on a real disk: what goes in comes out, and rules are kept.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_object::{Family, Gid};
use gemel_store::refs::{self, RefOptions};
use gemel_store::vfs::{Vfs, real::RealDisk};
use gemel_store::{RefValue, StoreError, Transaction};
use std::path::Path;
use std::sync::Arc;

fn id(family: Family, n: u8) -> Gid {
    Gid::new(family, [n; 32])
}

fn begin(vfs: &Arc<dyn Vfs>, dir: &Path) -> Transaction {
    let lock = vfs.lock(&dir.join("lock")).unwrap();
    refs::begin(vfs, dir, lock, Box::new(|ids| Ok(ids.iter().find(|id| id.digest()[0] == 99).copied())))
        .unwrap()
}

fn fresh() -> (tempfile::TempDir, Arc<dyn Vfs>) {
    let dir = tempfile::tempdir().unwrap();
    let vfs: Arc<dyn Vfs> = Arc::new(RealDisk::new());
    refs::init(&vfs, dir.path()).unwrap();
    (dir, vfs)
}

#[test]
fn set_get_scan_remove() {
    let (dir, vfs) = fresh();
    let mut t = begin(&vfs, dir.path());
    t.set("refs/head", id(Family::Change, 1));
    t.set("refs/state/head", id(Family::State, 2));
    t.set("refs/names/C1", id(Family::Change, 1));
    t.set_record("local/counters/change", b"1".to_vec());
    t.commit("change finish", 1000).unwrap();
    let refs = refs::open(&vfs, dir.path()).unwrap();
    assert_eq!(refs.get("refs/head").unwrap(), Some(id(Family::Change, 1)));
    assert_eq!(refs.record("local/counters/change").unwrap(), Some(b"1".to_vec()));
    assert_eq!(refs.max_number("refs/names", "C").unwrap(), 1);
    let all: Vec<_> = refs.scan("refs/").unwrap().map(|(n, v)| (n, v.unwrap())).collect();
    assert_eq!(
        all,
        [
            ("refs/head".to_owned(), RefValue::Id(id(Family::Change, 1))),
            ("refs/names/C1".to_owned(), RefValue::Id(id(Family::Change, 1))),
            ("refs/state/head".to_owned(), RefValue::Id(id(Family::State, 2))),
        ]
    );
    let mut t = begin(&vfs, dir.path());
    t.remove("refs/names/C1");
    t.commit("x", 2000).unwrap();
    let refs = refs::open(&vfs, dir.path()).unwrap();
    assert_eq!(refs.get("refs/names/C1").unwrap(), None);
    assert_eq!(refs.count("").unwrap(), 3);
    assert!(!refs::verify(&vfs, dir.path()).unwrap().has_errors());
    let journal = refs::journal_entries(&vfs, dir.path(), 10).unwrap();
    assert_eq!(journal.iter().map(|e| (e.sequence, e.edit_count)).collect::<Vec<_>>(), [(2, 1), (1, 4)]);
}

#[test]
fn many_transactions_fold_and_stay() {
    let (dir, vfs) = fresh();
    for n in 1..=300u32 {
        let mut t = begin(&vfs, dir.path());
        t.set(format!("refs/names/C{n}"), id(Family::Change, (n % 90) as u8));
        t.set("refs/head", id(Family::Change, (n % 90) as u8));
        t.commit("change finish", 1000).unwrap();
    }
    let refs = refs::open(&vfs, dir.path()).unwrap();
    assert_eq!(refs.count("refs/names/").unwrap(), 300);
    assert_eq!(refs.max_number("refs/names", "C").unwrap(), 300);
    let report = refs::verify(&vfs, dir.path()).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!(report.transactions, 300);
    let _ = RefOptions::default();
}

/// STO-07, T-30, REF-01, and compare-and-swap: refused, and nothing has changed.
#[test]
fn refusals() {
    let (dir, vfs) = fresh();
    let mut t = begin(&vfs, dir.path());
    t.set("refs/head", id(Family::Change, 1));
    t.commit("", 0).unwrap();
    let refused = |edit: &dyn Fn(&mut Transaction)| {
        let mut t = begin(&vfs, dir.path());
        t.set("refs/names/other", id(Family::Change, 1));
        edit(&mut t);
        let error = t.commit("", 0).unwrap_err();
        assert_eq!(refs::open(&vfs, dir.path()).unwrap().count("").unwrap(), 1);
        error
    };
    let e = refused(&|t| t.set("refs/head", id(Family::State, 1)));
    assert!(matches!(e, StoreError::RefFamily { .. }), "{e}");
    let e = refused(&|t| t.set("refs/head", id(Family::Change, 99)));
    assert!(matches!(e, StoreError::DanglingRef { .. }), "{e}");
    let e = refused(&|t| t.set("refs/names/../x", id(Family::Change, 1)));
    assert!(matches!(e, StoreError::InvalidRefName { .. }), "{e}");
    let e = refused(&|t| t.set_record("refs/names/x", vec![1]));
    assert!(matches!(e, StoreError::RefKind { .. }), "{e}");
    let e = refused(&|t| t.set_record("local/x", vec![1; 65537]));
    assert!(matches!(e, StoreError::Limit { .. }), "{e}");
    let e = refused(&|t| t.expect("refs/head", Some(id(Family::Change, 2))));
    assert!(matches!(e, StoreError::RefConflict { .. }), "{e}");
    let e = refused(&|t| t.expect("refs/head", None));
    assert!(matches!(e, StoreError::RefConflict { .. }), "{e}");
}
