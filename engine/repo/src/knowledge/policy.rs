//! `policy`: what the config demands, and what of it is missing (query surface, section 4.15; object model, section 15.6).

use crate::Result;
use crate::facts::Uncertainty;
use crate::history::nodes;
use crate::knowledge::assess::assess;
use crate::knowledge::required::Combination;
use crate::knowledge::scope::ScopeKind;
use crate::knowledge::session::Session;
use crate::knowledge::steps::gap_text;
use gemel_object::families::Config;
use gemel_object::{Disclosure, ExecutionPolicy, Gid};

/// A combination that must have passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredFacts {
    /// Kind of the claims.
    pub kind: String,
    /// Operating system family.
    pub platform: String,
    /// Processor architecture.
    pub arch: String,
}

/// A combination that nothing satisfies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapFacts {
    /// Which.
    pub required: RequiredFacts,
    /// In words.
    pub rationale: String,
}

/// What the repository demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFacts {
    /// The config; `None`: the repository has none.
    pub config: Option<Gid>,
    /// What may be executed.
    pub execution_policy: &'static str,
    /// How much actors let others see unless they say so themselves.
    pub disclosure_default: &'static str,
    /// By kind, platform, architecture.
    pub required_verification: Vec<RequiredFacts>,
    /// Those of them that nothing in scope satisfies.
    pub gaps: Vec<GapFacts>,
    /// Evidence whose freshness is not known for sure, and stale evidence that satisfies.
    pub uncertainty: Vec<Uncertainty>,
}

/// Tells the rules of the repository, and which required verification is missing in the default scope.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn policy(session: &mut Session<'_>) -> Result<PolicyFacts> {
    let world = session.world()?;
    let known = assess(world, ScopeKind::Default)?;
    let config = world.refs.get("refs/config")?;
    let (execution, disclosure) = match config {
        Some(id) => nodes::read(world.store(), &id, |object| {
            let config = Config::view(object)?;
            Ok((Some(config.execution_policy()), config.disclosure_default()))
        })?,
        None => (None, None),
    };
    Ok(PolicyFacts {
        config,
        execution_policy: execution.unwrap_or(ExecutionPolicy::NeverAutoExecute).as_str(),
        disclosure_default: disclosure.unwrap_or(Disclosure::DigestOnly).as_str(),
        required_verification: known.required.iter().map(RequiredFacts::of).collect(),
        gaps: known
            .required
            .difference(&known.satisfied)
            .map(|missing| GapFacts { required: RequiredFacts::of(missing), rationale: gap_text(missing) })
            .collect(),
        uncertainty: known.uncertainty.clone(),
    })
}

impl RequiredFacts {
    pub(crate) fn of(combination: &Combination) -> RequiredFacts {
        RequiredFacts {
            kind: combination.kind.clone(),
            platform: combination.platform.os.clone(),
            arch: combination.platform.arch.clone(),
        }
    }
}
