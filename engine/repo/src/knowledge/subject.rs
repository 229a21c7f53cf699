//! What a question is about (query surface, sections 3.1 and 4.2).

use crate::names::named_by;
use crate::{Repo, Result};
use gemel_object::Gid;
use gemel_store::Refs;

/// A path, a line of one, an entity, or an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// As given.
    pub(crate) given: String,
    /// Texts that mean it: the path or entity as given, then its aliases.
    pub(crate) texts: Vec<String>,
    /// Line of the path, from 1.
    pub(crate) line: Option<u64>,
    /// The object it names, if it names one.
    pub(crate) id: Option<Gid>,
}

impl Subject {
    /// Reads the text of a subject. What names nothing is a subject, too: a path or entity that nothing may be recorded
    /// about.
    ///
    /// # Errors
    /// `Store`; `Ambiguous` for a prefix of several identities.
    pub(crate) fn read(repo: &Repo, refs: &Refs, text: &str) -> Result<Subject> {
        let id = named_by(repo, refs, text)?;
        let (path, line) = match text.rsplit_once(':') {
            Some((path, digits)) if !path.is_empty() && !path.ends_with(':') => {
                match digits.parse().ok().filter(|line| *line > 0) {
                    Some(line) => (path, Some(line)),
                    None => (text, None),
                }
            }
            _ => (text, None),
        };
        let path = path.strip_prefix("./").unwrap_or(path);
        let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
        Ok(Subject { given: text.to_owned(), texts: vec![path.to_owned()], line, id })
    }
}

/// The whole-segment `::` suffixes of a text, itself first.
pub(crate) fn suffixes(text: &str) -> impl Iterator<Item = &str> {
    std::iter::once(text).chain(text.match_indices("::").filter_map(|(at, _)| text.get(at + 2..)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_by_whole_segments() {
        assert_eq!(suffixes("a::b::c").collect::<Vec<_>>(), ["a::b::c", "b::c", "c"]);
    }
}
