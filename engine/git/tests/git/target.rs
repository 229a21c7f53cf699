//! Where an export may write: which refs it moves, which places it takes, and that it stops when bytes are missing.

use crate::back::comes_back;
use crate::fixture::{Git, Story};
use crate::gemel::Gemel;
use crate::natives::Made;
use crate::out::{Out, ask, git, plain, refs, refused, send, with_everything};
use gemel_git::export::{ExportRequest, RefChange};

fn on(branch: &str) -> ExportRequest {
    ExportRequest { branch: Some(branch.to_owned()), ..ExportRequest::default() }
}

/// Threats T-37 and T-38.
#[test]
fn refs_move_forward_or_not_at_all() {
    let (gemel, out) = (Gemel::new(), Out::new());
    let first = gemel.make(&Made::default());
    let dir = out.at("git");
    plain(&gemel, &dir);
    let second = gemel.make(&Made { summary: "second", parents: &[first], ..Made::default() });
    assert_eq!(plain(&gemel, &dir).refs[0].change, RefChange::Forward);
    let ours = git(&dir, &["rev-parse", "main"]);
    // Work of others on top.
    let tree = git(&dir, &["rev-parse", "main^{tree}"]);
    let theirs = git(&dir, &["commit-tree", tree.trim_end(), "-p", ours.trim_end(), "-m", "theirs"]);
    git(&dir, &["update-ref", "refs/heads/main", theirs.trim_end()]);
    let third = gemel.make(&Made { summary: "third", parents: &[second], ..Made::default() });
    refused(&gemel, &dir, ExportRequest::default(), "refs/heads/main is at ");
    assert_eq!(git(&dir, &["rev-parse", "main"]), theirs);
    let report = send(&gemel, &dir, on("topic/a"));
    assert_eq!(report.refs[0].name, "refs/heads/topic/a");
    assert_eq!(git(&dir, &["rev-parse", "topic/a~1"]), ours);
    let report = send(&gemel, &dir, ExportRequest { force: true, ..ExportRequest::default() });
    assert_eq!(
        (report.refs[0].change, report.refs[0].old.as_deref()),
        (RefChange::Forced, Some(theirs.trim_end()))
    );
    assert!(git(&dir, &["cat-file", "commit", "main"]).contains(&third.to_string()));
    for branch in ["topic", "topic/a/b"] {
        refused(&gemel, &dir, on(branch), "cannot have both");
    }
    for branch in ["../../../x", "a..b", "a b", "", "x.lock", "a/", "@{", "\u{7f}"] {
        refused(&gemel, &dir, on(branch), "is no name for a ref");
    }
}

#[test]
fn all_refs_are_looked_at_before_one_moves() {
    let theirs = Git::new();
    Story::new(&theirs).commit("main", "a", &[("f", "a")]).commit("main", "b", &[("f", "b")]).told();
    let (first, second) = (theirs.run(&["rev-parse", "main~1"]), theirs.head());
    theirs.set("refs/tags/t", &second);
    let gemel = Gemel::of(&theirs);
    let out = Out::new();
    let dir = out.at("git");
    plain(&gemel, &dir);
    git(&dir, &["update-ref", "refs/tags/t", &first]);
    git(&dir, &["update-ref", "refs/heads/main", &first]);
    // Tags do not move, and then nothing does.
    refused(&gemel, &dir, ExportRequest::default(), "refs/tags/t is at ");
    git(&dir, &["update-ref", "refs/tags/t", &second]);
    let report = plain(&gemel, &dir);
    assert_eq!((report.refs[0].change, report.objects), (RefChange::Forward, 0));
    assert_eq!(refs(&dir), refs(&theirs.dir));
}

/// Threat T-38.
#[test]
fn a_branch_that_is_checked_out_stays() {
    let (gemel, out) = (Gemel::new(), Out::new());
    let first = gemel.make(&Made::default());
    let work = out.at("work");
    std::fs::create_dir(&work).unwrap();
    git(&work, &["init", "-q", "-b", "main", "--template="]);
    // Not born yet: nothing is lost.
    plain(&gemel, &work);
    git(&work, &["reset", "-q", "--hard"]);
    gemel.make(&Made { summary: "second", parents: &[first], ..Made::default() });
    refused(&gemel, &work, ExportRequest::default(), "refs/heads/main is checked out");
    git(&work, &["checkout", "-q", "-b", "other"]);
    git(&work, &["worktree", "add", "-q", "../linked", "main"]);
    refused(&gemel, &work, ExportRequest::default(), "refs/heads/main is checked out");
    refused(&gemel, &out.at("linked"), ExportRequest::default(), "refs/heads/main is checked out");
    git(&work, &["worktree", "remove", "../linked"]);
    let report = plain(&gemel, &work.join(".git"));
    assert_eq!(report.refs[0].change, RefChange::Forward);
    assert_eq!(git(&work, &["symbolic-ref", "HEAD"]), "refs/heads/other\n");
    assert_eq!(git(&work, &["status", "--porcelain"]), "");
}

#[test]
fn places() {
    let (gemel, out) = (Gemel::new(), Out::new());
    // Nothing to export: a repository without refs.
    let report = ask(&gemel, &out.at("nothing"), ExportRequest::default()).unwrap();
    assert_eq!((report.head, report.objects, report.refs.len()), (None, 0, 0));
    assert_eq!(git(&out.at("nothing"), &["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    gemel.make(&Made::default());
    plain(&gemel, &out.at("nothing"));
    // A folder with something else in it is no place.
    std::fs::create_dir(out.at("full")).unwrap();
    std::fs::write(out.at("full/file"), "x").unwrap();
    refused(&gemel, &out.at("full"), ExportRequest::default(), "is not a Git repository");
    refused(&gemel, &out.at("full/file"), ExportRequest::default(), "is not a Git repository");
    std::fs::create_dir(out.at("empty")).unwrap();
    plain(&gemel, &out.at("empty"));
    assert_eq!(git(&out.at("empty"), &["rev-parse", "--is-bare-repository"]), "true\n");
    // What a stopped export left is gone on with.
    std::fs::create_dir_all(out.at("stopped/objects/pack")).unwrap();
    std::fs::write(out.at("stopped/objects/pack/tmp_pack_gemel0"), "half").unwrap();
    std::fs::write(out.at("stopped/packed-refs"), "half").unwrap();
    plain(&gemel, &out.at("stopped"));
    let work = out.at("work");
    std::fs::create_dir(&work).unwrap();
    plain(&gemel, &work.join(".git"));
    assert_eq!(git(&work, &["rev-parse", "--is-bare-repository"]), "false\n");
}

#[test]
fn a_head_that_names_no_branch_follows() {
    let (gemel, out) = (Gemel::new(), Out::new());
    gemel.make(&Made::default());
    for format in ["sha1", "sha256"] {
        let dir = out.at(format);
        std::fs::create_dir(&dir).unwrap();
        git(
            &dir,
            &["init", "-q", "--bare", "-b", "trunk", "--template=", &format!("--object-format={format}")],
        );
        plain(&gemel, &dir);
        assert_eq!(git(&dir, &["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        send(&gemel, &dir, on("trunk"));
        assert_eq!(git(&dir, &["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    }
    assert_eq!(git(&out.at("sha256"), &["rev-parse", "main"]).len(), 65);
}

#[test]
fn a_history_goes_to_its_own_object_format() {
    let theirs = Git::init(&["--bare", "--initial-branch=main", "--object-format=sha256"]);
    Story::new(&theirs).commit("main", "a", &[("f", "a")]).told();
    let gemel = Gemel::of(&theirs);
    comes_back(&theirs, &gemel);
    gemel.make(&Made { parents: &[gemel.target("refs/head").unwrap()], ..Made::default() });
    let out = Out::new();
    let report = plain(&gemel, &out.at("git"));
    assert_eq!((report.made, report.replayed), (1, 1));
    let other = out.at("sha1");
    std::fs::create_dir(&other).unwrap();
    git(&other, &["init", "-q", "--bare", "--template="]);
    refused(&gemel, &other, ExportRequest::default(), "names its objects by");
}

#[test]
fn growing_on_both_sides_writes_only_what_is_new() {
    let theirs = Git::new();
    let mut story = Story::new(&theirs);
    for n in 0..40 {
        story.commit("main", &format!("m{n}"), &[(&format!("d{}/f{n}", n % 5), &format!("{n}\n"))]);
    }
    story.told();
    let gemel = Gemel::of(&theirs);
    let out = Out::new();
    let dir = out.at("git");
    plain(&gemel, &dir);
    story.branch("side", "main").commit("side", "s", &[("d0/new", "x")]).told();
    story.merge("main", &["side"], "merge", &[("d1/other", "y")]).told();
    gemel.import(&theirs);
    let report = plain(&gemel, &dir);
    // Two commits, two files, two folders and two roots.
    assert_eq!((report.replayed, report.objects), (2, 8));
    assert_eq!(refs(&dir), refs(&theirs.dir));
    let head = gemel.target("refs/head").unwrap();
    gemel.make(&Made { files: &[("d0/f0", "0\n"), ("f", "z")], parents: &[head], ..Made::default() });
    let report = plain(&gemel, &dir);
    // A commit, a file, a folder and the root.
    assert!((report.made, report.replayed) == (1, 0) && report.objects <= 5, "{report:?}");
}

#[test]
fn a_branch_that_was_imported_elsewhere_is_not_head() {
    let theirs = Git::new();
    Story::new(&theirs).commit("main", "a", &[("f", "a")]).commit("main", "b", &[("f", "b")]).told();
    let (gemel, out) = (Gemel::new(), Out::new());
    gemel.make(&Made::default());
    gemel.import(&theirs);
    refused(&gemel, &out.at("git"), ExportRequest::default(), "does not lead back to");
    assert!(!out.at("git").exists());
    let report = send(&gemel, &out.at("git"), on("mine"));
    assert_eq!((report.made, report.replayed, report.refs.len()), (1, 2, 2));
    assert_eq!(git(&out.at("git"), &["rev-parse", "main"]).trim_end(), theirs.head());
    // Head on an older commit takes nothing from the branch.
    gemel.set("refs/head", gemel.change_of(&theirs.run(&["rev-parse", "main~1"])));
    plain(&gemel, &out.at("whole"));
    assert_eq!(refs(&out.at("whole")), refs(&theirs.dir));
}

#[test]
fn a_missing_byte_is_an_error_that_names_it() {
    let (theirs, _) = with_everything();
    let tip = theirs.head();
    let tree = theirs.run(&["rev-parse", "main^{tree}"]);
    let below = theirs.run(&["rev-parse", "main:below"]);
    let tag = theirs.run(&["rev-parse", "v1"]);
    for (kind, oid) in [("commit", &tip), ("tree", &tree), ("tree", &below), ("tag", &tag)] {
        let (gemel, out) = (Gemel::of(&theirs), Out::new());
        gemel.unset(&format!("refs/mappings/import/git_raw/{kind}/{oid}"));
        refused(&gemel, &out.at("git"), ExportRequest::default(), oid);
        assert!(!out.at("git").exists(), "{kind} {oid}");
    }
    // The bytes of another commit under the name of this one.
    let (gemel, out) = (Gemel::of(&theirs), Out::new());
    let first = theirs.run(&["rev-parse", "main~1"]);
    let other = gemel.target(&format!("refs/mappings/import/git_raw/commit/{first}")).unwrap();
    gemel.set(&format!("refs/mappings/import/git_raw/commit/{tip}"), other);
    refused(&gemel, &out.at("git"), ExportRequest::default(), &tip);
}
