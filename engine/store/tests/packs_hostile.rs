//! Packs and indexes damaged from outside (T-04, T-08, T-11, T-14, T-54): right bytes or an error, never anything else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_object::{Family, Gid, Limits, Mode, ObjectBuilder, blob_envelope, tree_envelope};
use gemel_packfmt::codec::{Aid, deflate};
use gemel_packfmt::delta;
use gemel_packfmt::frame::{self, Kind, Method};
use gemel_packfmt::index::Place;
use gemel_packfmt::mark::{FrameSum, Mark};
use gemel_store::vfs::sim::SimDisk;
use gemel_store::{Depth, FindingKind, NewObject, Store, StoreError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "/repo/.gemel";

fn open(disk: &SimDisk) -> Result<Store, StoreError> {
    Store::open(Arc::new(disk.clone()), Path::new(DIR))
}

fn blob(body: &[u8], base: Option<Gid>) -> NewObject {
    let made = blob_envelope(body, &Limits::DEFAULT).unwrap();
    NewObject { id: made.id, bytes: made.bytes, base }
}

fn words(seed: u64, count: u64) -> Vec<u8> {
    (0..count).flat_map(|n| format!("word{} ", (n * seed + n * n) % 61).into_bytes()).collect()
}

fn tree(names: std::ops::Range<u64>, id: Gid, base: Option<Gid>) -> NewObject {
    let names: Vec<String> = names.map(|n| format!("{n:04}")).collect();
    let made =
        tree_envelope(names.iter().map(|name| (name.as_str(), Mode::File, id)), &Limits::DEFAULT).unwrap();
    NewObject { id: made.id, bytes: made.bytes, base }
}

fn state(tree: Gid) -> NewObject {
    let mut builder = ObjectBuilder::new(Family::State);
    builder.body().set(1, tree);
    let made = builder.finish(&Limits::DEFAULT).unwrap();
    NewObject { id: made.id, bytes: made.bytes, base: None }
}

/// A store with every form of storage, small enough to damage every byte of; `indexed` packs have an index.
fn sample(indexed: bool) -> (SimDisk, Vec<NewObject>) {
    let disk = SimDisk::new();
    let store = Store::init(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
    let first = blob(&words(3, 120), None);
    let first_tree = tree(0..9, first.id, None);
    let mut edited = words(3, 120);
    edited[300] ^= 2;
    let second = blob(&edited, Some(first.id));
    let rounds = [
        vec![first.clone(), blob(b"", None), first_tree.clone(), state(first_tree.id)],
        vec![
            second.clone(),
            tree(0..10, first.id, Some(first_tree.id)),
            state(tree(0..10, first.id, None).id),
        ],
    ];
    for objects in &rounds {
        let writer = store.writer().unwrap();
        for object in objects {
            assert!(writer.put(object.clone()).unwrap());
        }
        writer.commit().unwrap();
        let mut transaction = store.transaction().unwrap();
        transaction.set("refs/names/X", objects[0].id);
        transaction.commit("test", 0).unwrap();
    }
    if indexed {
        assert_eq!(store.rebuild_indexes(true).unwrap(), 1);
    }
    (disk.fork(), rounds.concat())
}

/// Reads everything: each answer is right or an error. Returns how many were errors.
fn errors(disk: &SimDisk, objects: &[NewObject], context: &str) -> usize {
    let Ok(store) = open(disk) else { return objects.len() };
    let wrong = |object: &&NewObject| match store.read(&object.id) {
        Ok(bytes) => {
            assert!(bytes == object.bytes, "{context}: wrong bytes for {}", object.id);
            false
        }
        Err(error) => !error.to_string().is_empty(),
    };
    objects.iter().filter(wrong).count()
}

fn finds_something(disk: &SimDisk) -> bool {
    open(disk)
        .and_then(|store| store.verify(Depth::Canonical, &|_, _| {}))
        .map_or(true, |r| !r.findings.is_empty())
}

fn pack_files(disk: &SimDisk) -> Vec<(PathBuf, Vec<u8>)> {
    let packs = Path::new(DIR).join("packs");
    disk.files().into_iter().filter(|(path, bytes)| path.starts_with(&packs) && !bytes.is_empty()).collect()
}

#[test]
fn every_flipped_byte_is_seen() {
    for indexed in [false, true] {
        let (disk, objects) = sample(indexed);
        for (path, bytes) in pack_files(&disk) {
            for at in 0..bytes.len() {
                for mask in [0x01, 0x80, 0xff] {
                    let mut bad = bytes.clone();
                    bad[at] ^= mask;
                    let disk = disk.fork();
                    disk.overwrite(&path, &bad).unwrap();
                    let context = format!("{} byte {at} ^ {mask:#x}", path.display());
                    let missing = errors(&disk, &objects, &context);
                    if path.extension().is_some_and(|e| e == "idx") {
                        assert_eq!(missing, 0, "{context}: the index is derived");
                    }
                    assert!(finds_something(&disk), "{context}: not found by verify");
                }
            }
        }
    }
}

#[test]
fn every_truncation_is_seen() {
    for indexed in [false, true] {
        let (disk, objects) = sample(indexed);
        for (path, bytes) in pack_files(&disk) {
            for len in 0..bytes.len() {
                let disk = disk.fork();
                disk.overwrite(&path, &bytes[..len]).unwrap();
                let context = format!("{} cut to {len}", path.display());
                let missing = errors(&disk, &objects, &context);
                if path.extension().is_some_and(|e| e == "idx") {
                    assert_eq!(missing, 0, "{context}");
                }
                // A pack cut exactly behind a batch is told by what refs refer to, not by the pack.
                let _ = finds_something(&disk);
            }
        }
    }
}

#[test]
fn a_damaged_pack_does_not_hide_the_others_nor_stop_writers() {
    let (disk, objects) = sample(true);
    let path = Path::new(DIR).join("packs/00000001.pack");
    disk.overwrite(&path, b"no pack at all").unwrap();
    let store = open(&disk).unwrap();
    assert!(matches!(store.read(&objects[0].id), Err(StoreError::CorruptFile { .. })));
    let writer = store.writer().unwrap();
    for object in &objects {
        assert!(writer.put(object.clone()).unwrap());
    }
    writer.commit().unwrap();
    assert_eq!(errors(&disk, &objects, "after writing again"), 0);
    let report = store.verify(Depth::Hashes, &|_, _| {}).unwrap();
    assert!(report.findings.iter().any(|f| f.kind == FindingKind::DamagedPack && f.path == path));
    assert_eq!(report.objects_ok, objects.len() as u64);
}

/// Shows STO-05.
#[test]
fn an_index_of_another_pack_is_not_used() {
    let (disk, objects) = sample(true);
    let index = Path::new(DIR).join("packs/00000001.idx");
    let other = SimDisk::new();
    let store = Store::init(Arc::new(other.clone()), Path::new(DIR)).unwrap();
    let writer = store.writer().unwrap();
    writer.put(blob(b"something else", None)).unwrap();
    writer.commit().unwrap();
    store.rebuild_indexes(true).unwrap();
    disk.overwrite(&index, &other.files()[&index]).unwrap();
    assert_eq!(errors(&disk, &objects, "foreign index"), 0);
    assert!(finds_something(&disk));
}

#[test]
fn newer_versions_are_refused_by_name() {
    for (name, at) in [("packs/00000001.pack", 4), ("packs/00000001.idx", 4)] {
        let (disk, objects) = sample(true);
        let path = Path::new(DIR).join(name);
        let mut bytes = disk.files()[&path].clone();
        bytes[at] = 9;
        // The header's own check must fit, or it is damage.
        let end = if name.ends_with("pack") { frame::HEADER_LEN } else { 128 };
        let check = frame::check_of(&[&bytes[..end - 4]]);
        bytes[end - 4..end].copy_from_slice(&check.to_le_bytes());
        disk.overwrite(&path, &bytes).unwrap();
        let error = open(&disk).unwrap().read(&objects[0].id).unwrap_err();
        assert!(matches!(error, StoreError::UnknownVersion { found: 9, .. }), "{error}");
        assert!(error.to_string().contains("use a newer gemel"), "{error}");
    }
}

/// A pack with these frames and a mark that lists the given objects, each in the frame of its number.
fn forged(frames: &[(Kind, Method, u64, Vec<u8>)], listed: &[Gid]) -> SimDisk {
    let disk = SimDisk::new();
    Store::init(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
    let mut pack = frame::header(1).to_vec();
    let mut sum = FrameSum::default();
    let mut offsets = Vec::new();
    for (kind, method, len, payload) in frames {
        let at = pack.len() as u64;
        offsets.push(at);
        frame::put(*kind, *method, *len, &[payload], &mut pack);
        let value = frame::Frame::parse(&pack, at).map_or(0, |frame| frame.check_value());
        sum.add(value);
    }
    let first = frame::HEADER_LEN as u64;
    let place = |ordinal: u32| Place { offset: *offsets.get(ordinal as usize).unwrap_or(&first), ordinal };
    let mark = Mark {
        start: frame::HEADER_LEN as u64,
        first_ordinal: 0,
        objects: listed.len() as u32,
        foreign: 0,
        dictionaries: 0,
        frames: sum.value(),
        keys: Some((0..).zip(listed).map(|(n, id)| (*id.as_bytes(), place(n))).collect()),
    };
    mark.put(&mut pack);
    let path = Path::new(DIR).join("packs/00000001.pack");
    let vfs: &dyn gemel_store::vfs::Vfs = &disk;
    vfs.create_new(&path).unwrap().append(&pack).unwrap();
    disk
}

#[test]
fn frames_that_lie_are_refused_without_harm() {
    let id = blob(b"x", None).id;
    let mut bomb = Vec::new();
    assert!(deflate(&vec![0; 8 << 20], Aid::Alone, 3, &mut bomb));
    let raw = Kind::Raw { ordinal: 0 };
    let local = |n| gemel_packfmt::refcode::RefCode::Local(n);
    let delta = |depth| Method::Delta { base: local(0), depth };
    let cases: Vec<(&str, Kind, Method, u64, Vec<u8>)> = vec![
        ("inflates to more than declared", raw, Method::Deflated, 100, bomb.clone()),
        ("inflates to less than declared", raw, Method::Deflated, 8 << 20, b"\x01\x00".to_vec()),
        ("declares more than a frame may hold", raw, Method::Deflated, 1 << 40, bomb.clone()),
        ("declares 1 GiB and holds nothing", raw, Method::Stored, 1 << 30, vec![]),
        ("stands on itself", raw, delta(1), 5, vec![0, 0, 0]),
        ("unknown dictionary", raw, Method::WithDictionary(7), 5, vec![0, 0, 0]),
        ("group of garbage", Kind::Group, Method::Stored, 6, vec![255, 255, 255, 255, 255, 1]),
        ("group of a million members", Kind::Group, Method::Stored, 4, vec![0xc0, 0x84, 0x3d, 0]),
        (
            "list of chunks before the pack",
            Kind::Large { ordinal: 0 },
            Method::Stored,
            1 << 62,
            vec![1, 200, 1],
        ),
        (
            "list of a billion chunks",
            Kind::Large { ordinal: 0 },
            Method::Stored,
            9,
            vec![255, 255, 255, 255, 7],
        ),
        ("key codes without keys", Kind::Cut { ordinal: 0 }, Method::Stored, 2, vec![0, 200, 1]),
        ("bytes of another object", raw, Method::Stored, 3, b"abc".to_vec()),
        ("a dictionary as an object", Kind::Dictionary { number: 0 }, Method::Stored, 3, b"abc".to_vec()),
    ];
    for (name, kind, method, len, payload) in cases {
        let frames = [(kind, method, len, payload)];
        let disk = forged(&frames, &[id]);
        let store = open(&disk).unwrap();
        let error = store.read(&id).expect_err(name);
        assert!(matches!(error, StoreError::CorruptObject { .. }), "{name}: {error}");
        assert!(store.len_bytes(&id).is_err() || store.stream_blob(&id, &mut Vec::new()).is_err(), "{name}");
        let report = store.verify(Depth::Hashes, &|_, _| {}).unwrap();
        assert_eq!(report.objects_ok, 0, "{name}");
        assert!(!report.findings.is_empty(), "{name}");
    }
}

#[test]
fn marks_cannot_claim_more_objects_than_there_are_bytes() {
    let disk = SimDisk::new();
    Store::init(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
    let mut pack = frame::header(1).to_vec();
    for _ in 0..200 {
        let start = pack.len() as u64;
        let frames = FrameSum::default().value();
        let objects = u32::MAX;
        Mark { start, first_ordinal: 0, objects, foreign: 0, dictionaries: 0, frames, keys: None }
            .put(&mut pack);
    }
    let vfs: &dyn gemel_store::vfs::Vfs = &disk;
    vfs.create_new(&Path::new(DIR).join("packs/00000001.pack")).unwrap().append(&pack).unwrap();
    let store = open(&disk).unwrap();
    assert!(!store.contains(&blob(b"x", None).id).unwrap());
    assert_eq!(store.ids().unwrap(), []);
}

#[test]
fn a_store_that_lost_its_meta_is_neither_absent_nor_begun_anew() {
    let (disk, objects) = sample(false);
    let meta = Path::new(DIR).join("meta.json");
    let text = disk.files()[&meta].clone();
    let vfs: &dyn gemel_store::vfs::Vfs = &disk;
    vfs.remove_file(&meta).unwrap();
    for answer in [open(&disk), Store::init(Arc::new(disk.clone()), Path::new(DIR))] {
        let error = answer.err().unwrap();
        assert!(matches!(&error, StoreError::CorruptFile { path, .. } if *path == meta), "{error}");
    }
    vfs.create_new(&meta).unwrap().append(&text).unwrap();
    assert_eq!(errors(&disk, &objects, "put back"), 0);
}

/// Packs put back from an older copy, beside refs that are not.
#[test]
fn packs_older_than_refs_are_told_of() {
    let disk = SimDisk::new();
    let store = Store::init(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
    let path = Path::new(DIR).join("packs/00000001.pack");
    let (first, second) = (blob(b"first", None), blob(b"second", None));
    let mut lengths = Vec::new();
    for (name, object) in [("refs/names/a", &first), ("refs/names/b", &second)] {
        let writer = store.writer().unwrap();
        writer.put(object.clone()).unwrap();
        writer.commit().unwrap();
        let mut transaction = store.transaction().unwrap();
        transaction.set(name, object.id);
        transaction.commit("test", 0).unwrap();
        lengths.push(disk.files()[&path].len());
    }
    let absent = blob(b"never stored", None).id;
    assert!(matches!(open(&disk).unwrap().read(&absent), Err(StoreError::NotFound { .. })));

    let whole = disk.files()[&path].clone();
    for end in [lengths[0], 0] {
        let disk = disk.fork();
        match end {
            0 => gemel_store::vfs::Vfs::remove_file(&disk, &path).unwrap(),
            _ => disk.overwrite(&path, &whole[..end]).unwrap(),
        }
        let store = open(&disk).unwrap();
        let behind = |error: StoreError| match error {
            StoreError::PackBehind { id, path: found, end_bytes, acknowledged_bytes } => {
                assert_eq!(found, path);
                assert_eq!((end_bytes, acknowledged_bytes), (end as u64, lengths[1] as u64));
                id
            }
            other => panic!("{other}"),
        };
        assert_eq!(behind(store.read(&second.id).unwrap_err()), second.id);
        assert_eq!(behind(store.len_bytes(&second.id).unwrap_err()), second.id);
        assert_eq!(behind(store.stream_blob(&second.id, &mut Vec::new()).unwrap_err()), second.id);
        assert_eq!(store.read(&first.id).is_ok(), end > 0);
        assert!(!store.contains(&second.id).unwrap());
        let findings = store.verify(Depth::Canonical, &|_, _| {}).unwrap().findings;
        assert!(
            findings.iter().any(|f| f.kind == FindingKind::DamagedPack && f.path == path),
            "{findings:?}"
        );
    }
}

#[test]
fn a_chain_without_end_is_cut() {
    let id = blob(b"x", None).id;
    let step = |n: u32| {
        let base = gemel_packfmt::refcode::RefCode::Local(n ^ 1);
        (Kind::Raw { ordinal: n }, Method::Delta { base, depth: 1 }, 5, vec![0, 0, 0])
    };
    let disk = forged(&[step(0), step(1)], &[id, blob(b"y", None).id]);
    assert!(matches!(open(&disk).unwrap().read(&id), Err(StoreError::CorruptObject { .. })));
}

/// Who keeps what he decoded does not get further than who begins anew.
#[test]
fn a_chain_is_too_long_for_every_reader() {
    let most = u32::from(frame::MAX_DEPTH);
    let objects: Vec<NewObject> = (0..most + 4).map(|n| blob(format!("file {n}").as_bytes(), None)).collect();
    let mut frames = vec![(Kind::Raw { ordinal: 0 }, Method::Stored, 0, objects[0].bytes.clone())];
    frames[0].2 = objects[0].bytes.len() as u64;
    for (n, pair) in (1u32..).zip(objects.windows(2)) {
        let mut payload = Vec::new();
        delta::encode(&pair[0].bytes, &pair[1].bytes, 3, usize::MAX, &mut payload);
        let base = gemel_packfmt::refcode::RefCode::Local(n - 1);
        // What a frame says of its depth is not believed.
        let method = Method::Delta { base, depth: 1 };
        frames.push((Kind::Raw { ordinal: n }, method, pair[1].bytes.len() as u64, payload));
    }
    let ids: Vec<Gid> = objects.iter().map(|object| object.id).collect();
    let store = open(&forged(&frames, &ids)).unwrap();
    let report = store.verify(Depth::Canonical, &|_, _| {}).unwrap();
    let bulk = store.bulk(&ids[..=most as usize]).unwrap();
    let mut reader = bulk.reader(1 << 20);
    assert!((0..bulk.len()).all(|at| reader.read(at).is_ok()));
    for (n, id) in (0..).zip(&ids) {
        let found = report.findings.iter().any(|finding| finding.id == Some(*id));
        assert_eq!((store.read(id).is_err(), found), (n > most, n > most), "{n}");
        assert_eq!(store.bulk(&[*id]).unwrap().reader(1 << 20).read(0).is_err(), n > most);
    }
}

#[test]
fn unknown_families_and_garbage_names_in_the_directory_do_no_harm() {
    let (disk, objects) = sample(true);
    let packs = Path::new(DIR).join("packs");
    let vfs: &dyn gemel_store::vfs::Vfs = &disk;
    for name in [
        "README",
        "x.pack",
        "0.pack",
        "99999999999999999999999.pack",
        "00000009.idx",
        "00000010.new",
        "tmp-1",
    ] {
        vfs.create_new(&packs.join(name)).unwrap().append(b"garbage").unwrap();
    }
    vfs.create_dir_all(&packs.join("00000011.pack")).unwrap();
    assert_eq!(errors(&disk, &objects, "garbage in the directory"), 0);
    let store = open(&disk).unwrap();
    let removed = store.remove_leftovers().unwrap();
    assert!(removed.iter().any(|path| path.ends_with("00000010.new")), "{removed:?}");
    let writer = store.writer().unwrap();
    assert!(writer.put(blob(b"goes on", None)).unwrap());
    writer.commit().unwrap();
}
