//! Reading many objects in the order in which they lie.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_object::{Family, Gid, Limits, Mode, blob_envelope, tree_envelope};
use gemel_store::vfs::real::RealDisk;
use gemel_store::{NewObject, Prepared, Store, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Versions of files and folders, each on the one before, over several sessions; a long file, and one alone.
fn filled(dir: &std::path::Path) -> (Store, BTreeMap<Gid, Vec<u8>>) {
    let store = Store::init(Arc::new(RealDisk::new()), &dir.join(".gemel")).unwrap();
    let mut all = BTreeMap::new();
    for session in 0..3u32 {
        let writer = store.writer().unwrap();
        let mut last: [Option<Prepared>; 4] = [const { None }; 4];
        for version in 0..120u32 {
            for file in 0..4u32 {
                let lines = (0..200 + file * 40)
                    .map(|n| format!("{session} {file} {}\n", n * u32::from(n > version)));
                let blob = blob_envelope(lines.collect::<String>().as_bytes(), &Limits::DEFAULT).unwrap();
                let made = if file == 3 {
                    let name = format!("name-{version}");
                    let entries = [("a", Mode::File, blob.id), (&name, Mode::File, blob.id)];
                    writer.put(NewObject { id: blob.id, bytes: blob.bytes.clone(), base: None }).unwrap();
                    all.insert(blob.id, blob.bytes);
                    tree_envelope(entries.iter().map(|(n, m, t)| (&**n, *m, *t)), &Limits::DEFAULT).unwrap()
                } else {
                    blob
                };
                all.insert(made.id, made.bytes.clone());
                let prepared = Prepared::new(made.id, made.bytes).unwrap();
                let slot = &mut last[file as usize];
                writer.put_on(&prepared, &slot.iter().collect::<Vec<_>>()).unwrap();
                *slot = Some(prepared);
            }
        }
        let long = vec![session as u8 + 7; 9 << 20];
        let long = blob_envelope(&long, &Limits::DEFAULT).unwrap();
        writer.put(NewObject { id: long.id, bytes: long.bytes.clone(), base: None }).unwrap();
        all.insert(long.id, long.bytes);
        writer.commit().unwrap();
        let mut transaction = store.transaction().unwrap();
        transaction.set_record("local/test", session.to_string().into_bytes());
        transaction.commit("test", 0).unwrap();
    }
    (store, all)
}

#[test]
fn everything_comes_once_and_right_whatever_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (store, all) = filled(dir.path());
    let mut ids: Vec<Gid> = all.keys().copied().collect();
    ids.extend_from_within(..10);
    let bulk = store.bulk(&ids).unwrap();
    assert_eq!(bulk.len(), all.len());
    for kept_bytes in [0, 20_000, 64 << 20] {
        let parts = bulk.parts(100, 1 << 20);
        assert!(parts.len() > 3);
        let (mut next, mut on_another) = (0, 0);
        for part in parts {
            assert_eq!(part.start, next);
            next = part.end;
            let mut reader = bulk.reader(kept_bytes);
            for at in part {
                let object = reader.read(at).unwrap().unwrap();
                assert_eq!(Some(object.id), bulk.id(at));
                assert_eq!(object.bytes(), all[&object.id]);
                if let Some(base) = object.base {
                    on_another += 1;
                    assert_eq!(object.base_bytes().unwrap(), all[&base]);
                }
                if object.bytes().len() > 8 << 20 {
                    assert_eq!(bulk.about_bytes(at), object.bytes().len() as u64);
                }
            }
        }
        assert_eq!(next, all.len());
        assert!(on_another > all.len() / 2, "{on_another} of {}", all.len());
        assert!(bulk.reader(kept_bytes).read(all.len()).unwrap().is_none());
    }
}

#[test]
fn an_absent_object_is_told_before_anything_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let (store, all) = filled(dir.path());
    let absent = Gid::new(Family::Blob, [3; 32]);
    let ids: Vec<Gid> = all.keys().copied().chain([absent]).collect();
    match store.bulk(&ids) {
        Err(StoreError::NotFound { id }) => assert_eq!(id, absent),
        other => panic!("{other:?}"),
    }
    assert!(store.bulk(&[]).unwrap().is_empty());
}
