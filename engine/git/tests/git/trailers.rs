//! Commits that say which change they are: believed only when everything agrees.

use crate::fixture::{Git, people};
use crate::gemel::Gemel;
use gemel_object::Gid;

/// A repository whose history is a root and one commit on it, and what a second import finds beside them.
struct Known {
    git: Git,
    gemel: Gemel,
    tree: String,
    root: String,
    tip: String,
}

impl Known {
    fn new() -> Known {
        let git = Git::new();
        let tree = git.small_tree();
        let root = git.commit(&git.tree(&[]), &[], "root");
        let tip = git.commit(&tree, &[&root], "subject\n\nbody");
        git.set("refs/heads/main", &tip);
        let gemel = Gemel::of(&git);
        Known { git, gemel, tree, root, tip }
    }

    /// Imports a commit with this message and answers how many were recognised, ignored, made, and its change.
    fn says(&self, tree: &str, parents: &[&str], message: &str) -> (u64, u64, u64, Gid) {
        let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
        let oid = self.git.raw_commit(tree, format!("{parents}{}\n{message}", people(77)).as_bytes());
        self.git.set("refs/heads/other", &oid);
        let report = self.gemel.import(&self.git);
        self.gemel.fsck();
        (report.relinked, report.ignored_trailers, report.changes, self.gemel.change_of(&oid))
    }
}

/// Threat T-19.
#[test]
fn a_trailer_is_believed_only_when_all_agrees() {
    type Said = fn(&Known, &str) -> (u64, u64, u64, Gid);
    let cases: &[(&str, bool, u64, Said)] = &[
        ("all as it was", true, 0, |k, id| {
            k.says(&k.tree, &[&k.root], &format!("subject\n\nGEMEL-CHANGE: {id}\n"))
        }),
        ("with more of the block, in any case", true, 1, |k, id| {
            let block = format!("gemel-change:{id}\nGemel-Intent: x\nGEMEL-EXPORT-VERSION: 2");
            k.says(&k.tree, &[&k.root], &format!("subject\n\n{block}"))
        }),
        ("another tree", false, 1, |k, id| {
            k.says(&k.git.tree(&[]), &[&k.root], &format!("subject\n\nGEMEL-CHANGE: {id}\n"))
        }),
        ("no parent", false, 1, |k, id| k.says(&k.tree, &[], &format!("subject\n\nGEMEL-CHANGE: {id}\n"))),
        ("another parent", false, 1, |k, id| {
            k.says(&k.tree, &[&k.tip], &format!("subject\n\nGEMEL-CHANGE: {id}\n"))
        }),
        ("a parent twice", false, 1, |k, id| {
            k.says(&k.tree, &[&k.root, &k.root], &format!("subject\n\nGEMEL-CHANGE: {id}\n"))
        }),
        ("another summary", false, 1, |k, id| {
            k.says(&k.tree, &[&k.root], &format!("evil\n\nGEMEL-CHANGE: {id}\n"))
        }),
        ("two trailers", false, 2, |k, id| {
            k.says(&k.tree, &[&k.root], &format!("subject\n\nGEMEL-CHANGE: {id}\nGEMEL-CHANGE: {id}\n"))
        }),
        ("not in the trailing block", false, 0, |k, id| {
            k.says(&k.tree, &[&k.root], &format!("subject\n\nGEMEL-CHANGE: {id}\n\nmore\n"))
        }),
        ("a change that is not here", false, 1, |k, _| {
            let id = format!("change.{}", "0".repeat(64));
            k.says(&k.tree, &[&k.root], &format!("subject\n\nGEMEL-CHANGE: {id}\n"))
        }),
        ("no identity", false, 1, |k, _| k.says(&k.tree, &[&k.root], "subject\n\nGEMEL-CHANGE: C1\n")),
        ("an object that is no change", false, 1, |k, _| {
            let id = k.gemel.target("refs/state/head").unwrap();
            k.says(&k.tree, &[&k.root], &format!("subject\n\nGEMEL-CHANGE: {id}\n"))
        }),
    ];
    for (name, relinked, ignored, said) in cases {
        let known = Known::new();
        let original = known.gemel.change_of(&known.tip);
        let before = known.gemel.refs();
        let found = said(&known, &original.to_string());
        assert_eq!(
            (found.0, found.1, found.2),
            (u64::from(*relinked), *ignored, u64::from(!relinked)),
            "{name}"
        );
        assert_eq!(found.3 == original, *relinked, "{name}");
        let names =
            |refs: &crate::gemel::Refs| refs.keys().filter(|name| name.starts_with("refs/names/C")).count();
        assert_eq!(names(&known.gemel.refs()), names(&before) + usize::from(!relinked), "{name}");
    }
}
