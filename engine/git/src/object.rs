//! Git objects: kinds, and names as the hash of a header and a body.

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

/// The name of the object with this body.
pub(crate) fn hash_body(format: Kind, kind: ObjectKind, body: &[u8]) -> ObjectId {
    let header = format!("{} {}\0", kind.name(), body.len());
    let digest = |header: &str| -> Vec<u8> {
        match format {
            Kind::Sha256 => {
                sha2::Sha256::new().chain_update(header).chain_update(body).finalize().to_vec()
            }
            _ => sha1::Sha1::new().chain_update(header).chain_update(body).finalize().to_vec(),
        }
    };
    ObjectId::try_from(digest(&header).as_slice()).unwrap_or_else(|_| ObjectId::null(format))
}
