//! Packs written anew: the same objects in less space, beside readers and writers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_object::{Family, Gid, Limits, Mode, ObjectBuilder, blob_envelope, tree_envelope};
use gemel_store::vfs::real::RealDisk;
use gemel_store::{Depth, NewObject, RepackFacts, RepackOptions, Store, StoreError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn open(dir: &Path) -> Store {
    Store::open(Arc::new(RealDisk::new()), &dir.join(".gemel")).unwrap()
}

fn fresh() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::init(Arc::new(RealDisk::new()), &dir.path().join(".gemel")).unwrap();
    (dir, store)
}

fn blob(body: &[u8], base: Option<Gid>) -> NewObject {
    let made = blob_envelope(body, &Limits::DEFAULT).unwrap();
    NewObject { id: made.id, bytes: made.bytes, base }
}

fn tree(entries: &BTreeMap<String, Gid>, base: Option<Gid>) -> NewObject {
    let entries = entries.iter().map(|(name, id)| {
        (name.as_str(), if id.family() == Family::Tree { Mode::Directory } else { Mode::File }, *id)
    });
    let made = tree_envelope(entries, &Limits::DEFAULT).unwrap();
    NewObject { id: made.id, bytes: made.bytes, base }
}

fn state(tree: Gid) -> NewObject {
    let mut builder = ObjectBuilder::new(Family::State);
    builder.body().set(1, tree);
    let made = builder.finish(&Limits::DEFAULT).unwrap();
    NewObject { id: made.id, bytes: made.bytes, base: None }
}

fn lines(seed: u64, count: u64) -> Vec<String> {
    (0..count).map(|n| format!("{n} let value_{} = call({});", n * seed % 97, n * seed % 1009)).collect()
}

/// A worktree that changes a little with every step.
struct History {
    files: Vec<Vec<String>>,
    blobs: BTreeMap<String, Gid>,
    dir: Option<Gid>,
    root: Option<Gid>,
    written: Vec<NewObject>,
}

impl History {
    fn new(files: u64) -> History {
        let files = (0..files).map(|n| lines(n + 3, 60 + n)).collect();
        History { files, blobs: BTreeMap::new(), dir: None, root: None, written: Vec::new() }
    }

    /// The objects of the next state, references first.
    fn step(&mut self, step: u64) -> Vec<NewObject> {
        let mut made = Vec::new();
        for (n, lines) in (0u64..).zip(&mut self.files) {
            if self.blobs.len() > n as usize && !(step * 7 + n).is_multiple_of(5) {
                continue;
            }
            let at = usize::try_from(step * 13 + n * 5).unwrap() % lines.len();
            lines[at] = format!("changed in step {step}");
            lines.insert(at / 2, format!("added in step {step} to {n}"));
            let name = format!("file-{n:03}");
            let object = blob(lines.join("\n").as_bytes(), self.blobs.get(&name).copied());
            self.blobs.insert(name, object.id);
            made.push(object);
        }
        let dir = tree(&self.blobs, self.dir);
        let root = tree(&BTreeMap::from([("dir".to_owned(), dir.id)]), self.root);
        (self.dir, self.root) = (Some(dir.id), Some(root.id));
        let state = state(root.id);
        made.extend([dir, root, state]);
        self.written.extend(made.iter().cloned());
        made
    }
}

/// A session and the transaction behind it.
fn commit(store: &Store, objects: &[NewObject]) {
    let writer = store.writer().unwrap();
    for object in objects {
        writer.put(object.clone()).unwrap();
    }
    writer.commit().unwrap();
    let mut transaction = store.transaction().unwrap();
    let last = objects.last().unwrap().id;
    transaction.set(format!("refs/names/{}", &last.to_string()[..40].replace('.', "-")), last);
    transaction.commit("test", 0).unwrap();
}

fn repack(store: &Store) -> RepackFacts {
    let plan = store.plan_repack(&RepackOptions::default()).unwrap();
    store.repack(&plan, 7, &|_, _| {}).unwrap()
}

fn check(store: &Store, objects: &[NewObject]) {
    for object in objects {
        assert_eq!(store.read(&object.id).unwrap(), object.bytes);
    }
    let report = store.verify(Depth::Canonical, &|_, _| {}).unwrap();
    assert_eq!(report.findings, []);
}

fn packs(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir.join(".gemel/packs")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "pack"));
    paths.sort();
    paths
}

#[test]
fn a_history_becomes_one_smaller_pack() {
    let (dir, store) = fresh();
    let mut history = History::new(30);
    for step in 0..60 {
        let objects = history.step(step);
        commit(&store, &objects);
        if step % 20 == 10 {
            // A pack of its own.
            let writer = store.writer().unwrap();
            writer.expect_bulk(5000, 0, &[]).unwrap();
            let large: Vec<u8> = lines(step, 200_000).join("\n").into_bytes();
            let object = blob(&large, None);
            writer.put(object.clone()).unwrap();
            writer.commit().unwrap();
            commit(&store, &[blob(format!("after {step}").as_bytes(), None)]);
            history.written.push(object);
        }
    }
    assert!(packs(dir.path()).len() > 2);
    let plan = store.plan_repack(&RepackOptions::default()).unwrap();
    assert_eq!(plan.packs.len(), packs(dir.path()).len());
    check(&store, &history.written);
    // The plan looked only.
    assert_eq!(plan.packs.len(), packs(dir.path()).len());
    let facts = store.repack(&plan, 7, &|_, _| {}).unwrap();
    assert_eq!((facts.packs, facts.bytes_before), (plan.packs.len() as u64, plan.stored_bytes));
    assert!(facts.bytes_after * 10 < facts.bytes_before * 8, "{facts:?}");
    assert_eq!(packs(dir.path()).len(), 1);
    // Through the store that did it, and through others.
    check(&store, &history.written);
    check(&open(dir.path()), &history.written);
    assert!(matches!(store.read(&blob(b"absent", None).id), Err(StoreError::NotFound { .. })));

    // What follows stands on it; a second time little is gained and nothing lost.
    for step in 60..70 {
        let objects = history.step(step);
        commit(&open(dir.path()), &objects);
    }
    check(&store, &history.written);
    repack(&open(dir.path()));
    check(&store, &history.written);
    assert_eq!(packs(dir.path()).len(), 1);
}

/// What an index said can be found out again from the pack alone, whatever the order of bases and references.
#[test]
fn a_lost_index_is_made_again() {
    let (dir, store) = fresh();
    let mut history = History::new(12);
    (0..80).for_each(|step| commit(&store, &history.step(step)));
    repack(&store);
    let pack = packs(dir.path()).remove(0);
    let index = pack.with_extension("idx");
    let before = std::fs::read(&index).unwrap();
    std::fs::remove_file(&index).unwrap();
    let store = open(dir.path());
    for object in &history.written {
        assert_eq!(store.read(&object.id).unwrap(), object.bytes);
    }
    assert_eq!(store.rebuild_indexes(false).unwrap(), 1);
    assert!(std::fs::read(&index).unwrap() == before);
    check(&open(dir.path()), &history.written);
}

/// Packs of which a session or a transaction is under way.
#[test]
fn sessions_under_way_are_not_disturbed() {
    let (dir, store) = fresh();
    let mut history = History::new(8);
    (0..5).for_each(|step| commit(&store, &history.step(step)));

    // One holds the pack: it is left alone.
    let writer = store.writer().unwrap();
    let objects = history.step(5);
    for object in &objects {
        writer.put(object.clone()).unwrap();
    }
    let facts = repack(&open(dir.path()));
    assert_eq!((facts.packs, facts.left.len()), (0, 1));
    writer.commit().unwrap();

    // One has committed and its transaction is still to come.
    let facts = repack(&open(dir.path()));
    assert_eq!(facts.packs, 1);
    let mut transaction = store.transaction().unwrap();
    transaction.set("refs/names/late", objects.last().unwrap().id);
    transaction.commit("test", 0).unwrap();
    check(&open(dir.path()), &history.written);
    assert!(matches!(open(dir.path()).read(&blob(b"absent", None).id), Err(StoreError::NotFound { .. })));

    // One began before, and what it relies on has moved.
    let before = open(dir.path());
    let writer = before.writer().unwrap();
    repack(&store);
    let objects = history.step(6);
    for object in &objects {
        writer.put(object.clone()).unwrap();
    }
    writer.commit().unwrap();
    let mut transaction = before.transaction().unwrap();
    transaction.set("refs/names/later", objects.last().unwrap().id);
    transaction.commit("test", 0).unwrap();
    check(&open(dir.path()), &history.written);
}

/// Commands that find many packs of one size merge them; a large one stays.
#[test]
fn many_small_packs_become_one() {
    let (dir, store) = fresh();
    let mut history = History::new(5);
    let bulk = |objects: &[NewObject]| {
        let writer = store.writer().unwrap();
        writer.expect_bulk(5000, 0, &[]).unwrap();
        objects.iter().for_each(|object| assert!(writer.put(object.clone()).unwrap()));
        writer.commit().unwrap();
        let mut transaction = store.transaction().unwrap();
        transaction.set("refs/names/last", objects.last().unwrap().id);
        transaction.commit("test", 0).unwrap();
    };
    let mut noise = vec![0; 3 << 20];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    let large = blob(&noise, None);
    bulk(std::slice::from_ref(&large));
    let mut most = 0;
    for step in 0..40 {
        bulk(&history.step(step));
        store.consolidate(3).unwrap();
        most = most.max(packs(dir.path()).len());
    }
    assert!(most <= 2 * 8 + 1, "{most}");
    assert!(packs(dir.path())[0].ends_with("00000001.pack"), "the large one was rewritten");
    check(&open(dir.path()), &history.written);
    check(&open(dir.path()), &[large]);
}

/// A pack that cannot be read whole stays, and so does everything else.
#[test]
fn damage_stops_a_repack_before_anything_is_removed() {
    let (dir, store) = fresh();
    let mut history = History::new(8);
    (0..30).for_each(|step| commit(&store, &history.step(step)));
    drop(store);
    let pack = packs(dir.path()).remove(0);
    let mut bytes = std::fs::read(&pack).unwrap();
    let at = bytes.len() / 3;
    bytes[at] ^= 1;
    std::fs::write(&pack, &bytes).unwrap();
    let store = open(dir.path());
    let plan = store.plan_repack(&RepackOptions::default()).unwrap();
    match store.repack(&plan, 7, &|_, _| {}) {
        Err(StoreError::CorruptObject { .. } | StoreError::CorruptFile { .. }) => {}
        Ok(facts) => assert_eq!((facts.packs, facts.left.len()), (0, 1), "{facts:?}"),
        Err(other) => panic!("{other}"),
    }
    assert_eq!(packs(dir.path()), std::slice::from_ref(&pack));
    assert!(std::fs::read(&pack).unwrap() == bytes);
    assert!(store.remove_leftovers().unwrap().is_empty());
}

#[test]
fn beside_readers_and_writers() {
    let (dir, store) = fresh();
    let mut history = History::new(6);
    (0..4).for_each(|step| commit(&store, &history.step(step)));
    let large = blob(&lines(1, 200_000).join("\n").into_bytes(), None);
    commit(&store, std::slice::from_ref(&large));
    let stop = AtomicBool::new(false);
    let known = history.written.clone();
    let made = std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let store = open(dir.path());
                while !stop.load(Ordering::Relaxed) {
                    for object in &known {
                        assert_eq!(store.read(&object.id).unwrap(), object.bytes);
                    }
                    let mut out = Vec::new();
                    store.stream_blob(&large.id, &mut out).unwrap();
                    assert!(large.bytes.ends_with(&out));
                }
            });
        }
        let writers: Vec<_> = (0..2u64)
            .map(|n| {
                let (dir, stop) = (dir.path(), &stop);
                scope.spawn(move || {
                    let store = open(dir);
                    let mut history = History::new(3 + n);
                    let mut step = 100 * (n + 1);
                    while !stop.load(Ordering::Relaxed) && step % 100 < 60 {
                        commit(&store, &history.step(step));
                        step += 1;
                        std::thread::sleep(std::time::Duration::from_millis(5));
                    }
                    history.written
                })
            })
            .collect();
        let mut packs = 0;
        for _ in 0..15 {
            let store = open(dir.path());
            let plan = store.plan_repack(&RepackOptions { level: Some(1) }).unwrap();
            packs += store.repack(&plan, 7, &|_, _| {}).unwrap().packs;
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        stop.store(true, Ordering::Relaxed);
        assert!(packs > 0);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    check(&open(dir.path()), &history.written);
    check(&open(dir.path()), &made);
}
