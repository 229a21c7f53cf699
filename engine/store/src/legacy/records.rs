//! What a 0.12 store keeps beside objects and refs: `meta.json`, workspaces, tombstones, remotes, the state of
//! exchange. All of it becomes local records of the new store, texts unchanged.

use super::disk::{self, Kind};
use super::finding::Findings;
use super::objects::{self, Objects};
use super::refs::identity;
use super::{Layout, layout_of};
use crate::Result;
use crate::layout::{META, META_MAX};
use crate::refs::{MAX_RECORD_BYTES, RefValue, check_name, local};
use crate::vfs::Vfs;
use gemel_object::{Family, Gid};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Longest `remotes.json`.
const MAX_REMOTES_BYTES: u64 = 1 << 20;
/// Folder of the workspaces.
const WORKTREES: &str = "worktrees";
/// Remotes by name.
const REMOTES: &str = "remotes.json";
/// Which exchange material is active and imported here.
const EXCHANGE_STATE: &str = "exchange-state";

/// The local records of the new store, and how many of each kind there are.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) values: BTreeMap<String, RefValue>,
    pub(super) counters: u64,
    pub(super) workspaces: u64,
    pub(super) pending: u64,
    pub(super) tombstones: u64,
    pub(super) remotes: u64,
}

/// The look at one store.
pub(super) struct Reader<'a> {
    pub(super) vfs: &'a dyn Vfs,
    pub(super) dir: &'a Path,
    pub(super) objects: &'a Objects,
    pub(super) findings: &'a mut Findings,
    pub(super) records: Records,
}

impl Reader<'_> {
    /// Reads everything there is.
    ///
    /// # Errors
    /// `Io` when the disk fails.
    pub(super) fn read(mut self) -> Result<Records> {
        self.meta()?;
        self.worktrees()?;
        self.tombstones()?;
        self.remotes()?;
        self.exchange_state()?;
        for (name, expected) in [("exchange", Kind::Dir), ("court.allowlist", Kind::File)] {
            if disk::kind(self.vfs, &self.dir.join(name))?.is_some_and(|found| found != expected) {
                self.findings.error(
                    "not-plain",
                    name,
                    "a link or something of another kind than it should be",
                );
            }
        }
        Ok(self.records)
    }

    /// Counters and the default producer.
    fn meta(&mut self) -> Result<()> {
        let Some(meta) = self.json(META, META_MAX, "corrupt-meta")? else { return Ok(()) };
        if !matches!(layout_of(&meta), Some(Layout::Legacy | Layout::Prepared)) {
            self.findings.error("corrupt-meta", META, "no schema of 0.12");
            return Ok(());
        }
        match meta.get("counters").map(|c| c.as_object().ok_or(c)) {
            None => {}
            Some(Ok(counters)) => self.counters(counters),
            Some(Err(other)) => self.findings.error("corrupt-meta", META, format!("counters: {other}")),
        }
        match meta.get("default_producer").map(|p| p.as_str().ok_or(p).map(identity)) {
            None => {}
            Some(Ok(Ok(id))) if self.is_stored(id, Family::Producer) => {
                self.put(local::DEFAULT_PRODUCER.to_owned(), RefValue::Id(id));
            }
            Some(Ok(Ok(id))) => {
                self.findings.error(
                    "corrupt-meta",
                    META,
                    format!("default_producer {id} is no stored producer"),
                );
            }
            Some(Ok(Err(detail))) => {
                self.findings.error("corrupt-meta", META, format!("default_producer: {detail}"));
            }
            Some(Err(other)) => {
                self.findings.error("corrupt-meta", META, format!("default_producer: {other}"));
            }
        }
        Ok(())
    }

    fn counters(&mut self, counters: &Map<String, Value>) {
        for (kind, value) in counters {
            let name = format!("{}{kind}", local::COUNTERS);
            match value.as_u64() {
                Some(n) if check_name(&name).is_ok() && !kind.contains('/') => {
                    self.put(name, RefValue::Record(n.to_string().into_bytes()));
                    self.records.counters += 1;
                }
                _ => self.findings.error("corrupt-meta", META, format!("counter {kind:?}: {value}")),
            }
        }
    }

    /// `worktrees/<name>/state.ref` and `pending.json`.
    fn worktrees(&mut self) -> Result<()> {
        for (name, kind) in self.folder(WORKTREES)? {
            let path = Path::new(WORKTREES).join(&name);
            if kind != Kind::Dir {
                self.findings.note("stray-file", path, "no workspace; not carried over");
            } else if check_name(&format!("{}{name}/state", local::WORKTREES)).is_err() {
                self.findings.error("workspace-name", path, "not a valid workspace name");
            } else {
                self.workspace(&name, &path)?;
            }
        }
        Ok(())
    }

    fn workspace(&mut self, name: &str, path: &Path) -> Result<()> {
        self.records.workspaces += 1;
        for entry in disk::list(self.vfs, &self.dir.join(path))? {
            let file = path.join(&entry.name);
            match entry.name.to_str() {
                Some("state.ref") => self.workspace_state(name, &file)?,
                Some("pending.json") => self.pending(name, &file)?,
                _ => self.findings.note("stray-file", file, "no record of a workspace; not carried over"),
            }
        }
        Ok(())
    }

    fn workspace_state(&mut self, name: &str, file: &Path) -> Result<()> {
        let text = disk::read_text(self.vfs, &self.dir.join(file), MAX_RECORD_BYTES as u64)?;
        match text.and_then(|text| identity(&text)) {
            Ok(id) if self.is_stored(id, Family::State) => {
                self.put(format!("{}{name}/state", local::WORKTREES), RefValue::Id(id));
            }
            Ok(id) => {
                self.findings.error("workspace-state-missing", file, format!("{id} is no stored state"));
            }
            Err(detail) => self.findings.error("workspace-state-corrupt", file, detail),
        }
        Ok(())
    }

    fn pending(&mut self, name: &str, file: &Path) -> Result<()> {
        let text = match disk::read_text(self.vfs, &self.dir.join(file), MAX_RECORD_BYTES as u64)? {
            Ok(text) => text,
            Err(detail) => {
                self.findings.error("pending-corrupt", file, detail);
                return Ok(());
            }
        };
        let value: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if value.get("schema").and_then(Value::as_str) != Some("gemel.pending.v1") {
            self.findings.error("pending-corrupt", file, "not a gemel.pending.v1 document");
            return Ok(());
        }
        for key in ["input_state", "intent", "producer"] {
            let text = match value.get(key) {
                None | Some(Value::Null) => continue,
                Some(value) => value.as_str().unwrap_or_default(),
            };
            // What names an object that is gone can be looked at and given up; what names none cannot be read.
            let Ok(id) = identity(text) else {
                self.findings.error("pending-corrupt", file, format!("{key} {text:?} is no identity"));
                return Ok(());
            };
            if self.objects.find(&id).is_none() {
                self.findings.warning("pending-corrupt", file, format!("{key} {text:?} is not stored"));
            }
        }
        self.records.pending += 1;
        self.put(format!("{}{name}/pending", local::WORKTREES), RefValue::Record(text.into_bytes()));
        Ok(())
    }

    /// `objects/<2 hex>/<64 hex>.tomb`: what stands for a pruned object (RET-04). A stored object wins (T-17).
    fn tombstones(&mut self) -> Result<()> {
        for digest in &self.objects.tombs {
            let file = objects::path_of(digest, "tomb");
            let text = match disk::read_text(self.vfs, &self.dir.join(&file), MAX_RECORD_BYTES as u64)? {
                Ok(text) => text,
                Err(detail) => {
                    self.findings.error("corrupt-tombstone", file, detail);
                    continue;
                }
            };
            let value: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
            let id = value.get("id").and_then(Value::as_str).and_then(|id| identity(id).ok());
            let schema = value.get("schema").and_then(Value::as_str);
            match id.filter(|id| schema == Some("gemel.tombstone.v1") && id.digest() == digest) {
                Some(id) if self.objects.find(&id).is_some() => {
                    self.findings.warning(
                        "live-tombstone",
                        file,
                        format!("{id} is stored; not carried over"),
                    );
                }
                Some(id) => {
                    self.records.tombstones += 1;
                    self.put(format!("{}{id}", local::TOMBSTONES), RefValue::Record(text.into_bytes()));
                }
                None => {
                    self.findings.error("corrupt-tombstone", file, "no gemel.tombstone.v1 of its own digest");
                }
            }
        }
        Ok(())
    }

    fn remotes(&mut self) -> Result<()> {
        if disk::kind(self.vfs, &self.dir.join(REMOTES))?.is_none() {
            return Ok(());
        }
        let Some(document) = self.json(REMOTES, MAX_REMOTES_BYTES, "corrupt-remotes")? else { return Ok(()) };
        let Some(remotes) = document.get("remotes").and_then(Value::as_object) else {
            self.findings.error("corrupt-remotes", REMOTES, "no object `remotes`");
            return Ok(());
        };
        for (remote, value) in remotes {
            let name = format!("{}{remote}", local::REMOTES);
            let argument = value.as_str().filter(|text| text.len() <= MAX_RECORD_BYTES);
            match argument.filter(|_| check_name(&name).is_ok() && !remote.contains('/')) {
                Some(argument) => {
                    self.records.remotes += 1;
                    self.put(name, RefValue::Record(argument.as_bytes().to_vec()));
                }
                None => self.findings.error("corrupt-remotes", REMOTES, format!("{remote:?}: {value}")),
            }
        }
        Ok(())
    }

    /// `active` and `imported/<64 hex>`. Derived: what does not read is imported again.
    fn exchange_state(&mut self) -> Result<()> {
        let mut files: Vec<String> = Vec::new();
        for (name, kind) in self.folder(EXCHANGE_STATE)? {
            match (name.as_str(), kind) {
                ("active", Kind::File) => files.push(name),
                ("imported", Kind::Dir) => {
                    let marks = self.folder(&format!("{EXCHANGE_STATE}/imported"))?;
                    let named = marks.into_iter().filter(|(mark, _)| objects::digest_of(mark).is_some());
                    files.extend(named.map(|(mark, _)| format!("imported/{mark}")));
                }
                _ => self.findings.note("stray-file", format!("{EXCHANGE_STATE}/{name}"), "not carried over"),
            }
        }
        for file in files {
            let path = Path::new(EXCHANGE_STATE).join(&file);
            match disk::read(self.vfs, &self.dir.join(&path), MAX_RECORD_BYTES as u64)? {
                Ok(bytes) => self.put(format!("{}{file}", local::EXCHANGE), RefValue::Record(bytes)),
                Err(detail) => {
                    self.findings.warning("exchange-state", path, format!("not carried over: {detail}"));
                }
            }
        }
        Ok(())
    }

    /// Entries of a folder that may be absent; names that are not UTF-8 and folders that are links are findings.
    fn folder(&mut self, path: &str) -> Result<Vec<(String, Kind)>> {
        match disk::kind(self.vfs, &self.dir.join(path))? {
            None => return Ok(Vec::new()),
            Some(Kind::Dir) => {}
            Some(_) => {
                self.findings.error("not-plain", path, "not a folder; not followed");
                return Ok(Vec::new());
            }
        }
        let mut named = Vec::new();
        for entry in disk::list(self.vfs, &self.dir.join(path))? {
            match entry.name.into_string() {
                Ok(name) => named.push((name, entry.kind)),
                Err(raw) => {
                    self.findings.error("not-utf8", Path::new(path).join(raw), "its name is not UTF-8");
                }
            }
        }
        Ok(named)
    }

    fn json(&mut self, path: &str, max_bytes: u64, code: &'static str) -> Result<Option<Value>> {
        let text = disk::read_text(self.vfs, &self.dir.join(path), max_bytes)?;
        match text.and_then(|text| serde_json::from_str(&text).map_err(|e| e.to_string())) {
            Ok(value) => Ok(Some(value)),
            Err(detail) => {
                self.findings.error(code, path, detail);
                Ok(None)
            }
        }
    }

    fn is_stored(&self, id: Gid, family: Family) -> bool {
        id.family() == family && self.objects.find(&id).is_some()
    }

    fn put(&mut self, name: String, value: RefValue) {
        self.records.values.insert(name, value);
    }
}
