//! Objects through packs: what goes in comes out, whatever the form it is stored in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_object::{Family, Gid, Limits, Mode, ObjectBuilder, blob_envelope, tree_envelope};
use gemel_store::vfs::real::RealDisk;
use gemel_store::{Depth, NewObject, Store, StoreError, WriteReport, Writer};
use std::path::Path;
use std::sync::Arc;

fn store(dir: &Path) -> Store {
    let dir = dir.join(".gemel");
    let disk = Arc::new(RealDisk::new());
    Store::init(disk.clone(), &dir).or_else(|_| Store::open(disk, &dir)).unwrap()
}

/// Commits a session and the ref transaction that makes it relied on.
fn commit(store: &Store, writer: Writer<'_>) -> WriteReport {
    let report = writer.commit().unwrap();
    let mut transaction = store.transaction().unwrap();
    transaction.set_record("local/test", report.stored_bytes.to_string().into_bytes());
    transaction.commit("test", 0).unwrap();
    report
}

fn blob(body: &[u8]) -> NewObject {
    let made = blob_envelope(body, &Limits::DEFAULT).unwrap();
    NewObject { id: made.id, bytes: made.bytes, base: None }
}

fn text(seed: u64, lines: usize) -> Vec<u8> {
    (0..lines as u64)
        .flat_map(|i| {
            format!("{} let value_{} = call({});\n", i, (i * seed) % 97, i * seed % 1009).into_bytes()
        })
        .collect()
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut out);
    out
}

fn clean(store: &Store) -> u64 {
    let report = store.verify(Depth::Canonical, &|_, _| {}).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!(report.objects, report.objects_ok);
    report.objects
}

#[test]
fn small_sessions_share_a_pack_and_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let mut ids = Vec::new();
    for n in 0..50 {
        let store = store(dir.path());
        let writer = store.writer().unwrap();
        let object = blob(&text(n, 40));
        ids.push((object.id, object.bytes.clone()));
        assert!(writer.put(object.clone()).unwrap());
        assert!(!writer.put(object).unwrap());
        let report = commit(&store, writer);
        assert_eq!((report.objects_new, report.objects_known), (1, 1));
    }
    let store = store(dir.path());
    for (id, bytes) in &ids {
        assert_eq!(&store.read(id).unwrap(), bytes);
        assert_eq!(store.len_bytes(id).unwrap(), bytes.len() as u64);
    }
    assert_eq!(clean(&store), 50);
    let files = std::fs::read_dir(dir.path().join(".gemel/packs")).unwrap().count();
    assert!(files <= 3, "{files} files");
}

#[test]
fn a_dropped_session_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let writer = store.writer().unwrap();
    let objects: Vec<NewObject> = (0..40).map(|n| blob(&noise(n, 100_000))).collect();
    objects.iter().for_each(|o| assert!(writer.put(o.clone()).unwrap()));
    drop(writer);
    assert!(matches!(store.read(&objects[0].id), Err(StoreError::NotFound { .. })));
    assert_eq!(clean(&store), 0);
}

#[test]
fn bulk_sessions_train_and_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let writer = store.writer().unwrap();
    let bodies: Vec<Vec<u8>> = (0..3000).map(|n| text(n, 30 + n as usize % 50)).collect();
    let total: usize = bodies.iter().map(Vec::len).sum();
    writer.expect_bulk(bodies.len() as u64, total as u64, &bodies[..400]).unwrap();
    let objects: Vec<NewObject> = bodies.iter().map(|b| blob(b)).collect();
    std::thread::scope(|scope| {
        for part in objects.chunks(1000) {
            let writer = &writer;
            scope.spawn(move || part.iter().for_each(|o| assert!(writer.put(o.clone()).unwrap())));
        }
    });
    let report = commit(&store, writer);
    assert_eq!(report.objects_new, 3000);
    assert!(report.stored_bytes < total as u64 / 4, "{report:?}");
    for object in &objects {
        assert_eq!(store.read(&object.id).unwrap(), object.bytes);
    }
    assert_eq!(clean(&store), 3000);
    // The index is derived: without it the pack tells the same.
    std::fs::remove_file(dir.path().join(".gemel/packs/00000001.idx")).unwrap();
    drop(store);
    let store = self::store(dir.path());
    let again = store.clone();
    for object in objects.iter().step_by(97) {
        assert_eq!(again.read(&object.id).unwrap(), object.bytes);
    }
    let writer = again.writer().unwrap();
    assert!(writer.put(blob(b"one more")).unwrap());
    commit(&store, writer);
    assert!(dir.path().join(".gemel/packs/00000001.idx").exists());
    assert_eq!(clean(&again), 3001);
}

fn tree(entries: &[(String, Gid)]) -> NewObject {
    let entries: Vec<(&str, Mode, Gid)> = entries.iter().map(|(n, g)| (n.as_str(), Mode::File, *g)).collect();
    let made = tree_envelope(entries, &Limits::DEFAULT).unwrap();
    NewObject { id: made.id, bytes: made.bytes, base: None }
}

#[test]
fn versions_are_stored_as_differences() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let mut body = noise(1, 30_000);
    let mut entries: Vec<(String, Gid)> =
        (0..300).map(|n| (format!("f{n:04}"), blob(&noise(n, 9)).id)).collect();
    let (mut last_blob, mut last_tree) = (None, None);
    let (mut stored, mut kept) = (0, Vec::new());
    for n in 0..100usize {
        body[n * 10] ^= 1;
        entries[n].1 = blob(&body).id;
        let (mut b, mut t) = (blob(&body), tree(&entries));
        (b.base, t.base) = (last_blob, last_tree);
        (last_blob, last_tree) = (Some(b.id), Some(t.id));
        kept.push(b.clone());
        kept.push(t.clone());
        let writer = store.writer().unwrap();
        writer.put(b).unwrap();
        writer.put(t).unwrap();
        stored += commit(&store, writer).stored_bytes;
    }
    assert!(stored < 200_000, "{stored}");
    for object in &kept {
        assert_eq!(store.read(&object.id).unwrap(), object.bytes);
    }
    clean(&store);
}

#[test]
fn metadata_is_interned_and_validated() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let writer = store.writer().unwrap();
    let state = tree(&[]);
    let mut states = Vec::new();
    writer.put(state.clone()).unwrap();
    for n in 0..5000u64 {
        let mut builder = ObjectBuilder::new(Family::State);
        builder.body().set(1, state.id);
        builder.body().ext(0x80, n.to_string().as_bytes());
        let made = builder.finish(&Limits::DEFAULT).unwrap();
        states.push(made.clone());
        writer.put(NewObject { id: made.id, bytes: made.bytes, base: None }).unwrap();
    }
    let report = commit(&store, writer);
    assert!(report.stored_bytes < 5000 * 60, "{report:?}");
    for made in states.iter().step_by(37) {
        assert_eq!(store.read(&made.id).unwrap(), made.bytes);
    }
    let writer = store.writer().unwrap();
    let bad = NewObject { id: Gid::new(Family::State, [1; 32]), bytes: b"GEMLnothing".to_vec(), base: None };
    assert!(matches!(writer.put(bad), Err(StoreError::InvalidObject { .. })));
    clean(&store);
}

#[test]
fn large_objects_are_streamed_and_deduplicated() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let body = [noise(3, 9 << 20), text(5, 200_000)].concat();
    let writer = store.writer().unwrap();
    let (id, new) = writer.put_blob_stream(body.len() as u64, &mut &body[..]).unwrap();
    assert!(new);
    assert_eq!(id, blob(&body).id);
    assert!(!writer.put_blob_stream(body.len() as u64, &mut &body[..]).unwrap().1);
    for wrong in [body.len() - 1, body.len() + 1] {
        assert!(matches!(
            writer.put_blob_stream(wrong as u64, &mut &body[..]),
            Err(StoreError::Source { .. })
        ));
    }
    assert!(writer.put(blob(b"small")).unwrap());
    assert!(writer.put(blob(&noise(8, 5 << 20))).unwrap());
    commit(&store, writer);
    let mut out = Vec::new();
    assert_eq!(store.stream_blob(&id, &mut out).unwrap(), body.len() as u64);
    assert!(out == body);
    assert_eq!(clean(&store), 3);
    let writer = store.writer().unwrap();
    assert!(!writer.put_blob_stream(body.len() as u64, &mut &body[..]).unwrap().1);
    assert_eq!(commit(&store, writer).stored_bytes, 0);
}

#[test]
fn prefixes_find_what_they_abbreviate() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let writer = store.writer().unwrap();
    let ids: Vec<Gid> = (0..300)
        .map(|n| {
            let o = blob(&noise(n, 10));
            writer.put(o.clone()).unwrap();
            o.id
        })
        .collect();
    commit(&store, writer);
    for id in &ids {
        let text = id.to_string();
        let hex = text.split_once('.').unwrap().1;
        for len in [64, 15, 8] {
            assert_eq!(store.matching(None, &hex[..len], 10).unwrap(), [*id]);
            assert_eq!(store.matching(Some(Family::Tree), &hex[..len], 10).unwrap(), []);
        }
        for len in [1, 2, 3] {
            let expected = ids.iter().filter(|i| i.to_string()[5..].starts_with(&hex[..len])).count();
            assert_eq!(store.matching(Some(Family::Blob), &hex[..len], 1000).unwrap().len(), expected);
        }
    }
    assert_eq!(store.matching(None, "", 7).unwrap().len(), 7);
    assert!(store.matching(None, "XY", 7).is_err());
}

#[test]
fn writers_work_beside_each_other_and_readers_see_them() {
    let dir = tempfile::tempdir().unwrap();
    let reader = store(dir.path());
    let writers: Vec<Store> = (0..8).map(|_| store(dir.path())).collect();
    std::thread::scope(|scope| {
        for (n, store) in writers.iter().enumerate() {
            let reader = &reader;
            scope.spawn(move || {
                for round in 0..20 {
                    let writer = store.writer().unwrap();
                    let object = blob(&text((n * 100 + round) as u64 + 1, 50));
                    writer.put(object.clone()).unwrap();
                    commit(store, writer);
                    assert_eq!(reader.read(&object.id).unwrap(), object.bytes);
                }
            });
        }
    });
    assert_eq!(clean(&reader), 160);
}

/// A session that makes its first pack may be writing the index of it: whoever tidies up leaves both alone.
#[test]
fn leftovers_are_removed_only_when_nobody_works_at_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let packs = dir.path().join(".gemel/packs");
    let writer = store.writer().unwrap();
    writer.put(blob(b"at work")).unwrap();
    std::fs::write(packs.join("tmp-1-2"), b"half an index").unwrap();
    assert_eq!(store.remove_leftovers().unwrap(), [] as [std::path::PathBuf; 0]);
    commit(&store, writer);
    assert_eq!(store.remove_leftovers().unwrap(), [packs.join("tmp-1-2")]);
    clean(&store);
}
