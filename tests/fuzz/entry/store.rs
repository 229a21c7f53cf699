//! What the store's targets do with an input. Shared by the fuzzer and by the suite's replay.
//!
//! An input is a file. Checks that guard against accident are put right first, so that what lies behind them is
//! reached; a hostile writer does the same.

use gemel_object::Gid;
use gemel_packfmt::frame::{self, Frame, HEADER_LEN};
use gemel_packfmt::group::Group;
use gemel_packfmt::index::Index;
use gemel_packfmt::mark::Mark;
use gemel_packfmt::{KEY_LEN, codec, cut, delta, large};
use gemel_store::vfs::Vfs;
use gemel_store::vfs::sim::SimDisk;
use gemel_store::{Depth, Store, refs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "/f/.gemel";
/// Longer inputs say nothing more.
const MOST: usize = 1 << 20;

/// A new store with `bytes` as one of its files.
fn store_with(file: &str, bytes: &[u8]) -> Option<(SimDisk, Store)> {
    let disk = SimDisk::new();
    Store::init(Arc::new(disk.clone()), Path::new(DIR)).ok()?;
    disk.overwrite(&PathBuf::from(DIR).join(file), bytes).ok()?;
    let store = Store::open(Arc::new(disk.clone()), Path::new(DIR)).ok()?;
    Some((disk, store))
}

/// Bytes as the frames of a pack: the layouts by themselves, then a store that holds the pack.
pub(crate) fn pack(data: &[u8]) {
    let data = &data[..data.len().min(MOST)];
    let mut pack = frame::header(1).to_vec();
    pack.extend_from_slice(data);
    let mut at = HEADER_LEN as u64;
    while let Ok(found) = Frame::parse(&pack, at) {
        assert!(found.end > at && found.end <= pack.len() as u64);
        layouts(&found);
        let payload_at = found.end as usize - found.payload.len();
        let check =
            frame::check_of(&[&pack[at as usize..payload_at - 4], &pack[payload_at..found.end as usize]]);
        at = found.end;
        pack[payload_at - 4..payload_at].copy_from_slice(&check.to_le_bytes());
    }
    let Some((_, store)) = store_with("packs/00000001.pack", &pack) else { return };
    for id in store.ids().unwrap_or_default() {
        if let Ok(bytes) = store.read(&id) {
            assert_eq!(Gid::of_envelope(id.family(), &bytes), id);
        }
        let _ = store.len_bytes(&id);
    }
    let report = store.verify(Depth::Canonical, &|_, _| {}).unwrap();
    assert!(report.objects_ok <= report.objects && report.objects <= pack.len() as u64);
}

/// The payload of a frame as everything it may hold.
fn layouts(found: &Frame<'_>) {
    let plain = found.plain_size().unwrap_or(0).min(MOST);
    let mut out = Vec::new();
    let _ = codec::inflate(found.payload, codec::Aid::Alone, plain, &mut out);
    if let Ok(group) = Group::parse(found.payload) {
        let held: usize =
            (0..group.len()).filter_map(|n| group.member(n)).map(|(_, c, f)| c.len() + f.len()).sum();
        assert!(held <= found.payload.len());
    }
    if let Ok(offsets) = large::read(found.offset, found.payload) {
        assert!(offsets.iter().all(|offset| *offset < found.offset));
    }
    let _ = Mark::read(found);
    let _ = delta::decode(b"a base of a few bytes, as good as any", found.payload, plain, &mut Vec::new());
    let _ = cut::splice(found.payload, &[[7; KEY_LEN]; 3], &mut Vec::new());
}

/// Bytes as the index of a pack; its header's check is put right.
pub(crate) fn pack_index(data: &[u8]) {
    const CHECK_AT: usize = 124;
    let mut bytes = data[..data.len().min(MOST)].to_vec();
    if bytes.len() >= CHECK_AT + 4 {
        let check = frame::check_of(&[&bytes[..CHECK_AT]]);
        bytes[CHECK_AT..CHECK_AT + 4].copy_from_slice(&check.to_le_bytes());
    }
    let Ok(index) = Index::open(&bytes) else { return };
    assert!(u64::from(index.objects) <= 4 * bytes.len() as u64);
    for ordinal in 0..index.objects {
        let _ = (index.place(&bytes, ordinal), index.is_brief(&bytes, ordinal));
        let Some(key) = index.key(&bytes, ordinal) else { continue };
        let found = index.find(&bytes, &key).and_then(|found| index.key(&bytes, found));
        assert!(found.is_none_or(|found| found[1..] == key[1..]));
        let _ = (
            index.perhaps(&bytes, &key).count(),
            index.beginning(&bytes, (key[0], true), &key[1..4], 20).count(),
        );
    }
    let _ = (index.foreign_key(&bytes, 0), index.dictionaries().len(), index.verify_all(&bytes));
    // Beside a pack that it was not made for.
    let Some((disk, store)) = store_with("packs/00000001.idx", &bytes) else { return };
    disk.overwrite(&PathBuf::from(DIR).join("packs/00000001.pack"), &frame::header(1)).unwrap();
    let _ = store.ids();
    let _ = store.verify(Depth::Hashes, &|_, _| {});
}

/// Everything a reader asks of refs.
fn read_refs(disk: &SimDisk) {
    let vfs: Arc<dyn Vfs> = Arc::new(disk.clone());
    let _ = refs::verify(&vfs, Path::new(DIR)).unwrap();
    let _ = refs::journal_entries(&vfs, Path::new(DIR), 1000);
    let Ok(refs) = refs::open(&vfs, Path::new(DIR)) else { return };
    let Ok(all) = refs.scan("") else { return };
    let mut before = None;
    for (name, _) in all.take(10_000) {
        let _ = refs.value(&name);
        assert!(before.is_none_or(|before| before < name), "names ascend");
        before = Some(name);
    }
}

/// Bytes as a journal; the checks of its frames are put right.
pub(crate) fn journal(data: &[u8]) {
    const HEADER: usize = 16;
    let mut bytes = data[..data.len().min(MOST)].to_vec();
    let mut at = 0;
    while let Some(header) = bytes.get(at..at + HEADER) {
        let body = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let header_check = digest(&header[..12]);
        bytes[at + 12..at + HEADER].copy_from_slice(&header_check[..4]);
        let end = at.saturating_add(HEADER).saturating_add(body);
        if end.saturating_add(16) > bytes.len() {
            break;
        }
        let check = digest(&bytes[at..end]);
        bytes[end..end + 16].copy_from_slice(&check);
        at = end + 16;
    }
    if let Some((disk, _)) = store_with("refdb/00000001.journal", &bytes) {
        read_refs(&disk);
    }
}

/// Bytes as the list of tables; its check is put right.
pub(crate) fn ref_stack(data: &[u8]) {
    let mut bytes = data[..data.len().min(MOST)].to_vec();
    put_digest(&mut bytes, 0);
    if let Some((disk, _)) = store_with("refdb/stack", &bytes) {
        read_refs(&disk);
    }
}

/// Bytes as the only table of a list; its length and the checks of its footer, root and counters are put right.
pub(crate) fn ref_table(data: &[u8]) {
    const FOOTER: usize = 90;
    let mut table = data[..data.len().min(MOST)].to_vec();
    let Some(footer) = table.len().checked_sub(FOOTER) else { return };
    for at in [footer, footer + 21] {
        let number = |at: usize, len: usize| {
            table[at..at + len]
                .iter()
                .rev()
                .fold(0usize, |sum, byte| sum.wrapping_shl(8) | usize::from(*byte))
        };
        let (offset, len) = (number(at, 8), number(at + 8, 4));
        if let Some(block) = offset.checked_add(len).and_then(|end| table.get(offset..end)) {
            let check = digest(block);
            table[at + 12..at + 20].copy_from_slice(&check[..8]);
        }
    }
    let len = table.len() as u64;
    table[footer + 58..footer + 66].copy_from_slice(&len.to_le_bytes());
    put_digest(&mut table, footer);
    let check = table[table.len() - 16..].to_vec();
    let mut stack = [&b"GMRS"[..], &1u32.to_le_bytes(), &[0; 24], &3u64.to_le_bytes()].concat();
    stack.extend([&1u64.to_le_bytes()[..], &0u64.to_le_bytes(), &[0; 24], &1u32.to_le_bytes()].concat());
    stack.extend(
        [&2u64.to_le_bytes()[..], &(table.len() as u64).to_le_bytes(), &check, &[0; 8], &[0; 16]].concat(),
    );
    put_digest(&mut stack, 0);
    let Some((disk, _)) = store_with("refdb/stack", &stack) else { return };
    if disk.overwrite(&PathBuf::from(DIR).join("refdb/00000002.table"), &table).is_ok() {
        read_refs(&disk);
    }
}

/// The first 16 bytes of a BLAKE3.
fn digest(bytes: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    short
}

/// Puts the digest of the bytes from `from` on into the last 16.
fn put_digest(bytes: &mut [u8], from: usize) {
    if let Some(at) = bytes.len().checked_sub(16).filter(|at| *at >= from) {
        let check = digest(&bytes[from..at]);
        bytes[at..].copy_from_slice(&check);
    }
}
