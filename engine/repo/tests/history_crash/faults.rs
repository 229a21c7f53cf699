//! A failing or a full disk at every operation of every command: a clear error, the old state, and then all is well.

use crate::cases::{Case, Command, cases, snapshot};
use crate::crashes::{Change, complete, goes_on};
use crate::world::{World, without_marks};
use gemel_repo::Code;
use gemel_store::vfs::sim::{Fault, SimDisk};

/// Crash images looked at after a failure: there are no new ways to them.
const IMAGES: usize = 3;

/// Runs the command on a disk that fails as `arrange` says, then on the same disk made well.
fn check(case: &Case, change: &Change, arrange: impl Fn(&SimDisk), context: &str, stride: usize) {
    let Case { world, before, command, .. } = case;
    let disk = before.fork();
    arrange(&disk);
    let done = command.run(world, &disk);
    disk.clear_faults();
    let context = format!("{context}, answer {done:?}");
    let found = world.dump(&disk, &context);
    match &done {
        // A cache could not be written.
        Ok(_) => assert_eq!(without_marks(&found), without_marks(&change.new), "{context}"),
        Err(error) => {
            assert_eq!(found, change.old, "{context}");
            assert_eq!(error.code(), Code::Internal, "{context}");
            let message = error.to_string();
            let place = world.store_dir().display().to_string();
            let names_it = message.contains(&place) || message.contains(&world.root.display().to_string());
            assert!(names_it, "{context}: {message}");
            assert!(message.contains("simulated"), "{context}: {message}");
        }
    }
    world.check_whole(&disk, &context);
    if stride == 1 {
        let images = disk.crash_images(disk.ops());
        for image in images.iter().take(IMAGES) {
            let context = format!("{context}, then {}", image.name());
            let after = world.dump(&image.image(), &context);
            let is_new = without_marks(&after) == without_marks(&change.new);
            assert!(is_new || after == change.old, "{context}: {after:?}");
            assert!(is_new || done.is_err(), "{context}: acknowledged and lost");
            world.check_whole(&image.image(), &context);
        }
    }
    goes_on(case, &disk, change, done.is_ok(), &context);
}

#[test]
fn every_failing_operation_is_an_error_and_then_all_is_well() {
    for case in cases() {
        let (disk, change) = complete(&case);
        for k in 0..disk.ops() {
            // Where a run is long the kinds of failure take turns.
            let kinds = [Fault::NoSpace, Fault::Io, Fault::IoDropsUnsynced];
            let kinds = if case.stride == 1 { &kinds[..] } else { &kinds[k % 3..=k % 3] };
            for fault in kinds {
                let context = format!("{}, {fault:?} at {}", case.name, disk.describe(k));
                check(&case, &change, |disk| disk.fail_at(k, *fault), &context, case.stride);
            }
        }
    }
}

#[test]
fn a_full_disk_refuses_until_there_is_room() {
    for case in cases() {
        let (disk, change) = complete(&case);
        for k in (0..disk.ops()).step_by(case.stride.min(4)) {
            let context = format!("{}, full from {}", case.name, disk.describe(k));
            check(&case, &change, |disk| disk.fill_from(k), &context, case.stride);
        }
    }
}

/// Threads that share a session meet its failure in any order; what is told is why it failed.
#[test]
fn the_cause_is_told_whichever_thread_meets_it() {
    let (world, disk) = World::new();
    Command::Init.run(&world, &disk).unwrap();
    for n in 0..160u32 {
        let mut content = vec![0; 48 << 10];
        blake3::Hasher::new().update(&n.to_le_bytes()).finalize_xof().fill(&mut content);
        let text: String = content.iter().map(|byte| char::from(*byte)).collect();
        world.write(&format!("{}/{n}", n % 7), &text);
    }
    let before = disk.fork();
    let run = |disk: &SimDisk| snapshot().run(&world, disk);
    let whole = before.fork();
    run(&whole).unwrap();
    let appended = |k: usize| -> usize {
        let what = whole.describe(k);
        what.split_once("append ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok()).unwrap_or(0)
    };
    let appends: Vec<usize> = (0..whole.ops()).filter(|k| appended(*k) > 1 << 19).collect();
    assert!(appends.len() >= 5, "{appends:?}");
    for k in appends.into_iter().cycle().take(20) {
        let disk = before.fork();
        disk.fill_from(k);
        let error = run(&disk).unwrap_err().to_string();
        assert!(error.contains("no space left on the simulated disk"), "{error}");
    }
}
