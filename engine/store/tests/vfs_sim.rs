//! The simulated disk behaves like a disk, and its crash images are those a disk may leave.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_store::vfs::sim::{Fault, SimDisk, is_stop};
use gemel_store::vfs::{EntryKind, Vfs};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

fn p(text: &str) -> &Path {
    Path::new(text)
}

fn write(disk: &SimDisk, path: &str, bytes: &[u8]) {
    let mut file = disk.create_new(p(path)).unwrap();
    file.append(bytes).unwrap();
}

/// Contents of `path` in every image after `k` operations; `None` where it is absent.
fn outcomes(disk: &SimDisk, k: usize, path: &str) -> BTreeSet<Option<Vec<u8>>> {
    disk.crash_images(k).iter().map(|i| i.image().files().remove(p(path))).collect()
}

#[test]
fn behaves_like_a_disk() {
    let disk = SimDisk::new();
    disk.create_dir_all(p("/a/b")).unwrap();
    write(&disk, "/a/b/f", b"hello");
    assert_eq!(disk.read(p("/a/b/f"), 5).unwrap(), b"hello");
    assert_eq!(disk.read(p("/a/b/f"), 4).unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(disk.read_from(p("/a/b/f"), 3, 9).unwrap(), b"lo");
    assert_eq!(disk.read_from(p("/a/b/f"), 9, 9).unwrap(), b"");
    assert_eq!(disk.create_new(p("/a/b/f")).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(disk.create_new(p("/x/f")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(disk.create_new(p("/a/b/f/g")).unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(disk.create_dir_all(p("/a/b/f/g")).unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(disk.remove_dir(p("/a/b")).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    assert_eq!(disk.open_append(p("/a")).unwrap_err().kind(), ErrorKind::IsADirectory);
    let listed: Vec<_> = disk.list(p("/a")).unwrap().into_iter().map(|e| (e.name, e.is_dir)).collect();
    assert_eq!(listed, [("b".to_owned(), true)]);
    assert_eq!(disk.stat_raw(p("/a/b/f")).unwrap().unwrap().kind, EntryKind::File);
    assert_eq!(disk.stat(p("/a/b/f/g")).unwrap(), None);

    let map = disk.map(p("/a/b/f")).unwrap();
    let mut file = disk.open_append(p("/a/b/f")).unwrap();
    file.append(b" world").unwrap();
    assert_eq!(&*map, b"hello", "a map is a snapshot");
    assert_eq!(disk.read_range(p("/a/b/f"), 6, 5).unwrap(), b"world");
    assert_eq!(disk.read_range(p("/a/b/f"), 7, 5).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    file.truncate(5).unwrap();
    assert!(file.truncate(4).is_err(), "a mapped file is not shortened");
    drop(map);
    file.truncate(4).unwrap();

    disk.rename(p("/a/b"), p("/a/c")).unwrap();
    assert_eq!(disk.read(p("/a/c/f"), 9).unwrap(), b"hell");
    write(&disk, "/a/g", b"g");
    disk.exchange(p("/a/c"), p("/a/g")).unwrap();
    assert_eq!(disk.read(p("/a/g/f"), 9).unwrap(), b"hell");
    assert_eq!(disk.read(p("/a/c"), 9).unwrap(), b"g");
    disk.remove_file(p("/a/c")).unwrap();
    assert_eq!(disk.remove_file(p("/a/c")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(disk.rename(p("/a"), p("/a/g/x")).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn locks_exclude_until_dropped() {
    let disk = SimDisk::new();
    let guard = disk.lock(p("/lock")).unwrap();
    let mut a = disk.open_append(p("/lock")).unwrap();
    let mut b = disk.open_append(p("/lock")).unwrap();
    assert!(!a.try_lock().unwrap());
    drop(guard);
    assert!(a.try_lock().unwrap());
    assert!(a.try_lock().unwrap());
    assert!(!b.try_lock().unwrap());
    drop(a);
    let waiting = {
        let disk = disk.clone();
        assert!(b.try_lock().unwrap());
        std::thread::spawn(move || disk.lock(p("/lock")).is_ok())
    };
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(!waiting.is_finished());
    drop(b);
    assert!(waiting.join().unwrap());
}

#[test]
fn unsynced_data_may_be_absent_whole_or_torn() {
    let disk = SimDisk::new();
    write(&disk, "/f", b"AAAA");
    disk.open_append(p("/f")).unwrap().sync().unwrap();
    disk.sync_dir(p("/")).unwrap();
    disk.open_append(p("/f")).unwrap().append(b"BBBB").unwrap();
    let found = outcomes(&disk, disk.ops(), "/f");
    for expected in [&b"AAAA"[..], b"AAAABBBB", b"AAAABB", b"AAAABBB", b"AAAA\0\0\0\0", b"AAAABB\0\0"] {
        assert!(found.contains(&Some(expected.to_vec())), "{expected:?} in {found:?}");
    }
    assert!(found.iter().all(|f| f.as_ref().is_some_and(|f| f.starts_with(b"AAAA"))), "{found:?}");
    disk.open_append(p("/f")).unwrap().sync().unwrap();
    assert_eq!(outcomes(&disk, disk.ops(), "/f").len(), 1);
}

#[test]
fn entries_are_durable_after_a_sync_of_their_directory() {
    let disk = SimDisk::new();
    disk.create_dir_all(p("/d")).unwrap();
    disk.sync_dir(p("/")).unwrap();
    let mut file = disk.create_new(p("/d/tmp")).unwrap();
    file.append(b"new").unwrap();
    assert!(outcomes(&disk, disk.ops(), "/d/tmp").contains(&Some(Vec::new())), "an entry without its data");
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, disk.ops(), "/d/tmp"), [None, Some(b"new".to_vec())].into());
    disk.rename(p("/d/tmp"), p("/d/f")).unwrap();
    assert_eq!(outcomes(&disk, disk.ops(), "/d/f"), [None, Some(b"new".to_vec())].into());
    disk.sync_dir(p("/d")).unwrap();
    assert_eq!(outcomes(&disk, disk.ops(), "/d/f"), [Some(b"new".to_vec())].into());
    disk.remove_file(p("/d/f")).unwrap();
    assert_eq!(outcomes(&disk, disk.ops(), "/d/f"), [None, Some(b"new".to_vec())].into());
    // A file in a directory that is not durable goes with it.
    disk.create_dir_all(p("/e")).unwrap();
    write(&disk, "/e/f", b"x");
    disk.open_append(p("/e/f")).unwrap().sync().unwrap();
    disk.sync_dir(p("/e")).unwrap();
    assert!(outcomes(&disk, disk.ops(), "/e/f").contains(&None));
}

#[test]
fn rename_may_reach_the_disk_before_the_data() {
    let disk = SimDisk::new();
    write(&disk, "/f", b"old");
    let disk = disk.fork();
    write(&disk, "/tmp", b"new");
    disk.rename(p("/tmp"), p("/f")).unwrap();
    let found = outcomes(&disk, disk.ops(), "/f");
    assert!(found.contains(&Some(b"old".to_vec())) && found.contains(&Some(Vec::new())), "{found:?}");
}

#[test]
fn stops_for_good() {
    let disk = SimDisk::new();
    disk.stop_at(2);
    let mut file = disk.create_new(p("/f")).unwrap();
    file.append(b"x").unwrap();
    assert!(is_stop(&file.sync().unwrap_err()));
    assert!(is_stop(&disk.read(p("/f"), 9).unwrap_err()));
    assert!(is_stop(&disk.lock(p("/l")).unwrap_err()));
    assert!(disk.is_stopped());
    assert_eq!(disk.ops(), 2);
    assert_eq!(disk.crash_images(2).len(), outcomes(&disk, 2, "/f").len());
}

#[test]
fn fails_and_goes_on() {
    let disk = SimDisk::new();
    disk.fail_at(1, Fault::NoSpace);
    disk.fail_at(3, Fault::Io);
    let mut file = disk.create_new(p("/f")).unwrap();
    assert_eq!(file.append(b"abcd").unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.len_bytes(), 2);
    file.append(b"ef").unwrap();
    assert!(file.sync().is_err());
    assert!(file.append(b"x").is_err(), "poisoned");
    // What a failed sync covered is not made durable by a later one.
    let mut again = disk.open_append(p("/f")).unwrap();
    again.append(b"gh").unwrap();
    again.sync().unwrap();
    disk.sync_dir(p("/")).unwrap();
    let found = outcomes(&disk, disk.ops(), "/f");
    assert!(
        found.contains(&Some(b"abefgh".to_vec())) && found.contains(&Some(b"\0\0\0\0gh".to_vec())),
        "{found:?}"
    );
    assert_eq!(disk.syncs().total(), 2);
}

#[test]
fn a_failed_sync_may_drop_what_was_visible() {
    let disk = SimDisk::new();
    let mut file = disk.create_new(p("/f")).unwrap();
    file.append(b"ab").unwrap();
    file.sync().unwrap();
    file.append(b"cd").unwrap();
    disk.fail_at(disk.ops(), Fault::IoDropsUnsynced);
    assert!(file.sync().is_err());
    assert_eq!(disk.read(p("/f"), 9).unwrap(), b"ab");
}

#[test]
fn a_full_disk_takes_nothing_until_there_is_room() {
    let disk = SimDisk::new();
    disk.fill_from(0);
    assert_eq!(disk.create_new(p("/f")).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(disk.create_dir_all(p("/d")).unwrap_err().kind(), ErrorKind::StorageFull);
    disk.clear_faults();
    write(&disk, "/f", b"x");
    disk.fill_from(0);
    disk.remove_file(p("/f")).unwrap();
}

#[test]
fn damage_from_outside() {
    let disk = SimDisk::new();
    write(&disk, "/f", b"x");
    let disk = disk.fork();
    disk.overwrite(p("/f"), b"yy").unwrap();
    assert_eq!(disk.read(p("/f"), 9).unwrap(), b"yy");
    assert_eq!((disk.ops(), disk.crash_images(0).len()), (0, 1));
    assert!(disk.overwrite(p("/no/f"), b"").is_err());
}
