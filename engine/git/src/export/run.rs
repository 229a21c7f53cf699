//! The course of an export.

use super::carry::{self, Carry};
use super::commits::{self, Commits, Selection};
use super::content::{Content, Folder, write_raw, zip_error};
use super::natives::{self, EXPORTED, Known, Native, Natives, Standing, decoded};
use super::raw::{HashMapOfGid, HashSetOfGid, RawIndex, SavedHead, SavedRefs, visit};
use super::refs::{self, Edit, RefChange};
use super::synthesis::{self, Parts};
use super::target::{Target, head_text};
use super::{ExportReport, ExportRequest, Format};
use crate::import::changes::TREES;
use crate::import::source::Head;
use crate::object::{ObjectKind, hash_body};
use crate::pack::{PackWriter, PartWriter, Written};
use crate::{GitError, Result};
use gemel_object::families::{
    Change, Mapping, NewAutomation, NewIdentity, NewLoss, NewMapping, NewProducer, Producer, State,
};
use gemel_object::{
    Disclosure, Encoded, Family, Gid, Limits, MappingKind, ObjectError, ProducerKind, Strings,
};
use gemel_repo::Repo;
use gemel_repo::facts::{Progress, Stage};
use gemel_store::{NewObject, Refs, Store};
use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::hashtable::{HashMap, HashSet};
use std::collections::BTreeMap;

/// Mappings of exported root trees are named here.
const EXPORTED_TREES: &str = "refs/mappings/export/git_tree/";
/// Branch of a history that has none.
const DEFAULT_BRANCH: &str = "main";
const HEADS: &str = "refs/heads/";

/// An export on its way.
pub(super) struct Run<'a> {
    store: &'a Store,
    request: &'a ExportRequest,
    progress: &'a dyn Progress,
    refs: Refs,
    limits: Limits,
    saved: Option<SavedRefs>,
    index: RawIndex,
    target: Target,
}

/// A commit made of a change.
struct MadeCommit {
    id: ObjectId,
    tree: ObjectId,
    losses: Vec<&'static str>,
    carry: Carry,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        repo: &'a Repo,
        request: &'a ExportRequest,
        progress: &'a dyn Progress,
    ) -> Result<Run<'a>> {
        let store = repo.store();
        let refs = store.refs()?;
        let limits = repo.limits(&refs)?;
        let (saved, index) = match request.format {
            Format::One => (None, RawIndex::default()),
            Format::Two => (SavedRefs::read(store, &refs)?, RawIndex::read(&refs)?),
        };
        if let Some(branch) = &request.branch {
            refs::check_name(format!("{HEADS}{branch}").as_bytes().as_bstr())?;
        }
        let target = Target::look(&request.git_dir, saved.as_ref().map(|saved| saved.format))?;
        Ok(Run { store, request, progress, refs, limits, saved, index, target })
    }

    /// Runs the export.
    ///
    /// # Errors
    /// See [`super::export`].
    pub(super) fn go(&self) -> Result<ExportReport> {
        let done = self.write();
        if done.is_err() && self.target.is_new() {
            self.target.forget();
        }
        done
    }

    fn write(&self) -> Result<ExportReport> {
        let format = self.request.format;
        let head = self.refs.get("refs/head")?;
        let known = match head {
            Some(_) => Known::read(self.store, &self.refs, format)?,
            None => Known::default(),
        };
        let present = match format {
            Format::One => HashSet::default(),
            Format::Two => self.target.known(&|id| self.index.commits.contains_key(id), &|id| {
                known.exported_commits.contains(id)
            })?,
        };
        self.progress.begin(Stage::ReadCommits, None);
        let mut commits = Commits::new(self.store, &self.refs, &self.index, self.progress);
        let natives = natives::select(self.store, head, known, &commits, &self.target, &present, format)?;
        let selection = commits::select(&mut commits, &self.tips(&natives), &present)?;
        self.progress.end();

        let mut content =
            Content::new(self.store, &self.index, &self.limits, self.target.format, self.progress);
        content.as_0_12 = format == Format::One;
        let roots = self.roots(&mut commits, &selection.commits)?;
        self.note_had(&mut content, &mut commits, &selection, &natives)?;
        self.reach(&mut content, &mut commits, &selection, &natives, &roots)?;

        let mut pack = PackWriter::new(&self.target.pack_dir()?, self.target.format)?;
        content.write(&mut pack)?;
        self.progress.begin(Stage::WriteChanges, Some((selection.commits.len() + natives.list.len()) as u64));
        write_raw(self.store, &self.index, ObjectKind::Commit, &selection.commits, self.progress, &mut pack)?;
        write_raw(self.store, &self.index, ObjectKind::Tag, &selection.tags, self.progress, &mut pack)?;
        self.check_trees(&content, &mut commits, &selection.commits, &roots)?;
        for id in content.unwritten(&pack) {
            if !self.target.has(id)? {
                return Err(GitError::Absent {
                    what: format!("Git object {id}"),
                    at: self.namer_of(id, &selection),
                });
            }
        }
        let made = self.make(&content, &mut commits, &natives, &mut pack)?;
        self.progress.end();

        let head_commit = natives.head.and_then(|standing| commit_of(standing, &made));
        let (branch, wanted) = self.wanted(head_commit, &natives, &made, &mut commits)?;
        let mut leads =
            |old: &ObjectId, new: &ObjectId| leads(old, new, &natives, &made, &mut commits, &self.target);
        let edits = refs::plan(&self.target, &wanted, &mut leads, self.request.force)?;
        let written = self.publish(
            pack,
            &edits,
            branch.as_ref().map(|branch| branch.as_bstr()),
            head_commit,
            &selection,
        )?;
        let mappings = self.note(&natives, &made)?;
        Ok(ExportReport {
            branch: branch.map(|branch| branch.to_string()),
            head: head_commit.map(|id| id.to_string()),
            replayed: selection.commits.len() as u64,
            made: made.len() as u64,
            objects: written.objects,
            pack_bytes: written.bytes,
            mappings,
            refs: edits.iter().map(Edit::outcome).collect(),
            created: self.target.is_new(),
        })
    }

    /// What the walk over raw commits begins with, and what names it. What refs of the target name already it has whole.
    fn tips(&self, natives: &Natives) -> Vec<(ObjectId, String)> {
        let mut tips = Vec::new();
        if let Some(saved) = &self.saved {
            if let Some(SavedHead::Detached(id)) = saved.head {
                tips.push((id, "HEAD".to_owned()));
            }
            let there = self.target.refs();
            let new = saved.refs.iter().filter(|(name, id)| there.get(*name) != Some(*id));
            tips.extend(new.map(|(name, id)| (*id, name.to_string())));
        }
        let kept = natives.ends.iter().filter(|(id, _)| self.index.commits.contains_key(id));
        tips.extend(kept.map(|(id, change)| (*id, change.to_string())));
        tips
    }

    /// Root trees of imported commits, as far as a mapping tells.
    fn roots(&self, commits: &mut Commits<'_>, ids: &[ObjectId]) -> Result<HashMap<ObjectId, Gid>> {
        let mut mappings: HashMapOfGid<ObjectId> = HashMapOfGid::default();
        for id in ids {
            let Some(facts) = commits.facts(id)? else { continue };
            if let Some(mapping) = self.refs.get(&format!("{TREES}{}", facts.tree))? {
                mappings.insert(mapping, facts.tree);
            }
        }
        let list: Vec<Gid> = mappings.keys().copied().collect();
        let mut trees_of: HashMapOfGid<Vec<ObjectId>> = HashMapOfGid::default();
        let make = |id: &Gid, envelope: &[u8]| {
            let mapping = decoded(id, Mapping::decode(envelope, &Limits::DEFAULT))?;
            let tree = mappings.get(id).copied();
            let from = ObjectId::from_hex(mapping.from().as_bytes()).ok();
            Ok((mapping.to(), tree.filter(|tree| Some(*tree) == from)))
        };
        visit(self.store, &list, &make, &mut |(state, tree): (Gid, Option<ObjectId>)| {
            if let Some(tree) = tree.filter(|_| state.family() == Family::State) {
                trees_of.entry(state).or_default().push(tree);
            }
        })?;
        let states: Vec<Gid> = trees_of.keys().copied().collect();
        let mut roots = HashMap::default();
        let make = |id: &Gid, envelope: &[u8]| {
            Ok((*id, decoded(id, State::decode(envelope, &Limits::DEFAULT))?.root_tree()))
        };
        visit(self.store, &states, &make, &mut |(state, root): (Gid, Gid)| {
            let trees = trees_of.get(&state).into_iter().flatten();
            roots.extend(trees.map(|tree| (*tree, root)));
        })?;
        Ok(roots)
    }

    /// Notes the content of commits that the target has and on which new ones stand.
    fn note_had(
        &self,
        content: &mut Content<'_>,
        commits: &mut Commits<'_>,
        selection: &Selection,
        natives: &Natives,
    ) -> Result<()> {
        let Some(mut reader) = self.target.reader() else { return Ok(()) };
        let boundary: HashSet<ObjectId> = selection.boundary.iter().copied().collect();
        let mut stood_on: Vec<ObjectId> = Vec::new();
        for id in &selection.commits {
            let parents = commits.facts(id)?.map(|facts| facts.parents.clone()).unwrap_or_default();
            stood_on.extend(parents.into_iter().filter(|parent| boundary.contains(parent)));
        }
        stood_on.sort_unstable();
        stood_on.dedup();
        let roots = self.roots(commits, &stood_on)?;
        for id in &stood_on {
            let Some(facts) = commits.facts(id)? else { continue };
            if let Some(root) = roots.get(&facts.tree) {
                content.had_tree(&mut reader, *root, facts.tree)?;
            }
        }
        if natives.list.is_empty() {
            return Ok(());
        }
        for (id, change) in &natives.ends {
            if selection.commits.contains(id) {
                continue;
            }
            let body = match reader.body(id, ObjectKind::Commit, &String::new) {
                Ok(body) => body,
                Err(GitError::Missing { .. }) => continue,
                Err(error) => return Err(error),
            };
            let (tree, _) = crate::import::commit::links(body, id.kind()).map_err(|detail| {
                GitError::Damaged { oid: id.to_string(), at: change.to_string(), detail }
            })?;
            content.had_tree(&mut reader, self.root_of_change(change)?, tree)?;
        }
        Ok(())
    }

    fn root_of_change(&self, id: &Gid) -> Result<Gid> {
        let bytes = self.store.read(id)?;
        let change = decoded(id, Change::decode(&bytes, &Limits::DEFAULT))?;
        let absent = || GitError::Absent { what: "a resulting state".to_owned(), at: id.to_string() };
        let state = change.resulting_state().ok_or_else(absent)?;
        Ok(gemel_repo::content::root_tree(self.store, &state).map_err(gemel_repo::RepoError::from)?)
    }

    /// Finds all content that is to be written.
    fn reach(
        &self,
        content: &mut Content<'_>,
        commits: &mut Commits<'_>,
        selection: &Selection,
        natives: &Natives,
        roots: &HashMap<ObjectId, Gid>,
    ) -> Result<()> {
        let mut folders = Vec::with_capacity(selection.commits.len() + natives.list.len());
        let mut others = Vec::new();
        for id in &selection.commits {
            let Some(facts) = commits.facts(id)? else { continue };
            let tree = facts.tree;
            let kept = self.index.trees.contains_key(&tree).then_some(tree);
            let root = roots.get(&tree).copied();
            content.roots.extend(root.map(|root| (root, format!("commit {id}"))));
            match (root, kept) {
                (None, None) => others.push(tree),
                (tree, kept) => folders.push(Folder { tree, kept }),
            }
        }
        for native in &natives.list {
            content.roots.push((native.root, native.change.to_string()));
            folders.push(Folder { tree: Some(native.root), kept: None });
        }
        content.reach(folders)?;
        for id in others {
            content.reach_named(id)?;
        }
        for (id, _) in &selection.others {
            content.reach_named(*id)?;
        }
        Ok(())
    }

    /// Compares the trees made with those that commits name.
    fn check_trees(
        &self,
        content: &Content<'_>,
        commits: &mut Commits<'_>,
        ids: &[ObjectId],
        roots: &HashMap<ObjectId, Gid>,
    ) -> Result<()> {
        for id in ids {
            let Some(facts) = commits.facts(id)? else { continue };
            let tree = facts.tree;
            if self.index.trees.contains_key(&tree) {
                continue;
            }
            let Some(root) = roots.get(&tree) else { continue };
            let found = content.names.get(root);
            if found != Some(&tree) {
                let found = found.map(ObjectId::to_string).unwrap_or_default();
                let detail = format!("what is made of {root} hashes to {found}");
                return Err(GitError::Damaged {
                    oid: tree.to_string(),
                    at: format!("tree of commit {id}"),
                    detail,
                });
            }
        }
        Ok(())
    }

    /// What names an object that a ref or tag names.
    fn namer_of(&self, id: &ObjectId, selection: &Selection) -> String {
        let named = selection.others.iter().find(|(other, _)| other == id);
        named.map(|(_, at)| at.clone()).unwrap_or_else(|| "held by a tree that an import kept".to_owned())
    }

    /// Makes commits of changes, parents first.
    fn make(
        &self,
        content: &Content<'_>,
        commits: &mut Commits<'_>,
        natives: &Natives,
        pack: &mut PackWriter,
    ) -> Result<Vec<MadeCommit>> {
        let mut made: Vec<MadeCommit> = Vec::with_capacity(natives.list.len());
        if natives.list.is_empty() {
            return Ok(made);
        }
        let changes: HashSetOfGid = natives.list.iter().map(|native| native.change).collect();
        let (current, added) = match self.request.format {
            Format::One => (self.refs.get("refs/trajectories/current")?, HashMapOfGid::default()),
            Format::Two => (None, natives::trajectories(self.store, &self.refs, &changes)?),
        };
        let ends: HashMap<ObjectId, Gid> = natives.ends.iter().copied().collect();
        let mut carries: HashMap<ObjectId, Carry> = HashMap::default();
        let mut writer = PartWriter::new();
        for native in &natives.list {
            let bytes = self.store.read(&native.change)?;
            let change = decoded(&native.change, Change::decode(&bytes, &Limits::DEFAULT))?;
            let mut carry = Carry::new();
            if self.request.format == Format::Two {
                carry = match native.parents.first() {
                    Some(Standing::Native(at)) => {
                        made.get(*at).map(|made| made.carry.clone()).unwrap_or_default()
                    }
                    Some(Standing::Commit(id)) => {
                        if !carries.contains_key(id) {
                            let found = self.carried_by(id, ends.get(id), content, commits)?;
                            carries.insert(*id, found);
                        }
                        carries.get(id).cloned().unwrap_or_default()
                    }
                    None => Carry::new(),
                };
                carry::keep_free(&mut carry, content, &native.root, &change)?;
            }
            let tree = match carry.is_empty() {
                true => content.names.get(&native.root).copied().ok_or_else(|| GitError::Absent {
                    what: native.root.to_string(),
                    at: native.change.to_string(),
                })?,
                false => {
                    let (root, bodies) = carry::with(content, &native.root, &carry)?;
                    for (id, body) in bodies {
                        if !pack.contains(&id) {
                            writer.put_alone(ObjectKind::Tree, id, &body).map_err(zip_error)?;
                            pack.append(writer.take())?;
                        }
                    }
                    root
                }
            };
            let parents: Vec<ObjectId> =
                native.parents.iter().filter_map(|parent| commit_of(*parent, &made)).collect();
            let trajectory =
                if self.request.format == Format::One { current } else { added.get(&native.change).copied() };
            let one =
                self.make_one(native, &change, (tree, &parents, trajectory), natives, (&mut writer, pack))?;
            if self.request.format == Format::Two {
                carry::add_of_state(&mut carry, content, &native.root)?;
            }
            made.push(MadeCommit { carry, ..one });
            self.progress.advance(1);
        }
        Ok(made)
    }

    /// What a commit that is not made here hands on to those on top of it.
    fn carried_by(
        &self,
        id: &ObjectId,
        change: Option<&Gid>,
        content: &Content<'_>,
        commits: &mut Commits<'_>,
    ) -> Result<Carry> {
        if let Some(facts) = commits.facts(id)?.cloned() {
            let mut body = |tree: &ObjectId| match self.index.trees.contains_key(tree) {
                true => super::raw::body(self.store, &self.index, ObjectKind::Tree, tree, "").map(Some),
                false => Ok(None),
            };
            let mut carry = carry::of_git_tree(facts.tree, &mut body)?;
            if let (Some(change), false) = (change, self.index.trees.contains_key(&facts.tree)) {
                carry::add_of_state(&mut carry, content, &self.root_of_change(change)?)?;
            }
            return Ok(carry);
        }
        let Some(mut reader) = self.target.reader() else { return Ok(Carry::new()) };
        let body = reader.body(id, ObjectKind::Commit, &String::new)?;
        let (tree, _) = crate::import::commit::links(body, id.kind())
            .map_err(|detail| GitError::Damaged { oid: id.to_string(), at: String::new(), detail })?;
        carry::of_git_tree(tree, &mut |tree| {
            if tree.is_empty_tree() {
                return Ok(None);
            }
            let at = || format!("tree of commit {id}");
            Ok(Some(reader.body(tree, ObjectKind::Tree, &at)?.to_vec()))
        })
    }

    /// Makes one commit: as it was exported before if those bytes can be made again, or if the target has it; else in the
    /// format asked for.
    fn make_one(
        &self,
        native: &Native,
        change: &Change<'_>,
        (tree, parents, trajectory): (ObjectId, &[ObjectId], Option<Gid>),
        natives: &Natives,
        (writer, pack): (&mut PartWriter, &mut PackWriter),
    ) -> Result<MadeCommit> {
        let producer_id = change.producer();
        let bytes = self.store.read(&producer_id)?;
        let producer = decoded(&producer_id, Producer::decode(&bytes, &Limits::DEFAULT))?;
        let parts = Parts { id: native.change, change, producer: &producer, tree, parents, trajectory };
        let claims = self.request.include_claims;
        let asked = synthesis::commit(&parts, self.request.format, claims)?;
        let name_of = |body: &[u8]| hash_body(self.target.format, ObjectKind::Commit, body);
        let mut id = name_of(&asked.body);
        let (mut body, mut losses) = (Some(asked.body), asked.losses);
        let before = natives.exported.get(&native.change).filter(|before| !before.contains(&id));
        if let (Some(before), Format::Two) = (before, self.request.format) {
            let mut again = None;
            for (format, claims) in [(Format::Two, !claims), (Format::One, claims), (Format::One, !claims)] {
                let Ok(made) = synthesis::commit(&parts, format, claims) else { continue };
                let name = name_of(&made.body);
                if before.contains(&name) {
                    again = Some((name, Some(made.body), made.losses));
                    break;
                }
            }
            if again.is_none() {
                for name in before {
                    if self.target.has(name)? {
                        again = Some((*name, None, Vec::new()));
                        break;
                    }
                }
            }
            if let Some(found) = again {
                (id, body, losses) = found;
            }
        }
        if let Some(body) = body.filter(|_| !pack.contains(&id)) {
            writer.put_alone(ObjectKind::Commit, id, &body).map_err(zip_error)?;
            pack.append(writer.take())?;
        }
        Ok(MadeCommit { id, tree, losses, carry: Carry::new() })
    }

    /// The branch that gets head, and every ref that the target is to have.
    fn wanted(
        &self,
        head: Option<ObjectId>,
        natives: &Natives,
        made: &[MadeCommit],
        commits: &mut Commits<'_>,
    ) -> Result<(Option<BString>, BTreeMap<BString, ObjectId>)> {
        let mut wanted = self.saved.as_ref().map(|saved| saved.refs.clone()).unwrap_or_default();
        let Some(head) = head else { return Ok((None, wanted)) };
        let implied = match self.saved.as_ref().and_then(|saved| saved.head.as_ref()) {
            Some(SavedHead::Branch(name)) => {
                name.strip_prefix(HEADS.as_bytes()).unwrap_or(DEFAULT_BRANCH.as_bytes())
            }
            Some(SavedHead::Detached(id)) if *id == head && !wanted.is_empty() => {
                match &self.request.branch {
                    None => return Ok((None, wanted)),
                    Some(_) => DEFAULT_BRANCH.as_bytes(),
                }
            }
            _ => DEFAULT_BRANCH.as_bytes(),
        };
        let branch = BString::from(self.request.branch.as_ref().map_or(implied, |branch| branch.as_bytes()));
        let name = full_name(branch.as_bstr());
        let before = wanted.get(&name).copied();
        if let (Some(before), None) = (before, &self.request.branch)
            && !leads(&before, &head, natives, made, commits, &self.target)?
        {
            if leads(&head, &before, natives, made, commits, &self.target)? {
                return Ok((Some(branch), wanted));
            }
            if !self.request.force {
                let reason = format!(
                    "nothing was exported: {name} was imported at {before}, which head ({head}) does not lead back to. \
                     Give head another --branch, or move the branch with --force"
                );
                return Err(GitError::Refused { reason });
            }
        }
        wanted.insert(name, head);
        Ok((Some(branch), wanted))
    }

    /// Makes the pack durable, then moves refs.
    fn publish(
        &self,
        pack: PackWriter,
        edits: &[Edit],
        branch: Option<&BStr>,
        head: Option<ObjectId>,
        selection: &Selection,
    ) -> Result<Written> {
        let idle = edits.iter().all(|edit| edit.change == RefChange::Unchanged) && !self.target.is_new();
        let written = if idle { Written::default() } else { pack.finish()? };
        let detached = match self.saved.as_ref().and_then(|saved| saved.head.as_ref()) {
            Some(SavedHead::Detached(id)) if branch.is_none() => Some(*id),
            _ => None,
        };
        let on = match (self.saved.as_ref().and_then(|saved| saved.head.as_ref()), branch) {
            (_, Some(branch)) if self.request.branch.is_some() => full_name(branch),
            (Some(SavedHead::Branch(name)), _) => name.clone(),
            (_, branch) => full_name(branch.unwrap_or(DEFAULT_BRANCH.into())),
        };
        if self.target.is_new() {
            let to = match detached {
                Some(id) => Head::Detached(id),
                None => Head::Branch(on),
            };
            let refs = edits.iter().map(|edit| {
                let peeled = selection.peeled(&edit.new).filter(|peeled| *peeled != edit.new);
                (edit.name.clone(), (edit.new, peeled))
            });
            self.target.create(&refs.collect(), &head_text(&to), &selection.shallow)?;
            return Ok(written);
        }
        if !selection.shallow.is_empty() {
            let reason = format!(
                "the history was imported from a shallow repository; {} exists and cannot be made shallow: export to a new place",
                self.target.path.display()
            );
            return Err(GitError::Refused { reason });
        }
        let moves: Vec<_> = edits
            .iter()
            .filter(|edit| edit.change != RefChange::Unchanged)
            .map(|edit| (edit.name.clone(), edit.old, edit.new))
            .collect();
        // A HEAD that names no branch yet follows; one that stands somewhere stays.
        let born = edits.iter().any(|edit| edit.name == on);
        let follow = self.target.is_unborn() && born && head.is_some() && !self.target.will_be_born(edits);
        if !moves.is_empty() || follow {
            self.target.move_refs(&moves, follow.then_some(on.as_bstr()), self.request.now_ms)?;
        }
        Ok(written)
    }

    /// Notes in this repository which commits and trees were made.
    fn note(&self, natives: &Natives, made: &[MadeCommit]) -> Result<u64> {
        let failed = |e: ObjectError| GitError::Unfit {
            what: "the mapping",
            commit: String::new(),
            detail: e.to_string(),
        };
        let automation =
            NewAutomation { system: Some("gemel-export"), version: Some("0.1.0"), ..Default::default() };
        let producer = NewProducer {
            kind: Some(ProducerKind::Automation),
            name: Some("gemel-export"),
            identity: Some(NewIdentity { automation: Some(automation), ..Default::default() }),
            disclosure: Some(Disclosure::DigestOnly),
            created_at: Some(0),
            ..Default::default()
        };
        let producer = producer.encode(&self.limits).map_err(failed)?;
        let mut edits: BTreeMap<String, Encoded> = BTreeMap::new();
        for (native, made) in natives.list.iter().zip(made) {
            let map = |kind, from: &str, to| {
                NewMapping {
                    kind: Some(kind),
                    from: Some(from),
                    to: Some(to),
                    loss: Some(NewLoss {
                        known_loss: Some(Strings::Borrowed(&made.losses)),
                        unknowns: Some(Strings::Borrowed(&[])),
                        fabricated: Some(Strings::Borrowed(&[])),
                        ..NewLoss::default()
                    }),
                    producer: Some(producer.id),
                    created_at: Some(0),
                    ..NewMapping::default()
                }
                .encode(&self.limits)
                .map_err(failed)
            };
            if made.losses.is_empty() {
                // Kept as it was, and noted then.
                continue;
            }
            let (id, tree) = (made.id.to_string(), made.tree.to_string());
            edits.insert(format!("{EXPORTED}{id}"), map(MappingKind::GitCommit, &id, native.change)?);
            edits.insert(format!("{EXPORTED_TREES}{tree}"), map(MappingKind::GitTree, &tree, native.state)?);
        }
        let noted = edits.len() as u64;
        let mut new = Vec::new();
        for (name, mapping) in edits {
            if self.refs.get(&name)? != Some(mapping.id) {
                new.push((name, mapping));
            }
        }
        if new.is_empty() {
            return Ok(noted);
        }
        let writer = self.store.writer()?;
        let put =
            |encoded: Encoded| writer.put(NewObject { id: encoded.id, bytes: encoded.bytes, base: None });
        put(producer)?;
        let mut names = Vec::with_capacity(new.len());
        for (name, mapping) in new {
            names.push((name, mapping.id));
            put(mapping)?;
        }
        writer.commit()?;
        let mut transaction = self.store.transaction()?;
        for (name, id) in names {
            transaction.set(name, id);
        }
        transaction.commit("export-git", self.request.now_ms)?;
        Ok(noted)
    }
}

/// The ref of a branch.
fn full_name(branch: &BStr) -> BString {
    [HEADS.as_bytes(), branch].concat().into()
}

/// The commit that stands for a change.
fn commit_of(standing: Standing, made: &[MadeCommit]) -> Option<ObjectId> {
    match standing {
        Standing::Commit(id) => Some(id),
        Standing::Native(at) => made.get(at).map(|made| made.id),
    }
}

/// Whether the first commit is the second or an ancestor of it.
fn leads(
    old: &ObjectId,
    new: &ObjectId,
    natives: &Natives,
    made: &[MadeCommit],
    commits: &mut Commits<'_>,
    target: &Target,
) -> Result<bool> {
    let mut stack: Vec<Standing> = match made.iter().position(|made| made.id == *new) {
        Some(at) => vec![Standing::Native(at)],
        None => vec![Standing::Commit(*new)],
    };
    let mut seen = vec![false; made.len()];
    let mut ends = Vec::new();
    while let Some(standing) = stack.pop() {
        if commit_of(standing, made) == Some(*old) {
            return Ok(true);
        }
        match standing {
            Standing::Commit(id) => ends.push(id),
            Standing::Native(at) => {
                if let (Some(flag), Some(native)) = (seen.get_mut(at), natives.list.get(at))
                    && !std::mem::replace(flag, true)
                {
                    stack.extend(native.parents.iter().copied());
                }
            }
        }
    }
    ends.sort_unstable();
    ends.dedup();
    for end in ends {
        if commits.leads(old, &end, &|id| target.parents(id))? {
            return Ok(true);
        }
    }
    Ok(false)
}
