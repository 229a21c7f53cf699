//! On a terminal: colours, the pager, and stored text that must not steer the screen.

use crate::harness::Sandbox;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

const ROWS: u16 = 10;

/// Runs `command` on a terminal of its own; what reached the screen, and the exit status.
fn on_terminal(mut command: Command) -> (String, i32) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("its other side");
    let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("UTF-8");
    let size = Winsize { ws_row: ROWS, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).expect("its size");
    let side = || Stdio::from(File::options().read(true).write(true).open(&name).expect("its other side"));
    let mut child = command.stdin(side()).stdout(side()).stderr(side()).spawn().expect("the program starts");
    drop(command);
    let (mut master, mut screen) = (File::from(master), Vec::new());
    let mut piece = [0; 4096];
    // The terminal reports an error once its last user is gone.
    while let Ok(read @ 1..) = master.read(&mut piece) {
        screen.extend_from_slice(&piece[..read]);
    }
    let status = child.wait().expect("it ends").code().unwrap_or(-1);
    (String::from_utf8_lossy(&screen).replace("\r\n", "\n"), status)
}

fn screen(sandbox: &Sandbox, args: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = sandbox.command(args);
    command.env("TERM", "xterm").envs(variables.iter().copied());
    let (screen, status) = on_terminal(command);
    assert_eq!(status, 0, "{args:?}: {screen}");
    screen
}

#[test]
fn colours_on_a_terminal() {
    let sandbox = Sandbox::with_changes();
    assert!(screen(&sandbox, &["log"], &[]).contains("\x1b["));
    for quiet in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert!(!screen(&sandbox, &["log"], &[quiet]).contains('\x1b'), "{quiet:?}");
    }
    assert!(!screen(&sandbox, &["log", "--color", "never"], &[]).contains('\x1b'));
    assert!(!screen(&sandbox, &["log", "--json"], &[]).contains('\x1b'));
}

/// Shows T-52.
#[test]
fn stored_text_cannot_steer_the_screen() {
    let sandbox = Sandbox::new();
    let hostile = "\x1b]0;owned\x07\x1b[2J\u{202e}";
    sandbox.write("a.txt", &format!("{hostile}\n"));
    sandbox.ok(&["change", "begin", "--intent-summary", hostile]);
    sandbox.ok(&[
        "change",
        "finish",
        "--summary",
        hostile,
        "--residual",
        hostile,
        "--claim",
        &format!("{hostile}|{hostile}"),
    ]);
    sandbox.write("b\x1b[31m.txt", hostile);
    let plain = [("NO_COLOR", "1"), ("GEMEL_PAGER", "")];
    for args in [
        &["log"][..],
        &["log", "--operations"],
        &["show", "C1"],
        &["status", "--verbose"],
        &["diff"],
        &["diff", "--stat"],
        &["diff", "--name-only"],
    ] {
        let screen = screen(&sandbox, args, &plain);
        assert!(!screen.contains(['\x1b', '\x07', '\u{202e}']), "{args:?}: {screen:?}");
    }
    assert!(screen(&sandbox, &["log"], &plain).contains("\\x1b]0;owned\\x07"));
    // What the caller typed is not trusted either.
    let mut command = sandbox.command(&["show", hostile]);
    command.env("NO_COLOR", "1");
    let (screen, status) = on_terminal(command);
    assert_eq!(status, 2);
    assert!(!screen.contains('\x1b'), "{screen:?}");
    let mut command = sandbox.command(&[hostile]);
    command.env("NO_COLOR", "1");
    assert!(!on_terminal(command).0.contains('\x1b'));
}

#[test]
fn long_text_goes_through_the_pager() {
    let sandbox = Sandbox::with_changes();
    let long = &["show", "C1"];
    let paged =
        |args: &[&str], pager: &str| screen(&sandbox, args, &[("GEMEL_PAGER", pager), ("NO_COLOR", "1")]);
    let plain = sandbox.ok(long).out;
    assert!(plain.lines().count() > usize::from(ROWS), "{plain}");
    // Words are started as they are, shell syntax by a shell, and the text arrives complete either way.
    assert_eq!(paged(long, "tr a-z A-Z"), plain.to_uppercase());
    assert_eq!(
        paged(long, "sed 's/^/> /' | cat"),
        plain.lines().map(|line| format!("> {line}\n")).collect::<String>()
    );
    // No pager: none asked for, none found, short text, JSON.
    for pager in ["", "cat", "/nonexistent/pager"] {
        assert_eq!(paged(long, pager), plain, "{pager}");
    }
    assert_eq!(paged(&["show", "C1", "--no-pager"], "tr a-z A-Z"), plain);
    assert_eq!(paged(&["log"], "tr a-z A-Z"), sandbox.ok(&["log"]).out);
    assert!(paged(&["show", "C1", "--json"], "tr a-z A-Z").starts_with("{\n  \"omitted\""));
}
