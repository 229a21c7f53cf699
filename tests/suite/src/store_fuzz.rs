//! Replays the fuzz corpora of the store's targets with the stable compiler, each input also cut and with bytes changed.

use std::fs;
use std::path::Path;

#[path = "../../fuzz/entry/store.rs"]
mod entry;

/// Changed copies of each input.
const CHANGED: u64 = 200;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let input = fs::read(entry.unwrap().path()).unwrap();
        run(&input);
        (0..CHANGED).for_each(|round| run(&changed(&input, round)));
        inputs += 1;
    }
    assert!(inputs > 3, "{target} has {inputs} inputs");
}

/// `input` with a few bytes replaced, and often cut.
fn changed(input: &[u8], round: u64) -> Vec<u8> {
    let mut seed = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |bound: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap_or(0) % bound.max(1)
    };
    let mut out = input.to_vec();
    for _ in 0..1 + below(4) {
        let (at, byte) = (below(out.len()), below(256));
        if let Some(place) = out.get_mut(at) {
            *place = u8::try_from(byte).unwrap_or(0);
        }
    }
    if round % 3 == 2 {
        out.truncate(below(input.len() + 1));
    }
    out
}

#[test]
fn packs_replay() {
    replay("store_pack", entry::pack);
    replay("store_pack_index", entry::pack_index);
}

#[test]
fn ref_files_replay() {
    replay("store_journal", entry::journal);
    replay("store_ref_stack", entry::ref_stack);
    replay("store_ref_table", entry::ref_table);
}
