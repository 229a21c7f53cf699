//! Which version of a file stands on which: commits tell what followed what, and a walk from the newest version over
//! those pairs meets each next to a near relative, on side branches too.

use super::discover::{BlobUse, Found};
use std::collections::HashMap;

/// Families that one thread takes at a time.
const AT_ONCE: usize = 64;

/// A version in the order in which it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) seen: BlobUse,
    /// Place in the family of the one it stands on; the first has none.
    pub(crate) base: Option<u32>,
    /// Members that stand on it.
    pub(crate) standing: u32,
}

/// Versions that follow from one another.
pub(crate) type Family = Vec<Member>;

/// The families of all files; those whose newest paths end alike stand together, and come in portions.
pub(crate) fn families(found: &Found) -> Vec<Vec<Family>> {
    let place: HashMap<u32, u32> =
        found.blobs.iter().zip(0..).map(|(seen, at)| (seen.blob, at)).collect();
    let neighbours = Neighbours::new(found, &place);
    let mut met = vec![false; found.blobs.len()];
    let mut families = Vec::new();
    for start in 0..found.blobs.len() as u32 {
        if !met[start as usize] {
            families.push(walk(found, &neighbours, start, &mut met));
        }
    }
    let mut named: Vec<(Vec<&str>, Family)> = families
        .into_iter()
        .map(|family| {
            let path = family.first().map_or("", |member| found.paths.text(member.seen.path));
            (path.rsplit('/').collect(), family)
        })
        .collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let mut portions: Vec<Vec<Family>> = Vec::new();
    let mut last = None;
    for (path, family) in named {
        let name = path.first().copied();
        match portions.last_mut() {
            Some(portion) if last == name && portion.len() < AT_ONCE => portion.push(family),
            _ => portions.push(vec![family]),
        }
        last = name;
    }
    portions
}

/// Pairs of versions that followed each other, by either; versions are places in the list of files.
struct Neighbours {
    starts: Vec<u32>,
    others: Vec<u32>,
}

impl Neighbours {
    fn new(found: &Found, place: &HashMap<u32, u32>) -> Neighbours {
        let empty = found.ids.get(&gix::ObjectId::empty_blob(found.format));
        let pairs = || {
            // Oldest last, so that a walk takes older versions of the same line after side branches.
            found.deltas.iter().rev().flatten().filter_map(|delta| {
                let (before, after) = (delta.before?.1, delta.after?.1);
                let far = before == after || Some(before) == empty || Some(after) == empty;
                (!far).then_some((*place.get(&before)?, *place.get(&after)?))
            })
        };
        let mut starts = vec![0u32; place.len() + 2];
        for (a, b) in pairs() {
            starts[a as usize + 2] += 1;
            starts[b as usize + 2] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut others = vec![0u32; starts.last().map_or(0, |n| *n as usize)];
        for (a, b) in pairs() {
            for (one, other) in [(a, b), (b, a)] {
                let next = &mut starts[one as usize + 1];
                others[*next as usize] = other;
                *next += 1;
            }
        }
        Neighbours { starts, others }
    }

    fn of(&self, place: u32) -> &[u32] {
        let (from, to) = (self.starts[place as usize] as usize, self.starts[place as usize + 1] as usize);
        &self.others[from..to]
    }
}

fn walk(found: &Found, neighbours: &Neighbours, start: u32, met: &mut [bool]) -> Family {
    let mut family = Family::new();
    let mut stack = vec![(start, None)];
    while let Some((place, base)) = stack.pop() {
        if std::mem::replace(&mut met[place as usize], true) {
            continue;
        }
        let own = family.len() as u32;
        if let Some(base) = base.and_then(|base: u32| family.get_mut(base as usize)) {
            base.standing += 1;
        }
        family.push(Member { seen: found.blobs[place as usize], base, standing: 0 });
        let next = neighbours.of(place).iter().filter(|other| !met[**other as usize]);
        stack.extend(next.map(|other| (*other, Some(own))));
    }
    family
}
