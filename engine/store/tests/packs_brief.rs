//! Objects whose keys no index holds: they are made from what the pack holds of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_object::families::{NewMapping, NewOperation, NewOperationResult, NewState};
use gemel_object::{
    Encoded, Family, Gid, Limits, MappingKind, Mode, OpType, ResultStatus, blob_envelope, tree_envelope,
};
use gemel_packfmt::index::Index;
use gemel_store::vfs::sim::SimDisk;
use gemel_store::{Depth, NewObject, RepackOptions, Store, StoreError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "/repo/.gemel";
/// More than announce bulk work.
const MANY: u64 = 3000;

type Objects = BTreeMap<Gid, Vec<u8>>;

fn open(disk: &SimDisk) -> Store {
    Store::open(Arc::new(disk.clone()), Path::new(DIR)).unwrap()
}

fn producer() -> Gid {
    Gid::new(Family::Producer, [5; 32])
}

fn mapping(from: &str, to: Gid) -> Encoded {
    let new = NewMapping {
        kind: Some(MappingKind::External),
        from: Some(from),
        to: Some(to),
        producer: Some(producer()),
        created_at: Some(0),
        ..NewMapping::default()
    };
    new.encode(&Limits::DEFAULT).unwrap()
}

fn operation(path: &str, content: Gid) -> Encoded {
    let new = NewOperation {
        op_type: Some(OpType::CreateFile),
        subject_path: Some(path),
        output_refs: Some(&[content]),
        content: Some(content),
        result: Some(NewOperationResult { status: Some(ResultStatus::Ok), ..NewOperationResult::default() }),
        producer: Some(producer()),
        started_at: Some(1),
        ended_at: Some(1),
        ..NewOperation::default()
    };
    new.encode(&Limits::DEFAULT).unwrap()
}

/// What `count` commits of a history become; `bulk` says whether to announce it.
fn write(store: &Store, first: u64, count: u64, bulk: bool) -> Objects {
    let limits = Limits::DEFAULT;
    let mut all = Objects::new();
    let writer = store.writer().unwrap();
    if bulk {
        writer.expect_bulk(MANY, 0, &[]).unwrap();
    }
    let mut put = |made: Encoded, beside: bool| {
        let id = made.id;
        let object = NewObject { id, bytes: made.bytes.clone(), base: None };
        if beside {
            writer.put_beside(object).unwrap()
        } else {
            writer.put(object).unwrap()
        };
        all.insert(id, made.bytes);
        id
    };
    for n in first..first + count {
        let file = put(blob_envelope(format!("file {n}").as_bytes(), &limits).unwrap(), false);
        let tree = put(tree_envelope([("a", Mode::File, file)], &limits).unwrap(), false);
        put(operation("a", file), true);
        let state = NewState { root_tree: Some(tree), ..NewState::default() };
        let state = put(state.encode(&limits).unwrap(), true);
        let body = put(blob_envelope(format!("tree {n:040x}\n").as_bytes(), &limits).unwrap(), true);
        put(mapping(&format!("git-object:{n:040x}"), body), true);
        let of_state = put(mapping(&format!("state {n}"), state), true);
        // Three keys would have to be made for this one, so the index holds it.
        put(mapping(&format!("mapping of a mapping {n}"), of_state), true);
    }
    writer.commit().unwrap();
    let mut transaction = store.transaction().unwrap();
    for id in all.keys().filter(|id| id.family() == Family::Mapping) {
        transaction.set(format!("refs/mappings/test/{id}"), *id);
    }
    transaction.commit("test", 0).unwrap();
    all
}

fn sample(count: u64) -> (SimDisk, Objects) {
    let disk = SimDisk::new();
    let store = Store::init(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
    let objects = write(&store, 0, count, true);
    (disk.fork(), objects)
}

fn files(disk: &SimDisk, extension: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let has = |path: &Path| {
        path.starts_with(Path::new(DIR).join("packs")) && path.extension().is_some_and(|e| e == extension)
    };
    disk.files().into_iter().filter(|(path, _)| has(path)).collect()
}

/// Families of objects with brief keys in the only index, and how many of each.
fn brief(disk: &SimDisk) -> BTreeMap<Family, usize> {
    let indexes = files(disk, "idx");
    let [(_, bytes)] = indexes.as_slice() else { panic!("{} indexes", indexes.len()) };
    let index = Index::open(bytes).unwrap();
    let count = |family: &Family| index.beginning(bytes, (family.code(), true), &[], 0).count();
    Family::ALL.into_iter().map(|family| (family, count(&family))).filter(|(_, count)| *count > 0).collect()
}

fn expected(count: usize) -> BTreeMap<Family, usize> {
    [(Family::Blob, count), (Family::State, count), (Family::Operation, count), (Family::Mapping, 2 * count)]
        .into()
}

fn check(disk: &SimDisk, objects: &Objects) {
    let store = open(disk);
    for (id, bytes) in objects {
        assert_eq!(store.read(id).unwrap(), *bytes);
        assert_eq!(store.len_bytes(id).unwrap(), bytes.len() as u64);
        assert!(store.contains(id).unwrap());
        let mut other: [u8; 32] = id.digest().try_into().unwrap();
        other[31] ^= 1;
        // It begins as the other one does.
        let other = Gid::new(id.family(), other);
        assert!(!store.contains(&other).unwrap());
        assert!(matches!(store.read(&other), Err(StoreError::NotFound { .. })));
    }
    let all: Vec<Gid> = objects.keys().copied().collect();
    assert_eq!(store.ids().unwrap(), all);
    for id in all.iter().step_by(7) {
        let text = id.to_string();
        let digits = text.rsplit('.').next().unwrap();
        assert_eq!(store.matching(Some(id.family()), digits, 9).unwrap(), [*id]);
        assert!(store.matching(None, &digits[..13], 9).unwrap().contains(id));
        assert!(store.matching(None, &digits[..1], usize::MAX).unwrap().contains(id));
    }
    let bulk = store.bulk(&all).unwrap();
    let mut reader = bulk.reader(1 << 20);
    for at in 0..bulk.len() {
        let object = reader.read(at).unwrap().unwrap();
        assert_eq!(object.bytes(), objects[&object.id]);
    }
    let report = store.verify(Depth::Canonical, &|_, _| {}).unwrap();
    assert_eq!((report.findings, report.objects), (vec![], all.len() as u64));
}

#[test]
fn brief_keys_are_made() {
    let (disk, objects) = sample(40);
    assert_eq!(brief(&disk), expected(40));
    check(&disk, &objects);
}

#[test]
fn known_objects_are_recognised() {
    let (disk, objects) = sample(40);
    let store = open(&disk);
    let writer = store.writer().unwrap();
    for (id, bytes) in &objects {
        assert!(!writer.put(NewObject { id: *id, bytes: bytes.clone(), base: None }).unwrap());
    }
    assert_eq!(writer.commit().unwrap().objects_known, objects.len() as u64);
}

#[test]
fn a_rebuilt_index_is_the_same() {
    let (disk, objects) = sample(40);
    let before = files(&disk, "idx");
    for (path, _) in &before {
        let mut disk = disk.fork();
        disk = {
            let vfs: Arc<dyn gemel_store::vfs::Vfs> = Arc::new(disk.clone());
            vfs.remove_file(path).unwrap();
            disk
        };
        let store = open(&disk);
        objects.iter().for_each(|(id, bytes)| assert_eq!(store.read(id).unwrap(), *bytes));
        assert_eq!(store.rebuild_indexes(false).unwrap(), 1);
        assert_eq!(files(&disk, "idx"), before);
        check(&disk, &objects);
    }
}

#[test]
fn an_index_of_the_first_version_is_replaced() {
    let (disk, objects) = sample(10);
    let (path, bytes) = files(&disk, "idx").remove(0);
    let mut old = bytes.clone();
    old[4] = 1;
    disk.overwrite(&path, &old[..90]).unwrap();
    let store = open(&disk);
    objects.iter().for_each(|(id, bytes)| assert_eq!(store.read(id).unwrap(), *bytes));
    assert_eq!(store.rebuild_indexes(false).unwrap(), 1);
    assert_eq!(files(&disk, "idx"), [(path, bytes)]);
}

#[test]
fn batches_behind_the_index_join_it() {
    let (disk, mut objects) = sample(40);
    let store = open(&disk);
    objects.extend(write(&store, 1000, 30, false));
    check(&disk, &objects);
    assert_eq!(store.rebuild_indexes(true).unwrap(), 1);
    assert_eq!(brief(&disk), expected(70));
    check(&disk, &objects);
    // The index that a session writes because the tail has grown.
    objects.extend(write(&open(&disk), 2000, 300, false));
    assert_eq!(brief(&disk), expected(370));
    check(&disk, &objects);
}

#[test]
fn a_repack_keeps_them_brief() {
    let (disk, mut objects) = sample(40);
    let store = open(&disk);
    objects.extend(write(&store, 1000, 30, true));
    let plan = store.plan_repack(&RepackOptions::default()).unwrap();
    store.repack(&plan, 0, &|_, _| {}).unwrap();
    let found = brief(&disk);
    for family in [Family::State, Family::Operation, Family::Mapping] {
        assert_eq!(found[&family], expected(70)[&family]);
    }
    check(&disk, &objects);
}

/// Shows STO-05 and SEC-02 for brief keys.
#[test]
fn damage_yields_no_wrong_answer() {
    let (disk, objects) = sample(3);
    for extension in ["pack", "idx"] {
        let (path, bytes) = files(&disk, extension).remove(0);
        for at in 0..bytes.len() {
            for mask in [0x01, 0xff] {
                let mut bad = bytes.clone();
                bad[at] ^= mask;
                let disk = disk.fork();
                disk.overwrite(&path, &bad).unwrap();
                let context = format!("{extension} byte {at} ^ {mask:#x}");
                let store = open(&disk);
                for (id, bytes) in &objects {
                    match store.read(id) {
                        Ok(found) => assert_eq!(found, *bytes, "{context}"),
                        Err(error) => assert!(extension == "pack", "{context}: {error}"),
                    }
                }
                let findings = store.verify(Depth::Hashes, &|_, _| {}).map_or(1, |r| r.findings.len());
                assert!(findings > 0, "{context}");
            }
        }
    }
}

#[test]
fn damage_of_a_group_is_told_as_damage() {
    let (disk, objects) = sample(40);
    let (path, bytes) = files(&disk, "pack").remove(0);
    // The last group ends where the mark, some dozens of bytes, begins.
    let mut bad = bytes.clone();
    let at = bad.len() - 200;
    bad[at] ^= 0x10;
    disk.overwrite(&path, &bad).unwrap();
    let store = open(&disk);
    let mut damaged = 0;
    for (id, bytes) in &objects {
        match store.read(id) {
            Ok(found) => assert_eq!(found, *bytes),
            Err(StoreError::CorruptObject { .. }) => damaged += 1,
            Err(error) => panic!("{id}: {error}"),
        }
    }
    assert!(damaged > 0);
}
