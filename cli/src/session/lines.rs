//! Lines of bounded length.

use std::io::{self, BufRead, ErrorKind};

/// A line without its line break.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// All of it.
    Whole(Vec<u8>),
    /// The beginning of a line that was too long; the rest has been passed over and not kept.
    TooLong(Vec<u8>),
}

/// The next line of at most `limit` bytes; `None` at the end of the input. The last line needs no line break.
///
/// # Errors
/// Those of the input.
pub(crate) fn next(input: &mut dyn BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    let mut any = false;
    loop {
        let held = match input.fill_buf() {
            Ok(held) => held,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let ended = held.is_empty();
        any |= !ended;
        let end = held.iter().position(|byte| *byte == b'\n');
        let part = held.get(..end.unwrap_or(held.len())).unwrap_or_default();
        let kept = part.len().min(limit - line.len());
        too_long |= kept < part.len();
        line.extend(part.iter().take(kept));
        let used = end.map_or(held.len(), |at| at + 1);
        input.consume(used);
        if ended || end.is_some() {
            return Ok(any.then_some(if too_long { Line::TooLong(line) } else { Line::Whole(line) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn lines_are_cut_at_the_limit_whatever_the_buffer() {
        let text = b"abc\nabcd\nabcde\n\nabcdefghijkl\nab";
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        let long = |text: &str| Line::TooLong(text.as_bytes().to_vec());
        let expected = [whole("abc"), whole("abcd"), long("abcd"), whole(""), long("abcd"), whole("ab")];
        for buffer in 1..20 {
            let mut input = BufReader::with_capacity(buffer, &text[..]);
            let mut lines = Vec::new();
            while let Some(line) = next(&mut input, 4).expect("memory") {
                lines.push(line);
            }
            assert_eq!(lines, expected, "{buffer}");
        }
        assert_eq!(next(&mut &b""[..], 4).expect("memory"), None);
        assert_eq!(next(&mut &b"\n"[..], 4).expect("memory"), Some(whole("")));
    }
}
