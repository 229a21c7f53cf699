//! What answers say beside their facts: lines that do not lead to head, names among several, what is left out.

use crate::harness::Sandbox;
use serde_json::{Value, json};

/// A repository whose second change starts from a snapshot, so that no change leads to it.
fn two_lines() -> (Sandbox, Value) {
    let sandbox = Sandbox::with_changes();
    sandbox.write("a.txt", "four\n");
    sandbox.ok(&["snapshot"]);
    sandbox.ok(&["change", "begin"]);
    sandbox.write("a.txt", "five\n");
    let finished = sandbox.envelope(&["change", "finish", "--summary", "four to five"]);
    (sandbox, finished)
}

/// Shows QRY-02.
#[test]
fn log_tells_of_changes_that_do_not_lead_to_head() {
    let (sandbox, _) = two_lines();
    let envelope = sandbox.envelope(&["log"]);
    assert_eq!(envelope["pagination"]["count"], 1);
    let others = sandbox.result(&["log", "--all"])["changes"].clone();
    let mut ids = [others[1]["id"].clone(), others[2]["id"].clone()];
    ids.sort_by_key(ToString::to_string);
    assert_eq!(envelope["omitted"], json!([{"class": "change", "count": 2, "reason": "scope", "ids": ids}]));
    assert_eq!(sandbox.ok(&["log"]).err, "2 changes do not lead to head (--all)\n");
    // Nothing is left out of a list that was asked for as it is.
    for args in [&["log", "--all"][..], &["log", "--trajectory", "T1"]] {
        assert_eq!(sandbox.envelope(args)["omitted"], json!([]), "{args:?}");
    }
    assert_eq!(Sandbox::with_changes().envelope(&["log"])["omitted"], json!([]));
}

/// Shows QRY-03.
#[test]
fn finish_tells_why_a_change_has_no_parent() {
    let (sandbox, finished) = two_lines();
    assert_eq!(finished["result"]["parents"], json!([]));
    let doubt = &finished["uncertainty"][0];
    assert_eq!(doubt["class"], "causal_parent");
    assert_eq!(doubt["ids"], json!([sandbox.result(&["show", "S4"])["id"]]));
    let reason = doubt["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("no known change ends in its input state S4") && reason.contains("C2"),
        "{reason}"
    );

    // A change that continues has a parent and no such doubt; a first change needs none.
    sandbox.ok(&["change", "begin"]);
    let next = sandbox.envelope(&["change", "finish"]);
    assert_eq!(next["result"]["parents"], json!([finished["result"]["change"]]));
    assert_eq!(next["uncertainty"], json!([]));
    let sandbox = Sandbox::new();
    sandbox.ok(&["change", "begin"]);
    assert_eq!(sandbox.envelope(&["change", "finish"])["uncertainty"], json!([]));
}

#[test]
fn status_tells_how_the_workspace_stands_to_head() {
    let standing = |sandbox: &Sandbox| {
        let workspace = sandbox.result(&["status"])["workspace"].clone();
        (workspace["behind"] == true, workspace["differs"] == true)
    };
    let sandbox = Sandbox::with_changes();
    assert_eq!(standing(&sandbox), (false, false));
    assert!(!sandbox.ok(&["status"]).out.contains("workspace state"));
    // Back to where a change that leads to head ended.
    sandbox.ok(&["checkout", "S2"]);
    assert_eq!(standing(&sandbox), (true, true));
    let human = sandbox.ok(&["status"]).out;
    assert!(human.contains("\nworkspace state: S2 ") && human.contains("(behind head)"), "{human}");
    // Somewhere head has never been.
    sandbox.write("a.txt", "elsewhere\n");
    sandbox.ok(&["snapshot"]);
    assert_eq!(standing(&sandbox), (false, true));
    let human = sandbox.ok(&["status"]).out;
    assert!(human.contains("\nworkspace state: S4 ") && human.contains("(differs from head)"), "{human}");
    assert!(!human.contains("behind"), "{human}");
    assert!(sandbox.ok(&["workspace", "list"]).out.contains("differs from head"));
}

#[test]
fn status_names_things_and_says_why() {
    let sandbox = Sandbox::with_changes();
    sandbox.ok(&["change", "begin"]);
    sandbox.ok(&[
        "change",
        "finish",
        "--evidence",
        "a.txt|pass",
        "--evidence",
        "a.txt|fail",
        "--claim",
        "a.txt|holds||evidence=0,1",
        "--claim",
        "a.txt|unproved",
    ]);
    let human = sandbox.ok(&["status"]).out;
    for line in [
        "residual: R1  open  low  three is missing",
        "  partially supported claim Cl1: unresolved R1",
        "  partially supported claim Cl2: against it E3",
        "  unverified claim Cl3: no evidence",
    ] {
        assert!(human.lines().any(|found| found == line), "{line}\n{human}");
    }
    let verbose = sandbox.ok(&["status", "--verbose"]).out;
    assert!(verbose.contains("  open residual R1 (low)\n"), "{verbose}");
    assert!(
        verbose.contains("  Cl1  PARTIALLY_SUPPORTED  src/main.rs  compiles  unresolved R1\n"),
        "{verbose}"
    );
    let result = sandbox.result(&["status", "--verbose"]);
    assert_eq!(result["residuals"][0]["name"], "R1");
    let mut names: Vec<&str> = result["claim_list"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["Cl1", "Cl2", "Cl3"]);
    let claims = result["verbose"]["claims"].as_array().expect("rows");
    let unsettled: usize = claims.iter().filter_map(|row| row["residuals"].as_array()).map(Vec::len).sum();
    assert_eq!(unsettled, 1);
    assert!(claims.iter().any(|row| row["unverified_reason"] == "no evidence"));
}

#[test]
fn a_move_is_one_change_everywhere() {
    let sandbox = Sandbox::with_changes();
    std::fs::rename(sandbox.root().join("a.txt"), sandbox.root().join("b.txt")).expect("the move");
    assert!(sandbox.ok(&["status"]).out.contains("1 file changed: +0 ~0 -0 >1"));
    assert!(sandbox.ok(&["diff", "--stat"]).out.contains("1 file: +0 ~0 -0 >1"));
    let paths = json!([{"path": "b.txt", "status": "Renamed", "from": "a.txt"}]);
    assert_eq!(sandbox.result(&["status"])["changed"]["paths"], paths);
    assert_eq!(sandbox.result(&["status"])["changed"]["files"], 1);
    assert!(sandbox.ok(&["status", "--verbose"]).out.contains("  Renamed  a.txt -> b.txt\n"));
    sandbox.ok(&["change", "begin"]);
    assert_eq!(sandbox.result(&["change", "status"])["changed"]["paths"], paths);
    let finished = sandbox.result(&["change", "finish"]);
    assert_eq!(finished["operations"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_state_goes_by_what_was_typed_its_label_or_its_first_number() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    assert!(sandbox.result(&["snapshot"]).get("unchanged_since").is_none());
    let second = sandbox.result(&["snapshot"]);
    assert_eq!((&second["name"], &second["unchanged_since"]["name"]), (&json!("S2"), &json!("S1")));
    assert!(sandbox.ok(&["snapshot"]).out.contains("\n  nothing changed since S1 "));
    let shown = |sandbox: &Sandbox| sandbox.result(&["status"])["state"]["name"].clone();
    assert_eq!(shown(&sandbox), "S1");
    sandbox.ok(&["snapshot", "--label", "zero"]);
    sandbox.ok(&["snapshot", "--label", "base"]);
    assert_eq!(shown(&sandbox), "base");
    for typed in ["S1", "S2", "S3", "zero", "base"] {
        assert_eq!(sandbox.result(&["show", typed])["name"], typed);
        assert_eq!(sandbox.result(&["checkout", typed])["state_name"], typed);
        assert_eq!(sandbox.result(&["show", &format!("refs/names/{typed}")])["name"], typed);
    }
    let id = second["state"].as_str().expect("an identity");
    assert_eq!(sandbox.result(&["show", id])["name"], "base");
    // Other things keep their number.
    sandbox.ok(&["change", "begin"]);
    sandbox.write("a", "2");
    sandbox.ok(&["change", "finish"]);
    sandbox.ok(&["name", "C1", "a-first"]);
    let row = sandbox.result(&["log"])["changes"][0].clone();
    assert_eq!(row["name"], "C1");
    assert_eq!(sandbox.result(&["show", "a-first"])["name"], "a-first");
    let log = sandbox.ok(&["log"]).out;
    assert!(log.contains("base..S4"), "{log}");
}

/// Shows QRY-02.
#[test]
fn a_rule_file_that_is_left_out_is_named() {
    let left_out = json!([
        {"class": "root_gitignore", "count": 1, "reason": "not_content", "ids": [".gitignore"]}
    ]);
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    assert_eq!(sandbox.envelope(&["snapshot"])["omitted"], json!([]));
    sandbox.write(".gitignore", "*.o\n");
    assert_eq!(sandbox.envelope(&["snapshot"])["omitted"], left_out);
    assert!(sandbox.ok(&["snapshot"]).err.starts_with("left out: .gitignore ("));
    // Below the root it is content like any file.
    let sandbox = Sandbox::new();
    sandbox.write("d/.gitignore", "*.o\n");
    let snapshot = sandbox.envelope(&["snapshot"]);
    assert_eq!((&snapshot["omitted"], &snapshot["result"]["files"]), (&json!([]), &json!(1)));
    // A first change says it, later ones need not.
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.o\n");
    let change = || {
        sandbox.ok(&["change", "begin"]);
        sandbox.envelope(&["change", "finish"])["omitted"].clone()
    };
    assert_eq!((change(), change()), (left_out, json!([])));
}

#[test]
fn what_is_not_built_is_not_offered() {
    let sandbox = Sandbox::new();
    let diff = sandbox.ok(&["diff", "--help"]).out;
    for flag in ["semantic", "behavior", "dependencies"] {
        assert!(!diff.contains(&format!("--{flag}")), "{flag}: {diff}");
    }
    assert!(diff.contains("--claims") && diff.contains("--evidence"), "{diff}");
}
