//! Git trees as the states that hold them (git interchange, section 1.4).

use gemel_object::{Mode, is_path_segment};
use gix::ObjectId;
use gix::hash::Kind;
use std::borrow::Cow;
use std::collections::HashSet;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A folder, file or link.
    Content(Mode),
    /// A commit of another repository, or a mode no program writes: no state holds it.
    Gitlink,
}

/// An entry under the name that states give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeEntry<'t> {
    pub(crate) name: Cow<'t, str>,
    pub(crate) kind: EntryKind,
    pub(crate) id: ObjectId,
}

/// A tree read.
#[derive(Debug, Default)]
pub(crate) struct GitTree<'t> {
    /// Ascending by name, each name once; gitlinks are among them.
    pub(crate) entries: Vec<TreeEntry<'t>>,
    /// Entries whose name another of the same tree has: only the first of them is content.
    pub(crate) repeated: Vec<TreeEntry<'t>>,
    /// Whether Git's own bytes would differ from these if they were made from the entries.
    pub(crate) odd: bool,
}

/// Reads a tree body.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn parse(body: &[u8], kind: Kind) -> Result<GitTree<'_>, String> {
    let mut tree = GitTree::default();
    let (mut rest, mut previous): (_, Option<(&[u8], bool)>) = (body, None);
    let mut sorted = true;
    let mut to_escape = Vec::new();
    while !rest.is_empty() {
        let (mode, name, id) = take(&mut rest, kind).ok_or("an entry is cut short or malformed")?;
        if name.is_empty() {
            return Err("an entry has no name".to_owned());
        }
        let (entry_kind, regular) = kind_of(mode)?;
        let is_dir = entry_kind == EntryKind::Content(Mode::Directory);
        tree.odd |= !regular;
        if let Some((before, before_is_dir)) = previous {
            let common = before.len().min(name.len());
            // Only where one name begins the other do the two orders differ.
            match before[..common].cmp(&name[..common]) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Greater => (tree.odd, sorted) = (true, false),
                std::cmp::Ordering::Equal => {
                    tree.odd |= git_order(before, before_is_dir) >= git_order(name, is_dir);
                    sorted &= before < name;
                }
            }
        }
        previous = Some((name, is_dir));
        let text = match std::str::from_utf8(name) {
            Ok(text) if is_path_segment(name) => Cow::Borrowed(text),
            _ => {
                to_escape.push((tree.entries.len(), name));
                Cow::Borrowed("")
            }
        };
        tree.entries.push(TreeEntry { name: text, kind: entry_kind, id });
    }
    tree.odd |= !to_escape.is_empty();
    escape_names(&mut tree, &to_escape);
    if !sorted || !to_escape.is_empty() {
        // Stable, so that of equal names the first stays first.
        tree.entries.sort_by(|a, b| a.name.cmp(&b.name));
        if tree.entries.windows(2).any(|pair| pair[0].name == pair[1].name) {
            keep_first_of_each_name(&mut tree);
        }
        tree.odd |= !tree.repeated.is_empty();
    }
    Ok(tree)
}

/// Parts entries, ascending by name, from those whose name another has before them.
fn keep_first_of_each_name(tree: &mut GitTree<'_>) {
    let mut last: Option<String> = None;
    let (kept, repeated) = std::mem::take(&mut tree.entries).into_iter().partition(|entry| {
        let first = last.as_deref() != Some(&*entry.name);
        if first {
            last = Some(entry.name.to_string());
        }
        first
    });
    (tree.entries, tree.repeated) = (kept, repeated);
}

/// Names of a body's entries by object, for kept trees: mode digits, raw name, object.
pub(crate) fn take<'t>(rest: &mut &'t [u8], kind: Kind) -> Option<(&'t [u8], &'t [u8], ObjectId)> {
    let space = rest.iter().position(|b| *b == b' ')?;
    let (mode, after) = rest.split_at(space);
    let after = after.get(1..)?;
    let nul = after.iter().position(|b| *b == 0)?;
    let (name, after) = after.split_at(nul);
    let (id, after) = after.get(1..)?.split_at_checked(kind.len_in_bytes())?;
    *rest = after;
    Some((mode, name, ObjectId::try_from(id).ok()?))
}

/// What the digits of a mode mean, and whether Git writes that kind of entry with them today.
pub(crate) fn kind_of(mode: &[u8]) -> Result<(EntryKind, bool), String> {
    match mode {
        b"100644" => return Ok((EntryKind::Content(Mode::File), true)),
        b"100755" => return Ok((EntryKind::Content(Mode::Executable), true)),
        b"120000" => return Ok((EntryKind::Content(Mode::Link), true)),
        b"40000" => return Ok((EntryKind::Content(Mode::Directory), true)),
        _ => {}
    }
    let text = std::str::from_utf8(mode).map_err(|_| "a mode is no number")?;
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("a mode is no octal number".to_owned());
    }
    let bits = u32::from_str_radix(text, 8).map_err(|_| "a mode is no octal number")?;
    Ok(match bits & 0o170_000 {
        0o100_000 if bits & 0o100 != 0 => (EntryKind::Content(Mode::Executable), false),
        0o100_000 => (EntryKind::Content(Mode::File), false),
        0o120_000 => (EntryKind::Content(Mode::Link), false),
        0o040_000 => (EntryKind::Content(Mode::Directory), false),
        _ => (EntryKind::Gitlink, false),
    })
}

/// Git's order: a folder compares as if its name ended in a slash.
pub(crate) fn git_order(name: &[u8], is_dir: bool) -> impl Ord + '_ {
    GitName { name, is_dir }
}

#[derive(PartialEq, Eq)]
struct GitName<'n> {
    name: &'n [u8],
    is_dir: bool,
}

impl PartialOrd for GitName<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GitName<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let common = self.name.len().min(other.name.len());
        let end = |n: &Self| n.name.get(common).copied().unwrap_or(if n.is_dir { b'/' } else { 0 });
        self.name[..common].cmp(&other.name[..common]).then_with(|| end(self).cmp(&end(other)))
    }
}

/// Gives the entries at `places` names that a state can hold: each offending byte becomes `%` and two hex digits.
fn escape_names(tree: &mut GitTree<'_>, places: &[(usize, &[u8])]) {
    if places.is_empty() {
        return;
    }
    let mut taken: HashSet<String> = tree
        .entries
        .iter()
        .filter(|entry| !entry.name.is_empty())
        .map(|entry| entry.name.to_string())
        .collect();
    for (place, raw) in places {
        let mut name = escaped(raw);
        if !taken.insert(name.clone()) {
            name.push('%');
            name.push_str(&blake3::hash(raw).to_hex()[..8]);
            taken.insert(name.clone());
        }
        tree.entries[*place].name = Cow::Owned(name);
    }
}

fn escaped(raw: &[u8]) -> String {
    let mut out = String::with_capacity(raw.len() + 8);
    let put_bytes = |bytes: &[u8], out: &mut String| {
        for byte in bytes {
            out.push_str(&format!("%{byte:02x}"));
        }
    };
    if matches!(raw, b"." | b"..") {
        put_bytes(raw, &mut out);
        return out;
    }
    for part in raw.utf8_chunks() {
        for c in part.valid().chars() {
            match c {
                '%' => out.push_str("%25"),
                '\\' | '/' | '\0' => out.push_str(&format!("%{:02x}", u32::from(c))),
                c => out.push(c),
            }
        }
        put_bytes(part.invalid(), &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (n, (mode, name)) in entries.iter().enumerate() {
            out.extend_from_slice(mode.as_bytes());
            out.push(b' ');
            out.extend_from_slice(name);
            out.push(0);
            out.extend_from_slice(&[n as u8 + 1; 20]);
        }
        out
    }

    fn names(entries: &[(&str, &[u8])]) -> (Vec<String>, bool) {
        let body = body(entries);
        let tree = parse(&body, Kind::Sha1).unwrap();
        (tree.entries.iter().map(|e| e.name.to_string()).collect(), tree.odd)
    }

    #[test]
    fn names_and_oddity() {
        type Case<'c> = (&'c [(&'c str, &'c [u8])], &'c [&'c str], bool);
        let cases: [Case<'_>; 9] = [
            (&[("100644", b"a"), ("40000", b"b")], &["a", "b"], false),
            (
                &[("100644", b"a-b"), ("100644", b"a.txt"), ("40000", b"a"), ("100644", b"ab")],
                &["a", "a-b", "a.txt", "ab"],
                false,
            ),
            (&[("100664", b"a")], &["a"], true),
            (&[("040000", b"a")], &["a"], true),
            (&[("100644", b"b"), ("100644", b"a")], &["a", "b"], true),
            (&[("100644", b"a"), ("100644", b"a")], &["a"], true),
            (&[("100644", b"caf\xe9"), ("100644", b"caf%e9")], &["caf%e9", "caf%e9%c4e9b4c2"], true),
            (&[("100644", b"b%\\s")], &["b%25%5cs"], true),
            (&[("40000", b".."), ("160000", b"m")], &["%2e%2e", "m"], true),
        ];
        for (entries, expected, odd) in cases {
            let (mut found, found_odd) = names(entries);
            // The digits after a clash are those of a hash; their place matters here.
            for name in &mut found {
                if name.len() > 14 {
                    name.truncate(6);
                }
            }
            let expected: Vec<&str> =
                expected.iter().map(|e| if e.len() > 14 { &e[..6] } else { *e }).collect();
            assert_eq!(
                (found, found_odd),
                (expected.iter().map(|e| (*e).to_owned()).collect(), odd),
                "{entries:?}"
            );
        }
        for cut in 1..body(&[("100644", b"a")]).len() {
            assert!(parse(&body(&[("100644", b"a")])[..cut], Kind::Sha1).is_err());
        }
    }
}
