//! Files and folders: what is reached, and its Git objects.
//!
//! Folders are looked at level by level from the roots, so that each level is read in the order in which it lies; then
//! files are written, and folders from the deepest level upward, each made of what its entries have become.

use super::raw::{
    HashMapOfGid, HashSetOfGid, KEPT_BYTES, PART, RawIndex, blobs_of, body_start, check, visit,
};
use super::workers::in_order;
use crate::import::source::Reader;
use crate::import::tree::{self, EntryKind};
use crate::object::{ObjectKind, TreeItem, digits, hash_body, misordered_by_0_12, tree_body};
use crate::pack::{Base, PackWriter, Part, PartWriter};
use crate::{GitError, Result};
use gemel_object::{Gid, Limits, Mode, Tree};
use gemel_repo::facts::{Progress, Stage};
use gemel_store::{Bulk, BulkObject, BulkReader, Store};
use gix::ObjectId;
use gix::hash::Kind;
use gix::hashtable::{HashMap, HashSet};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Files from here on are written as they are read, one after the other.
const LONG_BYTES: u64 = 6 << 20;

/// Bytes of bodies of trees that each thread keeps.
const BODIES_BYTES: usize = 16 << 20;

/// A folder to be reached: as a tree, as a body kept by an import, or as both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Folder {
    pub(super) tree: Option<Gid>,
    /// Git's own name for it, if its body was kept because it cannot be made of the tree.
    pub(super) kept: Option<ObjectId>,
}

/// What a kept body says beside what can be made again.
#[derive(Debug, Default)]
struct KeptTree {
    /// Folders in it whose bodies are kept, too, by the names that states give them.
    folders: BTreeMap<Box<str>, ObjectId>,
}

/// Everything that is written of the content of commits.
pub(super) struct Content<'a> {
    pub(super) store: &'a Store,
    pub(super) index: &'a RawIndex,
    pub(super) limits: &'a Limits,
    pub(super) format: Kind,
    pub(super) progress: &'a dyn Progress,
    /// Whether a tree that release 0.12 would write out of order is refused.
    pub(super) as_0_12: bool,
    /// What trees and files are in Git.
    pub(super) names: HashMapOfGid<ObjectId>,
    /// Root trees with what they are of, for messages.
    pub(super) roots: Vec<(Gid, String)>,
    seen: HashSetOfGid,
    seen_pairs: std::collections::HashSet<(Gid, ObjectId)>,
    kept: HashMap<ObjectId, KeptTree>,
    levels: Vec<Vec<Gid>>,
    /// All of `levels`, while they are written.
    plain: HashSetOfGid,
    files: Vec<Gid>,
    kept_files: HashSet<ObjectId>,
    /// Objects that kept bodies name and that must have been written in the end.
    referenced: HashSet<ObjectId>,
}

/// What looking at a tree told.
#[derive(Default)]
struct Looked {
    files: Vec<Gid>,
    folders: Vec<Folder>,
}

impl<'a> Content<'a> {
    pub(super) fn new(
        store: &'a Store,
        index: &'a RawIndex,
        limits: &'a Limits,
        format: Kind,
        progress: &'a dyn Progress,
    ) -> Content<'a> {
        Content {
            store,
            index,
            limits,
            format,
            progress,
            as_0_12: false,
            names: HashMapOfGid::default(),
            roots: Vec::new(),
            seen: HashSetOfGid::default(),
            seen_pairs: std::collections::HashSet::new(),
            kept: HashMap::default(),
            levels: Vec::new(),
            plain: HashSetOfGid::default(),
            files: Vec::new(),
            kept_files: HashSet::default(),
            referenced: HashSet::default(),
        }
    }

    /// Notes what a tree or file is in Git, and that the target has it.
    pub(super) fn had(&mut self, id: Gid, name: ObjectId) {
        self.seen.insert(id);
        self.names.insert(id, name);
    }

    /// Notes a tree that the target has under the name `name`, with all it holds: folders that are in Git what they are
    /// here, and files.
    ///
    /// # Errors
    /// `Damaged`; those of the store.
    pub(super) fn had_tree(&mut self, reader: &mut Reader, root: Gid, name: ObjectId) -> Result<()> {
        struct Pair {
            tree: Gid,
            name: ObjectId,
            alike: bool,
            parent: usize,
        }
        let mut pairs = vec![Pair { tree: root, name, alike: true, parent: usize::MAX }];
        let mut next = 0;
        while let Some(pair) = pairs.get(next) {
            let (tree_id, name) = (pair.tree, pair.name);
            next += 1;
            if self.names.contains_key(&tree_id) {
                continue;
            }
            let body = match reader.body(&name, ObjectKind::Tree, &String::new) {
                Ok(body) => body.to_vec(),
                Err(GitError::Missing { .. }) if name.is_empty_tree() => Vec::new(),
                Err(error) => return Err(error),
            };
            let damaged = |detail| GitError::Damaged { oid: name.to_string(), at: String::new(), detail };
            let theirs = tree::parse(&body, self.format).map_err(damaged)?;
            let bytes = self.store.read(&tree_id)?;
            let ours = self.tree(&tree_id, &bytes)?;
            let mut alike = !theirs.odd && theirs.entries.len() == ours.len();
            for entry in ours.iter() {
                let found = theirs.entries.binary_search_by(|their| (*their.name).cmp(entry.name)).ok();
                let found = found.and_then(|at| theirs.entries.get(at));
                match found.filter(|their| their.kind == EntryKind::Content(entry.mode)) {
                    Some(their) if entry.mode == Mode::Directory => {
                        pairs.push(Pair {
                            tree: entry.target,
                            name: their.id,
                            alike: true,
                            parent: next - 1,
                        });
                    }
                    Some(their) => self.had(entry.target, their.id),
                    None => alike = false,
                }
            }
            if let Some(pair) = pairs.get_mut(next - 1) {
                pair.alike &= alike;
            }
        }
        for at in (0..pairs.len()).rev() {
            let Some(Pair { tree, name, alike, parent }) = pairs.get(at).map(|p| Pair { ..*p }) else {
                continue;
            };
            // One noted before may be in Git something else here.
            if alike && *self.names.entry(tree).or_insert(name) == name {
                self.seen.insert(tree);
            } else if let Some(parent) = pairs.get_mut(parent) {
                parent.alike = false;
            }
        }
        Ok(())
    }

    /// Finds everything below `roots` that was not seen.
    ///
    /// # Errors
    /// `Absent`, `Damaged`, `Mapping`; those of the store.
    pub(super) fn reach(&mut self, roots: Vec<Folder>) -> Result<()> {
        let mut level = roots;
        while !level.is_empty() {
            self.look_at_kept(&level)?;
            let mut wanted: HashMapOfGid<(bool, Vec<ObjectId>)> = HashMapOfGid::default();
            let mut next: Vec<Folder> = Vec::new();
            for folder in level {
                match (folder.tree, folder.kept) {
                    (Some(tree), None) if self.seen.insert(tree) => wanted.entry(tree).or_default().0 = true,
                    (Some(tree), Some(kept)) if self.seen_pairs.insert((tree, kept)) => {
                        wanted.entry(tree).or_default().1.push(kept);
                    }
                    (None, Some(kept)) => {
                        let inner = self.kept.get(&kept).into_iter().flat_map(|body| body.folders.values());
                        next.extend(inner.map(|kept| Folder { tree: None, kept: Some(*kept) }));
                    }
                    _ => {}
                }
            }
            next.retain(|folder| folder.kept.is_none_or(|kept| !self.kept.contains_key(&kept)));
            let looked = self.look_at(&wanted)?;
            self.levels.push(wanted.iter().filter(|(_, (plain, _))| *plain).map(|(tree, _)| *tree).collect());
            for file in looked.files {
                if self.seen.insert(file) {
                    self.files.push(file);
                }
            }
            next.extend(looked.folders);
            next.sort_unstable_by_key(|folder| (folder.tree, folder.kept));
            next.dedup();
            level = next;
        }
        Ok(())
    }

    /// What the trees of a level hold.
    fn look_at(&self, wanted: &HashMapOfGid<(bool, Vec<ObjectId>)>) -> Result<Looked> {
        let trees: Vec<Gid> = wanted.keys().copied().collect();
        let bulk = self.store.bulk(&trees).map_err(|e| self.placed(e.into()))?;
        let parts = bulk.parts(PART.0, PART.1);
        let mut all = Looked::default();
        in_order(
            parts.len(),
            // Most trees of a level hold the same things: each thread tells each once.
            || (bulk.reader(KEPT_BYTES), HashSetOfGid::default()),
            |(reader, told), n| {
                let mut looked = Looked::default();
                for at in parts.get(n).cloned().unwrap_or_default() {
                    let Some(object) = reader.read(at)? else { continue };
                    let Some((plain, pairs)) = wanted.get(&object.id) else { continue };
                    let tree = self.tree(&object.id, object.bytes())?;
                    self.look(tree, *plain, pairs, told, &mut looked);
                }
                Ok(looked)
            },
            |looked| {
                all.files.extend(looked.files);
                all.folders.extend(looked.folders);
                Ok(())
            },
        )?;
        Ok(all)
    }

    fn look(
        &self,
        tree: Tree<'_>,
        plain: bool,
        pairs: &[ObjectId],
        told: &mut HashSetOfGid,
        looked: &mut Looked,
    ) {
        for entry in tree.iter() {
            if entry.mode != Mode::Directory {
                if told.insert(entry.target) && !self.seen.contains(&entry.target) {
                    looked.files.push(entry.target);
                }
                continue;
            }
            let mut as_tree = plain;
            for pair in pairs {
                match self.kept.get(pair).and_then(|body| body.folders.get(entry.name)) {
                    Some(kept) => looked.folders.push(Folder { tree: Some(entry.target), kept: Some(*kept) }),
                    None => as_tree = true,
                }
            }
            if as_tree && told.insert(entry.target) && !self.seen.contains(&entry.target) {
                looked.folders.push(Folder { tree: Some(entry.target), kept: None });
            }
        }
        for pair in pairs {
            let inner = self.kept.get(pair).into_iter().flat_map(|body| &body.folders);
            let alone =
                inner.filter(|(name, _)| tree.get(name).is_none_or(|entry| entry.mode != Mode::Directory));
            looked.folders.extend(alone.map(|(_, kept)| Folder { tree: None, kept: Some(*kept) }));
        }
    }

    fn tree<'e>(&self, id: &Gid, envelope: &'e [u8]) -> Result<Tree<'e>> {
        Tree::decode(envelope, self.limits).map_err(|source| {
            GitError::Repo(gemel_repo::RepoError::CorruptObject { id: *id, detail: source.to_string() })
        })
    }

    /// Reads kept bodies that were not read yet.
    fn look_at_kept(&mut self, level: &[Folder]) -> Result<()> {
        let mut new: Vec<ObjectId> = level
            .iter()
            .filter_map(|folder| folder.kept)
            .filter(|kept| !self.kept.contains_key(kept))
            .collect();
        new.sort_unstable();
        new.dedup();
        if new.is_empty() {
            return Ok(());
        }
        let blobs = blobs_of(self.store, self.index, ObjectKind::Tree, &new)?;
        let of_blob: HashMapOfGid<ObjectId> = blobs.iter().map(|(id, blob)| (*blob, *id)).collect();
        let blobs: Vec<Gid> = of_blob.keys().copied().collect();
        let (index, format) = (self.index, self.format);
        let make = |blob: &Gid, envelope: &[u8]| {
            let Some(id) = of_blob.get(blob) else { return Ok(None) };
            let body = envelope.get(body_start(envelope)..).unwrap_or_default();
            check(ObjectKind::Tree, id, body)?;
            kept_tree(index, id, body, format).map(Some)
        };
        let (kept, referenced, files) = (&mut self.kept, &mut self.referenced, &mut self.kept_files);
        visit(self.store, &blobs, &make, &mut |found| {
            let Some((id, tree, names)) = found else { return };
            kept.insert(id, tree);
            files.extend(names.iter().filter(|name| index.files.contains_key(*name)));
            referenced.extend(names);
        })
    }

    /// Reaches an object that a tag or ref names: a folder or file kept, or one that must have been written otherwise.
    pub(super) fn reach_named(&mut self, id: ObjectId) -> Result<()> {
        if self.index.files.contains_key(&id) {
            self.kept_files.insert(id);
        } else if self.index.trees.contains_key(&id) {
            return self.reach(vec![Folder { tree: None, kept: Some(id) }]);
        }
        self.referenced.insert(id);
        Ok(())
    }

    /// Writes everything that was reached.
    ///
    /// # Errors
    /// `Absent`, `Damaged`, `Io`; those of the store.
    pub(super) fn write(&mut self, pack: &mut PackWriter) -> Result<()> {
        self.progress.begin(Stage::WriteFiles, Some((self.files.len() + self.kept_files.len()) as u64));
        self.write_files(pack)?;
        self.write_kept_files(pack)?;
        self.progress.end();
        let trees: usize = self.levels.iter().map(Vec::len).sum();
        self.progress.begin(Stage::WriteTrees, Some((trees + self.kept.len()) as u64));
        self.write_kept_trees(pack)?;
        self.write_trees(pack)?;
        self.progress.end();
        self.check_referenced(pack)
    }

    fn write_files(&mut self, pack: &mut PackWriter) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        let bulk = self.store.bulk(&files).map_err(|e| self.placed(e.into()))?;
        let (format, progress) = (self.format, self.progress);
        let names = &mut self.names;
        let wanted: HashSetOfGid = files.into_iter().collect();
        let mut long = Vec::new();
        write_parts(
            &bulk,
            || (),
            |writer, reader, (), part| {
                let mut made = Vec::with_capacity(part.len());
                let mut long = Vec::new();
                for at in part {
                    if bulk.about_bytes(at) >= LONG_BYTES {
                        long.extend(bulk.id(at));
                        continue;
                    }
                    let Some(object) = reader.read(at)? else { continue };
                    let body = body_in(object.bytes());
                    let id = hash_body(format, ObjectKind::Blob, body);
                    let envelope = base_of(&object, writer, |base| wanted.contains(base));
                    let base =
                        envelope.as_ref().map(|(from, bytes)| Base { from: *from, body: body_in(bytes) });
                    writer.put((ObjectKind::Blob, format), id, object.id, body, base).map_err(zip_error)?;
                    made.push((object.id, id));
                    progress.advance(1);
                }
                Ok((made, long))
            },
            |part, (made, more)| {
                names.extend(made);
                long.extend(more);
                pack.append(part)
            },
        )?;
        for gid in long {
            let store = self.store;
            let len = blob_len(store, &gid, self.limits)?;
            let id = pack.append_long(ObjectKind::Blob, len, |mut out| {
                store.stream_blob(&gid, &mut out)?;
                Ok(())
            })?;
            self.names.insert(gid, id);
            self.progress.advance(1);
        }
        Ok(())
    }

    /// Files that no state holds, from their parts.
    fn write_kept_files(&mut self, pack: &mut PackWriter) -> Result<()> {
        for id in std::mem::take(&mut self.kept_files) {
            if pack.contains(&id) {
                continue;
            }
            let (index, store) = (self.index, self.store);
            let absent =
                |part: u32| GitError::Absent { what: format!("part {part} of file {id}"), at: String::new() };
            let mut blobs = Vec::new();
            for (n, (part, mapping)) in (0u32..).zip(index.files.get(&id).into_iter().flatten()) {
                if n != *part {
                    return Err(absent(n));
                }
                let name = || super::raw::ref_name(ObjectKind::Blob, &id, Some(n));
                let from = super::raw::label(ObjectKind::Blob, &id, Some(n));
                blobs.push(super::raw::blob_of(mapping, &store.read(mapping)?, &from, &name)?);
            }
            let mut len = 0;
            for blob in &blobs {
                len += blob_len(store, blob, self.limits)?;
            }
            let found = pack.append_long(ObjectKind::Blob, len, |mut out| {
                for blob in &blobs {
                    store.stream_blob(blob, &mut out)?;
                }
                Ok(())
            })?;
            if found != id {
                let detail = format!("the bytes kept for this blob hash to {found}");
                return Err(GitError::Damaged {
                    oid: id.to_string(),
                    at: "kept by an import".to_owned(),
                    detail,
                });
            }
            self.progress.advance(1);
        }
        Ok(())
    }

    fn write_kept_trees(&mut self, pack: &mut PackWriter) -> Result<()> {
        let ids: Vec<ObjectId> = self.kept.keys().copied().collect();
        write_raw(self.store, self.index, ObjectKind::Tree, &ids, self.progress, pack)
    }

    fn write_trees(&mut self, pack: &mut PackWriter) -> Result<()> {
        let mut waiting: Vec<Gid> = Vec::new();
        let mut levels = std::mem::take(&mut self.levels);
        self.plain = levels.iter().flatten().copied().collect();
        loop {
            let deepest = levels.pop();
            let more = deepest.is_some();
            let asked = waiting.len();
            waiting.extend(deepest.unwrap_or_default());
            if waiting.is_empty() && !more {
                return Ok(());
            }
            let round = std::mem::take(&mut waiting);
            waiting = self.write_round(&round, pack)?;
            // One that stands on a level above comes again with it; in the end something always gets done.
            if !more && waiting.len() == asked {
                let id = waiting.first().map(Gid::to_string).unwrap_or_default();
                return Err(GitError::Absent { what: format!("something in {id}"), at: String::new() });
            }
        }
    }

    /// Writes those trees whose entries have names; answers the others.
    fn write_round(&mut self, trees: &[Gid], pack: &mut PackWriter) -> Result<Vec<Gid>> {
        let bulk = self.store.bulk(trees)?;
        let this = &*self;
        let (mut named, mut left) = (Vec::with_capacity(trees.len()), Vec::new());
        write_parts(
            &bulk,
            Bodies::default,
            |writer, reader, bodies, part| {
                let (mut made, mut left) = (Vec::with_capacity(part.len()), Vec::new());
                for at in part {
                    let Some(object) = reader.read(at)? else { continue };
                    let gid = object.id;
                    let Some(body) = this.body_of(&gid, object.bytes())? else {
                        left.push(gid);
                        continue;
                    };
                    let body = Arc::new(body);
                    let id = hash_body(this.format, ObjectKind::Tree, &body);
                    let base = this.base_tree(&object, writer, bodies);
                    let base = base.as_ref().map(|(from, body)| Base { from: *from, body });
                    writer.put((ObjectKind::Tree, this.format), id, gid, &body, base).map_err(zip_error)?;
                    bodies.keep(gid, body);
                    made.push((gid, id));
                    this.progress.advance(1);
                }
                Ok((made, left))
            },
            |part, (made, more): (Vec<(Gid, ObjectId)>, Vec<Gid>)| {
                named.extend(made);
                left.extend(more);
                pack.append(part)
            },
        )?;
        self.names.extend(named);
        Ok(left)
    }

    /// What a tree stands on, as Git has it, if that is written, too.
    fn base_tree(
        &self,
        object: &BulkObject,
        writer: &PartWriter,
        bodies: &Bodies,
    ) -> Option<(Gid, Arc<Vec<u8>>)> {
        let base = object.base?;
        if let Some(body) = bodies.kept.get(&base).filter(|_| writer.has(&base)) {
            return Some((base, body.clone()));
        }
        let (from, envelope) = base_of(object, writer, |base| self.plain.contains(base))?;
        let body = self.body_of(&from, &envelope).ok()??;
        Some((from, Arc::new(body)))
    }

    /// Git's bytes of a tree, if all its entries have names.
    fn body_of(&self, id: &Gid, envelope: &[u8]) -> Result<Option<Vec<u8>>> {
        let tree = self.tree(id, envelope)?;
        let mut items = Vec::with_capacity(tree.len().min(envelope.len()));
        for entry in tree.iter() {
            let Some(name) = self.names.get(&entry.target) else { return Ok(None) };
            items.push(TreeItem { name: entry.name.as_bytes(), mode: digits(entry.mode), id: name });
        }
        if let Some((folder, file)) = misordered_by_0_12(&items).filter(|_| self.as_0_12) {
            let shown = String::from_utf8_lossy;
            let reason = format!(
                "format 1 sorts folder {} behind file {} in {id}, which Git rejects; leave out --format 1",
                shown(folder),
                shown(file)
            );
            return Err(GitError::Refused { reason });
        }
        let mut body = Vec::with_capacity(envelope.len());
        tree_body(&mut items, &mut body);
        Ok(Some(body))
    }

    /// Objects named by kept bodies, refs and tags must be there in the end.
    fn check_referenced(&self, pack: &mut PackWriter) -> Result<()> {
        for id in &self.referenced {
            if id.is_empty_tree() && !pack.contains(id) {
                let mut writer = PartWriter::new();
                writer.put_alone(ObjectKind::Tree, *id, &[]).map_err(zip_error)?;
                pack.append(writer.take())?;
            }
        }
        Ok(())
    }

    /// Objects that kept bodies, refs and tags name and that were not written.
    pub(super) fn unwritten(&self, pack: &PackWriter) -> impl Iterator<Item = &ObjectId> {
        self.referenced.iter().filter(|id| !pack.contains(id))
    }

    /// An error about an object that is not there or not right, with the path at which it is needed.
    fn placed(&self, error: GitError) -> GitError {
        use gemel_repo::RepoError::Store as InStore;
        use gemel_store::StoreError::{CorruptObject, NotFound, PackBehind};
        let GitError::Repo(InStore(NotFound { id } | CorruptObject { id, .. } | PackBehind { id, .. })) =
            &error
        else {
            return error;
        };
        let at = self.path_of(id).unwrap_or_default();
        GitError::Absent { what: id.to_string(), at: format!("{at}; {error}") }
    }

    /// A path that leads to an object, found by looking everywhere.
    fn path_of(&self, wanted: &Gid) -> Option<String> {
        let mut seen = HashSetOfGid::default();
        let mut stack: Vec<(Gid, String)> =
            self.roots.iter().map(|(root, what)| (*root, format!("{what}: "))).collect();
        while let Some((id, path)) = stack.pop() {
            if id == *wanted {
                return Some(path);
            }
            if id.family() != gemel_object::Family::Tree || !seen.insert(id) {
                continue;
            }
            let Ok(bytes) = self.store.read(&id) else { continue };
            let Ok(tree) = self.tree(&id, &bytes) else { continue };
            stack.extend(tree.iter().map(|entry| (entry.target, format!("{path}/{}", entry.name))));
        }
        None
    }
}

/// Length of the body of a blob: the envelope's without a header whose length follows from it.
fn blob_len(store: &Store, blob: &Gid, limits: &Limits) -> Result<u64> {
    let len = store.len_bytes(blob)?;
    let header = gemel_object::EnvelopeHeader::MAX_LEN as u64;
    let fits = |body: &u64| {
        gemel_object::blob_header(*body, limits).is_ok_and(|header| header.envelope_len() == len)
    };
    Ok((len.saturating_sub(header)..=len).find(fits).unwrap_or(0))
}

type ReadKept = (ObjectId, KeptTree, Vec<ObjectId>);

/// What a kept body says.
fn kept_tree(index: &RawIndex, id: &ObjectId, body: &[u8], format: Kind) -> Result<ReadKept> {
    let parsed = tree::parse(body, format).map_err(|detail| GitError::Damaged {
        oid: id.to_string(),
        at: "kept by an import".to_owned(),
        detail,
    })?;
    let mut kept = KeptTree::default();
    let mut names = Vec::new();
    for entry in parsed.entries.iter().chain(&parsed.repeated) {
        if entry.kind == EntryKind::Gitlink {
            continue;
        }
        names.push(entry.id);
        if entry.kind == EntryKind::Content(Mode::Directory) && index.trees.contains_key(&entry.id) {
            // Of two under one name the first is what a state may hold; the other needs no name to be found.
            let taken = kept.folders.contains_key(&*entry.name);
            let name = if taken { format!("{}/{}", entry.name, names.len()) } else { entry.name.to_string() };
            kept.folders.insert(name.into(), entry.id);
        }
    }
    Ok((*id, kept, names))
}

/// Writes raw bodies, each checked against its name.
///
/// # Errors
/// `Absent`, `Damaged`, `Mapping`, `Io`; those of the store.
pub(super) fn write_raw(
    store: &Store,
    index: &RawIndex,
    kind: ObjectKind,
    ids: &[ObjectId],
    progress: &dyn Progress,
    pack: &mut PackWriter,
) -> Result<()> {
    let of_blob: HashMapOfGid<ObjectId> =
        blobs_of(store, index, kind, ids)?.into_iter().map(|(id, blob)| (blob, id)).collect();
    let blobs: Vec<Gid> = of_blob.keys().copied().collect();
    let bulk = store.bulk(&blobs)?;
    write_parts(
        &bulk,
        || (),
        |writer, reader, (), part| {
            for at in part {
                let Some(object) = reader.read(at)? else { continue };
                let Some(id) = of_blob.get(&object.id) else { continue };
                let body = body_in(object.bytes());
                check(kind, id, body)?;
                let envelope = base_of(&object, writer, |base| of_blob.contains_key(base));
                let base = envelope.as_ref().map(|(from, bytes)| Base { from: *from, body: body_in(bytes) });
                writer.put((kind, id.kind()), *id, object.id, body, base).map_err(zip_error)?;
                progress.advance(1);
            }
            Ok(())
        },
        |part, ()| pack.append(part),
    )
}

/// Bodies of trees made lately, on which the next ones stand.
#[derive(Default)]
struct Bodies {
    kept: HashMapOfGid<Arc<Vec<u8>>>,
    oldest: VecDeque<Gid>,
    bytes: usize,
}

impl Bodies {
    fn keep(&mut self, of: Gid, body: Arc<Vec<u8>>) {
        self.bytes += body.len();
        if let Some(before) = self.kept.insert(of, body) {
            self.bytes -= before.len();
        } else {
            self.oldest.push_back(of);
        }
        while self.bytes > BODIES_BYTES {
            let Some(gone) = self.oldest.pop_front().and_then(|oldest| self.kept.remove(&oldest)) else {
                break;
            };
            self.bytes -= gone.len();
        }
    }
}

/// Makes parts of a pack on all cores, each thread with a state of its own.
fn write_parts<S, T: Send>(
    bulk: &Bulk,
    state: impl Fn() -> S + Sync,
    make: impl Fn(&mut PartWriter, &mut BulkReader<'_>, &mut S, Range<usize>) -> Result<T> + Sync,
    mut sink: impl FnMut(Part, T) -> Result<()> + Send,
) -> Result<()> {
    let parts = bulk.parts(PART.0, PART.1);
    in_order(
        parts.len(),
        || (PartWriter::new(), bulk.reader(KEPT_BYTES), state()),
        |(writer, reader, state), n| {
            let made = make(writer, reader, state, parts.get(n).cloned().unwrap_or_default())?;
            Ok((writer.take(), made))
        },
        |(part, made)| sink(part, made),
    )
}

/// What an object stands on, if that is in the part being made, or if it is in the pack and surely right.
fn base_of<'o>(
    object: &'o BulkObject,
    writer: &PartWriter,
    in_pack: impl Fn(&Gid) -> bool,
) -> Option<(Gid, Cow<'o, [u8]>)> {
    let base = object.base?;
    let here = writer.has(&base);
    if !here && !in_pack(&base) {
        return None;
    }
    let bytes = object.base_bytes()?;
    (here || Gid::of_envelope(base.family(), &bytes) == base).then_some((base, bytes))
}

/// The body in the envelope of a blob.
fn body_in(envelope: &[u8]) -> &[u8] {
    envelope.get(body_start(envelope)..).unwrap_or_default()
}

/// A compressor that fails: out of memory, or a defect.
pub(super) fn zip_error(detail: String) -> GitError {
    GitError::Git { what: "compression", path: std::path::PathBuf::new(), detail }
}
