//! Claims and residuals that were recorded outside a change and belong to a scope because they name one of its changes
//! (object model, section 15.5).

use crate::Result;
use crate::history::graph::ChangeSet;
use crate::history::nodes::ClaimNode;
use crate::knowledge::world::World;
use crate::names::Kind;
use gemel_object::{Family, Gid};

/// What no change lists.
#[derive(Debug, Default)]
pub(crate) struct Loose {
    /// Claims made at one of the changes.
    pub(crate) claims: Vec<Gid>,
    /// Residuals that affect one of the changes.
    pub(crate) residuals: Vec<Gid>,
}

impl World<'_> {
    /// Declared claims that were made at a change of `changes` that is not `given_up`, and declared residuals that affect
    /// one of `changes`, whoever lists them. Ascending.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn loose(&mut self, changes: &ChangeSet, given_up: &ChangeSet) -> Result<Loose> {
        let mut loose = Loose::default();
        if !self.has_names(Kind::Claim)? && !self.has_names(Kind::Residual)? {
            // Nothing outside a change was ever recorded: a history brought in need not be read for this.
            return Ok(loose);
        }
        for id in self.ledger()?.loose() {
            match id.family() {
                Family::Claim => {
                    let Some(claim) = self.claim(&id)? else { continue };
                    let holds = |change: Gid| {
                        self.graph.holds(changes, &change) && !self.graph.holds(given_up, &change)
                    };
                    if claim.change.is_some_and(holds) && !self.is_led_to(&claim)? && self.is_declared(&id)? {
                        loose.claims.push(id);
                    }
                }
                Family::Residual => {
                    let affected = self.residual(&id)?.map(|node| node.changes.clone()).unwrap_or_default();
                    let affects = affected.iter().any(|change| self.graph.holds(changes, change));
                    if affects && self.is_declared(&id)? {
                        loose.residuals.push(id);
                    }
                }
                _ => {}
            }
        }
        Ok(loose)
    }

    /// Whether it refines a claim that names the same change and so leads to it.
    fn is_led_to(&mut self, claim: &ClaimNode) -> Result<bool> {
        let Some(older) = claim.supersedes else { return Ok(false) };
        Ok(self.claim(&older)?.is_some_and(|older| {
            older.change == claim.change
                && older.subject == claim.subject
                && older.predicate == claim.predicate
        }))
    }

    fn has_names(&self, kind: Kind) -> Result<bool> {
        let space = kind.namespace().trim_end_matches('/');
        // `refs/keep` holds what a migrated store or a peer had without a name.
        let kept = format!("refs/keep/{}/", kind.key());
        Ok(self.refs.max_number(space, kind.prefix())? > 0 || self.refs.scan(&kept)?.next().is_some())
    }
}
