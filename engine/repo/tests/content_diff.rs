//! Line differences: git applies them, and no input makes them expensive.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod content_support;

use content_support::*;
use gemel_object::Mode;
use gemel_repo::content::diff::{Body, Version, compare, count, write_patch};
use gemel_repo::content::{PathDelta, delta_trees, pair_renames, read_blob};
use std::fs;
use std::time::{Duration, Instant};

/// The patch between two states, renames paired.
fn patch_between(work: &Work, deltas: &[PathDelta], context: u32) -> Vec<u8> {
    let side = |path: &str, leaf: Option<(Mode, gemel_object::Gid)>| {
        leaf.map(|(mode, blob)| (path.to_owned(), mode, read_blob(&work.store, &blob).unwrap()))
    };
    let renames = pair_renames(deltas);
    let mut out = Vec::new();
    for (at, delta) in deltas.iter().enumerate() {
        if renames.iter().any(|rename| rename.from == at) {
            continue;
        }
        let from = renames.iter().find(|rename| rename.to == at).map_or(delta, |rename| &deltas[rename.from]);
        let (old, new) = (side(&from.path, from.before), side(&delta.path, delta.after));
        let version = |side: &'_ Option<(String, Mode, Vec<u8>)>| {
            side.as_ref().map(|(path, mode, bytes)| {
                let (path, bytes) = (path.clone().leak(), bytes.clone().leak());
                Version { path, mode: *mode, bytes: Some(bytes) }
            })
        };
        write_patch(&mut out, version(&old).as_ref(), version(&new).as_ref(), context).unwrap();
    }
    out
}

/// Lines that repeat a lot, some without an end.
fn text(draw: &mut Draw) -> Vec<u8> {
    let lines =
        ["a", "b", "    indented", "}", "", "caf\u{e9}", "\tx", "-minus", "+plus", "@@ -1 +1 @@", "\\ No"];
    let mut text = String::new();
    for _ in 0..draw.below(30) {
        text.push_str(draw.pick(&lines));
        text.push_str(draw.pick(&["\n", "\n", "\n", "\r\n"]));
    }
    if draw.below(3) == 0 {
        text.pop();
    }
    text.into_bytes()
}

fn edited(text: &[u8], draw: &mut Draw) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..1 + draw.below(4) {
        let at = draw.below(lines.len() + 1);
        match draw.below(3) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => lines[at] = b"changed\n".to_vec(),
            _ => lines.insert(at, format!("new {}\n", draw.below(5)).into_bytes()),
        }
    }
    lines.concat()
}

const PATHS: [&str; 8] =
    ["a", "d/b", "d/with space", "d/tab\there", "e/\"quoted\"", "caf\u{e9}/x", "trailing ", "new\nline"];

#[test]
fn git_applies_what_is_written() {
    for seed in 0..60 {
        let mut draw = Draw::new(seed);
        let mut work = Work::apart();
        work.git(&["init", "-q"]);
        for path in PATHS {
            match draw.below(4) {
                0 => {}
                1 => work.link(draw.pick(&["a", "target with space", "x/y"]), path),
                _ => {
                    work.write(path, text(&mut draw));
                    set_mode(&work.path(path), if draw.below(4) == 0 { 0o755 } else { 0o644 });
                }
            }
        }
        let first = work.capture();
        let before = snapshot(&work.root);
        for path in PATHS {
            let at = work.path(path);
            let there = at.symlink_metadata().ok();
            match (draw.below(6), there) {
                (0, Some(_)) => work.remove(path),
                (1, None) => work.write(path, text(&mut draw)),
                (2, Some(metadata)) if metadata.is_file() => {
                    set_mode(&at, if draw.below(2) == 0 { 0o755 } else { 0o644 });
                }
                (3, Some(metadata)) if metadata.is_file() => {
                    let content = edited(&fs::read(&at).unwrap(), &mut draw);
                    fs::write(&at, content).unwrap();
                }
                (4, Some(metadata)) if metadata.is_file() => {
                    let to = work.path(&format!("moved/{path}"));
                    fs::create_dir_all(to.parent().unwrap()).unwrap();
                    fs::rename(&at, to).unwrap();
                }
                (5, Some(_)) => {
                    work.remove(path);
                    work.link("elsewhere", path);
                }
                _ => {}
            }
        }
        let second = work.capture();
        let after = snapshot(&work.root);
        let deltas = delta_trees(&work.store, Some(first.root_tree), Some(second.root_tree)).unwrap();
        for context in [3, 1, 10] {
            let patch = patch_between(&work, &deltas, context);
            work.go(first.state, true).unwrap();
            assert_eq!(snapshot(&work.root), before, "seed {seed}");
            fs::write(work.temp.path().join("patch"), &patch).unwrap();
            if !patch.is_empty() {
                work.git(&["apply", "--whitespace=nowarn", "../patch"]);
            }
            assert_eq!(snapshot(&work.root), after, "seed {seed}\n{}", String::from_utf8_lossy(&patch));
        }
        // And backwards: git checks every line it removes.
        let patch = patch_between(&work, &deltas, 3);
        if !patch.is_empty() {
            work.git(&["apply", "--whitespace=nowarn", "-R", "--check", "../patch"]);
        }
    }
}

#[test]
fn counts_agree_with_git() {
    for seed in 0..25 {
        let mut draw = Draw::new(seed);
        let work = Work::apart();
        work.git(&["init", "-q"]);
        let old = text(&mut draw);
        let new = edited(&old, &mut draw);
        work.write("f", &old);
        work.git(&["add", "f"]);
        work.write("f", &new);
        let stat = work.git(&["diff", "--numstat", "--diff-algorithm=histogram"]);
        let stat = String::from_utf8(stat).unwrap();
        let version = |bytes| Version { path: "f", mode: Mode::File, bytes: Some(bytes) };
        let ours = count(Some(&version(&old)), Some(&version(&new)));
        let expected = stat.split('\t').take(2).map(|n| n.parse::<u64>().unwrap()).collect::<Vec<_>>();
        if old == new {
            assert_eq!((ours.added, ours.removed), (0, 0));
        } else {
            // Equally good answers may differ in where they begin, not in how much longer the file got.
            let balance = |added: u64, removed: u64| i128::from(added) - i128::from(removed);
            assert_eq!(balance(ours.added, ours.removed), balance(expected[0], expected[1]), "seed {seed}");
            assert!(ours.added <= expected[0] + 4, "seed {seed}: {ours:?} against {expected:?}");
        }
    }
}

#[test]
fn binary_is_not_compared_by_line() {
    let version = |bytes| Version { path: "f", mode: Mode::File, bytes: Some(bytes) };
    let (text, nul) = (b"text\n".as_slice(), b"te\0xt\n".as_slice());
    assert_eq!(compare(Some(&version(text)), Some(&version(nul)), 3), Body::Binary);
    assert!(count(Some(&version(text)), Some(&version(nul))).binary);
    let mut late = vec![b'x'; 8000];
    late.push(0);
    assert!(matches!(compare(Some(&version(&late)), Some(&version(text)), 3), Body::Text(_)));
    assert_eq!(compare(Some(&version(nul)), Some(&version(nul)), 3), Body::Same);
}

/// A million lines each way, in the shapes that make line matchers slow (T-55).
#[test]
fn a_million_lines_without_common_ones() {
    let numbers = |from: u64, step: u64| {
        let lines = (0..1_000_000u64).map(|n| format!("{}\n", from + (n * step) % 1_000_003));
        lines.collect::<String>().into_bytes()
    };
    let shapes: [(&str, Vec<u8>, Vec<u8>); 4] = [
        ("nothing in common", numbers(0, 1), numbers(2_000_000, 1)),
        ("the same lines in another order", numbers(0, 1), numbers(0, 7919)),
        ("one line repeated", b"x\n".repeat(1_000_000), b"x\ny\n".repeat(500_000)),
        ("two lines alternating", b"a\nb\n".repeat(500_000), b"b\nb\na\n".repeat(333_333)),
    ];
    for (name, old, new) in &shapes {
        let begun = Instant::now();
        let version = |bytes| Version { path: "f", mode: Mode::File, bytes: Some(bytes) };
        assert!(matches!(compare(Some(&version(old)), Some(&version(new)), 3), Body::Text(_)));
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(60), "{name}: {took:?}");
    }
}

/// Bytes that nobody read are different bytes, whatever the other side holds.
#[test]
fn what_was_not_read_differs() {
    let version = |bytes| Version { path: "f", mode: Mode::File, bytes };
    let (text, unread) = (version(Some(b"a\n".as_slice())), version(None));
    for (old, new) in [(Some(&text), Some(&unread)), (Some(&unread), Some(&text)), (None, Some(&unread))] {
        assert!(count(old, new).binary);
        let mut patch = Vec::new();
        write_patch(&mut patch, old, new, 3).unwrap();
        assert!(patch.starts_with(b"diff --git a/f b/f\n") && patch.ends_with(b" differ\n"));
    }
}
