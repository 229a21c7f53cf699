//! Git's patch format.

use super::{Body, Hunk, Line, Version, compare};
use gemel_object::Mode;
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes the difference as `git apply` reads it: creation, deletion, mode change, rename, and hunks with `context`
/// lines around them. A change of kind is written as a deletion and a creation. Nothing is written for equal versions;
/// of binary ones only that they differ.
///
/// # Errors
/// Those of `out`.
pub fn write_patch(
    out: &mut dyn Write,
    old: Option<&Version<'_>>,
    new: Option<&Version<'_>>,
    context: u32,
) -> io::Result<()> {
    match (old, new) {
        (Some(before), Some(after)) if (before.mode == Mode::Link) != (after.mode == Mode::Link) => {
            write_patch(out, old, None, context)?;
            write_patch(out, None, new, context)
        }
        (None, None) => Ok(()),
        _ => {
            let body = compare(old, new, context);
            if header(out, old, new, &body)? { write_body(out, old, new, &body) } else { Ok(()) }
        }
    }
}

/// Writes the lines before the hunks; `false` when there is nothing to be written.
fn header(
    out: &mut dyn Write,
    old: Option<&Version<'_>>,
    new: Option<&Version<'_>>,
    body: &Body,
) -> io::Result<bool> {
    let (Some(from), Some(to)) = (old.or(new), new.or(old)) else { return Ok(false) };
    let changed = from.path != to.path || from.mode != to.mode;
    if old.is_some() && new.is_some() && !changed && *body == Body::Same {
        return Ok(false);
    }
    writeln!(
        out,
        "diff --git {} {}",
        quoted(&format!("a/{}", from.path)),
        quoted(&format!("b/{}", to.path))
    )?;
    match (old, new) {
        (None, Some(new)) => writeln!(out, "new file mode {:06o}", new.mode.bits())?,
        (Some(old), None) => writeln!(out, "deleted file mode {:06o}", old.mode.bits())?,
        _ => {}
    }
    if from.mode != to.mode {
        writeln!(out, "old mode {:06o}\nnew mode {:06o}", from.mode.bits(), to.mode.bits())?;
    }
    if from.path != to.path {
        if *body == Body::Same {
            writeln!(out, "similarity index 100%")?;
        }
        writeln!(out, "rename from {}\nrename to {}", quoted(from.path), quoted(to.path))?;
    }
    Ok(true)
}

fn write_body(
    out: &mut dyn Write,
    old: Option<&Version<'_>>,
    new: Option<&Version<'_>>,
    body: &Body,
) -> io::Result<()> {
    let name = |prefix: &str, version: Option<&Version<'_>>| {
        version.map_or("/dev/null".to_owned(), |version| {
            quoted(&format!("{prefix}/{}", version.path)).into_owned()
        })
    };
    let (from, to) = (name("a", old), name("b", new));
    match body {
        Body::Same => Ok(()),
        Body::Binary => writeln!(out, "Binary files {from} and {to} differ"),
        Body::Text(hunks) => {
            // A tab ends a name with spaces in it, as Git writes it.
            let tab = |name: &str| if name.contains(' ') { "\t" } else { "" };
            writeln!(out, "--- {from}{}\n+++ {to}{}", tab(&from), tab(&to))?;
            let (old, new) = (super::bytes_of(old), super::bytes_of(new));
            hunks.iter().try_for_each(|hunk| write_hunk(out, hunk, old, new))
        }
    }
}

fn write_hunk(out: &mut dyn Write, hunk: &Hunk, old: &[u8], new: &[u8]) -> io::Result<()> {
    let span = |start: u32, len: u32| if len == 1 { start.to_string() } else { format!("{start},{len}") };
    writeln!(out, "@@ -{} +{} @@", span(hunk.old_start, hunk.old_len), span(hunk.new_start, hunk.new_len))?;
    for line in &hunk.lines {
        let (mark, bytes) = match line {
            Line::Context(place) => (b" ", old.get(place.clone())),
            Line::Removed(place) => (b"-", old.get(place.clone())),
            Line::Added(place) => (b"+", new.get(place.clone())),
        };
        let bytes = bytes.unwrap_or_default();
        out.write_all(mark)?;
        out.write_all(bytes)?;
        if !bytes.ends_with(b"\n") {
            out.write_all(b"\n\\ No newline at end of file\n")?;
        }
    }
    Ok(())
}

/// A path as Git writes it in a patch: in quotes with C escapes when it holds control characters, quotes or
/// backslashes, else as it is.
pub fn quoted(path: &str) -> Cow<'_, str> {
    let needs = |c: char| c.is_control() || matches!(c, '"' | '\\');
    if !path.contains(needs) {
        return Cow::Borrowed(path);
    }
    let mut text = String::with_capacity(path.len() + 8);
    text.push('"');
    for c in path.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    text.push_str(&format!("\\{byte:03o}"));
                }
            }
            c => text.push(c),
        }
    }
    text.push('"');
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(old: Option<(&str, Mode, &str)>, new: Option<(&str, Mode, &str)>) -> String {
        let version = |side: Option<(&'static str, Mode, &'static str)>| {
            side.map(|(path, mode, text)| Version { path, mode, bytes: Some(text.as_bytes()) })
        };
        let leak = |side: Option<(&str, Mode, &str)>| {
            side.map(|(path, mode, text)| (&*path.to_owned().leak(), mode, &*text.to_owned().leak()))
        };
        let (old, new) = (version(leak(old)), version(leak(new)));
        let mut out = Vec::new();
        write_patch(&mut out, old.as_ref(), new.as_ref(), 3).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_header() {
        let file = |path, text| Some((path, Mode::File, text));
        assert_eq!(patch(file("a", "x"), file("a", "x")), "");
        assert_eq!(
            patch(file("a b", "x\n"), file("a b", "y")),
            "diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file\n"
        );
        assert_eq!(
            patch(None, Some(("l", Mode::Link, "t"))),
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+t\n\\ No newline at end of file\n"
        );
        assert_eq!(patch(file("e", ""), None), "diff --git a/e b/e\ndeleted file mode 100644\n");
        assert_eq!(
            patch(file("e", "x"), Some(("e", Mode::Executable, "x"))),
            "diff --git a/e b/e\nold mode 100644\nnew mode 100755\n"
        );
        assert_eq!(
            patch(file("e", "x"), file("f", "x")),
            "diff --git a/e b/f\nsimilarity index 100%\nrename from e\nrename to f\n"
        );
        assert_eq!(
            patch(file("e", "\0"), file("e", "x")),
            "diff --git a/e b/e\nBinary files a/e and b/e differ\n"
        );
        assert!(patch(file("k", "x"), Some(("k", Mode::Link, "x"))).contains("deleted file mode 100644"));
    }

    #[test]
    fn quoting() {
        assert_eq!(quoted("plain ü"), "plain ü");
        assert_eq!(quoted("a\tb\"c\u{1b}\u{85}"), "\"a\\tb\\\"c\\033\\302\\205\"");
    }
}
