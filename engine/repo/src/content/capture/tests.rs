//! What changes while it is read.

use super::{Capture, CaptureRequest, CompareWith, capture_watched};
use crate::content::delta::{delta_trees, read_blob};
use crate::facts::Silent;
use gemel_object::{Limits, families::State};
use gemel_store::Store;
use gemel_store::vfs::real::RealDisk;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Captures a small worktree; `between` changes it after each pass.
fn check(between: impl Fn(&Path, u32)) -> (Capture, Vec<String>, String) {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    fs::create_dir_all(root.join("d/e")).unwrap();
    fs::write(root.join("d/a"), "1").unwrap();
    fs::write(root.join("b"), "1").unwrap();
    let store = Store::init(Arc::new(RealDisk::new()), &root.join(".gemel")).unwrap();
    let request = CaptureRequest {
        root,
        recorded: None,
        cache: Some("stat-default"),
        compare_with: CompareWith::Nothing,
        verify: false,
        limits: &Limits::DEFAULT,
        progress: &Silent,
    };
    let writer = store.writer().unwrap();
    let captured = capture_watched(&store, &writer, &request, &|attempt| {
        // Older kernels stamp with the tick of their clock.
        std::thread::sleep(std::time::Duration::from_millis(12));
        between(root, attempt);
    });
    let captured = captured.unwrap();
    writer.commit().unwrap();
    let delta = delta_trees(&store, None, Some(captured.root_tree)).unwrap();
    let files = delta.iter().map(|delta| {
        let content = read_blob(&store, &delta.after.unwrap().1).unwrap();
        format!("{}={}", delta.path, String::from_utf8_lossy(&content))
    });
    let files = files.collect();
    let envelope = store.read(&captured.state).unwrap();
    let state = State::decode(&envelope, &Limits::DEFAULT).unwrap();
    let record = String::from_utf8(state.record().extension(0x80).unwrap().to_vec()).unwrap();
    // Whatever was seen, a quiet capture afterwards answers from the disk.
    let writer = store.writer().unwrap();
    let again = capture_watched(&store, &writer, &request, &|_| {}).unwrap();
    assert!(again.coherent);
    assert_eq!(again.attempts, 1);
    (captured, files, record)
}

#[test]
fn undisturbed_is_one_attempt() {
    let (captured, files, record) = check(|_, _| {});
    assert_eq!((captured.attempts, captured.coherent), (1, true));
    assert_eq!(files, ["b=1", "d/a=1"]);
    assert_eq!(record, r#"{"attempts":1,"coherent":true}"#);
}

#[test]
fn one_disturbance_is_a_second_attempt() {
    type Disturb = fn(&Path);
    let disturbances: [(Disturb, &[&str]); 7] = [
        (|root| fs::write(root.join("d/a"), "2").unwrap(), &["b=1", "d/a=2"]),
        (|root| fs::write(root.join("new"), "x").unwrap(), &["b=1", "d/a=1", "new=x"]),
        (|root| fs::write(root.join("d/e/new"), "x").unwrap(), &["b=1", "d/a=1", "d/e/new=x"]),
        (|root| fs::remove_file(root.join("b")).unwrap(), &["d/a=1"]),
        (|root| fs::remove_dir_all(root.join("d")).unwrap(), &["b=1"]),
        (
            |root| {
                fs::remove_file(root.join("b")).unwrap();
                fs::create_dir(root.join("b")).unwrap();
                fs::write(root.join("b/inner"), "y").unwrap();
            },
            &["b/inner=y", "d/a=1"],
        ),
        (
            |root| {
                fs::write(root.join("t"), "z").unwrap();
                fs::rename(root.join("t"), root.join("b")).unwrap();
            },
            &["b=z", "d/a=1"],
        ),
    ];
    for (disturb, expected) in disturbances {
        let (captured, files, record) = check(|root, attempt| {
            if attempt == 1 {
                disturb(root);
            }
        });
        assert_eq!(files, expected);
        assert_eq!((captured.attempts, captured.coherent), (2, true), "{expected:?}");
        assert_eq!(record, r#"{"attempts":2,"coherent":true}"#);
    }
}

/// Waits until the file system's clock has left the last change of `path` behind.
fn let_time_pass(path: &Path) {
    let at = |path: &Path| crate::content::disk::change_time_of(path).unwrap().0;
    let probe = path.with_file_name("probe");
    loop {
        fs::write(&probe, "").unwrap();
        let passed = at(&probe) > at(path);
        fs::remove_file(&probe).unwrap();
        if passed {
            return;
        }
    }
}

/// What the stat cache vouches for is not looked at twice, and what is recorded is the moment the walk began.
#[test]
fn with_a_stat_cache_the_state_is_that_of_the_beginning() {
    type Disturb = fn(&Path);
    let cases: [(Disturb, u32, &str, &str); 2] = [
        (|root| fs::write(root.join("d/kept"), "later").unwrap(), 1, "d/kept", "1"),
        (|root| fs::write(root.join("edited"), "later").unwrap(), 2, "edited", "later"),
    ];
    for (disturb, attempts, path, expected) in cases {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("work");
        fs::create_dir(&root).unwrap();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/kept"), "1").unwrap();
        fs::write(root.join("edited"), "1").unwrap();
        let store = Store::init(Arc::new(RealDisk::new()), &root.join(".gemel")).unwrap();
        let capture = |recorded, between: &dyn Fn(u32)| {
            let request = CaptureRequest {
                root: &root,
                recorded,
                cache: Some("stat-default"),
                compare_with: CompareWith::Empty,
                verify: false,
                limits: &Limits::DEFAULT,
                progress: &Silent,
            };
            let writer = store.writer().unwrap();
            let captured = capture_watched(&store, &writer, &request, between).unwrap();
            writer.commit().unwrap();
            captured
        };
        // Younger than the racy rule allows, nothing is vouched for.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let first = capture(None, &|_| {}).state;
        fs::write(root.join("edited"), "now").unwrap();
        let_time_pass(&root.join("edited"));
        let captured = capture(Some(first), &|attempt| {
            if attempt == 1 {
                disturb(&root);
            }
        });
        assert_eq!((captured.attempts, captured.coherent), (attempts, true), "{path}");
        let found = captured.changes.iter().find(|delta| delta.path == path).unwrap();
        assert_eq!(read_blob(&store, &found.after.unwrap().1).unwrap(), expected.as_bytes(), "{path}");
    }
}

#[test]
fn what_never_rests_is_recorded_as_incoherent() {
    let (captured, _, record) =
        check(|root, attempt| fs::write(root.join("b"), format!("{attempt}")).unwrap());
    assert_eq!((captured.attempts, captured.coherent), (3, false));
    assert_eq!(record, r#"{"attempts":3,"coherent":false}"#);
}

/// Another thread appends, cuts and replaces while files are read, long ones among them.
#[test]
fn files_in_motion_are_recorded_all_the_same() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("work");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("long"), vec![b'x'; 5 << 20]).unwrap();
    fs::write(root.join("short"), "s").unwrap();
    let store = Store::init(Arc::new(RealDisk::new()), &temp.path().join("store")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0u32;
            while !done.load(Ordering::Relaxed) {
                round += 1;
                fs::File::options().append(true).open(root.join("long")).unwrap().write_all(b"more").unwrap();
                fs::File::options()
                    .append(true)
                    .open(root.join("short"))
                    .unwrap()
                    .write_all(b"more")
                    .unwrap();
                if round.is_multiple_of(50) {
                    fs::File::options().write(true).open(root.join("short")).unwrap().set_len(3).unwrap();
                    fs::write(root.join(format!("new{}", round % 4)), "n").unwrap();
                }
                if round.is_multiple_of(70) {
                    let _ = fs::remove_file(root.join(format!("new{}", round % 4)));
                }
            }
        });
        for _ in 0..6 {
            let request = CaptureRequest {
                root: &root,
                recorded: None,
                cache: Some("stat-default"),
                compare_with: CompareWith::Empty,
                verify: false,
                limits: &Limits::DEFAULT,
                progress: &Silent,
            };
            let writer = store.writer().unwrap();
            let captured = capture_watched(&store, &writer, &request, &|_| {}).unwrap();
            writer.commit().unwrap();
            // What is recorded is whole, whatever it is.
            for delta in captured.changes {
                read_blob(&store, &delta.after.unwrap().1).unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[cfg(unix)]
#[test]
fn a_pipe_put_in_place_of_a_file_is_not_waited_for() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    fs::write(root.join("f"), "1").unwrap();
    let store = Store::init(Arc::new(RealDisk::new()), &root.join(".gemel")).unwrap();
    let request = CaptureRequest {
        root,
        recorded: None,
        cache: None,
        compare_with: CompareWith::Nothing,
        verify: false,
        limits: &Limits::DEFAULT,
        progress: &Silent,
    };
    let writer = store.writer().unwrap();
    let error = capture_watched(&store, &writer, &request, &|_| {
        let _ = fs::remove_file(root.join("f"));
        let _ = mknodat(CWD, root.join("f"), FileType::Fifo, Mode::from_raw_mode(0o600), 0);
    });
    assert_eq!(
        error.unwrap_err().to_string(),
        "unsupported: f: special file type (socket, pipe or device); remove it or have it ignored"
    );
}
