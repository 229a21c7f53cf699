//! Which change gave a line of a file its present text.
//!
//! From the head state back along first parents. Only changes that the ledger knows to touch the path are looked at,
//! and each of them only asked whether the line was there before; so the walk ends where the text began. Where several
//! lines of history meet, it goes on in the first one that has the file as it is, else in the first that has the line:
//! a reconciliation, or a merge, gives a line its text only when nobody before it had it.

use crate::Result;
use crate::content::diff::{lines, traced};
use crate::content::{entry_at, read_blob};
use crate::history::graph::{ChangeSet, stored};
use crate::history::nodes;
use crate::knowledge::world::World;
use gemel_object::families::{Change, Operation, Reconciliation};
use gemel_object::{Gid, Mode};
use gemel_store::RefValue;
use std::collections::HashSet;

/// Changes looked at for a former path of a file that a merge brings together.
const MAX_MOVERS: usize = 64;

/// What was found of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The change that gave it its text.
    Change(Gid),
    /// It was there before the first change that was recorded of the file, which is this one.
    Before(Option<Gid>),
    /// The head state has no such file.
    NoFile,
    /// The file has this many lines only.
    NoLine(usize),
}

/// Where the walk stands: the line as it is in the result of a change.
#[derive(Clone, Debug)]
struct Place {
    path: String,
    blob: Gid,
    /// From 0.
    line: usize,
}

/// Finds the origin of line `line`, from 1, of the file `path` of the head state.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(super) fn find(world: &mut World<'_>, path: &str, line: u64) -> Result<Origin> {
    let (Some(head), Some(root)) = (world.refs.get("refs/head")?, world.head_root()?) else {
        return Ok(Origin::NoFile);
    };
    let Some(blob) = file_at(world, Some(root), path)? else { return Ok(Origin::NoFile) };
    let text = read_blob(world.store(), &blob)?;
    let (wanted, count) = (usize::try_from(line).unwrap_or(usize::MAX), lines(&text));
    if wanted == 0 || wanted > count {
        return Ok(Origin::NoLine(count));
    }
    let mut walk = Walk {
        text,
        place: Place { path: path.to_owned(), blob, line: wanted - 1 },
        meetings: meetings(world)?,
        stops: ChangeSet::default(),
        last: None,
    };
    walk.stop_at_touching(world)?;
    let (mut at, mut seen) = (head, HashSet::new());
    while let Some(change) = world.graph.along_first_parents(&at, &walk.stops)? {
        if !seen.insert(change) {
            break;
        }
        match walk.pass(world, &change)? {
            Step::Here => return Ok(Origin::Change(change)),
            Step::Lost => return Ok(walk.last.map_or(Origin::Change(change), Origin::Change)),
            Step::Before => return Ok(Origin::Before(Some(change))),
            Step::To(parent) => at = parent,
        }
        walk.last = Some(change);
    }
    Ok(Origin::Before(walk.last))
}

enum Step {
    /// The change gave the line its text.
    Here,
    /// The result of the change does not have the line: what came between is not recorded.
    Lost,
    /// It was in the input of the change, which no change before it resulted in.
    Before,
    /// The result of this parent has it.
    To(Gid),
}

struct Walk {
    place: Place,
    /// The bytes of the file.
    text: Vec<u8>,
    /// Results of reconciliations: their parents are looked at even where they change nothing.
    meetings: Vec<Gid>,
    /// Changes to look at for the present path.
    stops: ChangeSet,
    /// The last change looked at.
    last: Option<Gid>,
}

/// A file that may be the one before.
struct Source {
    parent: Option<Gid>,
    path: String,
    blob: Gid,
}

impl Walk {
    fn stop_at_touching(&mut self, world: &mut World<'_>) -> Result<()> {
        let mut stops = ChangeSet::default();
        let touching = world.touching_path(&self.place.path)?;
        world.graph.include(&mut stops, touching.into_iter().chain(self.meetings.iter().copied()))?;
        self.stops = stops;
        Ok(())
    }

    /// Goes on from the result of `change` to what was before it.
    fn pass(&mut self, world: &mut World<'_>, change: &Gid) -> Result<Step> {
        let Some(node) = world.change(change)? else { return Ok(Step::Here) };
        let result = file_of(world, node.result.as_ref(), &self.place.path)?;
        match result {
            Some(blob) if blob == self.place.blob => {}
            // Content changed between two changes without one that says so.
            Some(blob) => match self.trace(world, &blob)? {
                Some((line, text)) => {
                    self.place = Place { blob, line, path: self.place.path.clone() };
                    self.text = text;
                }
                None => return Ok(Step::Lost),
            },
            None => return Ok(Step::Lost),
        }
        let (mut sources, mut is_reached) = (Vec::new(), false);
        for parent in &node.parents {
            let Some(before) = world.change(parent)? else { continue };
            is_reached |= world.graph.same_content(before.result.as_ref(), node.input.as_ref())?;
            sources.extend(self.source(world, change, Some(*parent), before.result.as_ref())?);
        }
        // What it started from stands behind its parents, when it is not the result of one of them.
        if let Some(input) = node.input.filter(|_| !is_reached) {
            let ending = ending_in(world, change, &input)?;
            sources.extend(self.source(world, change, ending, Some(&input))?);
        }
        let whole = sources.iter().position(|source| source.blob == self.place.blob);
        if let Some(source) = whole.map(|at| sources.swap_remove(at)) {
            return self.go(world, source, self.place.line, None);
        }
        let mut tried = HashSet::new();
        for source in sources {
            if tried.insert(source.blob)
                && let Some((line, text)) = self.trace(world, &source.blob)?
            {
                return self.go(world, source, line, Some(text));
            }
        }
        Ok(Step::Here)
    }

    /// The file in a state that was there before `change`, under its path or the one it was moved from.
    fn source(
        &self,
        world: &mut World<'_>,
        change: &Gid,
        parent: Option<Gid>,
        state: Option<&Gid>,
    ) -> Result<Option<Source>> {
        let path = &self.place.path;
        if let Some(blob) = file_of(world, state, path)? {
            return Ok(Some(Source { parent, path: path.clone(), blob }));
        }
        // A merge tells what differs from its first parent; another one may have the file under the path it had before
        // it was moved on the way to the first.
        let mut movers = vec![*change];
        if world.change(change)?.is_some_and(|node| node.parents.len() > 1) {
            movers.extend(world.touching_path(path)?.into_iter().take(MAX_MOVERS));
        }
        for mover in movers {
            if let Some(from) = moved_from(world, &mover, path)?
                && let Some(blob) = file_of(world, state, &from)?
            {
                return Ok(Some(Source { parent, path: from, blob }));
            }
        }
        Ok(None)
    }

    /// The line in another version of the file, with that version's bytes.
    fn trace(&self, world: &World<'_>, blob: &Gid) -> Result<Option<(usize, Vec<u8>)>> {
        let before = read_blob(world.store(), blob)?;
        Ok(traced(&before, &self.text, self.place.line).map(|line| (line, before)))
    }

    fn go(
        &mut self,
        world: &mut World<'_>,
        source: Source,
        line: usize,
        text: Option<Vec<u8>>,
    ) -> Result<Step> {
        let moved = source.path != self.place.path;
        self.place = Place { path: source.path, blob: source.blob, line };
        if let Some(text) = text {
            self.text = text;
        }
        if moved {
            self.stop_at_touching(world)?;
        }
        Ok(source.parent.map_or(Step::Before, Step::To))
    }
}

/// The last change before `change` that results in a state.
fn ending_in(world: &mut World<'_>, change: &Gid, state: &Gid) -> Result<Option<Gid>> {
    let Some(root) = world.graph.root(state)? else { return Ok(None) };
    let leading = world.leading()?;
    let (mut ending, _) = world.graph.with_root(&leading, &root)?;
    let order = world.order()?;
    let above = order.ancestors(&world.graph, &[*change]);
    ending.retain(|id| id != change && order.is_ancestor(&world.graph, &above, id));
    world.last_touching(&ending)
}

/// Results of named reconciliations.
fn meetings(world: &World<'_>) -> Result<Vec<Gid>> {
    let mut found = Vec::new();
    for (_, value) in world.refs.scan("refs/reconciliations/")? {
        let Ok(RefValue::Id(id)) = value else { continue };
        let result =
            nodes::read(world.store(), &id, |object| Ok(Reconciliation::view(object)?.resulting_change()));
        found.extend(stored(result)?.flatten());
    }
    Ok(found)
}

/// The file at a path of a state.
fn file_of(world: &mut World<'_>, state: Option<&Gid>, path: &str) -> Result<Option<Gid>> {
    let Some(state) = state else { return Ok(None) };
    let root = world.graph.root(state)?;
    file_at(world, root, path)
}

fn file_at(world: &World<'_>, root: Option<Gid>, path: &str) -> Result<Option<Gid>> {
    let Some(root) = root else { return Ok(None) };
    let entry = stored(entry_at(world.store(), root, path).map_err(Into::into))?.flatten();
    Ok(entry.filter(|(mode, _)| *mode != Mode::Directory).map(|(_, blob)| blob))
}

/// The path that a change moved to `path`.
fn moved_from(world: &World<'_>, change: &Gid, path: &str) -> Result<Option<String>> {
    let operations: Option<Vec<Gid>> = stored(nodes::read(world.store(), change, |object| {
        Ok(Change::view(object)?.operations().iter().collect())
    }))?;
    for id in operations.into_iter().flatten() {
        let source = stored(nodes::read(world.store(), &id, |object| {
            let operation = Operation::view(object)?;
            let moved = operation.to() == Some(path);
            Ok(operation.from().filter(|_| moved).map(str::to_owned))
        }))?;
        if let Some(from) = source.flatten() {
            return Ok(Some(from));
        }
    }
    Ok(None)
}
