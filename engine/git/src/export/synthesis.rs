//! A commit made of a change (git interchange, sections 2.1 and 2.2.3).

use super::Format;
use crate::{GitError, Result};
use gemel_object::families::{Change, Producer};
use gemel_object::{Disclosure, Gid, ProducerKind};
use gix::ObjectId;

/// Name and address of who takes the author's place, and of every committer.
const SUBSTITUTE: &str = "Gemel Producer <gemel@local>";
const COMMITTER: &str = "gemel <gemel@local>";
const NO_EMAIL: &str = "gemel@local";
/// Longest name of an author in format 1.
const MAX_NAME: usize = 200;

/// What a commit is made of.
pub(super) struct Parts<'a> {
    pub(super) id: Gid,
    pub(super) change: &'a Change<'a>,
    pub(super) producer: &'a Producer<'a>,
    pub(super) tree: ObjectId,
    /// In the order of causal parents.
    pub(super) parents: &'a [ObjectId],
    pub(super) trajectory: Option<Gid>,
}

/// A commit's body, and what it does not carry.
pub(super) struct Made {
    pub(super) body: Vec<u8>,
    pub(super) losses: Vec<&'static str>,
}

/// Makes the commit of a change.
///
/// # Errors
/// `Refused` where format 1 gives a commit that Git rejects.
pub(super) fn commit(parts: &Parts<'_>, format: Format, claims: bool) -> Result<Made> {
    let change = parts.change;
    let withheld = match (format, change.disclosure()) {
        (Format::Two, Some(policy @ (Disclosure::Redacted | Disclosure::Ephemeral))) => Some(policy),
        _ => None,
    };
    let author = if withheld.is_some() { None } else { author(parts.producer, format) };
    let time_ms = change.created_at().unwrap_or(0);
    let seconds = if format == Format::One { time_ms / 1000 } else { time_ms.div_euclid(1000) };
    if format == Format::One {
        check_format_one(parts, author.as_deref(), seconds)?;
    }
    let shown = author.as_deref().unwrap_or(SUBSTITUTE);
    let mut text = format!("tree {}\n", parts.tree);
    for parent in parents(parts.parents, format) {
        text.push_str(&format!("parent {parent}\n"));
    }
    text.push_str(&format!("author {shown} {seconds} +0000\ncommitter {COMMITTER} {seconds} +0000\n\n"));
    text.push_str(change.summary());
    text.push_str(&format!("\n\nGEMEL-CHANGE: {}\n", parts.id));
    if let (Some(intent), None) = (change.intent(), withheld) {
        text.push_str(&format!("GEMEL-INTENT: {intent}\n"));
    }
    if let Some(trajectory) = parts.trajectory {
        text.push_str(&format!("GEMEL-TRAJECTORY: {trajectory}\n"));
    }
    if claims && withheld.is_none() {
        let mut named: Vec<String> = change.claims().iter().map(|claim| claim.to_string()).collect();
        named.sort();
        for claim in named {
            text.push_str(&format!("GEMEL-CLAIM: {claim}\n"));
        }
    }
    if let Some(policy) = withheld {
        text.push_str(&format!("GEMEL-EXPORT-POLICY: {}\n", policy.as_str()));
    }
    text.push_str(match format {
        Format::One => "GEMEL-EXPORT-VERSION: 1",
        Format::Two => "GEMEL-EXPORT-VERSION: 2\n",
    });
    Ok(Made { body: text.into_bytes(), losses: losses(time_ms, author.is_none(), withheld.is_some()) })
}

fn losses(time_ms: i64, substituted: bool, withheld: bool) -> Vec<&'static str> {
    [
        (time_ms == 0, "commit timestamp substituted with epoch sentinel"),
        (substituted, "author substituted with Gemel Producer identity"),
        (true, "agent reasoning omitted"),
        (true, "evidence payloads omitted"),
        (true, "residual dispositions omitted"),
        (true, "verification scope omitted"),
        (withheld, "identities withheld by disclosure"),
    ]
    .into_iter()
    .filter_map(|(holds, text)| holds.then_some(text))
    .collect()
}

/// Format 1 sorts parents and repeats them; format 2 keeps their order and takes each once.
fn parents(given: &[ObjectId], format: Format) -> Vec<ObjectId> {
    let mut parents = given.to_vec();
    if format == Format::One {
        parents.sort_unstable();
        return parents;
    }
    let mut seen = gix::hashtable::HashSet::default();
    parents.retain(|parent| seen.insert(*parent));
    parents
}

fn check_format_one(parts: &Parts<'_>, author: Option<&str>, seconds: i64) -> Result<()> {
    let inner = author.and_then(|author| author.split_once('<')).map_or("", |(_, email)| email);
    let email = inner.strip_suffix('>').unwrap_or(inner);
    let problem = if seconds < 0 {
        "its time lies before 1970"
    } else if email.contains(['<', '>', '\n', '\0']) {
        "the author's address holds a bracket or a line break"
    } else {
        return Ok(());
    };
    let reason =
        format!("format 1 gives {} a commit that Git rejects: {problem}; leave out --format 1", parts.id);
    Err(GitError::Refused { reason })
}

/// Name and address of the author, if the producer is a person who may be named.
fn author(producer: &Producer<'_>, format: Format) -> Option<String> {
    let named = matches!(producer.disclosure(), Disclosure::Full | Disclosure::DigestOnly);
    if producer.kind() != ProducerKind::Human || !named {
        return None;
    }
    let human = producer.identity().and_then(|identity| identity.human());
    let email = human.as_ref().and_then(|human| human.email());
    Some(match format {
        Format::One => {
            let printable = |c: &char| c.is_ascii_graphic() && !matches!(c, '<' | '>');
            let name: String = producer.name().chars().filter(printable).take(MAX_NAME).collect();
            let name = if name.is_empty() { "unknown" } else { &name };
            format!("{name} <{}>", email.unwrap_or(NO_EMAIL))
        }
        Format::Two => {
            let name = without_crud(producer.name());
            let email = email.map(without_crud).unwrap_or_default();
            let name = if name.is_empty() { "unknown" } else { &name };
            format!("{name} <{}>", if email.is_empty() { NO_EMAIL } else { &email })
        }
    })
}

/// As Git cleans a name or address: nothing inside that ends it, nothing around it that means nothing.
fn without_crud(text: &str) -> String {
    let around = |c: char| c <= ' ' || matches!(c, '.' | ',' | ':' | ';' | '<' | '>' | '"' | '\\' | '\'');
    text.trim_matches(around).chars().filter(|c| !matches!(c, '\n' | '\0' | '<' | '>')).collect()
}
