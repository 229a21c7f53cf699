//! The files that stop 0.12 are there after whatever makes or opens a store for writing.

use crate::fixture::Old;
use gemel_store::legacy::{STOPPER_TEXT, STOPPERS, check_stoppers};
use gemel_store::vfs::Vfs;
use gemel_store::vfs::real::RealDisk;
use gemel_store::{Store, StoreError};
use std::path::Path;
use std::sync::Arc;

fn assert_stopped(dir: &Path) {
    for name in STOPPERS {
        let meta = std::fs::symlink_metadata(dir.join(name)).unwrap();
        assert!(meta.is_file(), "{name}");
        assert_eq!(std::fs::read_to_string(dir.join(name)).unwrap(), STOPPER_TEXT, "{name}");
    }
    assert_eq!(check_stoppers(&RealDisk::new(), dir).unwrap(), &[]);
}

#[test]
fn present_after_init_migrate_and_open_for_writing() {
    let vfs: Arc<dyn Vfs> = Arc::new(RealDisk::new());
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join(".gemel");
    let store = Store::init(Arc::clone(&vfs), &dir).unwrap();
    assert_stopped(&dir);
    std::fs::remove_file(dir.join("objects")).unwrap();
    std::fs::remove_file(dir.join("remotes.json")).unwrap();
    assert_eq!(check_stoppers(vfs.as_ref(), &dir).unwrap().len(), 2);
    drop(store.transaction().unwrap());
    assert_stopped(&dir);

    let old = Old::new(vfs, &temp.path().join("old"));
    old.migrate().unwrap();
    assert_stopped(&old.dir);
}

/// Something else under one of the names is named, not replaced.
#[test]
fn a_folder_in_the_place_of_a_stopper_refuses_writing() {
    let vfs: Arc<dyn Vfs> = Arc::new(RealDisk::new());
    let temp = tempfile::tempdir().unwrap();
    let store = Store::init(Arc::clone(&vfs), temp.path()).unwrap();
    std::fs::remove_file(temp.path().join("refs")).unwrap();
    std::fs::create_dir(temp.path().join("refs")).unwrap();
    let refused = store.transaction();
    assert!(matches!(refused, Err(StoreError::CorruptFile { .. })), "{refused:?}");
    assert_eq!(check_stoppers(vfs.as_ref(), temp.path()).unwrap()[0].0, "refs");
    Store::open(vfs, temp.path()).unwrap().refs().unwrap();
}
