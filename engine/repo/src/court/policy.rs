//! Whether a recorded command may run, and how (workflow, section 15).
//!
//! The allowlist never lets a shell see more than a person wrote down in full: a command with any character that a
//! shell could take for syntax runs only if its complete text is a pattern, everything else runs without a shell
//! (threat T-58).

use crate::{Repo, RepoError, Result};
use gemel_object::ExecutionPolicy;
use std::fs;
use std::io::{self, Read};

/// Name of the allowlist, beside the store.
pub(super) const ALLOWLIST: &str = "court.allowlist";

/// Longest allowlist read.
const MAX_ALLOWLIST_BYTES: u64 = 1 << 20;

/// What a shell could take for more than a word. Line breaks and other controls count, too.
const SYNTAX: &[char] = &[
    ';', '&', '|', '<', '>', '`', '$', '(', ')', '{', '}', '\\', '*', '?', '[', ']', '~', '#', '!', '\'', '"',
];

/// What the policy says of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Runs(Way),
    /// It does not, for this reason.
    Denied(String),
}

/// How a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// `sh -c` gets the complete text.
    Shell,
    /// The first word is the program, the others are its arguments; no shell takes part.
    Words(Vec<String>),
}

/// The allowlist of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowlist {
    patterns: Vec<String>,
}

impl Allowlist {
    /// Reads the file; without one nothing is allowed.
    ///
    /// # Errors
    /// `Invalid` for one that is no plain file or cannot be read, `Limit` for one that is too long.
    pub(super) fn load(repo: &Repo) -> Result<Allowlist> {
        let path = repo.root().join(crate::STORE_DIR).join(ALLOWLIST);
        let unreadable = |detail: String| RepoError::invalid(format!("invalid: {} {detail}", path.display()));
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => return Err(unreadable("is no plain file".to_owned())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Allowlist::default()),
            Err(error) => return Err(unreadable(format!("cannot be read: {error}"))),
        }
        let mut bytes = Vec::new();
        fs::File::open(&path)
            .and_then(|file| file.take(MAX_ALLOWLIST_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| unreadable(format!("cannot be read: {error}")))?;
        let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if found > MAX_ALLOWLIST_BYTES {
            let what = format!("bytes of {}", path.display());
            return Err(RepoError::Limit { what, found, limit: MAX_ALLOWLIST_BYTES });
        }
        Ok(Allowlist::parse(&bytes))
    }

    /// One pattern a line. Empty lines, those that begin with `#` and those that are not UTF-8 are no patterns.
    pub(super) fn parse(bytes: &[u8]) -> Allowlist {
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        let patterns = lines.map(|line| line.trim_end_matches('\r').trim_matches(BLANK));
        let patterns = patterns.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Allowlist { patterns: patterns.map(str::to_owned).collect() }
    }

    /// How a command may run under this list.
    pub(super) fn way(&self, command: &str) -> Option<Way> {
        let text = command.trim_matches(BLANK);
        // One word before a `*` stands for programs and is never a command by itself.
        let is_prefix = |pattern: &str| pattern.ends_with('*') && !pattern.contains(BLANK);
        let listed = self.patterns.iter().any(|pattern| pattern == text && !is_prefix(pattern));
        if text.contains(is_syntax) {
            return listed.then_some(Way::Shell);
        }
        let words: Vec<String> =
            text.split(BLANK).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let program = words.first()?;
        let allowed = listed || self.patterns.iter().any(|pattern| names(pattern, program));
        allowed.then_some(Way::Words(words))
    }
}

/// What separates words.
const BLANK: [char; 2] = [' ', '\t'];

fn is_syntax(c: char) -> bool {
    SYNTAX.contains(&c) || c.is_control() && c != '\t'
}

/// Whether a pattern names a program: the word itself, or the beginning of it before a `*`. What the `*` stands for
/// leads to no other folder: neither from a bare name to a path, nor upward.
fn names(pattern: &str, program: &str) -> bool {
    if pattern == program {
        return true;
    }
    let Some(prefix) = pattern.strip_suffix('*') else { return false };
    let Some(rest) = program.strip_prefix(prefix) else { return false };
    if prefix.contains('/') { !program.split('/').any(|part| part == "..") } else { !rest.contains('/') }
}

/// What the policy says of `command`.
///
/// # Errors
/// As [`Allowlist::load`].
pub(super) fn verdict(repo: &Repo, policy: ExecutionPolicy, allow: bool, command: &str) -> Result<Verdict> {
    Ok(match policy {
        ExecutionPolicy::NeverAutoExecute => Verdict::Denied(
            "config.execution_policy is never_auto_execute; switch to policy_gated or allowlist to run courts"
                .to_owned(),
        ),
        ExecutionPolicy::PolicyGated if allow => Verdict::Runs(Way::Shell),
        ExecutionPolicy::PolicyGated => Verdict::Denied(
            "execution_policy is policy_gated; pass --allow to run this court explicitly".to_owned(),
        ),
        ExecutionPolicy::Allowlist => match Allowlist::load(repo)?.way(command) {
            Some(way) => Verdict::Runs(way),
            None if command.contains(is_syntax) => Verdict::Denied(format!(
                "the command holds characters that a shell could take for syntax, and its complete text is no \
                 pattern of .gemel/{ALLOWLIST}"
            )),
            None => Verdict::Denied(format!("the command is not in .gemel/{ALLOWLIST}")),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<Way> {
        Some(Way::Words(text.split(' ').map(str::to_owned).collect()))
    }

    #[test]
    fn what_an_allowlist_lets_run() {
        let list = "# comment\n\n  echo \nsee*\r\nscripts/*\ncargo test --all\nls *\nmake && make check\n*\u{fffd}no\n";
        let mut bytes = list.as_bytes().to_vec();
        bytes.extend_from_slice(b"\xffbad\n#*\n");
        let list = Allowlist::parse(&bytes);
        let check =
            |command: &str, expected: Option<Way>| assert_eq!(list.way(command), expected, "{command:?}");
        check("echo", words("echo"));
        check("echo hello", words("echo hello"));
        check(" \techo\t a   b ", words("echo a b"));
        check("see", words("see"));
        check("seed 1", words("seed 1"));
        check("scripts/a b", words("scripts/a b"));
        check("scripts/deep/a", words("scripts/deep/a"));
        check("cargo test --all", words("cargo test --all"));
        check("ls *", Some(Way::Shell));
        check("make && make check", Some(Way::Shell));
        // Another program, or the same name by another way.
        for command in [
            "",
            " ",
            "printf x",
            "ech",
            "echoo",
            "Echo",
            "/bin/echo x",
            "./echo",
            "../echo",
            "echo/../rm",
            "see/x",
            "see/../../bin/rm x",
            "scripts/../rm",
            "scripts/a/../../rm",
            "a/scripts/x",
            "cargo test",
            "cargo test --al",
            "cargo test --all x",
            "cargo  test",
            "make",
            "make check",
            "#",
            "# comment",
            "bad",
        ] {
            check(command, None);
        }
        // Anything a shell could take for syntax, behind a program that is listed.
        for tail in [
            ";rm x",
            "; rm x",
            "&& rm x",
            "| sh",
            "> f",
            "< f",
            "`rm x`",
            "$(rm x)",
            "$HOME",
            "${x}",
            "{a,b}",
            "\\x",
            "*",
            "?",
            "[a]",
            "~",
            "#x",
            "!x",
            "'x'",
            "\"x\"",
            "a\nrm x",
            "a\rrm x",
            "\n",
            "\0",
            "\u{1b}[0m",
            "\u{85}x",
        ] {
            check(&format!("echo {tail}"), None);
            check(&format!("echo{tail}"), None);
            check(&format!("see{tail}"), None);
        }
        assert_eq!(Allowlist::default().way("echo"), None);
        assert_eq!(Allowlist::parse(b"*\n").way("anything at all"), words("anything at all"));
        assert_eq!(Allowlist::parse(b"*\n").way("/bin/anything"), None);
        assert_eq!(Allowlist::parse(b"*\n").way("anything; at all"), None);
    }
}
