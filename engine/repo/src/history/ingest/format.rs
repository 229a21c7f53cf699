//! What kind of file it is.

use super::tree;
use serde_json::Value;

/// Formats of evidence that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A `gemel.evidence.v1` document.
    Gemel,
    /// JUnit XML.
    Junit,
    /// SARIF 2.1.
    Sarif,
    /// TAP 13 and 14.
    Tap,
    /// JSON lines of libtest.
    Libtest,
    /// in-toto statements, bare or in DSSE envelopes.
    InToto,
}

impl Format {
    /// Words for `--format`.
    pub const WORDS: [&str; 7] = ["auto", "gemel", "junit", "sarif", "tap", "libtest", "in-toto"];

    const ALL: [Format; 6] =
        [Format::Gemel, Format::Junit, Format::Sarif, Format::Tap, Format::Libtest, Format::InToto];

    /// The word of the format.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Gemel => "gemel",
            Format::Junit => "junit",
            Format::Sarif => "sarif",
            Format::Tap => "tap",
            Format::Libtest => "libtest",
            Format::InToto => "in-toto",
        }
    }

    /// The format of a word; `None` for any other, `auto` included.
    pub(super) fn from_text(text: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.as_str() == text)
    }

    /// The format that a file looks like; what looks like none is taken for a document of our own, whose reader tells
    /// what is wrong with it.
    pub(super) fn of(bytes: &[u8]) -> Format {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
        match bytes.first() {
            Some(b'<') => Format::Junit,
            Some(b'{') => json(bytes),
            _ => lines(bytes),
        }
    }
}

/// The format of a file whose first value is an object.
fn json(bytes: &[u8]) -> Format {
    let members = tree::peek(bytes);
    let text = |key: &str| members.get(key).and_then(Value::as_str);
    let begins = |key: &str, start: &str| text(key).is_some_and(|text| text.starts_with(start));
    if members.contains_key("schema") {
        Format::Gemel
    } else if begins("_type", "https://in-toto.io/Statement")
        || begins("payloadType", "application/vnd.in-toto")
    {
        Format::InToto
    } else if members.contains_key("runs") || text("$schema").is_some_and(|url| url.contains("sarif")) {
        Format::Sarif
    } else if text("event").is_some()
        && text("type").is_some_and(|kind| ["suite", "test", "bench"].contains(&kind))
        || text("reason").is_some()
    {
        Format::Libtest
    } else {
        Format::Gemel
    }
}

/// The format of lines, by the first that tells; a build may have written its own before them.
fn lines(bytes: &[u8]) -> Format {
    for line in bytes.split(|byte| *byte == b'\n').take(10_000) {
        let is_event = line.starts_with(b"{")
            && line.windows(7).take(64).any(|part| part == b"\"event\"" || part == b"\"type\":");
        if is_event {
            return Format::Libtest;
        }
        let ok = line.strip_prefix(b"not ").unwrap_or(line).strip_prefix(b"ok");
        let is_point = ok.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace));
        let is_plan =
            line.strip_prefix(b"1..").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit));
        if line.starts_with(b"TAP version ") || line.starts_with(b"Bail out!") || is_point || is_plan {
            return Format::Tap;
        }
    }
    Format::Gemel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_look_like() {
        for (file, format) in [
            ("", Format::Gemel),
            ("x", Format::Gemel),
            ("[]", Format::Gemel),
            ("{}", Format::Gemel),
            ("{", Format::Gemel),
            ("{\"schema\":\"gemel.evidence.v1\"}", Format::Gemel),
            ("\u{feff}\n<?xml version='1.0'?><testsuites/>", Format::Junit),
            ("<testsuite/>", Format::Junit),
            ("{\"version\":\"2.1.0\",\"runs\":[]}", Format::Sarif),
            ("{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\"}", Format::Sarif),
            ("{\"_type\":\"https://in-toto.io/Statement/v1\"}", Format::InToto),
            ("{\"payload\":\"\",\"payloadType\":\"application/vnd.in-toto+json\"}", Format::InToto),
            ("{\"type\":\"suite\",\"event\":\"started\"}\n{\"type\":\"test\"}", Format::Libtest),
            ("   Compiling x\n{ \"type\": \"suite\", \"event\": \"started\" }", Format::Libtest),
            ("{\"reason\":\"build-finished\"}\n", Format::Libtest),
            ("TAP version 14\n", Format::Tap),
            ("# hello\n1..2\nok 1\n", Format::Tap),
            ("ok\n", Format::Tap),
            ("not ok 1 - x", Format::Tap),
            ("okay\nnot okay\n1..\n", Format::Gemel),
        ] {
            assert_eq!(Format::of(file.as_bytes()), format, "{file:?}");
        }
        for format in Format::ALL {
            assert_eq!(Format::from_text(format.as_str()), Some(format));
        }
        assert_eq!(Format::from_text("auto"), None);
    }
}
