//! A Git repository that is read: objects, refs, `HEAD`, the shallow boundary. Nothing it configures is run, and
//! replacements and grafts are not followed.

use crate::object::{ObjectKind, hash_body};
use crate::{GitError, Result};
use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::hash::Kind;
use gix::objs::{Find, FindHeader};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Bytes of resolved bases that each reader keeps.
const BASE_CACHE_BYTES: usize = 96 << 20;

/// An opened Git repository. Safe to share: each thread takes a reader of its own.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    objects: Mutex<gix::odb::Handle>,
    /// Every ref but `HEAD`, by name.
    pub(crate) refs: BTreeMap<BString, ObjectId>,
    pub(crate) head: Head,
    /// Commits whose parents were left behind.
    pub(crate) shallow: gix::hashtable::HashSet<ObjectId>,
    /// Bytes of packs and their indexes, for the report.
    pub(crate) pack_bytes: u64,
}

/// What `HEAD` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// A branch, born or not.
    Branch(BString),
    /// A commit.
    Detached(ObjectId),
}

impl Source {
    /// Opens the repository whose Git directory (or worktree, or `.git` file) is `path`; folders above are not
    /// searched.
    ///
    /// # Errors
    /// `NotARepository`, `Git`.
    pub(crate) fn open(path: &Path) -> Result<Source> {
        let not_one = |detail: String| GitError::NotARepository { path: path.to_owned(), detail };
        let dir = git_dir(path).map_err(not_one)?;
        let options = gix::open::Options::isolated().open_path_as_is(true).with(gix::sec::Trust::Full);
        let repo = gix::open_opts(&dir, options).map_err(|e| not_one(chain(&e)))?;
        let failed = |what: &'static str| {
            let path = path.to_owned();
            move |detail: String| GitError::Git { what, path, detail }
        };
        // Read as files, refs in another form would look like none.
        if let Some(form) =
            repo.config_snapshot().string("extensions.refStorage").filter(|form| *form != "files")
        {
            let detail = format!(
                "they are stored as {form}; `git refs migrate --ref-format=files` makes them readable"
            );
            return Err(failed("refs")(detail));
        }
        let kind = repo.object_hash();
        let (refs, head) = (read_refs(&repo, path)?, head_of(&repo, path)?);
        let shallow = repo.shallow_commits().map_err(|e| failed("shallow boundary")(chain(&e)))?;
        let shallow = shallow.iter().flat_map(|list| list.iter().copied()).collect();
        let pack_bytes = pack_bytes(repo.common_dir());
        let mut objects = repo.objects.into_inner();
        objects.ignore_replacements = true;
        objects.refresh_never();
        objects.set_pack_cache(|| {
            Box::new(gix::odb::pack::cache::lru::MemoryCappedHashmap::new(BASE_CACHE_BYTES))
        });
        Ok(Source {
            path: path.to_owned(),
            kind,
            objects: Mutex::new(objects),
            refs,
            head,
            shallow,
            pack_bytes,
        })
    }

    /// A reader for one thread.
    pub(crate) fn reader(&self) -> Reader {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Reader { objects, kind: self.kind, buffer: Vec::new() }
    }

    /// The object that a name stands for: `HEAD`, a full or short ref name, or a whole object name.
    pub(crate) fn resolve(&self, name: &str) -> Option<ObjectId> {
        let direct = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        let found = match name {
            "HEAD" => self.head_target(),
            _ => direct
                .iter()
                .find_map(|prefix| self.refs.get(format!("{prefix}{name}").as_bytes().as_bstr()).copied()),
        };
        found.or_else(|| ObjectId::from_hex(name.as_bytes()).ok().filter(|id| id.kind() == self.kind))
    }

    /// What `HEAD` points to, unless the branch is not born.
    pub(crate) fn head_target(&self) -> Option<ObjectId> {
        match &self.head {
            Head::Branch(name) => self.refs.get(name).copied(),
            Head::Detached(id) => Some(*id),
        }
    }
}

/// Reads objects for one thread.
pub(crate) struct Reader {
    objects: gix::odb::Handle,
    kind: Kind,
    buffer: Vec<u8>,
}

impl Reader {
    /// Kind and body of an object, checked against its name. `at` says what needs it.
    ///
    /// # Errors
    /// `Missing`, `Damaged`.
    pub(crate) fn read(&mut self, id: &ObjectId, at: &dyn Fn() -> String) -> Result<(ObjectKind, &[u8])> {
        let damaged = |detail: String| GitError::Damaged { oid: id.to_string(), at: at(), detail };
        let kind = match self.objects.try_find(id, &mut self.buffer) {
            Ok(Some(data)) => ObjectKind::from_git(data.kind),
            Ok(None) => return Err(GitError::Missing { oid: id.to_string(), at: at() }),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let found = hash_body(self.kind, kind, &self.buffer);
        if found != *id {
            return Err(damaged(format!("its bytes hash to {found}")));
        }
        Ok((kind, &self.buffer))
    }

    /// The body of an object of `kind`.
    ///
    /// # Errors
    /// `Missing`, `Damaged`.
    pub(crate) fn body(&mut self, id: &ObjectId, kind: ObjectKind, at: &dyn Fn() -> String) -> Result<&[u8]> {
        let (found, _) = self.read(id, at)?;
        if found != kind {
            let detail = format!("it is a {} where a {} is needed", found.name(), kind.name());
            return Err(GitError::Damaged { oid: id.to_string(), at: at(), detail });
        }
        Ok(&self.buffer)
    }

    /// The one object whose name begins with these hexadecimal digits, at least four.
    ///
    /// # Errors
    /// `Damaged` when the objects cannot be looked through.
    pub(crate) fn by_prefix(&self, digits: &str) -> Result<Option<ObjectId>> {
        let Ok(prefix) = gix::hash::Prefix::from_hex(digits) else { return Ok(None) };
        let found = self.objects.lookup_prefix(prefix, None).map_err(|e| GitError::Damaged {
            oid: digits.to_owned(),
            at: String::new(),
            detail: e.to_string(),
        })?;
        Ok(found.and_then(std::result::Result::ok))
    }

    /// Kind and length of an object, without its bytes; `None` when absent.
    ///
    /// # Errors
    /// `Damaged`.
    pub(crate) fn header(&self, id: &ObjectId) -> Result<Option<(ObjectKind, u64)>> {
        let header = self.objects.try_header(id).map_err(|e| GitError::Damaged {
            oid: id.to_string(),
            at: String::new(),
            detail: e.to_string(),
        })?;
        Ok(header.map(|header| (ObjectKind::from_git(header.kind), header.size)))
    }
}

/// The Git directory that `path` names.
pub(crate) fn git_dir(path: &Path) -> Result<PathBuf, String> {
    let found = std::fs::metadata(path).map_err(|e| e.to_string())?;
    if found.is_dir() {
        let inner = path.join(".git");
        // A bare repository may track a file of that name; a repository's own files decide.
        return if path.join("HEAD").exists() || !inner.exists() {
            Ok(path.to_owned())
        } else {
            git_dir(&inner)
        };
    }
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let target = text.strip_prefix("gitdir:").ok_or("the file does not name a Git directory")?.trim();
    let target = path.parent().unwrap_or(Path::new("")).join(target);
    if target.is_dir() { Ok(target) } else { Err(format!("{} is not a folder", target.display())) }
}

fn read_refs(repo: &gix::Repository, path: &Path) -> Result<BTreeMap<BString, ObjectId>> {
    let failed = |detail: String| GitError::Git { what: "refs", path: path.to_owned(), detail };
    let platform = repo.references().map_err(|e| failed(chain(&e)))?;
    let mut refs = BTreeMap::new();
    for found in platform.all().map_err(|e| failed(chain(&e)))? {
        let found = found.map_err(|e| failed(e.to_string()))?;
        let name = found.name().as_bstr().to_owned();
        let id = match found.target() {
            gix::refs::TargetRef::Object(id) => Some(id.to_owned()),
            // One that points to another, itself listed; a dangling one stands for nothing.
            gix::refs::TargetRef::Symbolic(_) => found.clone().follow_to_object().ok().map(gix::Id::detach),
        };
        if let Some(id) = id {
            refs.insert(name, id);
        }
    }
    Ok(refs)
}

fn head_of(repo: &gix::Repository, path: &Path) -> Result<Head> {
    let failed = |detail: String| GitError::Git { what: "HEAD", path: path.to_owned(), detail };
    let head = repo.head().map_err(|e| failed(chain(&e)))?;
    Ok(match head.kind {
        gix::head::Kind::Symbolic(found) => Head::Branch(found.name.as_bstr().to_owned()),
        gix::head::Kind::Unborn(name) => Head::Branch(name.as_bstr().to_owned()),
        gix::head::Kind::Detached { target, .. } => Head::Detached(target),
    })
}

fn pack_bytes(common_dir: &Path) -> u64 {
    let entries = std::fs::read_dir(common_dir.join("objects/pack")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}
