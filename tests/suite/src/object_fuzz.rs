//! Replays the fuzz corpora of the object targets with the stable compiler.

use std::fs;
use std::path::Path;

#[path = "../../fuzz/entry/object.rs"]
pub(crate) mod entry;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        run(&fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs > 10, "{target} has {inputs} inputs");
}

#[test]
fn corpora_replay() {
    replay("object_decode", entry::decode);
    replay("object_identity", entry::identity);
}
