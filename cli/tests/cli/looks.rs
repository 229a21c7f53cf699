//! What people see: colours, quiet, pipes that close.

use crate::harness::{Said, Sandbox};

const HUMAN: &[&[&str]] = &[
    &["status"],
    &["status", "--verbose"],
    &["log"],
    &["log", "--operations"],
    &["show", "C1"],
    &["show", "S1"],
    &["show", "T1"],
    &["diff", "S1", "S2"],
    &["diff", "S1", "S2", "--stat"],
    &["fsck"],
    &["refs"],
    &["gc", "--dry-run"],
    &["repack", "--dry-run"],
];

#[test]
fn no_escape_sequences_through_a_pipe() {
    let sandbox = Sandbox::with_changes();
    for args in HUMAN {
        let said = sandbox.ok(args);
        assert!(!said.out.contains('\x1b') && !said.err.contains('\x1b'), "{args:?}");
        assert!(!said.out.is_empty(), "{args:?}");
    }
}

#[test]
fn colour_is_the_callers_choice() {
    let sandbox = Sandbox::with_changes();
    let with = |args: &[&str], no_color: &str| {
        let mut command = sandbox.command(args);
        command.env("NO_COLOR", no_color);
        Said::of(command).out.contains('\x1b')
    };
    assert!(with(&["log", "--color", "always"], ""));
    assert!(with(&["--color", "always", "log"], "1"));
    assert!(!with(&["log", "--color", "never"], ""));
    assert!(!with(&["log"], "1"));
    // JSON has no colours whatever is asked for.
    assert!(!with(&["log", "--json", "--color", "always"], ""));
}

#[test]
fn colours_change_nothing_else() {
    let sandbox = Sandbox::with_changes();
    for args in HUMAN {
        let plain = sandbox.ok(args).out;
        let coloured = sandbox.ok(&[*args, &["--color", "always"]].concat()).out;
        assert_eq!(without_sequences(&coloured), plain, "{args:?}");
    }
}

fn without_sequences(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut plain, part| {
        plain.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
        plain
    })
}

#[test]
fn quiet_drops_confirmations_only() {
    let sandbox = Sandbox::with_changes();
    sandbox.write("a.txt", "four\n");
    for args in [&["snapshot"][..], &["change", "begin"], &["change", "abort"], &["name", "C1", "one"]] {
        let said = sandbox.ok(&[args, &["--quiet"]].concat());
        assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""), "{args:?}");
    }
    assert!(!sandbox.ok(&["log", "--quiet"]).out.is_empty());
    assert!(!sandbox.ok(&["--quiet", "snapshot", "--json"]).out.is_empty());
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let sandbox = Sandbox::with_changes();
    // More than any pipe holds, so that the program is still writing when the reader leaves.
    sandbox.write("big.txt", &"a line of some length, many times over\n".repeat(40_000));
    sandbox.ok(&["snapshot", "--label", "big"]);
    for args in [&["diff", "S1", "big"][..], &["diff", "S1", "big", "--color", "always"]] {
        let said = Said::cut_short(sandbox.command(args), 10);
        assert_eq!((said.status, said.err.as_str()), (141, ""), "{args:?}");
    }
    let id = sandbox.result(&["show", "big"]);
    let tree = id["body"][0]["value"].as_str().expect("a tree").to_owned();
    let entries = sandbox.ok(&["show", &tree]).out;
    let line = entries.lines().find(|line| line.ends_with("big.txt")).expect("the entry").to_owned();
    let blob = line.split_whitespace().nth(2).expect("digits").to_owned();
    for args in [&["show", &blob][..], &["show", &blob, "--raw"], &["show", &blob, "--json"]] {
        let said = Said::cut_short(sandbox.command(args), 10);
        assert_eq!((said.status, said.err.as_str()), (141, ""), "{args:?}");
    }
    sandbox.ok(&["fsck"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let sandbox = Sandbox::with_changes();
    for (args, status) in [(&["log"][..], 2), (&["log", "--json"], 2), (&["show", "nosuch", "--json"], 2)] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("the full device");
        let mut command = sandbox.command(args);
        let child =
            command.stdout(full).stderr(std::process::Stdio::piped()).spawn().expect("the program starts");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(status), "{args:?}: {output:?}");
        assert!(output.stderr.starts_with(b"error: "), "{args:?}: {output:?}");
    }
}

#[test]
fn stored_text_keeps_its_line() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["change", "begin"]);
    sandbox.ok(&["change", "finish", "--summary", "first line\nsecond line"]);
    let log = sandbox.ok(&["log"]).out;
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("first line …"), "{log}");
    assert!(sandbox.ok(&["show", "C1"]).out.contains("second line"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_quietly_and_harms_nothing() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;
    use std::time::Duration;
    let sandbox = Sandbox::with_changes();
    for file in 0..400 {
        sandbox.write(&format!("many/{file}"), &format!("{file}\n").repeat(2000));
    }
    for wait_ms in [1, 5, 15, 40, 80] {
        let mut command = sandbox.command(&["snapshot"]);
        let child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        std::thread::sleep(Duration::from_millis(wait_ms));
        let pid = Pid::from_raw(child.id().try_into().expect("a process")).expect("a process");
        kill_process(pid, Signal::INT).expect("it is ours");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success() || output.status.signal() == Some(2), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        sandbox.ok(&["fsck"]);
    }
    sandbox.ok(&["snapshot", "--label", "after"]);
}
