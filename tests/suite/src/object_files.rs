//! The pinned objects of the project, as the object tests read them.

use gemel_object::Limits;
use gemel_tools::vectors::{self, Table};
use std::path::{Path, PathBuf};

/// A path under `golden/`.
pub(crate) fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden").join(path)
}

/// A pinned table.
pub(crate) fn table(path: &str) -> Table {
    Table::read(&golden(path)).unwrap().unwrap()
}

/// The golden envelopes: name and bytes.
pub(crate) fn envelopes() -> Vec<(String, Vec<u8>)> {
    let found = vectors::envelopes(&golden("object")).unwrap();
    found.into_iter().map(|(name, (hex, _))| (name, vectors::unhex(&hex).unwrap())).collect()
}

/// The bytes and limits of every line of a pinned table.
pub(crate) fn lines(path: &str) -> Vec<(String, Vec<u8>, Limits)> {
    let table = table(path);
    table
        .rows()
        .map(|row| (row.cell("name").to_owned(), row.bytes().unwrap(), row.limits().unwrap()))
        .collect()
}
