//! One rule file, and the rule files that apply in a directory.

use super::glob::Glob;
use std::sync::OnceLock;

/// Stands for the exact bytes of all rules that apply in a directory.
pub(crate) type RuleDigest = [u8; 16];

/// The rules of one file.
#[derive(Debug)]
pub(crate) struct RuleFile {
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    /// `!`: what matches is not ignored after all.
    negated: bool,
    /// Ends in a slash: only directories match.
    only_directories: bool,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// Compared with the last name of a path.
    Name(Vec<u8>),
    /// Compared with the end of the last name: `*.o`.
    NameEnd(Vec<u8>),
    /// Matched against the last name.
    NameGlob(Glob),
    /// The path below the file's directory begins with these bytes and the rest matches.
    Path(Vec<u8>, Option<Glob>),
}

/// A rule file has no business being larger; Git ignores one that is.
pub(crate) const MAX_RULE_FILE: u64 = 100 << 20;

impl RuleFile {
    /// Reads the rules of one file. There is no malformed one: a line that cannot be meant matches nothing.
    pub(crate) fn parse(bytes: &[u8]) -> RuleFile {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        RuleFile { patterns: bytes.split(|&b| b == b'\n').filter_map(pattern).collect() }
    }

    /// What these rules say of `path`, which lies below the file's directory: ignored, not ignored, or nothing. The
    /// last rule that matches decides.
    fn decide(&self, path: &[u8], name: &[u8], is_dir: bool) -> Option<bool> {
        let matching = self.patterns.iter().rev().find(|pattern| pattern.matches(path, name, is_dir));
        matching.map(|pattern| !pattern.negated)
    }
}

/// The rule of a line, if it holds one.
fn pattern(line: &[u8]) -> Option<Pattern> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Git keeps lines as C text.
    let line = line.split(|&b| b == 0).next().unwrap_or_default();
    if line.is_empty() || line[0] == b'#' {
        return None;
    }
    let line = trim_spaces(line);
    let (negated, line) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
    let (only_directories, body) = line.strip_suffix(b"/").map_or((false, line), |rest| (true, rest));
    if body.is_empty() {
        return None;
    }
    let literal = body.iter().take_while(|b| !is_special(**b)).count();
    let form = if !body.contains(&b'/') {
        name_form(body, literal)
    } else {
        let (body, literal) = match body.strip_prefix(b"/") {
            Some(rest) => (rest, literal.saturating_sub(1)),
            None => (body, literal),
        };
        let (prefix, rest) = body.split_at(literal);
        Form::Path(prefix.to_vec(), (!rest.is_empty()).then(|| Glob::new(rest)))
    };
    Some(Pattern { negated, only_directories, form })
}

fn name_form(body: &[u8], literal: usize) -> Form {
    match body.strip_prefix(b"*") {
        _ if literal == body.len() => Form::Name(body.to_vec()),
        Some(end) if !end.iter().any(|&b| is_special(b)) => Form::NameEnd(end.to_vec()),
        _ => Form::NameGlob(Glob::new(body)),
    }
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

/// Without the spaces at the end, except those behind a backslash.
fn trim_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        if byte == b'\\' {
            // A backslash at the very end protects the whole line.
            if at + 1 == line.len() {
                return line;
            }
            at += 1;
        }
        at += 1;
        if byte != b' ' {
            end = at;
        }
    }
    &line[..end]
}

impl Pattern {
    fn matches(&self, path: &[u8], name: &[u8], is_dir: bool) -> bool {
        if self.only_directories && !is_dir {
            return false;
        }
        match &self.form {
            Form::Name(literal) => name == literal,
            Form::NameEnd(end) => name.ends_with(end),
            Form::NameGlob(glob) => glob.matches(name),
            Form::Path(prefix, rest) => match (path.strip_prefix(prefix.as_slice()), rest) {
                (Some(remaining), Some(glob)) => glob.matches(remaining),
                (Some(remaining), None) => remaining.is_empty(),
                (None, _) => false,
            },
        }
    }
}

/// Names the rules that apply in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuleId(usize);

/// The rule files met in a worktree. Grows as directories are met; what is there never changes.
#[derive(Debug)]
pub(crate) struct Rules {
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    above: Option<RuleId>,
    /// Bytes of the path of the file's directory, the slash after it included.
    base_len: usize,
    digest: RuleDigest,
    bytes: Vec<u8>,
    parsed: OnceLock<RuleFile>,
}

impl Rules {
    /// The first layer: the rules of `.git/info/exclude`, which all others override.
    pub(crate) const ROOT: RuleId = RuleId(0);

    /// Begins with the bytes of `.git/info/exclude`, if there is one.
    pub(crate) fn new(exclude: Option<Vec<u8>>) -> Rules {
        let digest = exclude.as_ref().map_or([0; 16], |bytes| extended(&[0; 16], bytes));
        Rules { layers: vec![Layer::new(None, 0, digest, exclude.unwrap_or_default())] }
    }

    /// Adds the rule file of the directory with path `dir`, below `above`.
    pub(crate) fn add(&mut self, above: RuleId, dir: &[u8], bytes: Vec<u8>) -> RuleId {
        let digest = self.extended(above, &bytes);
        let base_len = if dir.is_empty() { 0 } else { dir.len() + 1 };
        self.layers.push(Layer::new(Some(above), base_len, digest, bytes));
        RuleId(self.layers.len() - 1)
    }

    /// The digest of the rules `id`.
    pub(crate) fn digest(&self, id: RuleId) -> RuleDigest {
        self.layers[id.0].digest
    }

    /// The digest that a rule file with these bytes has below `above`.
    pub(crate) fn extended(&self, above: RuleId, bytes: &[u8]) -> RuleDigest {
        extended(&self.digest(above), bytes)
    }

    /// Whether `path`, whose parents are not ignored, is. `own` are the rules of its own directory when they have not
    /// been added yet.
    pub(crate) fn ignores(&self, id: RuleId, own: Option<&RuleFile>, path: &[u8], is_dir: bool) -> bool {
        let name_at = path.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        let name = &path[name_at..];
        if let Some(decided) = own.and_then(|own| own.decide(name, name, is_dir)) {
            return decided;
        }
        let mut layer = Some(id);
        while let Some(id) = layer {
            let current = &self.layers[id.0];
            let below = path.get(current.base_len..).unwrap_or_default();
            if let Some(decided) = current.parsed().decide(below, name, is_dir) {
                return decided;
            }
            layer = current.above;
        }
        false
    }
}

impl Layer {
    fn new(above: Option<RuleId>, base_len: usize, digest: RuleDigest, bytes: Vec<u8>) -> Layer {
        Layer { above, base_len, digest, bytes, parsed: OnceLock::new() }
    }

    fn parsed(&self) -> &RuleFile {
        self.parsed.get_or_init(|| RuleFile::parse(&self.bytes))
    }
}

fn extended(above: &RuleDigest, bytes: &[u8]) -> RuleDigest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(above);
    hasher.update(bytes);
    let mut digest = [0; 16];
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: &str, ignored: &[&str], kept: &[&str]) {
        let mut layers = Rules::new(None);
        let root = layers.add(Rules::ROOT, b"", rules.as_bytes().to_vec());
        let is_ignored = |path: &str| {
            let (path, is_dir) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
            layers.ignores(root, None, path.as_bytes(), is_dir)
        };
        for path in ignored {
            assert!(is_ignored(path), "{rules:?} should ignore {path}");
        }
        for path in kept {
            assert!(!is_ignored(path), "{rules:?} should not ignore {path}");
        }
    }

    #[test]
    fn names_and_paths() {
        check("*.o\n!keep.o", &["a.o", "d/a.o", "a.o/"], &["keep.o", "d/keep.o", "a.c"]);
        check("/top", &["top", "top/"], &["d/top"]);
        check("d/x", &["d/x"], &["e/d/x", "x"]);
        check("build/", &["build/", "d/build/"], &["build", "d/build"]);
        check("foo/**", &["foo/a", "foo/a/b"], &["foo/", "foo"]);
        check("**/foo/bar", &["foo/bar", "x/foo/bar"], &["foo"]);
        check("a/**/z", &["a/z", "a/b/z"], &["b/a/z"]);
        check("a**/b", &["a/b", "ax/y/b"], &["b"]);
        check("/", &[], &["a", "a/"]);
    }

    #[test]
    fn lines() {
        check("# comment\n\\#file\n\\!bang", &["#file", "!bang"], &["# comment", "file"]);
        check("a  \nb\\ \nc\\", &["a", "b "], &["a  ", "b", "c\\", "c"]);
        check("\u{feff}x\r\ny\r\n\r\n", &["x", "y"], &["\r"]);
        check("x\0y", &["x"], &["y"]);
        check("a\t", &["a\t"], &["a"]);
        check("!\n!!\n", &[], &["!", "a"]);
    }

    #[test]
    fn nearer_files_and_later_lines_win() {
        let mut rules = Rules::new(Some(b"*.log\n*.tmp\n".to_vec()));
        let root = rules.add(Rules::ROOT, b"", b"!a.log\n/d/x\n".to_vec());
        let d = rules.add(root, b"d", b"!x\n/y\n".to_vec());
        assert!(rules.ignores(root, None, b"b.log", false));
        assert!(!rules.ignores(root, None, b"a.log", false));
        assert!(!rules.ignores(d, None, b"d/x", false));
        assert!(rules.ignores(d, None, b"d/y", false));
        assert!(!rules.ignores(d, None, b"d/e/y", false));
        assert!(rules.ignores(d, None, b"d/e/z.tmp", false));
        let own = RuleFile::parse(b"!*.tmp\nq");
        assert!(!rules.ignores(d, Some(&own), b"d/e/z.tmp", false));
        assert!(rules.ignores(d, Some(&own), b"d/e/q", false));
    }
}
