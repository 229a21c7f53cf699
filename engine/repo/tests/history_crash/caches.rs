//! Stat caches that know more, or less, than the store: what they say is never stored on their word (DER-06, STO-07).

use crate::cases::{Command, begin, edited, finish, snapshot};
use crate::world::{World, without_marks};
use gemel_object::{Gid, Limits, blob_envelope};
use gemel_repo::facts::{Progress, Silent, Stage};
use gemel_repo::history::{self, CheckoutOptions, SnapshotOptions};
use gemel_repo::knowledge::{self, Session, StatusOptions};
use gemel_store::vfs::Vfs;
use gemel_store::vfs::sim::{Fault, SimDisk};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts files that are read.
#[derive(Debug, Default)]
struct FilesRead(AtomicU64);

impl Progress for FilesRead {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        if stage == Stage::Capture {
            self.0.fetch_add(total.unwrap_or(0), Ordering::Relaxed);
        }
    }
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}

fn status(world: &World, disk: &SimDisk) -> u64 {
    let read = FilesRead::default();
    knowledge::status(&mut Session::new(&world.open(disk).unwrap()), &StatusOptions::default(), &read)
        .unwrap();
    read.0.into_inner()
}

fn cache(world: &World) -> PathBuf {
    world.store_dir().join("cache/stat-default")
}

fn blob(text: &str) -> Gid {
    blob_envelope(text.as_bytes(), &Limits::DEFAULT).unwrap().id
}

/// Whether the stat cache knows a file of this content.
fn is_cached(world: &World, disk: &SimDisk, text: &str) -> bool {
    let digest = blob(text);
    let bytes = disk.read(&cache(world), u64::MAX).unwrap();
    bytes.windows(32).any(|window| window == digest.digest())
}

fn is_stored(world: &World, disk: &SimDisk, text: &str) -> bool {
    world.open(disk).unwrap().store().contains(&blob(text)).unwrap()
}

#[test]
fn what_status_has_hashed_is_stored_by_the_next_capture() {
    let (world, disk) = edited();
    begin().run(&world, &disk).unwrap();
    let disk = disk.fork();
    for capture in [snapshot(), finish()] {
        let disk = disk.fork();
        assert_eq!(status(&world, &disk), 2, "the files that changed are read");
        assert!(is_cached(&world, &disk, "five\n") && !is_stored(&world, &disk, "five\n"));
        assert_eq!(status(&world, &disk), 0, "and then believed");
        capture.run(&world, &disk).unwrap();
        assert!(is_stored(&world, &disk, "five\n"));
        world.check_whole(&disk, "after the capture");
        assert_eq!(status(&world, &disk), 0);
    }
}

#[test]
fn what_a_failed_capture_has_hashed_is_stored_by_the_next_one() {
    let (world, disk) = edited();
    begin().run(&world, &disk).unwrap();
    let disk = disk.fork();
    for capture in [snapshot(), finish()] {
        let whole = disk.fork();
        capture.run(&world, &whole).unwrap();
        let new = without_marks(&world.dump(&whole, "new"));
        let sync = (0..whole.ops()).find(|k| whole.describe(*k).contains("sync file")).unwrap();
        for fault in [Fault::NoSpace, Fault::Io, Fault::IoDropsUnsynced] {
            let disk = disk.fork();
            disk.fail_at(sync, fault);
            capture.run(&world, &disk).unwrap_err();
            assert!(is_cached(&world, &disk, "five\n") && !is_stored(&world, &disk, "five\n"));
            let disk = disk.fork();
            for looks in 0..2 {
                let disk = disk.fork();
                (0..looks).for_each(|_| assert_eq!(status(&world, &disk), 0));
                capture.run(&world, &disk).unwrap();
                assert_eq!(without_marks(&world.dump(&disk, "retry")), new);
                world.check_whole(&disk, "after the retry");
            }
        }
    }
}

/// A loss of power may leave any of them: caches are not synced.
#[test]
fn caches_of_other_times_change_no_answer() {
    let (world, disk) = edited();
    let mut times = vec![disk.fork()];
    snapshot().run(&world, &disk).unwrap();
    times.push(disk.fork());
    world.write("b/c.txt", "two and a half\n");
    world.settle();
    status(&world, &disk);
    times.push(disk.fork());
    snapshot().run(&world, &disk).unwrap();
    times.push(disk.fork());
    let to_first = CheckoutOptions { state: "S1".to_owned(), ..CheckoutOptions::default() };
    Command::Checkout(to_first).run(&world, &disk).unwrap();
    world.settle();
    times.push(disk.fork());
    for (at, disk) in times.iter().enumerate() {
        let repo = world.open(&disk.fork()).unwrap();
        let verified = SnapshotOptions { verify: true, ..SnapshotOptions::default() };
        let expected = history::snapshot(&repo, &verified, &Silent).unwrap().state;
        for (of, other) in times.iter().enumerate() {
            let disk = disk.fork();
            let context = format!("disk {at}, cache {of}");
            disk.overwrite(&cache(&world), &other.read(&cache(&world), u64::MAX).unwrap()).unwrap();
            status(&world, &disk);
            let repo = world.open(&disk).unwrap();
            let found = history::snapshot(&repo, &SnapshotOptions::default(), &Silent).unwrap();
            assert_eq!(found.state, expected, "{context}");
            world.check_whole(&disk, &context);
        }
    }
}
