//! The stat cache changes nothing but time.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod content_support;

use content_support::*;
use gemel_repo::content::{
    CaptureRequest, CheckoutRequest, WorktreeRequest, capture, delta_trees, delta_worktree, read_blob,
};
use gemel_repo::facts::{Progress, Silent, Stage};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Hears how many files had to be read.
#[derive(Default)]
struct Read(AtomicU64);

impl Progress for Read {
    fn begin(&self, _: Stage, total: Option<u64>) {
        self.0.fetch_add(total.unwrap_or(0), Ordering::Relaxed);
    }
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}

fn files_read(work: &Work) -> u64 {
    let read = Read::default();
    delta_worktree(&work.store, &WorktreeRequest { progress: &read, ..work.worktree_request() }).unwrap();
    read.0.into_inner()
}

fn small() -> Work {
    let mut work = Work::new();
    work.write(".gitignore", "*.o\nout/\n");
    work.write("a", "1");
    work.write("d/b", "2");
    work.write("d/e/c", "3");
    work.write("out/kept", "4");
    work.link("a", "l");
    work.write("x.o", "5");
    let recorded = work.path(".gitignore");
    fs::rename(&recorded, work.path("rules")).unwrap();
    work.capture();
    fs::rename(work.path("rules"), recorded).unwrap();
    work
}

#[test]
fn damage_of_any_kind_changes_no_answer() {
    let mut work = small();
    work.write("d/b", "changed");
    work.write("d/new", "new");
    work.remove("a");
    let expected = work.changes();
    assert_eq!(expected, ["-a", "~d/b", "+d/new", "-rules"]);
    work.status();
    let whole = work.store.cache_read(CACHE).unwrap().to_vec();
    let with = |bytes: &[u8]| {
        work.store.cache_write(CACHE, bytes).unwrap();
        assert_eq!(marked(&work.status().changes), expected);
    };
    for cut in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
        with(&whole[..cut]);
    }
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        with(&flipped);
    }
    with(&[whole.as_slice(), b"more"].concat());
    with(b"");
    with(&whole);
    // The same with a checksum that fits: indices are checked, answers may then be wrong but nothing else happens.
    for at in 0..whole.len() - 32 {
        let mut forged = whole[..whole.len() - 32].to_vec();
        forged[at] = forged[at].wrapping_add(0x55);
        let sum = blake3::hash(&forged);
        forged.extend_from_slice(sum.as_bytes());
        work.store.cache_write(CACHE, &forged).unwrap();
        let _ = delta_worktree(&work.store, &work.worktree_request());
        let request = WorktreeRequest { verify: true, ..work.worktree_request() };
        assert_eq!(marked(&delta_worktree(&work.store, &request).unwrap().changes), expected);
    }
    work.store.cache_write(CACHE, b"").unwrap();
    let captured = work.capture();
    assert_eq!(captured.files, 5);
}

#[test]
fn a_cache_of_another_worktree_is_no_harm() {
    let mut one = Work::new();
    let mut other = Work::new();
    for work in [&one, &other] {
        work.write("a", "1");
        work.write("d/b", "2");
    }
    other.write("d/b", "3");
    one.capture();
    other.capture();
    let bytes = other.store.cache_read(CACHE).unwrap().to_vec();
    one.store.cache_write(CACHE, &bytes).unwrap();
    assert!(one.changes().is_empty());
    one.write("a", "x");
    one.store.cache_write(CACHE, &bytes).unwrap();
    assert_eq!(one.changes(), ["~a"]);
    one.store.cache_write(CACHE, &bytes).unwrap();
    every_object_is_there(&mut one);
}

/// Captures and reads everything back.
fn every_object_is_there(work: &mut Work) {
    let captured = work.capture();
    let mut found = Vec::new();
    for delta in delta_trees(&work.store, None, Some(captured.root_tree)).unwrap() {
        let (_, blob) = delta.after.unwrap();
        found.push((delta.path, read_blob(&work.store, &blob).unwrap()));
    }
    let files: Vec<_> = snapshot(&work.root).into_iter().map(|(path, _, bytes)| (path, bytes)).collect();
    assert_eq!(found, files);
}

#[test]
fn the_cache_may_know_more_than_the_store() {
    // Named by a status, not stored.
    let mut work = Work::new();
    work.write("d/a", "1");
    work.write("b", "1");
    work.capture();
    work.write("d/a", "22");
    work.write("e/f/new", "3");
    for _ in 0..3 {
        assert_eq!(work.changes(), ["~d/a", "+e/f/new"]);
    }
    every_object_is_there(&mut work);

    // Captured into a session that was never committed.
    let mut work = Work::new();
    work.write("d/a", "1");
    work.write("b", "1");
    {
        let writer = work.store.writer().unwrap();
        capture(&work.store, &writer, &work.request()).unwrap();
    }
    every_object_is_there(&mut work);
    work.write("d/a", "2");
    {
        let writer = work.store.writer().unwrap();
        capture(&work.store, &writer, &work.request()).unwrap();
    }
    work.write("c", "2");
    every_object_is_there(&mut work);
}

#[test]
fn only_what_changed_is_read() {
    let mut work = Work::new();
    for number in 0..50 {
        work.write(&format!("d{}/f{number}", number % 7), format!("{number}"));
    }
    let request = WorktreeRequest { cache: None, ..work.worktree_request() };
    assert_eq!(delta_worktree(&work.store, &request).unwrap().changes.len(), 50);
    work.capture();
    settle(&work);
    assert_eq!(files_read(&work), 0);
    work.write("d3/f3", "changed");
    assert_eq!(files_read(&work), 1);
    settle(&work);
    work.write("d3/new", "new");
    assert_eq!(files_read(&work), 1);
    let read = Read::default();
    work.capture_with(|_| {}).unwrap();
    settle(&work);
    let verify = WorktreeRequest { verify: true, progress: &read, ..work.worktree_request() };
    delta_worktree(&work.store, &verify).unwrap();
    assert_eq!(read.0.into_inner(), 51);
}

/// Lets what changed a moment ago become old enough to be trusted.
fn settle(work: &Work) {
    for _ in 0..2 {
        std::thread::sleep(std::time::Duration::from_millis(30));
        work.store.cache_write("stat-another", b"").unwrap();
        work.status();
    }
}

#[test]
fn a_checkout_leaves_a_cache() {
    let mut work = Work::new();
    for number in 0..30 {
        work.write(&format!("d{}/f{number}", number % 4), format!("{number}"));
    }
    let first = work.capture().state;
    for number in 0..10 {
        work.write(&format!("d{}/f{number}", number % 4), "changed");
    }
    work.capture();
    work.go(first, false).unwrap();
    assert!(work.changes().is_empty());
    settle(&work);
    assert_eq!(files_read(&work), 0);

    let target = work.temp.path().join("target");
    let request = CheckoutRequest { cache: Some("stat-other"), ..work.checkout_request(&target, first) };
    work.checkout(&request).unwrap();
    let read = Read::default();
    let looking = WorktreeRequest {
        root: &target,
        recorded: Some(first),
        cache: Some("stat-other"),
        ..work.worktree_request()
    };
    std::thread::sleep(std::time::Duration::from_millis(30));
    delta_worktree(&work.store, &looking).unwrap();
    let delta = delta_worktree(&work.store, &WorktreeRequest { progress: &read, ..looking }).unwrap();
    assert!(delta.changes.is_empty());
}

/// Changes of the same size within one tick of the clock are seen, because what was late is read again.
#[test]
fn racy_changes_are_seen() {
    let mut work = Work::new();
    work.write("d/f", "0000");
    work.capture();
    for round in 1..150u32 {
        work.write("d/f", format!("{round:04}"));
        if round % 3 == 0 {
            assert_eq!(marked(&work.status().changes), ["~d/f"], "round {round}");
        } else {
            let captured = work.capture();
            let delta = delta_trees(&work.store, None, Some(captured.root_tree)).unwrap();
            let blob = delta[0].after.unwrap().1;
            assert_eq!(
                read_blob(&work.store, &blob).unwrap(),
                format!("{round:04}").as_bytes(),
                "round {round}"
            );
        }
        // And new names in a directory just listed.
        let name = format!("d/new{round}");
        work.write(&name, "x");
        let seen = marked(&work.status().changes);
        assert!(seen.contains(&format!("+{name}")), "round {round}: {seen:?}");
        work.remove(&name);
    }
}

#[test]
fn times_set_back_do_not_hide_a_change() {
    let mut work = Work::new();
    work.write("f", "1111");
    work.capture();
    settle(&work);
    let metadata = work.path("f").metadata().unwrap();
    work.write("f", "2222");
    let file = fs::File::options().write(true).open(work.path("f")).unwrap();
    file.set_modified(metadata.modified().unwrap()).unwrap();
    drop(file);
    assert_eq!(work.changes(), ["~f"]);
    // Replaced by a rename, of the same size and time of writing.
    let mut work = Work::new();
    work.write("f", "1111");
    work.capture();
    settle(&work);
    let metadata = work.path("f").metadata().unwrap();
    work.write("g", "2222");
    fs::File::options()
        .write(true)
        .open(work.path("g"))
        .unwrap()
        .set_modified(metadata.modified().unwrap())
        .unwrap();
    fs::rename(work.path("g"), work.path("f")).unwrap();
    assert_eq!(work.changes(), ["~f"]);
}

#[test]
fn rules_that_change_are_noticed() {
    let mut work = Work::new();
    work.write("d/.gitignore", "*.o\n");
    work.write("d/a.o", "1");
    work.write("d/e/b.o", "1");
    work.capture();
    settle(&work);
    assert!(work.changes().is_empty());
    work.write("d/.gitignore", "*.a\n");
    assert_eq!(work.changes(), ["~d/.gitignore", "+d/a.o", "+d/e/b.o"]);
    work.write("d/.gitignore", "*.o\n");
    work.write(".git/info/exclude", "e/\n");
    work.write("d/e/c", "1");
    assert!(work.changes().is_empty());
    work.write(".git/info/exclude", "");
    assert_eq!(work.changes(), ["+d/e/c"]);
    // A root rule file that appears, and one that is gone.
    work.write(".gitignore", "c\n");
    assert!(work.changes().is_empty());
    work.remove(".gitignore");
    assert_eq!(work.changes(), ["+d/e/c"]);
}

/// Goes through many small edits, comparing each answer with that of a fresh look.
#[test]
fn drawn_edits_with_and_without_the_cache() {
    for seed in 0..12 {
        let mut draw = Draw::new(seed);
        let mut work = Work::new();
        let mut states = Vec::new();
        for round in 0..25 {
            for _ in 0..1 + draw.below(3) {
                edit(&work.root, &mut draw);
            }
            match draw.below(5) {
                0 => drop(work.status()),
                1 => states.push(work.capture().state),
                2 if !states.is_empty() => {
                    let state = states[draw.below(states.len())];
                    work.go(state, true).unwrap();
                }
                3 if !states.is_empty() => work.recorded = Some(states[draw.below(states.len())]),
                _ => {}
            }
            // The comparison within is the test.
            let _ = (work.changes(), round, seed);
        }
        every_object_is_there(&mut work);
    }
}

fn edit(root: &Path, draw: &mut Draw) {
    let names = ["a", "b", "c", "d.o", ".gitignore"];
    let depth = 1 + draw.below(3);
    let path = (0..depth).map(|_| draw.pick(&names)).collect::<Vec<_>>().join("/");
    // The root's own rules stay away, so that a capture holds every file.
    if path.contains(".gitignore/") || path == ".gitignore" {
        return;
    }
    let at = root.join(&path);
    match draw.below(4) {
        0 => {
            let _ = fs::remove_file(&at).or_else(|_| fs::remove_dir_all(&at));
        }
        1 => {
            let _ = fs::create_dir_all(&at);
        }
        _ => {
            let rules = ["", "# nothing\n", "!a\n"];
            let content =
                if path.ends_with(".gitignore") { draw.pick(&rules) } else { draw.pick(&["1", "22", "3"]) };
            if fs::create_dir_all(at.parent().unwrap()).is_ok() {
                let _ = fs::write(&at, content);
            }
        }
    }
}

#[test]
fn a_capture_without_a_cache_writes_none() {
    let mut work = Work::new();
    work.write("a", "1");
    work.capture_with(|request: &mut CaptureRequest<'_>| request.cache = None).unwrap();
    assert!(work.store.cache_read(CACHE).is_none());
    let request = WorktreeRequest { cache: None, progress: &Silent, ..work.worktree_request() };
    assert!(delta_worktree(&work.store, &request).unwrap().changes.is_empty());
    assert!(work.store.cache_read(CACHE).is_none());
}
