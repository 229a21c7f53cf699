//! A loss of power at every disk operation of every command.

use crate::cases::{Case, Command, cases, count_files};
use crate::world::{Dump, fingerprint, without_marks};
use gemel_repo::facts::Silent;
use gemel_repo::history::{NameOptions, SnapshotOptions};
use gemel_repo::knowledge::{self, Session, StatusOptions};
use gemel_store::vfs::sim::SimDisk;
use std::collections::HashMap;

/// Most syncs of a command, whatever it writes.
const MAX_SYNCS: usize = 6;
/// Those of `init` where other things lie in the store's directory already: that which makes it a store comes last, by
/// itself.
const INIT_WITHIN_SYNCS: usize = 9;

/// What a command leads from and to.
pub(crate) struct Change {
    pub(crate) old: Dump,
    pub(crate) new: Dump,
}

/// The same command once more, a look, and another command, on a disk that shows the old or the new state.
pub(crate) fn goes_on(case: &Case, disk: &SimDisk, change: &Change, is_new: bool, context: &str) {
    let Case { world, command, .. } = case;
    let context = &format!("{context}, next commands");
    let again = command.run(world, disk);
    let found = without_marks(&world.dump(disk, context));
    match again {
        Ok(_) if !is_new => assert_eq!(found, without_marks(&change.new), "{context}"),
        Ok(_) => assert!(command.repeats(), "{context}: done twice"),
        Err(error) => {
            assert!(is_new && command.refuses_again(&error), "{context}: {error}");
            assert_eq!(found, without_marks(&change.new), "{context}: {error}");
        }
    }
    let repo = world.open(disk).unwrap();
    knowledge::status(&mut Session::new(&repo), &StatusOptions::default(), &Silent)
        .unwrap_or_else(|e| panic!("{context}: {e}"));
    let label = Some("later".to_owned());
    let further = [
        Command::Snapshot(SnapshotOptions { label, now_ms: 500, ..SnapshotOptions::default() }),
        Command::Name(NameOptions { id: "later".into(), name: "latest".into(), now_ms: 510, force: false }),
    ];
    for command in further {
        command.run(world, disk).unwrap_or_else(|e| panic!("{context}: {command:?}: {e}"));
    }
    world.check_whole(disk, context);
}

/// Runs a case to its end; what it leads from and to.
pub(crate) fn complete(case: &Case) -> (SimDisk, Change) {
    let Case { name, world, before, command, files, .. } = case;
    let old = world.dump(before, name);
    let disk = before.fork();
    command.run(world, &disk).unwrap_or_else(|e| panic!("{name}: {e}"));
    let new = world.dump(&disk, name);
    assert_ne!(old, new, "{name}");
    let [packs, indexes, tables] = ["pack", "idx", "table"].map(|kind| count_files(&disk, kind));
    assert_eq!((packs, indexes, tables), *files, "{name}");
    world.check_whole(&disk, name);
    (disk, Change { old, new })
}

#[test]
fn every_crash_leaves_the_old_or_the_new_state() {
    for case in cases() {
        let Case { name, world, stride, .. } = &case;
        let (disk, change) = complete(&case);
        // Images by content, with what was found on them.
        let mut seen: HashMap<_, bool> = HashMap::new();
        let (mut olds, mut news) = (0, 0);
        for k in 0..=disk.ops() {
            for image in disk.crash_images(k) {
                let context = format!("{name}, before {}, {}", disk.describe(k), image.name());
                let image = image.image();
                let count = seen.len();
                let is_new = *seen.entry(fingerprint(&image, &world.root)).or_insert_with(|| {
                    let found = world.dump(&image, &context);
                    assert!(found == change.old || found == change.new, "{context}: {found:?}");
                    let is_new = found == change.new;
                    if count.is_multiple_of(*stride) {
                        world.check_whole(&image, &context);
                        goes_on(&case, &image, &change, is_new, &context);
                    }
                    is_new
                });
                *if is_new { &mut news } else { &mut olds } += 1;
                assert!(is_new || k < disk.ops(), "{context}: acknowledged and lost");
            }
        }
        assert!(olds > 0 && news > 0, "{name}: {olds} {news}");
    }
}

/// A crash of the command that follows a crash: what the first left does no harm to the second.
#[test]
fn crash_after_crash() {
    for case in cases() {
        let Case { name, world, command, .. } = &case;
        if !matches!(*name, "snapshot after edits" | "finish" | "finish that folds") {
            continue;
        }
        let (first, change) = complete(&case);
        let mut count = 0;
        for k in 0..=first.ops() {
            let images = first.crash_images(k);
            // Where most is left half done, and where least.
            let torn = images.iter().rev().find(|image| image.name().contains("torn"));
            for image in images.iter().take(1).chain(torn) {
                let disk = image.image();
                let context = format!("{name}, before {}, {}", first.describe(k), image.name());
                let old = world.dump(&disk, &context);
                if old != change.old {
                    continue;
                }
                command.run(world, &disk).unwrap_or_else(|e| panic!("{context}: {e}"));
                let new = world.dump(&disk, &context);
                for j in 0..=disk.ops() {
                    for second in disk.crash_images(j) {
                        let context =
                            format!("{context}, then before {}, {}", disk.describe(j), second.name());
                        let found = world.dump(&second.image(), &context);
                        assert!(found == old || found == new, "{context}: {found:?}");
                        assert!(found == new || j < disk.ops(), "{context}: acknowledged and lost");
                        world.check_whole(&second.image(), &context);
                        count += 1;
                    }
                }
            }
        }
        assert!(count > 500, "{name}: {count}");
    }
}

#[test]
fn syncs_do_not_depend_on_the_number_of_objects() {
    for case in cases() {
        let (disk, _) = complete(&case);
        let most = if case.name.contains("exchange") { INIT_WITHIN_SYNCS } else { MAX_SYNCS };
        assert!(disk.syncs().total() <= most, "{}: {:?}", case.name, disk.syncs());
    }
}
