//! A state becomes files again, and nothing is lost or let in on the way.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod content_support;

use content_support::*;
use gemel_object::families::NewState;
use gemel_object::{Gid, Mode, blob_envelope, tree_envelope};
use gemel_repo::content::{CheckoutRequest, ContentError};
use gemel_store::{NewObject, Store};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// What a name holds in a tree made by hand.
enum Held<'a> {
    File(&'a str),
    Link(&'a [u8]),
    Dir(Vec<(&'a str, Held<'a>)>),
}

fn put_tree(store: &Store, entries: &[(&str, Held<'_>)]) -> Gid {
    let writer = store.writer().unwrap();
    let root = put_into(&writer, entries);
    let state = NewState { root_tree: Some(root), extensions: &[] }.encode(&LIMITS).unwrap();
    writer.put(NewObject { id: state.id, bytes: state.bytes, base: None }).unwrap();
    writer.commit().unwrap();
    state.id
}

fn put_into(writer: &gemel_store::Writer<'_>, entries: &[(&str, Held<'_>)]) -> Gid {
    let mut list: Vec<(&str, Mode, Gid)> = Vec::new();
    for (name, held) in entries {
        let blob = |bytes: &[u8]| {
            let blob = blob_envelope(bytes, &LIMITS).unwrap();
            writer.put(NewObject { id: blob.id, bytes: blob.bytes, base: None }).unwrap();
            blob.id
        };
        list.push(match held {
            Held::File(text) => (name, Mode::File, blob(text.as_bytes())),
            Held::Link(target) => (name, Mode::Link, blob(target)),
            Held::Dir(inner) => (name, Mode::Directory, put_into(writer, inner)),
        });
    }
    list.sort();
    let tree = tree_envelope(list, &LIMITS).unwrap();
    writer.put(NewObject { id: tree.id, bytes: tree.bytes, base: None }).unwrap();
    tree.id
}

/// Empty except for what has been recorded: two states to go between.
fn two_states() -> (Work, Gid, Gid) {
    let mut work = Work::new();
    work.write("same/a", "a");
    work.write("changed", "1");
    work.write("gone/deep/b", "b");
    work.write("swap", "file");
    work.write("paws/x", "dir");
    work.link("same/a", "link");
    let first = work.capture().state;
    work.write("changed", "2");
    work.remove("gone");
    work.write("new/deep/c", "c");
    set_mode(&work.path("new/deep/c"), 0o755);
    work.remove("swap");
    work.write("swap/inner", "dir");
    work.remove("paws");
    work.write("paws", "file");
    work.remove("link");
    work.link("changed", "link");
    let second = work.capture().state;
    (work, first, second)
}

#[test]
fn there_and_back() {
    let (mut work, first, second) = two_states();
    let at_second = snapshot(&work.root);
    let report = work.go(first, false).unwrap();
    assert_eq!(report.written, ["changed", "gone/deep/b", "link", "paws/x", "swap"]);
    assert_eq!(report.removed, ["new/deep/c", "paws", "swap/inner"]);
    assert!(!work.path("new").exists(), "emptied directories go");
    assert_eq!(fs::read_to_string(work.path("swap")).unwrap(), "file");
    assert!(work.changes().is_empty());
    work.go(second, false).unwrap();
    assert_eq!(snapshot(&work.root), at_second);
    assert_eq!(work.path("new/deep/c").metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(work.path("changed").metadata().unwrap().permissions().mode() & 0o777, 0o644);
    assert!(work.changes().is_empty());
    assert_eq!(work.go(second, false).unwrap().written, Vec::<String>::new());
}

#[test]
fn into_an_empty_folder_with_everything_kept_in_place() {
    let (work, first, second) = two_states();
    let target = work.temp.path().join("a/b");
    work.checkout(&work.checkout_request(&target, first)).unwrap();
    assert!(target.join("same/a").is_file() && target.join("gone/deep/b").is_file());
    // The same again, and the other state, where the first is recorded.
    let recorded = CheckoutRequest { recorded: Some(first), ..work.checkout_request(&target, second) };
    work.checkout(&recorded).unwrap();
    assert_eq!(snapshot(&target), snapshot(&work.root));
    // Without a record everything else there is somebody's work.
    let error = work.checkout(&work.checkout_request(&target, first)).unwrap_err();
    let ContentError::UnrecordedWork { paths } = error else { panic!("{error}") };
    assert_eq!(paths, ["changed", "link", "new/deep/c", "paws", "swap/inner"]);
    let forced = CheckoutRequest { force: true, ..work.checkout_request(&target, first) };
    work.checkout(&forced).unwrap();
    assert_eq!(fs::read_to_string(target.join("changed")).unwrap(), "1");
}

/// Shows DER-10, T-27.
#[test]
fn unrecorded_work_is_refused_and_nothing_happens() {
    let (mut work, first, _) = two_states();
    work.write("changed", "mine");
    work.write("new/untracked", "mine");
    work.write("gone", "mine");
    let before = snapshot(&work.root);
    let error = work.go(first, false).unwrap_err();
    let ContentError::UnrecordedWork { paths } = &error else { panic!("{error}") };
    assert_eq!(paths, &["changed", "gone", "new/untracked"]);
    assert_eq!(snapshot(&work.root), before);
    work.go(first, true).unwrap();
    assert!(work.changes().is_empty());
    assert!(!work.path("new").exists());
}

#[test]
fn overlay_removes_only_what_is_in_the_way() {
    let (mut work, first, _) = two_states();
    work.write("untracked", "stays");
    let root = work.root.clone();
    let request =
        CheckoutRequest { recorded: work.recorded, overlay: true, ..work.checkout_request(&root, first) };
    let report = work.checkout(&request).unwrap();
    assert_eq!(report.removed, ["paws", "swap/inner"]);
    assert!(work.path("untracked").exists() && work.path("new/deep/c").exists());
    assert!(work.path("paws/x").is_file() && work.path("swap").is_file());
    work.recorded = Some(first);
    work.write("changed", "mine");
    let request = CheckoutRequest { recorded: work.recorded, ..request };
    let error = work.checkout(&request).unwrap_err();
    assert!(matches!(error, ContentError::UnrecordedWork { paths } if paths == ["changed"]));
}

#[test]
fn what_is_not_content_stays_or_blocks() {
    let mut work = Work::new();
    work.write("src/a", "1");
    let plain = work.capture().state;
    work.write("src/out/file", "2");
    work.write(".gitignore.not", "");
    let with_out = work.capture().state;
    work.go(plain, false).unwrap();
    work.write(".gitignore", "out/\n*.log\n");
    work.write("src/out/ignored.o", "x");
    work.write("a.log", "x");
    work.write(".git/HEAD", "ref");
    fs::create_dir(work.path("empty")).unwrap();
    work.go(with_out, false).unwrap();
    for path in [".gitignore", "src/out/ignored.o", "a.log", ".git/HEAD", "empty", "src/out/file"] {
        assert!(work.path(path).exists(), "{path}");
    }
    work.go(plain, false).unwrap();
    assert!(work.path("src/out/ignored.o").exists(), "ignored work keeps its directory");
    assert!(!work.path("src/out/file").exists());

    // An ignored file where the state wants another content, a directory where it wants a file.
    work.write("src/out/file", "other");
    let error = work.go(with_out, false).unwrap_err();
    assert!(matches!(error, ContentError::UnrecordedWork { paths } if paths == ["src/out/file"]));
    work.write("src/out/file", "2");
    work.go(with_out, false).unwrap();
    work.go(plain, false).unwrap();
    let out_is_file = put_tree(&work.store, &[("src", Held::Dir(vec![("out", Held::File("f"))]))]);
    let error = work.go(out_is_file, false).unwrap_err();
    assert!(
        matches!(&error, ContentError::UnrecordedWork { paths } if paths == &["src/out/ignored.o"]),
        "{error}"
    );
    work.write("src/out/nested/.git/HEAD", "x");
    let error = work.go(out_is_file, true).unwrap_err();
    assert!(matches!(error, ContentError::Protected { paths } if paths == ["src/out/nested/.git"]));
    assert!(work.path("src/out/ignored.o").exists());
    work.remove("src/out/nested");
    work.go(out_is_file, true).unwrap();
    assert_eq!(fs::read_to_string(work.path("src/out")).unwrap(), "f");
}

/// T-26: nothing is written into the store or into Git's files, whatever the target is called and with any force.
#[test]
fn never_into_metadata() {
    let mut work = Work::new();
    work.write("a", "a");
    work.write("packs/b", "b");
    let state = work.capture().state;
    write(&work.root, ".git/HEAD", "x");
    std::os::unix::fs::symlink(".gemel", work.root.join("by-link")).unwrap();
    let before = fs::read_dir(work.store.dir()).unwrap().count();
    for place in [
        ".gemel",
        ".gemel/packs",
        ".gemel/new/deep",
        ".git/hooks",
        "by-link/packs",
        "new/../.gemel",
        "x/.GIT/y",
    ] {
        let target = work.root.join(place);
        for overlay in [false, true] {
            let request = CheckoutRequest { force: true, overlay, ..work.checkout_request(&target, state) };
            let error = work.checkout(&request).unwrap_err();
            assert!(matches!(error, ContentError::ProtectedTarget { .. }), "{place}: {error}");
        }
    }
    assert_eq!(fs::read_dir(work.store.dir()).unwrap().count(), before);
    assert!(!work.path(".git/hooks").exists() && !work.path("x").exists() && !work.path("new").exists());
    // A repository may itself lie below such a name.
    let inner = work.root.join(".git/inner");
    let store =
        Store::init(std::sync::Arc::new(gemel_store::vfs::real::RealDisk::new()), &inner.join(".gemel"))
            .unwrap();
    let state = put_tree(&store, &[("f", Held::File("f"))]);
    gemel_repo::content::plan_checkout(&store, &work.checkout_request(&inner, state)).unwrap();
}

/// Shows SEC-04, T-16, T-25.
#[test]
fn links_are_replaced_and_never_followed() {
    let work = Work::new();
    let outside = work.temp.path().join("outside");
    write(&outside, "safe", "safe");
    let state = put_tree(
        &work.store,
        &[
            ("f", Held::File("bad")),
            ("d", Held::Dir(vec![("g", Held::File("bad")), ("safe", Held::File("bad"))])),
        ],
    );
    let target = work.temp.path().join("target");
    let lay = || {
        let _ = fs::remove_dir_all(&target);
        fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(outside.join("safe"), target.join("f")).unwrap();
        std::os::unix::fs::symlink(&outside, target.join("d")).unwrap();
    };
    lay();
    let request = work.checkout_request(&target, state);
    let error = work.checkout(&request).unwrap_err();
    assert!(matches!(error, ContentError::UnrecordedWork { paths } if paths == ["d", "f"]));
    for overlay in [false, true] {
        lay();
        let forced = CheckoutRequest { force: true, overlay, ..request };
        work.checkout(&forced).unwrap();
        assert_eq!(fs::read_to_string(target.join("f")).unwrap(), "bad");
        assert!(target.join("d").symlink_metadata().unwrap().is_dir());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(outside.join("safe")).unwrap(), "safe");
    }
    // Ignored links are no content; they block all the same.
    lay();
    fs::write(target.join(".gitignore"), "d\nf\n").unwrap();
    let error = work.checkout(&request).unwrap_err();
    assert!(matches!(error, ContentError::UnrecordedWork { paths } if paths == ["d", "f"]));
    work.checkout(&CheckoutRequest { force: true, ..request }).unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(outside.join("safe")).unwrap(), "safe");
}

#[test]
fn hard_links_are_not_written_through() {
    let (mut work, first, _) = two_states();
    let elsewhere = work.temp.path().join("elsewhere");
    fs::hard_link(work.path("changed"), &elsewhere).unwrap();
    work.go(first, false).unwrap();
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "2");
}

/// Shows T-05, T-26.
#[test]
fn metadata_in_disguise_is_never_written() {
    let work = Work::new();
    let hook = || Held::Dir(vec![("hooks", Held::Dir(vec![("post-checkout", Held::File("evil"))]))]);
    let state = put_tree(
        &work.store,
        &[
            (".git", hook()),
            (".GIT", hook()),
            (".git.", hook()),
            (".git ", hook()),
            ("git~1", hook()),
            (".g\u{200c}it", hook()),
            (".git::$INDEX_ALLOCATION", hook()),
            (".gemel", Held::Dir(vec![("court.allowlist", Held::File("*"))])),
            (
                "sub",
                Held::Dir(vec![
                    (".Gemel", Held::File("x")),
                    (".git", Held::Link(b"..")),
                    ("ok", Held::File("1")),
                ]),
            ),
            ("good", Held::File("1")),
        ],
    );
    let target = work.temp.path().join("target");
    let report = work.checkout(&work.checkout_request(&target, state)).unwrap();
    assert_eq!(report.written, ["good", "sub/ok"]);
    assert_eq!(
        report.unsafe_names,
        [
            ".GIT",
            ".gemel",
            ".git",
            ".git ",
            ".git.",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            "git~1",
            "sub/.Gemel",
            "sub/.git"
        ]
    );
    let found: Vec<_> = snapshot(&target).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(found, ["good", "sub/ok"]);
    assert!(!target.join(".git").exists() && !target.join(".gemel").exists());
}

#[test]
fn link_targets_that_cannot_be() {
    let work = Work::new();
    let target = work.temp.path().join("target");
    let long = vec![b'x'; 5000];
    for bad in [&b""[..], b"a\0b", &long] {
        let state = put_tree(&work.store, &[("a", Held::File("1")), ("l", Held::Link(bad))]);
        let error = work.checkout(&work.checkout_request(&target, state)).unwrap_err();
        assert!(matches!(&error, ContentError::LinkTarget { path, .. } if path == "l"), "{error}");
        assert!(!target.exists());
    }
    // Links to anywhere are links.
    let state = put_tree(&work.store, &[("l", Held::Link(b"/etc/passwd")), ("m", Held::Link(b"../../\xff"))]);
    work.checkout(&work.checkout_request(&target, state)).unwrap();
    assert_eq!(fs::read_link(target.join("l")).unwrap(), Path::new("/etc/passwd"));
}

#[test]
fn objects_are_looked_for_before_the_first_write() {
    let work = Work::new();
    let writer = work.store.writer().unwrap();
    let absent = blob_envelope(b"never stored", &LIMITS).unwrap().id;
    let here = blob_envelope(b"here", &LIMITS).unwrap();
    let here_id = here.id;
    writer.put(NewObject { id: here.id, bytes: here.bytes, base: None }).unwrap();
    let tree = tree_envelope([("a", Mode::File, here_id), ("b", Mode::File, absent)], &LIMITS).unwrap();
    let root = tree.id;
    writer.put(NewObject { id: tree.id, bytes: tree.bytes, base: None }).unwrap();
    let state = NewState { root_tree: Some(root), extensions: &[] }.encode(&LIMITS).unwrap();
    let state_id = state.id;
    writer.put(NewObject { id: state.id, bytes: state.bytes, base: None }).unwrap();
    writer.commit().unwrap();
    let target = work.temp.path().join("target");
    let error = work.checkout(&work.checkout_request(&target, state_id)).unwrap_err();
    assert!(matches!(error, ContentError::Store(gemel_store::StoreError::NotFound { id }) if id == absent));
    assert!(!target.exists());
}

/// A tree of 40 levels, each holding the next twice under long names: a million million paths.
/// Shows SEC-06, T-10.
#[test]
fn trees_that_expand_without_end_are_refused() {
    let work = Work::new();
    let writer = work.store.writer().unwrap();
    let (one, other) = ("a".repeat(200), "b".repeat(200));
    let leaf = blob_envelope(b"x", &LIMITS).unwrap();
    let mut tree = tree_envelope([("x", Mode::File, leaf.id)], &LIMITS).unwrap();
    writer.put(NewObject { id: leaf.id, bytes: leaf.bytes, base: None }).unwrap();
    for _ in 0..40 {
        let id = tree.id;
        writer.put(NewObject { id, bytes: tree.bytes, base: None }).unwrap();
        tree =
            tree_envelope([(&*one, Mode::Directory, id), (&*other, Mode::Directory, id)], &LIMITS).unwrap();
    }
    let root = tree.id;
    writer.put(NewObject { id: root, bytes: tree.bytes, base: None }).unwrap();
    let state = NewState { root_tree: Some(root), extensions: &[] }.encode(&LIMITS).unwrap();
    let id = state.id;
    writer.put(NewObject { id, bytes: state.bytes, base: None }).unwrap();
    writer.commit().unwrap();
    let target = work.temp.path().join("target");
    let error = work.plan(&work.checkout_request(&target, id)).unwrap_err();
    assert!(matches!(error, ContentError::Limit { .. }), "{error}");
}

#[test]
fn a_failed_checkout_goes_on_where_it_stopped() {
    let (mut work, first, second) = two_states();
    // A directory nobody can write to: the write below it fails, others have happened.
    if rustix::process::geteuid().is_root() {
        // Root writes anywhere: let a file appear between plan and run instead.
        let root = work.root.clone();
        let request = CheckoutRequest {
            recorded: work.recorded,
            cache: Some(CACHE),
            ..work.checkout_request(&root, first)
        };
        let plan = work.plan(&request).unwrap();
        work.write("gone/deep/b", "appeared");
        let error = plan.run(&work.store, &request).unwrap_err();
        assert!(matches!(&error, ContentError::Changed { path } if path == "gone/deep/b"), "{error}");
        assert_eq!(fs::read_to_string(work.path("gone/deep/b")).unwrap(), "appeared");
        work.remove("gone/deep/b");
    } else {
        fs::create_dir_all(work.path("gone/deep")).unwrap();
        set_mode(&work.path("gone/deep"), 0o555);
        assert!(matches!(work.go(first, false), Err(ContentError::Io { .. })));
        set_mode(&work.path("gone/deep"), 0o755);
    }
    work.go(first, false).unwrap();
    assert!(work.changes().is_empty());
    // What a killed process leaves behind is nobody's work.
    work.write("same/.gemel-checkout-1f", "half");
    work.go(second, false).unwrap();
    assert!(!work.path("same/.gemel-checkout-1f").exists());
}

/// Captures and status pass over what a killed checkout left; a later checkout finds it, whatever the stat cache says.
#[test]
fn leftovers_are_no_content_and_do_not_stay() {
    let (mut work, first, second) = two_states();
    work.go(first, false).unwrap();
    for path in ["same/.gemel-checkout-0", ".gemel-checkout-1f"] {
        work.write(path, "half");
    }
    for _ in 0..2 {
        std::thread::sleep(std::time::Duration::from_millis(40));
        assert!(work.changes().is_empty());
        assert_eq!(work.capture().state, first);
    }
    work.go(second, false).unwrap();
    let left: Vec<_> =
        snapshot(&work.root).into_iter().filter(|(path, ..)| path.contains(".gemel-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_file_touched_after_the_plan_is_not_overwritten() {
    let (work, first, _) = two_states();
    let root = work.root.clone();
    let request = CheckoutRequest { recorded: work.recorded, ..work.checkout_request(&root, first) };
    let plan = work.plan(&request).unwrap();
    work.write("changed", "between");
    let error = plan.run(&work.store, &request).unwrap_err();
    assert!(matches!(error, ContentError::Changed { path } if path == "changed"));
    assert_eq!(fs::read_to_string(work.path("changed")).unwrap(), "between");
}

#[test]
fn unchanged_files_are_not_rewritten() {
    let (mut work, first, second) = two_states();
    let before = work.path("same/a").metadata().unwrap();
    work.go(first, false).unwrap();
    work.go(second, false).unwrap();
    let after = work.path("same/a").metadata().unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
}

#[test]
fn empty_directories_of_a_state_are_made() {
    let work = Work::new();
    let state = put_tree(
        &work.store,
        &[
            ("a", Held::Dir(vec![("b", Held::Dir(vec![]))])),
            (".git", Held::Dir(vec![])),
            ("f", Held::File("1")),
        ],
    );
    let target = work.temp.path().join("target");
    work.checkout(&work.checkout_request(&target, state)).unwrap();
    assert!(target.join("a/b").is_dir());
    assert!(!target.join(".git").exists());
}

#[test]
fn long_files_and_deep_folders_come_out() {
    let mut work = Work::new();
    let long: Vec<u8> = (0..6_000_000u32).map(|n| (n.wrapping_mul(40_503) >> 7) as u8).collect();
    work.write("long", &long);
    let deep = (0..300).map(|n| format!("directory-{n}")).collect::<Vec<_>>().join("/");
    work.write("x", "1");
    let state = {
        let captured = work.capture().state;
        let root = gemel_repo::content::root_tree(&work.store, &captured).unwrap();
        let writer = work.store.writer().unwrap();
        let mut inner = root;
        for name in deep.rsplit('/') {
            let tree = tree_envelope([(name, Mode::Directory, inner)], &LIMITS).unwrap();
            inner = tree.id;
            writer.put(NewObject { id: tree.id, bytes: tree.bytes, base: None }).unwrap();
        }
        let state = NewState { root_tree: Some(inner), extensions: &[] }.encode(&LIMITS).unwrap();
        let id = state.id;
        writer.put(NewObject { id, bytes: state.bytes, base: None }).unwrap();
        writer.commit().unwrap();
        id
    };
    let target = work.temp.path().join("target");
    let request = CheckoutRequest { cache: Some("stat-other"), ..work.checkout_request(&target, state) };
    work.checkout(&request).unwrap();
    let empty = put_tree(&work.store, &[]);
    let back = CheckoutRequest { state: empty, recorded: Some(state), ..request };
    let report = work.checkout(&back).unwrap();
    assert_eq!(report.removed.len(), 2);
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
}

/// A small tree: names from a short list, so that files and directories meet.
fn trees() -> impl Strategy<Value = BTreeMap<Vec<u8>, (u8, Vec<u8>)>> {
    let path = proptest::collection::vec(0u8..6, 1..4);
    let content = (0u8..3, proptest::collection::vec(any::<u8>(), 0..40));
    proptest::collection::btree_map(path, content, 0..24)
}

fn lay(root: &Path, tree: &BTreeMap<Vec<u8>, (u8, Vec<u8>)>) {
    const NAMES: [&str; 6] = ["a", "b", "a-b", "caf\u{e9}", "x y", "Z.txt"];
    for (path, (kind, content)) in tree {
        let path: Vec<_> = path.iter().map(|n| NAMES[usize::from(*n)]).collect();
        let at = root.join(path.join("/"));
        if fs::create_dir_all(at.parent().unwrap()).is_err() || at.symlink_metadata().is_ok() {
            continue;
        }
        if *kind == 2 && !content.is_empty() && !content.contains(&0) {
            use std::os::unix::ffi::OsStrExt;
            let target = std::ffi::OsStr::from_bytes(content);
            std::os::unix::fs::symlink(target, &at).unwrap();
        } else {
            fs::write(&at, content).unwrap();
            set_mode(&at, if *kind == 1 { 0o755 } else { 0o644 });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_goes_in_and_comes_out_over_any_other(one in trees(), other in trees()) {
        let mut work = Work::new();
        lay(&work.root, &one);
        let first = work.capture();
        prop_assert!(first.coherent);
        let files = snapshot(&work.root);
        let target = work.temp.path().join("target");
        let request = CheckoutRequest { cache: Some("stat-other"), ..work.checkout_request(&target, first.state) };
        work.checkout(&request).unwrap();
        prop_assert_eq!(&snapshot(&target), &files);

        // Another tree in the same place, captured, and back: from the state recorded and by force.
        for entry in fs::read_dir(&work.root).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name != ".gemel" {
                work.remove(&name);
            }
        }
        lay(&work.root, &other);
        let second = work.capture();
        let others = snapshot(&work.root);
        work.go(first.state, false).unwrap();
        prop_assert_eq!(&snapshot(&work.root), &files);
        prop_assert!(work.changes().is_empty());
        let over = CheckoutRequest { state: second.state, force: true, ..request };
        work.checkout(&over).unwrap();
        prop_assert_eq!(&snapshot(&target), &others);
    }
}
