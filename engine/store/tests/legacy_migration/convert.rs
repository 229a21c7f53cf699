//! The ordinary way: everything arrives, nothing of the old is lost.

use crate::fixture::{Old, run, same, snapshot};
use gemel_store::legacy::{Outcome, STOPPERS, Severity, plan};
use gemel_store::vfs::real::RealDisk;
use gemel_store::{Store, StoreError};
use std::path::Path;
use std::sync::Arc;

fn old_in(dir: &Path) -> Old {
    Old::new(Arc::new(RealDisk::new()), &dir.join(".gemel"))
}

/// A 0.12 store is named as one; looking at it changes nothing.
#[test]
fn recognised_and_planned() {
    let temp = tempfile::tempdir().unwrap();
    let old = old_in(temp.path());
    let opened = Store::open(Arc::clone(&old.vfs), &old.dir);
    assert!(matches!(opened, Err(StoreError::Legacy { .. })), "{opened:?}");
    assert!(matches!(Store::init(Arc::clone(&old.vfs), &old.dir), Err(StoreError::Legacy { .. })));
    let before = snapshot(old.vfs.as_ref(), &old.dir);
    let plan = plan(old.vfs.as_ref(), &old.dir, &|_, _, _| {}).unwrap();
    assert_eq!(plan.objects, old.objects.len() as u64);
    assert_eq!(plan.refs, old.refs.len() as u64);
    assert_eq!(
        (plan.kept, plan.counters, plan.workspaces, plan.pending, plan.tombstones, plan.remotes),
        (1, 2, 2, 1, 1, 1)
    );
    assert_eq!(plan.findings.list(), &[]);
    same(&snapshot(old.vfs.as_ref(), &old.dir), &before);
}

/// Objects, refs, records: all there; the old files lie in `legacy-0.12`; a second run has nothing to do.
#[test]
fn everything_is_carried_over() {
    let temp = tempfile::tempdir().unwrap();
    let old = old_in(temp.path());
    let before = snapshot(old.vfs.as_ref(), &old.dir);
    let facts = old.migrate().unwrap();
    assert_eq!(facts.outcome, Outcome::Migrated);
    assert!(facts.stored_bytes > 0);
    old.assert_converted();
    let kept = facts.old_files.unwrap();
    for (path, content) in &before {
        let below = path.strip_prefix(&old.dir).unwrap();
        let stays = ["lock", "court.allowlist", "exchange"].iter().any(|name| below.starts_with(name));
        let now = if stays { path.clone() } else { kept.join(below) };
        match content {
            Some(bytes) => assert_eq!(&std::fs::read(&now).unwrap(), bytes, "{now:?}"),
            None => assert!(now.is_dir(), "{now:?}"),
        }
    }
    let again = old.migrate().unwrap();
    assert_eq!(again.outcome, Outcome::AlreadyCurrent);
    let removed = run(&old.vfs, &old.dir, false, true).unwrap();
    assert_eq!(removed.old_files, None);
    assert!(!kept.exists());
    old.assert_converted();
}

/// `remove_old` at once leaves exactly a store of the new layout and what was left in place.
#[test]
fn old_files_are_removed_on_request() {
    let temp = tempfile::tempdir().unwrap();
    let old = old_in(temp.path());
    assert_eq!(run(&old.vfs, &old.dir, false, true).unwrap().old_files, None);
    old.assert_converted();
    let mut names: Vec<String> =
        old.vfs.list(&old.dir).unwrap().into_iter().map(|entry| entry.name).collect();
    names.retain(|name| !STOPPERS.contains(&name.as_str()));
    let fresh = temp.path().join("fresh");
    Store::init(Arc::clone(&old.vfs), &fresh).unwrap();
    let mut expected: Vec<String> =
        old.vfs.list(&fresh).unwrap().into_iter().map(|entry| entry.name).collect();
    expected.retain(|name| !STOPPERS.contains(&name.as_str()));
    expected.extend(["court.allowlist".to_owned(), "exchange".to_owned()]);
    expected.sort();
    assert_eq!(names, expected);
}

/// A blob above the streaming bound, and one that is not what its name says.
#[test]
fn large_blobs_are_streamed_and_checked() {
    let temp = tempfile::tempdir().unwrap();
    let mut old = old_in(temp.path());
    let content: Vec<u8> = (0..5u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let big = old.blob(&content);
    let path = old.object_path(&big);
    let sound = std::fs::read(&path).unwrap();
    for damage in [sound.len() - 1, 20, 9] {
        let mut bytes = sound.clone();
        bytes[damage] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let Err(StoreError::LegacyDamaged { findings, .. }) = old.migrate() else { panic!("byte {damage}") };
        assert_eq!(findings.count(Severity::Error), 1, "byte {damage}");
    }
    std::fs::write(&path, &sound).unwrap();
    old.migrate().unwrap();
    old.assert_converted();
}

/// The transaction a stopped 0.12 left in its journal is completed when it was committed, else taken back.
#[test]
fn an_interrupted_transaction_is_settled() {
    for (committed, applied) in [(true, false), (true, true), (false, true), (false, false)] {
        let temp = tempfile::tempdir().unwrap();
        let mut old = old_in(temp.path());
        let [c1, c2] = ["refs/names/C1", "refs/names/C2"].map(|name| old.refs[name]);
        // One edit of the two reached its file.
        if applied {
            old.file("refs/names/new", &format!("{c1}\n"));
        }
        let commit = if committed { "{\"op\":\"commit\"}\n" } else { "" };
        old.file(
            "journal/journal.log",
            &format!(
                "{{\"new\":\"{c1}\",\"op\":\"set\",\"prev\":null,\"ref\":\"refs/names/new\"}}\n\
                 {{\"new\":\"{c1}\",\"op\":\"set\",\"prev\":\"{c2}\",\"ref\":\"refs/head\"}}\n{commit}"
            ),
        );
        if committed {
            old.refs.insert("refs/names/new".to_owned(), c1);
            old.refs.insert("refs/head".to_owned(), c1);
        }
        let facts = old.migrate().unwrap();
        assert_eq!(facts.plan.findings.count(Severity::Error), 0);
        old.assert_converted();
    }
}
