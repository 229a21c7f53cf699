//! Pages of lists: limits, cursors and what to do when the list moved in between (query surface, section 1.4).

use crate::error::CliError;
use gemel_object::{Family, Gid};
use gemel_repo::facts::{Cursor, Page};
use gemel_repo::{Code, knowledge};
use serde_json::Value;

/// Rows of a page when the caller names no limit.
const DEFAULT_LIMIT: u64 = 100;
/// Rows of a page at most.
pub(crate) const MAX_LIMIT: u64 = 1000;
/// A cursor longer than this cannot be one of ours.
const MAX_CURSOR_BYTES: usize = 1024;

/// `--limit` and `--cursor`, the same for every list.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct PageArgs {
    /// Rows to answer (1 to 1000) [default: 100]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Continue after the page that answered this cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Direction of a list, as its cursor records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Ascending by identity or name.
    Ascending,
    /// Newest first.
    Descending,
}

impl Order {
    /// The word in a cursor.
    fn as_str(self) -> &'static str {
        match self {
            Order::Ascending => "asc",
            Order::Descending => "desc",
        }
    }
}

/// Which part of a list is wanted.
#[derive(Debug)]
pub(crate) struct Window {
    /// Rows at most, 1 to 1000.
    pub(crate) limit: u64,
    /// The row to go on after.
    pub(crate) after: Option<Cursor>,
    order: Order,
    notice: Option<String>,
}

/// Where a page lies in its list.
#[derive(Debug)]
pub(crate) struct Slice {
    /// How it can be continued.
    pub(crate) next_cursor: Option<String>,
    /// What was adjusted.
    pub(crate) notice: Option<String>,
}

impl PageArgs {
    /// Checks limit and cursor for a list of direction `order`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a limit of zero, `PAGINATION_INVALID` for a cursor that is not of this list.
    pub(crate) fn window(&self, order: Order) -> Result<Window, CliError> {
        let after = self.cursor.as_deref().map(|text| decode(text, order)).transpose()?;
        self.from(after, order)
    }

    /// The same for lists that the published program pages, too: its cursors are taken.
    ///
    /// # Errors
    /// As [`PageArgs::window`].
    pub(crate) fn window_of_old(&self, order: Order) -> Result<Window, CliError> {
        let read = |text: &String| decode_old(text).map_or_else(|| decode(text, order), Ok);
        let after = self.cursor.as_ref().map(read).transpose()?;
        self.from(after, order)
    }

    fn from(&self, after: Option<Cursor>, order: Order) -> Result<Window, CliError> {
        let asked = self.limit.unwrap_or(DEFAULT_LIMIT);
        if asked == 0 {
            return Err(CliError::invalid("invalid limit 0 (expected 1 to 1000)"));
        }
        let notice = (asked > MAX_LIMIT).then(|| format!("limit {asked} was capped to {MAX_LIMIT}"));
        Ok(Window { limit: asked.min(MAX_LIMIT), after, order, notice })
    }
}

impl Window {
    /// What the library is asked for.
    pub(crate) fn wanted(&self) -> knowledge::Window {
        knowledge::Window { limit: self.limit, cursor: self.after.clone() }
    }

    /// The page of a list that was cut by the library.
    pub(crate) fn slice(self, page: Page) -> Slice {
        let next_cursor = page.next.map(|next| encode(&next, self.order));
        Slice { next_cursor, notice: joined(self.notice, page.notice) }
    }

    /// Cuts the page out of a whole list of rows with the identities `id`.
    pub(crate) fn cut<T>(self, mut rows: Vec<T>, id: impl Fn(&T) -> Gid) -> (Vec<T>, Slice) {
        let mut notice = self.notice;
        let mut sent = 0;
        if let Some(cursor) = &self.after {
            match rows.iter().position(|row| id(row) == cursor.anchor) {
                Some(anchor) => sent = anchor + 1,
                None => notice = joined(notice, Some(RESTARTED.to_owned())),
            }
        }
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        rows.drain(..sent);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| more).map(&id);
        let offset = u64::try_from(sent + rows.len()).unwrap_or(u64::MAX);
        let next_cursor = last.map(|anchor| encode(&Cursor { anchor, offset }, self.order));
        (rows, Slice { next_cursor, notice })
    }
}

/// Told when the row a cursor points to is no longer in the list.
const RESTARTED: &str = "the row the cursor points to is gone; the list starts over";

fn joined(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}; {second}")),
        (first, second) => first.or(second),
    }
}

/// A stand-in identity for rows that have none of their own, such as refs or findings: the digest of their text.
pub(crate) fn row_id(text: &str) -> Gid {
    Gid::of_envelope(Family::Blob, text.as_bytes())
}

fn encode(cursor: &Cursor, order: Order) -> String {
    let Cursor { anchor, offset } = cursor;
    base64url(format!(r#"{{"anchor":"{anchor}","offset":{offset},"order":"{}"}}"#, order.as_str()).as_bytes())
}

fn decode(text: &str, order: Order) -> Result<Cursor, CliError> {
    let bad = |why: &str| {
        CliError::new(Code::PaginationInvalid, format!("invalid cursor: {why}; start again without --cursor"))
    };
    if text.len() > MAX_CURSOR_BYTES {
        return Err(bad("too long"));
    }
    let bytes = from_base64url(text).ok_or_else(|| bad("not base64url"))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| bad("not a cursor"))?;
    let anchor = value.get("anchor").and_then(Value::as_str).ok_or_else(|| bad("no anchor"))?;
    let anchor = Gid::parse(anchor).map_err(|_| bad("the anchor is no identity"))?;
    let offset =
        value.get("offset").and_then(Value::as_u64).filter(|n| *n > 0).ok_or_else(|| bad("no offset"))?;
    let direction = value.get("order").and_then(Value::as_str).ok_or_else(|| bad("no order"))?;
    if direction != order.as_str() {
        return Err(bad("it belongs to a list of another order"));
    }
    Ok(Cursor { anchor, offset })
}

/// A cursor of the published program, `<created_at>:<identity>`. How many rows went before, it does not say.
fn decode_old(text: &str) -> Option<Cursor> {
    let (time, anchor) = text.split_once(':')?;
    time.parse::<i64>().ok()?;
    Some(Cursor { anchor: Gid::parse(anchor).ok()?, offset: u64::MAX })
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// base64url without padding (RFC 4648, section 5).
fn base64url(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |g, b| g << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(group >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}

/// The bytes of unpadded (or correctly padded) base64url; `None` for any other text.
fn from_base64url(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for chunk in digits.chunks(4) {
        let mut group = 0u32;
        for digit in chunk {
            group = group << 6 | u32::try_from(ALPHABET.iter().position(|a| a == digit)?).ok()?;
        }
        group <<= 6 * (4 - chunk.len());
        let [_, a, b, c] = group.to_be_bytes();
        match chunk.len() {
            4 => bytes.extend([a, b, c]),
            3 if c == 0 => bytes.extend([a, b]),
            2 if b == 0 && c == 0 => bytes.push(a),
            _ => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64url_of_the_standard() {
        // RFC 4648, section 10, without padding; and the two letters that differ from plain base64.
        for (plain, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64url(plain.as_bytes()), text);
            assert_eq!(from_base64url(text).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(base64url(&[0xfb, 0xff]), "-_8");
        assert_eq!(from_base64url("Zg==").as_deref(), Some(&b"f"[..]));
        // Letters of other alphabets, a lonely digit, bits beyond the last byte.
        for bad in ["+/8", "Z", "Zh", "Zm9=v", "Z m9v", "é"] {
            assert_eq!(from_base64url(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_cursor_reads_back() {
        let cursor = Cursor { anchor: row_id("x"), offset: 7 };
        let text = encode(&cursor, Order::Descending);
        assert_eq!(decode(&text, Order::Descending).expect("a cursor"), cursor);
        assert!(decode(&text, Order::Ascending).is_err());
        assert!(from_base64url(&text).expect("bytes").starts_with(br#"{"anchor":"blob."#));
    }

    #[test]
    fn cutting_a_list() {
        let rows = || ["a", "b", "c"].to_vec();
        let id = |row: &&str| row_id(row);
        let window = |limit, after: Option<(&str, u64)>| {
            let after = after.map(|(row, offset)| Cursor { anchor: row_id(row), offset });
            Window { limit, after, order: Order::Ascending, notice: None }
        };
        let (page, slice) = window(2, None).cut(rows(), id);
        assert_eq!(page, ["a", "b"]);
        let next = decode(&slice.next_cursor.expect("a cursor"), Order::Ascending).expect("a cursor");
        assert_eq!(next, Cursor { anchor: row_id("b"), offset: 2 });
        let (page, slice) = window(2, Some(("b", 2))).cut(rows(), id);
        assert_eq!((page, slice.next_cursor), (vec!["c"], None));
        // Rows moved: what counts is the anchor. It is gone: the list starts over.
        assert_eq!(window(9, Some(("a", 2))).cut(rows(), id).0, ["b", "c"]);
        let (page, slice) = window(9, Some(("z", 2))).cut(rows(), id);
        assert_eq!((page, slice.notice.as_deref()), (rows(), Some(RESTARTED)));
        assert_eq!(window(9, Some(("c", 3))).cut(rows(), id).0, [""; 0]);
    }
}
