//! Real processes that write into one repository at once and read it, some of them killed: nothing acknowledged is
//! missing, no name is given twice, no lock stays (STO-02, STO-04, REF-02; workflow, sections 1 and 4.5).

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Agents at work at the same time, each with a workspace and a directory of its own.
const AGENTS: usize = 8;
/// Rounds of an agent at most.
const ROUNDS: usize = 40;
/// Rounds of an agent at least, however slow the machine.
const FEWEST: usize = 3;
/// How long new rounds are begun.
const TIME: Duration = Duration::from_secs(8);
/// How long a command may wait for others.
const PATIENCE: Duration = Duration::from_secs(60);

/// The repository and what its agents share.
struct Yard {
    scratch: TempDir,
    clock: AtomicI64,
    /// Whoever holds it kills the process it started: one at a time.
    victim: Mutex<()>,
    kills: AtomicUsize,
    begun: Instant,
}

/// How a process ended.
enum End {
    /// With an answer; its `result`.
    Said(Value),
    /// With a refusal; its message.
    Refused(String),
    /// Killed before it had answered.
    Killed,
}

/// A sequence of numbers that look random, the same one for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

impl Yard {
    fn new() -> Yard {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        std::fs::create_dir(scratch.path().join("repo")).expect("the repository folder");
        Yard {
            scratch,
            clock: AtomicI64::new(1_700_000_000_000),
            victim: Mutex::new(()),
            kills: AtomicUsize::new(0),
            begun: Instant::now(),
        }
    }

    fn root(&self) -> PathBuf {
        self.scratch.path().join("repo")
    }

    #[allow(clippy::disallowed_methods, reason = "starts the program under test")]
    fn start(&self, args: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gemel"));
        command.args(args).arg("--json").current_dir(self.root()).env_clear();
        command.env("GEMEL_TIME_MS", self.clock.fetch_add(1, Ordering::Relaxed).to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// Runs a command to its end.
    fn run(&self, args: &[&str]) -> End {
        end_of(args, self.start(args).wait_with_output().expect("it ends"))
    }

    /// Runs a command that must be answered; its `result`.
    fn result(&self, args: &[&str]) -> Value {
        match self.run(args) {
            End::Said(result) => result,
            End::Refused(message) => panic!("{args:?}: {message}"),
            End::Killed => panic!("{args:?}: nobody killed it, and it ended without an answer"),
        }
    }

    /// Runs a command and perhaps kills it, at any moment of its life.
    fn risk(&self, args: &[&str], dice: &mut Dice) -> End {
        let Some(_turn) = self.victim.try_lock().ok().filter(|_| dice.below(3) == 0) else {
            return self.run(args);
        };
        let mut child = self.start(args);
        std::thread::sleep(Duration::from_micros(dice.below(60_000)));
        child.kill().expect("it was ours to kill");
        let end = end_of(args, child.wait_with_output().expect("it ends"));
        self.kills.fetch_add(usize::from(matches!(end, End::Killed)), Ordering::Relaxed);
        end
    }
}

/// An answer that is whole counts as one, even if the process was killed with its last word.
fn end_of(args: &[&str], output: Output) -> End {
    let envelope: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match (&envelope["error"]["message"], &envelope["result"]) {
        (Value::String(message), _) => End::Refused(message.clone()),
        (_, result @ Value::Object(_)) => End::Said(result.clone()),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.code().is_none() && said.is_empty(),
                "{args:?}: {:?}: {said}",
                output.status
            );
            End::Killed
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn texts(value: &Value) -> impl Iterator<Item = String> {
    value.as_array().into_iter().flatten().map(text)
}

/// A finished change that its agent was told of.
#[derive(Debug)]
struct Finished {
    change: String,
    state: String,
    /// What the agent's file held.
    content: String,
}

/// An agent, and everything it was told.
struct Agent<'y> {
    yard: &'y Yard,
    name: String,
    dir: PathBuf,
    dice: Dice,
    intent: Option<String>,
    /// Identities by full ref name, in the order of the answers; a name may come twice only if a command did.
    named: Vec<(String, String)>,
    finished: Vec<Finished>,
}

impl<'y> Agent<'y> {
    fn new(yard: &'y Yard, number: usize) -> Agent<'y> {
        let name = format!("agent-{number}");
        let dir = yard.scratch.path().join(&name);
        std::fs::create_dir(&dir).expect("its directory");
        let dice = Dice(number as u64 + 1);
        Agent { yard, name, dir, dice, intent: None, named: Vec::new(), finished: Vec::new() }
    }

    /// Gives a command until it is answered or refused, with the flags that say whose it is; whether it had been
    /// killed before.
    fn insist(&mut self, args: &[&str], takes_worktree: bool) -> (End, bool) {
        let dir = self.dir.to_str().expect("UTF-8").to_owned();
        let own = ["--workspace", self.name.as_str(), "--worktree", dir.as_str()];
        let args = [args, &own[..if takes_worktree { 4 } else { 2 }]].concat();
        let mut killed = false;
        loop {
            match self.yard.risk(&args, &mut self.dice) {
                End::Killed => killed = true,
                end => return (end, killed),
            }
        }
    }

    fn note(&mut self, space: &str, name: &Value, id: &Value) {
        self.named.push((format!("refs/{space}/{}", text(name)), text(id)));
    }

    fn write(&self, content: &str) {
        std::fs::write(self.dir.join("mine.txt"), content).expect("the file");
    }

    fn live(&mut self) {
        self.write(&format!("{} begins\n", self.name));
        for round in 0..ROUNDS {
            if round >= FEWEST && self.yard.begun.elapsed() > TIME {
                return;
            }
            self.snapshot(None);
            self.begin();
            let content = format!("{} in round {round}\n", self.name).repeat(40);
            self.write(&content);
            std::fs::write(self.dir.join(format!("{round}.txt")), &content[..20]).expect("a file");
            let label = format!("{}-{round}", self.name);
            self.snapshot(Some(&label));
            self.finish(round, content);
            self.look();
        }
    }

    fn snapshot(&mut self, label: Option<&str>) {
        let args = match label {
            Some(label) => vec!["snapshot", "--label", label],
            None => vec!["snapshot"],
        };
        match self.insist(&args, true) {
            (End::Said(result), _) => self.note("names", &result["name"], &result["state"]),
            (End::Refused(message), _) => panic!("{args:?}: {message}"),
            (End::Killed, _) => {}
        }
    }

    fn begin(&mut self) {
        let intent = self.intent.clone();
        let args = match &intent {
            Some(intent) => ["change", "begin", "--intent", intent],
            None => ["change", "begin", "--intent-summary", &self.name.clone()],
        };
        match self.insist(&args, true) {
            (End::Said(result), _) => {
                if intent.is_none() {
                    self.note("names", &result["intent_name"], &result["intent"]);
                    self.intent = Some(text(&result["intent"]));
                }
            }
            // It had begun before it was killed.
            (End::Refused(message), true) if message.contains("already in progress") => {}
            (End::Refused(message), _) => panic!("{args:?}: {message}"),
            (End::Killed, _) => {}
        }
    }

    fn finish(&mut self, round: usize, content: String) {
        let summary = format!("{} {round}", self.name);
        let residual = format!("{summary} is open|low|other|claims=0");
        let args = [
            &["change", "finish", "--summary", &summary][..],
            &["--evidence", "mine.txt|pass|test_result|state=result"],
            &["--claim", "mine.txt|holds|correctness|evidence=0", "--residual", &residual],
        ]
        .concat();
        match self.insist(&args, false) {
            (End::Said(result), _) => {
                self.note("names", &result["change_name"], &result["change"]);
                self.note("names", &result["state_name"], &result["state"]);
                for list in ["claims", "evidence", "residuals"] {
                    let ids: Vec<String> = texts(&result[list]).collect();
                    let names = texts(&result["names"][list]).map(|name| format!("refs/names/{name}"));
                    self.named.extend(names.zip(ids));
                }
                let (change, state) = (text(&result["change"]), text(&result["state"]));
                self.finished.push(Finished { change, state, content });
            }
            // It had finished before it was killed.
            (End::Refused(message), true) if message.contains("no change in progress") => {}
            (End::Refused(message), _) => panic!("{args:?}: {message}"),
            (End::Killed, _) => {}
        }
    }

    /// Reads while others write. Nothing is damaged while a command is half done.
    fn look(&mut self) {
        let yard = self.yard;
        match self.dice.below(5) {
            0 => drop(yard.result(&["log", "--all", "--limit", "20"])),
            1 => drop(yard.result(&["status", "--workspace", &self.name])),
            2 => {
                let (name, id) = self.named.last().expect("a snapshot").clone();
                assert_eq!(text(&yard.result(&["show", &name])["id"]), id, "{name}");
            }
            3 => assert_sound(yard),
            _ => assert!(yard.result(&["fsck", "--repair"])["exit_code"].as_u64() < Some(2)),
        }
    }
}

/// Nothing but warnings.
fn assert_sound(yard: &Yard) {
    let result = yard.result(&["fsck", "--limit", "1000"]);
    let problems = result["problems"].as_array().expect("an array");
    let errors: Vec<&Value> = problems.iter().filter(|problem| problem["severity"] == "error").collect();
    assert!(errors.is_empty() && result["exit_code"] == 0, "{errors:?}");
}

/// Every ref by name.
fn refs(yard: &Yard) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for prefix in ["names/", "trajectories/", "head", "state/"] {
        let mut cursor = None::<String>;
        loop {
            let mut args = vec!["refs", prefix, "--limit", "1000"];
            args.extend(cursor.iter().flat_map(|cursor| ["--cursor", cursor]));
            let output = yard.start(&args).wait_with_output().expect("it ends");
            let envelope: Value = serde_json::from_slice(&output.stdout).expect("an envelope");
            let rows = envelope["result"]["refs"].as_array().expect("rows");
            all.extend(rows.iter().map(|row| (text(&row["name"]), text(&row["id"]))));
            cursor = envelope["pagination"]["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
    }
    all
}

/// Files in the directory of packs.
fn pack_files(yard: &Yard) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(yard.root().join(".gemel/packs")).expect("the packs");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn eight_agents_and_a_killer() {
    let yard = Yard::new();
    yard.result(&["init"]);
    let mut agents: Vec<Agent<'_>> = (0..AGENTS).map(|number| Agent::new(&yard, number)).collect();
    std::thread::scope(|scope| agents.iter_mut().for_each(|agent| drop(scope.spawn(|| agent.live()))));

    // No lock stays: the next command of each is answered at once.
    for agent in &agents {
        let began = Instant::now();
        yard.result(&["snapshot", "--workspace", &agent.name]);
        assert!(began.elapsed() < PATIENCE);
    }
    assert_sound(&yard);
    let all = refs(&yard);
    let mut given: HashMap<&str, &str> = HashMap::new();
    for (name, id) in agents.iter().flat_map(|agent| &agent.named) {
        assert_eq!(all.get(name), Some(id), "{name} was acknowledged");
        assert_eq!(*given.entry(name).or_insert(id), id, "{name} was given twice");
    }
    assert_parents(&yard, &agents);
    for agent in &agents {
        assert_content(&yard, agent);
    }
    let kills = yard.kills.load(Ordering::Relaxed);
    let packs = pack_files(&yard);
    // One pack each, and what was left by those who were killed between their pack and their refs.
    assert!(packs.len() <= AGENTS + 2 + kills, "{kills} kills: {packs:?}");
}

/// Each workspace's changes stand on its own earlier ones, whoever wrote between.
fn assert_parents(yard: &Yard, agents: &[Agent<'_>]) {
    let rows = yard.result(&["log", "--all", "--limit", "1000"])["changes"].clone();
    let rows: HashMap<String, (String, Vec<String>)> = rows
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| (text(&row["id"]), (text(&row["summary"]), texts(&row["parents"]).collect())))
        .collect();
    for agent in agents {
        assert!(agent.finished.len() >= FEWEST / 2, "{}", agent.name);
        let mut earlier = agent.finished.iter().rev().skip(1);
        let mut wanted = earlier.next();
        let mut at = agent.finished.last().map(|last| last.change.clone());
        let mut met = BTreeSet::new();
        while let Some(id) = at {
            let (summary, parents) = rows.get(&id).unwrap_or_else(|| panic!("{id} is not in the log"));
            assert!(summary.starts_with(&format!("{} ", agent.name)), "{}: {summary}", agent.name);
            assert!(met.insert(id.clone()) && parents.len() <= 1, "{id}: {parents:?}");
            at = parents.first().cloned();
            if wanted.is_some_and(|wanted| at.as_ref() == Some(&wanted.change)) {
                wanted = earlier.next();
            }
        }
        assert!(wanted.is_none(), "{}: {wanted:?} is not among the parents", agent.name);
    }
}

/// The last acknowledged change holds what its agent had written.
fn assert_content(yard: &Yard, agent: &Agent<'_>) {
    let Some(last) = agent.finished.last() else { return };
    let out = yard.scratch.path().join(format!("{}-out", agent.name));
    yard.result(&["checkout", &last.state, "--dir", out.to_str().expect("UTF-8")]);
    let read = |dir: &Path| std::fs::read_to_string(dir.join("mine.txt")).expect("the file");
    assert_eq!(read(&out), last.content, "{}", agent.name);
}

/// Runs the same command eight times at once; the answer of the one that may have it, and what the others were told.
fn race(yard: &Yard, args: &[&str]) -> (Value, Vec<String>) {
    let ends = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..AGENTS).map(|_| scope.spawn(|| yard.run(args))).collect();
        runs.into_iter().map(|run| run.join().expect("no panic")).collect::<Vec<_>>()
    });
    let (mut answers, mut refusals) = (Vec::new(), Vec::new());
    for end in ends {
        match end {
            End::Said(result) => answers.push(result),
            End::Refused(message) => refusals.push(message),
            End::Killed => panic!("{args:?}: nobody killed it"),
        }
    }
    assert_eq!(answers.len(), 1, "{args:?}: {answers:?}");
    (answers.remove(0), refusals)
}

/// In one workspace one of several begins, one finishes, and one label is given.
#[test]
fn one_of_eight_has_its_way() {
    let yard = Yard::new();
    yard.result(&["init"]);
    for round in 0..3 {
        let (_, refusals) = race(&yard, &["change", "begin", "--intent-summary", "first come"]);
        assert!(refusals.iter().all(|message| message.contains("already in progress")), "{refusals:?}");
        std::fs::write(yard.root().join("a"), round.to_string()).expect("a file");
        let (done, refusals) = race(&yard, &["change", "finish", "--claim", "a|is there"]);
        let refused = |message: &String| {
            message.contains("no change in progress") || message.contains("replaced by another process")
        };
        assert!(refusals.iter().all(refused), "{refusals:?}");
        assert_eq!(done["change_name"], format!("C{}", round + 1));
    }
    let labels = refs(&yard);
    for (kind, count) in [("C", 3), ("S", 3), ("Cl", 3), ("I", 3)] {
        let numbered = |name: &str| {
            let number = name.strip_prefix("refs/names/").and_then(|name| name.strip_prefix(kind));
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        assert_eq!(labels.keys().filter(|name| numbered(name)).count(), count, "{kind}: {labels:?}");
    }
    assert_sound(&yard);
}

/// Of several that start a repository at once one does, and the others are told.
#[test]
fn one_of_eight_starts_a_repository() {
    for _ in 0..3 {
        let yard = Yard::new();
        let (started, refusals) = race(&yard, &["init"]);
        assert!(
            refusals.iter().all(|message| message.starts_with("repository already exists")),
            "{refusals:?}"
        );
        assert_sound(&yard);
        let named = refs(&yard);
        assert_eq!(named.keys().collect::<Vec<_>>(), ["refs/names/P1"]);
        assert_eq!(named["refs/names/P1"], text(&started["default_producer"]));
    }
}
