//! Against the published program itself, where there is one: `GEMEL_PEER`, or `target/peer/bin/gemel`.

use crate::fixture::{put_file, run, same, snapshot};
use gemel_object::Gid;
use gemel_store::legacy::Outcome;
use gemel_store::vfs::Vfs;
use gemel_store::vfs::real::RealDisk;
use gemel_store::vfs::sim::SimDisk;
use gemel_store::{RefValue, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

/// The published program and a folder it may work in.
pub(crate) struct Peer {
    binary: PathBuf,
    pub(crate) temp: tempfile::TempDir,
}

impl Peer {
    /// `None`, and a line saying so, where there is no such program.
    pub(crate) fn find() -> Option<Peer> {
        let named = std::env::var_os("GEMEL_PEER").map(PathBuf::from);
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peer/bin/gemel");
        let Some(binary) = named.or_else(|| beside.is_file().then_some(beside)) else {
            println!("skipped: no gemel 0.12 binary (set GEMEL_PEER)");
            return None;
        };
        let binary = binary.canonicalize().unwrap();
        Some(Peer { binary, temp: tempfile::tempdir().unwrap() })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    #[expect(clippy::disallowed_methods, reason = "a test harness runs the program it compares with")]
    fn start(&self, program: &Path, cwd: &Path, args: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new(program)
            .args(args)
            .current_dir(cwd)
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("RUST_BACKTRACE", "0")])
            .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@x.test")])
            .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@x.test")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that ends without reading its input is fine.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    pub(crate) fn gemel(&self, cwd: &Path, args: &[&str], input: &[u8]) -> Output {
        self.start(&self.binary, cwd, args, input)
    }

    /// Runs a command that must succeed.
    pub(crate) fn ok(&self, cwd: &Path, args: &[&str]) -> String {
        let out = self.gemel(cwd, args, b"");
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    fn git(&self, cwd: &Path, args: &[&str]) {
        let out = self.start(Path::new("git"), cwd, args, b"");
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }

    /// All refs, as its session lists them.
    pub(crate) fn refs(&self, repo: &Path) -> BTreeMap<String, Gid> {
        let out = self.gemel(repo, &["serve"], b"{\"id\":1,\"op\":\"list_refs\"}\n");
        let answer: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let pairs = answer["refs"].as_array().unwrap_or_else(|| panic!("{answer}"));
        pairs
            .iter()
            .map(|p| (p[0].as_str().unwrap().to_owned(), Gid::parse(p[1].as_str().unwrap()).unwrap()))
            .collect()
    }

    /// A rich life: Git import, labels, changes with claims, evidence and residuals, several pending workspaces,
    /// an index, a checkpoint, releases, a disposition, a closed trajectory, exchange, a remote.
    fn rich(&self) -> PathBuf {
        let repo = self.path("rich");
        std::fs::create_dir_all(repo.join("src")).unwrap();
        std::fs::write(repo.join("src/lib.rs"), "pub fn f() {}\n").unwrap();
        std::fs::write(repo.join("b.txt"), "x\n").unwrap();
        self.git(&repo, &["init", "-q", "."]);
        self.git(&repo, &["add", "."]);
        self.git(&repo, &["commit", "-qm", "first"]);
        self.ok(&repo, &["init", "--author-name", "Ada", "--author-email", "ada@x.test"]);
        self.ok(&repo, &["import-git"]);
        for label in ["a/b/c", "ünï côdé", "with space", "a..b", "x.lock"] {
            self.ok(&repo, &["snapshot", "--label", label]);
        }
        self.ok(&repo, &["change", "begin", "--intent-summary", "one"]);
        std::fs::write(repo.join("b.txt"), "x\ny\n").unwrap();
        let finish = ["change", "finish", "--summary", "s1", "--claim", "src/lib.rs|works|correctness"];
        let rest = ["--evidence", "src/lib.rs|pass|test_result", "--residual", "left|high|other"];
        self.ok(&repo, &[&finish[..], &rest[..]].concat());
        for (intent, workspace) in [("two", "w2"), ("three", "w 3"), ("four", "default")] {
            self.ok(&repo, &["change", "begin", "--intent-summary", intent, "--workspace", workspace]);
        }
        self.ok(&repo, &["index"]);
        self.ok(&repo, &["checkpoint"]);
        self.ok(&repo, &["release", "T1", "--name", "v1.0"]);
        let residuals = self.ok(&repo, &["residuals", "--json"]);
        let residual = &residuals[residuals.find("residual.").unwrap()..][..9 + 64];
        self.ok(&repo, &["residual", "resolve", residual, "--disposition", "acknowledged"]);
        self.ok(&repo, &["trajectory", "T2", "--close", "rejected", "--reason", "nope"]);
        self.ok(&repo, &["exchange", "export"]);
        std::fs::write(repo.join(".gemel/court.allowlist"), "true\n").unwrap();
        let remote = self.path("remote");
        self.ok(&repo, &["remote", "add", "up", remote.to_str().unwrap(), "--init"]);
        self.ok(&repo, &["push", "up"]);
        self.ok(&repo, &["fetch", "up"]);
        self.ok(&repo, &["change", "finish", "--workspace", "w2", "--summary", "s2"]);
        repo
    }
}

/// Identities of the loose objects of a 0.12 store.
fn loose(dir: &Path) -> BTreeSet<Gid> {
    let mut found = BTreeSet::new();
    for folder in std::fs::read_dir(dir.join("objects")).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let family = gemel_object::Family::from_code(std::fs::read(&path).unwrap()[5]).unwrap();
            let hex = path.file_stem().unwrap().to_str().unwrap();
            found.insert(Gid::parse(&format!("{}.{hex}", family.name())).unwrap());
        }
    }
    found
}

/// A rich store of the published program converts whole, and is then closed to it.
#[test]
fn a_store_of_the_published_program_converts() {
    let Some(peer) = Peer::find() else { return };
    let repo = peer.rich();
    let dir = repo.join(".gemel");
    let (refs, objects) = (peer.refs(&repo), loose(&dir));
    let files: BTreeMap<String, Gid> = snapshot(&RealDisk::new(), &dir.join("refs"))
        .into_iter()
        .filter_map(|(path, bytes)| {
            let name = path.strip_prefix(&dir).unwrap().to_str().unwrap().to_owned();
            Some((name, Gid::parse(String::from_utf8(bytes?).unwrap().trim()).unwrap()))
        })
        .collect();
    let states = |workspace: &str| {
        let text = std::fs::read_to_string(dir.join("worktrees").join(workspace).join("state.ref")).unwrap();
        Gid::parse(text.trim()).unwrap()
    };
    let (default, w2) = (states("default"), states("w2"));
    let pending = std::fs::read(dir.join("worktrees/w 3/pending.json")).unwrap();

    let vfs: Arc<dyn Vfs> = Arc::new(RealDisk::new());
    let facts = run(&vfs, &dir, false, false).unwrap();
    assert_eq!(facts.outcome, Outcome::Migrated);
    assert_eq!(facts.plan.findings.list(), &[]);
    assert!(facts.plan.kept > 0, "the disposition hangs on no ref");

    let store = Store::open(vfs, &dir).unwrap();
    for id in &objects {
        store.read(id).unwrap();
    }
    let stored: BTreeSet<Gid> = store.matching(None, "", usize::MAX).unwrap().into_iter().collect();
    assert_eq!(stored, objects);
    let view = store.refs().unwrap();
    let mut found = BTreeMap::new();
    for (name, value) in view.scan("refs/").unwrap() {
        match value.unwrap() {
            RefValue::Id(id) if !name.starts_with("refs/keep/") => drop(found.insert(name, id)),
            _ => assert!(name.starts_with("refs/keep/"), "{name}"),
        }
    }
    same(&found, &files);
    // Its session lists what it would send: neither mappings nor tracking refs.
    found.retain(|name, _| !name.starts_with("refs/mappings/") && !name.starts_with("refs/remotes/"));
    same(&found, &refs);
    assert_eq!(view.get("local/worktrees/default/state").unwrap(), Some(default));
    assert_eq!(view.get("local/worktrees/w2/state").unwrap(), Some(w2));
    assert_eq!(view.record("local/worktrees/w 3/pending").unwrap(), Some(pending));
    assert_eq!(view.record("local/counters/trajectory").unwrap(), Some(b"3".to_vec()));

    let before = snapshot(&RealDisk::new(), &repo);
    for args in [["status"].as_slice(), &["snapshot"], &["fsck", "--repair"], &["log"], &["push", "up"]] {
        let out = peer.gemel(&repo, args, b"");
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&out.stdout));
    }
    same(&snapshot(&RealDisk::new(), &repo), &before);
}

/// Every command of the published program, on a store of ours: refused, and nothing has changed.
#[test]
fn the_published_program_is_stopped_before_it_writes() {
    let Some(peer) = Peer::find() else { return };
    let theirs = peer.path("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::fs::write(theirs.join("a.txt"), "hi\n").unwrap();
    peer.ok(&theirs, &["init"]);
    peer.ok(&theirs, &["change", "begin", "--intent-summary", "i"]);
    let finish = ["change", "finish", "--claim", "a|b", "--evidence", "a|pass", "--residual", "r"];
    peer.git(&theirs, &["init", "-q", "."]);
    peer.git(&theirs, &["add", "."]);
    peer.git(&theirs, &["commit", "-qm", "c"]);
    peer.ok(&theirs, &finish);
    peer.ok(&theirs, &["exchange", "export"]);
    let refs = peer.refs(&theirs);
    let some = |family: &str| {
        let prefix = format!("{family}.");
        loose(&theirs.join(".gemel"))
            .into_iter()
            .map(|id| id.to_string())
            .find(|id| id.starts_with(&prefix))
            .unwrap()
    };
    let ids: BTreeMap<&str, String> = [
        ("STATE", refs["refs/state/head"].to_string()),
        ("CHANGE", refs["refs/head"].to_string()),
        ("TRAJECTORY", refs["refs/trajectories/T1"].to_string()),
        ("EVIDENCE", some("evidence")),
        ("RESIDUAL", some("residual")),
        ("CLAIM", some("claim")),
        ("PRODUCER", some("producer")),
        ("THEIRS", theirs.to_str().unwrap().to_owned()),
        ("GITDIR", theirs.join(".git").to_str().unwrap().to_owned()),
        ("ELSEWHERE", peer.path("elsewhere").to_str().unwrap().to_owned()),
    ]
    .into();
    for (number, line) in COMMANDS.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        let ours = peer.path(&format!("ours-{number}"));
        std::fs::create_dir(&ours).unwrap();
        std::fs::write(ours.join("a.txt"), "hi\nx\n").unwrap();
        peer.git(&ours, &["init", "-q", "."]);
        Store::init(Arc::new(RealDisk::new()), &ours.join(".gemel")).unwrap();
        copy_tree(&theirs.join(".gemel/exchange"), &ours.join(".gemel/exchange"));
        let (args, input) = line.split_once(" < ").unwrap_or((line, ""));
        let fill = |text: &str| ids.iter().fold(text.to_owned(), |text, (key, id)| text.replace(key, id));
        let args: Vec<String> = args.split(' ').map(fill).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let before = (snapshot(&RealDisk::new(), &ours), snapshot(&RealDisk::new(), &theirs));
        let out = peer.gemel(&ours, &args, (fill(input) + "\n").as_bytes());
        let answer =
            String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        if ["serve", "protocol"].contains(&args[0]) {
            assert!(answer.contains("\"error\"") && !answer.contains("\"ok\":true"), "{line}: {answer}");
        } else {
            assert_eq!(out.status.code(), Some(2), "{line}: {answer}");
        }
        println!("{line}");
        unchanged(&ours, &theirs, &before);
        assert!(!peer.path("elsewhere").exists(), "{line}");
    }
    // And from the other side.
    let ours = peer.path("ours");
    Store::init(Arc::new(RealDisk::new()), &ours.join(".gemel")).unwrap();
    let before = (snapshot(&RealDisk::new(), &ours), snapshot(&RealDisk::new(), &theirs));
    for args in [["pull"], ["push"], ["fetch"]] {
        let out = peer.gemel(&theirs, &[args[0], ours.to_str().unwrap()], b"");
        assert_eq!(out.status.code(), Some(2), "{args:?}");
    }
    unchanged(&ours, &theirs, &before);
}

type Trees = (Tree, Tree);
type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

fn unchanged(ours: &Path, theirs: &Path, before: &Trees) {
    same(&snapshot(&RealDisk::new(), ours), &before.0);
    same(&snapshot(&RealDisk::new(), theirs), &before.1);
}

/// Until the migration is decided, the published program works on with its store as if nothing had happened; from
/// then on it is refused.
#[test]
fn a_stopped_migration_is_nothing_to_the_published_program() {
    let Some(peer) = Peer::find() else { return };
    let repo = peer.rich();
    let dir = repo.join(".gemel");
    let disk = SimDisk::new();
    for (path, bytes) in snapshot(&RealDisk::new(), &dir) {
        match bytes {
            Some(bytes) => put_file(&disk, &path, &bytes).unwrap(),
            None => disk.create_dir_all(&path).unwrap(),
        }
    }
    let disk = disk.fork();
    run(&(Arc::new(disk.clone()) as Arc<dyn Vfs>), &dir, false, false).unwrap();
    let questions: [&[&str]; 5] =
        [&["log"], &["status"], &["fsck"], &["claims", "--json"], &["trajectory", "T1"]];
    let asked = |peer: &Peer| questions.map(|args| peer.gemel(&repo, args, b""));
    let undisturbed = asked(&peer).map(|out| (out.status.code(), out.stdout));
    let (mut seen, mut works, mut refused) = (BTreeSet::new(), 0, 0);
    for k in 0..=disk.ops() {
        let image = disk.crash_images(k).swap_remove(0).image();
        let top: Vec<_> =
            image.list(&dir).unwrap().into_iter().map(|entry| (entry.name, entry.is_dir)).collect();
        if !seen.insert((top, image.read(&dir.join("meta.json"), 1 << 20).unwrap())) {
            continue;
        }
        std::fs::remove_dir_all(&dir).unwrap();
        for (path, bytes) in snapshot(&image, &dir) {
            match bytes {
                Some(bytes) => put_file(&RealDisk::new(), &path, &bytes).unwrap(),
                None => std::fs::create_dir_all(&path).unwrap(),
            }
        }
        let answers = asked(&peer);
        if matches!(Store::open(Arc::new(RealDisk::new()), &dir), Err(StoreError::Legacy { .. })) {
            works += 1;
            for ((args, answer), before) in questions.iter().zip(answers).zip(&undisturbed) {
                let text = String::from_utf8_lossy(&answer.stdout).into_owned();
                assert!(
                    before == &(answer.status.code(), answer.stdout),
                    "{}: {args:?}: {text}",
                    disk.describe(k)
                );
            }
        } else {
            refused += 1;
            for (args, answer) in questions.iter().zip(answers) {
                assert_eq!(answer.status.code(), Some(2), "{}: {args:?}", disk.describe(k));
            }
        }
    }
    assert!(works >= 5 && refused >= 5, "{works} {refused}");
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// One command line each; standard input after ` < `. Names in capitals stand for identities and paths.
const COMMANDS: &str = r#"
init
init .
init --author-name B
status
status --json
status --verbose
snapshot
snapshot --label z/y
change begin
change begin --intent-summary q
change begin --from STATE
change begin --workspace w2
change finish
change finish --summary x --claim a|b
log
log --operations
show CHANGE
show C1
diff
diff STATE
diff STATE STATE
checkout STATE
checkout STATE --force
checkout STATE --overlay
checkout STATE --dir ELSEWHERE
fsck
fsck --repair
fsck --rebuild-index
fsck --repair --rebuild-index --json
why a.txt
claims
evidence show EVIDENCE
evidence list
residuals
attempts a.txt
trajectory T1
trajectory TRAJECTORY --close completed
residual resolve RESIDUAL --disposition resolved
checkpoint
checkpoint --summary x
index
index --state STATE
semantic
semantic x
context a.txt
reconcile TRAJECTORY TRAJECTORY
reconcile TRAJECTORY TRAJECTORY --plan
reconcile TRAJECTORY TRAJECTORY --apply
exchange status
exchange export
exchange ingest
exchange verify
export-git
export-git --branch b2
import-git --git-dir GITDIR
remote
remote add o THEIRS
remote remove o
fetch THEIRS
push THEIRS
pull THEIRS
fetch .
push .
pull .
fetch GITDIR
pull GITDIR
push GITDIR
next
policy
court EVIDENCE
court EVIDENCE --allow
impact CHANGE
context-diff EVIDENCE EVIDENCE
release T1
release TRAJECTORY --name v1
agent-run create --producer PRODUCER
context-manifest create --producer PRODUCER --instruction x
claim link CLAIM --evidence EVIDENCE
evidence ingest - < {"schema":"gemel.evidence.v1","producer":"PRODUCER","kind":"test_result"}
serve < {"id":1,"op":"list_refs"}
serve . < {"id":1,"op":"reachable","params":{"seeds":["STATE"]}}
serve . < {"id":1,"op":"missing","params":{"ids":["STATE"]}}
serve --read-only < {"id":1,"op":"fetch","params":{"ids":["STATE"]}}
serve < {"id":1,"op":"update_refs","params":{"refs":[["refs/names/x","STATE"]]}}
protocol < {"id":1,"query":"status"}
protocol < {"id":1,"query":"log"}
"#;
