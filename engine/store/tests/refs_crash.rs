//! A stop, a loss of power, a full disk or a failing one at every disk operation (REF-02, REF-04, STO-04, T-56).
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod refs_support;

use gemel_store::RefValue;
use gemel_store::refs::{self, RefOptions};
use gemel_store::vfs::Vfs;
use gemel_store::vfs::sim::{Fault, SimDisk};
use refs_support::*;

type Edits = Vec<(String, Option<RefValue>)>;

/// A scenario: the disk before, the transaction, and the sizes it runs under.
struct Case {
    name: &'static str,
    before: SimDisk,
    edits: Edits,
    options: RefOptions,
    /// Syncs, table files and journal files afterwards: the proof that it takes the path it is named after.
    path: (usize, usize, usize),
}

fn after(steps: u64) -> SimDisk {
    let disk = fresh();
    (1..=steps).for_each(|n| commit(&disk, TINY, &step(n)).unwrap());
    disk.fork()
}

/// One case per path a transaction may take; the names of the files afterwards prove that it took it.
fn cases() -> Vec<Case> {
    let case = |name, path, before, edits, options| Case { name, before, edits, options, path };
    let torn = {
        let disk = after(2);
        let k = disk.ops();
        disk.fail_at(k, Fault::NoSpace);
        disk.fail_at(k + 1, Fault::Io);
        assert!(commit(&disk, TINY, &step(3)).is_err());
        assert!(has_torn_tail(&disk));
        disk.fork()
    };
    let bulks = {
        let disk = after(1);
        (1..=3).for_each(|n| commit(&disk, TINY, &bulk(n)).unwrap());
        disk.fork()
    };
    let removal = {
        let disk = after(6);
        let names: Edits = read_all(&disk).unwrap().into_keys().map(|name| (name, None)).collect();
        case(
            "removal of everything",
            (3, 0, 2),
            disk,
            names,
            RefOptions { tail_records: 0, growth: 1000, ..TINY },
        )
    };
    vec![
        case("first", (1, 0, 1), fresh(), step(1), TINY),
        case("small", (1, 0, 1), after(2), step(9), TINY),
        case("fold", (4, 1, 1), after(3), step(9), TINY),
        case(
            "fold and merge",
            (4, 1, 3),
            after(14),
            step(15),
            RefOptions { tail_records: 0, growth: 1000, ..TINY },
        ),
        case(
            "rotation",
            (4, 1, 3),
            after(14),
            step(15),
            RefOptions { tail_records: 0, journal_bytes: 0, ..TINY },
        ),
        case(
            "dropping journals",
            (4, 3, 1),
            after(40),
            step(41),
            RefOptions { tail_records: 0, journal_bytes: 0, journals_kept: 0, ..TINY },
        ),
        case("bulk", (4, 1, 1), after(3), bulk(1), TINY),
        case("small behind a torn append", (2, 0, 1), torn.fork(), step(9), TINY),
        case("small after bulks", (1, 1, 1), bulks, step(9), TINY),
        case("fold behind a torn append", (4, 1, 1), torn, step(9), RefOptions { tail_records: 0, ..TINY }),
        removal,
    ]
}

fn has_torn_tail(disk: &SimDisk) -> bool {
    let report = refs::verify(&vfs(disk), dir()).unwrap();
    report.findings.iter().any(|f| f.kind == refs::RefFindingKind::InterruptedTransaction)
}

/// The next transactions work, small and folding, and nothing is left over by the folding one.
fn assert_goes_on(disk: &SimDisk, model: &Model, context: &str) {
    let mut model = model.clone();
    for (n, options) in [(100, RefOptions::default()), (101, RefOptions { tail_records: 0, ..TINY })] {
        commit(disk, options, &step(n)).unwrap_or_else(|e| panic!("{context}, next transaction: {e}"));
        apply(&mut model, &step(n));
        assert_eq!(read_checked(disk, context), model, "{context}");
    }
    let report = refs::verify(&vfs(disk), dir()).unwrap();
    use refs::RefFindingKind::{CutTransaction, InterruptedTransaction};
    let traces = [CutTransaction, InterruptedTransaction];
    let left: Vec<_> = report.findings.iter().filter(|f| !traces.contains(&f.kind)).collect();
    assert!(left.is_empty(), "{context}: {left:?}");
}

#[test]
fn every_crash_leaves_the_old_or_the_new_state() {
    for Case { name, before, edits, options, path } in cases() {
        let old = read_checked(&before, name);
        let mut new = old.clone();
        apply(&mut new, &edits);
        commit(&before, options, &edits).unwrap();
        assert_eq!(read_checked(&before, name), new);
        let files = before.files();
        let count =
            |kind: &str| files.keys().filter(|path| path.extension().is_some_and(|e| e == kind)).count();
        assert_eq!((before.syncs().total(), count("table"), count("journal")), path, "{name}");
        let (mut olds, mut news) = (0, 0);
        for k in 0..=before.ops() {
            for image in before.crash_images(k) {
                let context = format!("{name}, before {}, {}", before.describe(k), image.name());
                let disk = image.image();
                let found = read_checked(&disk, &context);
                assert!(found == old || found == new, "{context}: {found:?}");
                olds += usize::from(found == old);
                news += usize::from(found == new);
                if k == before.ops() {
                    assert_eq!(found, new, "{context}: acknowledged and lost");
                }
                assert_goes_on(&disk, &found, &context);
            }
        }
        assert!(olds > 0 && news > 0, "{name}");
    }
}

/// A crash of the transaction that follows a crash: what the first left does no harm to the second.
#[test]
fn crash_after_crash() {
    for Case { name, before, edits, options, .. } in
        cases().into_iter().filter(|c| matches!(c.name, "small" | "fold"))
    {
        commit(&before, options, &edits).unwrap();
        for k in 0..=before.ops() {
            for image in before.crash_images(k) {
                let disk = image.image();
                let old = read_checked(&disk, name);
                let mut new = old.clone();
                apply(&mut new, &step(50));
                for options in [options, RefOptions { tail_records: 0, ..TINY }] {
                    let disk = image.image();
                    commit(&disk, options, &step(50)).unwrap();
                    for j in 0..=disk.ops() {
                        for second in disk.crash_images(j) {
                            let context = format!(
                                "{name}, before {}, {}, then before {}, {}",
                                before.describe(k),
                                image.name(),
                                disk.describe(j),
                                second.name()
                            );
                            let found = read_checked(&second.image(), &context);
                            assert!(found == old || found == new, "{context}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_failing_operation_is_an_error_and_then_all_is_well() {
    for Case { name, before, edits, options, .. } in cases() {
        let old = read_checked(&before, name);
        let mut new = old.clone();
        apply(&mut new, &edits);
        let ops = {
            let disk = before.fork();
            commit(&disk, options, &edits).unwrap();
            disk.ops()
        };
        for fault in [Fault::NoSpace, Fault::Io, Fault::IoDropsUnsynced] {
            for k in 0..ops {
                let disk = before.fork();
                disk.fail_at(k, fault);
                let done = commit(&disk, options, &edits);
                let context = format!("{name}, {fault:?} in {}, answer {done:?}", disk.describe(k));
                let found = read_checked(&disk, &context);
                assert_eq!(found, if done.is_ok() { new.clone() } else { old.clone() }, "{context}");
                for image in disk.crash_images(disk.ops()) {
                    let context = format!("{context}, then {}", image.name());
                    let found = read_checked(&image.image(), &context);
                    assert!(found == old || found == new, "{context}");
                    assert!(done.is_err() || found == new, "{context}: acknowledged and lost");
                }
                assert_goes_on(&disk, &found, &context);
            }
        }
    }
}

#[test]
fn a_full_disk_refuses_until_there_is_room() {
    for Case { name, before, edits, options, .. } in cases() {
        let old = read_checked(&before, name);
        let ops = {
            let disk = before.fork();
            commit(&disk, options, &edits).unwrap();
            disk.ops()
        };
        for k in 0..ops {
            let disk = before.fork();
            disk.fill_from(k);
            let done = commit(&disk, options, &edits);
            let context = format!("{name}, full from {}", disk.describe(k));
            if done.is_err() {
                assert_eq!(read_checked(&disk, &context), old, "{context}");
            }
            disk.clear_faults();
            let found = read_checked(&disk, &context);
            assert_goes_on(&disk, &found, &context);
        }
    }
}

#[test]
fn init_is_completed_after_a_crash() {
    let disk = SimDisk::new();
    disk.create_dir_all(dir()).unwrap();
    let disk = disk.fork();
    refs::init(&vfs(&disk), dir()).unwrap();
    disk.sync_dir(dir()).unwrap();
    for k in 0..=disk.ops() {
        for image in disk.crash_images(k) {
            let context = format!("before {}, {}", disk.describe(k), image.name());
            let disk = image.image();
            refs::init(&vfs(&disk), dir()).unwrap_or_else(|e| panic!("{context}: {e}"));
            assert_goes_on(&disk, &Model::new(), &context);
        }
    }
    commit(&disk, TINY, &step(1)).unwrap();
    assert!(matches!(refs::init(&vfs(&disk), dir()), Err(gemel_store::StoreError::AlreadyExists { .. })));
}
