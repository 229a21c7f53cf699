//! The life of a repository: S0, intent, change, state, trajectory; workspaces side by side.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_object::Family;
use gemel_repo::facts::{PathStatus, Silent};
use gemel_repo::history::{
    self, BeginOptions, DiffKind, DiffOptions, FinishOptions, LogOptions, LogOrder, Side, Standing,
};
use gemel_repo::knowledge::Verdict;
use gemel_repo::names;
use history_support::{Life, strings, summed, write};

fn log_names(life: &Life, scope: LogOrder) -> Vec<String> {
    let options =
        LogOptions { scope, trajectory: None, operations: true, episodes: false, limit: 100, cursor: None };
    history::log(&life.repo, &options).unwrap().rows.into_iter().map(|row| row.name.unwrap()).collect()
}

/// Object model, section 12: an init at time 0 makes the pinned objects.
#[test]
fn init_makes_the_pinned_objects() {
    let temp = tempfile::tempdir().unwrap();
    let disk = std::sync::Arc::new(gemel_store::vfs::real::RealDisk::new());
    let facts =
        gemel_repo::Repo::init(disk.clone(), temp.path(), &gemel_repo::InitOptions::default()).unwrap();
    assert_eq!(
        facts.config.to_string(),
        "config.bbd4644444dfaeb004ee825e6e86addd81c9a7d22084720e54f9aed9375253bb"
    );
    assert_eq!(
        facts.default_producer.to_string(),
        "producer.06ff971e7bf19de0c069e0e230a03f470f242aabf7496ee7e3b5558301e7e730"
    );
    let refs = facts.repo.store().refs().unwrap();
    assert_eq!(refs.get("refs/config").unwrap(), Some(facts.config));
    assert_eq!(refs.get("refs/names/P1").unwrap(), Some(facts.default_producer));
    let ignore = std::fs::read_to_string(temp.path().join(".gemel/.gitignore")).unwrap();
    assert_eq!(ignore, "*\n!.gitignore\n!exchange/\n!exchange/**\n");
    let again = gemel_repo::Repo::init(disk, temp.path(), &gemel_repo::InitOptions::default()).unwrap_err();
    assert!(matches!(again, gemel_repo::RepoError::AlreadyExists { .. }), "{again}");
}

/// The whole life S0 -> I1 -> T1 -> C1 -> S1. DER-07: links are those declared, and no others. DER-09: the capture says
/// that it is coherent. REF-04: all names of the command stand together.
/// Shows FAM-08, FAM-09, FAM-16.
#[test]
fn one_change_from_beginning_to_end() {
    let life = Life::new();
    life.write("src/lib.rs", "fn a() {}\n");
    life.write("README", "hello\n");
    let s0 = life.snapshot();
    assert_eq!((s0.name.as_str(), s0.files, s0.bytes, s0.coherent), ("S1", 2, 16, true));
    let begun =
        life.begin(BeginOptions { intent_summary: Some("Faster a".into()), ..BeginOptions::default() });
    assert_eq!((begun.input_state, begun.intent_name.as_deref()), (Some(s0.state), Some("I1")));
    life.write("src/lib.rs", "fn a() { b() }\n");
    life.write("src/b.rs", "fn b() {}\n");
    life.remove("README");

    let pending = history::change_status(&life.repo, None, &Silent).unwrap();
    let changed: Vec<_> = pending.changed.iter().map(|c| (c.path.as_str(), c.status)).collect();
    assert_eq!(
        changed,
        [
            ("README", PathStatus::Deleted),
            ("src/b.rs", PathStatus::Added),
            ("src/lib.rs", PathStatus::Modified)
        ]
    );
    assert_eq!(pending.intent.unwrap().summary.as_deref(), Some("Faster a"));

    let before = life.all_refs();
    let options = FinishOptions {
        summary: Some("use b".into()),
        evidence: strings(&["src/lib.rs|pass|test_result|state=result", "src/b.rs"]),
        claims: strings(&["src/lib.rs|a is fast|performance|evidence=0"]),
        residuals: strings(&["b untested|low|verification_gap|claims=0;paths=src/b.rs"]),
        ..FinishOptions::default()
    };
    let planned = life.try_finish(FinishOptions { dry_run: true, ..options.clone() }).unwrap();
    assert_eq!(life.all_refs(), before, "a dry run writes nothing");
    let done = life.finish(options);
    assert_eq!(planned.state, done.state);
    assert_eq!(planned.change_name, done.change_name);
    assert_eq!(
        (
            done.change_name.as_str(),
            done.trajectory_name.as_str(),
            done.state_name.as_str(),
            done.new_trajectory
        ),
        ("C1", "T1", "S2", true)
    );
    assert_eq!(done.claim_names, ["Cl1"]);
    assert_eq!(done.evidence_names, ["E1", "E2"]);
    assert_eq!(done.residual_names, ["R1"]);
    assert_eq!(done.operations.len(), 3);
    assert_eq!(done.uncertainty.len(), 1, "an outcome that was not stated");
    life.with_change(&done.change, |change| {
        assert_eq!(change.summary(), "use b");
        assert_eq!(change.input_state(), Some(s0.state));
        assert_eq!(change.resulting_state(), Some(done.state));
        assert_eq!(change.causal_parents().len(), 0);
        assert!(change.trajectory().is_none() && change.disclosure().is_none());
        assert_eq!(change.claims().iter().collect::<Vec<_>>(), done.claims);
    });
    life.with_trajectory(&done.trajectory, |version| {
        assert_eq!((version.previous(), version.base_state()), (None, Some(s0.state)));
        assert_eq!(version.added_evidence().iter().collect::<Vec<_>>(), done.evidence);
    });
    for (name, target) in [
        ("refs/head", done.change),
        ("refs/state/head", done.state),
        ("refs/names/C1", done.change),
        ("refs/names/S2", done.state),
        ("refs/trajectories/T1", done.trajectory),
        ("refs/trajectories/current", done.trajectory),
        ("refs/names/R1", done.residuals[0]),
        ("local/worktrees/default/state", done.state),
        ("local/worktrees/default/change", done.change),
    ] {
        assert_eq!(life.target(name), Some(target), "{name}");
    }

    let status = life.status();
    assert!(status.changed.is_empty());
    assert_eq!(status.trajectory.unwrap().name.as_deref(), Some("T1"));
    assert_eq!(status.intent.unwrap().summary.as_deref(), Some("Faster a"));
    assert_eq!(status.state.unwrap().name.as_deref(), Some("S2"));
    // The claim has a pass, and an open residual names it.
    assert_eq!((status.claims.proposed, status.claims.partially_supported), (1, 1));
    assert_eq!(status.readiness.verdict, Verdict::ReadyWithResiduals);
    assert_eq!(status.residuals.len(), 1);
    assert!(!status.workspace.pending && status.workspace.standing == Standing::AtHead);

    let shown = history::show(&life.repo, "C1").unwrap();
    assert_eq!((shown.id, shown.name.as_deref()), (done.change, Some("C1")));
    assert_eq!(names::name_of(&life.repo, &done.claims[0]).unwrap().as_deref(), Some("Cl1"));
    assert_eq!(log_names(&life, LogOrder::Head), ["C1"]);
}

/// DER-08, QRY-05
#[test]
fn the_log_tells_where_each_change_belongs() {
    let life = Life::new();
    life.begin(BeginOptions { intent_summary: Some("First".into()), ..BeginOptions::default() });
    life.write("a", "1");
    let c1 = life.finish(summed("one"));
    life.begin(BeginOptions { intent_summary: Some("Second".into()), ..BeginOptions::default() });
    life.write("a", "2");
    life.finish(summed("two"));
    life.write("a", "3");
    let c3 = life.change(Some("I1"), "three");
    // I1 was not continued from the state of T1, but all of T1 leads here.
    assert_eq!((c3.trajectory_name.as_str(), c3.new_trajectory), ("T1", false));
    life.with_trajectory(&c3.trajectory, |version| {
        assert_eq!(version.previous(), Some(c1.trajectory));
        let first = life.with_trajectory(&c1.trajectory, |first| first.created_at());
        assert_eq!(version.created_at(), first);
        assert!(version.updated_at() > first);
    });
    let options = LogOptions {
        scope: LogOrder::Head,
        trajectory: None,
        operations: true,
        episodes: false,
        limit: 2,
        cursor: None,
    };
    let page = history::log(&life.repo, &options).unwrap();
    let rows: Vec<_> = page
        .rows
        .iter()
        .map(|row| (row.name.as_deref().unwrap(), row.trajectory.as_ref().unwrap().name.as_deref().unwrap()))
        .collect();
    assert_eq!(rows, [("C3", "T1"), ("C2", "T2")]);
    assert_eq!(page.rows[0].operation_rows[0].path.as_deref(), Some("a"));
    assert_eq!(page.rows[0].parents, [page.rows[1].id]);
    let next =
        history::log(&life.repo, &LogOptions { cursor: page.page.next.clone(), ..options.clone() }).unwrap();
    assert_eq!(next.rows.len(), 1);
    assert_eq!((next.rows[0].name.as_deref(), next.page.next.is_none()), (Some("C1"), true));
    // The anchor moved: the page goes on behind it wherever it is.
    let mut moved = page.page.next.unwrap();
    moved.offset = 1;
    let again = history::log(&life.repo, &LogOptions { cursor: Some(moved), ..options.clone() }).unwrap();
    assert_eq!(again.rows[0].name.as_deref(), Some("C1"));
    let only = LogOptions { trajectory: Some("T2".into()), ..options.clone() };
    assert_eq!(history::log(&life.repo, &only).unwrap().rows.len(), 1);
    assert!(history::log(&life.repo, &LogOptions { limit: 0, ..options.clone() }).is_err());
    let capped = history::log(&life.repo, &LogOptions { limit: 5000, ..options }).unwrap();
    assert!(capped.page.notice.unwrap().contains("1000"));
}

/// Workflow, section 4.5: two workspaces that take turns keep their own parents and trajectories.
#[test]
fn interleaved_workspaces() {
    let life = Life::new();
    life.write("base", "0");
    let base = life.snapshot();
    let (a, b) = (life.beside("a"), life.beside("b"));
    for dir in [&a, &b] {
        write(dir, "base", "0");
    }
    let mut last: [Option<gemel_object::Gid>; 2] = [None, None];
    let intents = ["I1", "I2"];
    for turn in 0..3 {
        for (side, (dir, name)) in [(&a, "wa"), (&b, "wb")].into_iter().enumerate() {
            life.begin(BeginOptions {
                intent: (turn > 0).then(|| intents[side].to_owned()),
                intent_summary: (turn == 0).then(|| format!("line {name}")),
                workspace: Some(name.into()),
                worktree: Some(dir.clone()),
                from: (turn == 0).then(|| "S1".to_owned()),
                ..BeginOptions::default()
            });
            write(dir, name, &turn.to_string());
            let done = life.finish(FinishOptions { workspace: Some(name.into()), ..summed(name) });
            assert_eq!(done.trajectory_name, format!("T{}", side + 1));
            assert_eq!(done.new_trajectory, turn == 0);
            assert_eq!(done.parents, last[side].into_iter().collect::<Vec<_>>());
            assert_eq!(done.operations.len(), 1);
            last[side] = Some(done.change);
        }
    }
    assert_eq!(life.target("refs/head"), last[1]);
    assert_eq!(log_names(&life, LogOrder::Head), ["C6", "C4", "C2"]);
    assert_eq!(log_names(&life, LogOrder::All), ["C6", "C5", "C4", "C3", "C2", "C1"]);
    let list = history::workspace_list(&life.repo).unwrap();
    let rows: Vec<_> = list.iter().map(|row| (row.name.as_str(), row.standing, row.pending)).collect();
    assert_eq!(
        rows,
        [
            ("default", Standing::Behind, false),
            ("wa", Standing::Differs, false),
            ("wb", Standing::AtHead, false)
        ]
    );
    assert_eq!(list[1].path.as_deref(), Some(a.as_path()));
    // The default workspace still stands where it was.
    assert_eq!(life.target("local/worktrees/default/state"), Some(base.state));
    assert!(life.status().changed.is_empty() && life.status().workspace.standing == Standing::Behind);
    history::workspace_remove(&life.repo, "wa", false, life.now()).unwrap();
    assert!(history::workspace_remove(&life.repo, "wa", false, life.now()).is_err());
}

/// A change may continue from a state that only an older change resulted in.
#[test]
fn going_back_finds_the_old_parent() {
    let life = Life::new();
    life.write("a", "1");
    let c1 = life.change(None, "one");
    life.write("a", "2");
    let c2 = life.change(None, "two");
    assert_eq!((c2.trajectory_name.as_str(), c2.parents.as_slice()), ("T1", [c1.change].as_slice()));
    life.begin(BeginOptions { from: Some("S1".into()), ..BeginOptions::default() });
    life.write("a", "3");
    let c3 = life.finish(summed("three"));
    assert_eq!(c3.parents, [c1.change]);
    // T1 has gone on to another state and holds a change that does not lead here.
    assert_eq!((c3.trajectory_name.as_str(), c3.new_trajectory), ("T2", true));
    // Content counts, not identity: a state made without a capture record has no other content.
    life.begin(BeginOptions { from: Some("S2".into()), ..BeginOptions::default() });
    life.write("a", "4");
    let c4 = life.finish(summed("four"));
    assert_eq!((c4.parents.as_slice(), c4.trajectory_name.as_str()), ([c2.change].as_slice(), "T1"));
}

#[test]
fn first_change_without_a_state() {
    let life = Life::new();
    life.write("b", "2");
    life.write("a/x", "1");
    let begun = life.begin(BeginOptions::default());
    assert_eq!((begun.input_state, begun.intent), (None, None));
    let done = life.finish(FinishOptions::default());
    assert_eq!(done.summary, "change");
    assert_eq!(done.operations.len(), 2);
    life.with_change(&done.change, |change| assert!(change.input_state().is_none()));
    let empty = life.change(None, "nothing");
    assert!(empty.operations.is_empty() && !empty.new_trajectory);
    assert_eq!(empty.state, done.state);
}

#[test]
fn agent_runs_are_made_or_linked() {
    let life = Life::new();
    life.begin(BeginOptions::default());
    let agent = history::AgentOptions {
        model_id: Some("m".into()),
        permissions: strings(&["write"]),
        tools: strings(&["cargo=1.95"]),
        ..history::AgentOptions::default()
    };
    let done = life.finish(FinishOptions {
        agent: agent.clone(),
        disclosure: Some("REDACTED".into()),
        instruction_digest: Some("ab".repeat(32)),
        ..FinishOptions::default()
    });
    let run = done.agent_run.unwrap();
    assert_eq!((run.family(), done.agent_run_name.as_deref()), (Family::AgentRun, Some("A1")));
    life.with_change(&done.change, |change| {
        assert_eq!(change.agent_run(), Some(run));
        assert_eq!(change.instruction_digest(), Some([0xAB; 32].as_slice()));
    });
    life.with_trajectory(&done.trajectory, |version| assert_eq!(version.agent_run(), Some(run)));
    life.begin(BeginOptions::default());
    let both = FinishOptions { agent_run: Some("A1".into()), agent, ..FinishOptions::default() };
    assert!(life.try_finish(both).is_err());
    let linked = life.finish(FinishOptions { agent_run: Some("A1".into()), ..FinishOptions::default() });
    assert_eq!((linked.agent_run, linked.agent_run_name), (Some(run), None));
}

#[test]
fn diff_between_states_and_files() {
    let life = Life::new();
    life.write("keep", "same\n");
    life.write("old/name", "moved content\n");
    life.write("gone", "x\n");
    let s1 = life.snapshot();
    life.remove("gone");
    life.remove("old/name");
    life.write("new/name", "moved content\n");
    life.write("keep", "changed\n");
    let of = |a: Option<&str>, b: Option<&str>| {
        let options = DiffOptions { a: a.map(str::to_owned), b: b.map(str::to_owned), workspace: None };
        history::diff(&life.repo, &options, &Silent).unwrap()
    };
    let check = |facts: &history::DiffFacts| {
        let entries: Vec<_> = facts.entries.iter().map(|e| (e.path.as_str(), e.kind.clone())).collect();
        assert_eq!(
            entries,
            [
                ("gone", DiffKind::Deleted),
                ("keep", DiffKind::Modified),
                ("new/name", DiffKind::Renamed { from: "old/name".into() }),
            ]
        );
        assert_eq!(facts.old_bytes(&life.repo, &facts.entries[1]).unwrap(), b"same\n");
        assert_eq!(facts.new_bytes(&life.repo, &facts.entries[1]).unwrap(), b"changed\n");
        assert_eq!(facts.old_bytes(&life.repo, &facts.entries[2]).unwrap(), b"moved content\n");
        assert!(facts.new_bytes(&life.repo, &facts.entries[0]).unwrap().is_empty());
    };
    let files = of(None, None);
    assert!(matches!(&files.b, Side::Worktree { dir } if *dir == life.root));
    check(&files);
    check(&of(Some("S1"), None));
    let s2 = life.snapshot();
    assert!(of(None, None).entries.is_empty());
    check(&of(Some("S1"), Some("S2")));
    assert_ne!(s1.state, s2.state);
    let added = of(None, Some("S2"));
    assert!(added.entries.is_empty());
}

/// RET-01, RET-02
#[test]
fn gc_plan_keeps_everything_by_default() {
    let life = Life::new();
    life.write("a", "1");
    life.change(None, "one");
    let plan = history::gc_plan(&life.repo, &Silent).unwrap();
    assert_eq!((plan.candidate_count, plan.missing.len(), plan.enabled), (0, 0, false));
    assert_eq!(plan.rows[0].unreachable + plan.rows[1].reachable, 0);
    assert_eq!(plan.rows[0].reachable, plan.objects);
    assert!(plan.rows[0].reachable_bytes > 0);
}
