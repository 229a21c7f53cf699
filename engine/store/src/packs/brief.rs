//! Which keys an index need not hold: those of objects in groups, which are soon made from their bytes.
//!
//! To make a key the keys that the object refers to are needed, and if those are brief they have to be made too. So only
//! objects of whose references none is brief, and those that refer to such, get brief keys; and of families through which
//! a long way leads from object to object none does.

use super::decode::group_at;
use super::pack::Pack;
use gemel_object::Family;
use gemel_packfmt::Key;
use gemel_packfmt::frame::Kind;
use gemel_packfmt::refcode::locals;

/// How many keys, each needed for the one before, are made one after another.
pub(crate) const MAX_BRIEF: u8 = 2;

/// Families whose keys may be brief: what is told of a change, most of what a long history consists of.
const BRIEF: [Family; 4] = [Family::Blob, Family::State, Family::Operation, Family::Mapping];

/// Objects that share groups, and which objects of the same pack they refer to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    /// Ordinal, and where in `links` its references end; they begin where those of the one before end.
    members: Vec<(u32, usize)>,
    links: Vec<u32>,
}

impl Members {
    /// Takes note of a member of a group.
    pub(crate) fn note(&mut self, ordinal: u32, codes: &[u8]) {
        self.links.extend(locals(ordinal, codes));
        self.members.push((ordinal, self.links.len()));
    }

    /// Takes over what `other` has.
    pub(crate) fn append(&mut self, other: &Members) {
        let behind = self.links.len();
        self.links.extend_from_slice(&other.links);
        self.members.extend(other.members.iter().map(|(ordinal, end)| (*ordinal, behind + end)));
    }

    /// Ordinals of the members.
    pub(crate) fn ordinals(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().map(|(ordinal, _)| *ordinal)
    }

    /// All members of the groups of a pack, as far as they can be read.
    pub(crate) fn of(pack: &Pack) -> Members {
        let mut members = Members::default();
        let mut at = gemel_packfmt::frame::HEADER_LEN as u64;
        while at < pack.end()
            && let Ok(frame) = pack.frame(at)
        {
            at = frame.end;
            let Kind::Group = frame.kind else { continue };
            let Ok(open) = group_at(pack, &frame) else { continue };
            let all = (0..open.group.len()).filter_map(|slot| open.group.member(slot));
            all.for_each(|(ordinal, codes, _)| members.note(ordinal, codes));
        }
        members
    }

    /// Which of the objects with these keys, by ordinal, get brief keys.
    pub(crate) fn brief<T>(&self, objects: &[(Key, T)]) -> Vec<bool> {
        let starts = std::iter::once(0).chain(self.members.iter().map(|(_, end)| *end));
        let mut members: Vec<(u32, usize, usize)> =
            self.members.iter().zip(starts).map(|((ordinal, end), start)| (*ordinal, start, *end)).collect();
        members.sort_unstable();
        // How many keys have to be made for one; more than the most for those not looked at yet.
        let mut steps = vec![0u8; objects.len()];
        for (ordinal, ..) in &members {
            if let Some(own) = steps.get_mut(*ordinal as usize) {
                *own = u8::MAX;
            }
        }
        for (ordinal, start, end) in members {
            let Some((key, _)) = objects.get(ordinal as usize) else { continue };
            let links = self.links.get(start..end).unwrap_or_default();
            let of_link = |link: &u32| steps.get(*link as usize).copied().unwrap_or(u8::MAX);
            let own = links.iter().map(of_link).max().unwrap_or(0).saturating_add(1);
            let is_brief = own <= MAX_BRIEF && BRIEF.iter().any(|family| family.code() == key[0]);
            if let Some(step) = steps.get_mut(ordinal as usize) {
                *step = if is_brief { own } else { 0 };
            }
        }
        steps.into_iter().map(|own| own > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gemel_packfmt::refcode::{Codes, RefCode};

    #[test]
    fn no_brief_key_needs_many_others() {
        let families = [
            Family::Tree,
            Family::State,
            Family::Mapping,
            Family::Mapping,
            Family::Change,
            Family::Mapping,
            Family::Mapping,
            Family::Operation,
        ];
        let objects: Vec<(Key, ())> = families.map(|family| ([family.code(); 33], ())).to_vec();
        let mut members = Members::default();
        // Each refers to the one before; the fifth also to one that comes later, the last to itself.
        for (own, links) in
            [(1, vec![0]), (3, vec![2]), (2, vec![1]), (4, vec![3]), (5, vec![4]), (6, vec![7]), (7, vec![7])]
        {
            let (mut state, mut codes) = (Codes::of(own), Vec::new());
            links.into_iter().for_each(|link| state.put(RefCode::Local(link), &mut codes));
            members.note(own, &codes);
        }
        let brief = members.brief(&objects);
        assert_eq!(brief, [false, true, true, false, false, true, false, false]);
    }
}
