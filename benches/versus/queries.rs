//! `versus queries`: questions to a long recorded history, inside a session and as fresh processes, and beside git where
//! git can be asked the same.
//!
//! The history is that of `gemel-tools corpus-history`; the one beside git is any Git repository, imported here.

use crate::Result;
use crate::peers::{Gemel, Git, remove};
use crate::process;
use crate::table::{Bar, Table, Value, median};
use gemel_tools::corpus::{self, Draw};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// Questions about a recorded history: sessions, fresh processes, and git's log and blame
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Changes of the recorded history
    #[arg(long, default_value_t = 100_000)]
    changes: usize,
    /// A repository made by `gemel-tools corpus-history`, instead of a new one; changes are recorded in it
    #[arg(long)]
    recorded: Option<PathBuf>,
    /// A Git repository to import for the questions that git can answer
    #[arg(long)]
    git: Option<PathBuf>,
    /// The file to ask about there
    #[arg(long, default_value = "Makefile")]
    file: String,
    /// The line of it
    #[arg(long, default_value_t = 100)]
    line: u64,
    /// Questions of each kind in a session
    #[arg(long, default_value_t = 300)]
    questions: usize,
    /// Rounds of fresh processes; the median counts
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Seed of the history and of the subjects
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for the repositories
    #[arg(long)]
    pub(crate) scratch: Option<PathBuf>,
    /// The gemel program to measure, instead of the one of this checkout
    #[arg(long)]
    pub(crate) gemel: Option<PathBuf>,
}

const SUBJECT_BARS: (u64, u64) = (5, 25);
const FRESH_MS: u64 = 60;
const RECORD_MS: u64 = 40;

fn ms(n: u64) -> Value {
    Value::Time(Duration::from_millis(n))
}

/// A question: its name, its parameters, and the same as arguments. `@path`, `@change`, `@trajectory` and `@intent` are
/// drawn.
struct Question {
    name: &'static str,
    query: &'static str,
    params: &'static str,
    args: &'static [&'static str],
    /// Most milliseconds of the middle one and of the hundredth slowest.
    bars: (u64, Option<u64>),
}

const fn by_subject(
    name: &'static str,
    query: &'static str,
    params: &'static str,
    args: &'static [&'static str],
) -> Question {
    Question { name, query, params, args, bars: (SUBJECT_BARS.0, Some(SUBJECT_BARS.1)) }
}

const fn whole(
    name: &'static str,
    query: &'static str,
    params: &'static str,
    args: &'static [&'static str],
) -> Question {
    Question { name, query, params, args, bars: (20, None) }
}

const QUESTIONS: [Question; 12] = [
    by_subject("why", "why", r#"{"subject":"@path"}"#, &["why", "@path"]),
    by_subject("claims", "claims", r#"{"subject":"@path"}"#, &["claims", "--subject", "@path"]),
    by_subject("residuals", "residuals", r#"{"subject":"@path"}"#, &["residuals", "--subject", "@path"]),
    by_subject("attempts", "attempts", r#"{"subject":"@path"}"#, &["attempts", "@path"]),
    by_subject("impact", "impact", r#"{"change":"@change"}"#, &["impact", "@change"]),
    by_subject("trajectory", "trajectory", r#"{"id":"@trajectory"}"#, &["trajectory", "@trajectory"]),
    whole(
        "context",
        "context",
        r#"{"subject":"@path","budget":32000}"#,
        &["context", "@path", "--budget", "32000"],
    ),
    whole("status", "status", "{}", &["status"]),
    whole(
        "status --scope trajectory",
        "status",
        r#"{"scope":"trajectory"}"#,
        &["status", "--scope", "trajectory"],
    ),
    whole(
        "status --scope repository",
        "status",
        r#"{"scope":"repository"}"#,
        &["status", "--scope", "repository"],
    ),
    whole("next", "next", "{}", &["next"]),
    whole("policy", "policy", "{}", &["policy"]),
];

/// Measures everything.
pub(crate) fn measure(
    git: &Git,
    gemel: &Gemel,
    scratch: &Path,
    args: &Args,
    table: &mut Table<'_>,
) -> Result<()> {
    let recorded = match &args.recorded {
        Some(path) => path.canonicalize()?,
        None => {
            let dir = scratch.join("recorded");
            let report = corpus::record(&dir, args.changes, args.seed)?;
            table.note(&format!(
                "{} changes in {} trajectories, {} claims, evidence and residuals",
                report.changes, report.trajectories, report.knowledge
            ))?;
            dir
        }
    };
    let names = Names::of(gemel, &recorded)?;
    in_session(gemel, &recorded, &names, args, table)?;
    fresh(gemel, &recorded, &names, args, table)?;
    recording(gemel, &recorded, args, table)?;
    match &args.git {
        Some(path) => beside_git(git, gemel, scratch, &path.canonicalize()?, args, table),
        None => Ok(()),
    }
}

/// What can be asked about.
struct Names {
    paths: Vec<String>,
    changes: usize,
    trajectories: usize,
}

impl Names {
    fn of(gemel: &Gemel, dir: &Path) -> Result<Names> {
        let count = |prefix: &str| -> Result<usize> {
            let output = gemel.command(dir, &["refs", prefix, "--limit", "1000", "--json"]).output()?;
            if !output.status.success() {
                return Err(format!("gemel refs failed in {}", dir.display()).into());
            }
            Ok(String::from_utf8_lossy(&output.stdout).matches(prefix).count())
        };
        let paths = (0..48).flat_map(|d| (0..40).map(move |f| format!("src/part{d:02}/file{f:02}.rs")));
        // A page of each is enough to draw from.
        let changes = count("refs/names/C")?.max(1);
        let trajectories = count("refs/trajectories/T")?.max(1);
        Ok(Names { paths: paths.collect(), changes, trajectories })
    }

    fn fill(&self, text: &str, draw: &mut Draw) -> String {
        text.replace("@path", &self.paths[draw.below(self.paths.len())])
            .replace("@change", &format!("C{}", 1 + draw.below(self.changes)))
            .replace("@trajectory", &format!("T{}", 1 + draw.below(self.trajectories)))
    }
}

/// A running `gemel protocol`.
struct Talk {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Talk {
    fn begin(gemel: &Gemel, dir: &Path) -> Result<Talk> {
        let mut child =
            gemel.command(dir, &["protocol"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or("no pipes")?;
        Ok(Talk { child, input, output: BufReader::new(output), asked: 0 })
    }

    fn ask(&mut self, query: &str, params: &str) -> Result<Duration> {
        self.asked += 1;
        let request = format!("{{\"id\":{},\"query\":\"{query}\",\"params\":{params}}}\n", self.asked);
        let (mut answer, started) = (String::new(), Instant::now());
        self.input.write_all(request.as_bytes())?;
        self.input.flush()?;
        self.output.read_line(&mut answer)?;
        let taken = started.elapsed();
        if !answer.contains("\"result\"") {
            return Err(format!("{} was answered {}", request.trim_end(), answer.trim_end()).into());
        }
        Ok(taken)
    }

    fn end(mut self) -> Result<()> {
        drop(self.input);
        self.child.wait()?;
        Ok(())
    }
}

fn in_session(gemel: &Gemel, dir: &Path, names: &Names, args: &Args, table: &mut Table<'_>) -> Result<()> {
    let mut talk = Talk::begin(gemel, dir)?;
    for question in &QUESTIONS {
        let mut draw = Draw::new(args.seed);
        let first = talk.ask(question.query, &names.fill(question.params, &mut draw))?;
        let mut times = Vec::with_capacity(args.questions);
        for _ in 0..args.questions {
            times.push(talk.ask(question.query, &names.fill(question.params, &mut draw))?);
        }
        times.sort_unstable();
        let at = |part: usize| Value::Time(times[(times.len() * part / 100).min(times.len() - 1)]);
        let (middle, slow) = question.bars;
        table.row(&format!("{}, p50", question.name), at(50), None, Bar::AtMost(ms(middle)))?;
        let bar = slow.map_or(Bar::None, |slow| Bar::AtMost(ms(slow)));
        table.row(&format!("{}, p99", question.name), at(99), None, bar)?;
        table.row(&format!("{}, first", question.name), Value::Time(first), None, Bar::None)?;
    }
    talk.end()
}

fn fresh(gemel: &Gemel, dir: &Path, names: &Names, args: &Args, table: &mut Table<'_>) -> Result<()> {
    for question in &QUESTIONS {
        let mut draw = Draw::new(args.seed);
        let mut times = Vec::new();
        for round in 0..=args.rounds {
            let filled: Vec<String> = question.args.iter().map(|arg| names.fill(arg, &mut draw)).collect();
            let filled: Vec<&str> = filled.iter().map(String::as_str).chain(["--json"]).collect();
            let taken = process::run(&mut gemel.command(dir, &filled))?.time;
            // The first may make what is kept for the others.
            if round > 0 {
                times.push(taken);
            }
        }
        let middle = median(&times).ok_or("no rounds")?;
        table.row(
            &format!("{}, fresh", question.name),
            Value::Time(middle),
            None,
            Bar::AtMost(ms(FRESH_MS)),
        )?;
    }
    Ok(())
}

/// `change begin` and `change finish` of a small edit.
fn recording(gemel: &Gemel, dir: &Path, args: &Args, table: &mut Table<'_>) -> Result<()> {
    process::run(&mut gemel.command(dir, &["checkout", "@state", "--force"]))?;
    let mut times = Vec::new();
    for round in 0..=args.rounds {
        fs::write(dir.join("src/part00/file00.rs"), format!("pub fn round() -> usize {{ {round} }}\n"))?;
        let begin = process::run(&mut gemel.command(dir, &["change", "begin", "--intent", "@"]));
        let begin = match begin {
            Ok(taken) => taken,
            Err(_) => process::run(&mut gemel.command(dir, &["change", "begin"]))?,
        };
        let finish = process::run(&mut gemel.command(dir, &["change", "finish", "--summary", "edit"]))?;
        if round > 0 {
            times.push(begin.time + finish.time);
        }
    }
    let middle = median(&times).ok_or("no rounds")?;
    table.row("change begin and finish", Value::Time(middle), None, Bar::AtMost(ms(RECORD_MS)))
}

fn beside_git(
    git: &Git,
    gemel: &Gemel,
    scratch: &Path,
    source: &Path,
    args: &Args,
    table: &mut Table<'_>,
) -> Result<()> {
    let (ours, theirs) = (scratch.join("imported"), scratch.join("bare.git"));
    fs::create_dir_all(&ours)?;
    gemel.begin(&ours)?;
    let (source, bare) = (source.to_string_lossy(), theirs.to_string_lossy());
    process::run(&mut git.command(scratch, &["clone", "-q", "--bare", "--no-local", &source, &bare]))?;
    let import = process::run(&mut gemel.command(&ours, &["import-git", "--git-dir", &source]))?;
    let why = |subject: &str| process::run(&mut gemel.command(&ours, &["why", subject, "--json"]));
    // Walking the graph of changes comes before the index of what they touch.
    process::run(&mut gemel.command(&ours, &["log", "--limit", "1"]))?;
    remove_file(&ours.join(".gemel/cache/ledger"))?;
    remove_file(&ours.join(".gemel/cache/ledger-recent"))?;
    let build = why(&args.file)?;
    let half = Value::Time(import.time);
    table.row("knowledge index against import", Value::Time(build.time), Some(half), Bar::Ratio(0.3))?;
    let (mut log, mut blame, mut by_file, mut by_line) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let line = format!("{},{}", args.line, args.line);
    let subject = format!("{}:{}", args.file, args.line);
    for _ in 0..args.rounds {
        log.push(
            process::run(&mut git.command(&theirs, &["log", "--oneline", "HEAD", "--", &args.file]))?.time,
        );
        let args = ["blame", "-L", &line, "HEAD", "--", &args.file];
        blame.push(process::run(&mut git.command(&theirs, &args))?.time);
    }
    for _ in 0..args.rounds {
        by_file.push(why(&args.file)?.time);
        by_line.push(why(&subject)?.time);
    }
    let middle = |times: &[Duration]| median(times).map(Value::Time).ok_or("no rounds");
    let name = format!("why {}", args.file);
    table.row(&name, middle(&by_file)?, Some(middle(&log)?), Bar::Ratio(0.1))?;
    table.row(&format!("why {subject}"), middle(&by_line)?, Some(middle(&blame)?), Bar::Ratio(1.0))?;
    remove(&ours)?;
    remove(&theirs)
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
        _ => Ok(()),
    }
}
