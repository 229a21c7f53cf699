//! The pending record of a workspace: what `change begin` leaves for `change finish` (workflow, section 4.1).
//!
//! Its text is contract: JSON with two spaces of indentation, seven keys in ascending order, absent values null,
//! final newline. The reader is by hand because the form is one flat object of strings, integers and nulls; a JSON library
//! would accept far more than may be accepted here.

use crate::{RepoError, Result};
use gemel_object::json::Json;
use gemel_object::{Family, Gid};

const SCHEMA: &str = "gemel.pending.v1";

/// Longest record read; a path and three identities need far less.
const MAX_BYTES: usize = 64 << 10;

/// A change in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) input_state: Option<Gid>,
    pub(crate) intent: Option<Gid>,
    pub(crate) producer: Option<Gid>,
    pub(crate) workspace: String,
    /// Absolute directory, or `None` for the workspace's own.
    pub(crate) worktree: Option<String>,
    pub(crate) started_at_ms: i64,
}

impl Pending {
    /// The text of the record.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let id = |id: &Option<Gid>| id.map_or_else(|| "null".to_owned(), |id| format!("\"{id}\""));
        let worktree = self.worktree.as_deref().map_or_else(|| "null".to_owned(), quote);
        format!(
            "{{\n  \"input_state\": {},\n  \"intent\": {},\n  \"producer\": {},\n  \"schema\": \"{SCHEMA}\",\n  \
             \"started_at\": {},\n  \"workspace\": {},\n  \"worktree\": {worktree}\n}}\n",
            id(&self.input_state),
            id(&self.intent),
            id(&self.producer),
            self.started_at_ms,
            quote(&self.workspace),
        )
        .into_bytes()
    }

    /// Reads a record of workspace `workspace`.
    ///
    /// # Errors
    /// `PendingCorrupt` for anything but the seven keys with values of their kinds.
    pub(crate) fn parse(workspace: &str, bytes: &[u8]) -> Result<Pending> {
        read(bytes).map_err(|detail| RepoError::PendingCorrupt { workspace: workspace.to_owned(), detail })
    }
}

fn quote(text: &str) -> String {
    Json::Text(text.to_owned()).to_string()
}

#[derive(Debug, PartialEq, Eq)]
enum Scalar {
    Null,
    Integer(i64),
    Text(String),
}

impl Scalar {
    fn text(self, key: &str) -> Result<Option<String>, String> {
        match self {
            Scalar::Null => Ok(None),
            Scalar::Text(text) => Ok(Some(text)),
            Scalar::Integer(n) => Err(format!("{key} is {n}, not a string")),
        }
    }

    fn id(self, key: &str, family: Family) -> Result<Option<Gid>, String> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let id = Gid::parse(&text).map_err(|e| format!("{key}: {e}"))?;
        if id.family() == family {
            Ok(Some(id))
        } else {
            Err(format!("{key} is {id}, not {}", family.name()))
        }
    }
}

fn read(bytes: &[u8]) -> Result<Pending, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("{} bytes, at most {MAX_BYTES} are read", bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| format!("not UTF-8 at byte {}", e.valid_up_to()))?;
    let mut members = Reader { rest: text }.object()?;
    let mut take = |key: &str| {
        let at = members.iter().position(|(k, _)| k == key).ok_or_else(|| format!("key {key} is missing"))?;
        Ok::<Scalar, String>(members.swap_remove(at).1)
    };
    match take("schema")?.text("schema")?.as_deref() {
        Some(SCHEMA) => {}
        other => return Err(format!("schema {other:?}, expected {SCHEMA:?}")),
    }
    let pending = Pending {
        input_state: take("input_state")?.id("input_state", Family::State)?,
        intent: take("intent")?.id("intent", Family::Intent)?,
        producer: take("producer")?.id("producer", Family::Producer)?,
        workspace: take("workspace")?.text("workspace")?.unwrap_or_default(),
        worktree: take("worktree")?.text("worktree")?,
        started_at_ms: match take("started_at")? {
            Scalar::Integer(ms) => ms,
            other => return Err(format!("started_at is {other:?}, not an integer")),
        },
    };
    match members.first() {
        Some((key, _)) => Err(format!("unknown key {key:?}")),
        None => Ok(pending),
    }
}

/// Reads one flat object. Every step shortens `rest`, so it ends.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn object(mut self) -> Result<Vec<(String, Scalar)>, String> {
        self.expect('{')?;
        let mut members: Vec<(String, Scalar)> = Vec::new();
        loop {
            let key = self.string()?;
            if members.iter().any(|(k, _)| *k == key) {
                return Err(format!("key {key:?} twice"));
            }
            self.expect(':')?;
            let value = self.scalar()?;
            members.push((key, value));
            if self.accept(',') {
                continue;
            }
            self.expect('}')?;
            self.skip_space();
            return if self.rest.is_empty() { Ok(members) } else { Err("text after the object".to_owned()) };
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn accept(&mut self, c: char) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.accept(c) {
            return Ok(());
        }
        Err(match self.rest.chars().next() {
            Some(found) => format!("{found:?} where {c:?} is expected"),
            None => format!("end where {c:?} is expected"),
        })
    }

    fn scalar(&mut self) -> Result<Scalar, String> {
        self.skip_space();
        if let Some(rest) = self.rest.strip_prefix("null") {
            self.rest = rest;
            return Ok(Scalar::Null);
        }
        if self.rest.starts_with('"') {
            return self.string().map(Scalar::Text);
        }
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().map(Scalar::Integer).map_err(|_| format!("{digits:?} is no value"))
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect('"')?;
        let mut out = String::new();
        let mut chars = self.rest.chars();
        loop {
            match chars.next().ok_or("string without end")? {
                '"' => break,
                '\\' => out.push(escape(&mut chars)?),
                c if u32::from(c) < 0x20 => return Err(format!("{c:?} in a string")),
                c => out.push(c),
            }
        }
        self.rest = chars.as_str();
        Ok(out)
    }
}

fn escape(chars: &mut std::str::Chars<'_>) -> Result<char, String> {
    Ok(match chars.next().ok_or("string without end")? {
        c @ ('"' | '\\' | '/') => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let first = code_unit(chars)?;
            let code = match first {
                0xD800..=0xDBFF => {
                    if !(chars.next() == Some('\\') && chars.next() == Some('u')) {
                        return Err("half a surrogate pair".to_owned());
                    }
                    let second = code_unit(chars)?;
                    if !(0xDC00..=0xDFFF).contains(&second) {
                        return Err("half a surrogate pair".to_owned());
                    }
                    0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
                }
                other => other,
            };
            char::from_u32(code).ok_or_else(|| format!("no character U+{code:04X}"))?
        }
        other => return Err(format!("escape \\{other}")),
    })
}

fn code_unit(chars: &mut std::str::Chars<'_>) -> Result<u32, String> {
    let mut value = 0;
    for _ in 0..4 {
        let digit = chars.next().and_then(|c| c.to_digit(16)).ok_or("\\u needs four hex digits")?;
        value = value << 4 | digit;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Pending {
        Pending {
            input_state: Some(Gid::new(Family::State, [1; 32])),
            intent: None,
            producer: Some(Gid::new(Family::Producer, [2; 32])),
            workspace: "a b".to_owned(),
            worktree: Some("/w/\"q\"\\\n\u{1}é🦀".to_owned()),
            started_at_ms: -5,
        }
    }

    #[test]
    fn text_is_the_contract() {
        let text = String::from_utf8(sample().to_bytes()).unwrap();
        let hex = |digit: &str| digit.repeat(32);
        assert_eq!(
            text,
            format!(
                "{{\n  \"input_state\": \"state.{}\",\n  \"intent\": null,\n  \"producer\": \"producer.{}\",\n  \
                 \"schema\": \"gemel.pending.v1\",\n  \"started_at\": -5,\n  \"workspace\": \"a b\",\n  \
                 \"worktree\": \"/w/\\\"q\\\"\\\\\\n\\u0001é🦀\"\n}}\n",
                hex("01"),
                hex("02"),
            )
        );
        assert_eq!(Pending::parse("a b", text.as_bytes()).unwrap(), sample());
    }

    #[test]
    fn reads_other_spacing_and_escapes() {
        let text = "{\"workspace\":\"d\\u00e9\\ud83e\\udd80\\/\",\"schema\":\"gemel.pending.v1\",\"started_at\":7,\
                    \"input_state\":null,\"intent\":null,\"producer\":null,\"worktree\":null}";
        let pending = Pending::parse("x", text.as_bytes()).unwrap();
        assert_eq!((pending.workspace.as_str(), pending.started_at_ms), ("dé🦀/", 7));
    }

    /// T-15: nothing but the record reads as one, and nothing makes the reader panic.
    #[test]
    fn refuses_everything_else() {
        let good = String::from_utf8(sample().to_bytes()).unwrap();
        for (from, to) in [
            ("gemel.pending.v1", "gemel.pending.v2"),
            ("\"started_at\": -5", "\"started_at\": \"5\""),
            ("\"started_at\": -5", "\"started_at\": 5.5"),
            ("\"started_at\": -5", "\"started_at\": 99999999999999999999"),
            ("\"intent\"", "\"intend\""),
            ("\"intent\": null", "\"intent\": null, \"intent\": null"),
            ("\"intent\": null", "\"intent\": 3"),
            ("\"intent\": null", "\"intent\": {}"),
            ("\"intent\": null", "\"intent\": \"state.00\""),
            ("state.", "tree."),
            ("\"a b\"", "\"a\nb\""),
            ("\"a b\"", "\"\\ud800x\""),
            ("\"a b\"", "\"\\q\""),
            ("}\n", "}x"),
            ("}\n", ""),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            assert!(Pending::parse("x", bad.as_bytes()).is_err(), "{bad}");
        }
        for cut in 0..good.len() - 2 {
            assert!(Pending::parse("x", &good.as_bytes()[..cut]).is_err());
        }
        assert!(Pending::parse("x", &[0xFF]).is_err());
        assert!(Pending::parse("x", &vec![b' '; MAX_BYTES + 1]).is_err());
    }
}
