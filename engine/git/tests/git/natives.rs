//! Changes made here, without a worktree: everything that decides what their commits say is given.

use crate::gemel::Gemel;
use gemel_object::families::{
    NewChange, NewHuman, NewIdentity, NewOperation, NewProducer, NewState, NewTrajectory,
};
use gemel_object::{
    Disclosure, Encoded, Gid, Limits, Mode, OpType, ProducerKind, blob_envelope, tree_envelope,
};
use gemel_store::NewObject;
use std::collections::BTreeMap;

const LIMITS: Limits = Limits::DEFAULT;

/// A change to be.
#[derive(Clone)]
pub(crate) struct Made<'a> {
    pub(crate) summary: &'a str,
    /// Path and text; a mark before the path: `*` a program, `@` a link.
    pub(crate) files: &'a [(&'a str, &'a str)],
    pub(crate) parents: &'a [Gid],
    pub(crate) producer: Option<Gid>,
    pub(crate) time_ms: Option<i64>,
    pub(crate) disclosure: Option<Disclosure>,
    pub(crate) intent: Option<Gid>,
    pub(crate) claims: &'a [Gid],
    /// Paths that operations delete.
    pub(crate) deleted: &'a [&'a str],
}

impl Default for Made<'_> {
    fn default() -> Self {
        Made {
            summary: "made here",
            files: &[("f", "text\n")],
            parents: &[],
            producer: None,
            time_ms: Some(5_500),
            disclosure: None,
            intent: None,
            claims: &[],
            deleted: &[],
        }
    }
}

impl Gemel {
    fn put(&self, objects: Vec<Encoded>) {
        let writer = self.repo.store().writer().unwrap();
        for object in objects {
            writer.put(NewObject { id: object.id, bytes: object.bytes, base: None }).unwrap();
        }
        writer.commit().unwrap();
        let mut transaction = self.repo.store().transaction().unwrap();
        transaction.set_record("local/test", b"durable".to_vec());
        transaction.commit("test", 0).unwrap();
    }

    pub(crate) fn set(&self, name: &str, id: Gid) {
        let mut transaction = self.repo.store().transaction().unwrap();
        transaction.set(name, id);
        transaction.commit("test", 0).unwrap();
    }

    pub(crate) fn unset(&self, name: &str) {
        assert!(self.target(name).is_some(), "{name}");
        let mut transaction = self.repo.store().transaction().unwrap();
        transaction.remove(name);
        transaction.commit("test", 0).unwrap();
    }

    /// A person.
    pub(crate) fn person(&self, name: &str, email: Option<&str>, disclosure: Disclosure) -> Gid {
        let human = NewHuman { name: Some(name), email, ..NewHuman::default() };
        let producer = NewProducer {
            kind: Some(ProducerKind::Human),
            name: Some(name),
            identity: Some(NewIdentity { human: Some(human), ..NewIdentity::default() }),
            disclosure: Some(disclosure),
            ..NewProducer::default()
        };
        let producer = producer.encode(&LIMITS).unwrap();
        let id = producer.id;
        self.put(vec![producer]);
        id
    }

    /// Makes a change and lets head point to it.
    pub(crate) fn make(&self, made: &Made<'_>) -> Gid {
        let mut objects = Vec::new();
        let root = tree_of(made.files, &mut objects);
        let state = NewState { root_tree: Some(root), ..NewState::default() }.encode(&LIMITS).unwrap();
        let producer = made.producer.unwrap_or_else(|| self.target("refs/names/P1").unwrap());
        let mut operations = Vec::new();
        for path in made.deleted {
            let operation = NewOperation {
                op_type: Some(OpType::DeleteFile),
                subject_path: Some(path),
                ..NewOperation::default()
            };
            let operation = operation.encode(&LIMITS).unwrap();
            operations.push(operation.id);
            objects.push(operation);
        }
        let change = NewChange {
            summary: Some(made.summary),
            intent: made.intent,
            resulting_state: Some(state.id),
            operations: (!operations.is_empty()).then_some(&operations[..]),
            producer: Some(producer),
            disclosure: made.disclosure,
            claims: (!made.claims.is_empty()).then_some(made.claims),
            causal_parents: (!made.parents.is_empty()).then_some(made.parents),
            created_at: made.time_ms,
            ..NewChange::default()
        };
        let change = change.encode(&LIMITS).unwrap();
        let (id, state_id) = (change.id, state.id);
        objects.extend([state, change]);
        self.put(objects);
        self.set("refs/head", id);
        self.set("refs/state/head", state_id);
        id
    }

    /// A trajectory with versions that add these changes; the last is named.
    pub(crate) fn line(&self, name: &str, versions: &[&[Gid]]) -> Vec<Gid> {
        let mut ids: Vec<Gid> = Vec::new();
        for changes in versions {
            let version = NewTrajectory {
                previous: ids.last().copied(),
                added_changes: Some(changes),
                ..NewTrajectory::default()
            };
            let version = version.encode(&LIMITS).unwrap();
            ids.push(version.id);
            self.put(vec![version]);
        }
        self.set(&format!("refs/trajectories/{name}"), *ids.last().unwrap());
        ids
    }
}

/// The tree of these files, with everything it holds.
fn tree_of(files: &[(&str, &str)], objects: &mut Vec<Encoded>) -> Gid {
    let mut leaves: BTreeMap<String, (Mode, Gid)> = BTreeMap::new();
    let mut folders: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (path, text) in files {
        let (mark, mode, path) = match path.split_at(1) {
            ("*", rest) => ("*", Mode::Executable, rest),
            ("@", rest) => ("@", Mode::Link, rest),
            _ => ("", Mode::File, *path),
        };
        match path.split_once('/') {
            Some((folder, rest)) => {
                let inner = folders.entry(folder.to_owned()).or_default();
                inner.push((format!("{mark}{rest}"), (*text).to_owned()));
            }
            None => {
                let blob = blob_envelope(text.as_bytes(), &LIMITS).unwrap();
                leaves.insert(path.to_owned(), (mode, blob.id));
                objects.push(blob);
            }
        }
    }
    for (name, inner) in folders {
        let inner: Vec<(&str, &str)> = inner.iter().map(|(path, text)| (&**path, &**text)).collect();
        leaves.insert(name, (Mode::Directory, tree_of(&inner, objects)));
    }
    let entries = leaves.iter().map(|(name, (mode, id))| (&**name, *mode, *id));
    let tree = tree_envelope(entries, &LIMITS).unwrap();
    let id = tree.id;
    objects.push(tree);
    id
}
