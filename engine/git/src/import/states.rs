//! Trees, from those without folders upward: the versions of each folder in a row, newest first.

use super::discover::{Found, TreeUse, shown};
use super::family::{Family, families, parts};
use super::ids::{Ids, Lately, Made};
use super::keep::{Kept, RawObject};
use super::row::{Held, Step};
use super::source::{Reader, Source};
use super::tree::{self, EntryKind};
use crate::object::ObjectKind;
use crate::{GitError, Result};
use gemel_object::{Limits, Mode, TreeBuilder, blob_envelope};
use gemel_repo::facts::Progress;
use gemel_store::{Prepared, Writer};
use gix::hashtable::HashMap;
use rayon::prelude::*;

/// What the trees of a run need.
pub(crate) struct Trees<'a> {
    pub(crate) source: &'a Source,
    pub(crate) writer: &'a Writer<'a>,
    pub(crate) limits: &'a Limits,
    pub(crate) progress: &'a dyn Progress,
}

/// A tree turned into an object, and its raw body where that differs.
struct Turned {
    tree: u32,
    made: Made,
    raw: Option<RawObject>,
    /// Paths of the gitlinks in it and below, from it.
    gitlinks: Vec<String>,
}

impl Trees<'_> {
    /// Writes every tree that was found and notes what became of each. Bodies that cannot be made from states go to
    /// `kept`.
    ///
    /// # Errors
    /// `Missing`, `Damaged`, `Unfit`; those of the store.
    pub(crate) fn write(&self, found: &mut Found, kept: &mut Kept) -> Result<()> {
        let heights = heights(&found.trees, &found.ids);
        let mut order: Vec<usize> = (0..found.trees.len()).collect();
        order.sort_unstable_by_key(|at| (heights[*at], *at));
        let place: HashMap<gix::ObjectId, usize> = places(&found.trees, &found.ids);
        let mut pairs: Vec<(usize, usize)> = found
            .tree_pairs
            .iter()
            .filter_map(|(a, b)| Some((*place.get(&found.ids.name(*a))?, *place.get(&found.ids.name(*b))?)))
            .filter(|(a, b)| heights[*a] == heights[*b])
            .collect();
        pairs.sort_by_key(|(a, _)| heights[*a]);
        let mut within = vec![0u32; found.trees.len()];
        for level in order.chunk_by(|a, b| heights[*a] == heights[*b]) {
            for (at, tree) in (0..).zip(level) {
                within[*tree] = at;
            }
            let height = level.first().map_or(0, |tree| heights[*tree]);
            let from = pairs.partition_point(|(a, _)| heights[*a] < height);
            let to = pairs.partition_point(|(a, _)| heights[*a] <= height);
            let pairs: Vec<(u32, u32)> =
                pairs[from..to].iter().map(|(a, b)| (within[*a], within[*b])).collect();
            let families =
                families(level.len(), &pairs).into_iter().flat_map(|family| parts(family, AT_ONCE));
            let families: Vec<Family> = families.collect();
            let done: Vec<Vec<Turned>> = families
                .par_iter()
                .map_init(
                    || (self.source.reader(), TreeBuilder::new(), Lately::default()),
                    |making, family| self.family(found, making, level, family),
                )
                .collect::<Result<_>>()?;
            for turned in done.into_iter().flatten() {
                found.ids.set(turned.tree, turned.made);
                kept.objects.extend(turned.raw);
                if !turned.gitlinks.is_empty() {
                    found.gitlinks.insert(turned.tree, turned.gitlinks);
                }
            }
        }
        Ok(())
    }

    fn family(
        &self,
        found: &Found,
        making: &mut Making,
        level: &[usize],
        family: &Family,
    ) -> Result<Vec<Turned>> {
        let mut done = Vec::with_capacity(family.len());
        let mut held = Held::<Steps>::default();
        for (place, member) in (0..).zip(family) {
            self.progress.advance(1);
            let seen = &found.trees[level[member.at as usize]];
            let base = member.base.and_then(|base| held.take(base)).unwrap_or_default();
            if found.ids.made(seen.tree) != Made::Nothing {
                continue;
            }
            let (turned, steps) = self.turn(found, making, seen, &base)?;
            held.keep(place, steps, member.standing);
            done.push(turned);
        }
        Ok(done)
    }

    fn turn(
        &self,
        found: &Found,
        (reader, builder, lately): &mut Making,
        seen: &TreeUse,
        base: &Steps,
    ) -> Result<(Turned, Steps)> {
        let id = found.ids.name(seen.tree);
        let path = found.paths.text(seen.path);
        let at = || format!("folder {}", shown(path));
        let damaged = |detail: String| GitError::Damaged { oid: id.to_string(), at: at(), detail };
        let body = match reader.body(&id, ObjectKind::Tree, &at) {
            Ok(body) => body,
            Err(GitError::Missing { .. }) if id.is_empty_tree() => &[],
            Err(error) => return Err(error),
        };
        let tree = tree::parse(body, self.source.kind).map_err(damaged)?;
        builder.clear();
        let mut odd = tree.odd;
        let mut gitlinks = Vec::new();
        for entry in &tree.entries {
            let EntryKind::Content(mode) = entry.kind else {
                gitlinks.push(entry.name.to_string());
                continue;
            };
            if mode == Mode::Directory
                && !found.gitlinks.is_empty()
                && let Some(below) = found.ids.get(&entry.id).and_then(|number| found.gitlinks.get(&number))
            {
                gitlinks.extend(below.iter().map(|link| format!("{}/{link}", entry.name)));
            }
            match lately.made_of(&found.ids, &entry.id) {
                Made::Object(target, differs) => {
                    odd |= differs;
                    builder.push(&entry.name, mode, &target).map_err(|e| damaged(e.to_string()))?;
                }
                Made::Empty(_) | Made::Lost => odd = true,
                Made::Nothing => return Err(damaged(format!("its entry {} leads nowhere", entry.name))),
            }
        }
        gitlinks.sort_unstable();
        let raw = if odd { Some(self.keep(id, body, base.raw.as_ref())?) } else { None };
        let (raw, raw_step) = raw.unzip();
        let encoded = builder.finish(self.limits).map_err(|e| damaged(e.to_string()))?;
        // A folder without content is no entry of others; as a root it is a state.
        let made = if builder.is_empty() { Made::Empty(encoded.id) } else { Made::Object(encoded.id, odd) };
        let object = Prepared::new(encoded.id, encoded.bytes)?;
        let own = Step::after(base.own.as_ref(), self.writer, object)?;
        Ok((Turned { tree: seen.tree, made, raw, gitlinks }, Steps { own: Some(own), raw: raw_step }))
    }

    fn keep(&self, id: gix::ObjectId, body: &[u8], base: Option<&Step>) -> Result<(RawObject, Step)> {
        let encoded = blob_envelope(body, self.limits).map_err(|e| GitError::Damaged {
            oid: id.to_string(),
            at: String::new(),
            detail: e.to_string(),
        })?;
        let raw = RawObject { kind: ObjectKind::Tree, id, part: None, blob: encoded.id };
        let step = Step::after(base, self.writer, Prepared::new(encoded.id, encoded.bytes)?)?;
        Ok((raw, step))
    }
}

/// What one thread makes the trees of a level with.
type Making = (Reader, TreeBuilder, Lately);

/// Versions of a folder that one thread takes at a time.
const AT_ONCE: usize = 1500;

/// What the next version of a folder stands on: its tree, and its Git body where that is kept.
#[derive(Clone, Default)]
struct Steps {
    own: Option<Step>,
    raw: Option<Step>,
}

fn places(trees: &[TreeUse], ids: &Ids) -> HashMap<gix::ObjectId, usize> {
    trees.iter().enumerate().map(|(at, seen)| (ids.name(seen.tree), at)).collect()
}

/// How far each tree is from its deepest folder; those it holds are all lower. Folders met before this run count as
/// none.
fn heights(trees: &[TreeUse], ids: &Ids) -> Vec<u32> {
    let places = places(trees, ids);
    let mut heights = vec![u32::MAX; trees.len()];
    for start in 0..trees.len() {
        let mut stack = vec![(start, 0usize)];
        while let Some((at, next)) = stack.pop() {
            if heights[at] != u32::MAX && next == 0 {
                continue;
            }
            let children = &trees[at].children;
            let pending = (next..children.len()).find_map(|child| {
                let place = *places.get(&ids.name(children[child]))?;
                (heights[place] == u32::MAX).then_some((child, place))
            });
            match pending {
                Some((child, place)) => stack.extend([(at, child + 1), (place, 0)]),
                None => {
                    let places = children.iter().filter_map(|child| places.get(&ids.name(*child)));
                    heights[at] = places.map(|place| heights[*place].saturating_add(1)).max().unwrap_or(0);
                }
            }
        }
    }
    heights
}
