//! The mini-syntax of `--claim`, `--evidence` and `--residual` (workflow, section 4.2).
//!
//! `field|field|field|key=value;key=value,value`. A backslash before `|`, `;`, `,` or a backslash makes it literal;
//! before anything else it is an ordinary character. An empty second or third field takes its default.

use crate::{RepoError, Result};
use gemel_object::{ClaimKind, EvidenceKind, EvidenceOutcome, ResidualClass, ResidualSeverity};

/// A reference to something declared by the same command, or recorded before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Zero-based position in this command's list.
    Index(usize),
    /// Identity or name.
    Name(String),
}

/// A claim as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimSpec {
    pub(crate) subject: String,
    pub(crate) predicate: String,
    pub(crate) kind: ClaimKind,
    pub(crate) evidence: Vec<Target>,
    pub(crate) residuals: Vec<Target>,
    pub(crate) scope: Option<String>,
    pub(crate) supersedes: Option<String>,
    pub(crate) depends: Vec<String>,
}

/// Which state an evidence was gathered at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StateSpec {
    /// The state the change results in.
    Result,
    /// The state the change starts from.
    Input,
    /// A recorded state.
    Name(String),
}

/// Test counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    pub(crate) total: u64,
}

/// Evidence as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EvidenceSpec {
    pub(crate) subject: String,
    pub(crate) outcome: EvidenceOutcome,
    /// Whether the outcome was given.
    pub(crate) stated: bool,
    pub(crate) kind: EvidenceKind,
    pub(crate) state: Option<StateSpec>,
    pub(crate) environment: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) counts: Option<Counts>,
    /// Name and version.
    pub(crate) tools: Vec<(String, String)>,
    pub(crate) detail: Option<String>,
    pub(crate) replayable: Option<bool>,
}

/// A residual as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResidualSpec {
    pub(crate) summary: String,
    pub(crate) severity: ResidualSeverity,
    pub(crate) class: ResidualClass,
    pub(crate) claims: Vec<Target>,
    pub(crate) origin: Option<Target>,
    pub(crate) paths: Vec<String>,
    pub(crate) entities: Vec<String>,
    pub(crate) changes: Vec<String>,
    pub(crate) recurs: Vec<String>,
}

/// A flag and how its text is written.
#[derive(Clone, Copy, Debug)]
struct Form {
    flag: &'static str,
    form: &'static str,
}

const CLAIM: Form = Form { flag: "--claim", form: "SUBJECT|PREDICATE[|KIND[|KEY=VALUE;…]]" };
const EVIDENCE: Form = Form { flag: "--evidence", form: "SUBJECT[|OUTCOME[|KIND[|KEY=VALUE;…]]]" };
const RESIDUAL: Form = Form { flag: "--residual", form: "SUMMARY[|SEVERITY[|CLASS[|KEY=VALUE;…]]]" };

/// Reads a `--claim`.
///
/// # Errors
/// `MalformedSpec`, `EmptyPredicate`, `EnumValue`.
pub(crate) fn claim(spec: &str) -> Result<ClaimSpec> {
    let parts = Parts::of(CLAIM, spec)?;
    if parts.field(1).is_empty() {
        return Err(RepoError::EmptyPredicate { spec: spec.to_owned() });
    }
    let kind = match parts.field(2) {
        "" => ClaimKind::Other,
        text => {
            ClaimKind::from_text(text).ok_or_else(|| unknown("claim kind", text, ClaimKind::SET.values))?
        }
    };
    let mut pairs = parts.pairs(&["evidence", "residuals", "scope", "supersedes", "depends"])?;
    Ok(ClaimSpec {
        subject: parts.field(0).to_owned(),
        predicate: parts.field(1).to_owned(),
        kind,
        evidence: targets(pairs.list("evidence")?),
        residuals: targets(pairs.list("residuals")?),
        scope: pairs.one("scope")?,
        supersedes: pairs.one("supersedes")?,
        depends: pairs.list("depends")?,
    })
}

/// Reads an `--evidence`. `match` is taken for `pass`.
///
/// # Errors
/// `MalformedSpec`, `EnumValue`.
pub(crate) fn evidence(spec: &str) -> Result<EvidenceSpec> {
    let parts = Parts::of(EVIDENCE, spec)?;
    let stated = parts.field(1);
    let outcome = match stated {
        "" => EvidenceOutcome::Inconclusive,
        "match" => EvidenceOutcome::Pass,
        text => EvidenceOutcome::from_text(text)
            .ok_or_else(|| unknown("outcome", text, EvidenceOutcome::SET.values))?,
    };
    let kind = match parts.field(2) {
        "" => EvidenceKind::TestResult,
        text => EvidenceKind::from_text(text)
            .ok_or_else(|| unknown("evidence kind", text, EvidenceKind::SET.values))?,
    };
    let known = ["state", "env", "command", "exit", "counts", "tool", "detail", "replayable"];
    let mut pairs = parts.pairs(&known)?;
    let bad = |detail: String| malformed(EVIDENCE, spec, detail);
    Ok(EvidenceSpec {
        subject: parts.field(0).to_owned(),
        outcome,
        stated: !stated.is_empty(),
        kind,
        state: pairs.one("state")?.map(|text| match text.as_str() {
            "result" => StateSpec::Result,
            "input" => StateSpec::Input,
            _ => StateSpec::Name(text),
        }),
        environment: pairs.one("env")?,
        command: pairs.one("command")?,
        exit_code: match pairs.one("exit")? {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| bad(format!("exit={text} is no integer")))?),
        },
        counts: pairs.one("counts")?.map(|text| counts(&text).map_err(bad)).transpose()?,
        tools: pairs.list("tool")?.iter().map(|text| tool(text).map_err(bad)).collect::<Result<_>>()?,
        detail: pairs.one("detail")?,
        replayable: match pairs.one("replayable")?.as_deref() {
            None => None,
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(text) => return Err(bad(format!("replayable={text} is neither true nor false"))),
        },
    })
}

/// Reads a `--residual`.
///
/// # Errors
/// `MalformedSpec`, `EnumValue`.
pub(crate) fn residual(spec: &str) -> Result<ResidualSpec> {
    let parts = Parts::of(RESIDUAL, spec)?;
    let severity = match parts.field(1) {
        "" => ResidualSeverity::Medium,
        text => ResidualSeverity::from_text(text)
            .ok_or_else(|| unknown("severity", text, ResidualSeverity::SET.values))?,
    };
    let class = match parts.field(2) {
        "" => ResidualClass::Other,
        text => ResidualClass::from_text(text)
            .ok_or_else(|| unknown("classification", text, ResidualClass::SET.values))?,
    };
    let mut pairs = parts.pairs(&["claims", "origin", "paths", "entities", "changes", "recurs"])?;
    Ok(ResidualSpec {
        summary: parts.field(0).to_owned(),
        severity,
        class,
        claims: targets(pairs.list("claims")?),
        origin: pairs.one("origin")?.map(target),
        paths: pairs.list("paths")?,
        entities: pairs.list("entities")?,
        changes: pairs.list("changes")?,
        recurs: pairs.list("recurs")?,
    })
}

fn unknown(field: &'static str, value: &str, allowed: &'static [&'static str]) -> RepoError {
    RepoError::EnumValue { field, value: value.to_owned(), allowed }
}

fn malformed(Form { flag, form }: Form, spec: &str, detail: impl Into<String>) -> RepoError {
    RepoError::MalformedSpec { flag, form, spec: spec.to_owned(), detail: detail.into() }
}

fn targets(texts: Vec<String>) -> Vec<Target> {
    texts.into_iter().map(target).collect()
}

fn target(text: String) -> Target {
    // Up to seven digits are a position; eight may be the prefix of an identity.
    match text.parse() {
        Ok(index) if text.len() < 8 && text.bytes().all(|b| b.is_ascii_digit()) => Target::Index(index),
        _ => Target::Name(text),
    }
}

fn counts(text: &str) -> Result<Counts, String> {
    let numbers: Vec<u64> = text
        .split('/')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .map_err(|_| format!("counts={text} is not passed/failed/skipped/total"))?;
    let [passed, failed, skipped, total] = numbers[..] else {
        return Err(format!("counts={text} has {} numbers, not 4", numbers.len()));
    };
    let sum = passed.checked_add(failed).and_then(|n| n.checked_add(skipped));
    if sum == Some(total) {
        Ok(Counts { passed, failed, skipped, total })
    } else {
        Err(format!("counts={text}: passed, failed and skipped do not add up to {total}"))
    }
}

fn tool(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('@') {
        Some((name, version)) if !name.is_empty() && !version.is_empty() => {
            Ok((name.to_owned(), version.to_owned()))
        }
        _ => Err(format!("tool={text} is not name@version")),
    }
}

/// The fields of a spec: three without escapes, the fourth as it was written.
struct Parts<'a> {
    form: Form,
    spec: &'a str,
    fields: [String; 3],
    fourth: &'a str,
}

impl<'a> Parts<'a> {
    fn of(form: Form, spec: &'a str) -> Result<Parts<'a>> {
        let raw = split(spec, '|');
        if raw.len() > 4 {
            return Err(malformed(form, spec, format!("{} fields, at most 4 are read", raw.len())));
        }
        let field = |n: usize| raw.get(n).map(|text| unescape(text)).unwrap_or_default();
        let fields = [field(0), field(1), field(2)];
        if fields[0].is_empty() {
            return Err(malformed(form, spec, "the first field is empty"));
        }
        Ok(Parts { form, spec, fields, fourth: raw.get(3).copied().unwrap_or_default() })
    }

    fn field(&self, n: usize) -> &str {
        self.fields.get(n).map_or("", String::as_str)
    }

    fn pairs(&self, known: &[&'static str]) -> Result<Pairs<'a>> {
        let mut pairs = Pairs { form: self.form, spec: self.spec, values: Vec::new() };
        for pair in split(self.fourth, ';') {
            if pair.is_empty() {
                continue;
            }
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| malformed(self.form, self.spec, format!("{pair:?} is not key=value")))?;
            let Some(key) = known.iter().find(|k| **k == key.trim()) else {
                let keys = known.join(", ");
                return Err(malformed(
                    self.form,
                    self.spec,
                    format!("unknown key {:?} (expected one of {keys})", key.trim()),
                ));
            };
            if pairs.values.iter().any(|(k, _)| k == key) {
                return Err(malformed(self.form, self.spec, format!("key {key} twice")));
            }
            pairs.values.push((key, value));
        }
        Ok(pairs)
    }
}

/// The pairs of a fourth field, values as they were written.
struct Pairs<'a> {
    form: Form,
    spec: &'a str,
    values: Vec<(&'static str, &'a str)>,
}

impl Pairs<'_> {
    fn one(&mut self, key: &str) -> Result<Option<String>> {
        let Some((key, value)) = self.values.iter().find(|(k, _)| *k == key) else { return Ok(None) };
        match unescape(value) {
            value if value.is_empty() => Err(malformed(self.form, self.spec, format!("{key} has no value"))),
            value => Ok(Some(value)),
        }
    }

    fn list(&mut self, key: &str) -> Result<Vec<String>> {
        let Some((key, value)) = self.values.iter().find(|(k, _)| *k == key) else { return Ok(Vec::new()) };
        let items: Vec<String> = split(value, ',').into_iter().map(unescape).collect();
        if items.iter().any(String::is_empty) {
            return Err(malformed(self.form, self.spec, format!("{key} has an empty entry")));
        }
        Ok(items)
    }
}

/// Splits at every `separator` that no backslash makes literal. Escapes stay.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == separator {
            parts.push(text.get(start..at).unwrap_or_default());
            start = at + c.len_utf8();
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(literal @ ('|' | ';' | ',' | '\\')) => out.push(literal),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_claim(spec: &str, expected: &str) {
        let found = match claim(spec) {
            Ok(c) => format!(
                "{}~{}~{} e{:?} r{:?} {:?} {:?} {:?}",
                c.subject, c.predicate, c.kind, c.evidence, c.residuals, c.scope, c.supersedes, c.depends
            ),
            Err(e) => format!("{} {e}", e.code().as_str()),
        };
        assert!(found.starts_with(expected), "{spec}\n  {found}\n  {expected}");
    }

    #[test]
    fn claims() {
        check_claim("a|b", "a~b~other e[] r[] None None []");
        check_claim(" a | b |correctness", " a ~ b ~correctness e[]");
        check_claim("a|b||", "a~b~other e[]");
        check_claim("a|b||evidence=0,E7,1", "a~b~other e[Index(0), Name(\"E7\"), Index(1)] r[]");
        check_claim("a|b|safety|residuals=1;scope=x\\;y\\,z", "a~b~safety e[] r[Index(1)] Some(\"x;y,z\")");
        check_claim(
            "a|b||supersedes=Cl1;depends=C1,S2;",
            "a~b~other e[] r[] None Some(\"Cl1\") [\"C1\", \"S2\"]",
        );
        check_claim("a\\|x|b\\\\|other", "a|x~b\\~other");
        check_claim("a\\n|b", "a\\n~b~other");
        check_claim("a|b|security|scope=k=v", "a~b~security e[] r[] Some(\"k=v\")");
        check_claim("", "INVALID_ARGUMENT invalid: malformed spec \"\"");
        check_claim("|b", "INVALID_ARGUMENT invalid: malformed spec");
        check_claim("a", "INVALID_ARGUMENT object error: claim predicate must be non-empty");
        check_claim("a||other", "INVALID_ARGUMENT object error: claim predicate must be non-empty");
        check_claim("a|b|kind", "INVALID_ARGUMENT invalid claim kind \"kind\"");
        check_claim(
            "a|b|other|x=1",
            "INVALID_ARGUMENT invalid: malformed spec \"a|b|other|x=1\" of --claim: unknown key \"x\"",
        );
        check_claim("a|b|other|scope", "INVALID_ARGUMENT invalid: malformed spec");
        check_claim("a|b|other|scope=", "INVALID_ARGUMENT invalid: malformed spec");
        check_claim("a|b|other|evidence=1,,2", "INVALID_ARGUMENT invalid: malformed spec");
        check_claim("a|b|other|scope=a;scope=b", "INVALID_ARGUMENT invalid: malformed spec");
        check_claim("a|b|other||", "INVALID_ARGUMENT invalid: malformed spec");
    }

    fn check_evidence(spec: &str, expected: &str) {
        let found = match evidence(spec) {
            Ok(e) => format!("{}~{}~{} {e:?}", e.subject, e.outcome, e.kind),
            Err(e) => format!("{} {e}", e.code().as_str()),
        };
        assert!(expected.split('…').all(|part| found.contains(part)), "{spec}\n  {found}\n  {expected}");
    }

    #[test]
    fn evidences() {
        check_evidence("a", "a~inconclusive~test_result…stated: false");
        check_evidence("a||benchmark", "a~inconclusive~benchmark…stated: false");
        check_evidence("a|pass", "a~pass~test_result…stated: true");
        check_evidence("a|match|oracle_comparison", "a~pass~oracle_comparison");
        check_evidence("a|fail||state=result;env=Env1", "state: Some(Result), environment: Some(\"Env1\")");
        check_evidence("a|fail||state=input", "state: Some(Input)");
        check_evidence("a|fail||state=S1;exit=-1", "state: Some(Name(\"S1\"))…exit_code: Some(-1)");
        check_evidence("a|pass||counts=1/2/3/6", "passed: 1, failed: 2, skipped: 3, total: 6");
        check_evidence("a|pass||tool=a@b@1,c@2", "[(\"a@b\", \"1\"), (\"c\", \"2\")]");
        check_evidence(
            "a|pass||command=x \\| y;detail=d;replayable=true",
            "command: Some(\"x | y\")…replayable: Some(true)",
        );
        check_evidence("a|PASS", "INVALID_ARGUMENT invalid outcome \"PASS\"");
        check_evidence("a|pass|unit", "INVALID_ARGUMENT invalid evidence kind \"unit\"");
        check_evidence("a|pass||counts=1/2/3/7", "INVALID_ARGUMENT…do not add up");
        check_evidence("a|pass||counts=1/2/3", "INVALID_ARGUMENT…has 3 numbers");
        check_evidence("a|pass||counts=18446744073709551615/1/0/0", "INVALID_ARGUMENT…do not add up");
        check_evidence("a|pass||exit=x", "INVALID_ARGUMENT…is no integer");
        check_evidence("a|pass||tool=x", "INVALID_ARGUMENT…name@version");
        check_evidence("a|pass||replayable=yes", "INVALID_ARGUMENT…neither true nor false");
        check_evidence("a|pass||claims=0", "INVALID_ARGUMENT…unknown key");
        check_evidence("|pass", "INVALID_ARGUMENT…malformed spec");
    }

    fn check_residual(spec: &str, expected: &str) {
        let found = match residual(spec) {
            Ok(r) => format!("{}~{}~{} {r:?}", r.summary, r.severity, r.class),
            Err(e) => format!("{} {e}", e.code().as_str()),
        };
        assert!(expected.split('…').all(|part| found.contains(part)), "{spec}\n  {found}\n  {expected}");
    }

    #[test]
    fn residuals() {
        check_residual("s", "s~medium~other");
        check_residual("s|blocking|verification_gap", "s~blocking~verification_gap");
        check_residual(
            "s|||claims=0,Cl2;origin=1",
            "claims: [Index(0), Name(\"Cl2\")], origin: Some(Index(1))",
        );
        check_residual(
            "s|||paths=a\\,b,c;entities=x;changes=C1;recurs=R1",
            "paths: [\"a,b\", \"c\"]…changes: [\"C1\"]",
        );
        check_residual("s|||claims=99999999999999999999", "claims: [Name(\"99999999999999999999\")]");
        check_residual("s|urgent", "INVALID_ARGUMENT invalid severity \"urgent\"");
        check_residual("s|low|weird", "INVALID_ARGUMENT invalid classification \"weird\"");
        check_residual("", "INVALID_ARGUMENT…malformed spec");
        check_residual("s|low|other|a=b|c", "INVALID_ARGUMENT…5 fields");
    }
}
