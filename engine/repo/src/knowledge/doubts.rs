//! What an answer about recorded things does not know (query surface, section 1.5).

use crate::Result;
use crate::facts::Uncertainty;
use crate::history::graph::stored;
use crate::history::nodes;
use crate::knowledge::subject::Subject;
use crate::knowledge::world::World;
use gemel_object::families::Producer;
use gemel_object::{Family, Gid, ProducerKind};
use std::collections::{BTreeMap, BTreeSet};

impl World<'_> {
    /// Says so when nothing is recorded about a subject: no change touches it, and no claim, evidence or residual is
    /// about it.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn subject_doubt(&mut self, subject: &Subject) -> Result<Option<Uncertainty>> {
        let is_known = !self.touching(subject)?.is_empty()
            || !self.evidence_about(subject)?.is_empty()
            || !self.residuals_affecting(subject)?.is_empty();
        let doubt = || Uncertainty {
            class: "subject",
            ids: subject.id.iter().map(Gid::to_string).collect(),
            reason: format!("nothing recorded touches {:?}", subject.given),
        };
        Ok((!is_known).then(doubt))
    }

    /// Says of which objects it is not known who made them. Pairs of an object and its producer.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn provenance_doubts(&mut self, made: &[(Gid, Gid)]) -> Result<Vec<Uncertainty>> {
        let mut by_producer: BTreeMap<Gid, BTreeSet<Gid>> = BTreeMap::new();
        for (id, producer) in made {
            by_producer.entry(*producer).or_default().insert(*id);
        }
        let mut doubts = Vec::new();
        for (producer, ids) in by_producer {
            let kind =
                stored(nodes::read(self.store(), &producer, |object| Ok(Producer::view(object)?.kind())))?;
            let reason = match kind {
                Some(ProducerKind::Unknown) => "it is not known who made it".to_owned(),
                Some(_) => continue,
                None => format!("its producer {producer} is not stored here"),
            };
            doubts.push(Uncertainty { class: "provenance", ids: texts(&ids), reason });
        }
        Ok(doubts)
    }

    /// Says which chains of versions fork, so that one of several newest versions was chosen. `versions` are those of
    /// one chain.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn fork_doubts(&mut self, versions: &[Gid]) -> Result<Vec<Uncertainty>> {
        let mut doubts = Vec::new();
        for version in versions {
            let mut followers = Vec::new();
            for source in self.ledger()?.naming(version) {
                if source.family() == version.family()
                    && self.follows(&source, version)?
                    && self.is_declared(&source)?
                {
                    followers.push(source.to_string());
                }
            }
            if followers.len() > 1 {
                let reason = format!("several versions follow {version}; the one decided last is answered");
                doubts.push(Uncertainty { class: "fork", ids: followers, reason });
            }
        }
        Ok(doubts)
    }

    /// Whether an object is a later version of another.
    fn follows(&mut self, newer: &Gid, older: &Gid) -> Result<bool> {
        match newer.family() {
            Family::Residual => Ok(self.residual(newer)?.is_some_and(|node| node.previous == Some(*older))),
            Family::Claim => {
                let (Some(newer), Some(old)) = (self.claim(newer)?, self.claim(older)?) else {
                    return Ok(false);
                };
                Ok(newer.supersedes == Some(*older) && crate::knowledge::sets::refines(&newer, &old))
            }
            _ => Ok(false),
        }
    }
}

/// Says that no known change declares some objects.
pub(crate) fn undeclared(ids: &BTreeSet<Gid>) -> Option<Uncertainty> {
    let reason = "no known change declares it".to_owned();
    (!ids.is_empty()).then(|| Uncertainty { class: "declaring_change", ids: texts(ids), reason })
}

fn texts(ids: &BTreeSet<Gid>) -> Vec<String> {
    ids.iter().map(Gid::to_string).collect()
}
