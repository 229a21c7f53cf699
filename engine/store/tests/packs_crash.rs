//! A loss of power, a full disk or a failing one at every disk operation of a session (STO-02, STO-04, STO-07, T-56).

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_object::{Gid, Limits, Mode, blob_envelope, tree_envelope};
use gemel_store::vfs::sim::{Fault, SimDisk};
use gemel_store::{Depth, FindingKind, NewObject, RepackOptions, Store, StoreError};
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "/repo/.gemel";

fn blob(seed: u64, len: usize) -> NewObject {
    let mut body = vec![0; len];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut body);
    let made = blob_envelope(&body, &Limits::DEFAULT).unwrap();
    NewObject { id: made.id, bytes: made.bytes, base: None }
}

fn tree(of: &[Gid]) -> NewObject {
    let names: Vec<String> = (0..of.len()).map(|n| format!("{n:06}")).collect();
    let entries = names.iter().zip(of).map(|(name, id)| (name.as_str(), Mode::File, *id));
    let made = tree_envelope(entries, &Limits::DEFAULT).unwrap();
    NewObject { id: made.id, bytes: made.bytes, base: None }
}

fn open(disk: &SimDisk) -> Result<Store, StoreError> {
    Store::open(Arc::new(disk.clone()), Path::new(DIR))
}

fn fresh() -> SimDisk {
    let disk = SimDisk::new();
    Store::init(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
    disk.fork()
}

/// One session of a scenario.
#[derive(Clone, Copy, Debug)]
enum Session {
    /// A few objects.
    Small(u64),
    /// Enough objects that the index of the pack is written.
    Growing(u64),
    /// Announced bulk in a pack of its own.
    Bulk(u64),
    /// A chunked object, offered twice.
    Large(u64),
    /// No objects: the packs are written anew as one.
    Repack,
}

impl Session {
    fn objects(self) -> Vec<NewObject> {
        let (seed, count, len) = match self {
            Session::Small(seed) => (seed, 3, 600),
            Session::Growing(seed) => (seed, 2100, 10),
            Session::Bulk(seed) => (seed, 2500, 900),
            Session::Large(seed) => (seed, 1, 5 << 20),
            Session::Repack => return Vec::new(),
        };
        let mut objects: Vec<NewObject> = (0..count).map(|n| blob(seed << 32 | n, len)).collect();
        objects.push(tree(&objects.iter().map(|o| o.id).collect::<Vec<_>>()));
        objects
    }

    fn run(self, store: &Store) -> Result<Vec<NewObject>, StoreError> {
        if let Session::Repack = self {
            let plan = store.plan_repack(&RepackOptions { level: Some(1) })?;
            let facts = store.repack(&plan, 0, &|_, _| {})?;
            assert!(facts.left.is_empty(), "{facts:?}");
            return Ok(Vec::new());
        }
        let objects = self.objects();
        let writer = store.writer()?;
        if let Session::Bulk(_) = self {
            writer.expect_bulk(objects.len() as u64, 0, &[])?;
        }
        for object in &objects {
            writer.put(object.clone())?;
        }
        if let Session::Large(_) = self {
            writer.put(objects[0].clone())?;
        }
        writer.commit()?;
        // What is acknowledged is what a ref transaction has followed.
        let mut transaction = store.transaction()?;
        transaction.set("refs/names/T", objects.last().unwrap().id);
        transaction.commit("test", 0)?;
        Ok(objects)
    }
}

const SCENARIOS: &[&[Session]] = &[
    &[Session::Small(1), Session::Small(2), Session::Growing(3), Session::Small(4)],
    &[Session::Bulk(1), Session::Small(2)],
    &[Session::Small(1), Session::Bulk(2), Session::Large(3)],
    &[Session::Small(1), Session::Large(2), Session::Repack, Session::Small(3), Session::Repack],
];

/// Reads everything acknowledged; nothing but remains of stopped sessions may be found.
fn assert_whole(disk: &SimDisk, acknowledged: &[NewObject], context: &str) {
    let store = open(disk).unwrap_or_else(|e| panic!("{context}: {e}"));
    for object in acknowledged.iter().step_by(1 + acknowledged.len() / 200) {
        let bytes = store.read(&object.id).unwrap_or_else(|e| panic!("{context}: {e}"));
        assert!(bytes == object.bytes, "{context}: {}", object.id);
    }
    let report = store.verify(Depth::Canonical, &|_, _| {}).unwrap();
    let benign = [FindingKind::Interrupted, FindingKind::Leftover, FindingKind::IndexMissing];
    let bad: Vec<_> = report.findings.iter().filter(|f| !benign.contains(&f.kind)).collect();
    assert!(bad.is_empty(), "{context}: {bad:?}");
}

/// The next session works, and leftovers can be removed.
fn assert_goes_on(disk: &SimDisk, acknowledged: &[NewObject], context: &str) {
    let store = open(disk).unwrap();
    let more = Session::Small(99).run(&store).unwrap_or_else(|e| panic!("{context}, next session: {e}"));
    store.remove_leftovers().unwrap();
    assert_whole(disk, &[acknowledged, &more].concat(), context);
}

/// Shows STO-06.
#[test]
fn every_crash_leaves_what_was_acknowledged() {
    for sessions in SCENARIOS {
        let disk = fresh();
        let mut acknowledged = Vec::new();
        let mut history = vec![(0, 0)];
        for session in *sessions {
            acknowledged.extend(session.run(&open(&disk).unwrap()).unwrap());
            history.push((disk.ops(), acknowledged.len()));
        }
        let mut images = 0;
        for k in 0..=disk.ops() {
            let known = history.iter().rev().find(|(ops, _)| *ops <= k).map_or(0, |(_, n)| *n);
            for (n, image) in disk.crash_images(k).into_iter().enumerate() {
                let context = format!("{sessions:?}, crash before {k} ({}), image {n}", disk.describe(k));
                assert_whole(&image.image(), &acknowledged[..known], &context);
                if n < 4 {
                    assert_goes_on(&image.image(), &acknowledged[..known], &context);
                }
                images += 1;
            }
        }
        assert!(images > 20, "{images}");
    }
}

#[test]
fn every_fault_is_told_and_survived() {
    for sessions in SCENARIOS {
        let count = {
            let disk = fresh();
            sessions.iter().for_each(|s| drop(s.run(&open(&disk).unwrap()).unwrap()));
            disk.ops()
        };
        for fault in [Fault::NoSpace, Fault::Io, Fault::IoDropsUnsynced] {
            for k in 0..count {
                let disk = fresh();
                disk.fail_at(k, fault);
                let mut acknowledged = Vec::new();
                let context = format!("{sessions:?}, {fault:?} at {k}");
                for session in *sessions {
                    let done = open(&disk).and_then(|store| session.run(&store));
                    let done = done.or_else(|error| {
                        assert!(!error.to_string().is_empty());
                        assert_whole(&disk, &acknowledged, &context);
                        open(&disk).and_then(|store| session.run(&store))
                    });
                    acknowledged.extend(done.unwrap_or_else(|e| panic!("{context}: {e}")));
                }
                assert_whole(&disk, &acknowledged, &context);
                for (n, image) in disk.crash_images(disk.ops()).into_iter().enumerate() {
                    assert_whole(&image.image(), &acknowledged, &format!("{context}, then crash image {n}"));
                }
            }
        }
    }
}

#[test]
fn syncs_do_not_depend_on_the_number_of_objects() {
    for (session, most) in
        [(Session::Small(1), 3), (Session::Growing(1), 4), (Session::Bulk(1), 4), (Session::Large(1), 4)]
    {
        let disk = fresh();
        session.run(&open(&disk).unwrap()).unwrap();
        assert!(disk.syncs().total() <= most, "{session:?}: {:?}", disk.syncs());
    }
}
