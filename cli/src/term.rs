//! Terminals: what must not reach one, and how large it is.

use std::borrow::Cow;

/// Lines and columns of the terminal on standard output, if it tells.
pub(crate) fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row.into(), size.ws_col.into()))
}

/// Text that cannot move the cursor, change colours or turn letters round on a terminal: control characters and
/// invisible direction marks become visible escapes (T-52). Line breaks and tabs are escaped unless `keep_layout`.
pub(crate) fn escaped(text: &str, keep_layout: bool) -> Cow<'_, str> {
    let hostile = |c: char| is_hostile(c) && !(keep_layout && matches!(c, '\n' | '\t'));
    if !text.chars().any(hostile) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            _ if !hostile(c) => safe.push(c),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            _ if c.is_ascii() => safe.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ => safe.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(safe)
}

fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Bytes of unknown encoding as terminal-safe text: UTF-8 as it is, other bytes as `\xNN`.
pub(crate) fn escaped_bytes(bytes: &[u8]) -> String {
    let mut safe = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        safe.push_str(&escaped(chunk.valid(), true));
        for byte in chunk.invalid() {
            safe.push_str(&format!("\\x{byte:02x}"));
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal() {
        assert_eq!(escaped("plain é", false), "plain é");
        assert_eq!(escaped("a\x1b]0;title\x07b", false), "a\\x1b]0;title\\x07b");
        assert_eq!(escaped("two\nlines\tand\r", false), "two\\nlines\\tand\\r");
        assert_eq!(escaped("two\nlines\tand\r", true), "two\nlines\tand\\r");
        assert_eq!(escaped("\u{202e}turned\u{9b}31m", false), "\\u{202e}turned\\u{9b}31m");
        assert_eq!(escaped_bytes(b"ok \xff\x1b\n"), "ok \\xff\\x1b\n");
    }
}
