//! Small facts that many answers share.

use gemel_object::Gid;

/// An identity and the name a ref gives it, if one does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The identity.
    pub id: Gid,
    /// Its name without namespace: `C1`, `T2`, a label.
    pub name: Option<String>,
}

/// An identity with name and summary (query surface, section 1.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The identity.
    pub id: Gid,
    /// Its name without namespace.
    pub name: Option<String>,
    /// What it says of itself.
    pub summary: Option<String>,
}

/// Something left out of an answer, with the reason (query surface, section 1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// What kind of thing.
    pub class: &'static str,
    /// How many.
    pub count: u64,
    /// Why.
    pub reason: &'static str,
    /// Which, when at most eight.
    pub ids: Vec<String>,
}

/// Something the answer does not know (query surface, section 1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncertainty {
    /// What kind of thing.
    pub class: &'static str,
    /// Objects it is about.
    pub ids: Vec<String>,
    /// Why.
    pub reason: String,
}

/// A slice of a longer list (query surface, section 1.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Rows in this page.
    pub count: u64,
    /// Where the next page starts; `None` at the end.
    pub next: Option<Cursor>,
    /// What was adjusted: a capped limit, a restarted cursor.
    pub notice: Option<String>,
}

/// Position in a list: the last row sent and how many were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Identity of the last row sent.
    pub anchor: Gid,
    /// Rows sent so far, at least 1.
    pub offset: u64,
}

/// How a path differs (query surface, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathStatus {
    /// Not there before.
    Added,
    /// Other bytes or another executable bit.
    Modified,
    /// Gone.
    Deleted,
    /// File became link or the reverse.
    TypeChanged,
    /// The same bytes under another path.
    Renamed,
}

impl PathStatus {
    /// The word used in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            PathStatus::Added => "Added",
            PathStatus::Modified => "Modified",
            PathStatus::Deleted => "Deleted",
            PathStatus::TypeChanged => "TypeChanged",
            PathStatus::Renamed => "Renamed",
        }
    }
}

/// A changed path. A move is one change, under the new path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathChange {
    /// Path relative to the root.
    pub path: String,
    /// How it differs.
    pub status: PathStatus,
    /// The path before, of a move.
    pub from: Option<String>,
}

/// Hears of long work. Every method may be called from several threads; none may block.
pub trait Progress: Sync {
    /// A stage begins; `total` units are expected if that is known.
    fn begin(&self, stage: Stage, total: Option<u64>);
    /// `units` more are done.
    fn advance(&self, units: u64);
    /// The stage is over.
    fn end(&self);
}

/// A stage of long work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Listing and hashing files.
    Capture,
    /// Writing files.
    Checkout,
    /// Reading stored objects.
    Verify,
    /// Following references.
    Reach,
    /// Reading commits of another system.
    ReadCommits,
    /// Comparing commits with their parents.
    CompareCommits,
    /// Writing versions of files.
    WriteFiles,
    /// Writing versions of folders.
    WriteTrees,
    /// Writing changes.
    WriteChanges,
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: Stage, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}
