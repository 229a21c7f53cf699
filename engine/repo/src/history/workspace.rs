//! Workspaces and their records (workflow, section 10).
//!
//! A workspace is a name with up to four records: the state materialised in it, the change it finished last, a pending
//! change, and its directory when that is not the repository root. It exists once one of them does.

use crate::content::{WorktreeRequest, delta_worktree};
use crate::facts::{Named, Omitted, PathChange, Progress, Reference};
use crate::history::graph::Graph;
use crate::history::pending::Pending;
use crate::history::view;
use crate::names::Namer;
use crate::{Repo, RepoError, Result};
use gemel_object::Gid;
use gemel_store::refs::{check_name, local};
use gemel_store::{RefValue, Refs, Transaction};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The workspace that lives in the repository root.
pub const DEFAULT_WORKSPACE: &str = "default";

/// Longest directory path kept in a record.
const MAX_PATH_BYTES: usize = 16 << 10;

/// A workspace's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    pub(crate) name: String,
    pub(crate) state: Option<Gid>,
    pub(crate) change: Option<Gid>,
    pub(crate) path: Option<PathBuf>,
    pub(crate) pending: Option<Vec<u8>>,
}

impl Workspace {
    /// Reads the records of `name` (`default` when absent); they may all be absent.
    ///
    /// # Errors
    /// `WorkspaceName`, `RecordCorrupt`, `Store`.
    pub(crate) fn load(refs: &Refs, name: Option<&str>) -> Result<Workspace> {
        let name = name.unwrap_or(DEFAULT_WORKSPACE);
        check_workspace_name(name)?;
        let path = match refs.record(&record_name(name, "path"))? {
            Some(bytes) => Some(parse_path(name, &bytes)?),
            None => None,
        };
        Ok(Workspace {
            name: name.to_owned(),
            state: refs.get(&record_name(name, "state"))?,
            change: refs.get(&record_name(name, "change"))?,
            path,
            pending: refs.record(&record_name(name, "pending"))?,
        })
    }

    /// The pending change.
    ///
    /// # Errors
    /// `NothingPending`, `PendingCorrupt`.
    pub(crate) fn pending(&self) -> Result<Pending> {
        match &self.pending {
            Some(bytes) => Pending::parse(&self.name, bytes),
            None => Err(RepoError::NothingPending { workspace: self.name.clone() }),
        }
    }

    /// The state whose paths count as recorded: the workspace's, else head's, from which a workspace starts.
    ///
    /// # Errors
    /// `Store`.
    pub(crate) fn recorded(&self, refs: &Refs) -> Result<Option<Gid>> {
        match self.state {
            Some(state) => Ok(Some(state)),
            None => Ok(refs.get("refs/state/head")?),
        }
    }

    /// The directory of the workspace.
    pub(crate) fn dir(&self, repo: &Repo) -> PathBuf {
        self.path.clone().unwrap_or_else(|| repo.root().to_path_buf())
    }

    /// Name of the stat cache for this workspace's files in `dir`: a cache serves one directory.
    pub(crate) fn cache_name(&self, repo: &Repo, dir: &Path) -> String {
        if self.name == DEFAULT_WORKSPACE && dir == repo.root() {
            return format!("stat-{DEFAULT_WORKSPACE}");
        }
        let mut key = blake3::Hasher::new();
        key.update(self.name.as_bytes());
        key.update(&[0]);
        key.update(dir.as_os_str().as_encoded_bytes());
        format!("stat-{}", &key.finalize().to_hex()[..32])
    }

    /// Records `dir` as the workspace's directory. The default workspace always lives in the root.
    ///
    /// # Errors
    /// `Invalid` when the path is no text.
    pub(crate) fn set_path(&self, transaction: &mut Transaction, repo: &Repo, dir: &Path) -> Result<()> {
        let name = record_name(&self.name, "path");
        if dir == repo.root() {
            if self.path.is_some() {
                transaction.remove(name);
            }
        } else if self.name != DEFAULT_WORKSPACE && self.path.as_deref() != Some(dir) {
            transaction.set_record(name, path_text(dir)?.as_bytes().to_vec());
        }
        Ok(())
    }
}

/// Full name of a workspace record.
pub(crate) fn record_name(workspace: &str, record: &str) -> String {
    format!("{}{workspace}/{record}", local::WORKTREES)
}

/// Refuses texts that are no workspace name.
///
/// # Errors
/// `WorkspaceName`.
pub(crate) fn check_workspace_name(name: &str) -> Result<()> {
    let bad = name.contains(['/', '\\', '\0']) || check_name(&record_name(name, "pending")).is_err();
    if bad { Err(RepoError::WorkspaceName { name: name.chars().take(200).collect() }) } else { Ok(()) }
}

/// The text of a directory that is to be kept in a record.
///
/// # Errors
/// `Invalid` when it is relative, no text, or too long.
pub(crate) fn path_text(dir: &Path) -> Result<&str> {
    let text = dir
        .to_str()
        .ok_or_else(|| RepoError::invalid(format!("directory {} is not UTF-8", dir.display())))?;
    if !dir.is_absolute() || text.len() > MAX_PATH_BYTES {
        let detail = format!("directory {text:?} is not an absolute path of at most {MAX_PATH_BYTES} bytes");
        return Err(RepoError::invalid(detail));
    }
    Ok(text)
}

fn parse_path(workspace: &str, bytes: &[u8]) -> Result<PathBuf> {
    let corrupt = |detail: &str| RepoError::RecordCorrupt {
        name: record_name(workspace, "path"),
        detail: detail.to_owned(),
    };
    let text = std::str::from_utf8(bytes).map_err(|_| corrupt("not UTF-8"))?;
    let path = PathBuf::from(text.strip_suffix('\n').unwrap_or(text));
    if path.is_absolute() { Ok(path) } else { Err(corrupt("not an absolute path")) }
}

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFacts {
    /// Its name.
    pub name: String,
    /// The state materialised in it.
    pub state: Option<Named>,
    /// The change it finished last.
    pub change: Option<Named>,
    /// Its directory, when it is not the repository root.
    pub path: Option<PathBuf>,
    /// Whether a change is in progress.
    pub pending: bool,
    /// Whether a record of it does not read.
    pub pending_corrupt: bool,
    /// How its state stands to head's.
    pub standing: Standing,
}

/// How the content of a workspace's state stands to that of the head state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It is the same, or one of the two does not exist.
    #[default]
    AtHead,
    /// Head has moved on from it: a change that leads to head began or ended there.
    Behind,
    /// It is other content.
    Differs,
}

/// All workspaces with a record, by name.
///
/// # Errors
/// `Store`.
pub fn workspace_list(repo: &Repo) -> Result<Vec<WorkspaceFacts>> {
    let refs = repo.store().refs()?;
    let mut rows: BTreeMap<String, WorkspaceFacts> = BTreeMap::new();
    let mut ids = Vec::new();
    for (name, value) in refs.scan(local::WORKTREES)? {
        let Some((workspace, record)) = name.strip_prefix(local::WORKTREES).and_then(|n| n.rsplit_once('/'))
        else {
            continue;
        };
        let row = rows.entry(workspace.to_owned()).or_insert_with(|| WorkspaceFacts {
            name: workspace.to_owned(),
            state: None,
            change: None,
            path: None,
            pending: false,
            pending_corrupt: false,
            standing: Standing::AtHead,
        });
        match (record, value) {
            ("state", Ok(RefValue::Id(id))) => {
                row.state = Some(Named { id, name: None });
                ids.push(id);
            }
            ("change", Ok(RefValue::Id(id))) => {
                row.change = Some(Named { id, name: None });
                ids.push(id);
            }
            ("path", Ok(RefValue::Record(bytes))) => row.path = parse_path(workspace, &bytes).ok(),
            ("pending", Ok(RefValue::Record(bytes))) => {
                row.pending = true;
                row.pending_corrupt |= Pending::parse(workspace, &bytes).is_err();
            }
            _ => row.pending_corrupt = true,
        }
    }
    let namer = Namer::find(repo.store(), &refs, ids)?;
    let head = Head::of(&refs)?;
    let mut graph = Graph::new(repo.store());
    let mut rows: Vec<WorkspaceFacts> = rows.into_values().collect();
    for row in &mut rows {
        row.standing = head.standing(&mut graph, row.state.as_ref().map(|s| &s.id))?;
        for named in [&mut row.state, &mut row.change].into_iter().flatten() {
            named.name = namer.get(&named.id);
        }
    }
    Ok(rows)
}

/// Names of the workspaces with a change in progress, ascending.
///
/// # Errors
/// `Store`.
pub(crate) fn pending_workspaces(refs: &Refs) -> Result<Vec<String>> {
    let records = refs.scan(local::WORKTREES)?.filter_map(|(name, _)| {
        let (workspace, record) = name.strip_prefix(local::WORKTREES)?.rsplit_once('/')?;
        (record == "pending").then(|| workspace.to_owned())
    });
    Ok(records.collect())
}

/// The head change and its state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    change: Option<Gid>,
    pub(crate) state: Option<Gid>,
}

impl Head {
    /// # Errors
    /// `Store`.
    pub(crate) fn of(refs: &Refs) -> Result<Head> {
        Ok(Head { change: refs.get("refs/head")?, state: refs.get("refs/state/head")? })
    }

    /// How a workspace state stands to it. A workspace without a state starts from head.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn standing(&self, graph: &mut Graph<'_>, state: Option<&Gid>) -> Result<Standing> {
        let (Some(state), Some(head)) = (state, &self.state) else { return Ok(Standing::AtHead) };
        if graph.same_content(Some(state), Some(head))? {
            return Ok(Standing::AtHead);
        }
        let Some(root) = graph.root(state)? else { return Ok(Standing::Differs) };
        let history = graph.ancestors(self.change)?;
        let (ending, starting) = graph.with_root(&history, &root)?;
        let passed = !ending.is_empty() || !starting.is_empty();
        Ok(if passed { Standing::Behind } else { Standing::Differs })
    }
}

/// Removes the records of a workspace; its files stay.
///
/// # Errors
/// `NoWorkspace`, `WorkspaceName`; `AlreadyPending` with a change in progress, unless `force`.
pub fn workspace_remove(repo: &Repo, name: &str, force: bool, now_ms: i64) -> Result<WorkspaceFacts> {
    check_workspace_name(name)?;
    let facts = workspace_list(repo)?.into_iter().find(|row| row.name == name);
    let facts = facts.ok_or_else(|| RepoError::NoWorkspace { name: name.to_owned() })?;
    let mut transaction = repo.store().transaction()?;
    let prefix = format!("{}{name}/", local::WORKTREES);
    let records: Vec<String> = transaction.refs().scan(&prefix)?.map(|(name, _)| name).collect();
    if !force && records.contains(&record_name(name, "pending")) {
        return Err(RepoError::AlreadyPending { workspace: name.to_owned() });
    }
    for record in records {
        transaction.remove(record);
    }
    transaction.commit("workspace remove", now_ms)?;
    Ok(facts)
}

/// What is in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingFacts {
    /// The workspace.
    pub workspace: String,
    /// Where the change starts.
    pub input_state: Option<Named>,
    /// Its intent.
    pub intent: Option<Reference>,
    /// Who acts.
    pub producer: Option<Gid>,
    /// The directory it will be captured from.
    pub worktree: PathBuf,
    /// When it began, Unix milliseconds.
    pub started_at_ms: i64,
    /// What differs from the input state so far, by path.
    pub changed: Vec<PathChange>,
    /// Folders and files left out.
    pub omitted: Vec<Omitted>,
}

/// The pending change of a workspace (`default` when absent) and the delta so far. Records nothing.
///
/// # Errors
/// `NothingPending`, `PendingCorrupt`, `WorkspaceName`, `Store`, and whatever the capture refuses.
pub fn change_status(repo: &Repo, workspace: Option<&str>, progress: &dyn Progress) -> Result<PendingFacts> {
    let refs = repo.store().refs()?;
    let workspace = Workspace::load(&refs, workspace)?;
    let pending = workspace.pending()?;
    let dir = pending.worktree.as_ref().map_or_else(|| workspace.dir(repo), PathBuf::from);
    let delta = delta_worktree(
        repo.store(),
        &WorktreeRequest {
            root: &dir,
            recorded: workspace.recorded(&refs)?,
            against: pending.input_state,
            cache: Some(&workspace.cache_name(repo, &dir)),
            verify: false,
            limits: &repo.limits(&refs)?,
            progress,
        },
    )?;
    let namer = Namer::find(repo.store(), &refs, pending.input_state.into_iter().chain(pending.intent))?;
    Ok(PendingFacts {
        input_state: pending.input_state.map(|id| namer.named(id)),
        intent: pending.intent.map(|id| view::intent_reference(repo.store(), id, &namer)).transpose()?,
        producer: pending.producer,
        worktree: dir,
        started_at_ms: pending.started_at_ms,
        changed: view::path_changes(&delta.changes),
        omitted: view::omitted(&delta.omitted),
        workspace: workspace.name,
    })
}

#[cfg(test)]
mod tests {
    use super::check_workspace_name;

    #[test]
    fn workspace_names() {
        for name in ["default", "a", "a b", "agent-7", "é", ".a", "a.b", "..a"] {
            assert!(check_workspace_name(name).is_ok(), "{name:?}");
        }
        for name in ["", ".", "..", "a/b", "/", "a\\b", "a\0", "a\nb", "\u{202e}a", &"x".repeat(1100)] {
            assert!(check_workspace_name(name).is_err(), "{name:?}");
        }
    }
}
