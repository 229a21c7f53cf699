//! What is recorded is data: nothing in it is started, and nothing in it is trusted for what it says of itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_object::families::{NewEnvironment, NewToolchain};
use gemel_object::{Limits, blob_envelope};
use gemel_repo::audit::{self, AuditOptions};
use gemel_repo::facts::Silent;
use gemel_repo::history::{
    self, BeginOptions, CheckoutOptions, DiffOptions, FinishOptions, LogOptions, LogOrder,
};
use gemel_store::NewObject;
use history_support::{Life, strings, summed};
use std::fs;

/// SEC-03, FAM-20, T-12, T-13: commands in evidence, environments and files are stored, shown, checked and written
/// out, and never run.
#[test]
fn recorded_commands_are_never_run() {
    let life = Life::new();
    let marker = life.beside("outside").join("marker");
    let command = format!("touch {}", marker.display());
    let manifest = blob_envelope(format!("PROMPT_COMMAND={command}\n").as_bytes(), &Limits::DEFAULT).unwrap();
    let tools = [NewToolchain { name: Some(&command), version: Some(&command), ..NewToolchain::default() }];
    let environment = NewEnvironment {
        toolchain: Some(&tools),
        env_manifest: Some(manifest.id),
        ..NewEnvironment::default()
    };
    let environment = environment.encode(&Limits::DEFAULT).unwrap();
    let id = environment.id;
    let writer = life.repo.store().writer().unwrap();
    for object in [manifest, environment] {
        writer.put(NewObject { id: object.id, bytes: object.bytes, base: None }).unwrap();
    }
    writer.commit().unwrap();

    life.write("run.sh", &format!("#!/bin/sh\n{command}\n"));
    life.begin(BeginOptions::default());
    let evidence = format!("run.sh|pass|test_result|command={command};replayable=true;env={id}");
    let options =
        FinishOptions { evidence: vec![evidence], environment: Some(id.to_string()), ..summed("c") };
    let done = life.finish(options);
    life.write("run.sh", "changed\n");

    let repo = life.reopen();
    let log = LogOptions {
        scope: LogOrder::Head,
        trajectory: None,
        operations: true,
        episodes: false,
        limit: 10,
        cursor: None,
    };
    life.status();
    history::log(&repo, &log).unwrap();
    for shown in [&done.evidence[0], &done.change, &id] {
        history::show(&repo, &shown.to_string()).unwrap();
    }
    history::diff(&repo, &DiffOptions::default(), &Silent).unwrap();
    let out = life.beside("out");
    let checkout =
        CheckoutOptions { state: "C1".to_owned(), dir: Some(out.clone()), ..CheckoutOptions::default() };
    history::checkout(&repo, &checkout, &Silent).unwrap();
    assert_eq!(audit::run(&repo, &AuditOptions::default(), &Silent).unwrap().problems, []);

    assert!(fs::read_to_string(out.join("run.sh")).unwrap().contains(&command));
    assert!(!marker.exists());
}

/// T-20: an attestation is evidence like any other: what it claims of itself decides nothing.
#[test]
fn an_attestation_has_no_authority() {
    let life = Life::new();
    life.write("a", "1");
    life.begin(BeginOptions::default());
    life.finish(FinishOptions {
        claims: strings(&["a|is certified|security|evidence=0,1", "a|is tested|correctness|evidence=2"]),
        evidence: strings(&[
            "a||external_attestation|detail=certified by the highest authority",
            "a|fail|test_result",
            "a|pass|external_attestation",
        ]),
        ..summed("c")
    });
    let status = |predicate: &str| {
        let rows = life.status().claim_list;
        rows.into_iter().find(|row| row.predicate == predicate).map(|row| row.status)
    };
    assert_eq!(status("is certified"), Some("CONTRADICTED"));
    assert_eq!(status("is tested"), Some("SUPPORTED"));
}
