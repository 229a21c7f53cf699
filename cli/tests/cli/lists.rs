//! Lists of claims, evidence, residuals and attempts (query surface, sections 4.3 to 4.6): rows, filters, pages, doubts.

use crate::harness::Sandbox;
use serde_json::{Value, json};

/// Three changes about `a.txt`: an unproven claim, one with evidence on either side, and one that replaces the first.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    finish(
        &sandbox,
        "1",
        &[
            "--claim",
            "a.txt|sorted|correctness",
            "--residual",
            "timer drift|blocking|unexplained_divergence|claims=0;paths=a.txt",
        ],
    );
    finish(
        &sandbox,
        "2",
        &[
            "--claim",
            "crate::fast|fast|performance|evidence=0,1;scope=linux",
            "--evidence",
            "crate::fast|pass|benchmark|state=result;counts=3/1/0/4;command=bench;exit=0;replayable=true",
            "--evidence",
            "crate::fast|fail|benchmark|state=input",
            "--residual",
            "locale differs|low|expected_mismatch|paths=a.txt",
        ],
    );
    finish(&sandbox, "3", &["--claim", "a.txt|sorted backwards|correctness|supersedes=Cl1"]);
    sandbox
}

fn finish(sandbox: &Sandbox, content: &str, specs: &[&str]) -> Value {
    let first = sandbox.run(&["show", "I1"]).status != 0;
    let intent = if first { ["--intent-summary", "Work"] } else { ["--intent", "I1"] };
    sandbox.ok(&[&["change", "begin"][..], &intent].concat());
    sandbox.write("a.txt", content);
    sandbox.result(&[&["change", "finish", "--summary", content], specs].concat())
}

fn rows(value: &Value, key: &str) -> Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("{key} in {value}")).clone()
}

fn names(sandbox: &Sandbox, args: &[&str], key: &str) -> Vec<String> {
    let rows = rows(&sandbox.result(args), key);
    rows.iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn claims_with_what_they_rest_on() {
    let sandbox = sandbox();
    assert_eq!(names(&sandbox, &["claims"], "claims"), ["Cl3", "Cl2"]);
    assert_eq!(names(&sandbox, &["claims", "--all"], "claims"), ["Cl3", "Cl2", "Cl1"]);
    assert_eq!(names(&sandbox, &["claims", "--status", "superseded"], "claims"), ["Cl1"]);
    assert_eq!(names(&sandbox, &["claims", "--status", "Partial"], "claims"), ["Cl2"]);
    assert_eq!(names(&sandbox, &["claims", "--status", "partially_supported"], "claims"), ["Cl2"]);
    assert_eq!(names(&sandbox, &["claims", "--subject", "a.txt"], "claims"), ["Cl3"]);
    assert_eq!(names(&sandbox, &["claims", "--subject", "fast"], "claims"), ["Cl2"]);
    assert_eq!(names(&sandbox, &["claims", "--subject", "Cl2"], "claims"), ["Cl2"]);
    let row = rows(&sandbox.result(&["claims", "--subject", "crate::fast"]), "claims")[0].clone();
    let name = |name: &str| sandbox.result(&["show", name])["id"].clone();
    assert_eq!(row["supporting"], json!([name("E1")]));
    assert_eq!(row["contradicting"], json!([name("E2")]));
    assert_eq!((&row["basis"], &row["scope"]), (&json!("8.1.2"), &json!("linux")));
    assert_eq!((&row["change"], &row["trajectory_name"]), (&name("C2"), &json!("T1")));
    assert_eq!(row["trajectory"], name("T1"));
    assert_eq!((&row["stale"], &row["declared_as"]), (&json!([]), &json!([])));
    let all = sandbox.result(&["claims", "--all"]);
    let first = rows(&all, "claims")[2].clone();
    assert_eq!((&first["status"], &first["residuals"]), (&json!("SUPERSEDED"), &json!([name("R1")])));
    assert!(!all.to_string().contains("null"));
    let error = sandbox.refused(&["claims", "--status", "bogus"]);
    assert_eq!(error["code"], "INVALID_ARGUMENT");
}

#[test]
fn claims_in_pages_and_by_old_cursors() {
    let sandbox = sandbox();
    let page = sandbox.envelope(&["claims", "--all", "--limit", "2"]);
    let cursor = page["pagination"]["next_cursor"].as_str().expect("a cursor").to_owned();
    assert_eq!(names(&sandbox, &["claims", "--all", "--cursor", &cursor], "claims"), ["Cl1"]);
    // Filters count what they let through.
    let page = sandbox.envelope(&["claims", "--all", "--status", "superseded", "--limit", "1"]);
    assert_eq!(page["pagination"]["has_more"], false);
    let last = rows(&page["result"], "claims")[0]["id"].as_str().expect("an identity").to_owned();
    let second = sandbox.result(&["show", "Cl2"])["id"].as_str().expect("an identity").to_owned();
    let old = format!("1700000000000:{second}");
    assert_eq!(names(&sandbox, &["claims", "--all", "--cursor", &old], "claims"), ["Cl1"]);
    let old = format!("1700000000000:{last}");
    assert!(names(&sandbox, &["claims", "--all", "--cursor", &old], "claims").is_empty());
    for bad in [&format!("x:{last}")[..], "17:claim.12", "garbage", ":"] {
        assert_eq!(sandbox.refused(&["claims", "--cursor", bad])["code"], "PAGINATION_INVALID", "{bad}");
        assert_eq!(sandbox.refused(&["residuals", "--cursor", bad])["code"], "PAGINATION_INVALID", "{bad}");
    }
    for list in [
        &["claims"][..],
        &["residuals"],
        &["evidence", "list"],
        &["attempts", "a.txt"],
        &["trajectory", "list"],
    ] {
        assert_eq!(sandbox.refused(&[list, &["--limit", "0"]].concat())["code"], "INVALID_ARGUMENT");
        let capped = sandbox.envelope(&[list, &["--limit", "5000"]].concat());
        assert_eq!(capped["request"]["params"]["limit"], 1000);
        assert!(capped["notice"].is_string(), "{capped}");
    }
}

/// DER-03
#[test]
fn residuals_persist_through_later_changes() {
    let sandbox = sandbox();
    let list = rows(&sandbox.result(&["residuals"]), "residuals");
    assert_eq!(names(&sandbox, &["residuals"], "residuals"), ["R2", "R1"]);
    let of = |name: &str| list.iter().find(|row| row["name"] == name).cloned().expect("a row");
    assert_eq!(of("R1")["persistence"]["descendant_changes"], 2);
    assert_eq!(of("R2")["persistence"]["descendant_changes"], 1);
    let name = |name: &str| sandbox.result(&["show", name])["id"].clone();
    let first = of("R1");
    assert_eq!((&first["declared_by"], &first["first_id"]), (&name("C1"), &first["id"]));
    assert_eq!(first["scope"]["paths"], json!(["a.txt"]));
    assert_eq!(
        (&first["severity"], &first["classification"]),
        (&json!("blocking"), &json!("unexplained_divergence"))
    );
    assert_eq!(first["affected_claims"], json!([name("Cl1")]));
    assert_eq!(names(&sandbox, &["residuals", "--order", "severity"], "residuals"), ["R1", "R2"]);
    assert_eq!(names(&sandbox, &["residuals", "--severity", "low"], "residuals"), ["R2"]);
    assert_eq!(names(&sandbox, &["residuals", "--subject", "a.txt"], "residuals").len(), 2);
    assert!(names(&sandbox, &["residuals", "--disposition", "resolved"], "residuals").is_empty());
    for bad in [["--disposition", "bogus"], ["--severity", "bogus"], ["--order", "bogus"]] {
        assert_eq!(sandbox.refused(&["residuals", bad[0], bad[1]])["code"], "INVALID_ARGUMENT");
    }
    // A cursor belongs to its order.
    let page = sandbox.envelope(&["residuals", "--order", "severity", "--limit", "1"]);
    let cursor = page["pagination"]["next_cursor"].as_str().expect("a cursor");
    assert_eq!(
        names(&sandbox, &["residuals", "--order", "severity", "--cursor", cursor], "residuals"),
        ["R2"]
    );
    assert_eq!(sandbox.refused(&["residuals", "--cursor", cursor])["code"], "PAGINATION_INVALID");
}

#[test]
fn evidence_with_its_freshness() {
    let sandbox = sandbox();
    let row = sandbox.result(&["evidence", "E1"]);
    assert_eq!(row, sandbox.result(&["evidence", "show", "E1"]));
    let name = |name: &str| sandbox.result(&["show", name])["id"].clone();
    assert_eq!((&row["kind"], &row["outcome"]), (&json!("benchmark"), &json!("pass")));
    assert_eq!(row["counts"], json!({"failed": 1, "passed": 3, "skipped": 0, "total": 4}));
    assert_eq!((&row["command"], &row["exit_code"]), (&json!("bench"), &json!(0)));
    assert_eq!(row["reproduction"], json!({"replayable": true}));
    assert_eq!((&row["evaluated_state"], &row["claims"]), (&name("S2"), &json!([name("Cl2")])));
    // No index knows the entity, so that nobody can tell; at the state itself nothing has changed.
    let envelope = sandbox.envelope(&["evidence", "E1"]);
    assert_eq!(envelope["result"]["freshness"], json!({"caused_by": [], "status": "UNKNOWN"}));
    assert_eq!(envelope["uncertainty"][0]["class"], "evidence_freshness");
    let at = sandbox.envelope(&["evidence", "show", "E1", "--state", "C2"]);
    assert_eq!((&at["result"]["freshness"]["status"], &at["uncertainty"]), (&json!("FRESH"), &json!([])));
    let canonical = sandbox.result(&["evidence", "E1", "--canonical"]);
    assert_eq!(canonical, sandbox.result(&["show", "E1"]));
    assert_eq!(names(&sandbox, &["evidence", "list"], "evidence").len(), 2);
    assert_eq!(names(&sandbox, &["evidence", "list", "--outcome", "fail"], "evidence"), ["E2"]);
    assert!(names(&sandbox, &["evidence", "list", "--kind", "test_result"], "evidence").is_empty());
    let about = sandbox.result(&["evidence", "list", "--subject", "fast"]);
    assert_eq!((rows(&about, "evidence").len(), &about["subject"]), (2, &json!("fast")));
    assert!(names(&sandbox, &["evidence", "list", "--subject", "a.txt"], "evidence").is_empty());
    for bad in [
        &["evidence", "C1"][..],
        &["evidence", "list", "--kind", "x"],
        &["evidence", "list", "--outcome", "x"],
        &["evidence"],
    ] {
        assert_eq!(sandbox.refused(bad)["code"], "INVALID_ARGUMENT", "{bad:?}");
    }
    assert_eq!(sandbox.refused(&["evidence", "E9"])["code"], "NOT_FOUND");
    assert_eq!(sandbox.refused(&["evidence", "E1", "--state", "I1"])["code"], "INVALID_ARGUMENT");
}

#[test]
fn evidence_that_a_later_change_touches() {
    let sandbox = Sandbox::with_changes();
    sandbox.ok(&["change", "begin", "--intent", "I1"]);
    sandbox.write("src/main.rs", "fn main() { }\n");
    sandbox.ok(&["change", "finish", "--summary", "spaces"]);
    let freshness = sandbox.result(&["evidence", "E1"])["freshness"].clone();
    let change = sandbox.result(&["show", "C3"])["id"].clone();
    assert_eq!(freshness, json!({"caused_by": [change], "status": "MAY_REQUIRE_REFRESH"}));
    assert_eq!(rows(&sandbox.result(&["claims"]), "claims")[0]["status"], "STALE");
}

#[test]
fn attempts_and_the_trajectory_behind_them() {
    let sandbox = sandbox();
    sandbox.ok(&["change", "begin", "--intent-summary", "Other"]);
    sandbox.write("b.txt", "b");
    sandbox.ok(&["change", "finish", "--summary", "other"]);
    let envelope = sandbox.envelope(&["attempts", "a.txt"]);
    let found = rows(&envelope["result"], "attempts");
    assert_eq!((found.len(), &envelope["result"]["subject"]), (1, &json!("a.txt")));
    let row = &found[0];
    assert_eq!((&row["name"], &row["outcome"]), (&json!("T1"), &json!("incomplete")));
    assert_eq!((&row["touched_subject"], &row["changes"]), (&json!(true), &json!(3)));
    assert_eq!((rows(row, "evidence").len(), rows(row, "residuals").len()), (2, 2));
    assert_eq!(row["handoff"], "incomplete: 3 change(s), 2 open residual(s), 2 open claim(s)");
    let shown = sandbox.result(&["trajectory", "T1"]);
    let summaries: Vec<_> = rows(&shown, "sequence").iter().map(|step| step["summary"].clone()).collect();
    assert_eq!(summaries, [json!("1"), json!("2"), json!("3")]);
    assert_eq!((&shown["outcome"], &shown["name"]), (&json!("incomplete"), &json!("T1")));
    assert_eq!((rows(&shown, "versions").len(), &shown["evidence"]), (3, &row["evidence"]));
    assert!(shown.get("created_at").is_none() && shown.get("termination_reason").is_none());
    assert!(sandbox.result(&["trajectory", "T1", "--timestamps"])["created_at"].is_i64());
    // Any version names the whole.
    for version in rows(&shown, "versions") {
        assert_eq!(sandbox.result(&["trajectory", version.as_str().expect("an identity")]), shown);
    }
    assert_eq!(names(&sandbox, &["trajectory", "list"], "trajectories"), ["T2", "T1"]);
    assert_eq!(names(&sandbox, &["trajectory", "list", "--open", "--intent", "I1"], "trajectories"), ["T1"]);
    for bad in [&["trajectory", "C1"][..], &["trajectory"], &["trajectory", "list", "--intent", "T1"]] {
        assert_eq!(sandbox.refused(bad)["code"], "INVALID_ARGUMENT", "{bad:?}");
    }
    assert_eq!(sandbox.refused(&["trajectory", "T9"])["code"], "NOT_FOUND");
}

/// QRY-03
#[test]
fn a_subject_that_nothing_touches_is_said_to_be_one() {
    let sandbox = sandbox();
    for list in [
        &["claims", "--subject"][..],
        &["residuals", "--subject"],
        &["evidence", "list", "--subject"],
        &["attempts"],
    ] {
        let doubts = |subject: &str| sandbox.envelope(&[list, &[subject]].concat())["uncertainty"].clone();
        let found = doubts("nothing.txt");
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{list:?} {found}");
        assert_eq!(found[0]["class"], "subject", "{list:?}");
        assert!(!doubts("a.txt").to_string().contains("\"subject\""), "{list:?}");
    }
}

#[test]
fn what_to_do_next() {
    let sandbox = Sandbox::new();
    let steps = rows(&sandbox.result(&["next"]), "recommendations");
    assert_eq!((steps.len(), &steps[0]["kind"]), (1, &json!("continue")));
    sandbox.ok(&["change", "begin", "--intent-summary", "Work"]);
    let steps = rows(&sandbox.result(&["next"]), "recommendations");
    assert_eq!((&steps[0]["kind"], &steps[0]["subject"]), (&json!("continue"), &json!("default")));
    sandbox.write("a.txt", "1");
    sandbox.ok(&[
        "change",
        "finish",
        "--claim",
        "a.txt|holds|other|evidence=0",
        "--evidence",
        "a.txt|fail",
        "--residual",
        "slow|high",
    ]);
    let next = sandbox.result(&["next"]);
    let steps = rows(&next, "recommendations");
    let kinds: Vec<_> = steps.iter().map(|step| step["kind"].clone()).collect();
    assert_eq!(kinds, [json!("resolve"), json!("verify")]);
    // T-53: advice is in our words; what was recorded is its subject.
    let residual = steps[0]["refs"][0].as_str().expect("a residual");
    assert_eq!(steps[0]["rationale"], format!("open residual {residual} (high)"));
    assert_eq!(steps[0]["subject"], "slow");
    assert!(steps.iter().all(|step| !step["rationale"].as_str().unwrap_or("slow").contains("slow")));
    assert_eq!((&steps[1]["subject"], &steps[1]["certainty"]), (&json!("holds"), &json!("observed")));
    assert_eq!(next["trajectory"]["name"], "T1");
    assert!(sandbox.ok(&["next"]).out.contains("resolve slow"));
    let verbose = sandbox.result(&["status", "--verbose"])["verbose"].clone();
    assert_eq!(verbose["evidence"][0], sandbox.result(&["evidence", "E1"]));
    assert_eq!(verbose["readiness"]["unsettled_residuals"], steps[0]["refs"]);
    assert_eq!(verbose["readiness"]["missing_verification"], json!([]));
    let policy = sandbox.result(&["policy"]);
    assert_eq!(policy["execution_policy"], "never_auto_execute");
    assert_eq!(policy["disclosure_default"], "DIGEST_ONLY");
    assert_eq!((&policy["gaps"], &policy["required_verification"]), (&json!([]), &json!([])));
    assert!(sandbox.ok(&["policy"]).out.contains("no verification is required"));
}

/// DER-05, QRY-01
#[test]
fn the_same_question_has_the_same_answer() {
    let sandbox = sandbox();
    for question in [
        &["claims", "--all"][..],
        &["claims", "--subject", "a.txt"],
        &["residuals", "--order", "severity"],
        &["residuals", "--subject", "a.txt"],
        &["evidence", "list"],
        &["evidence", "E1"],
        &["attempts", "a.txt"],
        &["trajectory", "T1"],
        &["trajectory", "list"],
        &["next"],
        &["policy"],
        &["status", "--verbose"],
    ] {
        let args = [question, &["--json"]].concat();
        let first = sandbox.ok(&args).out;
        assert_eq!(sandbox.ok(&args).out, first, "{question:?}");
        assert!(!first.replace("\"next_cursor\": null", "").contains("null"), "{first}");
        assert!(!sandbox.ok(question).out.is_empty());
    }
}

#[test]
fn the_log_of_a_subject_and_of_episodes() {
    let sandbox = sandbox();
    sandbox.ok(&["change", "begin", "--intent", "I1"]);
    sandbox.write("b.txt", "b");
    sandbox.ok(&["change", "finish", "--summary", "other"]);
    assert_eq!(names(&sandbox, &["log", "--subject", "b.txt"], "changes"), ["C4"]);
    assert_eq!(names(&sandbox, &["log", "--subject", "a.txt"], "changes"), ["C3", "C2", "C1"]);
    assert_eq!(names(&sandbox, &["log", "--subject", "Cl2"], "changes"), ["C2"]);
    let page = sandbox.envelope(&["log", "--subject", "a.txt", "--limit", "2"]);
    let cursor = page["pagination"]["next_cursor"].as_str().expect("a cursor");
    assert_eq!(names(&sandbox, &["log", "--subject", "a.txt", "--cursor", cursor], "changes"), ["C1"]);
    assert_eq!(sandbox.envelope(&["log", "--subject", "nothing"])["uncertainty"][0]["class"], "subject");
    assert_eq!(sandbox.refused(&["log", "--subject", "a.txt", "--limit", "0"])["code"], "INVALID_ARGUMENT");
    let grouped = sandbox.result(&["log", "--resolution", "episodes"]);
    let ids: Vec<_> = rows(&grouped, "changes").iter().map(|row| row["id"].clone()).collect();
    assert_eq!(grouped["episodes"], json!([{"changes": ids}]));
    assert!(sandbox.ok(&["log", "--resolution", "episodes"]).out.starts_with("no episode\n"));
}

#[test]
fn what_two_runs_saw() {
    let sandbox = sandbox();
    let manifest = |args: &[&str]| {
        let made = sandbox.result(&[&["context-manifest", "create"], args].concat());
        made["name"].as_str().expect("a name").to_owned()
    };
    let both = manifest(&["--claim", "Cl2", "--source", "S1", "--instruction", "do it"]);
    let one = manifest(&["--claim", "Cl2", "--instruction", "do it"]);
    let none = manifest(&[]);
    let run = |args: &[&str]| {
        let made = sandbox.result(&[&["agent-run", "create"], args].concat());
        made["name"].as_str().expect("a name").to_owned()
    };
    let a = run(&["--context-manifest", &both, "--input-state", "S1"]);
    let b = run(&["--context-manifest", &one]);
    let c = run(&["--context-manifest", &none]);
    let d = run(&[]);
    let name = |name: &str| sandbox.result(&["show", name])["id"].clone();
    let diff = sandbox.result(&["context-diff", &a, &b]);
    assert_eq!(diff["seen_by_a_only"], json!([{"class": "source", "id": name("S1")}]));
    assert_eq!(
        (&diff["seen_by_b_only"], &diff["upstream_revision"]),
        (&json!([]), &json!({"a": name("S1")}))
    );
    assert_eq!(
        (&diff["instruction_digest_known"], &diff["instruction_digests_equal"]),
        (&json!(true), &json!(true))
    );
    let diff = sandbox.envelope(&["context-diff", &c, &a]);
    assert_eq!(rows(&diff["result"], "seen_by_b_only").len(), 2);
    assert_eq!(diff["result"]["instruction_digest_known"], false);
    assert!(diff["result"].get("instruction_digests_equal").is_none());
    assert_eq!(diff["uncertainty"], json!([]));
    assert_eq!(sandbox.envelope(&["context-diff", &d, &a])["uncertainty"][0]["class"], "context_manifest");
    assert!(sandbox.ok(&["context-diff", &a, &b]).out.contains("a only: source"));
    assert_eq!(sandbox.refused(&["context-diff", &a, "C1"])["code"], "INVALID_ARGUMENT");
    assert_eq!(sandbox.refused(&["context-diff", "A99", &a])["code"], "NOT_FOUND");
}
