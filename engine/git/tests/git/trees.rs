//! Trees that Git holds and no state can, and names at the edge.

use crate::cases::{case, run};
use crate::fixture::{ELSEWHERE, ELSEWHERE_2, FILE, FOLDER, GITLINK, Git, Story};

/// Mode, name, object.
type Entry = (&'static str, Vec<u8>, String);

/// Two commits with trees of these entries: the second without the first entry.
fn entries(entries: fn(&Git) -> Vec<Entry>) -> Git {
    let git = Git::new();
    let made = entries(&git);
    let made: Vec<(&str, &[u8], &str)> =
        made.iter().map(|(mode, name, id)| (*mode, &name[..], &id[..])).collect();
    let before = git.commit(&git.tree(&made[1..]), &[], "before");
    // Below a folder too: what it holds is kept there as at the root.
    let whole = git.tree(&made);
    let above = git.tree(&[(FOLDER, b"below", &whole), (FILE, b"z", &git.blob(b"z"))]);
    let middle = git.commit_at(&above, &[&before], 6, "middle");
    git.set("refs/heads/main", &git.commit_at(&whole, &[&middle], 7, "m"));
    git
}

fn files(of: &Git, names: &[(&'static str, &[u8])]) -> Vec<Entry> {
    names.iter().map(|(mode, name)| (*mode, name.to_vec(), of.blob(&[b"text of ", *name].concat()))).collect()
}

#[test]
fn modes_and_orders() {
    run(vec![
        case("modes of old", || {
            entries(|git| {
                files(git, &[("100664", b"a"), ("100600", b"b"), ("100775", b"c"), ("100640", b"d")])
            })
        })
        .head("\"m\" by \"Ada <ada@x.test>\" at Some(7000): a b c* d"),
        case("folder modes mixed", || {
            entries(|git| {
                let below = git.small_tree();
                vec![("040000", b"a".to_vec(), below.clone()), (FOLDER, b"b".to_vec(), below)]
            })
        })
        .head("\"m\" by \"Ada <ada@x.test>\" at Some(7000): a/f b/f"),
        case("modes nobody writes", || {
            entries(|git| files(git, &[(FILE, b"a"), ("644", b"b"), ("0100644", b"c"), ("20000", b"d")]))
        })
        .head("\"m\" by \"Ada <ada@x.test>\" at Some(7000): a c")
        .losses(&[
            "gitlink b omitted (submodule content unavailable)",
            "gitlink d omitted (submodule content unavailable)",
            "gitlink below/b omitted (submodule content unavailable)",
            "gitlink below/d omitted (submodule content unavailable)",
        ]),
        case("a name twice", || {
            entries(|git| {
                vec![
                    (FILE, b"a".to_vec(), git.blob(b"first")),
                    (FILE, b"a".to_vec(), git.blob(b"second")),
                    (FILE, b"b".to_vec(), git.blob(b"b")),
                ]
            })
        })
        .head("\"m\" by \"Ada <ada@x.test>\" at Some(7000): a b")
        .unlike_0_12(),
        case("a file and a folder of one name", || {
            entries(|git| {
                let below = git.tree(&[(FILE, b"only here", &git.blob(b"only here"))]);
                vec![
                    (FILE, b"a".to_vec(), git.blob(b"first")),
                    (FOLDER, b"a".to_vec(), git.tree(&[(FOLDER, b"deep", &below)])),
                    (FILE, b"b".to_vec(), git.blob(b"b")),
                ]
            })
        })
        .head("\"m\" by \"Ada <ada@x.test>\" at Some(7000): a b")
        .unlike_0_12(),
        case("unsorted", || entries(|git| files(git, &[(FILE, b"c"), (FILE, b"a"), (FILE, b"b")])))
            .head("\"m\" by \"Ada <ada@x.test>\" at Some(7000): a b c"),
        case("a folder beside names that go on", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            story.commit(
                "main",
                "one",
                &[("a/f", "1"), ("ab", "2"), ("a.txt", "3"), ("a-b", "4"), ("a0/f", "5")],
            );
            story.commit("main", "two", &[("a/f", "6"), ("ab", "7")]).commit(
                "main",
                "three",
                &[("-ab", ""), ("a/g", "8")],
            );
            story.told();
            git
        })
        .head("\"three\" by \"Ada <ada@x.test>\" at Some(1000000002000): a-b a.txt a/f a/g a0/f"),
        case("empty folders", || {
            entries(|git| {
                let none = git.tree(&[]);
                let nested = git.tree(&[(FOLDER, b"inner", &none)]);
                let file = git.blob(b"x");
                let mixed = git.tree(&[(FOLDER, b"none", &none), (FILE, b"x", &file)]);
                vec![
                    (FOLDER, b"empty".to_vec(), none),
                    (FOLDER, b"mixed".to_vec(), mixed),
                    (FOLDER, b"nested".to_vec(), nested),
                ]
            })
        })
        .head("\"m\" by \"Ada <ada@x.test>\" at Some(7000): mixed/x"),
        case("nothing at all", || {
            let git = Git::new();
            let none = git.tree(&[]);
            let root = git.commit(&none, &[], "root");
            let full = git.commit_at(&git.small_tree(), &[&root], 6, "full");
            git.set("refs/heads/main", &git.commit_at(&none, &[&full], 7, "none"));
            git
        })
        .head("\"none\" by \"Ada <ada@x.test>\" at Some(7000): "),
    ]);
}

#[test]
fn names_at_the_edge() {
    run(vec![
        case("dots and slashes", || {
            entries(|git| {
                files(git, &[(FILE, b"."), (FILE, b".."), (FILE, b"a/b"), (FILE, b"..."), (FILE, b"/")])
            })
        })
        .head("\"m\" by \"Ada <ada@x.test>\" at Some(7000): %2e %2e%2e %2f ... a%2fb")
        .unlike_0_12(),
        case("metadata", || {
            entries(|git| {
                let below = git.small_tree();
                vec![
                    (FOLDER, b".GIT".to_vec(), below.clone()),
                    (FOLDER, b".gemel".to_vec(), below.clone()),
                    (FOLDER, b".git".to_vec(), below.clone()),
                    (FOLDER, b"git~1".to_vec(), below),
                ]
            })
        })
        .head("\"m\" by \"Ada <ada@x.test>\" at Some(7000): .GIT/f .gemel/f .git/f git~1/f"),
        case("not UTF-8, backslashes, and escapes that meet", || {
            entries(|git| {
                let names: &[(&str, &[u8])] = &[
                    (FILE, b"b\\s"),
                    (FILE, b"b%5cs"),
                    (FILE, b"caf%e9"),
                    (FILE, b"caf\xe9"),
                    (FILE, b"caf\xea"),
                    (FILE, b"p%q\\"),
                ];
                files(git, names)
            })
        })
        .head(concat!(
            "\"m\" by \"Ada <ada@x.test>\" at Some(7000): b%5cs b%5cs%604753ac caf%e9 caf%e9%c2c41df3 ",
            "caf%ea p%25q%5c"
        ))
        .unlike_0_12(),
        case("names that differ in case", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            story.commit("main", "one", &[("README", "1"), ("readme", "2"), ("Dir/f", "3"), ("dir/f", "4")]);
            story.commit("main", "two", &[("readme", "5"), ("-README", ""), ("DIR/F", "6")]).told();
            git
        })
        .head("\"two\" by \"Ada <ada@x.test>\" at Some(1000000001000): DIR/F Dir/f dir/f readme"),
        case("control characters and forms of one letter", || {
            entries(|git| {
                let names: &[(&str, &[u8])] = &[
                    (FILE, b"\x01\x7f\n"),
                    (FILE, b" "),
                    (FILE, "e\u{301}".as_bytes()),
                    (FILE, "\u{e9}".as_bytes()),
                ];
                files(git, names)
            })
        }),
        case("a path of 4,000 bytes", || {
            let git = Git::new();
            let path = format!("{}/end", vec!["x".repeat(199); 20].join("/"));
            let mut story = Story::new(&git);
            story.commit("main", "one", &[(&path, "1")]).commit("main", "two", &[(&path, "2")]).told();
            git
        }),
        case("a name of 4,000 bytes", || {
            let git = Git::new();
            let name = "n".repeat(4000);
            let tree = git.tree(&[(FILE, name.as_bytes(), &git.blob(b"1"))]);
            git.set("refs/heads/main", &git.commit(&tree, &[], "m"));
            git
        }),
        case("folders a thousand deep", || {
            let git = Git::new();
            let path = format!("{}f", "d/".repeat(1000));
            let mut story = Story::new(&git);
            story.commit("main", "one", &[(&path, "1")]).commit("main", "two", &[(&path, "2")]);
            story.commit("main", "three", &[(&path[500..], "3")]).told();
            git
        }),
    ]);
}

#[test]
fn kinds_that_change() {
    run(vec![
        case("submodules come, move and go", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            story.commit("main", "one", &[("a", "1")]).commit(
                "main",
                "in",
                &[("=mod", ELSEWHERE), ("=d/mod", ELSEWHERE)],
            );
            story.commit("main", "bump", &[("=mod", ELSEWHERE_2)]).commit("main", "beside", &[("a", "2")]);
            story.commit("main", "move", &[("-mod", ""), ("=d/other", ELSEWHERE_2)]);
            story.commit("main", "files instead", &[("-d/mod", ""), ("d/mod/f", "3")]);
            story.commit("main", "gone", &[("-d/other", "")]).told();
            git
        })
        .head("\"gone\" by \"Ada <ada@x.test>\" at Some(1000000006000): a d/mod/f")
        .losses(&["gitlink d/other omitted (submodule content unavailable)"]),
        case("only a submodule", || {
            let git = Git::new();
            let tree = git.tree(&[(GITLINK, b"mod", ELSEWHERE)]);
            let above = git.tree(&[(FOLDER, b"d", &tree), (FILE, b"f", &git.blob(b"f"))]);
            let root = git.commit(&tree, &[], "one");
            git.set("refs/heads/main", &git.commit_at(&above, &[&root], 7, "two"));
            git
        })
        .head("\"two\" by \"Ada <ada@x.test>\" at Some(7000): f")
        .losses(&[
            "gitlink d/mod omitted (submodule content unavailable)",
            "gitlink mod omitted (submodule content unavailable)",
        ]),
        case("links, programs, files and folders in turn", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            story.commit("main", "1", &[("a", "t"), ("b", "t"), ("c/f", "t"), ("@l", "a")]);
            story.commit("main", "2", &[("*a", "t"), ("@b", "t"), ("-c", ""), ("c", "t"), ("l", "a")]);
            story.commit(
                "main",
                "3",
                &[("-a", ""), ("a/f", "t"), ("-b", ""), ("b/c/d", "t"), ("-c", ""), ("c/f", "t")],
            );
            story.commit("main", "4", &[("-a", ""), ("@a", "b"), ("*b/c/d", "t"), ("@c/g", "../l")]).told();
            git
        })
        .head("\"4\" by \"Ada <ada@x.test>\" at Some(1000000003000): a@ b/c/d* c/f c/g@ l"),
        case("renames that cross", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            story.commit("main", "1", &[("a", "1"), ("b", "2"), ("c", "3"), ("d/x", "4"), ("d/y", "5")]);
            story.commit(
                "main",
                "2",
                &[("a", "2"), ("b", "3"), ("c", "1"), ("-d", ""), ("e/x", "5"), ("e/y", "4")],
            );
            story.commit("main", "3", &[("-a", ""), ("-b", ""), ("z", "2"), ("y", "3")]).told();
            git
        }),
        case("binary files", || {
            let git = Git::new();
            let all: Vec<u8> = (0..=255).cycle().take(100_000).collect();
            let tree = git.tree(&[
                (FILE, b"all", &git.blob(&all)),
                (FILE, b"none", &git.blob(b"")),
                ("120000", b"to", &git.blob(b"\xff\xfe/../..\0")),
            ]);
            git.set("refs/heads/main", &git.commit(&tree, &[], "m"));
            git
        })
        .unlike_0_12(),
        case("ignored and hidden files", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            story.commit(
                "main",
                "1",
                &[(".gitignore", "*.o"), (".gemel/q", "q"), ("a.o", "o"), (".gitmodules", "")],
            );
            story.told();
            git
        })
        .head("\"1\" by \"Ada <ada@x.test>\" at Some(1000000000000): .gemel/q .gitignore .gitmodules a.o"),
        case("one file in many places", || {
            let git = Git::new();
            let edits: Vec<(String, &str)> = (0..300).map(|n| (format!("d{}/f{n}", n % 7), "same")).collect();
            let edits: Vec<(&str, &str)> = edits.iter().map(|(path, text)| (&path[..], *text)).collect();
            let mut story = Story::new(&git);
            story.commit("main", "1", &edits).commit("main", "2", &[("-d3", ""), ("*d4/f4", "same")]).told();
            git
        }),
    ]);
}
