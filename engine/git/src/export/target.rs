//! The Git repository that is written to: looked at first, created if it is not there.

use crate::import::source::{self, Head, Reader, Source, chain};
use crate::object::ObjectKind;
use crate::pack::sync_dir;
use crate::{GitError, Result};
use gix::ObjectId;
use gix::bstr::{BStr, BString};
use gix::hash::Kind;
use gix::hashtable::HashSet;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What may lie in a folder in which an export was stopped before it became a repository.
const OWN_FILES: [&str; 5] = ["objects", "refs", "config", "packed-refs", "shallow"];

/// Where an export goes.
pub(super) struct Target {
    /// As named.
    pub(super) path: PathBuf,
    pub(super) format: Kind,
    /// `None`: it is to be created.
    found: Option<Found>,
}

/// A repository that is there.
struct Found {
    source: Source,
    git_dir: PathBuf,
    /// Branches that stand in a worktree, with its Git directory.
    checked_out: BTreeMap<BString, PathBuf>,
}

impl Target {
    /// Looks at what is at `path`; `format` is what will be written, if that is known.
    ///
    /// # Errors
    /// `NotARepository`, `Refused` for another object format, `Git`.
    pub(super) fn look(path: &Path, format: Option<Kind>) -> Result<Target> {
        if is_free(path)? {
            let format = format.unwrap_or(Kind::Sha1);
            return Ok(Target { path: path.to_owned(), format, found: None });
        }
        let source = Source::open(path)?;
        if let Some(wanted) = format.filter(|wanted| *wanted != source.kind) {
            let reason = format!(
                "{} names its objects by {}, the history to be exported by {wanted}; choose another place",
                path.display(),
                source.kind
            );
            return Err(GitError::Refused { reason });
        }
        let git_dir = source::git_dir(path)
            .map_err(|detail| GitError::NotARepository { path: path.to_owned(), detail })?;
        let repo = open(&git_dir, path)?;
        let checked_out = checked_out(&repo, path)?;
        let format = source.kind;
        Ok(Target { path: path.to_owned(), format, found: Some(Found { source, git_dir, checked_out }) })
    }

    /// Whether the repository is not there yet.
    pub(super) fn is_new(&self) -> bool {
        self.found.is_none()
    }

    /// Its refs.
    pub(super) fn refs(&self) -> BTreeMap<BString, ObjectId> {
        self.found.as_ref().map(|found| found.source.refs.clone()).unwrap_or_default()
    }

    /// The worktree in which a branch stands, if one does.
    pub(super) fn worktree_of(&self, name: &BStr) -> Option<&Path> {
        self.found.as_ref()?.checked_out.get(name).map(PathBuf::as_path)
    }

    /// Whether `HEAD` names a branch that is not there.
    pub(super) fn is_unborn(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.source.head_target().is_none())
    }

    /// Whether the branch that `HEAD` names is among the refs to be written.
    pub(super) fn will_be_born(&self, edits: &[super::refs::Edit]) -> bool {
        match self.found.as_ref().map(|found| &found.source.head) {
            Some(Head::Branch(name)) => edits.iter().any(|edit| edit.name == *name),
            _ => false,
        }
    }

    /// Removes the empty folders of a repository that did not come to be.
    pub(super) fn forget(&self) {
        for part in ["objects/pack", "objects/info", "objects", "refs/heads", "refs/tags", "refs", ""] {
            // Best effort, and only what is empty goes.
            let _ = fs::remove_dir(self.path.join(part));
        }
    }

    /// A reader of its objects.
    pub(super) fn reader(&self) -> Option<Reader> {
        self.found.as_ref().map(|found| found.source.reader())
    }

    /// Whether it has an object; one of another format it cannot have.
    ///
    /// # Errors
    /// `Damaged`.
    pub(super) fn has(&self, id: &ObjectId) -> Result<bool> {
        match &self.found {
            Some(found) if id.kind() == self.format => Ok(found.source.reader().header(id)?.is_some()),
            _ => Ok(false),
        }
    }

    /// The parents of a commit it has; none of anything else.
    ///
    /// # Errors
    /// `Damaged`.
    pub(super) fn parents(&self, id: &ObjectId) -> Result<Vec<ObjectId>> {
        let Some(found) = self.found.as_ref().filter(|_| id.kind() == self.format) else {
            return Ok(Vec::new());
        };
        match found.source.reader().read(id, &String::new) {
            Ok((ObjectKind::Commit, body)) => Ok(crate::import::commit::links(body, id.kind())
                .map(|(_, parents)| parents)
                .unwrap_or_default()),
            Ok(_) | Err(GitError::Missing { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Commits met on a walk from all refs that are kept here, where the walk ends, or were made here, where it goes on to
    /// those they stand on. The target has them with all they reach.
    ///
    /// # Errors
    /// `Damaged`.
    pub(super) fn known(
        &self,
        is_kept: &dyn Fn(&ObjectId) -> bool,
        is_made: &dyn Fn(&ObjectId) -> bool,
    ) -> Result<HashSet<ObjectId>> {
        let mut known = HashSet::default();
        let Some(found) = &self.found else { return Ok(known) };
        let mut reader = found.source.reader();
        let mut seen: HashSet<ObjectId> = HashSet::default();
        let mut stack: Vec<ObjectId> = found.source.refs.values().copied().collect();
        stack.extend(found.source.head_target());
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            if is_kept(&id) {
                known.insert(id);
                continue;
            }
            if is_made(&id) {
                known.insert(id);
            }
            match reader.read(&id, &String::new) {
                Ok((ObjectKind::Commit, body)) => {
                    let links = crate::import::commit::links(body, id.kind());
                    stack.extend(links.map(|(_, parents)| parents).unwrap_or_default());
                }
                Ok((ObjectKind::Tag, body)) => {
                    stack.extend(crate::import::keep::tag_target(body, id.kind()));
                }
                Ok(_) => {}
                // Shallow or partial: what is behind it is not had.
                Err(GitError::Missing { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(known)
    }

    /// The folder of packs, which is made if need be.
    ///
    /// # Errors
    /// `Io`, `Git`.
    pub(super) fn pack_dir(&self) -> Result<PathBuf> {
        let common = match &self.found {
            Some(found) => open(&found.git_dir, &self.path)?.common_dir().to_owned(),
            None => self.path.clone(),
        };
        let dir = common.join("objects/pack");
        make_dir(&dir)?;
        if self.is_new() {
            make_dir(&common.join("objects/info"))?;
            make_dir(&common.join("refs/heads"))?;
            make_dir(&common.join("refs/tags"))?;
        }
        Ok(dir)
    }

    /// Writes the refs of a new repository, and `HEAD` last: from then on it is one. Commits of `shallow` have no parents
    /// here.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn create(
        &self,
        refs: &BTreeMap<BString, (ObjectId, Option<ObjectId>)>,
        head: &[u8],
        shallow: &[ObjectId],
    ) -> Result<()> {
        let bare = self.path.file_name() != Some(".git".as_ref());
        let mut config = String::from("[core]\n");
        let version = if self.format == Kind::Sha1 { 0 } else { 1 };
        config.push_str(&format!(
            "\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = {bare}\n"
        ));
        if self.format != Kind::Sha1 {
            config.push_str("[extensions]\n\tobjectformat = sha256\n");
        }
        self.write("config", config.as_bytes())?;
        if !refs.is_empty() {
            // Objects behind annotated tags stand below them: readers need not look.
            let mut packed = b"# pack-refs with: peeled fully-peeled sorted \n".to_vec();
            for (name, (id, peeled)) in refs {
                packed.extend_from_slice(format!("{id} ").as_bytes());
                packed.extend_from_slice(name);
                packed.push(b'\n');
                if let Some(peeled) = peeled {
                    packed.extend_from_slice(format!("^{peeled}\n").as_bytes());
                }
            }
            self.write("packed-refs", &packed)?;
        }
        if !shallow.is_empty() {
            let lines: String = shallow.iter().map(|id| format!("{id}\n")).collect();
            self.write("shallow", lines.as_bytes())?;
        }
        self.write("HEAD", head)?;
        sync_dir(&self.path)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let (temporary, path) = (self.path.join(format!("{name}.lock")), self.path.join(name));
        let failed = |action| move |source| GitError::Io { action, path: self.path.join(name), source };
        let mut file = fs::File::create(&temporary).map_err(failed("create"))?;
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed("write"))?;
        fs::rename(&temporary, &path).map_err(failed("rename"))
    }

    /// Moves refs of a repository that is there, all or none as far as Git's files allow: each must still be where it was.
    /// `head` is what `HEAD` becomes, if it is to change.
    ///
    /// # Errors
    /// `Git` when another process moved or locked a ref.
    pub(super) fn move_refs(
        &self,
        edits: &[(BString, Option<ObjectId>, ObjectId)],
        head: Option<&BStr>,
        now_ms: i64,
    ) -> Result<()> {
        use gix::refs::Target as To;
        use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};
        let Some(found) = &self.found else { return Ok(()) };
        let failed = |detail: String| GitError::Git { what: "refs", path: self.path.clone(), detail };
        let repo = open(&found.git_dir, &self.path)?;
        let log = LogChange {
            mode: RefLog::AndReference,
            force_create_reflog: false,
            message: "gemel: export".into(),
        };
        let name =
            |name: &BStr| gix::refs::FullName::try_from(name).map_err(|e| failed(format!("{name}: {e}")));
        let mut list = Vec::with_capacity(edits.len() + 1);
        for (full, old, new) in edits {
            let expected = match old {
                Some(old) => PreviousValue::MustExistAndMatch(To::Object(*old)),
                None => PreviousValue::MustNotExist,
            };
            let change = Change::Update { log: log.clone(), expected, new: To::Object(*new) };
            list.push(RefEdit { change, name: name(full.as_ref())?, deref: false });
        }
        if let Some(branch) = head {
            let new = To::Symbolic(name(branch)?);
            let change = Change::Update { log, expected: PreviousValue::Any, new };
            list.push(RefEdit { change, name: name("HEAD".into())?, deref: false });
        }
        let time = format!("{} +0000", now_ms.div_euclid(1000));
        let who = gix::actor::SignatureRef { name: "gemel".into(), email: "gemel@local".into(), time: &time };
        repo.edit_references_as(list, Some(who)).map(drop).map_err(|e| failed(e.to_string()))
    }
}

/// Whether nothing is at `path`, or an empty folder, or one in which an export was stopped.
fn is_free(path: &Path) -> Result<bool> {
    let failed = |source| GitError::Io { action: "look into", path: path.to_owned(), source };
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(false),
        Err(source) => return Err(failed(source)),
    };
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        let name = name.to_string_lossy();
        let own = OWN_FILES.contains(&name.trim_end_matches(".lock")) || name == "HEAD.lock";
        if !own {
            return Ok(false);
        }
    }
    Ok(true)
}

fn open(git_dir: &Path, path: &Path) -> Result<gix::Repository> {
    let options = gix::open::Options::isolated().open_path_as_is(true).with(gix::sec::Trust::Full);
    gix::open_opts(git_dir, options)
        .map_err(|e| GitError::NotARepository { path: path.to_owned(), detail: chain(&e) })
}

fn make_dir(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(|source| GitError::Io { action: "create", path: dir.to_owned(), source })
}

/// Branches that stand in a worktree: the main one's unless the repository is bare, and those of linked ones.
fn checked_out(repo: &gix::Repository, path: &Path) -> Result<BTreeMap<BString, PathBuf>> {
    let common = repo.common_dir();
    let mut dirs = Vec::new();
    if repo.config_snapshot().boolean("core.bare") != Some(true) {
        dirs.push(common.to_owned());
    }
    match fs::read_dir(common.join("worktrees")) {
        Ok(entries) => {
            for entry in entries {
                let failed = |source| GitError::Io { action: "look into", path: path.to_owned(), source };
                dirs.push(entry.map_err(failed)?.path());
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(source) => {
            return Err(GitError::Io { action: "look into", path: common.join("worktrees"), source });
        }
    }
    let mut found = BTreeMap::new();
    for dir in dirs {
        let text = fs::read(dir.join("HEAD")).unwrap_or_default();
        if let Some(branch) = text.strip_prefix(b"ref:") {
            found.insert(branch.trim_ascii().into(), dir);
        }
    }
    Ok(found)
}

/// What the file `HEAD` says of a branch or commit.
pub(super) fn head_text(head: &Head) -> Vec<u8> {
    match head {
        Head::Branch(name) => [b"ref: ", &name[..], b"\n"].concat(),
        Head::Detached(id) => format!("{id}\n").into_bytes(),
    }
}
