//! A history that grows between two imports comes out as one that was imported whole.

use crate::cases::differences;
use crate::fixture::{ELSEWHERE, Git, Story, git_in};
use crate::gemel::{Gemel, Refs};
use gemel_git::GitError;
use gemel_git::import::{HeadOutcome, ImportOptions};

type Stage = for<'s, 'g> fn(&'s mut Story<'g>) -> &'s mut Story<'g>;

/// Names, head, mappings and what trajectories hold.
fn fixed(gemel: &Gemel) -> Refs {
    gemel.refs().into_iter().filter(|(name, _)| !name.starts_with("refs/trajectories/")).collect()
}

/// Tells the stages one by one and imports after each; then the whole into another repository.
fn grows(name: &str, stages: &[Stage], same_names: bool) {
    println!("{name}");
    let git = Git::new();
    let mut story = Story::new(&git);
    let gemel = Gemel::new();
    for stage in stages {
        stage(&mut story);
        story.told();
        gemel.import(&git);
        gemel.fsck();
    }
    let whole = Gemel::of(&git);
    if same_names {
        assert_eq!(differences(&fixed(&gemel), &fixed(&whole)), [""; 0], "{name}");
        assert_eq!(gemel.trajectories(), whole.trajectories(), "{name}");
    } else {
        let unnamed = |gemel: &Gemel| -> Refs {
            fixed(gemel).into_iter().filter(|(name, _)| !name.starts_with("refs/names/")).collect()
        };
        assert_eq!(differences(&unnamed(&gemel), &unnamed(&whole)), [""; 0], "{name}");
    }
}

#[test]
fn run_after_run_equals_one() {
    grows(
        "a line",
        &[
            |s| s.commit("main", "1", &[("a", "1"), ("d/b", "1"), ("d/c/e", "1")]),
            |s| s.commit("main", "2", &[("a", "2")]).commit("main", "3", &[("d/c/e", "2")]),
            |s| s.commit("main", "4", &[("d/b", "2"), ("-a", "")]),
            |s| s,
            |s| s.commit("main", "5", &[("-d", ""), ("d", "file")]),
        ],
        true,
    );
    grows(
        "what was deleted comes back",
        &[
            |s| {
                s.commit("main", "1", &[("a", "1"), ("d/b", "1")]).commit(
                    "main",
                    "2",
                    &[("-d", ""), ("a", "2")],
                )
            },
            |s| s.commit("main", "3", &[("d/b", "1"), ("a", "1")]).commit("main", "4", &[("x/b", "1")]),
        ],
        true,
    );
    grows(
        "folders move whole",
        &[
            |s| s.commit("main", "1", &[("a/x/1", "1"), ("a/x/2", "2"), ("a/y", "3"), ("b", "b")]),
            |s| s.commit("main", "2", &[("-a", ""), ("c/x/1", "1"), ("c/x/2", "2"), ("c/y", "3")]),
            |s| s.commit("main", "3", &[("-c/x", ""), ("-b", ""), ("b/x/1", "1"), ("b/x/2", "2")]),
        ],
        true,
    );
    grows(
        "submodules beside files that stay",
        &[
            |s| {
                s.commit("main", "1", &[("a", "1"), ("=d/m", ELSEWHERE), ("d/f", "1"), ("=d/e/m", ELSEWHERE)])
            },
            |s| s.commit("main", "2", &[("a", "2")]).commit("main", "3", &[("a", "3"), ("x/f", "1")]),
            |s| s.commit("main", "4", &[("d/f", "2")]).commit("main", "5", &[("-d/m", "")]),
        ],
        true,
    );
    grows(
        "submodules and empty trees",
        &[
            |s| s.commit("main", "1", &[("a", "1"), ("=d/m", ELSEWHERE)]),
            |s| s.commit("main", "2", &[("a", "2")]),
            |s| s.commit("main", "3", &[("-d", ""), ("-a", "")]),
            |s| s.commit("main", "4", &[("=m", ELSEWHERE), ("a", "1")]),
        ],
        true,
    );
    grows(
        "a side branch is merged later",
        &[
            |s| s.commit("main", "1", &[("a", "1")]),
            |s| s.branch("side", "main").commit("side", "2", &[("b", "1")]),
            |s| s.commit("main", "3", &[("a", "2")]).merge("main", &["side"], "4", &[("b", "1")]),
        ],
        false,
    );
    grows(
        "two known lines reach one tree",
        &[
            |s| {
                s.commit("main", "1", &[("a", "0"), ("d/b", "0")]).branch("side", "main");
                s.commit("main", "2", &[("a", "left"), ("d/b", "left")]);
                s.commit("side", "3", &[("a", "right"), ("d/b", "right"), ("d/c", "right")])
            },
            |s| {
                s.commit("main", "4", &[("a", "one"), ("d/b", "one")]);
                s.commit("side", "5", &[("a", "one"), ("d/b", "one"), ("-d/c", "")])
            },
        ],
        false,
    );
    grows(
        "another root joins",
        &[
            |s| s.commit("main", "1", &[("a", "1")]),
            |s| {
                s.commit("two", "2", &[("b", "1")]).commit("two", "3", &[("b", "2")]);
                s.merge("main", &["two"], "4", &[("b", "2")])
            },
        ],
        true,
    );
    grows(
        "empty commits",
        &[
            |s| s.commit("main", "1", &[]),
            |s| s.commit("main", "2", &[]).commit("main", "3", &[("a", "1")]),
            |s| s.commit("main", "4", &[]),
        ],
        true,
    );
}

#[test]
fn head_follows_or_stays() {
    let git = Git::new();
    let mut story = Story::new(&git);
    story.commit("main", "1", &[("a", "1")]).commit("main", "2", &[("a", "2")]).told();
    let gemel = Gemel::new();
    assert_eq!(gemel.import(&git).head, HeadOutcome::Set);
    assert_eq!(gemel.import(&git).head, HeadOutcome::Kept);
    story.commit("main", "3", &[("a", "3")]).told();
    assert_eq!(gemel.import(&git).head, HeadOutcome::Advanced);
    let head = gemel.target("refs/head");
    // Rewritten: the new line does not follow from what head names.
    let other = git.commit(&git.small_tree(), &[&git.run(&["rev-parse", "main~1"])], "instead of 3");
    git.set("refs/heads/main", &other);
    let report = gemel.import(&git);
    assert_eq!((report.head, report.changes), (HeadOutcome::Kept, 1));
    assert_eq!(gemel.target("refs/head"), head);
    gemel.fsck();
}

/// Of refs alone.
#[test]
fn refs_come_and_go() {
    let git = Git::new();
    let mut story = Story::new(&git);
    story.commit("main", "1", &[("a", "1")]).commit("main", "2", &[("a", "2")]).branch("side", "main").told();
    let gemel = Gemel::of(&git);
    let kept = |gemel: &Gemel| String::from_utf8(gemel.kept_refs()).unwrap();
    let (before, text) = (gemel.refs(), kept(&gemel));
    git.set("refs/tags/v1", &git.tag(&git.head(), "commit", "v1"));
    git.run(&["branch", "-q", "-D", "side"]);
    let report = gemel.import(&git);
    assert_eq!((report.changes, report.kept), (0, 1));
    let after = kept(&gemel);
    assert!(
        text.contains("refs/heads/side")
            && !after.contains("refs/heads/side")
            && after.contains("refs/tags/v1")
    );
    let named =
        |refs: Refs| -> Refs { refs.into_iter().filter(|(name, _)| !name.contains("/git_r")).collect() };
    assert_eq!(named(gemel.refs()), named(before));
    gemel.fsck();
}

/// One revision alone says nothing of the refs.
#[test]
fn one_revision_leaves_the_refs_that_were_taken() {
    let git = Git::new();
    let mut story = Story::new(&git);
    story.commit("main", "1", &[("a", "1")]).commit("main", "2", &[("a", "2")]).told();
    let gemel = Gemel::of(&git);
    let before = gemel.kept_refs();
    story.branch("side", "main").commit("side", "3", &[("a", "3")]).told();
    assert_eq!(gemel.import_head(&git, "side").changes, 1);
    assert_eq!(gemel.kept_refs(), before);
    gemel.import(&git);
    assert!(gemel.kept_refs().len() > before.len());
    for odd in
        ["nowhere", "refs/heads", "", "main~9", "main^2", "main~x", "main^{tree}", "HEAD~99999999999", "0123"]
    {
        let options = ImportOptions { head: Some(odd.to_owned()), ..ImportOptions::default() };
        let error = gemel.try_import(&git.git_dir, options).unwrap_err();
        assert!(matches!(error, GitError::UnknownRevision { .. }), "{odd:?}: {error}");
    }
    git.set("refs/tags/file", &git.blob(b"x"));
    let options = ImportOptions { head: Some("file".to_owned()), ..ImportOptions::default() };
    assert!(matches!(gemel.try_import(&git.git_dir, options), Err(GitError::UnknownRevision { .. })));
}

#[test]
fn revisions_are_named_as_in_git() {
    let git = Git::new();
    let mut story = Story::new(&git);
    story.commit("main", "1", &[("a", "1")]).branch("side", "main").commit("side", "2", &[("b", "1")]);
    story.commit("main", "3", &[("a", "2")]).merge("main", &["side"], "4", &[("b", "1")]).told();
    git.set("refs/tags/v1", &git.tag(&git.head(), "commit", "v1"));
    let short = &git.head()[..9];
    for name in ["HEAD", "main", "heads/main", "refs/heads/main", "v1", "side", short] {
        for steps in [
            "",
            "~",
            "^",
            "~1",
            "^1",
            "^0",
            "~0",
            "^{}",
            "^{commit}",
            "^^",
            "~2",
            "^2",
            "^2~1",
            "~1^1^{}~0",
            "^3",
        ] {
            let revision = format!("{name}{steps}");
            let expected =
                git_in(&git.dir, &["rev-parse", "--verify", "-q", &format!("{revision}^{{commit}}")], b"");
            let gemel = Gemel::new();
            let options = ImportOptions { head: Some(revision.clone()), ..ImportOptions::default() };
            match (expected, gemel.try_import(&git.git_dir, options)) {
                (Ok(oid), Ok(report)) => {
                    assert_eq!(
                        report.tip,
                        Some(gemel.change_of(String::from_utf8_lossy(&oid).trim_end())),
                        "{revision}"
                    );
                }
                (Err(_), Err(GitError::UnknownRevision { .. })) => {}
                (expected, found) => panic!("{revision}: {expected:?} {found:?}"),
            }
        }
    }
}

/// Two that run at once: one publishes, the other does too or says that it came late.
#[test]
fn two_at_once() {
    let git = Git::new();
    let mut story = Story::new(&git);
    for n in 0..50 {
        story.commit("main", "m", &[(&format!("f{n}"), "1")]);
    }
    story.told();
    let gemel = Gemel::new();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let run = || scope.spawn(|| gemel.try_import(&git.git_dir, ImportOptions::default()));
        [run(), run()].map(|thread| thread.join().unwrap()).into_iter().collect()
    });
    assert!(outcomes.iter().any(Result::is_ok), "{outcomes:?}");
    gemel.fsck();
    assert_eq!(gemel.target("refs/names/C50"), gemel.target("refs/head"));
    assert_eq!(gemel.target("refs/names/C51"), None);
}
