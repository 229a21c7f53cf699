//! Glob patterns with the meaning Git's `wildmatch` gives them, matched in time linear in pattern times text
//! (T-55): a pattern is a chain of tokens, and the text positions each token can end at are found one token after
//! another, never by trying again.

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    tokens: Vec<Token>,
    /// Whether some token crosses slashes, so that the simple way of matching does not do.
    crosses: bool,
}

#[derive(Clone, Debug)]
enum Token {
    /// This byte.
    Byte(u8),
    /// Any byte but a slash.
    Any,
    /// A byte of the set, never a slash.
    Set(Box<[bool; 256]>),
    /// Any number of bytes but slashes.
    Star,
    /// Any number of bytes.
    Everything,
    /// Nothing, or any number of bytes that end in a slash: `**/`.
    Directories,
    /// Matches nothing: a class without end, a backslash at the end.
    Never,
}

impl Glob {
    /// Compiles `pattern`. A pattern that cannot be meant matches nothing.
    pub(crate) fn new(pattern: &[u8]) -> Glob {
        let mut tokens = Vec::with_capacity(pattern.len());
        let mut at = 0;
        while let Some(&byte) = pattern.get(at) {
            let (token, next) = match byte {
                b'?' => (Token::Any, at + 1),
                b'\\' => match pattern.get(at + 1) {
                    Some(&literal) => (Token::Byte(literal), at + 2),
                    None => (Token::Never, at + 1),
                },
                b'[' => {
                    set(pattern, at + 1).map_or((Token::Never, at + 1), |(set, next)| (Token::Set(set), next))
                }
                b'*' => star(pattern, at),
                byte => (Token::Byte(byte), at + 1),
            };
            tokens.push(token);
            at = next;
        }
        let crosses = tokens.iter().any(|token| matches!(token, Token::Everything | Token::Directories));
        Glob { tokens, crosses }
    }

    /// Whether the whole of `text` matches.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        if self.crosses { self.matches_across(text) } else { self.matches_within(text) }
    }

    /// Without a token that crosses slashes, each slash of the text has its fixed place in the pattern, so only the
    /// last star before a mismatch can be stretched.
    fn matches_within(&self, text: &[u8]) -> bool {
        let (mut at, mut token) = (0, 0);
        let mut last_star: Option<(usize, usize)> = None;
        loop {
            match self.tokens.get(token) {
                Some(Token::Star) => {
                    last_star = Some((token, at));
                    token += 1;
                    continue;
                }
                Some(one) if text.get(at).is_some_and(|&byte| one.takes(byte)) => {
                    at += 1;
                    token += 1;
                    continue;
                }
                None if at == text.len() => return true,
                _ => {}
            }
            let Some((star, from)) = last_star else { return false };
            match text.get(from) {
                Some(&byte) if byte != b'/' => {}
                _ => return false,
            }
            last_star = Some((star, from + 1));
            (at, token) = (from + 1, star + 1);
        }
    }

    /// Keeps, for each token in turn, every position its predecessors can have ended at.
    fn matches_across(&self, text: &[u8]) -> bool {
        let mut ends = vec![false; text.len() + 1];
        ends[0] = true;
        let mut next = vec![false; text.len() + 1];
        for token in &self.tokens {
            next.fill(false);
            let mut any = false;
            // Whether a token that swallows bytes is under way at this position.
            let mut open = false;
            for at in 0..=text.len() {
                let before = at.checked_sub(1).map(|i| text[i]);
                let came = before.is_some() && ends[at - 1];
                next[at] = match token {
                    Token::Star => {
                        open = ends[at] || (open && before != Some(b'/'));
                        open
                    }
                    Token::Everything => {
                        open |= ends[at];
                        open
                    }
                    Token::Directories => {
                        let closed = open && before == Some(b'/');
                        open |= ends[at];
                        ends[at] || closed
                    }
                    one => came && before.is_some_and(|byte| one.takes(byte)),
                };
                any |= next[at];
            }
            if !any {
                return false;
            }
            std::mem::swap(&mut ends, &mut next);
        }
        ends[text.len()]
    }
}

impl Token {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Token::Byte(literal) => byte == *literal,
            Token::Any => byte != b'/',
            Token::Set(set) => set[usize::from(byte)],
            Token::Star | Token::Everything | Token::Directories | Token::Never => false,
        }
    }
}

/// The token for a run of stars at `at`, and where it ends. Two or more stars mean more than one only when they are a
/// whole path component.
fn star(pattern: &[u8], at: usize) -> (Token, usize) {
    let stars = pattern[at..].iter().take_while(|&&b| b == b'*').count();
    let end = at + stars;
    let starts_component = at == 0 || pattern[at - 1] == b'/';
    if stars < 2 || !starts_component {
        return (Token::Star, end);
    }
    match pattern.get(end..).unwrap_or_default() {
        [] => (Token::Everything, end),
        [b'/', ..] => (Token::Directories, end + 1),
        // An escaped slash ends a component, too, but cannot be left out.
        [b'\\', b'/', ..] => (Token::Everything, end),
        _ => (Token::Star, end),
    }
}

/// The bytes of a class whose first byte after `[` is at `at`, and where the pattern goes on; `None` when the class
/// has no end or names an unknown set.
fn set(pattern: &[u8], mut at: usize) -> Option<(Box<[bool; 256]>, usize)> {
    let mut set = Box::new([false; 256]);
    let negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    at += usize::from(negated);
    let mut previous: Option<u8> = None;
    let mut first = true;
    loop {
        let byte = *pattern.get(at)?;
        if byte == b']' && !first {
            break;
        }
        first = false;
        let range_end = pattern.get(at + 1).is_some_and(|&b| b != b']');
        match (byte, previous) {
            (b'\\', _) => {
                at += 1;
                let literal = *pattern.get(at)?;
                set[usize::from(literal)] = true;
                previous = Some(literal);
            }
            (b'-', Some(low)) if range_end => {
                at += 1;
                if pattern.get(at) == Some(&b'\\') {
                    at += 1;
                }
                let high = *pattern.get(at)?;
                for member in low..=high {
                    set[usize::from(member)] = true;
                }
                previous = None;
            }
            (b'[', _) if pattern.get(at + 1) == Some(&b':') => {
                let rest = pattern.get(at + 2..)?;
                let close = rest.iter().position(|&b| b == b']')?;
                match rest.get(..close)?.strip_suffix(b":") {
                    Some(name) => {
                        let member = named(name)?;
                        (0..=u8::MAX).filter(|&b| member(b)).for_each(|b| set[usize::from(b)] = true);
                        at += 2 + close;
                        previous = None;
                    }
                    // Not closed as a name: an ordinary bracket.
                    None => {
                        set[usize::from(b'[')] = true;
                        previous = Some(b'[');
                    }
                }
            }
            (literal, _) => {
                set[usize::from(literal)] = true;
                previous = Some(literal);
            }
        }
        at += 1;
    }
    if negated {
        set.iter_mut().for_each(|member| *member = !*member);
    }
    set[usize::from(b'/')] = false;
    Some((set, at + 1))
}

/// The test of a named class.
fn named(name: &[u8]) -> Option<fn(u8) -> bool> {
    Some(match name {
        b"alnum" => |b| b.is_ascii_alphanumeric(),
        b"alpha" => |b| b.is_ascii_alphabetic(),
        b"blank" => |b| matches!(b, b' ' | b'\t'),
        b"cntrl" => |b| b.is_ascii_control(),
        b"digit" => |b| b.is_ascii_digit(),
        b"graph" => |b| b.is_ascii_graphic(),
        b"lower" => |b| b.is_ascii_lowercase(),
        b"print" => |b| b == b' ' || b.is_ascii_graphic(),
        b"punct" => |b| b.is_ascii_punctuation(),
        b"space" => |b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => |b| b.is_ascii_uppercase(),
        b"xdigit" => |b| b.is_ascii_hexdigit(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::Glob;

    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let glob = Glob::new(pattern.as_bytes());
        for text in yes {
            assert!(glob.matches(text.as_bytes()), "{pattern} should match {text}");
        }
        for text in no {
            assert!(!glob.matches(text.as_bytes()), "{pattern} should not match {text}");
        }
    }

    #[test]
    fn stars_and_marks() {
        check("*.o", &["a.o", ".o", "a.b.o"], &["a.oo", "d/a.o", "o"]);
        check("a?c", &["abc"], &["ac", "a/c", "abbc"]);
        check("a*b*c", &["abc", "axxbyyc", "abcbc"], &["a/bc", "ab", "abcd"]);
        check("foo/*", &["foo/a"], &["foo/a/b", "foo"]);
        check("foo/*/bar", &["foo/x/bar", "foo//bar"], &["foo/bar", "foo/x/y/bar"]);
        check("**", &["", "a", "a/b"], &[]);
        check("**/a", &["a", "x/a", "x/y/a"], &["xa", "x/ya"]);
        check("a/**", &["a/b", "a/b/c", "a/"], &["a", "ab"]);
        check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb", "a/x/yb"]);
        check("a**b", &["ab", "axb"], &["a/b"]);
        check("/***/a", &["/a", "/x/a"], &["a"]);
        check("**/*.c", &["x.c", "a/b/x.c"], &["x.h"]);
    }

    #[test]
    fn classes() {
        check("[a-c]x", &["ax", "cx"], &["dx", "x"]);
        check("[!a-c]x", &["dx"], &["ax", "/x"]);
        check("[^a]", &["b"], &["a", "/"]);
        check("[]a]", &["]", "a"], &["b"]);
        check("[a-]", &["a", "-"], &["b"]);
        check("[\\]a]", &["]", "a"], &["\\"]);
        check("[[:digit:]x]", &["3", "x"], &["d", ":"]);
        check("[[:nothing:]]", &[], &["n", ":]"]);
        check("[[:x]", &["[", ":", "x"], &["y"]);
        check("[a", &[], &["a", "[a"]);
        check("a\\", &[], &["a", "a\\"]);
        check("\\*", &["*"], &["a", "\\*"]);
        check("[a-c-e]", &["b", "-", "e"], &["d"]);
    }

    #[test]
    fn no_pattern_is_expensive() {
        let pattern = "a*".repeat(500) + "b";
        let across = "**/a*".repeat(300) + "b";
        let text = "a".repeat(4000);
        assert!(!Glob::new(pattern.as_bytes()).matches(text.as_bytes()));
        assert!(!Glob::new(across.as_bytes()).matches(text.as_bytes()));
    }
}
