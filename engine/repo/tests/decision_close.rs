//! Closing with a handoff, and checkpoints (workflow, sections 5 and 9).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_repo::decision::{self, CheckpointOptions, CloseFacts, CloseOptions};
use gemel_repo::history::{BeginOptions, FinishOptions};
use gemel_repo::knowledge::Session;
use gemel_repo::{Code, RepoError};
use history_support::{Life, strings, summed};

fn close(life: &Life, trajectory: &str, outcome: &str, more: CloseOptions) -> Result<CloseFacts, RepoError> {
    let options = CloseOptions {
        trajectory: trajectory.to_owned(),
        outcome: outcome.to_owned(),
        now_ms: life.now(),
        ..more
    };
    decision::close(&mut Session::new(&life.repo), &options)
}

/// One attempt with a supported, an unverified and a contradicted claim and a residual.
fn attempt(life: &Life) {
    life.write("a", "one");
    life.begin(BeginOptions { intent_summary: Some("Reach it".to_owned()), ..BeginOptions::default() });
    life.finish(FinishOptions {
        claims: strings(&["a|holds||evidence=0", "a|is fast", "a|is small||evidence=1"]),
        evidence: strings(&["a|pass|test_result|state=result", "a|fail|benchmark|state=result"]),
        residuals: strings(&["odd on Tuesdays|high|semantic_divergence"]),
        ..summed("first")
    });
}

#[test]
fn a_close_leaves_a_derived_handoff() {
    let life = Life::new();
    attempt(&life);
    let before = life.target("refs/trajectories/T1").unwrap();
    let created = life.with_trajectory(&before, |version| version.created_at());
    let more = CloseOptions {
        reason: Some("too slow".to_owned()),
        next_steps: strings(&["try an index"]),
        ..CloseOptions::default()
    };
    let facts = close(&life, "T1", "rejected", more).unwrap();
    assert_eq!((facts.name.as_str(), facts.previous, facts.outcome), ("T1", before, "rejected"));
    let handoff = &facts.handoff;
    let line = "rejected: 1 change(s), 1 open residual(s), 2 open claim(s)";
    assert_eq!(handoff.summary.as_deref(), Some(line));
    assert_eq!(handoff.completed, ["verified: holds"]);
    assert_eq!(
        handoff.remaining,
        ["resolve semantic_divergence: odd on Tuesdays", "verify: is fast", "verify: is small"]
    );
    assert_eq!(handoff.open_residuals, [life.target("refs/names/R1").unwrap()]);
    assert_eq!(handoff.important_evidence.len(), 2);
    let claim = handoff.next_steps[0].strip_prefix("contradicted claim claim.");
    assert!(claim.is_some_and(|hex| hex.len() == 64), "{:?}", handoff.next_steps);
    let residual = life.target("refs/names/R1").unwrap();
    assert_eq!(
        handoff.next_steps[1..],
        [format!("open residual {residual} (high)"), "try an index".to_owned()]
    );
    for name in ["refs/trajectories/T1", "refs/trajectories/current"] {
        assert_eq!(life.target(name), Some(facts.version), "{name}");
    }
    life.with_trajectory(&facts.version, |version| {
        assert_eq!(version.previous(), Some(before));
        assert_eq!(version.termination_reason(), Some("too slow"));
        assert_eq!(version.created_at(), created);
        assert_eq!(version.handoff().unwrap().next_steps().iter().count(), 3);
    });
}

#[test]
fn an_end_is_final_and_refusals_record_nothing() {
    let life = Life::new();
    attempt(&life);
    let first = life.target("refs/trajectories/T1").unwrap();
    close(&life, "T1", "abandoned", CloseOptions::default()).unwrap();
    let all = life.all_refs();
    for (trajectory, outcome) in
        [("T1", "completed"), (first.to_string().as_str(), "completed"), ("T1", "bogus"), ("C1", "completed")]
    {
        let refused = close(&life, trajectory, outcome, CloseOptions::default()).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{trajectory} {outcome}: {refused}");
    }
    let blank = CloseOptions { next_steps: strings(&[" "]), ..CloseOptions::default() };
    assert_eq!(close(&life, "T1", "completed", blank).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(close(&life, "T9", "completed", CloseOptions::default()).unwrap_err().code(), Code::NotFound);
    assert_eq!(life.all_refs(), all);
    // The next change of the same intent is a new attempt, and the old one is recommended to it.
    life.write("a", "two");
    assert_eq!(life.change(Some("I1"), "second").trajectory_name, "T2");
    let facts = close(&life, "T2", "completed", CloseOptions::default()).unwrap();
    assert_eq!(facts.handoff.recommended_objects, [life.target("refs/trajectories/T1").unwrap()]);
}

/// Another trajectory's end leaves the current one alone.
#[test]
fn current_moves_only_with_its_own_chain() {
    let life = Life::new();
    attempt(&life);
    life.write("b", "other");
    life.begin(BeginOptions { intent_summary: Some("Other".to_owned()), ..BeginOptions::default() });
    life.finish(summed("other"));
    let current = life.target("refs/trajectories/current");
    close(&life, "T1", "interrupted", CloseOptions::default()).unwrap();
    assert_eq!(life.target("refs/trajectories/current"), current);
}

#[test]
fn checkpoints_are_derived_capped_and_chained() {
    let life = Life::new();
    let make = |summary: Option<&str>| {
        let options = CheckpointOptions {
            summary: summary.map(str::to_owned),
            now_ms: life.now(),
            ..CheckpointOptions::default()
        };
        decision::checkpoint(&mut Session::new(&life.repo), &options).unwrap()
    };
    let empty = make(None);
    assert_eq!((empty.name.as_deref(), empty.summary.as_str()), (Some("K1"), "continue current work"));
    attempt(&life);
    let facts = make(None);
    assert_eq!((facts.name.as_deref(), facts.previous), (Some("K2"), Some(empty.id)));
    assert_eq!(facts.summary, "continue: Reach it");
    assert_eq!((facts.open_claims.len(), facts.unresolved_residuals.len()), (2, 1));
    assert_eq!(facts.important_evidence.len(), 2);
    assert_eq!(facts.trajectory.as_ref().unwrap().name.as_deref(), Some("T1"));
    assert_eq!(
        facts.continuation_scope,
        ["resolve semantic_divergence: odd on Tuesdays", "verify: is fast", "verify: is small"]
    );
    let read = decision::checkpoint_show(&life.repo, "K2").unwrap();
    assert_eq!(read, decision::checkpoint_current(&life.repo).unwrap());
    assert_eq!(read.recent_decisions, facts.recent_decisions);
    for turn in 0..12 {
        life.write("a", &format!("turn {turn}"));
        life.begin(BeginOptions { intent: Some("I1".to_owned()), ..BeginOptions::default() });
        life.finish(FinishOptions {
            claims: vec![format!("a|number {turn}"), format!("a|again {turn}")],
            ..summed("more")
        });
    }
    let facts = make(Some("mine"));
    assert_eq!(facts.summary, "mine");
    assert_eq!((facts.open_claims.len(), facts.recent_decisions.len()), (16, 8));
    // The claim that was supported may require a refresh since.
    let classes: Vec<_> = facts.omitted.iter().map(|cut| (cut.class, cut.count)).collect();
    assert_eq!(classes, [("decision", 1), ("claim", 11), ("continuation", 13)]);
    assert_eq!(decision::checkpoint_list(&life.repo).unwrap().len(), 3);
}
