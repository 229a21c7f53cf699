//! Text for people: styled pieces, safe on a terminal, and aligned tables.

use crate::color::Style;
use crate::error::CliError;
use crate::{ids, term};
use gemel_object::Gid;
use gemel_repo::Repo;
use gemel_repo::names::NameBook;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::Write;

/// Writes an answer for people. The first failure is kept and ends all further output, so that views need no
/// error handling of their own.
pub(crate) struct Printer<'w> {
    out: &'w mut dyn Write,
    repo: Option<&'w Repo>,
    color: bool,
    escape: bool,
    failure: Option<CliError>,
    /// Opened when the first name is asked for.
    names: OnceCell<Option<NameBook>>,
}

impl<'w> Printer<'w> {
    /// A printer to `out`; `escape` when that ends on a terminal. Identities are shortened as far as `repo` allows.
    pub(crate) fn new(
        out: &'w mut dyn Write,
        repo: Option<&'w Repo>,
        color: bool,
        escape: bool,
    ) -> Printer<'w> {
        Printer { out, repo, color, escape, failure: None, names: OnceCell::new() }
    }

    /// Own words: never escaped.
    pub(crate) fn lit(&mut self, own: &str) -> &mut Self {
        self.write(own.as_bytes());
        self
    }

    /// A piece of stored text within a line.
    pub(crate) fn text(&mut self, stored: &str) -> &mut Self {
        let safe = self.safe(stored);
        self.write(safe.as_bytes());
        self
    }

    /// A piece of text in a style.
    pub(crate) fn paint(&mut self, style: Style, stored: &str) -> &mut Self {
        self.open(style).text(stored).close(style)
    }

    /// Stored content that may span lines: kept byte for byte unless it ends on a terminal.
    pub(crate) fn content(&mut self, style: Style, bytes: &[u8]) -> &mut Self {
        self.open(style);
        if self.escape {
            self.write(term::escaped_bytes(bytes).as_bytes());
        } else {
            self.write(bytes);
        }
        self.close(style)
    }

    /// The short digits of an identity.
    pub(crate) fn short(&self, id: &Gid) -> String {
        ids::short(self.repo, id)
    }

    /// Its name if there is one, and the short digits of an identity.
    pub(crate) fn named(&mut self, id: &Gid, name: Option<&str>) -> &mut Self {
        if let Some(name) = name {
            self.paint(Style::Name, name).lit(" ");
        }
        let digits = self.short(id);
        self.paint(Style::Id, &digits)
    }

    /// An identity with the name it has, looked up.
    pub(crate) fn lookup(&mut self, id: &Gid) -> &mut Self {
        // A name is a convenience: an object without a readable one is shown by its digits.
        let book = self.names.get_or_init(|| self.repo.and_then(|repo| NameBook::open(repo).ok()));
        let name = book.as_ref().and_then(|book| book.name(id).ok().flatten());
        self.named(id, name.as_deref())
    }

    /// Ends the line.
    pub(crate) fn end(&mut self) -> &mut Self {
        self.lit("\n")
    }

    /// An indented `label: value` line.
    pub(crate) fn field(&mut self, label: &str, value: &str) -> &mut Self {
        self.lit("  ").lit(label).lit(": ").text(value).end()
    }

    /// Whether output has failed, so that long work can stop.
    pub(crate) fn failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Ends the output with a failure of the view's own.
    pub(crate) fn fail(&mut self, error: CliError) {
        self.failure.get_or_insert(error);
    }

    /// The first failure, if any.
    ///
    /// # Errors
    /// What the writer or the view reported.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        self.failure.map_or(Ok(()), Err)
    }

    fn safe<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.escape { term::escaped(text, false) } else { Cow::Borrowed(text) }
    }

    fn open(&mut self, style: Style) -> &mut Self {
        if self.color && style != Style::Plain {
            self.lit("\x1b[").lit(style.sgr()).lit("m");
        }
        self
    }

    fn close(&mut self, style: Style) -> &mut Self {
        if self.color && style != Style::Plain {
            self.lit("\x1b[0m");
        }
        self
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.out.write_all(bytes).err().map(|e| CliError::output(&e));
        }
    }
}

/// Rows with aligned columns. Columns that are empty everywhere vanish; the last one is never padded.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<(Style, String)>>,
}

impl Table {
    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [(Style, String); N]) {
        self.rows.push(cells.into());
    }

    /// Prints the rows behind `indent`.
    pub(crate) fn print(&self, indent: &str, out: &mut Printer<'_>) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |cell: &(Style, String)| out.safe(&cell.1).chars().count();
        let widths: Vec<usize> = (0..columns)
            .map(|c| self.rows.iter().filter_map(|r| r.get(c)).map(width).max().unwrap_or(0))
            .collect();
        for row in &self.rows {
            out.lit(indent);
            let last = row.iter().rposition(|cell| !cell.1.is_empty()).unwrap_or(0);
            for (column, cell) in row.iter().enumerate().take(last + 1) {
                let wanted = widths.get(column).copied().unwrap_or(0);
                if wanted == 0 {
                    continue;
                }
                out.paint(cell.0, &cell.1);
                if column < last {
                    let used = out.safe(&cell.1).chars().count();
                    out.lit(&" ".repeat(wanted - used + 2));
                }
            }
            out.end();
        }
    }
}

/// The first line of a summary; an ellipsis tells that there is more.
pub(crate) fn first_line(text: &str) -> Cow<'_, str> {
    match text.split_once('\n') {
        Some((first, rest)) if !rest.trim().is_empty() => Cow::Owned(format!("{} …", first.trim_end())),
        Some((first, _)) => Cow::Borrowed(first.trim_end()),
        None => Cow::Borrowed(text),
    }
}

/// A count with its noun: `1 file`, `2 files`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A size a person can read, beside the exact one where that matters.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return counted(bytes, "byte");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10 * 1024 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(color: bool, escape: bool, print: impl FnOnce(&mut Printer<'_>)) -> String {
        let mut bytes = Vec::new();
        let mut printer = Printer::new(&mut bytes, None, color, escape);
        print(&mut printer);
        printer.finish().expect("memory takes everything");
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn stored_text_is_escaped_on_a_terminal_only() {
        let print = |out: &mut Printer<'_>| {
            out.field("summary", "red \x1b[31m\n")
                .paint(Style::Bad, "\x07")
                .content(Style::Plain, b"\x1b\xff\n");
        };
        assert_eq!(printed(false, true, print), "  summary: red \\x1b[31m\\n\n\\x07\\x1b\\xff\n");
        assert_eq!(
            printed(true, true, print),
            "  summary: red \\x1b[31m\\n\n\x1b[1;31m\\x07\x1b[0m\\x1b\\xff\n"
        );
        let mut bytes = Vec::new();
        let mut printer = Printer::new(&mut bytes, None, false, false);
        printer.content(Style::Plain, b"\x1b\xff\n");
        printer.finish().expect("memory takes everything");
        assert_eq!(bytes, b"\x1b\xff\n");
    }

    #[test]
    fn columns_line_up_and_empty_ones_vanish() {
        let mut table = Table::default();
        let cell = |text: &str| (Style::Plain, text.to_owned());
        table.row([cell("a"), cell(""), cell("first"), cell("")]);
        table.row([cell("long\x1b"), cell(""), cell("second"), cell("end")]);
        let text = printed(false, true, |out| table.print("  ", out));
        assert_eq!(text, "  a         first\n  long\\x1b  second  end\n");
    }

    #[test]
    fn sizes_and_counts() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(1), "1 byte");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1_100_000), "1.0 MiB");
        assert_eq!(size(u64::MAX), "16383.9 PiB");
        assert_eq!(first_line("one\ntwo"), "one …");
        assert_eq!(first_line("one\n"), "one");
    }
}
