//! A stop in the middle, as hard as the system can: the repository is as before, or whole.

use crate::fixture::{Git, Story};
use crate::gemel::{Gemel, import_at};
use std::process::{Command, Stdio};
use std::time::Duration;

const FROM: &str = "GEMEL_TEST_IMPORT_FROM";
const INTO: &str = "GEMEL_TEST_IMPORT_INTO";

/// What the killed process runs; alone it does nothing.
#[test]
#[ignore = "a part of `a_killed_import_leaves_the_repository_as_it_was`"]
fn child() {
    if let (Some(from), Some(into)) = (std::env::var_os(FROM), std::env::var_os(INTO)) {
        import_at(into.as_ref(), from.as_ref());
    }
}

#[test]
fn a_killed_import_leaves_the_repository_as_it_was() {
    let git = Git::new();
    let mut story = Story::new(&git);
    for n in 0..3000 {
        story.commit("main", "m", &[(&format!("d{}/f{}", n % 40, n % 300), &n.to_string())]);
    }
    story.told();
    let gemel = Gemel::new();
    let before = gemel.refs();
    let mut killed = 0;
    for step in 1..=12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "interrupted::child", "--ignored", "--quiet"])
            .envs([(FROM, &git.git_dir), (INTO, &gemel.root())])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(25 * step));
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());
        let reopened = gemel.reopened();
        reopened.fsck();
        if reopened.refs() != before {
            break;
        }
    }
    assert!(killed > 0, "the import was over before the first stop");
    let again = gemel.reopened();
    again.import(&git);
    again.fsck();
    assert_eq!(again.target("refs/names/C3000"), again.target("refs/head"));
    let whole = Gemel::of(&git);
    assert_eq!(again.refs(), whole.refs());
}
