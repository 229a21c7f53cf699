//! A small store in the layout of 0.12, written by this code on any disk: the tests need no 0.12 program.

use gemel_object::families::{
    NewChange, NewClaim, NewIntent, NewProducer, NewResidual, NewState, NewTrajectory,
};
use gemel_object::{Disclosure, Encoded, Gid, Limits, Mode, ProducerKind, TreeBuilder, blob_envelope};
use gemel_store::legacy::{MigrateFacts, MigrateOptions, migrate};
use gemel_store::vfs::Vfs;
use gemel_store::{RefValue, Result, Store};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) const L: Limits = Limits::DEFAULT;

/// A 0.12 store being written, and what it should hold afterwards.
pub(crate) struct Old {
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) dir: PathBuf,
    pub(crate) objects: BTreeMap<Gid, Vec<u8>>,
    pub(crate) refs: BTreeMap<String, Gid>,
    pub(crate) local: BTreeMap<String, RefValue>,
    /// A residual disposition that no ref reaches, as 0.12 leaves them.
    pub(crate) loose_residual: Gid,
}

pub(crate) fn put_file(vfs: &dyn Vfs, path: &Path, bytes: &[u8]) -> io::Result<()> {
    vfs.create_dir_all(path.parent().unwrap())?;
    match vfs.remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = vfs.create_new(path)?;
    file.append(bytes)
}

impl Old {
    /// Two changes on two trajectories, labels, a pending change, remotes, a tombstone, exchange state.
    pub(crate) fn new(vfs: Arc<dyn Vfs>, dir: &Path) -> Old {
        let nothing = blob_envelope(b"", &L).unwrap().id;
        let mut old = Old {
            vfs,
            dir: dir.to_owned(),
            objects: BTreeMap::new(),
            refs: BTreeMap::new(),
            local: BTreeMap::new(),
            loose_residual: nothing,
        };
        old.vfs.create_dir_all(&dir.join("objects")).unwrap();
        old.fill();
        old
    }

    fn fill(&mut self) {
        let producer = self.object(
            NewProducer {
                kind: Some(ProducerKind::Automation),
                name: Some("gemel"),
                disclosure: Some(Disclosure::DigestOnly),
                ..NewProducer::default()
            }
            .encode(&L),
        );
        let first = self.state(&[("a.txt", b"one\n".as_slice()), ("src/b.rs", b"fn b() {}\n")]);
        let second = self.state(&[("a.txt", b"one\ntwo\n".as_slice()), ("src/b.rs", b"fn b() {}\n")]);
        let intent = self.object(
            NewIntent { summary: Some("grow"), created_at: Some(5), ..NewIntent::default() }.encode(&L),
        );
        let claim = self.object(
            NewClaim { predicate: Some("holds"), producer: Some(producer), ..NewClaim::default() }.encode(&L),
        );
        let residual =
            self.object(NewResidual { summary: Some("left"), ..NewResidual::default() }.encode(&L));
        let change = |input, result, parents: &[Gid], old: &mut Old| {
            old.object(
                NewChange {
                    summary: Some("grown"),
                    intent: Some(intent),
                    input_state: input,
                    resulting_state: Some(result),
                    producer: Some(producer),
                    claims: Some(&[claim]),
                    residuals: Some(&[residual]),
                    causal_parents: Some(parents),
                    ..NewChange::default()
                }
                .encode(&L),
            )
        };
        let c1 = change(None, first, &[], self);
        let c2 = change(Some(first), second, &[c1], self);
        let t1 = self
            .object(NewTrajectory { added_changes: Some(&[c1, c2]), ..NewTrajectory::default() }.encode(&L));
        self.loose_residual = self.object(
            NewResidual { previous: Some(residual), summary: Some("left"), ..NewResidual::default() }
                .encode(&L),
        );
        for (name, id) in [
            ("refs/head", c2),
            ("refs/state/head", second),
            ("refs/names/C1", c1),
            ("refs/names/C2", c2),
            ("refs/names/I1", intent),
            ("refs/names/S1", first),
            ("refs/names/a/b", first),
            ("refs/names/ünï côdé", second),
            ("refs/trajectories/T1", t1),
            ("refs/trajectories/current", t1),
            ("refs/remotes/up/names/C1", c1),
        ] {
            self.reference(name, id);
        }
        self.write_records(producer, first, second, intent);
    }

    fn write_records(&mut self, producer: Gid, first: Gid, second: Gid, intent: Gid) {
        self.file(
            "meta.json",
            &format!(
                "{{\n  \"counters\": {{\n    \"change\": 2,\n    \"state\": 1\n  }},\n  \"default_producer\": \
                 \"{producer}\",\n  \"schema\": \"gemel.meta.v1\"\n}}\n"
            ),
        );
        self.file("lock", "");
        self.file("journal/journal.log", "");
        self.file("index/gemel.db", "derived");
        self.file("worktrees/default/state.ref", &format!("{second}\n"));
        self.file("worktrees/w 3/state.ref", &format!("{first}\n"));
        let pending = format!(
            "{{\n  \"input_state\": \"{first}\",\n  \"intent\": \"{intent}\",\n  \"producer\": \"{producer}\",\n  \
             \"schema\": \"gemel.pending.v1\",\n  \"started_at\": 7,\n  \"workspace\": \"w 3\",\n  \"worktree\": null\n}}\n"
        );
        self.file("worktrees/w 3/pending.json", &pending);
        self.file("remotes.json", r#"{"remotes":{"up":"../up"},"schema":"gemel.remotes.v1"}"#);
        self.file("court.allowlist", "true\n");
        self.file("exchange/v1/packs/ab/cd.gxp", "carried by Git");
        let active = "0".repeat(64) + "\n";
        self.file("exchange-state/active", &active);
        let pruned = blob_envelope(b"pruned", &L).unwrap().id;
        let tomb = format!("{{\"id\":\"{pruned}\",\"schema\":\"gemel.tombstone.v1\"}}");
        let hex = pruned.to_string().split_off("blob.".len());
        self.file(&format!("objects/{}/{hex}.tomb", &hex[..2]), &tomb);
        for (name, value) in [
            ("local/default_producer".to_owned(), RefValue::Id(producer)),
            ("local/counters/change".to_owned(), RefValue::Record(b"2".to_vec())),
            ("local/counters/state".to_owned(), RefValue::Record(b"1".to_vec())),
            ("local/worktrees/default/state".to_owned(), RefValue::Id(second)),
            ("local/worktrees/w 3/state".to_owned(), RefValue::Id(first)),
            ("local/worktrees/w 3/pending".to_owned(), RefValue::Record(pending.into_bytes())),
            ("local/remotes/up".to_owned(), RefValue::Record(b"../up".to_vec())),
            ("local/exchange/active".to_owned(), RefValue::Record(active.into_bytes())),
            (format!("local/tombstones/{pruned}"), RefValue::Record(tomb.into_bytes())),
        ] {
            self.local.insert(name, value);
        }
    }

    /// Writes a loose object; gives its identity.
    pub(crate) fn object(&mut self, encoded: std::result::Result<Encoded, gemel_object::ObjectError>) -> Gid {
        let Encoded { id, bytes } = encoded.unwrap();
        put_file(self.vfs.as_ref(), &self.object_path(&id), &bytes).unwrap();
        self.objects.insert(id, bytes);
        id
    }

    pub(crate) fn object_path(&self, id: &Gid) -> PathBuf {
        let text = id.to_string();
        let hex = text.rsplit('.').next().unwrap();
        self.dir.join("objects").join(&hex[..2]).join(format!("{hex}.gce"))
    }

    pub(crate) fn blob(&mut self, content: &[u8]) -> Gid {
        self.object(blob_envelope(content, &L))
    }

    /// A state with these files, at most one folder deep.
    pub(crate) fn state(&mut self, files: &[(&str, &[u8])]) -> Gid {
        let mut folders: BTreeMap<&str, Vec<(&str, Gid)>> = BTreeMap::new();
        for (path, content) in files {
            let (folder, name) = path.split_once('/').unwrap_or(("", path));
            let blob = self.blob(content);
            folders.entry(folder).or_default().push((name, blob));
        }
        let mut root: Vec<(&str, Mode, Gid)> = Vec::new();
        for (folder, entries) in folders {
            let entries: Vec<_> = entries.into_iter().map(|(name, id)| (name, Mode::File, id)).collect();
            if folder.is_empty() {
                root.extend(entries);
            } else {
                root.push((folder, Mode::Directory, self.tree(entries)));
            }
        }
        let root_tree = self.tree(root);
        self.object(NewState { root_tree: Some(root_tree), ..NewState::default() }.encode(&L))
    }

    fn tree(&mut self, mut entries: Vec<(&str, Mode, Gid)>) -> Gid {
        entries.sort_unstable();
        let mut tree = TreeBuilder::new();
        for (name, mode, id) in entries {
            tree.push(name, mode, &id).unwrap();
        }
        self.object(tree.finish(&L))
    }

    pub(crate) fn reference(&mut self, name: &str, id: Gid) {
        self.file(name, &format!("{id}\n"));
        self.refs.insert(name.to_owned(), id);
    }

    pub(crate) fn file(&self, path: &str, text: &str) {
        put_file(self.vfs.as_ref(), &self.dir.join(path), text.as_bytes()).unwrap();
    }

    /// Converts it.
    pub(crate) fn migrate(&self) -> Result<MigrateFacts> {
        run(&self.vfs, &self.dir, false, false)
    }

    /// Asserts that the store in the directory holds everything.
    pub(crate) fn assert_converted(&self) {
        self.assert_converted_on(&self.vfs);
    }

    /// The same on another disk.
    pub(crate) fn assert_converted_on(&self, vfs: &Arc<dyn Vfs>) {
        let store = Store::open(Arc::clone(vfs), &self.dir).unwrap();
        for (id, bytes) in &self.objects {
            assert_eq!(&store.read(id).unwrap(), bytes, "{id}");
        }
        let refs = store.refs().unwrap();
        let mut expected = self.refs.clone();
        let keep = format!("refs/keep/{}", self.loose_residual.to_string().replacen('.', "/", 1));
        expected.insert(keep, self.loose_residual);
        let found: BTreeMap<String, Gid> = refs
            .scan("refs/")
            .unwrap()
            .map(|(name, value)| match value.unwrap() {
                RefValue::Id(id) => (name, id),
                RefValue::Record(_) => panic!("record under {name}"),
            })
            .collect();
        same(&found, &expected);
        // What the store notes about its packs is its own business.
        let local: BTreeMap<String, RefValue> = refs
            .scan("local/")
            .unwrap()
            .filter(|(name, _)| !name.starts_with("local/packs/"))
            .map(|(name, value)| (name, value.unwrap()))
            .collect();
        same(&local, &self.local);
    }
}

/// Calls the library.
pub(crate) fn run(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    keep_going: bool,
    remove_old: bool,
) -> Result<MigrateFacts> {
    let options = MigrateOptions { keep_going, remove_old, now_ms: 1, progress: &|_, _, _| {} };
    migrate(vfs, dir, &options)
}

/// Every entry below `dir` with its content, for comparing before and after.
pub(crate) fn snapshot(vfs: &dyn Vfs, dir: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in vfs.list(&dir).unwrap() {
            let path = dir.join(entry.name);
            if entry.is_dir {
                found.insert(path.clone(), None);
                open.push(path);
            } else {
                let bytes = vfs.read(&path, u64::MAX).unwrap();
                found.insert(path, Some(bytes));
            }
        }
    }
    found
}

/// Asserts equality and names the first difference only.
pub(crate) fn same<K: Ord + Debug, V: PartialEq + Debug>(found: &BTreeMap<K, V>, expected: &BTreeMap<K, V>) {
    for (key, value) in expected {
        assert!(found.get(key) == Some(value), "{key:?}: expected {value:?}, found {:?}", found.get(key));
    }
    let more = found.iter().find(|(key, _)| !expected.contains_key(key));
    assert!(more.is_none(), "unexpected {more:?}");
}
