//! A case is a history and what it must look like; every case is put through the same checks.

use crate::back::comes_back;
use crate::fixture::{Git, git_in};
use crate::gemel::{Gemel, Refs};
use crate::peer::{Peer, shared};
use gemel_git::import::HeadOutcome;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One odd history.
pub(crate) struct Case {
    name: &'static str,
    build: fn() -> Git,
    head: Option<&'static str>,
    losses: &'static [&'static str],
    /// Whether release 0.12 gives the same identities.
    as_0_12: bool,
}

/// The history that `build` makes.
pub(crate) fn case(name: &'static str, build: fn() -> Git) -> Case {
    Case { name, build, head: None, losses: &[], as_0_12: true }
}

impl Case {
    /// Head in one line, as [`Gemel::shown`] puts it.
    pub(crate) fn head(self, line: &'static str) -> Case {
        Case { head: Some(line), ..self }
    }

    /// What the mapping of the head commit says is lost.
    pub(crate) fn losses(self, losses: &'static [&'static str]) -> Case {
        Case { losses, ..self }
    }

    /// Release 0.12 refuses it, or loses or changes something.
    pub(crate) fn unlike_0_12(self) -> Case {
        Case { as_0_12: false, ..self }
    }

    fn check(&self) {
        let git = (self.build)();
        let gemel = Gemel::new();
        let report = gemel.import(&git);
        gemel.fsck();
        let shown = gemel.shown();
        if let Some(head) = self.head {
            assert_eq!(shown, head);
        }
        let head = git_in(&git.dir, &["rev-parse", "--verify", "HEAD^{commit}"], b"");
        assert_eq!(report.tip.is_some(), head.is_ok());
        if let Ok(head) = &head {
            let head = String::from_utf8_lossy(head);
            assert_eq!(gemel.losses(head.trim_end()), self.losses);
            assert_eq!((report.tip, report.head), (gemel.target("refs/head"), HeadOutcome::Set));
        }
        changes_nothing_again(&git, &gemel);
        in_two_steps(&git, &gemel);
        comes_back(&git, &gemel);
        if let Some(peer) = Peer::named().filter(|_| report.tip.is_some()) {
            let ours = Gemel::new();
            ours.import_head(&git, "HEAD");
            let theirs = peer.import(&git);
            let same = theirs.as_ref().is_ok_and(|refs| shared(refs.clone()) == shared(ours.refs()));
            assert_eq!(same, self.as_0_12, "whether release 0.12 agrees: {:.200}", format!("{theirs:?}"));
        }
    }
}

fn changes_nothing_again(git: &Git, gemel: &Gemel) {
    let (before, sequence) = (gemel.refs(), gemel.sequence());
    let again = gemel.import(git);
    assert_eq!((again.changes, again.trajectories, again.objects), (0, 0, 0), "a second import");
    assert!(gemel.refs() == before, "a second import moved refs");
    assert_eq!(gemel.sequence(), sequence, "a second import published what was published");
}

/// Takes a part first: the result is that of one run, if the part is what that run begins with.
fn in_two_steps(git: &Git, whole: &Gemel) {
    let lines = |args: &[&str]| -> Vec<String> {
        let out = git_in(&git.dir, &[&["--no-replace-objects"], args].concat(), b"").unwrap_or_default();
        String::from_utf8_lossy(&out).lines().map(str::to_owned).collect()
    };
    let order = lines(&["rev-list", "--topo-order", "--reverse", "HEAD"]);
    let Some(part) = lines(&["rev-list", "--first-parent", "HEAD"]).into_iter().find(|commit| {
        let at = order.iter().position(|other| other == commit).unwrap_or(usize::MAX);
        at < order.len().div_ceil(2)
    }) else {
        return;
    };
    let grown = Gemel::new();
    grown.import_head(git, &part);
    grown.fsck();
    grown.import(git);
    grown.fsck();
    assert_eq!(grown.shown(), whole.shown(), "head after two runs");
    let is_beginning = lines(&["rev-list", "--topo-order", "--reverse", &part])
        .iter()
        .eq(order.iter().take_while(|c| **c != part).chain([&part]));
    if is_beginning {
        // Versions of a trajectory are cut where a run ended.
        let fixed = |refs: Refs| -> Refs {
            refs.into_iter().filter(|(n, _)| !n.starts_with("refs/trajectories/")).collect()
        };
        let mut differing = differences(&fixed(grown.refs()), &fixed(whole.refs()));
        // What a later run does not see in a state any more is kept as it is, which is more than one run keeps.
        differing.retain(|line| !(line.contains("/git_raw/") && line.ends_with(" None")));
        assert_eq!(differing, [""; 0], "refs after two runs");
        assert_eq!(grown.trajectories(), whole.trajectories(), "trajectories after two runs");
    }
}

/// Names that only one of two has, or that have other targets.
pub(crate) fn differences(one: &Refs, other: &Refs) -> Vec<String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differing = names.into_iter().filter(|name| one.get(*name) != other.get(*name));
    differing.map(|name| format!("{name} {:?} {:?}", one.get(name), other.get(name))).collect()
}

/// Checks all, and then says which failed.
pub(crate) fn run(cases: Vec<Case>) {
    let failed: Vec<&str> = cases
        .iter()
        .filter(|case| {
            let began = std::time::Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| case.check()));
            println!("{} {:?}{}", case.name, began.elapsed(), if outcome.is_err() { " FAILED" } else { "" });
            outcome.is_err()
        })
        .map(|case| case.name)
        .collect();
    assert!(failed.is_empty(), "failed: {}", failed.join(", "));
}
