//! Export of changes that came from no commit: what their commits say, and what they take over from imported ones.

use crate::back::comes_back;
use crate::fixture::{ELSEWHERE, FILE, FOLDER, GITLINK, Git, git_in};
use crate::gemel::{Gemel, Refs};
use crate::natives::Made;
use gemel_git::GitError;
use gemel_git::export::{ExportReport, ExportRequest, Format, RefChange, export};
use gemel_object::families::Mapping;
use gemel_object::{Disclosure, Family, Gid};
use gemel_repo::facts::Silent;
use std::path::{Path, PathBuf};

/// A folder to export into, with nothing in it.
pub(crate) struct Out {
    temp: tempfile::TempDir,
}

impl Out {
    pub(crate) fn new() -> Out {
        Out { temp: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }
}

pub(crate) fn ask(gemel: &Gemel, dir: &Path, request: ExportRequest) -> Result<ExportReport, GitError> {
    let request = ExportRequest { git_dir: dir.to_owned(), now_ms: 9_000, ..request };
    export(&gemel.repo, &request, &Silent)
}

/// Exports, and looks whether Git finds everything right.
pub(crate) fn send(gemel: &Gemel, dir: &Path, request: ExportRequest) -> ExportReport {
    let report = ask(gemel, dir, request).unwrap_or_else(|error| panic!("export: {error}"));
    git(dir, &["fsck", "--full", "--strict", "--no-dangling", "--no-progress"]);
    git(dir, &["rev-list", "--objects", "--all", "--quiet"]);
    report
}

pub(crate) fn plain(gemel: &Gemel, dir: &Path) -> ExportReport {
    send(gemel, dir, ExportRequest::default())
}

pub(crate) fn in_one() -> ExportRequest {
    ExportRequest { format: Format::One, ..ExportRequest::default() }
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let out = git_in(dir, args, b"").unwrap_or_else(|error| panic!("git {args:?}: {error}"));
    String::from_utf8(out).unwrap()
}

fn body(dir: &Path, rev: &str) -> String {
    git(dir, &["cat-file", "commit", rev])
}

pub(crate) fn refs(dir: &Path) -> String {
    git(dir, &["for-each-ref", "--format=%(objectname) %(refname)"])
}

/// Every file below, to see whether something was left or taken.
pub(crate) fn files(dir: &Path) -> Vec<(PathBuf, u64)> {
    let (mut found, mut stack) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = stack.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for entry in entries.map(Result::unwrap) {
            let meta = entry.metadata().unwrap();
            match meta.is_dir() {
                true => stack.push(entry.path()),
                false => found.push((entry.path(), meta.len())),
            }
        }
    }
    found.sort();
    found
}

/// It is refused, says why, and leaves everything as it was.
pub(crate) fn refused(gemel: &Gemel, dir: &Path, request: ExportRequest, says: &str) {
    let before = (files(dir), gemel.refs());
    match ask(gemel, dir, request) {
        Err(error) => assert!(error.to_string().contains(says), "{error}"),
        Ok(report) => panic!("not refused: {report:?}"),
    }
    assert_eq!((files(dir), gemel.refs()), before);
}

#[test]
fn a_change_becomes_a_commit() {
    let (gemel, out) = (Gemel::new(), Out::new());
    let ada = gemel.person("Zoë  Ångström", Some("zoe@x.test"), Disclosure::Full);
    let first = gemel.make(&Made { summary: "one\n\nand why", producer: Some(ada), ..Made::default() });
    let files_of_two =
        [("f", "two\n"), ("*d/run", "#!\n"), ("@d/ln", "../f"), ("a-b", "x"), ("a/x", "x"), ("ab", "x")];
    let (intent, claim) = (Gid::new(Family::Intent, [7; 32]), Gid::new(Family::Claim, [9; 32]));
    let second = gemel.make(&Made {
        summary: "two",
        files: &files_of_two,
        parents: &[first],
        intent: Some(intent),
        claims: &[claim],
        ..Made::default()
    });
    let line = gemel.line("T1", &[&[first], &[second]]);
    let dir = out.at("new.git");
    let report = plain(&gemel, &dir);
    assert_eq!((report.made, report.replayed, report.created, report.mappings), (2, 0, true, 4));
    assert_eq!(report.branch.as_deref(), Some("main"));
    let (root, two) = (git(&dir, &["rev-parse", "main~1"]), "GEMEL-EXPORT-VERSION: 2\n");
    assert_eq!(
        body(&dir, "main~1"),
        format!(
            "tree {}author Zoë  Ångström <zoe@x.test> 5 +0000\ncommitter gemel <gemel@local> 5 +0000\n\n\
             one\n\nand why\n\nGEMEL-CHANGE: {first}\nGEMEL-TRAJECTORY: {}\n{two}",
            git(&dir, &["rev-parse", "main~1^{tree}"]),
            line[0]
        )
    );
    assert_eq!(
        body(&dir, "main"),
        format!(
            "tree {}parent {root}author Gemel Producer <gemel@local> 5 +0000\n\
             committer gemel <gemel@local> 5 +0000\n\n\
             two\n\nGEMEL-CHANGE: {second}\nGEMEL-INTENT: {intent}\nGEMEL-TRAJECTORY: {}\n{two}",
            git(&dir, &["rev-parse", "main^{tree}"]),
            line[1]
        )
    );
    let tree = git(&dir, &["ls-tree", "-r", "--format=%(objectmode) %(path)", "main"]);
    assert_eq!(tree, "100644 a-b\n100644 a/x\n100644 ab\n120000 d/ln\n100755 d/run\n100644 f\n");
    assert_eq!(git(&dir, &["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    // The same again changes nothing; elsewhere it gives the same names.
    let before = files(&dir);
    let again = ask(&gemel, &dir, ExportRequest::default()).unwrap();
    assert_eq!((again.objects, again.made, again.refs[0].change), (0, 0, RefChange::Unchanged));
    assert_eq!(files(&dir), before);
    assert_eq!(plain(&gemel, &out.at("other.git")).head, report.head);
    // What was exported keeps its name, whatever is asked for now.
    let claims = ExportRequest { include_claims: true, ..ExportRequest::default() };
    assert_eq!(send(&gemel, &out.at("third.git"), claims.clone()).head, report.head);
    for (name, _) in gemel.refs().into_iter().filter(|(name, _)| name.starts_with("refs/mappings/")) {
        gemel.unset(&name);
    }
    send(&gemel, &out.at("fourth.git"), claims);
    assert!(body(&out.at("fourth.git"), "main").contains(&format!("\nGEMEL-CLAIM: {claim}\n{two}")));
}

/// Name, address, disclosure of the person; the author in format 2, and in format 1 unless that refuses.
type Author = (&'static str, Option<&'static str>, Disclosure, &'static str, Option<&'static str>);

/// Threat T-36.
#[test]
fn authors() {
    let cases: &[Author] = &[
        ("Ada Lovelace", Some("a@x"), Disclosure::Full, "Ada Lovelace <a@x>", Some("AdaLovelace <a@x>")),
        ("Ada", None, Disclosure::DigestOnly, "Ada <gemel@local>", Some("Ada <gemel@local>")),
        (
            "Ada",
            Some("a@x"),
            Disclosure::Redacted,
            "Gemel Producer <gemel@local>",
            Some("Gemel Producer <gemel@local>"),
        ),
        (" .A<d>a,\n", Some("<a@x>"), Disclosure::Full, "Ada <a@x>", None),
        ("Ada", Some("a@x\nparent 1"), Disclosure::Full, "Ada <a@xparent 1>", None),
        ("\u{e9}", Some("a@x"), Disclosure::Full, "\u{e9} <a@x>", Some("unknown <a@x>")),
        ("...", Some(" "), Disclosure::Full, "unknown <gemel@local>", Some("... < >")),
    ];
    for (name, email, disclosure, two, one) in cases {
        let (gemel, out) = (Gemel::new(), Out::new());
        let producer = Some(gemel.person(name, *email, *disclosure));
        gemel.make(&Made { producer, time_ms: Some(1_999), ..Made::default() });
        plain(&gemel, &out.at("two"));
        let text = body(&out.at("two"), "main");
        assert!(text.contains(&format!("\nauthor {two} 1 +0000\n")), "{name:?}: {text}");
        match one {
            None => refused(&gemel, &out.at("one"), in_one(), "format 1"),
            Some(one) => {
                ask(&gemel, &out.at("one"), in_one()).unwrap();
                let text = body(&out.at("one"), "main");
                assert!(text.contains(&format!("\nauthor {one} 1 +0000\n")), "{name:?}: {text}");
                assert!(text.ends_with("\nGEMEL-EXPORT-VERSION: 1"), "{text}");
            }
        }
    }
}

#[test]
fn times_are_whole_seconds_downward() {
    let cases = [(None, "0"), (Some(-1), "-1"), (Some(-1000), "-1"), (Some(i64::MAX), "9223372036854775")];
    for (time_ms, seconds) in cases {
        let (gemel, out) = (Gemel::new(), Out::new());
        gemel.make(&Made { time_ms, ..Made::default() });
        ask(&gemel, &out.at("two"), ExportRequest::default()).unwrap();
        let text = body(&out.at("two"), "main");
        assert!(text.contains(&format!("gemel@local> {seconds} +0000\n")), "{time_ms:?}: {text}");
    }
}

#[test]
fn a_change_may_withhold_who_and_why() {
    for policy in [Disclosure::Redacted, Disclosure::Ephemeral, Disclosure::Full] {
        let (gemel, out) = (Gemel::new(), Out::new());
        let producer = Some(gemel.person("Ada", Some("a@x"), Disclosure::Full));
        let intent = Some(Gid::new(Family::Intent, [7; 32]));
        gemel.make(&Made { producer, intent, disclosure: Some(policy), ..Made::default() });
        let report = plain(&gemel, &out.at("two"));
        let text = body(&out.at("two"), "main");
        let withheld = policy != Disclosure::Full;
        let line = format!("\nGEMEL-EXPORT-POLICY: {}\nGEMEL-EXPORT-VERSION: 2\n", policy.as_str());
        assert_eq!(text.contains(&line), withheld, "{text}");
        assert_eq!(text.contains("author Gemel Producer "), withheld, "{text}");
        assert_eq!(text.contains("GEMEL-INTENT"), !withheld, "{text}");
        let name = format!("refs/mappings/export/git_commit/{}", report.head.unwrap());
        let told = gemel.with(&gemel.target(&name).unwrap(), |object| {
            let loss = Mapping::view(object).unwrap().loss().unwrap();
            loss.known_loss().iter().any(|line| line == "identities withheld by disclosure")
        });
        assert_eq!(told, withheld);
    }
}

#[test]
fn parents_keep_their_order_and_come_once() {
    let (gemel, out) = (Gemel::new(), Out::new());
    let root = |n| gemel.make(&Made { summary: &format!("root {n}"), ..Made::default() });
    let mut parents: Vec<Gid> = (0..6).map(root).collect();
    parents.push(parents[2]);
    gemel.make(&Made { summary: "all", parents: &parents, ..Made::default() });
    plain(&gemel, &out.at("two"));
    let oids = git(&out.at("two"), &["rev-list", "--parents", "-1", "main"]);
    let subject = |oid: &str| git(&out.at("two"), &["log", "-1", "--format=%s", oid]);
    let subjects: String = oids.split_whitespace().skip(1).map(subject).collect();
    assert_eq!(subjects, "root 0\nroot 1\nroot 2\nroot 3\nroot 4\nroot 5\n");
    ask(&gemel, &out.at("one"), in_one()).unwrap();
    let text = body(&out.at("one"), "main");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("parent ")).collect();
    assert!(lines.len() == 7 && lines.is_sorted(), "{lines:?}");
}

#[test]
fn format_one_refuses_a_tree_that_git_rejects() {
    for (files, wrong) in [
        (&[("a/f", "x"), ("ab", "x")][..], true),
        (&[("a/f", "x"), ("a-b", "x")], false),
        (&[("a/f", "x"), ("ab/f", "x")], false),
        (&[("d/a/f", "x"), ("d/a0", "x")], true),
        (&[("a", "x"), ("ab", "x")], false),
    ] {
        let (gemel, out) = (Gemel::new(), Out::new());
        gemel.make(&Made { files, ..Made::default() });
        plain(&gemel, &out.at("two"));
        match wrong {
            true => refused(&gemel, &out.at("one"), in_one(), "format 1 sorts"),
            false => drop(send(&gemel, &out.at("one"), in_one())),
        }
    }
}

/// An imported history whose tip has everything that no state holds.
pub(crate) fn with_everything() -> (Git, Gemel) {
    let git = Git::new();
    let text = |text: &str| git.blob(text.as_bytes());
    let empty = git.tree(&[]);
    let below =
        git.tree(&[(FOLDER, b"empty", &empty), (FILE, b"f", &text("f")), (GITLINK, b"mod", ELSEWHERE)]);
    let links = git.tree(&[(GITLINK, b"only", ELSEWHERE)]);
    let meta = git.tree(&[(FILE, b"notes", &text("notes"))]);
    let tree = git.tree(&[
        (FOLDER, b".gemel", &meta),
        (FILE, b".gitignore", &text("*.o\n")),
        (FOLDER, b"below", &below),
        (FILE, b"f", &text("f")),
        (FOLDER, b"links", &links),
        (GITLINK, b"mod", ELSEWHERE),
    ]);
    let first = git.commit(&git.small_tree(), &[], "first");
    git.set("refs/heads/main", &git.commit(&tree, &[&first], "everything"));
    git.set("refs/tags/v1", &git.tag(&first, "commit", "v1"));
    let gemel = Gemel::of(&git);
    comes_back(&git, &gemel);
    (git, gemel)
}

/// Folders and gitlinks of a commit.
fn listed(dir: &Path, rev: &str) -> Vec<String> {
    let text = git(dir, &["ls-tree", "-r", "-t", "--format=%(objectmode) %(path)", rev]);
    text.lines().filter(|line| !line.starts_with("100")).map(str::to_owned).collect()
}

#[test]
fn what_no_state_holds_is_carried_on() {
    let (theirs, gemel) = with_everything();
    let imported = gemel.target("refs/head").unwrap();
    let out = Out::new();
    let files = [("below/f", "f"), ("f", "new")];
    let first = gemel.make(&Made { files: &files, parents: &[imported], ..Made::default() });
    let second = gemel.make(&Made { summary: "again", files: &files, parents: &[first], ..Made::default() });
    let dir = out.at("all.git");
    let report = plain(&gemel, &dir);
    assert_eq!((report.made, report.replayed), (2, 2));
    assert_eq!(git(&dir, &["rev-parse", "main~2"]), git(&theirs.dir, &["rev-parse", "main"]));
    assert_eq!(git(&dir, &["rev-parse", "v1"]), git(&theirs.dir, &["rev-parse", "v1"]));
    let carried = [
        "040000 .gemel",
        "040000 below",
        "040000 below/empty",
        "160000 below/mod",
        "040000 links",
        "160000 links/only",
        "160000 mod",
    ];
    for rev in ["main~1", "main"] {
        assert_eq!(listed(&dir, rev), carried, "{rev}");
        assert_eq!(git(&dir, &["show", &format!("{rev}:.gitignore")]), "*.o\n");
        assert_eq!(git(&dir, &["show", &format!("{rev}:f")]), "new");
    }
    // A path that the state has is the state's; what was deleted is gone, for those after it, too.
    let files = [("below/mod/f", "f"), ("links", "a file now"), ("mod", "x")];
    let third = gemel.make(&Made {
        summary: "third",
        files: &files,
        parents: &[second],
        deleted: &[".gitignore"],
        ..Made::default()
    });
    gemel.make(&Made { summary: "fourth", files: &files, parents: &[third], ..Made::default() });
    let report = plain(&gemel, &dir);
    assert_eq!((report.made, report.replayed, report.refs[0].change), (2, 0, RefChange::Forward));
    for rev in ["main~1", "main"] {
        let left = ["040000 .gemel", "040000 below", "040000 below/empty", "040000 below/mod"];
        assert_eq!(listed(&dir, rev), left, "{rev}");
        assert!(git_in(&dir, &["cat-file", "-e", &format!("{rev}:.gitignore")], b"").is_err());
    }
    // Step by step or at once: the same.
    plain(&gemel, &out.at("at-once.git"));
    assert_eq!(refs(&dir), refs(&out.at("at-once.git")));
}

#[test]
fn what_was_exported_is_recognised_when_it_comes_back() {
    let (gemel, out) = (Gemel::new(), Out::new());
    let mut parents = Vec::new();
    for n in 0..12 {
        let (summary, text) = (format!("change {n}"), format!("{n}\n"));
        let files = [("d/f", &*text)];
        let made = Made { summary: &summary, files: &files, parents: &parents, ..Made::default() };
        parents = vec![gemel.make(&made)];
    }
    let side = gemel.make(&Made { summary: "side", parents: &parents, ..Made::default() });
    gemel.make(&Made { summary: "both", parents: &[parents[0], side], ..Made::default() });
    let names = |refs: Refs| -> Refs {
        refs.into_iter().filter(|(name, _)| !name.starts_with("refs/mappings/")).collect()
    };
    let before = names(gemel.refs());
    for (name, request) in [("two", ExportRequest::default()), ("one", in_one())] {
        send(&gemel, &out.at(name), request);
        let report = gemel.try_import(&out.at(name), Default::default()).unwrap();
        assert_eq!((report.relinked, report.changes), (14, 0), "{name}");
        assert_eq!(names(gemel.refs()), before, "{name}");
    }
    // Now they are imported commits, and come back as such.
    plain(&gemel, &out.at("three"));
    assert_eq!(refs(&out.at("three")), refs(&out.at("one")));
}

#[test]
fn what_was_published_in_format_one_is_kept() {
    let (gemel, out) = (Gemel::new(), Out::new());
    let first = gemel.make(&Made::default());
    let line = gemel.line("T1", &[&[first]]);
    gemel.set("refs/trajectories/current", line[0]);
    let dir = out.at("git");
    let published = send(&gemel, &dir, in_one()).head;
    gemel.make(&Made { summary: "second", parents: &[first], ..Made::default() });
    let report = plain(&gemel, &dir);
    assert_eq!((report.made, report.refs[0].change), (1, RefChange::Forward));
    assert_eq!(Some(git(&dir, &["rev-parse", "main~1"]).trim_end().to_owned()), published);
    // Elsewhere, too: its bytes can be made again.
    plain(&gemel, &out.at("elsewhere"));
    assert_eq!(refs(&out.at("elsewhere")), refs(&dir));
}
