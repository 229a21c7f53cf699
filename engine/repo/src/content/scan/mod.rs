//! Looking at a worktree: which paths are content, and which of them changed since the stat cache was made
//! (workflow, sections 3.1 and 3.2).
//!
//! The walk goes level by level, the directories of a level in parallel, so that neither depth nor width of a tree
//! costs stack. Where the stat cache still tells what a directory holds, it is not even listed.

mod cache;
mod look;
mod node;
mod recorded;
mod save;

pub(crate) use cache::{CachedDir, DirFlags, StatCache};
use node::path_to;
pub(crate) use node::{Content, Leaf, Leaves, Node, path_of};
pub(crate) use recorded::decode_tree;
pub(crate) use save::load;

use crate::content::capture::{Omission, OmissionReason};
use crate::content::delta::ObjectSource;
use crate::content::disk::{Dir, Stat, change_time_of};
use crate::content::error::{ContentError, Result};
use crate::content::ignore::{RuleId, Rules};
use gemel_object::{Gid, Limits, blob_header};
use look::{Found, Look};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// What a walk is told.
pub(crate) struct ScanRequest<'a> {
    /// The directory.
    pub(crate) root: &'a Path,
    /// The root tree of the recorded state.
    pub(crate) recorded: Option<Gid>,
    /// Where recorded trees are read.
    pub(crate) source: &'a dyn ObjectSource,
    /// What the stat cache says.
    pub(crate) cache: Option<StatCache>,
    /// Whether every file is to be read.
    pub(crate) verify: bool,
    /// The store's directory; its times tell how late it is.
    pub(crate) store_dir: &'a Path,
    /// Upper bounds on objects.
    pub(crate) limits: &'a Limits,
    /// Whether what a stopped checkout or `init` left is shown: only who removes it wants that.
    pub(crate) leftovers: bool,
}

/// What a walk found.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The root.
    pub(crate) root: Dir,
    /// Directories in the order of the walk; the first is the root.
    pub(crate) nodes: Vec<Node>,
    /// Which of them lie equally deep.
    pub(crate) levels: Vec<Range<usize>>,
    /// The stat cache used.
    pub(crate) cache: Option<StatCache>,
    /// The root tree of the recorded state.
    pub(crate) recorded: Option<Gid>,
    /// Some time before the walk began.
    pub(crate) horizon_ns: i64,
    /// The latest time of change met.
    pub(crate) observed_ns: i64,
    /// Nested repositories and things no tree can hold.
    pub(crate) omitted: Vec<Omission>,
    /// Whether something disappeared during the walk.
    pub(crate) disturbed: bool,
}

/// A file or link whose content is known without reading it.
#[derive(Debug)]
pub(crate) struct Known {
    /// Its name.
    pub(crate) name: Vec<u8>,
    /// What it was then.
    pub(crate) stat: Stat,
    /// Its content.
    pub(crate) blob: Gid,
}

/// A directory still to be looked at.
struct Task {
    parent: usize,
    rules: RuleId,
    found: Found,
}

/// Coarsest step of the clocks that file systems take their times from: 10 ms in kernels of 100 ticks a second, with
/// as much again for good measure.
const CLOCK_STEP_NS: i64 = 20_000_000;

/// Whether something changed so late that a further change need not show in its times (Git's racy rule). `horizon_ns`
/// is some time before it was read.
pub(crate) fn is_racy(stat: &Stat, horizon_ns: i64) -> bool {
    stat.mtime_ns.max(stat.ctime_ns).saturating_add(CLOCK_STEP_NS) > horizon_ns
}

/// Walks a worktree.
///
/// # Errors
/// `Io` when a directory cannot be read, `Store` and `CorruptObject` for recorded trees.
pub(crate) fn scan(request: ScanRequest<'_>) -> Result<Scan> {
    let root = Dir::open_root(request.root).map_err(ContentError::io("open", request.root))?;
    let horizon_ns = horizon(&root, &request)?;
    let mut rules = Rules::new(look::exclude_rules(&root, request.root));
    let mut scan = Scan {
        root,
        nodes: Vec::new(),
        levels: Vec::new(),
        recorded: request.recorded,
        horizon_ns,
        observed_ns: horizon_ns,
        omitted: Vec::new(),
        disturbed: false,
        cache: None,
    };
    let header = blob_header(0, request.limits).map_or(0, |header| header.envelope_len());
    let look = Look {
        root: &scan.root,
        root_path: request.root,
        listings: !request.verify && request.cache.as_ref().is_some_and(|c| c.recorded() == request.recorded),
        cache: request.cache.as_ref(),
        stats: !request.verify,
        source: request.source,
        leftovers: request.leftovers,
        max_file: request.limits.max_object_bytes.saturating_sub(header),
    };
    let cached = request.cache.is_some().then_some(0);
    let found = Found { recorded: request.recorded, cached, ..Found::default() };
    let mut level = vec![Task { parent: 0, rules: Rules::ROOT, found }];
    while !level.is_empty() {
        let outcomes: Vec<_> = level
            .par_iter()
            .map(|task| {
                let path = path_of_task(&scan.nodes, task);
                look.directory(&rules, task.rules, &task.found, &path).map(|seen| (path, seen))
            })
            .collect();
        let start = scan.nodes.len();
        let mut next = Vec::new();
        for (task, outcome) in level.into_iter().zip(outcomes) {
            let (path, seen) = outcome?;
            let number = scan.nodes.len();
            let rules_below = match seen.own_rules {
                Some(bytes) => rules.add(task.rules, &path, bytes),
                None => task.rules,
            };
            next.extend(seen.children.into_iter().map(|found| Task {
                parent: number,
                rules: rules_below,
                found,
            }));
            scan.omitted.extend(seen.omitted);
            scan.disturbed |= seen.disturbed;
            scan.observed_ns = scan.observed_ns.max(seen.observed_ns);
            scan.nodes.push(Node {
                parent: task.parent,
                name: task.found.name,
                stat: seen.stat,
                rules: seen.rules,
                flags: seen.flags,
                recorded: task.found.recorded,
                cached: task.found.cached,
                content: seen.content,
                children: 0..0,
                clean: false,
                settled: false,
                tree: None,
            });
        }
        scan.levels.push(start..scan.nodes.len());
        level = next;
    }
    scan.cache = request.cache;
    scan.link_children();
    scan.mark_clean();
    scan.omitted.sort();
    Ok(scan)
}

/// Whether no capture records anything at `path`. A state that was imported may hold such paths; they take no part in
/// what differs between it and a directory (workflow, section 3.1).
pub(crate) fn is_never_recorded(path: &str) -> bool {
    path.split('/').any(|name| look::is_metadata(name.as_bytes()))
}

fn path_of_task(nodes: &[Node], task: &Task) -> Vec<u8> {
    if nodes.is_empty() { Vec::new() } else { path_to(nodes, task.parent, &task.found.name) }
}

/// A time before now, from what the file system says of changes made before: the root, and the store beside it if it
/// lies on the same file system. No clock is read, so none can disagree with that of the files.
fn horizon(root: &Dir, request: &ScanRequest<'_>) -> Result<i64> {
    let wrap = |error| ContentError::io("stat", request.root)(error);
    let device = root.device().map_err(wrap)?;
    let mut latest = root.stat_self().map_err(wrap)?.ctime_ns;
    let beside =
        std::fs::read_dir(request.store_dir).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in beside.chain([request.store_dir.to_path_buf()]) {
        if let Ok((time, on)) = change_time_of(&path)
            && on == device
        {
            latest = latest.max(time);
        }
    }
    Ok(request.cache.as_ref().map_or(latest, |cache| latest.max(cache.observed_ns())))
}

impl Scan {
    /// Children of a node lie together in the next level, in the order of their parents.
    fn link_children(&mut self) {
        for number in (1..self.nodes.len()).rev() {
            let parent = self.nodes[number].parent;
            let children = &mut self.nodes[parent].children;
            *children =
                if children.start == children.end { number..number + 1 } else { number..children.end };
        }
    }

    fn mark_clean(&mut self) {
        for number in (0..self.nodes.len()).rev() {
            let node = &self.nodes[number];
            let as_cached = matches!(node.content, Content::Cached(_)) && !node.flags.unlisted;
            let clean = as_cached && self.nodes[node.children.clone()].iter().all(|child| child.clean);
            self.nodes[number].clean = clean;
        }
    }

    /// The directory of the stat cache that `number` still equals.
    pub(crate) fn cached(&self, number: usize) -> Option<CachedDir<'_>> {
        Some(self.cache.as_ref()?.dir(number))
    }

    /// The path of directory `number`.
    pub(crate) fn path(&self, number: usize) -> Vec<u8> {
        path_of(&self.nodes, number)
    }

    /// Whether everything the stat cache did not vouch for changed last before the walk began. Both times come from one
    /// clock that never steps back, so the earlier time is the earlier event, however coarse the clock is.
    pub(crate) fn is_older_than_walk(&self) -> bool {
        let older = |stat: &Stat| stat.ctime_ns < self.horizon_ns;
        self.nodes.iter().all(|node| match &node.content {
            Content::Cached(_) => true,
            Content::Fresh(leaves) => {
                older(&node.stat) && leaves.items().iter().all(|leaf| older(&leaf.stat))
            }
        })
    }

    /// Things that a capture refuses; the first by path.
    pub(crate) fn refused(&self) -> Option<&Omission> {
        self.omitted.iter().find(|omission| omission.reason != OmissionReason::NestedRepository)
    }

    /// Hands over the stat of every file and link that is content.
    pub(crate) fn each_leaf(&self, each: &mut dyn FnMut(&Stat)) {
        for node in &self.nodes {
            match &node.content {
                Content::Cached(number) => {
                    let entries = self.cached(*number).into_iter().flat_map(|cached| cached.entries());
                    entries.for_each(|entry| each(&entry.stat()));
                }
                Content::Fresh(leaves) => {
                    leaves
                        .items()
                        .iter()
                        .filter(|leaf| leaf.blob.is_some())
                        .for_each(|leaf| each(&leaf.stat));
                }
            }
        }
    }

    /// Number of files and links still to be read.
    pub(crate) fn pending(&self) -> u64 {
        let of =
            |node: &Node| if let Content::Fresh(leaves) = &node.content { leaves.pending.len() } else { 0 };
        self.nodes.iter().map(|node| of(node) as u64).sum()
    }

    /// The stat of the file or link at `path`, if it is content.
    pub(crate) fn leaf_stat(&self, path: &[u8]) -> Option<Stat> {
        let mut at = 0;
        let mut names = path.split(|&b| b == b'/').peekable();
        loop {
            let name = names.next()?;
            let node = self.nodes.get(at)?;
            if names.peek().is_none() {
                return self.leaf_of(node, name);
            }
            let children = self.nodes.get(node.children.clone())?;
            let found = children.binary_search_by(|child| child.name.as_slice().cmp(name)).ok()?;
            at = node.children.start + found;
        }
    }

    fn leaf_of(&self, node: &Node, name: &[u8]) -> Option<Stat> {
        match &node.content {
            Content::Cached(number) => {
                self.cached(*number)?.entries().find(|entry| entry.name() == name).map(|entry| entry.stat())
            }
            Content::Fresh(leaves) => {
                let items = leaves.items();
                let found = items.binary_search_by(|leaf| leaves.name(leaf).cmp(name)).ok()?;
                items.get(found).map(|leaf| leaf.stat)
            }
        }
    }

    /// Takes what is known of pending files: for the path of a directory its names, ascending, with the stat and blob
    /// each had when it was written.
    pub(crate) fn take_known(&mut self, known: &HashMap<Vec<u8>, Vec<Known>>) {
        for number in 0..self.nodes.len() {
            let Some(names) = known.get(&self.path(number)) else { continue };
            if let Content::Fresh(leaves) = &mut self.nodes[number].content {
                leaves.take_known(|name, stat| {
                    let found = names.binary_search_by(|known| known.name.as_slice().cmp(name)).ok()?;
                    names.get(found).filter(|known| known.stat == *stat).map(|known| known.blob)
                });
            }
        }
    }
}
