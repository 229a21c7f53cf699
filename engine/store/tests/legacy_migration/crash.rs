//! A stop or a failure at every operation of a migration, on a simulated disk: what is left is the 0.12 store whole,
//! or the new one whole, and the next run completes it.

use crate::fixture::{Old, run, snapshot};
use gemel_store::legacy::{MigrateFacts, STOPPERS, check_stoppers, unfinished};
use gemel_store::vfs::Vfs;
use gemel_store::vfs::sim::{Fault, SimDisk};
use gemel_store::{Result, Store, StoreError};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "/w/.gemel";

/// The fixture, durable on a simulated disk, and its files.
struct Case {
    old: Old,
    disk: SimDisk,
    files: BTreeMap<PathBuf, Vec<u8>>,
    can_exchange: bool,
}

impl Case {
    fn new(can_exchange: bool) -> Case {
        let disk = SimDisk::new();
        let old = Old::new(Arc::new(disk.clone()), Path::new(DIR));
        let files = disk.files();
        Case { old, disk, files, can_exchange }
    }

    /// A disk with the fixture on it.
    fn start(&self) -> SimDisk {
        self.like_ours(self.disk.fork())
    }

    fn like_ours(&self, disk: SimDisk) -> SimDisk {
        if !self.can_exchange {
            disk.without_exchange();
        }
        disk
    }

    fn migrate(&self, disk: &SimDisk) -> Result<MigrateFacts> {
        run(&vfs(disk), Path::new(DIR), false, false)
    }

    /// Asserts what a stop may leave; gives whether the migration was decided.
    fn assert_whole(&self, disk: &SimDisk, at: &str) -> bool {
        match Store::open(vfs(disk), Path::new(DIR)) {
            Ok(_) => {
                self.old.assert_converted_on(&vfs(disk));
                true
            }
            Err(StoreError::Legacy { .. }) => {
                let found = disk.files();
                let refs_moved = !found.keys().any(|path| path.starts_with(format!("{DIR}/refs")));
                if refs_moved {
                    assert!(!self.can_exchange, "{at}: no refs");
                    return true;
                }
                self.assert_legacy(&found, at);
                false
            }
            Err(other) => panic!("{at}: {other}"),
        }
    }

    /// Everything 0.12 reads is as it was.
    fn assert_legacy(&self, found: &BTreeMap<PathBuf, Vec<u8>>, at: &str) {
        for (path, bytes) in &self.files {
            let now = found.get(path);
            if path.ends_with("meta.json") {
                let [then, now] =
                    [bytes, now.unwrap()].map(|b| serde_json::from_slice::<serde_json::Value>(b).unwrap());
                for key in ["counters", "default_producer"] {
                    assert_eq!(now[key], then[key], "{at}");
                }
            } else {
                assert!(now == Some(bytes), "{at}: {}", path.display());
            }
        }
    }

    /// The next run completes it, and nothing of the old files is lost.
    fn assert_completes(&self, disk: &SimDisk, at: &str) {
        self.migrate(disk).unwrap_or_else(|e| panic!("{at}: {e}"));
        self.old.assert_converted_on(&vfs(disk));
        let dir = Path::new(DIR);
        assert_eq!(check_stoppers(disk, dir).unwrap(), &[], "{at}");
        assert!(!unfinished(disk, dir).unwrap(), "{at}");
        let found = disk.files();
        let moved = |path: &Path| {
            let below = path.strip_prefix(DIR).unwrap();
            let top = below.iter().next().unwrap().to_str().unwrap();
            if STOPPERS.contains(&top) { dir.join("legacy-0.12").join(below) } else { path.to_owned() }
        };
        for (path, bytes) in self.files.iter().filter(|(path, _)| !path.ends_with("meta.json")) {
            assert!(found.get(&moved(path)) == Some(bytes), "{at}: {}", path.display());
        }
        assert!(found.contains_key(&dir.join("legacy-0.12/meta.json")), "{at}");
        let stray = found.keys().find(|path| path.starts_with(dir.join("migrating")) || temporary(path));
        assert_eq!(stray, None, "{at}");
    }
}

fn temporary(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("tmp-"))
}

fn vfs(disk: &SimDisk) -> Arc<dyn Vfs> {
    Arc::new(disk.clone())
}

/// What distinguishes one state of the disk from another, so that equal ones are tried once. The store being built is
/// thrown away as a whole by a run that starts over: how far it has come makes no difference.
fn fingerprint(disk: &SimDisk) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let built = Path::new(DIR).join("migrating/new");
    for (path, bytes) in snapshot(disk, Path::new("/")) {
        let is_built = path.starts_with(&built) && path != built.join("meta.json");
        if is_built && path.parent() != Some(&*built) {
            continue;
        }
        hasher.update(path.as_os_str().as_encoded_bytes()).update(b"\0");
        if let Some(bytes) = bytes.filter(|_| !is_built) {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
        }
    }
    hasher.finalize()
}

/// Every crash image after every operation; then, from where the next run could go on, every one of that run.
fn sweep(case: &Case) {
    let disk = case.start();
    case.migrate(&disk).unwrap();
    case.assert_completes(&disk, "undisturbed");
    let (mut seen, mut undecided, mut decided) = (HashSet::new(), 0, Vec::new());
    for k in 0..=disk.ops() {
        for image in disk.crash_images(k) {
            let at = format!("{} after {}", image.name(), disk.describe(k));
            let crashed = case.like_ours(image.image());
            if !seen.insert(fingerprint(&crashed)) {
                continue;
            }
            if case.assert_whole(&crashed, &at) {
                decided.push((at.clone(), crashed.fork()));
            } else {
                undecided += 1;
            }
            case.assert_completes(&crashed, &at);
        }
    }
    println!("{} operations, {undecided} images undecided, {} decided", disk.ops(), decided.len());
    assert!(undecided > 0 && !decided.is_empty());
    for (first, start) in decided.into_iter().step_by(4) {
        let disk = case.like_ours(start);
        case.migrate(&disk).unwrap();
        for k in 0..disk.ops() {
            for image in disk.crash_images(k) {
                let crashed = case.like_ours(image.image());
                if seen.insert(fingerprint(&crashed)) {
                    let at = format!("{first}, then {} after {}", image.name(), disk.describe(k));
                    assert!(case.assert_whole(&crashed, &at), "{at}: undone");
                    case.assert_completes(&crashed, &at);
                }
            }
        }
    }
    println!("{} images in all", seen.len());
}

#[test]
fn a_stop_at_any_operation_leaves_one_store_whole() {
    sweep(&Case::new(true));
}

/// On a file system that cannot exchange two entries.
#[test]
fn a_stop_at_any_operation_without_exchange() {
    sweep(&Case::new(false));
}

/// A run that starts over after a stop before the decision, stopped again.
#[test]
fn a_second_stop_while_starting_over() {
    let case = Case::new(true);
    let disk = case.start();
    case.migrate(&disk).unwrap();
    for first in (0..disk.ops()).step_by(11) {
        disk.crash_images(first).into_iter().take(2).for_each(|image| {
            let start = image.image();
            let again = start.fork();
            case.migrate(&again).unwrap();
            for k in (0..again.ops()).step_by(3) {
                for second in again.crash_images(k).into_iter().take(2) {
                    let at =
                        format!("stopped at {first}, then {} after {}", second.name(), again.describe(k));
                    let crashed = second.image();
                    case.assert_whole(&crashed, &at);
                    case.assert_completes(&crashed, &at);
                }
            }
        });
    }
}

/// No space or an I/O error at each operation: an error that says so, one store whole, and the next run works.
fn fail_everywhere(case: &Case, arm: impl Fn(&SimDisk, usize)) {
    let plain = case.start();
    case.migrate(&plain).unwrap();
    let mut seen = HashSet::new();
    // Threads share the work, so the number of operations is not the same in every run.
    for k in 0..plain.ops() + 10 {
        let disk = case.start();
        arm(&disk, k);
        let result = case.migrate(&disk);
        disk.clear_faults();
        let at = format!("failed at {}", disk.describe(k));
        match result {
            Ok(_) => drop(case.assert_whole(&disk, &at)),
            Err(StoreError::Io { .. }) => drop(case.assert_whole(&disk, &at)),
            Err(other) => panic!("{at}: {other}"),
        }
        let crashed = disk.crash_images(disk.ops());
        case.assert_completes(&disk, &at);
        for image in crashed {
            let at = format!("{at}, then {}", image.name());
            let crashed = case.like_ours(image.image());
            if seen.insert(fingerprint(&crashed)) {
                case.assert_whole(&crashed, &at);
                case.assert_completes(&crashed, &at);
            }
        }
    }
}

#[test]
fn no_space_at_any_operation() {
    fail_everywhere(&Case::new(true), |disk, k| disk.fail_at(k, Fault::NoSpace));
}

#[test]
fn a_full_disk_from_any_operation_on() {
    fail_everywhere(&Case::new(true), SimDisk::fill_from);
}

#[test]
fn an_io_error_at_any_operation() {
    fail_everywhere(&Case::new(true), |disk, k| disk.fail_at(k, Fault::Io));
    fail_everywhere(&Case::new(false), |disk, k| disk.fail_at(k, Fault::IoDropsUnsynced));
}

/// A decided migration is completed by the next command that writes.
#[test]
fn the_next_transaction_tidies_up() {
    let case = Case::new(true);
    let disk = case.start();
    case.migrate(&disk).unwrap();
    let mut seen = 0;
    for k in 0..disk.ops() {
        let crashed = disk.crash_images(k).swap_remove(0).image();
        if !unfinished(&crashed, Path::new(DIR)).unwrap()
            || Store::open(vfs(&crashed), Path::new(DIR)).is_err()
        {
            continue;
        }
        seen += 1;
        let store = Store::open(vfs(&crashed), Path::new(DIR)).unwrap();
        drop(store.transaction().unwrap());
        assert!(!unfinished(&crashed, Path::new(DIR)).unwrap());
        assert_eq!(check_stoppers(&crashed, Path::new(DIR)).unwrap(), &[]);
        case.assert_completes(&crashed, &disk.describe(k));
    }
    assert!(seen > 5, "{seen}");
}
