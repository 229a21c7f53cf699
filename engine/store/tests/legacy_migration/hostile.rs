//! A hostile or damaged 0.12 directory: bounded, named, never followed; refused with nothing changed (T-08, T-15,
//! T-17), or left out on request.

use crate::fixture::{L, Old, put_file, run, same, snapshot};
use gemel_object::families::NewResidual;
use gemel_object::{Gid, blob_envelope};
use gemel_store::legacy::Severity::{Error, Note, Warning};
use gemel_store::legacy::{Finding, Severity};
use gemel_store::vfs::real::RealDisk;
use gemel_store::vfs::sim::SimDisk;
use gemel_store::{Store, StoreError};
use std::path::Path;
use std::sync::Arc;

/// A fixture with damage; the findings must be exactly `expected` (severity, code and path), every error must make
/// the migration refuse, and nothing may have changed.
fn check(damage: impl Fn(&mut Old), expected: &[(Severity, &str, &str)]) {
    let disk = SimDisk::new();
    let mut old = Old::new(Arc::new(disk.clone()), Path::new("/w/.gemel"));
    damage(&mut old);
    check_damaged(&old, expected, || disk.files());
}

/// The same on the system's disk, for what only that one knows: links, pipes, sparse files.
fn check_real(damage: impl Fn(&mut Old), expected: &[(Severity, &str, &str)]) {
    let temp = tempfile::tempdir().unwrap();
    let mut old = Old::new(Arc::new(RealDisk::new()), &temp.path().join(".gemel"));
    damage(&mut old);
    check_damaged(&old, expected, || listing(temp.path()));
}

fn check_damaged<T: PartialEq>(old: &Old, expected: &[(Severity, &str, &str)], listing: impl Fn() -> T) {
    let before = listing();
    let findings: Vec<Finding> = match old.migrate() {
        Err(StoreError::LegacyDamaged { findings, .. }) => {
            assert!(listing() == before);
            findings.list().to_vec()
        }
        Ok(facts) => facts.plan.findings.list().to_vec(),
        Err(other) => panic!("{other}"),
    };
    let found: Vec<_> =
        findings.iter().map(|f| (f.severity, f.code, f.path.to_str().unwrap_or("?"))).collect();
    assert_eq!(found, expected, "{findings:?}");
    if expected.iter().any(|(severity, ..)| *severity == Severity::Error) {
        // On request the rest is carried over, and the old files stay although they were to go.
        let facts = run(&old.vfs, &old.dir, true, true).unwrap();
        assert!(facts.old_files.is_some());
        let store = Store::open(Arc::clone(&old.vfs), &old.dir).unwrap();
        assert_eq!(store.matching(None, "", usize::MAX).unwrap().len() as u64, facts.plan.objects);
    }
}

/// Kinds, lengths and link targets of everything, without following or reading anything.
fn listing(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let size = if meta.is_file() { meta.len() } else { 0 };
            found.push(format!("{} {:?} {size}", path.display(), meta.file_type()));
            if meta.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The fixture on a disk in memory.
fn scratch() -> Old {
    Old::new(Arc::new(SimDisk::new()), Path::new("/w/.gemel"))
}

fn relative(old: &Old, id: &Gid) -> String {
    old.object_path(id).strip_prefix(&old.dir).unwrap().to_str().unwrap().to_owned()
}

/// T-15: a ref with garbage, two lines, nothing, too much, of the wrong family, dangling, under a bad name.
#[test]
fn refs_are_read_with_distrust() {
    let id = blob_envelope(b"not stored", &L).unwrap().id;
    let corrupt = [(Error, "corrupt-ref", "refs/names/bad")];
    for text in
        ["", "garbage", "refs/head", "../../etc/passwd", &id.to_string().to_uppercase(), &"x".repeat(5000)]
    {
        check(|old| old.file("refs/names/bad", text), &corrupt);
    }
    check(
        |old| {
            let c1 = old.refs["refs/names/C1"];
            old.file("refs/names/bad", &format!("{c1}\n{c1}\n"));
        },
        &corrupt,
    );
    check(|old| put_file(old.vfs.as_ref(), &old.dir.join("refs/names/bad"), b"\xff\xfe").unwrap(), &corrupt);
    check(|old| old.file("refs/names/bad", &format!("{id}\n")), &[(Error, "dangling-ref", "refs/names/bad")]);
    check(
        |old| old.file("refs/releases/v1", &format!("{}\n", old.refs["refs/head"])),
        &[(Error, "ref-family", "refs/releases/v1")],
    );
    check(
        |old| old.file("refs/names/a\u{202e}b", &format!("{}\n", old.refs["refs/head"])),
        &[(Error, "invalid-ref-name", "refs/names/a\u{202e}b")],
    );
    check(
        |old| old.file("refs/names/.tmp-12-3", "half"),
        &[(Note, "stale-temp-file", "refs/names/.tmp-12-3")],
    );
    // White space around the identity is what 0.12 accepts.
    check(|old| old.file("refs/names/S1", &format!(" {}\r\n\n", old.refs["refs/names/S1"])), &[]);
}

/// A file of 1 GiB (sparse) in the place of a ref is not read.
#[test]
fn a_giant_ref_is_not_read() {
    check_real(
        |old| {
            let file = std::fs::File::create(old.dir.join("refs/names/bad")).unwrap();
            file.set_len(1 << 30).unwrap();
        },
        &[(Error, "corrupt-ref", "refs/names/bad")],
    );
}

/// Deep folders cost no stack and are refused beyond the depth of a name.
#[test]
fn deep_folders_are_bounded() {
    let deep = "d/".repeat(300);
    let path = format!("refs/names/{deep}x");
    check(
        |old| old.file(&path, "x"),
        &[(Error, "corrupt-ref", &format!("refs/names/{}", "d/".repeat(255)[..].trim_end_matches('/')))],
    );
}

/// STO-01, T-08: bytes that are not what the file is named after, or no object at all.
#[test]
fn objects_are_hashed_against_their_names() {
    let sound = blob_envelope(b"sound", &L).unwrap();
    let at = |old: &Old| relative(old, &sound.id);
    let path = at(&scratch());
    let damaged = [(Error, "corrupt-object", path.as_str())];
    for flipped in 0..sound.bytes.len() {
        let mut bytes = sound.bytes.clone();
        bytes[flipped] ^= 0x40;
        check(|old| put_file(old.vfs.as_ref(), &old.object_path(&sound.id), &bytes).unwrap(), &damaged);
    }
    for cut in [0, 8, sound.bytes.len() - 1] {
        check(
            |old| put_file(old.vfs.as_ref(), &old.object_path(&sound.id), &sound.bytes[..cut]).unwrap(),
            &damaged,
        );
    }
}

/// T-21: an object over the limit is not read, however large.
#[test]
fn a_giant_object_is_not_read() {
    let id = blob_envelope(b"giant", &L).unwrap().id;
    let path = relative(&scratch(), &id);
    check_real(
        |old| {
            std::fs::create_dir_all(old.object_path(&id).parent().unwrap()).unwrap();
            std::fs::File::create(old.object_path(&id)).unwrap().set_len((1 << 40) + 1).unwrap();
        },
        &[(Error, "corrupt-object", &path)],
    );
}

/// A damaged object that a ref needs: both are named.
#[test]
fn what_depends_on_damage_is_named() {
    let old = scratch();
    let path = relative(&old, &old.refs["refs/names/I1"]);
    check(
        |old| put_file(old.vfs.as_ref(), &old.object_path(&old.refs["refs/names/I1"]), b"x").unwrap(),
        &[
            (Error, "corrupt-object", &path),
            (Error, "dangling-ref", "refs/names/I1"),
            (Warning, "pending-corrupt", "worktrees/w 3/pending.json"),
        ],
    );
}

/// What the old store lacked is reported and carried over: the new store lacks it, too.
#[test]
fn missing_references_are_warned_of() {
    let old = scratch();
    let absent = blob_envelope(b"one\ntwo\n", &L).unwrap().id;
    let holder = old.objects.iter().find(|(id, bytes)| {
        id.family() == gemel_object::Family::Tree && gemel_object::refs_of(bytes).any(|r| r.gid == absent)
    });
    let path = relative(&old, holder.unwrap().0);
    check(
        |old| old.vfs.remove_file(&old.object_path(&absent)).unwrap(),
        &[(Warning, "missing-reference", &path)],
    );
}

/// T-17 and RET-04: tombstones beside objects, of something else, without sense.
#[test]
fn tombstones() {
    let stored = blob_envelope(b"one\n", &L).unwrap().id;
    let path = relative(&scratch(), &stored).replace(".gce", ".tomb");
    let tomb = format!("{{\"id\":\"{stored}\",\"schema\":\"gemel.tombstone.v1\"}}");
    check(|old| old.file(&path, &tomb), &[(Warning, "live-tombstone", &path)]);
    for text in
        ["", "{}", "[]", &tomb.replace("v1", "v9"), &tomb.replace("blob.", "blob.0"), &"[".repeat(1000)]
    {
        check(|old| old.file(&path, text), &[(Error, "corrupt-tombstone", &path)]);
    }
}

/// Links and special files anywhere are named and not followed.
#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    for (path, code) in [
        ("refs/names/link", "not-plain"),
        ("refs/deep", "not-plain"),
        ("objects/ab", "not-plain"),
        ("worktrees/link", ""),
        ("worktrees/default/pending.json", "pending-corrupt"),
        ("worktrees/w 3/state.ref", "workspace-state-corrupt"),
        ("court.allowlist", "not-plain"),
        ("remotes.json", "corrupt-remotes"),
        ("exchange", "not-plain"),
        (".gitignore", "not-plain"),
    ] {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("file"), "{}").unwrap();
        let target = if path.contains('.') { outside.path().join("file") } else { outside.path().to_owned() };
        let expected = match code {
            "" => vec![(Note, "stray-file", path)],
            code => vec![(Error, code, path)],
        };
        check_real(
            |old| {
                let link = old.dir.join(path);
                match std::fs::symlink_metadata(&link) {
                    Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(&link).unwrap(),
                    Ok(_) => std::fs::remove_file(&link).unwrap(),
                    Err(_) => {}
                }
                symlink(&target, &link).unwrap();
            },
            &expected,
        );
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "{path}");
    }
}

/// T-16: a lock that is a link creates nothing where the link leads, neither for a migration nor for a transaction.
#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_lock() {
    let temp = tempfile::tempdir().unwrap();
    let target = temp.path().join("target");
    let old = Old::new(Arc::new(RealDisk::new()), &temp.path().join("old"));
    let fresh = temp.path().join("new");
    let store = Store::init(Arc::clone(&old.vfs), &fresh).unwrap();
    for dir in [&old.dir, &fresh] {
        std::fs::remove_file(dir.join("lock")).unwrap();
        std::os::unix::fs::symlink(&target, dir.join("lock")).unwrap();
    }
    assert!(old.migrate().is_err());
    assert!(store.transaction().is_err());
    assert!(!target.exists());
}

/// A link in the place of an object, a folder named like one.
#[cfg(unix)]
#[test]
fn objects_that_are_no_files() {
    let id = blob_envelope(b"elsewhere", &L).unwrap().id;
    let temp = tempfile::tempdir().unwrap();
    let path = relative(&scratch(), &id);
    let expected = [(Error, "not-plain", path.as_str())];
    let prepare = |old: &Old| {
        let at = old.object_path(&id);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        at
    };
    let outside = temp.path().join("outside");
    std::fs::write(&outside, blob_envelope(b"elsewhere", &L).unwrap().bytes).unwrap();
    check_real(|old| std::os::unix::fs::symlink(&outside, prepare(old)).unwrap(), &expected);
    check_real(|old| std::fs::create_dir(prepare(old)).unwrap(), &expected);
}

/// Records that do not read.
#[test]
fn records_are_read_with_distrust() {
    let meta = |text: &'static str| move |old: &mut Old| old.file("meta.json", text);
    for text in [
        r#"{"schema":"gemel.meta.v1","counters":7}"#,
        r#"{"schema":"gemel.meta.v1","counters":{"change":-1}}"#,
        r#"{"schema":"gemel.meta.v1","counters":{"../x":1}}"#,
        r#"{"schema":"gemel.meta.v1","default_producer":"producer.00"}"#,
        r#"{"schema":"gemel.meta.v1","default_producer":7}"#,
    ] {
        check(meta(text), &[(Error, "corrupt-meta", "meta.json")]);
    }
    check(meta(r#"{"schema":"gemel.meta.v1"}"#), &[]);
    for text in [
        "",
        "{}",
        "[]",
        r#"{"schema":"gemel.pending.v2"}"#,
        r#"{"input_state":"state.12","schema":"gemel.pending.v1"}"#,
        r#"{"producer":7,"schema":"gemel.pending.v1"}"#,
    ] {
        check(
            |old| old.file("worktrees/default/pending.json", text),
            &[(Error, "pending-corrupt", "worktrees/default/pending.json")],
        );
    }
    for (text, code) in [
        ("nothing", "workspace-state-corrupt"),
        (&blob_envelope(b"one\n", &L).unwrap().id.to_string(), "workspace-state-missing"),
    ] {
        check(|old| old.file("worktrees/x/state.ref", text), &[(Error, code, "worktrees/x/state.ref")]);
    }
    for text in ["", "[]", r#"{"remotes":7}"#, r#"{"remotes":{"a/b":"x"}}"#, r#"{"remotes":{"a":7}}"#] {
        check(|old| old.file("remotes.json", text), &[(Error, "corrupt-remotes", "remotes.json")]);
    }
    check(|old| old.file("worktrees/a\nb/state.ref", "x"), &[(Error, "workspace-name", "worktrees/a\nb")]);
    check(
        |old| old.file("journal/journal.log", "{\"op\":\"explode\"}\n"),
        &[(Error, "interrupted-transaction", "journal/journal.log")],
    );
}

/// T-06, T-23: names in the journal pass the same gate as names of files.
#[test]
fn names_in_the_journal_are_checked() {
    check(
        |old| {
            let c1 = old.refs["refs/names/C1"];
            let line =
                format!("{{\"new\":\"{c1}\",\"op\":\"set\",\"prev\":null,\"ref\":\"refs/../../x\"}}\n");
            old.file("journal/journal.log", &(line + "{\"op\":\"commit\"}\n"));
        },
        &[
            (Error, "invalid-ref-name", "refs/../../x"),
            (Note, "interrupted-transaction", "journal/journal.log"),
        ],
    );
}

/// Strays are named and stay behind; what has a name of the new layout is in the way.
#[test]
fn strays_and_obstacles() {
    check(|old| old.file("objects/zz", "x"), &[(Note, "stray-file", "objects/zz")]);
    check(|old| old.file("objects/ab/.tmp-1-2", "x"), &[(Note, "stale-temp-file", "objects/ab/.tmp-1-2")]);
    for name in ["packs", "refdb", "cache", "legacy-0.12"] {
        let old = scratch();
        old.file(&format!("{name}/mine"), "not to be touched");
        let before = snapshot(old.vfs.as_ref(), &old.dir);
        assert!(old.migrate().is_err(), "{name}");
        assert!(run(&old.vfs, &old.dir, true, false).is_err(), "{name}: not even on request");
        same(&snapshot(old.vfs.as_ref(), &old.dir), &before);
    }
}

/// Without `objects` or `refs` there is nothing to convert.
#[test]
fn gutted_stores() {
    check_real(
        |old| {
            std::fs::remove_dir_all(old.dir.join("journal")).unwrap();
            std::fs::remove_dir_all(old.dir.join("index")).unwrap();
        },
        &[],
    );
    let temp = tempfile::tempdir().unwrap();
    let old = Old::new(Arc::new(RealDisk::new()), temp.path());
    std::fs::remove_dir_all(old.dir.join("refs")).unwrap();
    assert!(matches!(old.migrate(), Err(StoreError::LegacyDamaged { .. })));
    std::fs::remove_file(old.dir.join("meta.json")).unwrap();
    assert!(matches!(old.migrate(), Err(StoreError::NotARepository { .. })));
    for text in ["", "[]", "{}", r#"{"schema":7}"#, r#"{"schema":"gemel.meta.v0"}"#, r#"{"schema":"other"}"#]
    {
        old.file("meta.json", text);
        assert!(matches!(old.migrate(), Err(StoreError::CorruptFile { .. })), "{text}");
    }
}

/// A store with many unnamed objects keeps the tips only: what they refer to hangs on them.
#[test]
fn chains_without_a_name_are_kept_by_their_tip() {
    let mut old = scratch();
    let mut previous = None;
    for _ in 0..50 {
        let version = NewResidual { previous, summary: Some("chain"), ..NewResidual::default() };
        previous = Some(old.object(version.encode(&L)));
    }
    let facts = old.migrate().unwrap();
    assert_eq!(facts.plan.kept, 2);
}
