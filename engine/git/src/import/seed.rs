//! What earlier runs made of trees and files that new commits still hold: found by walking a Git tree beside the tree
//! of its state, in the folders that new commits touch.

use super::changes;
use super::discover::{Comparer, Found, base_tree};
use super::ids::Made;
use super::keep::RAW;
use super::select::{Commit, Parent, Selection};
use super::source::Source;
use super::tree::{self, EntryKind, GitTree};
use crate::object::ObjectKind;
use crate::{GitError, Result};
use gemel_object::families::Change;
use gemel_object::{Family, Gid, Limits, Mode, Object, Tree};
use gemel_repo::RepoError;
use gemel_store::{Refs, Store};
use gix::ObjectId;
use gix::hashtable::{HashMap, HashSet};

/// Fills `found` with what is known of the objects that `selection` touches.
///
/// # Errors
/// `Missing`, `Damaged`; those of the store.
pub(crate) fn seed(
    source: &Source,
    store: &Store,
    refs: &Refs,
    selection: &Selection,
    found: &mut Found,
) -> Result<()> {
    if selection.known.is_empty() {
        return Ok(());
    }
    let empty =
        gemel_object::tree_envelope([], &Limits::DEFAULT).map_err(changes::object_error(Family::Tree))?;
    let mut seeder = Seeder {
        empty: empty.id,
        source,
        store,
        refs,
        comparer: Comparer::new(source),
        trees: HashMap::default(),
        expanded: HashSet::default(),
        compared: Default::default(),
    };
    seeder.parents(selection, found)?;
    for commit in &selection.commits {
        if let Some(base) = base_tree(commit, &selection.commits, &found.known_trees) {
            seeder.walk(commit, base, found)?;
        }
    }
    Ok(())
}

struct Seeder<'a> {
    source: &'a Source,
    store: &'a Store,
    refs: &'a Refs,
    comparer: Comparer<'a>,
    /// The folder without content.
    empty: Gid,
    /// Trees of Git whose objects are known.
    trees: HashMap<ObjectId, Gid>,
    expanded: HashSet<ObjectId>,
    /// Pairs of trees that were walked: one new tree may follow several known ones.
    compared: std::collections::HashSet<(ObjectId, ObjectId)>,
}

impl Seeder<'_> {
    /// States and root trees of the commits that selected ones stand on.
    fn parents(&mut self, selection: &Selection, found: &mut Found) -> Result<()> {
        let mut reader = self.source.reader();
        for commit in &selection.commits {
            for (parent, id) in commit.parents.iter().zip(&commit.facts.parents) {
                let Parent::Known(change) = parent else { continue };
                if found.known_trees.contains_key(id) {
                    continue;
                }
                let state = self.result(change)?;
                let at = || format!("parent of {}", commit.id);
                let body = reader.body(id, ObjectKind::Commit, &at)?;
                let (tree, _) = super::commit::links(body, self.source.kind)
                    .map_err(|detail| GitError::Damaged { oid: id.to_string(), at: at(), detail })?;
                let root = gemel_repo::content::root_tree(self.store, &state).map_err(RepoError::from)?;
                found.known_trees.insert(*id, tree);
                found.known_states.insert(*change, state);
                let number = found.ids.number(tree);
                self.know(tree, number, root, found)?;
            }
        }
        Ok(())
    }

    fn result(&self, change: &Gid) -> Result<Gid> {
        let bytes = self.store.read(change)?;
        let decoded = Change::decode(&bytes, &Limits::DEFAULT);
        let state = decoded.ok().and_then(|change| change.resulting_state());
        state.ok_or_else(|| GitError::Mapping {
            name: changes::COMMITS.to_owned(),
            id: *change,
            detail: "the change has no resulting state".to_owned(),
        })
    }

    fn know(&mut self, tree: ObjectId, number: u32, target: Gid, found: &mut Found) -> Result<()> {
        if found.ids.made(number) == Made::Nothing {
            let odd = self.refs.get(&format!("{RAW}tree/{tree}"))?.is_some();
            let made = if target == self.empty { Made::Empty(target) } else { Made::Object(target, odd) };
            found.ids.set(number, made);
            self.trees.insert(tree, target);
        }
        Ok(())
    }

    /// Goes through the folders in which a commit differs from its base.
    fn walk(&mut self, commit: &Commit, base: ObjectId, found: &mut Found) -> Result<()> {
        let mut stack = vec![(base, Some(commit.facts.tree))];
        while let Some((before, after)) = stack.pop() {
            self.expand(&before, found)?;
            if Some(before) == after || after.is_some_and(|after| !self.compared.insert((before, after))) {
                continue;
            }
            let at = || format!("a folder of commit {}", commit.id);
            let old_body = self.comparer.tree(&before, &at)?;
            let new_body =
                after.map(|after| self.comparer.tree(&after, &at)).transpose()?.unwrap_or_default();
            let old = self.parse(&before, &old_body)?;
            let new = self.parse(after.as_ref().unwrap_or(&before), &new_body)?;
            let folder = |entry: &tree::TreeEntry<'_>| entry.kind == EntryKind::Content(Mode::Directory);
            for entry in old.entries.iter().filter(|entry| folder(entry)) {
                let place = new.entries.binary_search_by(|other| other.name.cmp(&entry.name));
                let same =
                    place.ok().map(|at| &new.entries[at]).filter(|other| folder(other)).map(|other| other.id);
                if same != Some(entry.id) {
                    stack.push((entry.id, same));
                }
            }
        }
        Ok(())
    }

    fn parse<'b>(&self, id: &ObjectId, body: &'b [u8]) -> Result<GitTree<'b>> {
        tree::parse(body, self.source.kind).map_err(|detail| GitError::Damaged {
            oid: id.to_string(),
            at: String::new(),
            detail,
        })
    }

    /// Pairs the entries of a known tree with those of its object.
    fn expand(&mut self, id: &ObjectId, found: &mut Found) -> Result<()> {
        let Some(target) = self.trees.get(id).copied() else { return Ok(()) };
        if !self.expanded.insert(*id) {
            return Ok(());
        }
        let body = self.comparer.tree(id, &String::new)?;
        let git = self.parse(id, &body)?;
        let bytes = self.store.read(&target)?;
        let stored = Object::parse(&bytes, &Limits::DEFAULT)
            .and_then(|object| Tree::view(&object))
            .map_err(|e| GitError::Repo(RepoError::CorruptObject { id: target, detail: e.to_string() }))?;
        let mut own = stored.iter().peekable();
        for entry in &git.entries {
            while own.next_if(|own| own.name < &*entry.name).is_some() {}
            let known = own.next_if(|own| own.name == &*entry.name);
            let EntryKind::Content(mode) = entry.kind else { continue };
            match known.filter(|own| own.mode == mode) {
                Some(own) if mode == Mode::Directory => {
                    let number = found.ids.number(entry.id);
                    self.know(entry.id, number, own.target, found)?;
                    self.note_links(&entry.id, found)?;
                }
                Some(own) => {
                    let number = found.ids.number(entry.id);
                    if found.ids.made(number) == Made::Nothing {
                        found.ids.set(number, Made::Object(own.target, false));
                    }
                }
                None => {
                    let number = found.ids.number(entry.id);
                    if found.ids.made(number) == Made::Nothing {
                        // A lost file is looked for again where a new commit puts it.
                        let dir = mode == Mode::Directory;
                        found.ids.set(number, if dir { Made::Empty(self.empty) } else { Made::Lost });
                    }
                    self.note_links(&entry.id, found)?;
                }
            }
        }
        self.note_links(id, found)
    }

    /// Notes the gitlinks of a known tree.
    fn note_links(&mut self, id: &ObjectId, found: &mut Found) -> Result<()> {
        let links = self.gitlinks(id)?;
        if !links.is_empty() {
            let number = found.ids.number(*id);
            found.gitlinks.insert(number, links);
        }
        Ok(())
    }

    /// Paths of the gitlinks in a known tree: only trees that are kept as they are can hold any.
    fn gitlinks(&mut self, root: &ObjectId) -> Result<Vec<String>> {
        let (mut links, mut stack) = (Vec::new(), vec![(String::new(), *root)]);
        while let Some((prefix, id)) = stack.pop() {
            if self.refs.get(&format!("{RAW}tree/{id}"))?.is_none() {
                continue;
            }
            let body = self.comparer.tree(&id, &String::new)?;
            for entry in self.parse(&id, &body)?.entries {
                match entry.kind {
                    EntryKind::Gitlink => links.push(format!("{prefix}{}", entry.name)),
                    EntryKind::Content(Mode::Directory) => {
                        stack.push((format!("{prefix}{}/", entry.name), entry.id));
                    }
                    EntryKind::Content(_) => {}
                }
            }
        }
        links.sort_unstable();
        Ok(links)
    }
}
