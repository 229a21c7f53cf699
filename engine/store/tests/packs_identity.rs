//! An identity that is stored keeps its bytes, whoever offers what under it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use gemel_object::{Limits, blob_envelope};
use gemel_store::vfs::sim::SimDisk;
use gemel_store::{NewObject, Store, StoreError};
use std::path::Path;
use std::sync::Arc;

/// STO-03, OBJ-01, T-08: other bytes under a stored identity, or twice in one session, are never written.
#[test]
fn other_bytes_under_a_stored_identity_are_never_written() {
    let disk = SimDisk::new();
    let store = Store::init(Arc::new(disk), Path::new("/s")).unwrap();
    let object = |text: &str| blob_envelope(text.as_bytes(), &Limits::DEFAULT).unwrap();
    let (first, other) = (object("first"), object("other"));
    let put = |bytes: &[u8]| {
        let writer = store.writer().unwrap();
        let put = writer.put(NewObject { id: first.id, bytes: bytes.to_vec(), base: None });
        put.map(|new| (new, writer.commit().unwrap().objects_new))
    };
    assert_eq!(put(&first.bytes).unwrap(), (true, 1));
    assert_eq!(put(&first.bytes).unwrap(), (false, 0));
    assert!(matches!(put(&other.bytes), Err(StoreError::HashCollision { id }) if id == first.id));
    // The same within one session, which goes on.
    let writer = store.writer().unwrap();
    let second = object("second");
    let offer = |bytes: &[u8]| writer.put(NewObject { id: second.id, bytes: bytes.to_vec(), base: None });
    assert!(offer(&second.bytes).unwrap());
    assert!(matches!(offer(&other.bytes), Err(StoreError::HashCollision { .. })));
    assert_eq!(writer.commit().unwrap().objects_new, 1);
    for stored in [&first, &second] {
        assert_eq!(store.read(&stored.id).unwrap(), stored.bytes);
    }
    assert!(!store.contains(&other.id).unwrap());
}
