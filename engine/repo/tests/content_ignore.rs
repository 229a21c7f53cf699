//! Ignore rules against git itself, over drawn trees and drawn rules.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod content_support;

use content_support::*;
use std::collections::BTreeSet;
use std::fs;

const NAMES: [&str; 14] =
    ["a", "b", "foo", "foo.o", "Foo", "bar.txt", "x y", "build", "[z]", "*", "!n", "#h", "a b ", "caf\u{e9}"];
const TOKENS: [&str; 33] = [
    "a",
    "b",
    "foo",
    "foo.o",
    "bar",
    ".txt",
    "build",
    "*",
    "**",
    "?",
    "/",
    "/",
    "/",
    "**/",
    "/**",
    "!",
    "#",
    "[a-c]",
    "[!a]",
    "[^b]",
    "[[:alpha:]]",
    "[]a]",
    "[a",
    "\\",
    "\\#",
    "\\!",
    "\\*",
    "\\ ",
    " ",
    "  ",
    "\t",
    "\u{e9}",
    "x*y",
];

/// A path of one to four names.
fn path(draw: &mut Draw) -> String {
    let depth = 1 + draw.below(4);
    (0..depth).map(|_| draw.pick(&NAMES)).collect::<Vec<_>>().join("/")
}

/// A rule file of a few lines, most of which can match something.
fn rules(draw: &mut Draw) -> Vec<u8> {
    let mut text = String::new();
    if draw.below(20) == 0 {
        text.push('\u{feff}');
    }
    for _ in 0..1 + draw.below(5) {
        let drawn = match draw.below(4) {
            0 => (0..1 + draw.below(5)).map(|_| draw.pick(&TOKENS)).collect::<String>(),
            1 => format!("{}{}", draw.pick(&["", "!", "/", "!/", "**/"]), path(draw)),
            2 => format!(
                "{}{}{}",
                path(draw),
                draw.pick(&["/", "/*", "/**", "*", "**", "?"]),
                draw.pick(&["", "/a", "/foo.o"])
            ),
            _ => draw
                .pick(&[
                    "*", "!*/", "!foo", "foo/*", "*.o", "a/**/b", "/*", "!/a", "**/foo", "a**/b", "**foo/a",
                    "build/",
                ])
                .to_owned(),
        };
        text.push_str(&drawn);
        text.push_str(draw.pick(&["\n", "\n", "\n", "\r\n", " \n", "\0x\n"]));
    }
    if draw.below(4) == 0 {
        text.pop();
    }
    text.into_bytes()
}

fn lay(work: &Work, draw: &mut Draw, files: usize) {
    for _ in 0..files {
        let path = path(draw);
        let at = work.path(&path);
        if fs::create_dir_all(at.parent().unwrap()).is_ok() && at.symlink_metadata().is_err() {
            match draw.below(8) {
                0 => std::os::unix::fs::symlink(draw.pick(&["a", "build", ".."]), at).unwrap(),
                _ => fs::write(at, path).unwrap(),
            }
        }
    }
}

fn lay_rules(work: &Work, draw: &mut Draw) {
    for _ in 0..1 + draw.below(3) {
        let dir = if draw.below(2) == 0 { String::new() } else { path(draw) };
        if work.path(&dir).is_dir() {
            let at = work.path(&dir).join(".gitignore");
            if at.symlink_metadata().is_err() {
                fs::write(at, rules(draw)).unwrap();
            }
        }
    }
    if draw.below(2) == 0 {
        work.write(".git/info/exclude", rules(draw));
    }
}

fn listed(work: &Work, args: &[&str]) -> BTreeSet<String> {
    let out = work.git(args);
    let paths = out.split(|&b| b == 0).filter(|path| !path.is_empty());
    paths.map(|path| String::from_utf8(path.to_vec()).unwrap()).collect()
}

/// What git takes for content: what it tracks and is there, and what it would offer to add.
fn expected(work: &Work) -> Vec<String> {
    let is_leaf = |path: &String| work.path(path).symlink_metadata().is_ok_and(|metadata| !metadata.is_dir());
    let mut paths: BTreeSet<String> =
        listed(work, &["ls-files", "-c", "-z"]).into_iter().filter(is_leaf).collect();
    paths.extend(listed(work, &["ls-files", "-o", "--exclude-standard", "-z"]));
    // Configuration until it is recorded, which git does not know.
    paths.remove(".gitignore");
    paths.into_iter().collect()
}

fn all_files(work: &Work) -> String {
    let shown = |path: &str, bytes: &[u8]| format!("{path}: {:?}\n", String::from_utf8_lossy(bytes));
    let exclude = fs::read(work.path(".git/info/exclude")).unwrap_or_default();
    let files = snapshot(&work.root);
    let rules = files.iter().filter(|(path, ..)| path.ends_with(".gitignore"));
    shown("exclude", &exclude) + &rules.map(|(path, _, bytes)| shown(path, bytes)).collect::<String>()
}

#[test]
fn what_git_leaves_out_is_left_out() {
    for seed in 0..120 {
        let mut draw = Draw::new(seed);
        let mut work = Work::apart();
        work.git(&["init", "-q"]);
        lay(&work, &mut draw, 30);
        lay_rules(&work, &mut draw);
        let captured = work.capture();
        assert_eq!(work.paths(&captured.state), expected(&work), "seed {seed}\n{}", all_files(&work));
        assert!(work.changes().is_empty());
    }
}

#[test]
fn what_is_tracked_stays() {
    for seed in 1000..1050 {
        let mut draw = Draw::new(seed);
        let mut work = Work::apart();
        work.git(&["init", "-q"]);
        lay(&work, &mut draw, 15);
        work.capture();
        work.git(&["add", "-A", "-f"]);
        // Some recorded files go, also to make room for directories; then rules and further files.
        for (path, ..) in snapshot(&work.root) {
            if draw.below(5) == 0 {
                work.remove(&path);
            }
        }
        lay_rules(&work, &mut draw);
        lay(&work, &mut draw, 20);
        // Through the stat cache, without it, and as a capture: three times the same answer.
        work.changes();
        let recorded = work.recorded;
        let captured = work.capture();
        assert_eq!(work.paths(&captured.state), expected(&work), "seed {seed}\n{}", all_files(&work));
        work.recorded = recorded;
        let again = work.capture();
        assert_eq!(again.root_tree, captured.root_tree, "seed {seed}");
        // More rules: what is recorded now stays whatever they say.
        work.git(&["add", "-A"]);
        lay_rules(&work, &mut draw);
        let later = work.capture();
        assert_eq!(work.paths(&later.state), expected(&work), "seed {seed}, later\n{}", all_files(&work));
    }
}

#[test]
fn a_linked_worktree_reads_the_rules_of_its_repository() {
    let mut work = Work::apart();
    let main = work.temp.path().join("main");
    fs::create_dir(&main).unwrap();
    write(&main, "x", "1");
    let root = std::mem::replace(&mut work.root, main.clone());
    work.git(&["init", "-q"]);
    work.git(&["add", "x"]);
    work.git(&["commit", "-qm", "x"]);
    fs::write(main.join(".git/info/exclude"), "*.o\n").unwrap();
    fs::remove_dir(&root).unwrap();
    work.git(&["worktree", "add", "-q", root.to_str().unwrap()]);
    work.root = root;
    work.write("a.o", "1");
    work.write("a.c", "1");
    let captured = work.capture();
    assert_eq!(work.paths(&captured.state), ["a.c", "x"]);
    assert_eq!(expected(&work), ["a.c", "x"]);
}

#[test]
fn rule_files_that_are_links_or_directories_hold_no_rules() {
    let mut work = Work::apart();
    work.git(&["init", "-q"]);
    work.write("elsewhere", "*.o\n");
    work.link("../elsewhere", "d/.gitignore");
    work.write("d/a.o", "1");
    work.write("e/.gitignore/x", "1");
    work.write("e/b.o", "1");
    let captured = work.capture();
    assert_eq!(work.paths(&captured.state), expected(&work));
    assert_eq!(captured.files, 4);
}
