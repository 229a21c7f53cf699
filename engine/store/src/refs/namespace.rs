//! What each namespace may hold (threats T-07, T-15, T-30): checked when a ref is written and again when it is read.

use super::{RefValue, local};
use gemel_object::{Family, Gid};

/// What a name may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// An identity of this family.
    Only(Family),
    /// An identity of any family.
    AnyId,
    /// A record.
    Record,
    /// A record or an identity of any family.
    Anything,
    /// The identity that the name itself spells: `refs/keep/<family>/<64 hex>`.
    Itself,
    /// Nothing: the name spells no identity where it must.
    Nothing,
}

impl Rule {
    /// What the rule expects, for error texts.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Rule::Only(family) => family.name(),
            Rule::AnyId => "an identity",
            Rule::Record => "a record",
            Rule::Anything => "an identity or a record",
            Rule::Itself => "the identity it is named after",
            Rule::Nothing => "nothing, as its name spells no identity",
        }
    }

    /// Whether an identity may be stored under `name`, which this rule was made for.
    pub(crate) fn allows_id(self, name: &str, id: &Gid) -> bool {
        match self {
            Rule::Only(family) => id.family() == family,
            Rule::AnyId | Rule::Anything => true,
            Rule::Itself => kept_identity(name) == Some(*id),
            Rule::Record | Rule::Nothing => false,
        }
    }

    /// Whether a record may be stored.
    pub(crate) fn allows_record(self) -> bool {
        matches!(self, Rule::Record | Rule::Anything)
    }

    /// Whether a value may be stored under `name`, which this rule was made for.
    pub(crate) fn allows(self, name: &str, value: &RefValue) -> bool {
        match value {
            RefValue::Id(id) => self.allows_id(name, id),
            RefValue::Record(_) => self.allows_record(),
        }
    }
}

/// The rule for a valid name.
pub(crate) fn rule(name: &str) -> Rule {
    match name.split_once('/') {
        Some(("local", _)) => local_rule(name),
        Some((_, rest)) => public_rule(name, rest),
        None => Rule::Nothing,
    }
}

/// Rules of `refs/`; `rest` is the name without it. Namespaces of later versions hold any family.
fn public_rule(name: &str, rest: &str) -> Rule {
    match rest {
        "head" => return Rule::Only(Family::Change),
        "config" => return Rule::Only(Family::Config),
        _ => {}
    }
    let Some((space, below)) = rest.split_once('/') else { return Rule::AnyId };
    match space {
        "state" => Rule::Only(Family::State),
        "trajectories" => Rule::Only(Family::Trajectory),
        "checkpoints" => Rule::Only(Family::Checkpoint),
        "cases" => Rule::Only(Family::Case),
        "releases" => Rule::Only(Family::Release),
        "reconciliations" => Rule::Only(Family::Reconciliation),
        "semantic" => Rule::Only(Family::SemanticIndex),
        "mappings" => Rule::Only(Family::Mapping),
        "keep" if kept_identity(name).is_none() => Rule::Nothing,
        "keep" => Rule::Itself,
        // A tracking ref mirrors the remote's name; what is tracked below `keep` keeps its own spelling check
        // only at home, where it guards reachability.
        "remotes" => match below.split_once('/') {
            Some((_, mirrored)) if !mirrored.starts_with("remotes/") && !mirrored.starts_with("keep/") => {
                public_rule(name, mirrored)
            }
            _ => Rule::AnyId,
        },
        _ => Rule::AnyId,
    }
}

fn local_rule(name: &str) -> Rule {
    if name.starts_with(local::COUNTERS) {
        return Rule::Record;
    }
    match name.strip_prefix(local::WORKTREES).and_then(|below| below.rsplit_once('/')) {
        Some((_, "state")) => Rule::Only(Family::State),
        Some((_, "change")) => Rule::Only(Family::Change),
        Some((_, "pending" | "path")) => Rule::Record,
        _ => Rule::Anything,
    }
}

/// The identity spelled by `refs/keep/<family>/<64 hex>`.
fn kept_identity(name: &str) -> Option<Gid> {
    let (family, hex) = name.strip_prefix("refs/keep/")?.split_once('/')?;
    Gid::parse(&format!("{family}.{hex}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        assert!(crate::refs::name::is_valid(name), "{name}");
        let allowed: Vec<&str> = Family::ALL
            .into_iter()
            .filter(|f| rule(name).allows_id(name, &Gid::new(*f, [7; 32])))
            .map(Family::name)
            .collect();
        let mut found = match allowed.len() {
            0 => String::new(),
            24 => "any".to_owned(),
            _ => allowed.join(" "),
        };
        if rule(name).allows_record() {
            found.push_str(" record");
        }
        assert_eq!(found.trim(), expected, "{name}");
    }

    /// T-30: every namespace names its families.
    #[test]
    fn families_of_namespaces() {
        check("refs/head", "change");
        check("refs/state/head", "state");
        check("refs/config", "config");
        check("refs/names/C1", "any");
        check("refs/names/a/b", "any");
        check("refs/trajectories/current", "trajectory");
        check("refs/checkpoints/K1", "checkpoint");
        check("refs/cases/x", "case");
        check("refs/releases/v1/rc", "release");
        check("refs/reconciliations/Re1", "reconciliation");
        check("refs/semantic/state/00ff", "semantic-index");
        check("refs/mappings/import/git_commit/00ff", "mapping");
        check("refs/exchange/frontiers/00ff", "any");
        check("refs/unheard/of", "any");
        check("refs/unheard", "any");
        check(&format!("refs/keep/claim/{}", "07".repeat(32)), "claim");
        check(&format!("refs/keep/claim/{}", "08".repeat(32)), "");
        check("refs/keep/claim/07", "");
        check("refs/remotes/origin/head", "change");
        check("refs/remotes/origin/state/head", "state");
        check("refs/remotes/origin/names/C1", "any");
        check("refs/remotes/origin/trajectories/T1", "trajectory");
        check("refs/remotes/origin/remotes/head", "any");
        check("local/worktrees/default/state", "state");
        check("local/worktrees/a/b/change", "change");
        check("local/worktrees/default/pending", "record");
        check("local/worktrees/default/path", "record");
        check("local/worktrees/default/other", "any record");
        check("local/counters/change", "record");
        check("local/default-producer", "any record");
    }
}
