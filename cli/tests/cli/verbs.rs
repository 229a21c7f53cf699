//! What single verbs promise beyond their envelope.

use crate::harness::Sandbox;
use serde_json::json;

#[test]
fn init_answers_where_and_who() {
    let sandbox = Sandbox::empty();
    let result = sandbox.result(&["init", "--author-name", "Ada", "--author-email", "ada@example.org"]);
    assert_eq!(result["repository"], sandbox.root().to_str().expect("UTF-8"));
    let producer = sandbox.result(&["show", result["default_producer"].as_str().expect("an identity")]);
    assert_eq!((&producer["family"], &producer["name"]), (&json!("producer"), &json!("P1")));
    let error = sandbox.refused(&["init"]);
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    assert!(
        error["message"].as_str().is_some_and(|m| m.starts_with("repository already exists: ")),
        "{error}"
    );
}

#[test]
fn status_has_an_exit_status_of_its_own() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["status", "--exit-code"]).status, 0);
    let sandbox = Sandbox::with_changes();
    // A residual of low severity is open.
    assert_eq!(sandbox.result(&["status"])["readiness"]["verdict"], "READY_WITH_RESIDUALS");
    assert_eq!(sandbox.run(&["status", "--exit-code"]).status, 10);
    assert_eq!(sandbox.run(&["status", "--exit-code", "--json"]).status, 10);
    sandbox.ok(&["change", "begin"]);
    sandbox.ok(&["change", "finish", "--residual", "it burns|blocking"]);
    assert_eq!(sandbox.run(&["status", "--exit-code"]).status, 11);
    assert_eq!(sandbox.run(&["status"]).status, 0);
}

#[test]
fn status_tells_what_differs() {
    let sandbox = Sandbox::with_changes();
    assert!(sandbox.ok(&["status"]).out.contains("working tree clean"));
    sandbox.write("new.txt", "new");
    sandbox.write("a.txt", "four\n");
    std::fs::remove_file(sandbox.root().join("src/main.rs")).expect("the file");
    let status = sandbox.result(&["status"]);
    assert_eq!(status["changed"]["files"], 3);
    assert_eq!(
        status["changed"]["paths"],
        json!([
            {"path": "a.txt", "status": "Modified"},
            {"path": "new.txt", "status": "Added"},
            {"path": "src/main.rs", "status": "Deleted"},
        ])
    );
    assert_eq!(status["trajectory"]["name"], "T1");
    assert_eq!(status["intent"]["summary"], "Reach three");
    assert_eq!(status["state"]["name"], "S3");
    assert_eq!(
        (&status["claims"]["proposed"], &status["claims"]["partially_supported"]),
        (&json!(1), &json!(1))
    );
    let verbose = sandbox.result(&["status", "--verbose"]);
    assert_eq!(verbose["claim_list"][0]["status"], "PARTIALLY_SUPPORTED");
    assert_eq!(verbose["verbose"]["claims"][0]["basis"], "8.1.2");
    let human = sandbox.ok(&["status", "--verbose"]).out;
    assert!(human.contains("3 files changed: +1 ~1 -1") && human.contains("  Added"), "{human}");
}

#[test]
fn a_dry_run_of_finish_records_nothing() {
    let sandbox = Sandbox::with_changes();
    sandbox.ok(&["change", "begin", "--intent", "I1"]);
    sandbox.write("a.txt", "four\n");
    let dry = sandbox.result(&["change", "finish", "--summary", "next", "--dry-run"]);
    assert_eq!((&dry["dry_run"], &dry["change_name"]), (&json!(true), &json!("C3")));
    assert_eq!(sandbox.result(&["log"])["changes"].as_array().map(Vec::len), Some(2));
    let done = sandbox.result(&["change", "finish", "--summary", "next", "--claim", "a.txt|is four"]);
    assert_eq!((&done["change_name"], &done["names"]["claims"]), (&json!("C3"), &json!(["Cl2"])));
    assert!(done.get("dry_run").is_none());
}

/// Shows QRY-03.
#[test]
fn an_unstated_outcome_is_said_to_be_one() {
    let sandbox = Sandbox::with_changes();
    sandbox.ok(&["change", "begin"]);
    let envelope = sandbox.envelope(&["change", "finish", "--evidence", "a.txt"]);
    let doubts = envelope["uncertainty"].as_array().expect("an array");
    assert!(!doubts.is_empty(), "{envelope}");
}

#[test]
fn log_shows_operations() {
    let sandbox = Sandbox::with_changes();
    let rows = sandbox.result(&["log", "--operations"])["changes"].clone();
    assert_eq!(rows[0]["operations"][0]["op_type"], "write_file");
    assert_eq!(rows[0]["operations"][0]["path"], "a.txt");
    assert_eq!(rows[0]["trajectory"], "T1");
    assert_eq!(rows[0]["parents"], json!([rows[1]["id"]]));
    assert_eq!(sandbox.result(&["log", "--resolution", "operations"])["changes"], rows);
    let human = sandbox.ok(&["log", "--operations"]).out;
    assert!(human.contains("    write_file  a.txt"), "{human}");
    assert_eq!(sandbox.result(&["log", "--trajectory", "T1"])["changes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn show_answers_every_form() {
    let sandbox = Sandbox::with_changes();
    let canonical = sandbox.result(&["show", "C1"]);
    assert_eq!(
        (&canonical["family"], &canonical["schemever"], &canonical["name"]),
        (&json!("change"), &json!(1), &json!("C1"))
    );
    assert_eq!(canonical["body"][0], json!({"name": "summary", "tag": 1, "value": "one to two"}));
    let raw = sandbox.ok(&["show", "C1", "--raw"]).bytes;
    let id = gemel_object::Gid::of_envelope(gemel_object::Family::Change, &raw);
    assert_eq!(canonical["id"], id.to_string());
    let compact = sandbox.result(&["show", "C1", "--compact"]);
    assert_eq!((&compact["summary"], &compact["family"]), (&json!("one to two"), &json!("change")));
    let state = sandbox.result(&["show", "S1"]);
    assert_eq!((&state["body"][1]["tag"], &state["body"][1]["name"]), (&json!(128), &json!("capture")));
    assert_eq!(
        sandbox.result(&["show", "S1", "--compact"])["capture"],
        json!({"attempts": 1, "coherent": true})
    );
    let human = sandbox.ok(&["show", "C1"]).out;
    assert!(human.contains("  summary: one to two") && human.contains("  intent: I1 "), "{human}");
}

#[test]
fn blobs_come_out_as_they_went_in() {
    let sandbox = Sandbox::new();
    let content = "no line break at the end\r\n\0\u{1b}[31m";
    sandbox.write("f", content);
    sandbox.ok(&["snapshot"]);
    let tree = sandbox.result(&["show", "S1", "--compact"])["root_tree"].as_str().expect("a tree").to_owned();
    let entries = sandbox.result(&["show", &tree, "--compact"])["entries"].clone();
    let blob = entries[0]["target"].as_str().expect("a blob").to_owned();
    assert_eq!(sandbox.ok(&["show", &blob]).bytes, content.as_bytes());
    let raw = sandbox.ok(&["show", &blob, "--raw"]).bytes;
    assert_eq!(gemel_object::Gid::of_envelope(gemel_object::Family::Blob, &raw).to_string(), blob);
    assert_eq!(sandbox.result(&["show", &blob, "--compact"])["bytes"], content.len());
    let hex: String = content.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(sandbox.result(&["show", &blob])["body"], hex);
}

#[test]
fn diff_has_four_looks() {
    let sandbox = Sandbox::with_changes();
    let result = sandbox.result(&["diff", "S1", "S3"]);
    assert_eq!(
        result["textual"]["files"],
        json!({"added": [], "changed": ["a.txt"], "deleted": [], "renamed": []})
    );
    assert_eq!(result["state_a"], sandbox.result(&["show", "S1"])["id"]);
    let patch = sandbox.ok(&["diff", "S1", "S3"]).out;
    assert!(patch.contains("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+three\n"), "{patch}");
    assert_eq!(sandbox.ok(&["diff", "S1", "S3", "--name-only"]).out, "a.txt\n");
    assert_eq!(sandbox.ok(&["diff", "S1", "S3", "--stat"]).out, "~  a.txt  +1 -1\n1 file: +0 ~1 -0 >0\n");
    // One argument is compared with the files.
    assert_eq!(sandbox.ok(&["diff", "S3"]).out, "");
    std::fs::rename(sandbox.root().join("a.txt"), sandbox.root().join("b.txt")).expect("a rename");
    let renamed = sandbox.result(&["diff"])["textual"]["files"]["renamed"].clone();
    assert_eq!(renamed, json!([{"from": "a.txt", "to": "b.txt"}]));
}

#[test]
fn checkout_can_be_tried_first() {
    let sandbox = Sandbox::with_changes();
    let dry = sandbox.result(&["checkout", "C1", "--dry-run"]);
    assert_eq!(
        (&dry["dry_run"], &dry["mode"], &dry["written"]),
        (&json!(true), &json!("exact"), &json!(["a.txt"]))
    );
    assert_eq!(sandbox.read("a.txt"), "three\n");
    sandbox.ok(&["checkout", "C1"]);
    assert_eq!(sandbox.read("a.txt"), "two\n");
    assert!(sandbox.ok(&["status"]).out.contains("working tree clean"));
}

#[test]
fn fsck_is_clean_and_says_so() {
    let sandbox = Sandbox::with_changes();
    let result = sandbox.result(&["fsck"]);
    assert_eq!((&result["problems"], &result["exit_code"]), (&json!([]), &json!(0)));
    assert_eq!(result["objects_scanned"], result["objects_ok"]);
    let human = sandbox.ok(&["fsck"]).out;
    assert!(human.starts_with("objects: ") && human.ends_with("repository clean\n"), "{human}");
}

/// Shows ID-05.
#[test]
fn names_move_only_by_force() {
    let sandbox = Sandbox::with_changes();
    sandbox.ok(&["name", "C1", "good"]);
    let moved = sandbox.result(&["name", "C2", "good", "--force"]);
    assert_eq!(moved["name"], "refs/names/good");
    assert_eq!(moved["previous"], sandbox.result(&["show", "C1"])["id"]);
    let listed = sandbox.result(&["refs", "names/go"])["refs"].clone();
    assert_eq!(listed, json!([{"id": moved["id"], "name": "refs/names/good"}]));
}

#[test]
fn completions_and_manual_pages_exist() {
    let sandbox = Sandbox::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(sandbox.ok(&["completions", shell]).out.contains("gemel"), "{shell}");
    }
    let dir = sandbox.scratch().join("man");
    sandbox.ok(&["man", dir.to_str().expect("UTF-8")]);
    for page in ["gemel.1", "gemel-status.1", "gemel-change-begin.1"] {
        assert!(dir.join(page).is_file(), "{page}");
    }
    assert!(!sandbox.ok(&["--help"]).out.contains("manual pages"));
}

#[test]
fn workspaces_are_listed_and_forgotten() {
    let sandbox = Sandbox::with_changes();
    let dir = sandbox.scratch().join("agent");
    sandbox.ok(&["checkout", "S1", "--dir", dir.to_str().expect("UTF-8"), "--workspace", "agent"]);
    sandbox.ok(&["change", "begin", "--workspace", "agent"]);
    let rows = sandbox.result(&["workspace", "list"])["workspaces"].clone();
    assert_eq!(
        (&rows[0]["name"], &rows[0]["pending"], &rows[0]["behind"]),
        (&json!("agent"), &json!(true), &json!(true))
    );
    assert_eq!(rows[1]["name"], "default");
    assert_eq!(sandbox.refused(&["workspace", "remove", "agent"])["code"], "INVALID_ARGUMENT");
    sandbox.ok(&["workspace", "remove", "agent", "--force"]);
    assert!(dir.join("a.txt").is_file());
}

#[test]
fn directories_are_told_without_detours() {
    let sandbox = Sandbox::with_changes();
    let out = sandbox.scratch().join("out");
    let result = sandbox.result(&["checkout", "S1", "--dir", "../out"]);
    assert_eq!(result["dir"], out.to_str().expect("UTF-8"));
    assert!(sandbox.ok(&["checkout", "S1", "--dir", "./../out/.", "--force"]).out.contains(" into "));
    // The root is the root, however it is spelled: the default workspace moves along.
    let result = sandbox.result(&["checkout", "S1", "--dir", "../repo"]);
    assert_eq!(result["workspace"], "default");
}

#[cfg(unix)]
#[test]
fn a_link_before_a_step_up_is_followed() {
    let sandbox = Sandbox::with_changes();
    std::fs::create_dir_all(sandbox.scratch().join("far/deep")).expect("a folder");
    std::os::unix::fs::symlink("far/deep", sandbox.scratch().join("near")).expect("a link");
    let result = sandbox.result(&["checkout", "S1", "--dir", "../near/../out"]);
    let wanted = sandbox.scratch().canonicalize().expect("it exists").join("far/out");
    assert_eq!(result["dir"], wanted.to_str().expect("UTF-8"));
    assert!(wanted.join("a.txt").exists());
}
