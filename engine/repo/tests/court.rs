//! The court: what may run, what is watched, and what becomes of it.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_object::families::{Environment, Evidence, NewConfig, NewEvidence};
use gemel_object::{
    EvidenceKind, EvidenceOutcome, ExecutionPolicy, Family, Gid, Limits, Object, blob_envelope,
};
use gemel_repo::court::{self, CourtFacts, CourtOptions, Verdict, Way};
use gemel_repo::facts::Silent;
use gemel_repo::history::{BeginOptions, EnvironmentOptions};
use gemel_repo::{Code, RepoError};
use gemel_store::NewObject;
use history_support::{Life, summed};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

struct Court {
    life: Life,
}

impl Court {
    /// A repository with one change and a policy.
    fn new(policy: ExecutionPolicy) -> Court {
        let life = Life::new();
        life.write("f.txt", "1");
        life.begin(BeginOptions::default());
        life.finish(summed("one"));
        let court = Court { life };
        court.set_policy(policy);
        court
    }

    fn set_policy(&self, policy: ExecutionPolicy) {
        let config = NewConfig { execution_policy: Some(policy), ..NewConfig::default() };
        let config = config.encode(&Limits::DEFAULT).unwrap();
        self.put(config.id, config.bytes);
        self.name("refs/config", config.id);
    }

    fn put(&self, id: Gid, bytes: Vec<u8>) {
        let writer = self.life.repo.store().writer().unwrap();
        writer.put(NewObject { id, bytes, base: None }).unwrap();
        writer.commit().unwrap();
    }

    fn name(&self, name: &str, id: Gid) {
        let mut transaction = self.life.repo.store().transaction().unwrap();
        transaction.set(name, id);
        transaction.commit("test", 0).unwrap();
    }

    fn allowlist(&self, text: &str) {
        fs::write(self.life.root.join(".gemel/court.allowlist"), text).unwrap();
    }

    /// Evidence with a command.
    fn evidence(&self, command: Option<&str>) -> String {
        let made = NewEvidence {
            producer: self.life.target("refs/names/P1"),
            kind: Some(EvidenceKind::CourtReceipt),
            subject: Some("f.txt"),
            command,
            created_at: Some(self.life.now()),
            ..NewEvidence::default()
        };
        let made = made.encode(&Limits::DEFAULT).unwrap();
        self.put(made.id, made.bytes);
        made.id.to_string()
    }

    fn options(&self, command: &str) -> CourtOptions {
        CourtOptions {
            evidence: self.evidence(Some(command)),
            allow: true,
            timeout_s: Some(20),
            producer: None,
            environment: Some(EnvironmentOptions {
                os_family: Some("linux".to_owned()),
                arch: Some("x86_64".to_owned()),
                ..EnvironmentOptions::default()
            }),
            now_ms: self.life.now(),
        }
    }

    fn run(&self, command: &str) -> CourtFacts {
        court::run(&self.life.repo, &self.options(command), &Silent).unwrap()
    }

    fn refused(&self, options: &CourtOptions) -> RepoError {
        let before = self.life.all_refs();
        let error = court::run(&self.life.repo, options, &Silent).unwrap_err();
        assert_eq!(self.life.all_refs(), before);
        error
    }

    /// Bytes of the outputs that were kept.
    fn outputs(&self, evidence: &Gid) -> Vec<Vec<u8>> {
        let bytes = self.life.repo.store().read(evidence).unwrap();
        let object = Object::decode(&bytes, &Limits::DEFAULT).unwrap();
        let outputs = Evidence::view(&object).unwrap().output_refs();
        let body = |id: Gid| {
            let blob = self.life.repo.store().read(&id).unwrap();
            Object::decode(&blob, &Limits::DEFAULT).unwrap().body().to_vec()
        };
        outputs.iter().map(body).collect()
    }

    fn marker(&self) -> PathBuf {
        self.life.beside("outside").join("marker")
    }
}

#[test]
fn the_policy_matrix() {
    for (policy, allow, listed, runs) in [
        (ExecutionPolicy::NeverAutoExecute, false, true, false),
        (ExecutionPolicy::NeverAutoExecute, true, true, false),
        (ExecutionPolicy::PolicyGated, false, true, false),
        (ExecutionPolicy::PolicyGated, true, false, true),
        (ExecutionPolicy::Allowlist, false, true, true),
        (ExecutionPolicy::Allowlist, true, true, true),
        (ExecutionPolicy::Allowlist, false, false, false),
        (ExecutionPolicy::Allowlist, true, false, false),
    ] {
        let court = Court::new(policy);
        court.allowlist(if listed { "touch\n" } else { "echo\n" });
        let marker = court.marker();
        let options = CourtOptions { allow, ..court.options(&format!("touch {}", marker.display())) };
        let case = format!("{policy:?} allow {allow} listed {listed}");
        let plan = court::plan(&court.life.repo, &options).unwrap();
        assert_eq!(matches!(plan.verdict, Verdict::Runs(_)), runs, "{case}");
        assert!(!marker.exists(), "{case}: a plan runs nothing");
        if runs {
            let facts = court::run(&court.life.repo, &options, &Silent).unwrap();
            assert_eq!(facts.outcome, EvidenceOutcome::Pass, "{case}");
        } else {
            let error = court.refused(&options);
            assert_eq!(error.code(), Code::PolicyDenied, "{case}");
            assert_eq!(error.ids().len(), 1, "{case}");
            assert!(error.to_string().starts_with("invalid: execution denied (POLICY_DENIED): "), "{error}");
        }
        assert_eq!(marker.exists(), runs, "{case}");
    }
}

/// Without a config that reads, nothing runs.
#[test]
fn no_policy_is_the_strictest() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    let options = court.options("true");
    let mut transaction = court.life.repo.store().transaction().unwrap();
    transaction.remove("refs/config");
    transaction.commit("test", 0).unwrap();
    assert_eq!(court.refused(&options).code(), Code::PolicyDenied);
}

#[test]
fn an_observation_is_whole_evidence() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    let options = court.options("echo hello; echo oops >&2; exit 3");
    let facts = court::run(&court.life.repo, &options, &Silent).unwrap();
    assert_eq!((facts.outcome, facts.exit_code), (EvidenceOutcome::Fail, Some(3)));
    assert_eq!((facts.detail.as_str(), facts.name.as_str()), ("oops\n", "E1"));
    assert_eq!(facts.stdout_digest, Some(*blake3::hash(b"hello\n").as_bytes()));
    assert_eq!(facts.stderr_digest, Some(*blake3::hash(b"oops\n").as_bytes()));
    assert_eq!((facts.omitted, facts.uncertainty), (vec![], vec![]));
    assert_eq!(court.outputs(&facts.evidence), [b"hello\n".to_vec(), b"oops\n".to_vec()]);
    assert_eq!(court.life.target("refs/names/E1"), Some(facts.evidence));

    let bytes = court.life.repo.store().read(&facts.evidence).unwrap();
    let object = Object::decode(&bytes, &Limits::DEFAULT).unwrap();
    let made = Evidence::view(&object).unwrap();
    let runner = "producer.114bd62022bc2af7db8646e4d0a658df18cacd8a0021af560f48b7d454c6825d";
    assert_eq!(made.producer().to_string(), runner);
    assert!(court.life.repo.store().contains(&made.producer()).unwrap());
    assert_eq!((made.kind(), made.subject()), (EvidenceKind::CourtReceipt, Some("f.txt")));
    assert_eq!(made.command(), Some("echo hello; echo oops >&2; exit 3"));
    assert_eq!(made.input_refs().iter().map(|id| id.to_string()).collect::<Vec<_>>(), [options.evidence]);
    assert_eq!(made.evaluated_state(), court.life.target("refs/state/head"));
    assert_eq!(made.created_at(), Some(options.now_ms));
    let environment = made.environment().unwrap();
    let stored = court.life.repo.store().read(&environment).unwrap();
    assert_eq!(Environment::decode(&stored, &Limits::DEFAULT).unwrap().arch(), Some("x86_64"));
    let result = made.result().unwrap();
    assert_eq!(
        (result.outcome(), result.exit_code(), result.detail()),
        (EvidenceOutcome::Fail, Some(3), Some("oops\n"))
    );
    let again = made.reproduction().unwrap();
    assert_eq!(
        (again.replayable(), again.inputs_present(), again.inputs_remote(), again.policy_required()),
        (Some(true), Some(true), None, Some(true))
    );
}

#[test]
fn what_runs_is_in_the_root_without_input() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    let facts = court.run("pwd; cat; echo \"$0\"; cat f.txt");
    let root = court.life.root.canonicalize().unwrap();
    let expected = format!("{}\nsh\n1", root.display());
    assert_eq!(court.outputs(&facts.evidence)[0], expected.as_bytes());
}

#[test]
fn files_that_are_not_those_of_head_are_told() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    court.life.write("f.txt", "2");
    let doubt = &court.run("true").uncertainty;
    assert_eq!((doubt.len(), doubt[0].class), (1, "evaluated_state"));
    assert!(doubt[0].reason.contains("1 path(s), \"f.txt\""), "{}", doubt[0].reason);
}

#[test]
fn ends_without_a_status() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    let facts = court.run("kill -9 $$");
    assert_eq!((facts.outcome, facts.exit_code), (EvidenceOutcome::Inconclusive, None));
    assert_eq!(facts.uncertainty[0].reason, "ended by signal 9");
    // Without output there are no blobs.
    assert!(court.outputs(&facts.evidence).is_empty());

    let missing = court.run("no_such_command_here");
    assert_eq!((missing.outcome, missing.exit_code), (EvidenceOutcome::Fail, Some(127)));
    court.set_policy(ExecutionPolicy::Allowlist);
    court.allowlist("no_such*\n");
    let missing = court.run("no_such_command_here");
    assert_eq!((missing.outcome, missing.exit_code), (EvidenceOutcome::Error, None));
    assert!(missing.detail.starts_with("the command could not be started: "), "{}", missing.detail);
}

/// T-57: more output than a pipe holds, on both at once, is read while the process runs, and kept to the limit.
#[test]
fn floods_are_drained() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    let facts = court.run("head -c 3000000 /dev/zero & head -c 2000000 /dev/zero >&2; wait");
    assert_eq!(facts.outcome, EvidenceOutcome::Pass);
    assert_eq!(facts.stdout_digest, Some(*blake3::hash(&vec![0; 3_000_000]).as_bytes()));
    let kept: Vec<usize> = court.outputs(&facts.evidence).iter().map(Vec::len).collect();
    assert_eq!(kept, [1 << 20, 1 << 20]);
    let cut: Vec<(&str, u64)> = facts.omitted.iter().map(|row| (row.class, row.count)).collect();
    assert_eq!(cut, [("stdout", 3_000_000 - (1 << 20)), ("stderr", 2_000_000 - (1 << 20))]);
    assert_eq!(facts.detail.len(), 4096);
    // Even one that never stops ends with its time.
    let endless = CourtOptions { timeout_s: Some(1), ..court.options("cat /dev/zero") };
    let facts = court::run(&court.life.repo, &endless, &Silent).unwrap();
    assert_eq!(facts.outcome, EvidenceOutcome::Inconclusive);
    assert_eq!(court.outputs(&facts.evidence)[0].len(), 1 << 20);
}

/// T-57: text that is none, and text cut inside a character.
#[test]
fn errors_that_are_no_text() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    let facts = court.run(r"head -c 4095 /dev/zero | tr '\0' a >&2; printf '\303\251\303\251' >&2; exit 1");
    assert_eq!(facts.detail, "a".repeat(4095));
    let facts = court.run(r"printf '\377\376 x' >&2; printf '\377' ; exit 1");
    assert_eq!(facts.detail, "\u{fffd}\u{fffd} x");
    assert_eq!(court.outputs(&facts.evidence), [b"\xff".to_vec(), b"\xff\xfe x".to_vec()]);
}

/// T-57: at the timeout everything that was started goes, also what holds the pipes or ignores signals.
#[test]
fn descendants_do_not_outlive_the_court() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    let marker = court.marker();
    let late = format!("(trap '' TERM HUP INT; sleep 5; touch {}) & sleep 60", marker.display());
    let began = Instant::now();
    let options = CourtOptions { timeout_s: Some(1), ..court.options(&format!("echo begun; {late}")) };
    let facts = court::run(&court.life.repo, &options, &Silent).unwrap();
    assert!(began.elapsed() < Duration::from_millis(4900), "{:?}", began.elapsed());
    assert_eq!((facts.outcome, facts.exit_code), (EvidenceOutcome::Inconclusive, None));
    assert_eq!(facts.detail, "court timed out after 1s");
    assert_eq!((facts.stdout_digest, facts.stderr_digest), (None, None));
    assert_eq!(court.outputs(&facts.evidence)[0], b"begun\n");

    // What stays behind a process that ended by itself goes as well, and does not hold the court up.
    let began = Instant::now();
    let facts = court.run(&format!("(sleep 5; touch {}) & echo done", marker.display()));
    assert!(began.elapsed() < Duration::from_millis(4900), "{:?}", began.elapsed());
    assert_eq!((facts.outcome, facts.exit_code), (EvidenceOutcome::Pass, Some(0)));
    assert_eq!(court.outputs(&facts.evidence)[0], b"done\n");
    std::thread::sleep(Duration::from_secs(6));
    assert!(!marker.exists());
}

/// A command that says nothing more, and one that stops itself, are still waited for, and no longer than their time.
#[test]
fn silent_and_stopped_commands_are_watched() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    let facts = court.run("echo said; exec >&- 2>&-; sleep 1; exit 4");
    assert_eq!((facts.outcome, facts.exit_code), (EvidenceOutcome::Fail, Some(4)));
    assert_eq!(court.outputs(&facts.evidence)[0], b"said\n");
    let stopped = CourtOptions { timeout_s: Some(1), ..court.options("kill -STOP $$; exit 5") };
    let facts = court::run(&court.life.repo, &stopped, &Silent).unwrap();
    assert_eq!(
        (facts.outcome, facts.detail.as_str()),
        (EvidenceOutcome::Inconclusive, "court timed out after 1s")
    );
}

/// A descendant in a session of its own is out of reach, but it cannot hold the court up.
#[cfg(target_os = "linux")]
#[test]
fn what_left_the_group_is_not_waited_for() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    let began = Instant::now();
    let facts = court.run("setsid sleep 5 & echo done");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(facts.outcome, EvidenceOutcome::Pass);
    assert_eq!(court.outputs(&facts.evidence)[0], b"done\n");
}

/// T-58: what stands behind a listed program never reaches a shell.
#[test]
fn an_allowlist_is_no_shell() {
    let court = Court::new(ExecutionPolicy::Allowlist);
    let marker = court.marker();
    fs::write(court.life.root.join("tool"), format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
    court.allowlist("# true\ntrue\nec*\n");
    for tail in
        ["; touch M", "&& touch M", "| touch M", "$(touch M)", "`touch M`", "\ntouch M", "\rtouch M", "> M"]
    {
        let options = court.options(&format!("true {}", tail.replace('M', &marker.display().to_string())));
        assert_eq!(court.refused(&options).code(), Code::PolicyDenied, "{tail:?}");
    }
    for command in ["./true", "../true", "/tmp/true", "ec/../tool", "# true", "touch M"] {
        let options = court.options(&command.replace('M', &marker.display().to_string()));
        assert_eq!(court.refused(&options).code(), Code::PolicyDenied, "{command:?}");
    }
    assert!(!marker.exists());
    let facts = court.run("echo  a\tb");
    assert_eq!(court.outputs(&facts.evidence)[0], b"a b\n");
    // Complete text with syntax goes to the shell it was written for.
    court.allowlist("echo a && echo b\n");
    let options = court.options("echo a && echo b");
    let plan = court::plan(&court.life.repo, &options).unwrap();
    assert_eq!(plan.verdict, Verdict::Runs(Way::Shell));
    let facts = court::run(&court.life.repo, &options, &Silent).unwrap();
    assert_eq!(court.outputs(&facts.evidence)[0], b"a\nb\n");
}

#[test]
fn allowlists_that_cannot_be_read() {
    let court = Court::new(ExecutionPolicy::Allowlist);
    let options = court.options("true");
    let path = court.life.root.join(".gemel/court.allowlist");
    assert_eq!(court.refused(&options).code(), Code::PolicyDenied);
    fs::write(court.life.root.join("mine"), "true\n").unwrap();
    std::os::unix::fs::symlink("../mine", &path).unwrap();
    assert_eq!(court.refused(&options).code(), Code::InvalidArgument);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(court.refused(&options).code(), Code::InvalidArgument);
    fs::remove_dir(&path).unwrap();
    fs::write(&path, vec![b'\n'; (1 << 20) + 1]).unwrap();
    assert_eq!(court.refused(&options).code(), Code::LimitExceeded);
}

#[test]
fn what_has_no_court() {
    let court = Court::new(ExecutionPolicy::PolicyGated);
    let check = |evidence: String, expected: &str| {
        let options = CourtOptions { evidence, allow: true, ..CourtOptions::default() };
        let error = court.refused(&options);
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.to_string().contains(expected), "{error}");
    };
    check("C1".to_owned(), "invalid: C1 is not evidence");
    check(court.evidence(None), "has no reproduction command");
    check(court.evidence(Some(" \t\n")), "has an empty reproduction command");
    check(court.evidence(Some("a\0b")), "has a reproduction command with a NUL");
    let options = CourtOptions { producer: Some("C1".to_owned()), ..court.options("true") };
    assert!(court.refused(&options).to_string().contains("is not a producer"));
    let options = CourtOptions { evidence: "nothing".to_owned(), ..CourtOptions::default() };
    assert_eq!(court.refused(&options).code(), Code::NotFound);
}

/// Anything may be recorded as a command; a plan of it never fails.
#[test]
fn any_command_can_be_looked_at() {
    let court = Court::new(ExecutionPolicy::Allowlist);
    court.allowlist("*\n");
    let blob = blob_envelope(b"x", &Limits::DEFAULT).unwrap();
    assert_eq!(blob.id.family(), Family::Blob);
    for command in ["-", "--", "é ü", "\u{202e}x", "a=b c", &"x ".repeat(100_000), "\u{a0}x", "%s", "^x"] {
        let options = court.options(command);
        court::plan(&court.life.repo, &options).unwrap();
    }
}
