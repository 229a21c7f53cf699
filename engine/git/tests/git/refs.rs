//! Branches, tags, notes, replacements, `HEAD`.

use crate::cases::{case, run};
use crate::fixture::{ELSEWHERE, FILE, GITLINK, Git, Story};
use crate::gemel::Gemel;
use gemel_object::families::Mapping;
use std::fmt::Write as _;

/// A commit of another repository with longer names.
const ELSEWHERE_256: &str = "1111111111111111111111111111111111111111111111111111111111111111";

/// A short line of history.
fn line() -> Git {
    let git = Git::new();
    let mut story = Story::new(&git);
    story.commit("main", "one", &[("a", "1")]).commit("main", "two", &[("a", "2")]).told();
    git
}

#[test]
fn tags_and_what_only_they_hold() {
    run(vec![
        case("tags of every kind", || {
            let git = line();
            let head = git.head();
            git.set("refs/tags/light", &head);
            let v1 = git.tag(&head, "commit", "v1");
            git.set("refs/tags/v1", &v1);
            git.set("refs/tags/nested", &git.tag(&v1, "tag", "nested"));
            let signed = format!("object {head}\ntype commit\ntag s\n\n\n-----BEGIN PGP SIGNATURE-----\n\nx");
            git.set("refs/tags/without/tagger", &git.object("tag", signed.as_bytes()));
            git
        }),
        case("tags of trees and files that commits hold", || {
            let git = line();
            let tree = git.run(&["rev-parse", "main^{tree}"]);
            let file = git.run(&["rev-parse", "main~1:a"]);
            git.set("refs/tags/tree", &tree);
            git.set("refs/tags/file", &file);
            git.set("refs/tags/noted", &git.tag(&git.tag(&tree, "tree", "t"), "tag", "tt"));
            git
        }),
        case("tags of trees and files that no commit holds", || {
            let git = line();
            let inner = git.tree(&[(FILE, b"only", &git.blob(b"only here"))]);
            let tree = git.tree(&[(FILE, b"x", &git.blob(b"elsewhere")), ("40000", b"y", &inner)]);
            git.set("refs/tags/tree", &git.tag(&tree, "tree", "t"));
            git.set("refs/tags/file", &git.blob(b"lonely"));
            git.set("refs/tags/none", &git.blob(b""));
            git.set("refs/heads/none", &git.tree(&[]));
            git
        }),
        case("a tag of a commit that no branch holds", || {
            let git = line();
            let aside = git.commit(&git.small_tree(), &[&git.head()], "aside");
            git.set("refs/tags/aside", &git.tag(&aside, "commit", "aside"));
            git
        }),
    ]);
}

#[test]
fn notes_replacements_and_grafts() {
    run(vec![
        case("notes", || {
            let git = line();
            git.run(&["notes", "add", "-m", "noted", "main"]);
            git.run(&["notes", "append", "-m", "more", "main~1"]);
            git.run(&["notes", "--ref=other", "add", "-m", "other", "main"]);
            git
        }),
        case("a replaced commit is imported as itself", || {
            let git = line();
            let (head, before) = (git.head(), git.run(&["rev-parse", "main~1"]));
            let other = git.commit(&git.small_tree(), &[], "not this one");
            git.set(&format!("refs/replace/{before}"), &other);
            let tree = git.run(&["--no-replace-objects", "rev-parse", &format!("{head}^{{tree}}")]);
            git.set(&format!("refs/replace/{tree}"), &git.small_tree());
            git.set(&format!("refs/replace/{}", git.blob(b"2")), &git.blob(b"not this text"));
            git
        })
        .head("\"two\" by \"Ada <ada@x.test>\" at Some(1000000001000): a")
        .unlike_0_12(),
        case("a replacement that closes a circle", || {
            let git = line();
            git.set(&format!("refs/replace/{}", git.run(&["rev-parse", "main~1"])), &git.head());
            git
        })
        .unlike_0_12(),
        case("grafts are not followed", || {
            let git = line();
            let info = git.git_dir.join("info");
            std::fs::create_dir_all(&info).unwrap();
            std::fs::write(info.join("grafts"), format!("{}\n", git.head())).unwrap();
            git
        })
        .head("\"two\" by \"Ada <ada@x.test>\" at Some(1000000001000): a")
        .unlike_0_12(),
    ]);
}

#[test]
fn heads() {
    run(vec![
        case("detached", || {
            let git = line();
            let aside = git.commit(&git.small_tree(), &[&git.head()], "aside");
            git.set("HEAD", &aside);
            git
        })
        .head("\"aside\" by \"Ada <ada@x.test>\" at Some(1000000000000): f"),
        case("detached at a tag object", || {
            let git = line();
            git.set("HEAD", &git.tag(&git.head(), "commit", "v1"));
            git
        })
        .head("\"two\" by \"Ada <ada@x.test>\" at Some(1000000001000): a"),
        case("not born", || {
            let git = line();
            git.set("HEAD", "ref: refs/heads/nowhere");
            git
        })
        .head("nothing"),
        case("an empty repository", Git::new).head("nothing"),
        case("a tag", || {
            let git = line();
            git.set("refs/tags/v1", &git.tag(&git.run(&["rev-parse", "main~1"]), "commit", "v1"));
            git.set("HEAD", "ref: refs/tags/v1");
            git
        })
        .head("\"one\" by \"Ada <ada@x.test>\" at Some(1000000000000): a"),
        case("a branch that stands for another", || {
            let git = line();
            git.set("refs/heads/alias", "ref: refs/heads/main");
            git.set("refs/heads/dangling", "ref: refs/heads/nowhere");
            git.set("HEAD", "ref: refs/heads/alias");
            git
        })
        .head("\"two\" by \"Ada <ada@x.test>\" at Some(1000000001000): a"),
        case("what a killed Git leaves", || {
            let git = line();
            for name in ["refs/heads/main.lock", "refs/heads/side.lock", "HEAD.lock", "packed-refs.lock"] {
                git.set(name, "");
            }
            git.set("refs/tags/v1", &git.head());
            std::fs::create_dir_all(git.git_dir.join("refs/heads/empty/folder")).unwrap();
            git
        })
        .head("\"two\" by \"Ada <ada@x.test>\" at Some(1000000001000): a"),
        case("names at the edge", || {
            let git = line();
            let head = git.head();
            for name in [
                "HEAD",
                "a/b/c",
                "\u{e9}",
                "%41",
                "a+b",
                "x'\"$",
                "refs/heads/x",
                "0000000000000000000000000000000000000000",
            ] {
                git.set(&format!("refs/heads/{name}"), &head);
                git.set(&format!("refs/tags/{name}"), &head);
            }
            git
        }),
    ]);
}

#[test]
fn ten_thousand_refs() {
    let git = line();
    let (head, before) = (git.head(), git.run(&["rev-parse", "main~1"]));
    let mut packed = String::from("# pack-refs with: peeled fully-peeled sorted \n");
    for n in 0..10_000 {
        let _ = writeln!(packed, "{} refs/heads/b{n:05}", if n % 2 == 0 { &head } else { &before });
    }
    std::fs::write(git.git_dir.join("packed-refs"), packed).unwrap();
    // A loose one is newer than a packed one.
    git.set("refs/heads/b00001", &head);
    let gemel = Gemel::new();
    let report = gemel.import(&git);
    assert_eq!((report.commits, report.changes, report.refs_left), (2, 2, 0));
    let text = String::from_utf8(gemel.kept_refs()).unwrap();
    assert_eq!(
        text.lines().filter(|line| !line.starts_with("HEAD") && line.contains(" refs/heads/")).count(),
        10_001
    );
    assert!(text.starts_with("object-format sha1\nHEAD refs/heads/main\n"), "{:.80}", text);
    assert!(text.contains(&format!("{head} refs/heads/b00001\n{head} refs/heads/b00002\n")));
}

/// Remote-tracking branches and what programs keep for themselves belong to that folder.
#[test]
fn other_refs_are_counted() {
    let git = line();
    let head = git.head();
    for name in ["refs/remotes/origin/main", "refs/stash", "refs/bisect/bad", "refs/pull/1/head"] {
        git.set(name, &head);
    }
    let report = Gemel::new().import(&git);
    assert_eq!((report.refs_left, report.changes), (4, 2));
}

/// Names are bytes.
#[test]
#[cfg(target_os = "linux")]
fn names_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt as _;
    let git = line();
    let head = git.head();
    let name = std::ffi::OsStr::from_bytes(b"refs/heads/caf\xe9");
    std::fs::write(git.git_dir.join(name), format!("{head}\n")).unwrap();
    let gemel = Gemel::of(&git);
    let text = gemel.kept_refs();
    let line = [head.as_bytes(), b" refs/heads/caf\xe9\n"].concat();
    assert!(text.windows(line.len()).any(|window| window == line));
    gemel.fsck();
}

/// Invariant FAM-22: what is outside is named as it is named there, and its bytes are there.
#[test]
fn mappings_keep_names_and_bytes() {
    for format in ["sha1", "sha256"] {
        let git = Git::init(&["--bare", "--initial-branch=main", &format!("--object-format={format}")]);
        let link = (if format == "sha1" { ELSEWHERE } else { ELSEWHERE_256 }, "sub");
        let tree = git.tree(&[(FILE, b"f", &git.blob(b"x")), (GITLINK, link.1.as_bytes(), link.0)]);
        let commit = git.raw_commit(&tree, b"author A <a@x> 5 +051800\ncommitter C <c@x> 5 --700\n\nm\xff\0");
        let tag = git.tag(&commit, "commit", "v1");
        git.set("refs/heads/main", &commit);
        git.set("refs/tags/v1", &tag);
        let gemel = Gemel::of(&git);
        for (kind, oid) in [("commit", &commit), ("tree", &tree)] {
            let name = format!("refs/mappings/import/git_{kind}/{oid}");
            let mapping = gemel.target(&name).unwrap();
            gemel.with(&mapping, |object| assert_eq!(Mapping::view(object).unwrap().from(), oid));
        }
        for (kind, oid) in [("commit", &commit), ("tree", &tree), ("tag", &tag)] {
            let mapping = gemel.target(&format!("refs/mappings/import/git_raw/{kind}/{oid}")).unwrap();
            let blob = gemel.with(&mapping, |object| {
                let mapping = Mapping::view(object).unwrap();
                assert_eq!(mapping.from(), format!("git-object:{kind}:{oid}"));
                mapping.to()
            });
            assert!(gemel.blob(&blob) == git.feed(&["cat-file", kind, oid], b""), "{kind}");
        }
    }
}
