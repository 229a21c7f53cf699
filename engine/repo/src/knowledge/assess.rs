//! A scope with everything that follows for it: the one judgement that `status`, `next`, `policy`, handoffs and releases
//! tell (query surface, section 3.3).

use crate::Result;
use crate::facts::Uncertainty;
use crate::knowledge::claims::{self, Derived, doubts};
use crate::knowledge::freshness::Judge;
use crate::knowledge::readiness::{self, Readiness};
use crate::knowledge::required::{self, Combination};
use crate::knowledge::scope::{self, Current, Scope, ScopeKind, current_trajectory};
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::world::World;
use gemel_object::Gid;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A scope, judged.
#[derive(Debug)]
pub(crate) struct Assessment {
    /// The current trajectory, unless it is closed.
    pub(crate) current: Option<Current>,
    /// Its intent; head's without one.
    pub(crate) intent: Option<Gid>,
    pub(crate) scope: Scope,
    /// Of the scope's claims, in their order.
    pub(crate) statuses: Vec<Arc<Derived>>,
    pub(crate) required: BTreeSet<Combination>,
    pub(crate) satisfied: BTreeSet<Combination>,
    pub(crate) readiness: Readiness,
    /// Evidence whose freshness is not known for sure.
    pub(crate) uncertainty: Vec<Uncertainty>,
}

/// Judges a scope against the head state.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn assess(world: &mut World<'_>, kind: ScopeKind) -> Result<Arc<Assessment>> {
    if let Some(known) = world.assessed.get(&kind) {
        return Ok(known.clone());
    }
    let current = current_trajectory(world)?;
    let intent = match &current {
        Some(node) => node.intent,
        None => {
            let head = world.refs.get("refs/head")?;
            head.map(|id| world.change(&id)).transpose()?.flatten().and_then(|change| change.intent)
        }
    };
    let scope = scope::gather(world, kind, current.as_ref())?;
    let mut statuses = Vec::with_capacity(scope.claims.len());
    for claim in &scope.claims {
        statuses.push(world.derived(claim)?);
    }
    let required = required::required(world)?;
    let satisfied = required::satisfied(world, &scope)?;
    let mut uncertainty = doubts(statuses.iter().flat_map(|derived| &derived.unsure));
    uncertainty.extend(required::stale_support(world, &scope, &statuses, &required)?);
    let assessment = Arc::new(Assessment {
        readiness: readiness::judge(&scope, &statuses, &required, &satisfied, kind.as_str()),
        uncertainty,
        current,
        intent,
        scope,
        statuses,
        required,
        satisfied,
    });
    world.assessed.insert(kind, assessment.clone());
    Ok(assessment)
}

impl World<'_> {
    /// The status of a claim against the head state.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn derived(&mut self, claim: &ScopedClaim) -> Result<Arc<Derived>> {
        if let Some(known) = self.derived.get(&claim.node.id) {
            return Ok(known.clone());
        }
        let derived = Arc::new(self.with_judge(|world, judge| claims::derive(world, judge, claim))?);
        self.derived.insert(claim.node.id, derived.clone());
        Ok(derived)
    }

    /// Asks the judge of the head state, who remembers.
    ///
    /// # Errors
    /// Those of `ask`; `Store`, `CorruptObject`.
    pub(crate) fn with_judge<T>(
        &mut self,
        ask: impl FnOnce(&mut Self, &mut Judge) -> Result<T>,
    ) -> Result<T> {
        let mut judge = match self.judge.take() {
            Some(judge) => judge,
            None => Judge::at_head(self)?,
        };
        let answer = ask(self, &mut judge);
        self.judge = Some(judge);
        answer
    }
}
