//! What is damaged or absent stops an import by its name, and nothing is published; repaired, all comes in.

use crate::fixture::{FILE, FOLDER, Git, Story, git_in, people};
use crate::gemel::Gemel;
use gemel_git::GitError;
use gemel_git::import::ImportOptions;
use gemel_object::Limits;
use gemel_object::families::Mapping;
use std::fs;
use std::path::Path;

/// Three commits with loose objects only.
fn loose() -> Git {
    let git = Git::new();
    let mut story = Story::new(&git);
    story.commit("main", "one", &[("a", "first text"), ("d/b", "second text")]);
    story
        .commit("main", "two", &[("a", "third text")])
        .commit("main", "three", &[("d/b", "fourth text")])
        .told();
    let pack = fs::read_dir(git.git_dir.join("objects/pack")).unwrap().flatten().map(|entry| entry.path());
    let packs: Vec<_> = pack.collect();
    for path in packs {
        let moved = git.beside("taken").join(path.file_name().unwrap());
        fs::create_dir_all(moved.parent().unwrap()).unwrap();
        fs::rename(&path, &moved).unwrap();
        if moved.extension().is_some_and(|end| end == "pack") {
            git.feed(&["unpack-objects", "-q"], &fs::read(&moved).unwrap());
        }
    }
    git
}

/// One commit with this tree on an ordinary one.
fn with_tree(git: &Git, tree: &str) {
    git.set("refs/heads/main", &git.commit_at(tree, &[&git.head()], 6, "odd"));
}

/// Refuses the import with a message that has all of `parts`, and publishes nothing.
fn refuses(git: &Git, gemel: &Gemel, parts: &[&str]) {
    let (before, sequence) = (gemel.refs(), gemel.sequence());
    let error =
        gemel.try_import(&git.git_dir, ImportOptions::default()).expect_err("it was imported").to_string();
    for part in parts {
        assert!(error.contains(part), "{error:?} does not say {part:?}");
    }
    assert_eq!((gemel.refs(), gemel.sequence()), (before, sequence), "something was published");
    gemel.fsck();
}

/// What is done to a repository, and the names that the refusal has to say.
type Harm = fn(&Git) -> Vec<String>;

/// Threat T-39.
#[test]
fn what_git_would_not_read_is_refused_by_name() {
    let cases: &[(&str, Harm)] = &[
        ("a commit whose tree is a file", |git| {
            let blob = git.blob(b"no tree");
            with_tree(git, &blob);
            vec![blob, "blob where a tree is needed".to_owned()]
        }),
        ("a commit whose parent is a tree", |git| {
            let tree = git.small_tree();
            git.set("refs/heads/main", &git.commit(&tree, &[&tree], "odd"));
            vec![tree, "tree where a commit is needed".to_owned()]
        }),
        ("a file that is a folder", |git| {
            let below = git.small_tree();
            with_tree(git, &git.tree(&[(FILE, b"a", &below)]));
            vec![below, "file a of commit".to_owned()]
        }),
        ("a folder that is a file", |git| {
            let blob = git.blob(b"no tree");
            with_tree(git, &git.tree(&[(FOLDER, b"a", &blob)]));
            vec![blob, "folder a of commit".to_owned()]
        }),
        ("a file that is a commit", |git| {
            let head = git.head();
            with_tree(git, &git.tree(&[(FILE, b"a", &head)]));
            vec![head, "file a of commit".to_owned()]
        }),
        ("one object as a file and as a folder", |git| {
            let below = git.small_tree();
            with_tree(git, &git.tree(&[(FOLDER, b"a", &below), (FILE, b"b", &below)]));
            vec![below, "file b of commit".to_owned()]
        }),
        ("a commit without a tree", |git| {
            let odd = git.object("commit", format!("{}\nm\n", people(5)).as_bytes());
            git.set("refs/heads/main", &odd);
            vec![odd]
        }),
        ("a parent line that names nothing", |git| {
            let odd = git.raw_commit(&git.small_tree(), format!("parent zz\n{}\nm\n", people(5)).as_bytes());
            git.set("refs/heads/main", &odd);
            vec![odd]
        }),
        ("an empty commit object", |git| {
            let odd = git.object("commit", b"");
            git.set("refs/heads/main", &odd);
            vec![odd]
        }),
        ("a tree cut short", |git| {
            let odd = git.object("tree", b"100644 a\x00123456789");
            with_tree(git, &odd);
            vec![odd]
        }),
        ("a name of no bytes", |git| {
            let odd = git.tree(&[(FILE, b"", &git.blob(b"x"))]);
            with_tree(git, &odd);
            vec![odd]
        }),
        ("a mode that is no number", |git| {
            let odd = git.tree(&[("10x644", b"a", &git.blob(b"x"))]);
            with_tree(git, &odd);
            vec![odd]
        }),
        ("a mode with a sign", |git| {
            let odd = git.tree(&[("+100644", b"a", &git.blob(b"x"))]);
            with_tree(git, &odd);
            vec![odd]
        }),
        ("a tag that names nothing", |git| {
            let odd = git.object("tag", b"type commit\n");
            git.set("refs/tags/odd", &odd);
            vec![odd]
        }),
        ("a branch of an absent commit", |git| {
            git.set("refs/heads/absent", &"1".repeat(40));
            vec!["1".repeat(40), "refs/heads/absent".to_owned()]
        }),
    ];
    for (name, harm) in cases {
        let git = loose();
        println!("{name}");
        let before = git.head();
        let parts = harm(&git);
        let gemel = Gemel::new();
        refuses(&git, &gemel, &parts.iter().map(String::as_str).collect::<Vec<_>>());
        gemel.import_head(&git, &before);
        gemel.fsck();
    }
}

/// How the bytes of a loose object become others.
type Spoil = fn(&mut Vec<u8>);

#[test]
fn damaged_loose_objects_are_named_and_come_in_repaired() {
    let spoils: &[(&str, Spoil)] = &[
        ("cut to nothing", |bytes| bytes.clear()),
        ("cut in half", |bytes| bytes.truncate(bytes.len() / 2)),
        ("one bit in the middle", |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 4;
        }),
        ("no zlib", |bytes| bytes.fill(0x55)),
        ("another object", |bytes| {
            let git = loose();
            *bytes = fs::read(git.loose(&git.blob(b"somebody else's"))).unwrap();
        }),
    ];
    let git = loose();
    for of in ["main", "main~1", "main^{tree}", "main:d", "main:a", "main~2:a"] {
        let oid = git.run(&["rev-parse", of]);
        let path = git.loose(&oid);
        let sound = fs::read(&path).unwrap();
        let gemel = Gemel::new();
        for (name, spoil) in spoils {
            println!("{of} {name}");
            let mut bytes = sound.clone();
            spoil(&mut bytes);
            replace(&path, &bytes);
            refuses(&git, &gemel, &[&oid]);
        }
        fs::remove_file(&path).unwrap();
        refuses(&git, &gemel, &[&oid, "missing"]);
        replace(&path, &sound);
        gemel.import(&git);
        gemel.fsck();
        assert_eq!(gemel.shown(), "\"three\" by \"Ada <ada@x.test>\" at Some(1000000002000): a d/b");
    }
}

/// Git's own files are read-only.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).ok();
    fs::write(path, bytes).unwrap();
}

/// Any bit of a pack or its index: the same history or a refusal, and never a panic.
#[test]
fn damaged_packs_give_the_same_or_nothing() {
    let git = Git::new();
    let mut story = Story::new(&git);
    let text = |n: usize| {
        (0..300).map(|line| format!("{}\n", line * (1 + usize::from(line == n)))).collect::<String>()
    };
    for n in 0..8 {
        story.commit("main", "m", &[("long", &text(n)), (&format!("d/f{n}"), "1")]);
    }
    story.told();
    git.run(&["repack", "-adfq"]);
    let expected = Gemel::of(&git).shown();
    let mut harmless = 0;
    for end in ["pack", "idx"] {
        let dir = git.git_dir.join("objects/pack");
        let path = fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
        let path = path.into_iter().find(|path| path.extension().is_some_and(|e| e == end)).unwrap();
        let sound = fs::read(&path).unwrap();
        let gemel = Gemel::new();
        let before = gemel.refs();
        let cuts =
            [0, 3, 11, sound.len() / 2, sound.len() - 21, sound.len() - 1].map(|len| sound[..len].to_vec());
        let flips = (0..60).map(|n| {
            let mut bytes = sound.clone();
            bytes[n * 7919 % sound.len()] ^= 1 << (n % 8);
            bytes
        });
        for bytes in cuts.into_iter().chain(flips) {
            replace(&path, &bytes);
            match gemel.try_import(&git.git_dir, ImportOptions::default()) {
                Ok(_) => {
                    harmless += 1;
                    assert_eq!(Gemel::of(&git).shown(), expected);
                    break;
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            assert_eq!(gemel.refs(), before);
        }
        gemel.fsck();
        replace(&path, &sound);
    }
    assert!(harmless <= 2);
    assert_eq!(Gemel::of(&git).shown(), expected);
}

#[test]
fn absent_files_are_named_or_noted() {
    let git = loose();
    let oid = git.run(&["rev-parse", "main:d/b"]);
    let sound = fs::read(git.loose(&oid)).unwrap();
    fs::remove_file(git.loose(&oid)).unwrap();
    let gemel = Gemel::new();
    let head = git.head();
    refuses(&git, &gemel, &[&oid, "d/b", &head, "--allow-missing"]);
    let allowed = ImportOptions { allow_missing: true, ..ImportOptions::default() };
    let report = gemel.try_import(&git.git_dir, allowed.clone()).unwrap();
    assert_eq!((report.files_lost, report.changes), (1, 3));
    assert_eq!(gemel.shown(), "\"three\" by \"Ada <ada@x.test>\" at Some(1000000002000): a");
    assert_eq!(gemel.losses(&head), ["file d/b omitted (missing in the Git repository)"]);
    gemel.fsck();

    // A commit on top still lacks it; one that brings it back has it.
    let next = git.commit_at(&git.run(&["rev-parse", "main^{tree}"]), &[&head], 9, "on top");
    git.set("refs/heads/main", &next);
    gemel.try_import(&git.git_dir, allowed).unwrap();
    assert_eq!(gemel.shown(), "\"on top\" by \"Ada <ada@x.test>\" at Some(9000): a");
    replace(&git.loose(&oid), &sound);
    let tree = git.tree(&[(FILE, b"a", &git.blob(b"new")), (FILE, b"again", &oid)]);
    git.set("refs/heads/main", &git.commit_at(&tree, &[&next], 10, "back"));
    gemel.import(&git);
    assert_eq!(gemel.shown(), "\"back\" by \"Ada <ada@x.test>\" at Some(10000): a again");
    gemel.fsck();
}

#[test]
fn files_over_the_limit_are_named_or_kept_beside() {
    let git = Git::new();
    let mut story = Story::new(&git);
    let long = "long ".repeat(20_000);
    story.commit("main", "one", &[("a", "1"), ("d/long", &long)]).commit(
        "main",
        "two",
        &[("d/long", "short")],
    );
    story.commit("main", "three", &[("d/long", &long), ("a", "2")]).told();
    let (oid, head) = (git.run(&["rev-parse", "main:d/long"]), git.head());
    let gemel = Gemel::limited(&Limits { max_object_bytes: 64 << 10, ..Limits::DEFAULT });
    refuses(&git, &gemel, &["d/long", "100000 bytes", "limit of 65536", "--oversize keep"]);
    let keep = ImportOptions { keep_oversize: true, ..ImportOptions::default() };
    let report = gemel.try_import(&git.git_dir, keep).unwrap();
    assert_eq!((report.files_lost, report.changes), (1, 3));
    assert_eq!(gemel.shown(), "\"three\" by \"Ada <ada@x.test>\" at Some(1000000002000): a");
    assert_eq!(gemel.losses(&head), ["file d/long omitted (100000 bytes, over the object limit)"]);
    gemel.fsck();
    let parts = (0..2).map(|part| {
        let part = gemel.target(&format!("refs/mappings/import/git_raw/blob/{oid}/{part}")).unwrap();
        gemel.blob(&gemel.with(&part, |object| Mapping::view(object).unwrap().to()))
    });
    assert!(parts.collect::<Vec<_>>().concat() == long.as_bytes());
}

/// A commit over more paths than a change may refer to keeps its states.
#[test]
fn a_commit_over_too_many_paths() {
    let git = Git::new();
    let edits: Vec<(String, &str)> = (0..40).map(|n| (format!("d{}/f{n:02}", n % 4), "1")).collect();
    let edits: Vec<(&str, &str)> = edits.iter().map(|(path, text)| (&path[..], *text)).collect();
    let mut story = Story::new(&git);
    story.commit("main", "one", &edits).commit("main", "two", &[("d0/f00", "2")]).told();
    let gemel = Gemel::limited(&Limits { max_refs_per_object: 20, ..Limits::DEFAULT });
    gemel.import(&git);
    gemel.fsck();
    let root = git.run(&["rev-parse", "main~1"]);
    assert_eq!(gemel.losses(&root), ["operations omitted (40 of them, over the reference limit)"]);
    let whole = Gemel::of(&git);
    assert_eq!(gemel.target("refs/state/head"), whole.target("refs/state/head"));
}

#[test]
fn partial_clones_say_what_they_lack() {
    let git = Git::init(&["--initial-branch=main"]);
    let mut story = Story::new(&git);
    story.commit("main", "one", &[("a", "1"), ("d/b", "2")]).commit("main", "two", &[("a", "3")]).told();
    git.run(&["config", "uploadpack.allowFilter", "true"]);
    let (from, to) = (format!("file://{}", git.dir.display()), git.beside("partial"));
    let to_text = to.to_str().unwrap();
    git_in(&git.dir, &["clone", "-q", "--bare", "--filter=blob:none", &from, to_text], b"").unwrap();
    let partial = Git { dir: to.clone(), git_dir: to, ..git };
    let gemel = Gemel::new();
    refuses(&partial, &gemel, &["missing", "--allow-missing", "of commit"]);
    let allowed = ImportOptions { allow_missing: true, ..ImportOptions::default() };
    let report = gemel.try_import(&partial.git_dir, allowed).unwrap();
    assert_eq!((report.files_lost, report.changes), (3, 2));
    assert_eq!(gemel.losses(&partial.head()), ["file a omitted (missing in the Git repository)"]);
    gemel.fsck();
}

#[test]
fn what_is_no_repository_is_said() {
    let git = Git::init(&["--initial-branch=main"]);
    let inside = git.dir.join("inside");
    fs::create_dir(&inside).unwrap();
    let (file, lost) = (git.dir.join("file"), git.dir.join("lost"));
    fs::write(&file, "text").unwrap();
    fs::write(&lost, "gitdir: nowhere\n").unwrap();
    let gemel = Gemel::new();
    for path in [&inside, &file, &lost, &git.dir.join("absent")] {
        let error = gemel.try_import(path, ImportOptions::default()).unwrap_err();
        assert!(matches!(error, GitError::NotARepository { .. }), "{}: {error}", path.display());
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

/// Refs in a form that is not read would look like a repository without any.
#[test]
fn refs_that_cannot_be_read_are_refused() {
    let git = Git::init(&["--initial-branch=main", "--ref-format=reftable"]);
    let out = git_in(&git.dir, &["commit", "-q", "--allow-empty", "-m", "one"], b"");
    out.unwrap();
    refuses(&git, &Gemel::new(), &["reftable"]);
}
