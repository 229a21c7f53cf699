//! Limits and cursors (query surface, section 1.4).

use crate::harness::Sandbox;
use serde_json::Value;

/// All rows of a list, read in pages of `limit`.
fn walk(sandbox: &Sandbox, args: &[&str], rows: &str, limit: usize) -> Vec<Value> {
    let limit_text = limit.to_string();
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut page_args = [args, &["--limit", &limit_text]].concat();
        if let Some(cursor) = &cursor {
            page_args.extend(["--cursor", cursor]);
        }
        let envelope = sandbox.envelope(&page_args);
        let page = envelope["result"][rows].as_array().expect("rows").clone();
        assert_eq!(envelope["pagination"]["count"].as_u64(), Some(page.len() as u64));
        assert!(page.len() <= limit);
        all.extend(page);
        match envelope["pagination"]["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return all,
        }
    }
}

#[test]
fn pages_add_up_to_the_list() {
    let sandbox = Sandbox::with_changes();
    for (args, rows) in
        [(&["log", "--all"][..], "changes"), (&["refs"], "refs"), (&["workspace", "list"], "workspaces")]
    {
        let whole = sandbox.result(args)[rows].as_array().expect("rows").clone();
        for limit in 1..=3 {
            assert_eq!(walk(&sandbox, args, rows, limit), whole, "{args:?} {limit}");
        }
    }
}

#[test]
fn cursors_that_are_none() {
    let sandbox = Sandbox::with_changes();
    let good = sandbox.envelope(&["log", "--limit", "1"])["pagination"]["next_cursor"].clone();
    let good = good.as_str().expect("a cursor");
    let ascending = sandbox.envelope(&["refs", "--limit", "1"])["pagination"]["next_cursor"].clone();
    let long = "A".repeat(5000);
    for bad in
        ["", "garbage", "e30", "bnVsbA", &good[1..], ascending.as_str().expect("a cursor"), &long, "äöü"]
    {
        let error = sandbox.refused(&["log", "--cursor", bad]);
        assert_eq!(error["code"], "PAGINATION_INVALID", "{bad}: {error}");
    }
}

#[test]
fn a_list_whose_anchor_is_gone_starts_over() {
    let sandbox = Sandbox::with_changes();
    sandbox.ok(&["change", "begin", "--workspace", "aa"]);
    let cursor =
        sandbox.envelope(&["workspace", "list", "--limit", "1"])["pagination"]["next_cursor"].clone();
    sandbox.ok(&["workspace", "remove", "aa", "--force"]);
    let again = sandbox.envelope(&["workspace", "list", "--cursor", cursor.as_str().expect("a cursor")]);
    assert!(again["notice"].as_str().is_some_and(|notice| notice.contains("starts over")), "{again}");
    assert_eq!(again["result"]["workspaces"][0]["name"], "default");
}

#[test]
fn people_are_told_how_to_go_on() {
    let sandbox = Sandbox::with_changes();
    let said = sandbox.ok(&["log", "--limit", "1"]);
    let next = said.out.lines().last().expect("a line").to_owned();
    let cursor = next.strip_prefix("next: --cursor ").expect("a cursor").to_owned();
    assert!(sandbox.ok(&["log", "--cursor", &cursor]).out.contains("C1"));
    assert!(sandbox.ok(&["log", "--limit", "9999"]).err.contains("notice: limit 9999 was capped to 1000"));
}
