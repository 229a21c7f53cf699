//! How commits stand on each other.

use crate::cases::{case, run};
use crate::fixture::{Git, Story, people};
use crate::gemel::Gemel;
use gemel_object::families::Change;
use std::fmt::Write as _;

#[test]
fn odd_graphs() {
    run(vec![
        case("roots in the middle", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            story.commit("main", "a", &[("a", "1")]).commit("main", "b", &[("a", "2")]);
            story.commit("two", "root", &[("b", "1")]).commit("two", "more", &[("b", "2")]);
            story.merge("main", &["two"], "merge", &[("b", "2")]).commit("main", "c", &[("a", "3")]).told();
            git
        })
        .head("\"c\" by \"Ada <ada@x.test>\" at Some(1000000005000): a b"),
        case("criss-cross", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            story.commit("main", "base", &[("a", "1"), ("b", "1")]).branch("side", "main");
            for n in 2..8 {
                let text = n.to_string();
                story.commit("main", "left", &[("a", &text)]).commit("side", "right", &[("b", &text)]);
                story.branch("before", "main");
                story.merge("main", &["side"], "left merge", &[("b", &text)]);
                story.merge("side", &["before"], "right merge", &[("a", &text)]);
            }
            story.merge("main", &["side"], "end", &[("c", "1")]).told();
            git
        }),
        case("octopus", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            story.commit("main", "base", &[("base", "b")]);
            for n in 0..12 {
                story.branch(&format!("f{n}"), "main").commit(
                    &format!("f{n}"),
                    "f",
                    &[(&format!("f{n}"), "1")],
                );
            }
            let others: Vec<String> = (0..12).map(|n| format!("f{n}")).collect();
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            let edits: Vec<(&str, &str)> = others.iter().map(|name| (*name, "1")).collect();
            story.merge("main", &others, "octopus", &edits).commit("f3", "on", &[("f3", "2")]);
            story.merge("main", &["f3"], "again", &[("f3", "2")]).told();
            git
        }),
        case("a parent twice", || {
            let git = Git::new();
            let tree = git.small_tree();
            let root = git.commit(&tree, &[], "root");
            let twice = git.commit_at(&tree, &[&root, &root], 6, "twice");
            git.set("refs/heads/main", &git.commit_at(&tree, &[&twice, &root, &twice], 7, "thrice"));
            git
        }),
        case("twins", || {
            let git = Git::new();
            let tree = git.small_tree();
            let root = git.commit(&tree, &[], "root");
            let twin = |zone: &str| {
                let rest =
                    format!("parent {root}\nauthor A <a@x> 5 +0000\ncommitter C <c@x> 6 {zone}\n\nsame\n");
                git.raw_commit(&tree, rest.as_bytes())
            };
            let (left, right) = (twin("+0100"), twin("+0200"));
            let merge = git.commit_at(&tree, &[&left, &right], 7, "merge");
            git.set("refs/heads/main", &git.commit_at(&tree, &[&merge], 8, "end"));
            git
        }),
        case("branches without a common root", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            story.commit("main", "a", &[("a", "1")]).commit("other", "b", &[("a", "1"), ("b", "2")]);
            story.commit("other", "c", &[("b", "3")]).commit("zzz", "d", &[("d/d", "4")]).told();
            git
        })
        .head("\"a\" by \"Ada <ada@x.test>\" at Some(1000000000000): a"),
        case("five thousand parents", five_thousand_parents),
        case("one person, many names, empty commits", || {
            let git = Git::new();
            let tree = git.small_tree();
            let mut last = git.commit(&tree, &[], "root");
            for n in 0..5 {
                let rest = format!(
                    "parent {last}\nauthor A{} <a@x> {n} +0000\ncommitter C <c@x> 6 +0000\n\nm\n",
                    n % 2
                );
                last = git.raw_commit(&tree, rest.as_bytes());
            }
            git.set("refs/heads/main", &last);
            git
        }),
    ]);
}

fn five_thousand_parents() -> Git {
    let git = Git::new();
    let mut stream = String::new();
    for n in 0..5000 {
        let _ = writeln!(stream, "commit refs/heads/p\nmark :{}\n{}data 1\np", n + 1, people(n));
        if n > 0 {
            let _ = writeln!(stream, "from :1");
        }
        let _ = writeln!(stream, "M 100644 inline f{}\ndata 1\n1\n", n % 50);
    }
    let _ = writeln!(stream, "commit refs/heads/main\n{}data 5\nmerge\nfrom :1", people(6000));
    for n in 1..5000 {
        let _ = writeln!(stream, "merge :{}", n + 1);
    }
    git.fast_import(stream.as_bytes());
    git
}

#[test]
fn parents_of_twins_are_listed_twice() {
    let git = Git::new();
    let tree = git.small_tree();
    let root = git.commit(&tree, &[], "root");
    let twin = |zone: &str| {
        let rest = format!("parent {root}\nauthor A <a@x> 5 +0000\ncommitter C <c@x> 6 {zone}\n\nsame\n");
        git.raw_commit(&tree, rest.as_bytes())
    };
    let (left, right) = (twin("+0100"), twin("+0200"));
    let merge = git.commit_at(&tree, &[&left, &right], 7, "merge");
    git.set("refs/heads/main", &merge);
    let gemel = Gemel::of(&git);
    assert_eq!(gemel.change_of(&left), gemel.change_of(&right));
    let parents: Vec<_> =
        gemel.with(&gemel.change_of(&merge), |o| Change::view(o).unwrap().causal_parents().iter().collect());
    assert_eq!(parents, [gemel.change_of(&left); 2]);
}

/// No step is taken once a commit of depth, and none costs more the longer the line is.
#[test]
fn a_line_of_a_hundred_and_twenty_thousand() {
    let git = Git::new();
    let mut stream = String::with_capacity(32 << 20);
    for n in 0..120_000 {
        let _ = write!(stream, "commit refs/heads/main\n{}data 1\nm\n", people(n));
        if n % 1000 == 0 {
            let _ = writeln!(stream, "M 100644 inline d/f{}\ndata 3\n{}\n", n % 7000, n / 1000 % 100 + 100);
        }
    }
    git.fast_import(stream.as_bytes());
    let gemel = Gemel::new();
    let report = gemel.import(&git);
    assert_eq!((report.commits, report.changes, report.trajectories), (120_000, 120_000, 1));
    assert_eq!(gemel.target("refs/names/C120000"), gemel.target("refs/head"));
    let lines: Vec<usize> = gemel.trajectories().values().map(Vec::len).collect();
    assert_eq!(lines, [120_000]);
}
