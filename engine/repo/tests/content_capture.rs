//! What is content, and what a capture makes of it.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod content_support;

use content_support::*;
use gemel_object::families::State;
use gemel_object::{Gid, Limits, Mode};
use gemel_repo::content::{
    CompareWith, ContentError, OmissionReason, WorktreeRequest, delta_trees, delta_worktree, read_blob,
    read_worktree, root_tree,
};
use gemel_repo::facts::Silent;
use std::fs;
use std::os::unix::ffi::OsStrExt;

#[test]
fn files_links_and_modes() {
    let mut work = Work::new();
    work.write("a.txt", "hello\n");
    work.write("bin/run", "#!/bin/sh\n");
    set_mode(&work.path("bin/run"), 0o711);
    work.write("private", "x");
    set_mode(&work.path("private"), 0o600);
    work.link("../outside", "bin/link");
    work.write("empty", "");
    fs::create_dir_all(work.path("hollow/inner")).unwrap();
    let captured = work.capture();
    assert_eq!((captured.files, captured.symlinks, captured.directories), (4, 1, 1));
    assert_eq!(captured.bytes, 6 + 10 + 1 + 10);
    assert_eq!((captured.coherent, captured.attempts), (true, 1));
    let root = root_tree(&work.store, &captured.state).unwrap();
    assert_eq!(root, captured.root_tree);
    let content = delta_trees(&work.store, None, Some(root)).unwrap();
    let seen: Vec<_> = content
        .iter()
        .map(|delta| {
            let (mode, blob) = delta.after.unwrap();
            (delta.path.as_str(), mode, read_blob(&work.store, &blob).unwrap())
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("a.txt", Mode::File, b"hello\n".to_vec()),
            ("bin/link", Mode::Link, b"../outside".to_vec()),
            ("bin/run", Mode::Executable, b"#!/bin/sh\n".to_vec()),
            ("empty", Mode::File, Vec::new()),
            ("private", Mode::File, b"x".to_vec()),
        ]
    );
    let envelope = work.store.read(&captured.state).unwrap();
    let state = State::decode(&envelope, &Limits::DEFAULT).unwrap();
    assert_eq!(state.record().extension(0x80), Some(&br#"{"attempts":1,"coherent":true}"#[..]));
}

#[test]
fn the_same_content_is_the_same_state() {
    let mut work = Work::new();
    work.write("d/a", "1");
    let first = work.capture();
    let again = work.capture();
    assert_eq!(first, again);
    let verified = work.capture_with(|request| request.verify = true).unwrap();
    assert_eq!(first, verified);
    let mut other = Work::new();
    other.write("d/a", "1");
    assert_eq!(other.capture().state, first.state);
    // Nothing at all is a state, too.
    let empty = Work::new().capture();
    assert_eq!((empty.files, empty.coherent), (0, true));
}

#[test]
fn metadata_is_never_content_at_any_depth() {
    let mut work = Work::new();
    work.write(".git/config", "x");
    work.write("d/.gemel/x", "x");
    work.write("d/file", "x");
    work.write("e/.GIT/x", "x");
    let captured = work.capture();
    assert_eq!(work.paths(&captured.state), ["d/file", "e/.GIT/x"]);
}

/// Shows QRY-02.
/// Only names that nobody else gives are taken for leftovers, and nothing that is recorded.
#[test]
fn names_like_those_of_leftovers_are_content() {
    let mut work = Work::new();
    for path in [".gemel-checkout-", "a/.gemel-checkout-x1", "b/.gemel-checkout", ".gemel-checkout-2-b"] {
        work.write(path, "kept");
    }
    let captured = work.capture();
    assert_eq!(work.paths(&captured.state).len(), 4);
}

#[test]
fn nested_repositories_are_left_out_and_named_unless_recorded() {
    let mut work = Work::new();
    work.write("sub/a", "1");
    work.write("other/x", "1");
    work.capture();
    work.write("sub/.git/HEAD", "ref: refs/heads/main");
    work.write("sub/b", "1");
    work.write("vendor/lib/.git", "gitdir: elsewhere");
    work.write("vendor/lib/code", "1");
    assert_eq!(work.changes(), ["+sub/b"]);
    let captured = work.capture();
    assert_eq!(work.paths(&captured.state), ["other/x", "sub/a", "sub/b"]);
    let omitted: Vec<_> = captured.omitted.iter().map(|o| (o.path.as_str(), o.reason)).collect();
    assert_eq!(omitted, [("vendor/lib", OmissionReason::NestedRepository)]);
    // The same from the stat cache.
    assert_eq!(work.status().omitted, captured.omitted);
    work.remove("vendor/lib/.git");
    assert_eq!(work.changes(), ["+vendor/lib/code"]);
}

#[test]
fn the_root_rule_file_is_configuration_until_it_is_recorded() {
    let mut work = Work::new();
    work.write(".gitignore", "*.o\n");
    work.write("a.o", "1");
    work.write("a.c", "1");
    work.write("d/.gitignore", "!b.o\nq\n");
    work.write("d/b.o", "1");
    work.write("d/q", "1");
    let captured = work.capture();
    assert_eq!(work.paths(&captured.state), ["a.c", "d/.gitignore", "d/b.o"]);
    assert!(work.changes().is_empty());
    work.write(".gitignore", "*.c\n");
    assert_eq!(work.changes(), ["+a.o"], "a.c is recorded and stays content");

    // A state that holds the rule file, as an import makes it.
    let mut import = Work::new();
    import.write("x/.gitignore", "*.o\n");
    import.capture();
    let tree = root_tree(&import.store, &import.recorded.unwrap()).unwrap();
    let sub = delta_trees(&import.store, None, Some(tree)).unwrap();
    assert_eq!(sub.len(), 1);
    let x = {
        let envelope = import.store.read(&tree).unwrap();
        gemel_object::Tree::decode(&envelope, &Limits::DEFAULT).unwrap().get("x").unwrap().target
    };
    import.recorded = Some(put_state(&import, x));
    import.remove("x");
    import.write(".gitignore", "*.o\n");
    assert!(import.changes().is_empty());
    import.write(".gitignore", "*.o\n*.a\n");
    assert_eq!(import.changes(), ["~.gitignore"]);
    assert_eq!(import.capture().files, 1);
}

/// A state without a capture record whose root tree is `tree`.
fn put_state(work: &Work, tree: Gid) -> Gid {
    let state = gemel_object::families::NewState { root_tree: Some(tree), extensions: &[] };
    let state = state.encode(&LIMITS).unwrap();
    let writer = work.store.writer().unwrap();
    writer.put(gemel_store::NewObject { id: state.id, bytes: state.bytes, base: None }).unwrap();
    writer.commit().unwrap();
    state.id
}

#[test]
fn recorded_paths_stay_content_inside_ignored_directories() {
    let mut work = Work::new();
    work.write("build/keep", "1");
    work.write("build/deep/keep", "1");
    work.write("top.log", "1");
    work.capture();
    work.write(".gitignore", "build/\n*.log\n");
    work.write("build/new", "1");
    work.write("build/deep/new", "1");
    work.write("other.log", "1");
    assert!(work.changes().is_empty());
    work.write("build/deep/keep", "changed");
    work.remove("top.log");
    assert_eq!(work.changes(), ["~build/deep/keep", "-top.log"]);
    let captured = work.capture();
    assert_eq!(work.paths(&captured.state), ["build/deep/keep", "build/keep"]);
    work.remove("build/keep");
    assert_eq!(work.changes(), ["-build/keep"]);
    let captured = work.capture();
    assert_eq!(work.paths(&captured.state), ["build/deep/keep"]);
    // Back again, but no longer recorded: ignored now.
    work.write("build/keep", "1");
    assert!(work.changes().is_empty());
}

#[test]
fn kinds_swap() {
    let mut work = Work::new();
    work.write("a", "file");
    work.write("b/x", "dir");
    work.link("a", "c");
    work.capture();
    work.remove("a");
    work.write("a/inner", "dir");
    work.remove("b");
    work.write("b", "file");
    work.remove("c");
    work.write("c", "a");
    assert_eq!(work.changes(), ["-a", "+a/inner", "+b", "-b/x", "~c"]);
    let captured = work.capture();
    assert_eq!(work.paths(&captured.state), ["a/inner", "b", "c"]);
    set_mode(&work.path("c"), 0o755);
    assert_eq!(work.changes(), ["~c"]);
}

/// Shows T-49.
#[test]
fn what_no_tree_can_hold_is_an_error_naming_the_path() {
    let bad_name = std::ffi::OsStr::from_bytes(b"d/caf\xe9");
    let mut work = Work::new();
    work.write("d/good", "1");
    fs::write(work.root.join(bad_name), "1").unwrap();
    let error = work.capture_with(|_| {}).unwrap_err();
    assert!(matches!(&error, ContentError::InvalidName { path, .. } if path == "d/caf\\xe9"), "{error}");
    assert_eq!(work.status().omitted[0].reason, OmissionReason::InvalidName);
    // Ignored, it does not matter.
    work.write("d/.gitignore", b"caf?\n");
    assert_eq!(work.capture().files, 2);
    fs::remove_file(work.root.join(bad_name)).unwrap();

    work.write("back\\slash", "1");
    let error = work.capture_with(|_| {}).unwrap_err();
    assert!(matches!(&error, ContentError::InvalidName { path, .. } if path == "back\\slash"), "{error}");
    work.remove("back\\slash");

    // A directory without content needs no name; with content it does.
    fs::create_dir(work.path("odd\\dir")).unwrap();
    work.capture();
    fs::write(work.path("odd\\dir/f"), "1").unwrap();
    let error = work.capture_with(|_| {}).unwrap_err();
    assert!(matches!(&error, ContentError::InvalidName { path, .. } if path == "odd\\dir/f"), "{error}");
    work.remove("odd\\dir");

    rustix::fs::mknodat(
        rustix::fs::CWD,
        work.path("d/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    let error = work.capture_with(|_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported: d/pipe: special file type (socket, pipe or device); remove it or have it ignored"
    );
    // Also after the cache has seen the directory.
    work.status();
    assert!(work.capture_with(|_| {}).is_err());
    work.write("d/.gitignore", "pipe\n");
    work.capture();
}

#[test]
fn twins_in_case_and_form_are_different_files() {
    let mut work = Work::new();
    work.write("Read", "1");
    work.write("read", "2");
    work.write("caf\u{e9}", "3");
    work.write("cafe\u{301}", "4");
    work.write("-a", "5");
    work.write("a b ", "6");
    work.write("tab\tnew\nline", "7");
    let captured = work.capture();
    assert_eq!(captured.files, 7);
    assert!(work.changes().is_empty());
}

#[test]
fn a_file_over_the_limit_is_refused_before_it_is_read() {
    let mut work = Work::new();
    static SMALL: Limits = Limits { max_object_bytes: 1 << 20, ..LIMITS };
    let file = fs::File::create(work.path("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = work.capture_with(|request| request.limits = &SMALL).unwrap_err();
    let ContentError::Limit { what, found, limit } = error else { panic!("{error}") };
    assert_eq!((what.as_str(), found, limit), ("size of sparse", 1 << 40, 1 << 20));
    // To the byte: an envelope of exactly the limit is fine.
    file.set_len((1 << 20) - 11).unwrap();
    assert_eq!(work.capture_with(|request| request.limits = &SMALL).unwrap().bytes, (1 << 20) - 11);
    file.set_len((1 << 20) - 10).unwrap();
    assert!(work.capture_with(|request| request.limits = &SMALL).is_err());
}

#[test]
fn long_files_stream_and_come_back() {
    let mut work = Work::new();
    let content: Vec<u8> = (0..9_000_001u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    work.write("long", &content);
    let sparse = fs::File::create(work.path("sparse")).unwrap();
    sparse.set_len(50 << 20).unwrap();
    let captured = work.capture();
    assert_eq!(captured.bytes, 9_000_001 + (50 << 20));
    assert!(work.changes().is_empty());
    let (mode, blob) = delta_trees(&work.store, None, Some(captured.root_tree)).unwrap()[0].after.unwrap();
    assert!(read_blob(&work.store, &blob).unwrap() == content);
    assert!(read_worktree(&work.root, "long", (mode, blob), &LIMITS).unwrap() == content);
    work.write("long", "short");
    let error = read_worktree(&work.root, "long", (mode, blob), &LIMITS).unwrap_err();
    assert!(matches!(error, ContentError::Changed { .. }));
}

#[test]
fn a_capture_tells_what_differs() {
    let mut work = Work::new();
    work.write("same/a", "1");
    work.write("d/b", "1");
    let first = work.capture_with(|request| request.compare_with = CompareWith::Empty).unwrap();
    assert_eq!(marked(&first.changes), ["+d/b", "+same/a"]);
    work.write("d/b", "2");
    work.write("d/c", "3");
    let state = first.state;
    let second = work.capture_with(|request| request.compare_with = CompareWith::State(state)).unwrap();
    assert_eq!(marked(&second.changes), ["~d/b", "+d/c"]);
    let none = work.capture_with(|request| request.compare_with = CompareWith::State(second.state)).unwrap();
    assert!(none.changes.is_empty());
    let back = work.capture_with(|request| request.compare_with = CompareWith::State(state)).unwrap();
    assert_eq!(marked(&back.changes), ["~d/b", "+d/c"]);
}

#[test]
fn status_against_another_state() {
    let mut work = Work::new();
    work.write("a", "1");
    let first = work.capture().state;
    work.write("a", "2");
    work.write("b", "2");
    work.capture();
    work.write("c", "3");
    let request = WorktreeRequest { against: Some(first), ..work.worktree_request() };
    for _ in 0..3 {
        let delta = delta_worktree(&work.store, &request).unwrap();
        assert_eq!(marked(&delta.changes), ["~a", "+b", "+c"]);
    }
    assert_eq!(work.changes(), ["+c"]);
}

#[test]
fn deep_and_wide() {
    let mut work = Work::new();
    let mut deep = String::new();
    for level in 0..1000 {
        deep.push_str(&format!("d{level:03}/"));
    }
    mkdirs_deep(&work, &deep);
    for number in 0..3000 {
        work.write(&format!("wide/f{number:05}"), format!("{number}"));
        fs::create_dir_all(work.path(&format!("fan/{number}"))).unwrap();
    }
    work.write("fan/77/only", "1");
    let captured = work.capture();
    assert_eq!(captured.files, 3002);
    assert_eq!(captured.directories, 1000 + 1 + 2);
    assert!(work.changes().is_empty());
    let paths = work.paths(&captured.state);
    assert_eq!(paths.iter().map(String::len).max(), Some(deep.len() + 4));
    work.write("wide/f02999", "x");
    assert_eq!(work.changes(), ["~wide/f02999"]);
}

/// Makes a chain of directories whose path is longer than a call takes, and a file at its end.
fn mkdirs_deep(work: &Work, deep: &str) {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let mut fd = openat(CWD, &work.root, OFlags::DIRECTORY, Mode::empty()).unwrap();
    for name in deep.split('/').filter(|name| !name.is_empty()) {
        mkdirat(&fd, name, Mode::from_raw_mode(0o755)).unwrap();
        fd = openat(&fd, name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let file = openat(&fd, "file", OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o644)).unwrap();
    rustix::io::write(&file, b"deep").unwrap();
}

#[test]
fn a_missing_root_is_an_error() {
    let work = Work::new();
    let root = work.root.join("absent");
    let request = WorktreeRequest { root: &root, progress: &Silent, ..work.worktree_request() };
    assert!(matches!(delta_worktree(&work.store, &request), Err(ContentError::Io { op: "open", .. })));
}
