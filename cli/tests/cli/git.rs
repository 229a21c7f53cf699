//! Git repositories as a person meets them: clone, import beside a checkout, names of commits, push and pull.

use crate::harness::Sandbox;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs Git with a pinned person and clock, and nothing of the tester's own configuration.
#[allow(clippy::disallowed_methods, reason = "makes what is imported")]
fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ada Lovelace").env(format!("GIT_{who}_EMAIL"), "ada@x.test");
        command.env(format!("GIT_{who}_DATE"), "1000000000 +0000");
    }
    let output = command.output().expect("git");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

fn write(dir: &Path, path: &str, content: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
    std::fs::write(path, content).expect("the file");
}

/// A repository `source` with two commits on `main`, one on `side` and a tag; it tracks a root `.gitignore`, a file that
/// Git's attributes change on the way out, and a path below `.gemel`.
fn source(sandbox: &Sandbox) -> std::path::PathBuf {
    let dir = sandbox.scratch().join("source");
    std::fs::create_dir(&dir).expect("a folder");
    git(&dir, &["init", "-q", "-b", "main"]);
    write(&dir, ".gitignore", "*.o\n");
    write(&dir, ".gitattributes", "*.bat text eol=crlf\n");
    write(&dir, "run.bat", "one\ntwo\n");
    write(&dir, ".gemel/notes", "kept\n");
    write(&dir, "src/a.txt", "one\n");
    git(&dir, &["add", "-f", "."]);
    git(&dir, &["commit", "-q", "-m", "Begin"]);
    git(&dir, &["checkout", "-q", "-b", "side"]);
    write(&dir, "side.txt", "side\n");
    git(&dir, &["add", "side.txt"]);
    git(&dir, &["commit", "-q", "-m", "Aside"]);
    git(&dir, &["checkout", "-q", "main"]);
    write(&dir, "src/a.txt", "two\n");
    git(&dir, &["commit", "-q", "-a", "-m", "One to two\n\nBody."]);
    git(&dir, &["tag", "-a", "-m", "First", "v1"]);
    dir
}

fn entries(dir: &Path) -> Vec<String> {
    let list = std::fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = list.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_clone_is_whole_and_clean() {
    let sandbox = Sandbox::empty();
    source(&sandbox);
    let made = sandbox.result(&["clone", "../source"]);
    assert_eq!((&made["commits"], &made["changes"], &made["refs_left"]), (&3.into(), &3.into(), &0.into()));
    let root = sandbox.root().join("source");
    assert_eq!(made["repository"], root.to_string_lossy().as_ref());
    let in_clone = |args: &[&str]| sandbox.ok(&[&["--repo", "source"], args].concat()).out;
    assert!(in_clone(&["status"]).contains("working tree clean"));
    assert_eq!(in_clone(&["fsck"]).lines().filter(|line| line.contains("gap")).count(), 0);
    assert_eq!(git(&root, &["branch", "--format=%(refname:short)"]), "main\nside");
    // Bytes are those of the history, whatever attributes say.
    assert_eq!(std::fs::read_to_string(root.join("run.bat")).expect("the file"), "one\ntwo\n");
    // A tracked root .gitignore is content from then on, and what it ignores is not.
    write(&root, "x.o", "object\n");
    write(&root, ".gitignore", "*.o\n*.tmp\n");
    let status = in_clone(&["status"]);
    assert!(status.contains("1 file changed"), "{status}");
    // What captures never record is not taken for deleted.
    in_clone(&["change", "begin", "--intent-summary", "Ignore more"]);
    in_clone(&["change", "finish", "--summary", "Ignore more"]);
    let operations = in_clone(&["log", "--operations", "--limit", "1"]);
    assert!(operations.contains("write_file") && !operations.contains("delete_file"), "{operations}");
}

#[test]
fn an_empty_folder_takes_a_clone_and_a_used_one_does_not() {
    let sandbox = Sandbox::empty();
    source(&sandbox);
    std::fs::create_dir(sandbox.root().join("empty")).expect("a folder");
    sandbox.ok(&["clone", "../source", "--dir", "empty"]);
    assert!(sandbox.root().join("empty/src/a.txt").exists());
    let before = entries(&sandbox.root().join("empty"));
    let error = sandbox.refused(&["clone", "../source", "--dir", "empty"]);
    assert!(error["message"].as_str().expect("a message").contains("not an empty folder"));
    assert_eq!(entries(&sandbox.root().join("empty")), before);
}

#[test]
fn a_clone_that_fails_leaves_nothing() {
    let sandbox = Sandbox::empty();
    let source = source(&sandbox);
    sandbox.refused(&["clone", "../nowhere", "--dir", "a/b/c"]);
    sandbox.refused(&["clone", "ext::sh -c touch% ran"]);
    let said = sandbox.run(&["clone", "--dir", "option", "--", "--upload-pack=touch ran; git-upload-pack"]);
    assert_eq!((said.status, said.out.as_str()), (2, ""));
    // T-31
    write(&source, ".gemel/meta.json", "{}");
    git(&source, &["add", "-f", ".gemel/meta.json"]);
    git(&source, &["commit", "-q", "-m", "A store"]);
    let error = sandbox.refused(&["clone", "../source"]);
    assert_eq!(error["code"], "POLICY_DENIED");
    assert!(error["message"].as_str().expect("a message").contains(".gemel/meta.json"));
    assert_eq!(entries(&sandbox.root()), Vec::<String>::new());
}

#[test]
fn an_import_inside_a_checkout_is_clean_and_stays_so() {
    let sandbox = Sandbox::empty();
    let source = source(&sandbox);
    let here = |args: &[&str]| sandbox.ok(&[&["--repo", "../source"], args].concat()).out;
    sandbox.ok(&["init", "../source"]);
    here(&["import-git"]);
    assert!(here(&["status"]).contains("working tree clean"));
    write(&source, "src/a.txt", "three\n");
    git(&source, &["commit", "-q", "-a", "-m", "Two to three"]);
    here(&["import-git"]);
    assert!(here(&["status"]).contains("working tree clean"));
    // A checkout elsewhere never writes below .gemel.
    here(&["checkout", "@state", "--dir", "out"]);
    assert_eq!(entries(&sandbox.root().join("out")), [".gitattributes", ".gitignore", "run.bat", "src"]);
}

#[test]
fn commits_name_changes_and_changes_tell_their_commits() {
    let sandbox = Sandbox::new();
    let source = source(&sandbox);
    sandbox.ok(&["import-git", "--git-dir", "../source"]);
    let oid = git(&source, &["rev-parse", "main"]);
    let change = sandbox.result(&["show", "@"])["id"].clone();
    for name in
        [format!("git:{oid}"), format!("git:{}", &oid[..7]), format!("git:{}", oid[..9].to_uppercase())]
    {
        assert_eq!(sandbox.result(&["show", &name])["id"], change, "{name}");
    }
    let shown = sandbox.ok(&["show", "@"]).out;
    assert!(shown.contains(&format!("git: {oid}")), "{shown}");
    assert!(shown.contains("author: Ada Lovelace <ada@x.test>"), "{shown}");
    let log = sandbox.ok(&["log"]).out;
    let first = log.lines().next().expect("a line");
    assert!(first.starts_with("C") && first.ends_with("2001-09-09  Ada Lovelace  One to two"), "{log}");
    // Where a state is wanted a mapping stands for what it maps to.
    let base = git(&source, &["rev-parse", "main~1"]);
    let mapping = format!("refs/mappings/import/git_commit/{base}");
    let diff = sandbox.ok(&["diff", &mapping, &format!("git:{}", &oid[..10])]).out;
    assert!(diff.contains("-one") && diff.contains("+two"), "{diff}");
    assert!(sandbox.result(&["show", &mapping])["id"].as_str().expect("an identity").starts_with("mapping."));
    sandbox.ok(&["checkout", &format!("git:{base}"), "--dir", "../old"]);
    assert_eq!(std::fs::read_to_string(sandbox.scratch().join("old/src/a.txt")).expect("the file"), "one\n");
    for unknown in ["git:", "git:123", "git:zzzzzzz", "git:ffffffffffff"] {
        assert_eq!(sandbox.refused(&["show", unknown])["code"], "NOT_FOUND", "{unknown}");
    }
}

#[test]
fn changes_go_to_git_and_come_back_as_what_they_were() {
    let sandbox = Sandbox::with_changes();
    let bare = sandbox.scratch().join("bare");
    std::fs::create_dir(&bare).expect("a folder");
    git(&bare, &["init", "-q", "--bare", "-b", "main"]);
    sandbox.ok(&["push", "../bare"]);
    assert_eq!(git(&bare, &["rev-list", "--count", "main"]), "2");
    let oid = git(&bare, &["rev-parse", "main"]);
    let back = sandbox.result(&["fetch", "../bare"]);
    assert_eq!((&back["changes"], &back["relinked"]), (&0.into(), &2.into()));
    let head = sandbox.result(&["show", "@"])["id"].clone();
    assert_eq!(sandbox.result(&["show", &format!("git:{oid}")])["id"], head);
    assert!(sandbox.ok(&["show", "@"]).out.contains(&oid));
    // Another one takes them with their files.
    let other = Sandbox::new();
    other.ok(&["pull", &bare.to_string_lossy()]);
    assert_eq!(other.read("a.txt"), "three\n");
    assert!(other.ok(&["status"]).out.contains("working tree clean"));
    for far in ["https://x.test/y", "../repo", "../nowhere"] {
        sandbox.refused(&["push", far]);
        sandbox.refused(&["pull", far]);
    }
}

/// Files follow head only where nothing of anybody is lost; a workspace that stays undoes nothing later.
#[test]
fn a_pull_moves_files_only_where_no_work_is_in_the_way() {
    let sandbox = Sandbox::new();
    let source = source(&sandbox);
    let grow = |text: &str| {
        write(&source, "src/a.txt", text);
        git(&source, &["commit", "-q", "-a", "-m", text]);
    };
    let pull = |verb: &str| sandbox.result(&[verb, "../source"])["worktree"].clone();
    let clean = || sandbox.ok(&["status"]).out.contains("working tree clean");
    assert_eq!(pull("pull")["outcome"], "written");
    assert!(clean() && sandbox.read("src/a.txt") == "two\n");
    assert_eq!(pull("pull")["outcome"], "unmoved");
    // Head moves, the files stay, and the workspace says so.
    grow("three\n");
    assert_eq!(pull("fetch")["outcome"], "stays");
    assert!(clean() && sandbox.read("src/a.txt") == "two\n");
    assert_eq!(sandbox.result(&["status"])["workspace"]["behind"], true);
    sandbox.ok(&["checkout", "@state"]);
    // Work of somebody's own.
    sandbox.write("src/a.txt", "mine\n");
    grow("four\n");
    let stays = pull("pull");
    assert_eq!(
        (&stays["outcome"], &stays["reason"]),
        (&"stays".into(), &"they hold work that is not recorded".into())
    );
    assert_eq!(sandbox.read("src/a.txt"), "mine\n");
    sandbox.write("src/a.txt", "three\n");
    // A file in the way that no state records.
    sandbox.ok(&["checkout", "@state"]);
    write(&source, "new.txt", "theirs\n");
    git(&source, &["add", "new.txt"]);
    grow("five\n");
    sandbox.write("new.txt", "mine\n");
    assert_eq!(pull("pull")["outcome"], "stays");
    assert_eq!((sandbox.read("new.txt").as_str(), sandbox.read("src/a.txt").as_str()), ("mine\n", "four\n"));
}

/// A session answers in order, one line each, and survives what is no request.
#[test]
fn a_session_tells_refs_and_what_they_reach() {
    let sandbox = Sandbox::with_changes();
    let ask = |lines: &str| -> Vec<serde_json::Value> {
        let mut command = sandbox.command(&["serve"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let listed = ask("{\"id\":7,\"op\":\"list_refs\"}\n\n");
    let refs = listed[0]["refs"].as_array().expect("refs").clone();
    let names: Vec<&str> = refs.iter().filter_map(|row| row[0].as_str()).collect();
    assert!(
        names.is_sorted() && names.contains(&"refs/head") && names.contains(&"refs/names/C1"),
        "{names:?}"
    );
    assert!(!names.contains(&"refs/names/P1"), "{names:?}");
    let head = refs.iter().find(|row| row[0] == "refs/head").expect("head")[1].clone();
    let absent = format!("change.{}", "0".repeat(64));
    let answers = ask(&format!(
        "{{\"id\":1,\"op\":\"reachable\",\"params\":{{\"seeds\":[{head}]}}}}\n\
         {{\"id\":2,\"op\":\"missing\",\"params\":{{\"ids\":[{head},\"{absent}\"]}}}}\n\
         {{\"id\":3,\"op\":\"reachable\",\"params\":{{\"seeds\":[\"{absent}\"]}}}}\n\
         {{\"id\":4,\"op\":\"list_refs\",\"params\":null}}\nnonsense\n{{\"id\":5,\"op\":\"dance\"}}\n\
         {{\"id\":6,\"op\":\"missing\",\"params\":{{\"ids\":[\"change.12\"]}}}}\n"
    ));
    assert_eq!(answers.len(), 7);
    assert!(answers[0]["ids"].as_array().is_some_and(|ids| ids.contains(&head)), "{answers:?}");
    assert_eq!(answers[1]["ids"], serde_json::json!([absent]));
    let codes: Vec<&str> =
        answers[2..].iter().filter_map(|answer| answer["error"]["code"].as_str()).collect();
    assert_eq!(codes, ["query_failed", "invalid_request", "invalid_request", "query_failed", "query_failed"]);
    assert_eq!(answers.iter().filter_map(|a| a["id"].as_u64()).collect::<Vec<_>>(), [1, 2, 3, 4, 0, 5, 6]);
}

/// Numbers that only look random.
struct Dice(u32);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) as usize % below.max(1)
    }

    /// Adds, takes away or replaces a few lines of one of the tracked files.
    fn edit(&mut self, dir: &Path, count: &mut u32) {
        let files: Vec<String> = git(dir, &["ls-files"]).lines().map(str::to_owned).collect();
        let path = &files[self.roll(files.len())];
        let text = std::fs::read_to_string(dir.join(path)).expect("a file");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..=self.roll(3) {
            *count += 1;
            // Some lines occur again and again.
            let new = if self.roll(5) == 0 { "}".to_owned() } else { format!("line {count}") };
            let at = self.roll(lines.len() + 1);
            match self.roll(4) {
                0 if at < lines.len() && lines.len() > 4 => drop(lines.remove(at)),
                1 if at < lines.len() => lines[at] = new,
                _ => lines.insert(at, new),
            }
        }
        write(dir, path, &(lines.join("\n") + "\n"));
        git(dir, &["commit", "-q", "-a", "--allow-empty", "-m", &format!("edit {count}")]);
    }
}

/// A history of edits, moves and merges: the change that `why` names for a line is the commit that blame names.
#[test]
fn line_origins_as_git_blame_tells_them() {
    let sandbox = Sandbox::empty();
    let dir = sandbox.root();
    git(&dir, &["init", "-q", "-b", "main"]);
    for name in ["a.txt", "d/b.txt"] {
        let text: String = (0..12).map(|n| format!("{name} {n}\n")).collect();
        write(&dir, name, &text);
    }
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-q", "-m", "Begin"]);
    let (mut dice, mut count) = (Dice(5), 0);
    for round in 0..24 {
        match dice.roll(8) {
            0 => {
                let files = git(&dir, &["ls-files"]);
                let path = files.lines().nth(dice.roll(2)).expect("a file").to_owned();
                git(&dir, &["mv", &path, &format!("moved-{round}.txt")]);
                git(&dir, &["commit", "-q", "-m", &format!("move {round}")]);
            }
            1 | 2 => {
                git(&dir, &["checkout", "-q", "-b", &format!("side-{round}"), "HEAD~1"]);
                dice.edit(&dir, &mut count);
                git(&dir, &["checkout", "-q", "main"]);
                let side = format!("side-{round}");
                let message = format!("merge {round}");
                git(&dir, &["merge", "-q", "--no-ff", "-X", "ours", "-m", &message, &side]);
            }
            _ => dice.edit(&dir, &mut count),
        }
        if round == 0 {
            dice.edit(&dir, &mut count);
        }
    }
    sandbox.ok(&["init"]);
    sandbox.ok(&["import-git"]);
    let mut compared = 0;
    for path in git(&dir, &["ls-files"]).lines() {
        let blame = git(&dir, &["blame", "--porcelain", "HEAD", "--", path]);
        let commits = blame.lines().filter_map(|line| line.split_once(' ').map(|(word, _)| word));
        for (at, commit) in commits.filter(|word| word.len() == 40).enumerate().step_by(2) {
            let expected = sandbox.result(&["show", &format!("git:{commit}")])["id"].clone();
            let answer = sandbox.result(&["why", &format!("{path}:{}", at + 1)]);
            assert_eq!(answer["introduced_by"]["change"]["id"], expected, "{path}:{}", at + 1);
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared}");
}
