//! `gemel migrate`, from the outside.

use crate::harness::Sandbox;
use gemel_object::Gid;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// A repository in the layout of 0.12 with the refs and objects of [`Sandbox::with_changes`], and that one.
fn old_and_new() -> (Sandbox, Sandbox) {
    let (old, new) = (Sandbox::empty(), Sandbox::with_changes());
    let refs = new.result(&["refs"])["refs"].as_array().expect("rows").clone();
    let store = old.root().join(".gemel");
    let mut waiting: Vec<String> = Vec::new();
    for row in &refs {
        let (name, id) = (row["name"].as_str().expect("a name"), row["id"].as_str().expect("an identity"));
        put(&store.join(name), format!("{id}\n").as_bytes());
        waiting.push(id.to_owned());
    }
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let hex = id.split_once('.').expect("an identity").1;
        let envelope = new.ok(&["show", &id, "--raw"]).bytes;
        put(&store.join("objects").join(&hex[..2]).join(format!("{hex}.gce")), &envelope);
        if !id.starts_with("blob.") {
            identities(&new.result(&["show", &id])["body"], &mut waiting);
        }
    }
    let producer = new.result(&["show", "P1"])["id"].clone();
    let meta = json!({"counters": {"change": 2}, "default_producer": producer, "schema": "gemel.meta.v1"});
    put(&store.join("meta.json"), meta.to_string().as_bytes());
    let state = new.result(&["show", "S3"])["id"].as_str().expect("a state").to_owned();
    put(&store.join("worktrees/default/state.ref"), format!("{state}\n").as_bytes());
    for path in ["a.txt", "src/main.rs"] {
        old.write(path, &new.read(path));
    }
    (old, new)
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
    std::fs::write(path, bytes).expect("the file");
}

fn identities(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if Gid::parse(text).is_ok() => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| identities(value, found)),
        Value::Object(members) => members.values().for_each(|value| identities(value, found)),
        _ => {}
    }
}

#[test]
fn an_old_store_is_named_and_left_alone() {
    let (old, _) = old_and_new();
    for args in [&["status"][..], &["snapshot"], &["fsck"], &["log"], &["refs"]] {
        let message = old.refused(args)["message"].as_str().expect("a message").to_owned();
        assert!(
            message.ends_with("is a 0.12 store; run `gemel migrate` to convert it"),
            "{args:?}: {message}"
        );
    }
    assert!(!old.root().join(".gemel/packs").exists());
}

#[test]
fn an_old_store_becomes_a_new_one() {
    let (old, new) = old_and_new();
    let plan = old.result(&["migrate", "--dry-run"]);
    assert_eq!((&plan["outcome"], &plan["findings"]), (&json!("planned"), &json!([])));
    assert!(old.root().join(".gemel/objects").is_dir());
    let done = old.result(&["migrate"]);
    assert_eq!((&done["outcome"], &done["objects"]), (&json!("migrated"), &plan["objects"]));
    let kept = done["old_files"].as_str().expect("a folder").to_owned();
    assert!(Path::new(&kept).is_dir());
    for args in [&["log", "--operations"][..], &["show", "C2"], &["refs"], &["fsck"], &["diff"]] {
        assert_eq!(old.result(args), new.result(args), "{args:?}");
    }
    // The recorded state came along, so the files are clean, and the next change is the third.
    assert!(old.ok(&["status"]).out.contains("working tree clean"));
    old.ok(&["change", "begin", "--intent", "I1"]);
    assert_eq!(old.result(&["change", "finish"])["change_name"], "C3");
    let again = old.result(&["migrate", "--remove-old"]);
    assert_eq!(again, json!({"findings": [], "outcome": "already_current"}));
    assert!(!Path::new(&kept).exists());
    assert!(old.ok(&["fsck"]).out.ends_with("repository clean\n"));
}

#[test]
fn what_is_damaged_stops_a_migration() {
    let (old, new) = old_and_new();
    let id = new.result(&["show", "C1"])["id"].as_str().expect("an identity").to_owned();
    let hex = id.split_once('.').expect("an identity").1;
    put(&old.root().join(".gemel/objects").join(&hex[..2]).join(format!("{hex}.gce")), b"GEML");
    let error = old.refused(&["migrate"]);
    assert_eq!(error["code"], "REPOSITORY_CORRUPT", "{error}");
    assert!(old.run(&["migrate"]).err.contains("\nhint: `gemel migrate --dry-run` lists everything found"));
    let plan = old.result(&["migrate", "--dry-run"]);
    assert_eq!(plan["findings"][0]["severity"], "error");
    let human = old.ok(&["migrate", "--dry-run"]).out;
    assert!(human.contains("cannot be carried over"), "{human}");
}
