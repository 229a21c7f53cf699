//! Changes, trajectory versions and states as far as commands have looked at them.
//!
//! Everything here follows from immutable objects, so what was read once stays true: a command may read before it
//! takes the lock and decide under it, and a derived file may keep it for the next command. Identities are numbered,
//! so that walks over a long history touch no hash table. An object that is not stored ends a walk, it does not fail
//! it: history may be pruned or elsewhere.

mod file;
mod lines;
mod record;
mod save;
mod sets;

pub(crate) use lines::{Lines, Reach};
pub(crate) use sets::ChangeSet;

use crate::history::nodes::{self, ChangeNode, TrajectoryNode};
use crate::{RepoError, Result};
use file::GraphFile;
use gemel_object::{Gid, TrajectoryOutcome};
use gemel_store::{Store, StoreError};
use record::{ChangeRecord, EXTRA, NONE, Num, NumSet, TrajectoryRecord};
use std::collections::HashMap;
use std::sync::Arc;

/// Objects read one by one before the derived file is worth opening.
const FEW: usize = 8;

/// What a trajectory version says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrajectoryHead {
    pub(crate) intent: Option<Gid>,
    pub(crate) outcome: Option<TrajectoryOutcome>,
    pub(crate) updated_at_ms: i64,
}

/// Objects read so far.
pub(crate) struct Graph<'s> {
    store: &'s Store,
    /// `None` until it is worth opening; then the file, if there is a good one.
    file: Option<Option<GraphFile>>,
    ids: Vec<Gid>,
    nums: HashMap<Gid, Num>,
    /// Records that the file does not have; `None`: the object is not stored.
    changes: HashMap<Num, Option<ChangeRecord>>,
    trajectories: HashMap<Num, Option<TrajectoryRecord>>,
    roots: HashMap<Num, Option<Num>>,
    /// Lists of these records; they are numbered behind those of the file.
    pool: Vec<Num>,
}

impl<'s> Graph<'s> {
    pub(crate) fn new(store: &'s Store) -> Graph<'s> {
        Graph {
            store,
            file: None,
            ids: Vec::new(),
            nums: HashMap::new(),
            changes: HashMap::new(),
            trajectories: HashMap::new(),
            roots: HashMap::new(),
            pool: Vec::new(),
        }
    }

    pub(crate) fn store(&self) -> &'s Store {
        self.store
    }

    /// A change; `None` when it is not stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn change(&mut self, id: &Gid) -> Result<Option<Arc<ChangeNode>>> {
        self.open_when_busy();
        let num = self.intern(id);
        Ok(self.change_record(num)?.map(|record| Arc::new(self.change_node(*id, &record))))
    }

    /// A trajectory version; `None` when it is not stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn trajectory(&mut self, id: &Gid) -> Result<Option<Arc<TrajectoryNode>>> {
        self.open_when_busy();
        let num = self.intern(id);
        Ok(self.trajectory_record(num)?.map(|record| Arc::new(self.trajectory_node(*id, &record))))
    }

    /// What a trajectory version says of itself, without its lists.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn trajectory_head(&mut self, id: &Gid) -> Result<Option<TrajectoryHead>> {
        self.open_when_busy();
        let num = self.intern(id);
        Ok(self.trajectory_record(num)?.map(|record| TrajectoryHead {
            intent: self.id(record.intent),
            outcome: record.outcome,
            updated_at_ms: record.updated_at_ms,
        }))
    }

    /// The root tree of a state; `None` when the state is not stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn root(&mut self, state: &Gid) -> Result<Option<Gid>> {
        let num = self.intern(state);
        Ok(self.root_num(num)?.and_then(|root| self.id(root)))
    }

    /// Whether two states hold the same content: their root trees are compared, because equal content captured
    /// in two attempts makes two states. Absent equals absent.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn same_content(&mut self, a: Option<&Gid>, b: Option<&Gid>) -> Result<bool> {
        let (Some(a), Some(b)) = (a, b) else { return Ok(a == b) };
        if a == b {
            return Ok(true);
        }
        let (a, b) = (self.root(a)?, self.root(b)?);
        Ok(a.is_some() && a == b)
    }

    /// The last change of a trajectory, found from its end.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn last_change(&mut self, latest: &Arc<TrajectoryNode>) -> Result<Option<Gid>> {
        if let Some(change) = latest.changes.last() {
            return Ok(Some(*change));
        }
        let mut seen = NumSet::default();
        let mut next = latest.previous.map_or(NONE, |id| self.intern(&id));
        while next != NONE && seen.insert(next) {
            let Some(record) = self.trajectory_record(next)? else { break };
            if let Some(change) = self.list(record.list, 0, record.changes).last() {
                return Ok(self.id(change));
            }
            next = record.previous;
        }
        Ok(None)
    }

    /// The state a trajectory has reached: the result of its last change, else its base.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn last_result(&mut self, latest: &Arc<TrajectoryNode>) -> Result<Option<Gid>> {
        match self.last_change(latest)? {
            Some(change) => Ok(self.change(&change)?.and_then(|change| change.result)),
            None => Ok(latest.base),
        }
    }

    /// Opens the derived file, unless that was tried. What was read before is forgotten: its numbers are of the time
    /// without the file.
    fn ensure_file(&mut self) {
        if self.file.is_none() {
            let file = self.store.cache_read(file::NAME).and_then(GraphFile::open);
            if file.is_some() {
                *self = Graph { file: Some(file), ..Graph::new(self.store) };
            } else {
                self.file = Some(None);
            }
        }
    }

    fn open_when_busy(&mut self) {
        if self.changes.len() + self.trajectories.len() > FEW {
            self.ensure_file();
        }
    }

    fn file(&self) -> Option<&GraphFile> {
        self.file.as_ref().and_then(Option::as_ref)
    }

    /// The number of an identity, if it has one.
    fn find(&self, id: &Gid) -> Option<Num> {
        self.nums.get(id).copied().or_else(|| self.file().and_then(|file| file.find(id)))
    }

    /// The number of an identity; it gets one if it has none.
    fn intern(&mut self, id: &Gid) -> Num {
        if let Some(num) = self.find(id) {
            return num;
        }
        let num = u32::try_from(self.ids.len()).ok().and_then(|at| EXTRA.checked_add(at)).unwrap_or(NONE);
        self.ids.push(*id);
        self.nums.insert(*id, num);
        num
    }

    fn id(&self, num: Num) -> Option<Gid> {
        match num.checked_sub(EXTRA) {
            Some(at) => usize::try_from(at).ok().and_then(|at| self.ids.get(at)).copied(),
            None => self.file().and_then(|file| file.id(num)),
        }
    }

    fn change_record(&mut self, num: Num) -> Result<Option<ChangeRecord>> {
        // Whatever the file holds needs no look at what was read since.
        if num < EXTRA
            && let Some(record) = self.file().and_then(|file| file.change(num))
        {
            return Ok(Some(record));
        }
        if let Some(known) = self.changes.get(&num) {
            return Ok(*known);
        }
        let Some(id) = self.id(num) else { return Ok(None) };
        let node = stored(nodes::change(self.store, &id))?;
        let record = node.map(|node| self.add_change(&node));
        self.changes.insert(num, record);
        Ok(record)
    }

    fn add_change(&mut self, node: &ChangeNode) -> ChangeRecord {
        let list = self.add_list(&[&node.parents, &node.claims, &node.evidence, &node.residuals]);
        ChangeRecord {
            created_at_ms: node.created_at_ms,
            intent: self.optional(node.intent),
            input: self.optional(node.input),
            result: self.optional(node.result),
            list,
            parents: count(&node.parents),
            claims: count(&node.claims),
            evidence: count(&node.evidence),
            residuals: count(&node.residuals),
        }
    }

    fn change_node(&self, id: Gid, record: &ChangeRecord) -> ChangeNode {
        let ChangeRecord { list, parents, claims, evidence, residuals, .. } = *record;
        let ids = |skip: u32, len: u32| self.list(list, skip, len).filter_map(|num| self.id(num)).collect();
        ChangeNode {
            id,
            intent: self.id(record.intent),
            input: self.id(record.input),
            result: self.id(record.result),
            parents: ids(0, parents),
            claims: ids(parents, claims),
            evidence: ids(parents.saturating_add(claims), evidence),
            residuals: ids(parents.saturating_add(claims).saturating_add(evidence), residuals),
            created_at_ms: record.created_at_ms,
        }
    }

    fn trajectory_record(&mut self, num: Num) -> Result<Option<TrajectoryRecord>> {
        if let Some(known) = self.trajectories.get(&num) {
            return Ok(*known);
        }
        if let Some(record) = self.file().and_then(|file| file.trajectory(num)) {
            return Ok(Some(record));
        }
        let Some(id) = self.id(num) else { return Ok(None) };
        let node = stored(nodes::trajectory(self.store, &id))?;
        let record = node.map(|node| self.add_trajectory(&node));
        self.trajectories.insert(num, record);
        Ok(record)
    }

    fn add_trajectory(&mut self, node: &TrajectoryNode) -> TrajectoryRecord {
        let list = self.add_list(&[&node.changes, &node.evidence, &node.residuals]);
        TrajectoryRecord {
            created_at_ms: node.created_at_ms,
            updated_at_ms: node.updated_at_ms,
            previous: self.optional(node.previous),
            intent: self.optional(node.intent),
            base: self.optional(node.base),
            outcome: node.outcome,
            list,
            changes: count(&node.changes),
            evidence: count(&node.evidence),
            residuals: count(&node.residuals),
        }
    }

    fn trajectory_node(&self, id: Gid, record: &TrajectoryRecord) -> TrajectoryNode {
        let TrajectoryRecord { list, changes, evidence, residuals, .. } = *record;
        let ids = |skip: u32, len: u32| self.list(list, skip, len).filter_map(|num| self.id(num)).collect();
        TrajectoryNode {
            id,
            previous: self.id(record.previous),
            intent: self.id(record.intent),
            base: self.id(record.base),
            outcome: record.outcome,
            changes: ids(0, changes),
            evidence: ids(changes, evidence),
            residuals: ids(changes.saturating_add(evidence), residuals),
            created_at_ms: record.created_at_ms,
            updated_at_ms: record.updated_at_ms,
        }
    }

    /// The root tree of a state.
    fn root_num(&mut self, state: Num) -> Result<Option<Num>> {
        if let Some(known) = self.roots.get(&state) {
            return Ok(*known);
        }
        if let Some(root) = self.file().and_then(|file| file.root(state)) {
            return Ok(Some(root));
        }
        let Some(id) = self.id(state) else { return Ok(None) };
        let root = stored(nodes::root_tree(self.store, &id))?.map(|root| self.intern(&root));
        self.roots.insert(state, root);
        Ok(root)
    }

    fn optional(&mut self, id: Option<Gid>) -> Num {
        id.map_or(NONE, |id| self.intern(&id))
    }

    fn add_list(&mut self, lists: &[&[Gid]]) -> u32 {
        let nums: Vec<Num> = lists.iter().flat_map(|list| list.iter()).map(|id| self.intern(id)).collect();
        let start = self.pool.len();
        self.pool.extend(nums);
        u32::try_from(start).ok().and_then(|at| at.checked_add(self.file_pool())).unwrap_or(NONE)
    }

    fn file_pool(&self) -> u32 {
        self.file().map_or(0, GraphFile::pool_len)
    }

    /// `len` elements of the lists that begin at `list`, from `skip` on.
    fn list(&self, list: u32, skip: u32, len: u32) -> impl Iterator<Item = Num> + '_ {
        let start = list.saturating_add(skip);
        let in_file = self.file_pool();
        (start..start.saturating_add(len)).map_while(move |at| match at.checked_sub(in_file) {
            Some(at) => usize::try_from(at).ok().and_then(|at| self.pool.get(at)).copied(),
            None => self.file().and_then(|file| file.pool(at)),
        })
    }
}

fn count(ids: &[Gid]) -> u32 {
    u32::try_from(ids.len()).unwrap_or(u32::MAX)
}

/// Turns "not stored" into `None`.
pub(crate) fn stored<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(RepoError::Store(StoreError::NotFound { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}
