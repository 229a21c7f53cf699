//! An identity that is stored keeps its bytes, whoever offers what under it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_object::{Limits, blob_envelope};
use gemel_store::vfs::sim::SimDisk;
use gemel_store::{NewObject, Store};
use std::path::Path;
use std::sync::Arc;

/// STO-03, OBJ-01, T-08: other bytes under a stored identity, or twice in one session, are never written.
#[test]
fn other_bytes_under_a_stored_identity_are_never_written() {
    let disk = SimDisk::new();
    let store = Store::init(Arc::new(disk), Path::new("/s")).unwrap();
    let object = |text: &str| blob_envelope(text.as_bytes(), &Limits::DEFAULT).unwrap();
    let (first, other) = (object("first"), object("other"));
    let put = |texts: &[&[u8]]| {
        let writer = store.writer().unwrap();
        let new: Vec<bool> = texts
            .iter()
            .map(|bytes| writer.put(NewObject { id: first.id, bytes: bytes.to_vec(), base: None }).unwrap())
            .collect();
        (new, writer.commit().unwrap().objects_new)
    };
    assert_eq!(put(&[&first.bytes, &other.bytes]), (vec![true, false], 1));
    assert_eq!(put(&[&other.bytes]), (vec![false], 0));
    assert_eq!(store.read(&first.id).unwrap(), first.bytes);
    assert!(!store.contains(&other.id).unwrap());
}
