//! The forms an identity argument may take (workflow, section 1).

use crate::harness::Sandbox;

/// Shows QRY-04.
#[test]
fn all_forms_name_the_same_object() {
    let sandbox = Sandbox::with_changes();
    let id = sandbox.result(&["show", "C2"])["id"].as_str().expect("an identity").to_owned();
    let digits = id.strip_prefix("change.").expect("a change").to_owned();
    let family_prefix = format!("change.{}", &digits[..11]);
    for form in [&id, "C2", "refs/names/C2", "refs/head", "@", &family_prefix, &digits[..16]] {
        assert_eq!(sandbox.result(&["show", form])["id"], id.as_str(), "{form}");
    }
    let state = sandbox.result(&["show", "@state"])["id"].clone();
    assert_eq!(state, sandbox.result(&["show", "S3"])["id"]);
    assert_eq!(sandbox.result(&["show", "@trajectory"])["id"], sandbox.result(&["show", "T1"])["id"]);
}

#[test]
fn short_digits_of_people_are_arguments() {
    let sandbox = Sandbox::with_changes();
    let line = sandbox.ok(&["log"]).out.lines().next().expect("a line").to_owned();
    let digits = line.split_whitespace().nth(1).expect("digits").to_owned();
    assert!(digits.len() >= 8, "{line}");
    let id = sandbox.result(&["show", &digits])["id"].clone();
    assert_eq!(id, sandbox.result(&["show", "C2"])["id"]);
}

#[test]
fn states_may_be_named_by_what_has_one() {
    let sandbox = Sandbox::with_changes();
    let files = |a: &str, b: &str| sandbox.result(&["diff", a, b])["textual"]["files"].clone();
    assert_eq!(files("C1", "C2"), files("S2", "S3"));
    assert_eq!(files("C2", "T1")["changed"], serde_json::json!([]));
}
