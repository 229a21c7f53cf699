//! What a change takes from a raw commit (git interchange, section 1.2).

use gix::ObjectId;
use gix::hash::Kind;

/// Who wrote a commit: what identifies a person.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Person {
    /// `unknown` when the commit names nobody.
    pub(crate) name: String,
    /// Absent when empty.
    pub(crate) email: Option<String>,
}

impl Person {
    /// Whether nothing is known.
    pub(crate) fn is_unknown(&self) -> bool {
        self.name == "unknown" && self.email.is_none()
    }
}

/// A commit read for import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) tree: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    pub(crate) author: Person,
    /// Unix milliseconds.
    pub(crate) time_ms: i64,
    pub(crate) summary: String,
    /// Values of `GEMEL-CHANGE` trailers, and how many of another version were met.
    pub(crate) trailers: Trailers,
}

/// The trailing block of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trailers {
    /// Values of `GEMEL-CHANGE`, topmost first.
    pub(crate) changes: Vec<String>,
    /// Versions that are none this build writes.
    pub(crate) odd_versions: u64,
    /// The message without the block and without final newlines; only with a `GEMEL-CHANGE`.
    pub(crate) message: String,
}

/// Tree and parents, as Git reads them: strictly, in their fixed places.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn links(raw: &[u8], kind: Kind) -> Result<(ObjectId, Vec<ObjectId>), String> {
    let hex_len = kind.len_in_hex();
    let take = |raw: &mut &[u8], label: &[u8]| -> Option<ObjectId> {
        let rest = raw.strip_prefix(label)?;
        let (hex, rest) = rest.split_at_checked(hex_len)?;
        let id = ObjectId::from_hex(hex).ok()?;
        *raw = rest.strip_prefix(b"\n")?;
        Some(id)
    };
    let mut rest = raw;
    let tree = take(&mut rest, b"tree ").ok_or("it has no tree in its first line")?;
    let mut parents = Vec::new();
    while rest.starts_with(b"parent ") {
        parents.push(take(&mut rest, b"parent ").ok_or("a parent line does not hold an object name")?);
    }
    Ok((tree, parents))
}

/// Reads a commit body.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn parse(raw: &[u8], kind: Kind) -> Result<Facts, String> {
    let (tree, parents) = links(raw, kind)?;
    let text = String::from_utf8_lossy(raw);
    let mut lines = text.lines();
    let mut author_line = None;
    for line in lines.by_ref() {
        if line.is_empty() {
            break;
        }
        if let Some(rest) = line.strip_prefix("author ") {
            author_line = Some(rest.to_owned());
        }
    }
    // Joined and split again, here and below: each time one empty line and one CR before LF are gone from the end.
    let message = lines.collect::<Vec<&str>>().join("\n");
    let message: Vec<&str> = message.lines().collect();
    let (author, time_ms) = author(author_line.as_deref().unwrap_or_default());
    let (kept, trailers) = split_block(&message);
    let joined = kept.join("\n");
    let summary = joined.lines().next().unwrap_or("imported change").to_owned();
    Ok(Facts { tree, parents, author, time_ms, summary, trailers })
}

fn author(line: &str) -> (Person, i64) {
    let mut parts = line.split('<');
    let name = parts.next().unwrap_or_default().trim();
    // Up to the next bracket of either kind, or all that is left.
    let email = parts.next().and_then(|rest| rest.split('>').next()).map(str::trim);
    let seconds = line.rsplit(' ').nth(1).and_then(|word| word.parse::<i64>().ok()).unwrap_or(0);
    let person = Person {
        name: if name.is_empty() { "unknown".to_owned() } else { name.to_owned() },
        email: email.filter(|email| !email.is_empty()).map(str::to_owned),
    };
    (person, seconds.saturating_mul(1000))
}

/// Splits a message into what stands before the trailing block, and the block.
fn split_block<'m>(message: &'m [&'m str]) -> (&'m [&'m str], Trailers) {
    let is_ours = |line: &str| {
        line.trim_end()
            .split_once(':')
            .is_some_and(|(key, _)| key.trim().to_uppercase().starts_with("GEMEL-"))
    };
    let block = message.iter().rev().take_while(|line| is_ours(line)).count();
    let (kept, block) = message.split_at(message.len() - block);
    let mut trailers = Trailers::default();
    for line in block {
        let Some((key, value)) = line.split_once(':') else { continue };
        match key.trim().to_uppercase().as_str() {
            "GEMEL-CHANGE" => trailers.changes.push(value.trim().to_owned()),
            "GEMEL-EXPORT-VERSION" if value.trim() != "1" => trailers.odd_versions += 1,
            _ => {}
        }
    }
    if !trailers.changes.is_empty() {
        trailers.message = kept.join("\n").trim_end_matches('\n').to_owned();
    }
    (kept, trailers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";

    fn facts(rest: &str) -> Facts {
        parse(format!("{TREE}{rest}").as_bytes(), Kind::Sha1).unwrap()
    }

    #[test]
    fn authors() {
        for (line, name, email, time_ms) in [
            ("Ada L <ada@x> 1000000000 -0330", "Ada L", Some("ada@x"), 1_000_000_000_000),
            ("<ada@x> 5 +0000", "unknown", Some("ada@x"), 5000),
            ("Ada <> 5 +0000", "Ada", None, 5000),
            ("Ada <a <b> c> -7 +0000", "Ada", Some("a"), -7000),
            ("Ada <<a@x>> 5 +0000", "Ada", None, 5000),
            ("Ada <a@x 5 +0000", "Ada", Some("a@x 5 +0000"), 5000),
            ("Ada <a@x>", "Ada", Some("a@x"), 0),
            ("Ada <a@x> 9223372036854775807 +0000", "Ada", Some("a@x"), i64::MAX),
            ("Ada <a@x> 99999999999999999999 +0000", "Ada", Some("a@x"), 0),
        ] {
            let found = facts(&format!("author {line}\ncommitter {line}\n\nm\n"));
            let expected = Person { name: name.to_owned(), email: email.map(str::to_owned) };
            assert_eq!((found.author, found.time_ms), (expected, time_ms), "{line}");
        }
    }

    #[test]
    fn summaries_and_blocks() {
        for (message, summary, changes) in [
            ("one\ntwo\n", "one", 0),
            ("", "imported change", 0),
            ("\n", "imported change", 0),
            ("\nlate\n", "", 0),
            ("s\r\nt\n", "s", 0),
            ("GEMEL-CHANGE: x\n", "imported change", 1),
            ("s\n\nGEMEL-CHANGE: x\ngemel-intent: y\n", "s", 1),
            ("\n\n", "imported change", 0),
            ("\n\n\n", "", 0),
            ("s\n\nGEMEL-CHANGE: x\n\n", "s", 1),
            ("s\n\nGEMEL-CHANGE: x\n\n\n", "s", 0),
            ("s\n\nGEMEL-CHANGE: x\nother: y\n", "s", 0),
        ] {
            let found = facts(&format!("author A <a> 1 +0000\n\n{message}"));
            assert_eq!(
                (found.summary.as_str(), found.trailers.changes.len()),
                (summary, changes),
                "{message:?}"
            );
        }
    }

    #[test]
    fn links_are_strict() {
        assert!(links(b"author x\n", Kind::Sha1).is_err());
        assert!(links(b"tree 4b825dc6\n", Kind::Sha1).is_err());
        assert!(links(format!("{TREE}parent zz\n").as_bytes(), Kind::Sha1).is_err());
        assert!(links(TREE.as_bytes(), Kind::Sha256).is_err());
        assert!(links(TREE.as_bytes(), Kind::Sha1).unwrap().1.is_empty());
    }
}
