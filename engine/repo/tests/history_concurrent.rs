//! Several writers at once, each with a repository handle of its own: nothing acknowledged is lost, no name is given
//! twice, and every change keeps its own parent (threat T-22).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_object::Gid;
use gemel_repo::facts::Silent;
use gemel_repo::history::{
    self, BeginOptions, FinishFacts, FinishOptions, LogOptions, LogOrder, SnapshotOptions,
};
use gemel_repo::{Repo, audit};
use gemel_store::vfs::real::RealDisk;
use history_support::{Life, strings, summed, write};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

const WRITERS: usize = 8;
const TURNS: usize = 6;

struct Outcome {
    changes: Vec<FinishFacts>,
    states: Vec<(String, Gid)>,
}

fn work(root: &std::path::Path, dir: &std::path::Path, writer: usize) -> Outcome {
    let mut outcome = Outcome { changes: Vec::new(), states: Vec::new() };
    let workspace = Some(format!("w{writer}"));
    for turn in 0..TURNS {
        // A handle for every command, as separate processes have.
        let open = || Repo::open(Arc::new(RealDisk::new()), root).unwrap();
        let now_ms = i64::try_from(turn * 100 + writer).unwrap();
        write(dir, "shared", &format!("{writer} {turn}"));
        let begin = BeginOptions {
            intent_summary: (turn == 0).then(|| format!("line {writer}")),
            from: (turn == 0).then(|| "S1".to_owned()),
            intent: outcome.changes.last().map(|done| intent_of(&open(), &done.change)),
            workspace: workspace.clone(),
            worktree: Some(dir.to_path_buf()),
            now_ms,
            ..BeginOptions::default()
        };
        history::begin(&open(), &begin).unwrap();
        let finish = FinishOptions {
            workspace: workspace.clone(),
            claims: strings(&["shared|works||evidence=0"]),
            evidence: strings(&["shared|pass"]),
            now_ms,
            ..summed(&format!("{writer}.{turn}"))
        };
        outcome.changes.push(history::finish(&open(), &finish, &Silent).unwrap());
        let snapshot = SnapshotOptions {
            workspace: workspace.clone(),
            worktree: Some(dir.to_path_buf()),
            now_ms,
            ..SnapshotOptions::default()
        };
        let taken = history::snapshot(&open(), &snapshot, &Silent).unwrap();
        outcome.states.push((taken.name, taken.state));
    }
    outcome
}

fn intent_of(repo: &Repo, change: &Gid) -> String {
    let bytes = repo.store().read(change).unwrap();
    let object = gemel_object::Object::decode(&bytes, &gemel_object::Limits::DEFAULT).unwrap();
    gemel_object::families::Change::view(&object).unwrap().intent().unwrap().to_string()
}

#[test]
fn eight_writers() {
    let life = Life::new();
    // Everybody starts from here, whoever is first.
    life.snapshot();
    let dirs: Vec<_> = (0..WRITERS).map(|n| life.beside(&format!("dir{n}"))).collect();
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let threads: Vec<_> = dirs
            .iter()
            .enumerate()
            .map(|(writer, dir)| {
                scope.spawn({
                    let root = &life.root;
                    move || work(root, dir, writer)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });

    let repo = life.reopen();
    let refs = repo.store().refs().unwrap();
    let mut names: HashMap<String, Gid> = HashMap::new();
    let mut give = |name: String, id: Gid| {
        assert!(names.insert(name.clone(), id).is_none(), "{name} was given twice");
    };
    for (writer, outcome) in outcomes.iter().enumerate() {
        let mut parent: Option<Gid> = None;
        for done in &outcome.changes {
            assert_eq!(done.parents, parent.into_iter().collect::<Vec<_>>(), "writer {writer}");
            assert_eq!(done.trajectory_name, outcome.changes[0].trajectory_name);
            assert_eq!(done.new_trajectory, parent.is_none());
            parent = Some(done.change);
            give(format!("refs/names/{}", done.change_name), done.change);
            give(format!("refs/names/{}", done.state_name), done.state);
            give(format!("refs/names/{}", done.claim_names[0]), done.claims[0]);
            give(format!("refs/names/{}", done.evidence_names[0]), done.evidence[0]);
        }
        for (name, state) in &outcome.states {
            give(format!("refs/names/{name}"), *state);
        }
        let last = outcome.changes.last().unwrap();
        give(format!("refs/trajectories/{}", last.trajectory_name), last.trajectory);
    }
    for (name, id) in &names {
        assert_eq!(refs.get(name).unwrap(), Some(*id), "{name}");
    }
    let all = LogOptions {
        scope: LogOrder::All,
        trajectory: None,
        operations: false,
        episodes: false,
        limit: 1000,
        cursor: None,
    };
    let logged: BTreeSet<Gid> =
        history::log(&repo, &all).unwrap().rows.into_iter().map(|row| row.id).collect();
    assert_eq!(logged.len(), WRITERS * TURNS);
    let facts = audit::run(&repo, &audit::AuditOptions::default(), &Silent).unwrap();
    assert_eq!(facts.exit_code(), 0, "{:?}", facts.problems);
}

/// Two beginnings of one change: one wins, the other is told.
#[test]
fn one_pending_change_a_workspace() {
    let life = Life::new();
    let begun: Vec<bool> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS)
            .map(|n| {
                let root = &life.root;
                scope.spawn(move || {
                    let repo = Repo::open(Arc::new(RealDisk::new()), root).unwrap();
                    let options = BeginOptions {
                        intent_summary: Some(format!("intent {n}")),
                        ..BeginOptions::default()
                    };
                    history::begin(&repo, &options).is_ok()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(begun.iter().filter(|won| **won).count(), 1);
    assert!(life.target("refs/names/I1").is_some() && life.target("refs/names/I2").is_none());
    // The same for finishing it.
    let finished: Vec<bool> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let root = &life.root;
                scope.spawn(move || {
                    let repo = Repo::open(Arc::new(RealDisk::new()), root).unwrap();
                    history::finish(&repo, &FinishOptions::default(), &Silent).is_ok()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(finished.iter().filter(|won| **won).count(), 1);
    assert!(life.target("refs/names/C1").is_some() && life.target("refs/names/C2").is_none());
}
