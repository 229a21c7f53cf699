//! Cost of the common commands over a long history; minutes of set-up. Run it with
//! `cargo run --release -p gemel-repo --example history_scale`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "fails by panicking, and prints what it measured"
)]

#[path = "../tests/history_support/mod.rs"]
mod history_support;

use gemel_object::families::{NewChange, NewIntent, NewState, NewTrajectory};
use gemel_object::{Encoded, Gid, Limits, TreeBuilder};
use gemel_repo::audit;
use gemel_repo::facts::Silent;
use gemel_repo::history::{self, BeginOptions, LogOptions, LogOrder};
use gemel_store::{NewObject, Writer};
use history_support::{Life, summed};
use std::time::Instant;

const L: Limits = Limits::DEFAULT;
const TRAJECTORIES: u32 = 10_000;
const CHANGES_EACH: u32 = 10;

fn put(writer: &Writer<'_>, object: Encoded) -> Gid {
    let id = object.id;
    writer.put(NewObject { id, bytes: object.bytes, base: None }).unwrap();
    id
}

/// 100,000 changes on one line, in 10,000 trajectories with an intent each.
fn build(life: &Life) {
    let producer = life.target("refs/names/P1").unwrap();
    let writer = life.repo.store().writer().unwrap();
    let mut refs: Vec<(String, Gid)> = Vec::new();
    let (mut head, mut state): (Option<Gid>, Option<Gid>) = (None, None);
    let mut number = 0u32;
    for t in 0..TRAJECTORIES {
        let intent = NewIntent {
            summary: Some(&format!("intent {t}")),
            producer: Some(producer),
            ..NewIntent::default()
        };
        let intent = put(&writer, intent.encode(&L).unwrap());
        refs.push((format!("refs/names/I{}", t + 1), intent));
        let (base, mut version) = (state, None);
        for _ in 0..CHANGES_EACH {
            number += 1;
            let blob = put(&writer, gemel_object::blob_envelope(number.to_string().as_bytes(), &L).unwrap());
            let mut tree = TreeBuilder::new();
            tree.push("a", gemel_object::Mode::File, &blob).unwrap();
            let tree = put(&writer, tree.finish(&L).unwrap());
            let result =
                put(&writer, NewState { root_tree: Some(tree), ..NewState::default() }.encode(&L).unwrap());
            let change = NewChange {
                summary: Some(&format!("change {number}")),
                intent: Some(intent),
                input_state: state,
                resulting_state: Some(result),
                producer: Some(producer),
                causal_parents: head.as_slice().first().map(|_| head.as_slice()),
                created_at: Some(i64::from(number) * 1000),
                ..NewChange::default()
            };
            let change = put(&writer, change.encode(&L).unwrap());
            let trajectory = NewTrajectory {
                previous: version,
                intent: Some(intent),
                base_state: base,
                added_changes: Some(&[change]),
                created_at: Some(i64::from(t)),
                updated_at: Some(i64::from(number) * 1000),
                ..NewTrajectory::default()
            };
            version = Some(put(&writer, trajectory.encode(&L).unwrap()));
            refs.push((format!("refs/names/C{number}"), change));
            refs.push((format!("refs/names/S{number}"), result));
            (head, state) = (Some(change), Some(result));
        }
        refs.push((format!("refs/trajectories/T{}", t + 1), version.unwrap()));
    }
    writer.commit().unwrap();
    let mut transaction = life.repo.store().transaction().unwrap();
    refs.push(("refs/head".into(), head.unwrap()));
    refs.push(("refs/state/head".into(), state.unwrap()));
    refs.push(("local/worktrees/default/state".into(), state.unwrap()));
    refs.push(("refs/trajectories/current".into(), refs[refs.len() - 4].1));
    for (name, id) in refs {
        transaction.set(name, id);
    }
    transaction.commit("test", 0).unwrap();
}

/// Milliseconds this thread has had a processor, so that a busy machine shows.
fn on_cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e6
}

fn timed<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let (start, cpu) = (Instant::now(), on_cpu_ms());
    let done = run();
    println!("{what:<32} {:>8.1} ms, on cpu {:>8.1}", start.elapsed().as_secs_f64() * 1e3, on_cpu_ms() - cpu);
    done
}

fn main() {
    let life = Life::new();
    timed("build", || build(&life));
    life.write("a", &(TRAJECTORIES * CHANGES_EACH).to_string());
    let log = |cursor| LogOptions {
        scope: LogOrder::Head,
        trajectory: None,
        operations: false,
        episodes: false,
        limit: 100,
        cursor,
    };
    for round in 0..3 {
        println!("round {round}");
        let page = timed("log", || history::log(&life.reopen(), &log(None)).unwrap());
        assert_eq!(page.rows.len(), 100);
        timed("log, second page", || history::log(&life.reopen(), &log(page.page.next.clone())).unwrap());
        let all = LogOptions { scope: LogOrder::All, ..log(None) };
        timed("log --all", || history::log(&life.reopen(), &all).unwrap());
        timed("status", || life.status());
        timed("begin, new intent", || {
            life.begin(BeginOptions {
                intent_summary: Some(format!("new {round}")),
                ..BeginOptions::default()
            })
        });
        life.write("a", &format!("new {round}"));
        let done = timed("finish, new trajectory", || life.finish(summed("x")));
        assert!(done.new_trajectory && done.parents.len() == 1);
        timed("begin, same intent", || {
            life.begin(BeginOptions {
                intent: done.parents.first().map(|_| "I10001".into()),
                ..BeginOptions::default()
            })
        });
        life.write("a", &format!("newer {round}"));
        timed("finish", || life.finish(summed("x")));
        timed("refs scan of changes", || {
            life.repo.store().refs().unwrap().scan("refs/names/C").unwrap().count()
        });
    }
    timed("fsck", || {
        let facts = audit::run(&life.reopen(), &audit::AuditOptions::default(), &Silent).unwrap();
        assert_eq!(facts.exit_code(), 0, "{:?}", facts.problems.first());
    });
    timed("gc --dry-run", || history::gc_plan(&life.reopen(), &Silent).unwrap());
    life.write("a", "unrecorded");
    timed("snapshot", || life.snapshot());
    timed("begin after a snapshot", || life.begin(BeginOptions::default()));
    life.write("a", "newest");
    timed("finish after a snapshot", || life.finish(summed("x")));
}
