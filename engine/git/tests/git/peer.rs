//! The program of release 0.12, asked when `GEMEL_PEER` names it: what both import has to have the same identities.

use crate::fixture::Git;
use crate::gemel::Refs;
use gemel_object::Gid;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Command, Stdio};

pub(crate) struct Peer(OsString);

impl Peer {
    pub(crate) fn named() -> Option<Peer> {
        std::env::var_os("GEMEL_PEER").map(Peer)
    }

    /// Its refs after an import of what `HEAD` reaches, or what it says.
    pub(crate) fn import(&self, git: &Git) -> Result<Refs, String> {
        let work = git.beside("peer");
        let (dir, git_dir) = (work.to_str().unwrap(), git.git_dir.to_str().unwrap());
        self.run(&["init", dir], b"")?;
        self.run(&["--repo", dir, "import-git", "--git-dir", git_dir], b"")?;
        let listed = self.run(&["serve", dir], b"{\"id\":1,\"op\":\"list_refs\"}\n")?;
        // Pairs of a name and an identity; neither needs escapes.
        let pairs = listed.split("[\"").filter_map(|pair| {
            let (name, rest) = pair.split_once("\",\"")?;
            Some((name.to_owned(), Gid::parse(rest.split('"').next()?).ok()?))
        });
        Ok(pairs.collect())
    }

    fn run(&self, args: &[&str], input: &[u8]) -> Result<String, String> {
        let mut command = Command::new(&self.0);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.env("GIT_CONFIG_GLOBAL", "/dev/null").spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).ok();
        let out = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if out.status.success() { Ok(text(&out.stdout)) } else { Err(text(&out.stderr)) }
    }
}

/// The part of refs that both programs give alike.
pub(crate) fn shared(refs: Refs) -> Refs {
    let both = |name: &str| {
        matches!(name, "refs/head" | "refs/state/head")
            || name.starts_with("refs/names/C")
            || name.starts_with("refs/names/S")
    };
    refs.into_iter().filter(|(name, _)| both(name)).collect()
}
