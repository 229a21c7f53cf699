//! The shared vocabulary: words with the frequencies of natural language, and identifiers made of them.

use super::draw::Draw;

/// Words that real code is full of; they take the most frequent ranks.
const COMMON: &[&str] = &[
    "value", "get", "index", "name", "type", "data", "result", "key", "set", "node", "id", "list", "error",
    "count", "path", "size", "item", "config", "state", "user", "from", "new", "map", "line", "buffer",
    "next", "token", "read", "write", "event", "parse", "field", "file", "input", "output", "table", "query",
    "cache", "option", "request", "response", "handler", "context", "message", "update", "offset", "length",
    "source", "target", "order", "start", "end", "default", "create", "remove", "check", "build", "render",
    "client", "server", "session", "worker", "queue", "stream",
];
const STARTS: &[&str] = &[
    "b", "br", "c", "ch", "cl", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "pl",
    "pr", "qu", "r", "s", "sc", "sh", "sp", "st", "t", "th", "tr", "v", "w", "z",
];
const MIDDLES: &[&str] = &["a", "e", "i", "o", "u", "ai", "ea", "ee", "io", "ou"];
const ENDS: &[&str] = &["", "", "", "l", "m", "n", "nd", "nt", "r", "rt", "s", "st", "t", "x", "ck", "ng"];

const VOCABULARY: usize = 6000;
const SLOTS: usize = 1 << 16;

/// All words of a corpus, and a table that draws them by rank with Zipf frequencies.
#[derive(Debug)]
pub(crate) struct Words {
    words: Vec<String>,
    by_chance: Vec<u16>,
}

impl Words {
    /// The vocabulary of a seed.
    pub(crate) fn new(seed: u64) -> Words {
        let mut rng = Draw::of(seed, 1);
        let mut words: Vec<String> = COMMON.iter().map(|w| (*w).to_string()).collect();
        while words.len() < VOCABULARY {
            words.push(invent(&mut rng));
        }
        Words { by_chance: zipf_table(words.len()), words }
    }

    /// A word by its frequency in the whole corpus.
    pub(crate) fn draw(&self, rng: &mut Draw) -> &str {
        let slot = (rng.word() >> 48) as usize;
        &self.words[usize::from(self.by_chance[slot])]
    }

    /// A word of any rank, each as likely: for names of things.
    pub(crate) fn any(&self, rng: &mut Draw) -> &str {
        &self.words[rng.below(self.words.len())]
    }
}

fn invent(rng: &mut Draw) -> String {
    let mut word = String::new();
    for _ in 0..rng.between(1, 3) {
        word.push_str(rng.pick(STARTS));
        word.push_str(rng.pick(MIDDLES));
    }
    word.push_str(rng.pick(ENDS));
    word
}

/// Slot to rank, so that rank `r` fills a share of about 1/(r+3): integers only.
fn zipf_table(ranks: usize) -> Vec<u16> {
    let weight = |rank: usize| (1u64 << 40) / (rank as u64 + 3);
    let total: u64 = (0..ranks).map(weight).sum();
    let mut table = Vec::with_capacity(SLOTS);
    let (mut rank, mut reached) = (0, weight(0));
    for slot in 0..SLOTS as u64 {
        while reached * (SLOTS as u64) <= slot * total && rank + 1 < ranks {
            rank += 1;
            reached += weight(rank);
        }
        table.push(rank as u16);
    }
    table
}

/// How an identifier is put together from words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// `parse_line_count`
    Snake,
    /// `parseLineCount`
    Camel,
    /// `ParseLineCount`
    Pascal,
    /// `parse-line-count`
    Kebab,
}

/// Joins words into one identifier.
pub(crate) fn join(words: &[&str], case: Case) -> String {
    let mut out = String::new();
    for (i, word) in words.iter().enumerate() {
        let capital = matches!((case, i), (Case::Pascal, _) | (Case::Camel, 1..));
        match case {
            Case::Snake if i > 0 => out.push('_'),
            Case::Kebab if i > 0 => out.push('-'),
            _ => {}
        }
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if capital => out.extend(first.to_uppercase()),
            Some(first) => out.push(first),
            None => {}
        }
        out.push_str(letters.as_str());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_are_frequent() {
        let words = Words::new(3);
        let mut rng = Draw::new(9);
        let hits = (0..10_000).filter(|_| words.draw(&mut rng) == "value").count();
        assert!((200..900).contains(&hits), "{hits} of 10000 draws");
    }

    #[test]
    fn identifiers_follow_their_case() {
        let parts = ["parse", "line", "count"];
        let check = |case, expected: &str| assert_eq!(join(&parts, case), expected);
        check(Case::Snake, "parse_line_count");
        check(Case::Camel, "parseLineCount");
        check(Case::Pascal, "ParseLineCount");
        check(Case::Kebab, "parse-line-count");
    }
}
