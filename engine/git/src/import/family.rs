//! Which version of a thing stands on which: commits tell what followed what, and a walk from the newest version over
//! those pairs meets each next to a near relative, on side branches too.

/// A version in the order in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// The version, by its place in the list that was walked.
    pub(crate) at: u32,
    /// Place in the family of the one it stands on; the first has none.
    pub(crate) base: Option<u32>,
    /// Members that stand on it.
    pub(crate) standing: u32,
}

/// Versions that follow from one another.
pub(crate) type Family = Vec<Member>;

/// The families of `count` versions, listed newest first, of which `pairs` followed each other. Pairs come newest first:
/// the walk then goes back to where a version began before it follows what came of it.
pub(crate) fn families(count: usize, pairs: &[(u32, u32)]) -> Vec<Family> {
    let neighbours = Neighbours::new(count, pairs);
    let mut met = vec![false; count];
    let mut families = Vec::new();
    for start in 0..count as u32 {
        if !met[start as usize] {
            families.push(walk(&neighbours, start, &mut met));
        }
    }
    families
}

/// Cuts a family into parts of at most `len` members, so that several threads may share it. A member whose base is in
/// another part stands on the one before it, which is a relative too.
pub(crate) fn parts(family: Family, len: usize) -> Vec<Family> {
    if family.len() <= len {
        return vec![family];
    }
    let mut parts: Vec<Family> = Vec::with_capacity(family.len() / len + 1);
    for (number, members) in (0u32..).zip(family.chunks(len)) {
        let start = number * len as u32;
        let mut part: Family = Vec::with_capacity(members.len());
        for member in members {
            let base =
                member.base.and_then(|base| base.checked_sub(start)).or((part.len() as u32).checked_sub(1));
            if let Some(base) = base.and_then(|base| part.get_mut(base as usize)) {
                base.standing += 1;
            }
            part.push(Member { at: member.at, base, standing: 0 });
        }
        parts.push(part);
    }
    parts
}

/// Pairs by either of their versions.
struct Neighbours {
    starts: Vec<u32>,
    others: Vec<u32>,
}

impl Neighbours {
    fn new(count: usize, pairs: &[(u32, u32)]) -> Neighbours {
        let mut starts = vec![0u32; count + 2];
        for (a, b) in pairs {
            starts[*a as usize + 2] += 1;
            starts[*b as usize + 2] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut others = vec![0u32; pairs.len() * 2];
        for (a, b) in pairs {
            for (one, other) in [(a, b), (b, a)] {
                let next = &mut starts[*one as usize + 1];
                others[*next as usize] = *other;
                *next += 1;
            }
        }
        Neighbours { starts, others }
    }

    fn of(&self, at: u32) -> &[u32] {
        let (from, to) = (self.starts[at as usize] as usize, self.starts[at as usize + 1] as usize);
        &self.others[from..to]
    }
}

fn walk(neighbours: &Neighbours, start: u32, met: &mut [bool]) -> Family {
    let mut family = Family::new();
    let mut stack = vec![(start, None)];
    while let Some((at, base)) = stack.pop() {
        if std::mem::replace(&mut met[at as usize], true) {
            continue;
        }
        let own = family.len() as u32;
        if let Some(base) = base.and_then(|base: u32| family.get_mut(base as usize)) {
            base.standing += 1;
        }
        family.push(Member { at, base, standing: 0 });
        let next = neighbours.of(at).iter().filter(|other| !met[**other as usize]);
        stack.extend(next.map(|other| (*other, Some(own))));
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_once_and_next_to_a_relative() {
        // 0 is the newest of a line 0-1-2-3 with a side branch 4-5 that left at 2; 6 stands alone.
        let found = families(7, &[(3, 2), (2, 4), (4, 5), (2, 1), (1, 0)]);
        assert_eq!(found.len(), 2);
        let mut seen: Vec<u32> = found.iter().flatten().map(|member| member.at).collect();
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
        for part in found.into_iter().flat_map(|family| parts(family, 4)) {
            let standing: u32 = part.iter().map(|member| member.standing).sum();
            assert_eq!(standing, part.iter().filter(|member| member.base.is_some()).count() as u32);
            assert!(part.iter().zip(0..).all(|(member, own)| member.base.is_none_or(|base| base < own)));
        }
    }
}
