//! Every parameter of every verb with values nobody means: answered or refused, never a failure of the program itself.

use crate::harness::{Said, Sandbox};
use serde_json::Value;
use std::sync::Mutex;

/// A verb, as its help describes it.
#[derive(Debug)]
struct Verb {
    words: Vec<String>,
    /// Flags that take a value.
    flags: Vec<String>,
    /// Flags that must be given.
    needed: Vec<String>,
    /// Positional arguments that must be given.
    positions: usize,
    /// Positional arguments that may be given.
    optional: usize,
}

/// Verbs that leave the sandbox, or that answer on something else than an envelope.
const ELSEWHERE: [&str; 9] =
    ["clone", "serve", "protocol", "mcp", "completions", "man", "help", "migrate", "init"];

/// Verbs of a repository, found by their help.
fn verbs(sandbox: &Sandbox, words: &[String], found: &mut Vec<Verb>) {
    let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
    args.push("--help");
    let help = sandbox.ok(&args).out;
    let mut below = Vec::new();
    let commands = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    for line in commands.lines().take_while(|line| !line.trim().is_empty()) {
        let name = line.trim_start().split(' ').next().unwrap_or_default();
        if line.starts_with("  ") && !line.starts_with("   ") && !ELSEWHERE.contains(&name) {
            below.push(name.to_owned());
        }
    }
    let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or_default().to_owned();
    if below.is_empty() || usage.contains("[COMMAND]") || usage.contains("[ID]") {
        let flag = |line: &str| {
            let line = line.trim_start();
            let line = line.split_once("--").filter(|(before, _)| before.len() <= 4).map(|(_, flag)| flag)?;
            let (name, rest) = line.split_once(' ')?;
            rest.starts_with('<').then(|| format!("--{name}"))
        };
        let parts: Vec<&str> = usage.split_whitespace().collect();
        let needed = parts.iter().filter(|part| part.starts_with("--")).map(|part| (*part).to_owned());
        let is_value = |at: usize| at > 0 && parts[at - 1].starts_with("--");
        let count =
            |open: char| (0..parts.len()).filter(|at| parts[*at].starts_with(open) && !is_value(*at)).count();
        let optional =
            count('[') - usize::from(usage.contains("[OPTIONS]")) - usize::from(usage.contains("[COMMAND]"));
        found.push(Verb {
            words: words.to_vec(),
            flags: help
                .lines()
                .filter_map(flag)
                .filter(|flag| flag != "--repo" && flag != "--color")
                .collect(),
            needed: needed.collect(),
            positions: count('<') - usize::from(usage.contains("<COMMAND>")),
            optional,
        });
    }
    for name in below {
        verbs(sandbox, &[words, &[name]].concat(), found);
    }
}

/// Something the verb takes without complaint, mostly.
fn plausible(verb: &Verb) -> &'static str {
    match verb.words[0].as_str() {
        "claim" => "Cl1",
        "residual" => "R1",
        "evidence" | "court" => "E1",
        "trajectory" | "release" | "reconcile" => "T1",
        "case" => "Case1",
        "intent" => "I1",
        "checkout" => "S1",
        _ => "C1",
    }
}

/// Values nobody means.
fn values() -> Vec<String> {
    let mut values: Vec<String> = [
        "",
        " ",
        "-",
        "--",
        "nosuch",
        "C1",
        "R1",
        "../../x",
        "/dev/null",
        "é\u{202e}\n\x1b[31m",
        "-1",
        "18446744073709551616",
        "{\"a\":1}",
        "refs/names/",
        "claim.",
        "claim.zz",
        "@",
        "|||;=,",
        "=",
        "a=b/c/d",
        "0",
        "999999999999999999",
    ]
    .map(str::to_owned)
    .to_vec();
    values.push("x".repeat(9000));
    values.push(format!("change.{}", "0".repeat(64)));
    values
}

/// Runs a verb; what is wrong with its answer.
fn attempt(sandbox: &Sandbox, verb: &Verb, more: &[String]) -> Option<String> {
    let mut args: Vec<String> = [&["--json".to_owned()], verb.words.as_slice()].concat();
    for flag in verb.needed.iter().filter(|flag| !more.iter().any(|arg| arg.starts_with(&format!("{flag}="))))
    {
        let value = match flag.as_str() {
            "--disposition" => "open",
            "--evidence" => "E1",
            _ => plausible(verb),
        };
        args.push(format!("{flag}={value}"));
    }
    args.extend(more.iter().cloned());
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let said = sandbox.run(&args);
    let args: Vec<String> = args.iter().map(|arg| arg.chars().take(80).collect()).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let problem = problem(&said, args.contains(&"--raw"));
    problem.map(|problem| format!("{args:?}: {problem}"))
}

/// What is wrong with an answer.
fn problem(said: &Said, raw: bool) -> Option<String> {
    let told = || format!("{said:?}").chars().take(400).collect::<String>();
    if !matches!(said.status, 0 | 1 | 2 | 10 | 11) || said.err.contains("internal error") {
        return Some(format!("the program failed: {}", told()));
    }
    if raw && said.status == 0 {
        return None;
    }
    let Ok(envelope) = serde_json::from_str::<Value>(&said.out) else {
        return Some(format!("no envelope: {}", told()));
    };
    let is_error = envelope.get("error").is_some();
    let is_whole = envelope["schema"] == "gemel.query.v1" && (is_error || envelope.get("result").is_some());
    if !is_whole || is_error && said.status != 2 || envelope["error"]["code"] == "INTERNAL" {
        return Some(format!("not an answer: {}", told()));
    }
    None
}

fn populated() -> Sandbox {
    let sandbox = Sandbox::with_changes();
    sandbox.ok(&["case", "create", "--summary", "x"]);
    sandbox
}

#[test]
fn no_parameter_of_any_verb_breaks_the_program() {
    let mut found = Vec::new();
    verbs(&populated(), &[], &mut found);
    assert!(found.len() > 30, "{found:?}");
    let values = values();
    let lanes = 4;
    let problems = Mutex::new(Vec::new());
    let note = |problem: Option<String>| problems.lock().expect("the list").extend(problem);
    std::thread::scope(|scope| {
        for lane in 0..lanes {
            let (found, values, note) = (&found, &values, &note);
            scope.spawn(move || {
                let sandbox = populated();
                for (at, verb) in found.iter().enumerate().filter(|(at, _)| at % lanes == lane) {
                    let plain: Vec<String> = vec![plausible(verb).to_owned(); verb.positions];
                    // Each flag with some of the values; over all verbs every value meets many flags.
                    for (turn, flag) in verb.flags.iter().enumerate() {
                        for step in 0..3 {
                            let value = &values[(at * 7 + turn * 5 + step * 11) % values.len()];
                            let given = [plain.clone(), vec![format!("{flag}={value}")]].concat();
                            note(attempt(&sandbox, verb, &given));
                        }
                    }
                    for place in 0..verb.positions + verb.optional {
                        for value in values {
                            let mut given = vec![plausible(verb).to_owned(); verb.positions.max(place + 1)];
                            given[place] = value.clone();
                            if value.starts_with('-') {
                                given.insert(0, "--".to_owned());
                            }
                            note(attempt(&sandbox, verb, &given));
                        }
                    }
                }
                assert_eq!(sandbox.run(&["fsck"]).status, 0);
            });
        }
    });
    let problems = problems.into_inner().expect("the list");
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}
