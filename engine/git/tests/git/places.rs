//! Where objects and refs may lie.

use crate::cases::{case, run};
use crate::fixture::{Git, Story, git_in};

fn worked() -> Git {
    let git = Git::init(&["--initial-branch=main"]);
    tell(&git);
    git
}

fn tell(git: &Git) {
    let mut story = Story::new(git);
    story.commit("main", "one", &[("a", "1"), ("d/b", "1")]).commit("main", "two", &[("a", "2")]);
    story.commit("main", "three", &[("d/b", "3")]).told();
}

#[test]
fn places_of_objects() {
    const HEAD: &str = "\"three\" by \"Ada <ada@x.test>\" at Some(1000000002000): a d/b";
    run(vec![
        case("the folder of the files", || {
            let git = worked();
            Git { git_dir: git.dir.clone(), ..git }
        })
        .head(HEAD),
        case("a linked worktree", || {
            let git = worked();
            let linked = git.beside("linked");
            git.run(&["worktree", "add", "-q", "--detach", linked.to_str().unwrap(), "main~1"]);
            Git { dir: linked.clone(), git_dir: linked.join(".git"), ..git }
        })
        .head("\"two\" by \"Ada <ada@x.test>\" at Some(1000000001000): a d/b")
        .unlike_0_12(),
        case("a file that names the folder", || {
            let git = worked();
            let moved = git.beside("moved");
            std::fs::rename(git.dir.join(".git"), &moved).unwrap();
            std::fs::write(git.dir.join(".git"), "gitdir: ../moved\n").unwrap();
            git
        })
        .head(HEAD)
        .unlike_0_12(),
        case("alternates of alternates", || {
            let git = worked();
            let (middle, last) = (git.beside("middle"), git.beside("last"));
            for (from, to) in [(&git.dir, &middle), (&middle, &last)] {
                let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
                git.run(&["clone", "-q", "--bare", "--shared", from, to]);
            }
            Git { dir: last.clone(), git_dir: last, ..git }
        })
        .head(HEAD),
        case("packed and loose", || {
            let git = worked();
            git.run(&["-c", "pack.writeReverseIndex=true", "repack", "-adq", "--write-bitmap-index"]);
            git.run(&["pack-refs", "--all"]);
            git.run(&["commit-graph", "write", "--reachable"]);
            let mut story = Story::new(&git);
            story.branch("side", "main").commit("side", "side", &[("s", "1")]).told();
            let tip = git.commit(&git.run(&["rev-parse", "side^{tree}"]), &[&git.head()], "loose");
            git.set("refs/heads/main", &tip);
            git
        })
        .head("\"loose\" by \"Ada <ada@x.test>\" at Some(1000000000000): a d/b s"),
        case("several packs under one index", || {
            let git = worked();
            git.run(&["repack", "-q"]);
            let mut story = Story::new(&git);
            story.branch("side", "main").commit("side", "side", &[("s", "1")]).told();
            git.run(&["repack", "-q"]);
            git.run(&["multi-pack-index", "write"]);
            git.run(&["prune-packed", "-q"]);
            git
        })
        .head(HEAD),
        case("packs with deltas upon deltas", || {
            let git = Git::new();
            let mut story = Story::new(&git);
            let text = |n: usize| {
                (0..400).map(|line| format!("{}\n", line * (1 + usize::from(line == n)))).collect::<String>()
            };
            for n in 0..60 {
                story.commit("main", "m", &[("long", &text(n)), (&format!("d/f{n}"), "1")]);
            }
            story.told();
            git.run(&["repack", "-adfq", "--depth=50", "--window=50"]);
            git
        }),
        case("SHA-256", || {
            let git = Git::init(&["--bare", "--initial-branch=main", "--object-format=sha256"]);
            tell(&git);
            git.set("refs/tags/v1", &git.tag(&git.head(), "commit", "v1"));
            git
        })
        .head(HEAD)
        .unlike_0_12(),
        case("a shallow clone", || shallow("1"))
            .head(HEAD)
            .losses(&["parents omitted (shallow boundary)"])
            .unlike_0_12(),
        case("a deeper shallow clone", || shallow("2")).head(HEAD).unlike_0_12(),
        case("configuration that would run programs", || {
            let git = worked();
            for (name, value) in [
                ("core.fsmonitor", "touch ran"),
                ("filter.x.smudge", "touch ran"),
                ("core.alternateRefsCommand", "touch ran"),
                ("uploadpack.packObjectsHook", "touch ran"),
                ("extensions.worktreeConfig", "true"),
                ("include.path", "/nonexistent/\u{e9}"),
            ] {
                git.run(&["config", name, value]);
            }
            git
        })
        .head(HEAD),
    ]);
}

fn shallow(depth: &str) -> Git {
    let git = worked();
    let (from, to) = (format!("file://{}", git.dir.display()), git.beside("shallow"));
    git_in(&git.dir, &["clone", "-q", "--bare", "--depth", depth, &from, to.to_str().unwrap()], b"").unwrap();
    Git { dir: to.clone(), git_dir: to, ..git }
}
