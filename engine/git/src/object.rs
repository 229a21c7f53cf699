//! Git objects: kinds, names as the hash of a header and a body, and the bytes of a tree.

use gemel_object::Mode;
use gix::ObjectId;
use gix::hash::Kind;
use sha1::Digest;

/// What a Git object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ObjectKind {
    Blob,
    Tree,
    Commit,
    Tag,
}

impl ObjectKind {
    /// As Git writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ObjectKind::Blob => "blob",
            ObjectKind::Tree => "tree",
            ObjectKind::Commit => "commit",
            ObjectKind::Tag => "tag",
        }
    }

    pub(crate) fn from_git(kind: gix::objs::Kind) -> ObjectKind {
        match kind {
            gix::objs::Kind::Blob => ObjectKind::Blob,
            gix::objs::Kind::Tree => ObjectKind::Tree,
            gix::objs::Kind::Commit => ObjectKind::Commit,
            gix::objs::Kind::Tag => ObjectKind::Tag,
        }
    }
}

/// Hashes bytes as a repository of its format does.
#[derive(Clone)]
pub(crate) enum Digester {
    Sha1(sha1::Sha1),
    Sha256(sha2::Sha256),
}

impl Digester {
    pub(crate) fn new(format: Kind) -> Digester {
        match format {
            Kind::Sha256 => Digester::Sha256(sha2::Sha256::new()),
            _ => Digester::Sha1(sha1::Sha1::new()),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Digester::Sha1(hasher) => hasher.update(bytes),
            Digester::Sha256(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> ObjectId {
        match self {
            Digester::Sha1(hasher) => ObjectId::Sha1(hasher.finalize().into()),
            Digester::Sha256(hasher) => ObjectId::Sha256(hasher.finalize().into()),
        }
    }
}

/// Names an object whose body comes in pieces.
pub(crate) struct BodyHasher(Digester);

impl BodyHasher {
    /// For a body of `len` bytes.
    pub(crate) fn new(format: Kind, kind: ObjectKind, len: u64) -> BodyHasher {
        let mut digest = Digester::new(format);
        digest.update(kind.name().as_bytes());
        digest.update(format!(" {len}\0").as_bytes());
        BodyHasher(digest)
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(crate) fn finish(self) -> ObjectId {
        self.0.finish()
    }
}

/// The name of the object with this body.
pub(crate) fn hash_body(format: Kind, kind: ObjectKind, body: &[u8]) -> ObjectId {
    let mut hasher = BodyHasher::new(format, kind, body.len() as u64);
    hasher.update(body);
    hasher.finish()
}

/// An entry of a tree to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeItem<'t> {
    pub(crate) name: &'t [u8],
    /// The digits of its mode.
    pub(crate) mode: &'t str,
    pub(crate) id: &'t ObjectId,
}

impl TreeItem<'_> {
    fn is_dir(&self) -> bool {
        self.mode == digits(Mode::Directory)
    }
}

/// The digits that Git writes for a mode.
pub(crate) fn digits(mode: Mode) -> &'static str {
    match mode {
        Mode::File => "100644",
        Mode::Executable => "100755",
        Mode::Link => "120000",
        Mode::Directory => "40000",
    }
}

/// Git's order: a folder's name goes on with a slash, any other with NUL.
fn compare(a: &TreeItem<'_>, b: &TreeItem<'_>) -> std::cmp::Ordering {
    let common = a.name.len().min(b.name.len());
    let end = |n: &TreeItem<'_>| n.name.get(common).copied().unwrap_or(if n.is_dir() { b'/' } else { 0 });
    let (left, right) = (a.name.get(..common), b.name.get(..common));
    left.cmp(&right).then_with(|| end(a).cmp(&end(b)))
}

/// A folder and a file of a tree, its entries ascending by name, that release 0.12 puts in the wrong order: the file's name goes on where the
/// folder's ends, with a byte above the slash.
pub(crate) fn misordered_by_0_12<'t>(items: &[TreeItem<'t>]) -> Option<(&'t [u8], &'t [u8])> {
    let goes_on = |dir: &[u8], file: &[u8]| file.get(dir.len()).is_some_and(|byte| *byte > b'/');
    for (at, dir) in items.iter().enumerate().filter(|(_, item)| item.is_dir()) {
        let after = items.iter().skip(at + 1).take_while(|item| item.name.starts_with(dir.name));
        if let Some(file) = after.into_iter().find(|file| !file.is_dir() && goes_on(dir.name, file.name)) {
            return Some((dir.name, file.name));
        }
    }
    None
}

/// Appends the body of a tree with these entries, each of another name, to `out`. They are put in order if they are
/// not.
pub(crate) fn tree_body(items: &mut [TreeItem<'_>], out: &mut Vec<u8>) {
    if !items.is_sorted_by(|a, b| compare(a, b).is_le()) {
        items.sort_unstable_by(|a, b| compare(a, b));
    }
    for item in items {
        out.extend_from_slice(item.mode.as_bytes());
        out.push(b' ');
        out.extend_from_slice(item.name);
        out.push(0);
        out.extend_from_slice(item.id.as_slice());
    }
}
