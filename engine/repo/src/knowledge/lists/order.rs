//! Everything declared of a family, in the order of its list: newest first, then by identity (query surface, section 1.2).

use crate::Result;
use crate::knowledge::sets::refines;
use crate::knowledge::world::World;
use gemel_object::{Family, Gid};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

impl World<'_> {
    /// All declared claims at their newest refinements, those that others replaced included.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn all_claims(&mut self) -> Result<Arc<Vec<Gid>>> {
        if let Some(known) = self.lists.get(&Family::Claim) {
            return Ok(known.clone());
        }
        let ids = self.with_older(Family::Claim)?;
        let (mut first, mut followers) = (Vec::new(), HashMap::<Gid, Vec<(Reverse<i64>, Gid)>>::new());
        for id in &ids {
            let Some(claim) = self.claim(id)? else { continue };
            let refined = match claim.supersedes {
                Some(older) => self.claim(&older)?.filter(|older| refines(&claim, older)),
                None => None,
            };
            match refined {
                Some(older) => {
                    followers.entry(older.id).or_default().push((Reverse(claim.created_at_ms), *id));
                }
                None => first.push(*id),
            }
        }
        let mut rows = Vec::with_capacity(first.len());
        for id in ends(&first, &followers) {
            rows.extend(self.claim(&id)?.map(|claim| (Reverse(claim.created_at_ms), id)));
        }
        Ok(self.keep_list(Family::Claim, rows))
    }

    /// All declared residuals at their newest versions.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn all_residuals(&mut self) -> Result<Arc<Vec<Gid>>> {
        if let Some(known) = self.lists.get(&Family::Residual) {
            return Ok(known.clone());
        }
        let mut rows = BTreeSet::new();
        for id in self.with_older(Family::Residual)? {
            // One version stands for all: the first one there is.
            let Some(residual) = self.residual(&id)? else { continue };
            if residual.previous.is_none_or(|older| !self.residual(&older).is_ok_and(|found| found.is_some()))
            {
                let newest = self.newest_residual(&id)?;
                rows.extend(self.residual(&newest)?.map(|node| (Reverse(node.created_at_ms), newest)));
            }
        }
        let rows = rows.into_iter().collect();
        Ok(self.keep_list(Family::Residual, rows))
    }

    /// All declared evidence.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn all_evidence(&mut self) -> Result<Arc<Vec<Gid>>> {
        if let Some(known) = self.lists.get(&Family::Evidence) {
            return Ok(known.clone());
        }
        let ids = self.declared(Family::Evidence)?;
        self.load_evidence(&ids)?;
        let mut rows = Vec::with_capacity(ids.len());
        for id in ids {
            rows.extend(self.evidence(&id)?.map(|evidence| (Reverse(evidence.created_at_ms), id)));
        }
        Ok(self.keep_list(Family::Evidence, rows))
    }

    /// Everything declared, and the versions before it. All of them are read.
    fn with_older(&mut self, family: Family) -> Result<Vec<Gid>> {
        let mut ids = self.declared(family)?;
        let mut seen: HashSet<Gid> = ids.iter().copied().collect();
        let mut new = ids.clone();
        while !new.is_empty() {
            let mut older = Vec::new();
            if family == Family::Claim {
                self.load_claims(&new)?;
                for id in &new {
                    older.extend(self.claim(id)?.and_then(|claim| claim.supersedes));
                }
            } else {
                self.load_residuals(&new)?;
                for id in &new {
                    older.extend(self.residual(id)?.and_then(|residual| residual.previous));
                }
            }
            older.retain(|id| seen.insert(*id));
            ids.extend(&older);
            new = older;
        }
        Ok(ids)
    }

    fn keep_list(&mut self, family: Family, mut rows: Vec<(Reverse<i64>, Gid)>) -> Arc<Vec<Gid>> {
        rows.sort_unstable();
        let list = Arc::new(rows.into_iter().map(|(_, id)| id).collect());
        self.lists.insert(family, Arc::clone(&list));
        list
    }
}

/// Where chains that begin at `first` end: at each step the newest follower is taken, then the lowest identity.
fn ends(first: &[Gid], followers: &HashMap<Gid, Vec<(Reverse<i64>, Gid)>>) -> Vec<Gid> {
    let end = |id: &Gid| {
        let mut at = *id;
        // A chain is as long as there are objects at most: identities are hashes, so that no chain bites its tail.
        while let Some((_, next)) = followers.get(&at).and_then(|next| next.iter().min()) {
            at = *next;
        }
        at
    };
    first.iter().map(end).collect()
}
