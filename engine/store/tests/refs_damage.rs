//! Every byte flipped, every file cut at every length: an error or the same answer, never another one
//! (REF-05, STO-04, T-11, T-14, T-15, T-51).
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod refs_support;

use gemel_object::Family;
use gemel_store::refs::{self, RefFindingKind, RefOptions};
use gemel_store::vfs::Vfs;
use gemel_store::vfs::sim::SimDisk;
use gemel_store::{RefValue, StoreError};
use refs_support::*;
use std::path::{Path, PathBuf};

/// A ref database with several tables, journals, waiting records and an unfolded tail, and its state after every
/// transaction.
fn rich() -> (SimDisk, Vec<Model>) {
    let disk = fresh();
    let mut history = vec![Model::new()];
    let mut run = |edits: Vec<(String, Option<RefValue>)>, options: RefOptions| {
        commit(&disk, options, &edits).unwrap();
        let mut model = history.last().unwrap().clone();
        apply(&mut model, &edits);
        history.push(model);
    };
    // Two tables that stay apart: a large one below, a small one with removals on top.
    run(
        (0..30).map(|n| (format!("refs/names/S{n}"), Some(RefValue::Id(id(Family::State, n))))).collect(),
        TINY,
    );
    (1..=9).for_each(|n| run(step(n), TINY));
    run((0..9).map(|n| (format!("refs/names/S{n}"), None)).collect(), RefOptions { tail_records: 0, ..TINY });
    run(step(10), TINY);
    run(step(11), TINY);
    (disk.fork(), history)
}

fn files_of(disk: &SimDisk) -> Vec<(PathBuf, Vec<u8>)> {
    disk.files().into_iter().filter(|(path, _)| path.starts_with(dir().join("refdb"))).collect()
}

/// Everything the damaged disk still says is what it said before; a journal may say what it said earlier.
fn check(disk: &SimDisk, history: &[Model], is_journal: bool, context: &str) {
    let full = history.last().unwrap();
    let believed = |found: &Model| match is_journal {
        true => history.contains(found),
        false => found == full,
    };
    let report = refs::verify(&vfs(disk), dir()).unwrap();
    assert!(!report.findings.is_empty(), "{context}: not found");
    let _ = refs::journal_entries(&vfs(disk), dir(), 1000);
    let refs = match refs::open(&vfs(disk), dir()) {
        Ok(refs) => refs,
        Err(StoreError::CorruptFile { .. } | StoreError::UnknownVersion { .. }) => {
            return assert!(report.has_errors(), "{context}: {report:?}");
        }
        Err(other) => panic!("{context}: {other}"),
    };
    let items: Vec<_> = refs.scan("").unwrap().collect();
    if let Ok(all) = items
        .iter()
        .map(|(n, v)| Ok((n.clone(), v.as_ref().map_err(drop)?.clone())))
        .collect::<Result<Model, ()>>()
    {
        assert!(believed(&all), "{context}: {all:?}");
        all.iter().for_each(|(name, value)| {
            assert_eq!(refs.value(name).unwrap().as_ref(), Some(value), "{context}");
        });
    } else {
        assert!(report.has_errors(), "{context}: {report:?}");
        // What is read is right; what is missing is covered by an error at or before it.
        let mut errors = items.iter().filter(|(_, v)| v.is_err()).map(|(n, _)| n.clone());
        let first_error = errors.next().unwrap();
        for (name, value) in items.iter().filter_map(|(n, v)| Some((n, v.as_ref().ok()?))) {
            assert_eq!(full.get(name), Some(value), "{context}: {name}");
        }
        for name in full.keys().filter(|name| **name < first_error) {
            assert!(items.iter().any(|(n, _)| n == name), "{context}: {name} is gone before {first_error}");
        }
    }
    let some = full.keys().skip(context.len() % 5).step_by(5);
    for name in some.chain(&["refs/names/S3".to_owned(), "refs/names/absent".to_owned()]) {
        if let Ok(found) = refs.value(name) {
            let right = history.iter().rev().take(if is_journal { history.len() } else { 1 });
            assert!(
                right.into_iter().any(|m| m.get(name) == found.as_ref()),
                "{context}: {name} is {found:?}"
            );
        }
    }
    if let Ok(number) = refs.max_number("refs/names", "C") {
        assert!(number == 11 || is_journal, "{context}: {number}");
    }
}

#[test]
fn flips_and_cuts() {
    let (disk, history) = rich();
    assert_eq!(read_checked(&disk, "before"), *history.last().unwrap());
    let files = files_of(&disk);
    let kinds = |kind: &str| files.iter().filter(|(p, _)| p.extension().is_some_and(|e| e == kind)).count();
    assert!(
        kinds("table") >= 2 && kinds("journal") >= 2,
        "{:?}",
        files.iter().map(|f| &f.0).collect::<Vec<_>>()
    );
    for (path, bytes) in &files {
        let is_journal = path.extension().is_some_and(|e| e == "journal");
        for at in 0..bytes.len() {
            let mask = [0xff, 1 << (at / 2 % 8)][at % 2];
            let mut damaged = bytes.clone();
            damaged[at] ^= mask;
            disk.overwrite(path, &damaged).unwrap();
            check(&disk, &history, is_journal, &format!("{} byte {at} ^ {mask:#x}", path.display()));
        }
        for len in 0..bytes.len() {
            disk.overwrite(path, &bytes[..len]).unwrap();
            // A journal cut between two frames is a journal to which less was appended.
            let whole_frames = is_journal && refs::verify(&vfs(&disk), dir()).unwrap().findings.is_empty();
            if !whole_frames {
                check(&disk, &history, is_journal, &format!("{} cut to {len}", path.display()));
            } else {
                assert!(history.contains(&read_all(&disk).unwrap()), "{} cut to {len}", path.display());
            }
        }
        disk.overwrite(path, bytes).unwrap();
    }
}

#[test]
fn files_of_other_repositories_and_missing_files() {
    let (disk, history) = rich();
    let other = {
        let other = fresh();
        (1..=30).for_each(|n| commit(&other, TINY, &step(n + 500)).unwrap());
        commit(&other, TINY, &bulk(1)).unwrap();
        other
    };
    for (path, bytes) in files_of(&disk) {
        let is_journal = path.extension().is_some_and(|e| e == "journal");
        for (foreign, content) in files_of(&other) {
            // An empty journal is one to which less was appended.
            if foreign.extension() != path.extension() || path.extension().is_none() || content.is_empty() {
                continue;
            }
            disk.overwrite(&path, &content).unwrap();
            check(
                &disk,
                &history,
                is_journal,
                &format!("{} replaced by {}", path.display(), foreign.display()),
            );
        }
        let twice = [&bytes[..], &bytes[..]].concat();
        for garbage in [b"garbage".to_vec(), vec![0; 4096], twice] {
            // Frames of old transactions behind a journal are no damage: a block of the disk may hold them.
            if is_journal && garbage.starts_with(&bytes) {
                continue;
            }
            disk.overwrite(&path, &garbage).unwrap();
            check(
                &disk,
                &history,
                is_journal,
                &format!("{} replaced by {} bytes", path.display(), garbage.len()),
            );
        }
        disk.remove_file(&path).unwrap();
        check(&disk, &history, is_journal, &format!("{} removed", path.display()));
        disk.create_dir_all(&path).unwrap();
        check(&disk, &history, is_journal, &format!("{} is a directory", path.display()));
        disk.remove_dir(&path).unwrap();
        disk.overwrite(&path, &bytes).unwrap();
        // The other repository's stack names files by other checks.
        if path.ends_with("stack") {
            disk.overwrite(&path, &other.files()[&path]).unwrap();
            let report = refs::verify(&vfs(&disk), dir()).unwrap();
            assert!(report.has_errors());
            disk.overwrite(&path, &bytes).unwrap();
        }
    }
}

/// A transaction goes through although a table is damaged, and repairs the name it sets; the damage stays told.
#[test]
fn a_damaged_table_is_written_over_not_copied() {
    let (disk, history) = rich();
    let (path, bytes) =
        files_of(&disk).into_iter().find(|(p, _)| p.extension().is_some_and(|e| e == "table")).unwrap();
    let mut damaged = bytes.clone();
    damaged[20] ^= 1;
    disk.overwrite(&path, &damaged).unwrap();
    let broken: Vec<String> = history
        .last()
        .unwrap()
        .keys()
        .filter(|name| refs::open(&vfs(&disk), dir()).unwrap().value(name).is_err())
        .cloned()
        .collect();
    assert!(!broken.is_empty());
    let options = RefOptions { tail_records: 0, growth: 1000, ..TINY };
    let value = RefValue::Id(change(77));
    commit(&disk, options, &[(broken[0].clone(), Some(value.clone()))]).unwrap();
    let refs = refs::open(&vfs(&disk), dir()).unwrap();
    assert_eq!(refs.value(&broken[0]).unwrap(), Some(value));
    assert!(broken[1..].iter().all(|name| refs.value(name).is_err()));
    let report = refs::verify(&vfs(&disk), dir()).unwrap();
    assert!(report.findings.iter().any(|f| f.kind == RefFindingKind::Damaged && f.path == path));
}

/// A flipped bit in the last transaction looks like a torn append; what the next writer cuts off is kept.
#[test]
fn a_damaged_end_of_its_whole_length_is_kept_aside() {
    let disk = fresh();
    (1..=2).for_each(|n| commit(&disk, TINY, &step(n)).unwrap());
    let journal = dir().join("refdb/00000001.journal");
    let whole = disk.files()[&journal].clone();
    let first = {
        let disk = fresh();
        commit(&disk, TINY, &step(1)).unwrap();
        disk.files()[&journal].len()
    };
    let kept = |disk: &SimDisk| {
        let cut = files_of(disk).into_iter().filter(|(path, _)| path.to_string_lossy().contains(".cut-"));
        cut.map(|(_, bytes)| bytes).collect::<Vec<_>>()
    };
    for (end, flipped, count) in [(whole.len(), true, 1), (whole.len() - 1, false, 0), (first + 5, false, 0)]
    {
        let disk = disk.fork();
        let mut bytes = whole[..end].to_vec();
        bytes[end - 1] ^= u8::from(flipped);
        disk.overwrite(&journal, &bytes).unwrap();
        commit(&disk, TINY, &step(3)).unwrap();
        assert_eq!(kept(&disk).len(), count, "{end}");
        assert!(kept(&disk).iter().all(|cut| *cut == bytes[first..]));
        let report = refs::verify(&vfs(&disk), dir()).unwrap();
        let told = report.findings.iter().filter(|f| f.kind == RefFindingKind::CutTransaction).count();
        assert_eq!((told, report.has_errors()), (count, false));
        // Folding leaves it alone.
        commit(&disk, RefOptions { tail_records: 0, ..TINY }, &step(4)).unwrap();
        assert_eq!(kept(&disk).len(), count);
    }
}

/// T-15, T-30: bytes that are whole but say what may not be said are not followed. They are made by a writer that
/// does not check, which is this test: it rewrites names and values in a journal frame and renews the checks.
#[test]
fn values_of_other_families_are_not_followed() {
    let disk = fresh();
    commit(&disk, TINY, &step(1)).unwrap();
    let journal = dir().join("refdb").join("00000001.journal");
    let frame = disk.read(&journal, 1 << 20).unwrap();
    let forge = |from: &[u8], to: &[u8]| {
        assert_eq!(from.len(), to.len());
        let mut bytes = frame.clone();
        let at: Vec<usize> =
            (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
        assert!(!at.is_empty(), "{from:?}");
        at.iter().for_each(|at| bytes[*at..at + to.len()].copy_from_slice(to));
        let end = bytes.len() - 16;
        let check = blake3::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&check.as_bytes()[..16]);
        disk.overwrite(&journal, &bytes).unwrap();
        refs::open(&vfs(&disk), dir()).unwrap()
    };
    let told = || {
        let report = refs::verify(&vfs(&disk), dir()).unwrap();
        report.findings.iter().filter(|f| f.kind == RefFindingKind::CorruptRef).count()
    };
    // refs/head points to a blob, or to no family at all.
    for family in [Family::Blob.code(), 0, 0xff] {
        let mut forged = change(1).as_bytes().to_vec();
        forged[0] = family;
        let refs = forge(change(1).as_bytes(), &forged);
        assert!(matches!(refs.get("refs/head"), Err(StoreError::CorruptRef { .. })), "{family}");
        let head = refs.scan("refs/head").unwrap().next().unwrap();
        assert!(matches!(head, (_, Err(StoreError::CorruptRef { .. }))));
        assert!(refs.scan("local/").unwrap().all(|(_, v)| v.is_ok()), "the scan goes on");
        assert!(told() >= 1);
    }
    // A name that climbs out.
    let refs = forge(b"refs/names/C1", b"refs/names/..");
    assert!(refs.get("refs/names/..").is_err());
    assert!(refs.scan("refs/names/").unwrap().all(|(_, v)| matches!(v, Err(StoreError::CorruptRef { .. }))));
    assert_eq!(told(), 1);
    // A record where an identity belongs.
    let refs = forge(b"local/counters/change", b"refs/head/xxxxxxxxxxx");
    assert!(matches!(refs.value("refs/head/xxxxxxxxxxx"), Err(StoreError::CorruptRef { .. })));
}

/// Random bytes with a right beginning, as any of the files.
#[test]
fn random_bytes_never_panic() {
    let (disk, _) = rich();
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as u8
    };
    for (path, bytes) in files_of(&disk) {
        for round in 0..200 {
            let mut random: Vec<u8> = (0..bytes.len()).map(|_| next()).collect();
            let keep = (round * 7) % bytes.len().max(1);
            random[..keep].copy_from_slice(&bytes[..keep]);
            disk.overwrite(Path::new(&path), &random).unwrap();
            let _ = read_all(&disk);
            let _ = refs::verify(&vfs(&disk), dir()).unwrap();
            let _ = refs::journal_entries(&vfs(&disk), dir(), 10);
        }
        disk.overwrite(&path, &bytes).unwrap();
    }
}
