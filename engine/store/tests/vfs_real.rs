//! The disk of the operating system keeps the contract of the seam.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_store::vfs::{Vfs, real::RealDisk};
use std::collections::HashSet;
use std::io::ErrorKind;

#[test]
fn files() {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::new();
    let path = dir.path().join("f");
    let mut file = disk.create_new(&path).unwrap();
    assert_eq!(disk.create_new(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(disk.map(&path).unwrap().len(), 0);
    file.append(b"hello ").unwrap();
    file.append(b"world").unwrap();
    assert_eq!(file.len_bytes(), 11);
    let map = disk.map(&path).unwrap();
    file.append(b"!").unwrap();
    assert_eq!(&*map, b"hello world");
    drop(map);
    assert_eq!(disk.read_range(&path, 6, 6).unwrap(), b"world!");
    assert_eq!(disk.read_range(&path, 7, 6).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    file.truncate(5).unwrap();
    file.append(b"?").unwrap();
    file.sync().unwrap();
    assert_eq!(disk.read(&path, 6).unwrap(), b"hello?");
    assert_eq!(disk.read(&path, 5).unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(disk.read_from(&path, 5, 1).unwrap(), b"?");
    assert_eq!(disk.read_from(&path, 100, 1).unwrap(), b"");
    assert_eq!(disk.read_from(&path, 2, 3).unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(disk.open_append(&path).unwrap().len_bytes(), 6);
    assert_eq!(disk.map(&dir.path().join("absent")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(disk.map(dir.path()).unwrap_err().kind(), ErrorKind::InvalidData);
    assert!(disk.stat(&path.join("below")).unwrap().is_none());
    disk.sync_dir(dir.path()).unwrap();
    assert_eq!(disk.sync_dir(&dir.path().join("absent")).unwrap_err().kind(), ErrorKind::NotFound);
    let listed = disk.list(dir.path()).unwrap();
    assert_eq!((listed[0].name.as_str(), listed[0].size_bytes, listed[0].is_dir), ("f", 6, false));
}

#[test]
fn locks_hold_between_handles_and_end_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::new();
    let path = dir.path().join("lock");
    let guard = disk.lock(&path).unwrap();
    let mut other = disk.open_append(&path).unwrap();
    assert!(!other.try_lock().unwrap());
    drop(guard);
    assert!(other.try_lock().unwrap());
    let waiting = std::thread::spawn({
        let path = path.clone();
        move || drop(disk.lock(&path).unwrap())
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(!waiting.is_finished());
    drop(other);
    waiting.join().unwrap();
}

#[test]
fn temporary_names_differ() {
    let disk = RealDisk::new();
    let names: HashSet<_> = (0..100).map(|_| disk.temp_path(std::path::Path::new("/x"))).collect();
    assert_eq!(names.len(), 100);
    assert!(names.iter().all(|n| n.file_name().unwrap().to_str().unwrap().starts_with("tmp-")));
}

/// A pipe in the place of a file must not hang a reader.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_refused_without_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    assert_eq!(RealDisk::new().read(&path, 9).unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(RealDisk::new().map(&path).unwrap_err().kind(), ErrorKind::InvalidData);
}
