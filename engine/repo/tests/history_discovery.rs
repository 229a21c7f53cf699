//! Finding a repository, and whom to believe (threats T-31, T-59).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod history_support;

use gemel_repo::{Code, InitOptions, Repo, RepoError};
use gemel_store::StoreError;
use gemel_store::vfs::real::RealDisk;
use history_support::Life;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

fn discover(start: &Path) -> Result<Repo, RepoError> {
    Repo::discover(Arc::new(RealDisk::new()), start)
}

#[test]
fn upward_search() {
    let life = Life::new();
    let deep = life.root.join("a/b/c");
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(discover(&deep).unwrap().root(), life.root);
    assert_eq!(discover(&life.root).unwrap().root(), life.root);
    // A folder with exchange material only is passed over.
    fs::create_dir_all(life.root.join("a/.gemel/exchange")).unwrap();
    assert_eq!(discover(&deep).unwrap().root(), life.root);
    let outside = life.beside("outside");
    let error = discover(&outside).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string()),
        (Code::NotFound, format!("not a gemel repository: {}", outside.display()))
    );
    assert!(matches!(Repo::open(Arc::new(RealDisk::new()), &outside), Err(RepoError::NotARepository { .. })));
}

/// T-59
#[test]
fn a_store_that_others_could_have_planted() {
    let life = Life::new();
    let below = life.root.join("below");
    fs::create_dir(&below).unwrap();
    fs::set_permissions(&life.root, fs::Permissions::from_mode(0o777)).unwrap();
    let error = discover(&below).unwrap_err();
    assert_eq!(error.code(), Code::PolicyDenied);
    assert!(error.to_string().contains("--repo"), "{error}");
    // Named explicitly, or stood in, it is meant.
    assert!(Repo::open(Arc::new(RealDisk::new()), &life.root).is_ok());
    assert!(discover(&life.root).is_ok());
}

/// T-31
#[test]
fn a_store_that_came_out_of_git() {
    let life = Life::new();
    let index = |paths: &[&str]| {
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend(u32::try_from(paths.len()).unwrap().to_be_bytes());
        for path in paths {
            let start = bytes.len();
            bytes.extend([0; 24]);
            bytes.extend(0o100_644u32.to_be_bytes());
            bytes.extend([0; 32]);
            bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
            bytes.extend(path.as_bytes());
            bytes.push(0);
            while !(bytes.len() - start).is_multiple_of(8) {
                bytes.push(0);
            }
        }
        bytes
    };
    let git = life.root.parent().unwrap().join(".git");
    fs::create_dir(&git).unwrap();
    let open = || Repo::open(Arc::new(RealDisk::new()), &life.root);
    assert!(open().is_ok(), "no index at all");
    for fine in
        [&["work/.gemel/.gitignore", "work/.gemel/exchange/x", "work/a"][..], &["a/.gemel/meta.json"], &[]]
    {
        fs::write(git.join("index"), index(fine)).unwrap();
        assert!(open().is_ok(), "{fine:?}");
    }
    fs::write(git.join("index"), index(&["a", "work/.gemel/.gitignore", "work/.gemel/meta.json"])).unwrap();
    let error = open().unwrap_err();
    assert_eq!(error.code(), Code::PolicyDenied);
    assert!(error.to_string().contains("work/.gemel/meta.json"), "{error}");
    fs::write(git.join("index"), b"garbage").unwrap();
    assert!(open().is_ok());

    // A tracked link that leads to a store in the same checkout, and a submodule where the store would be.
    let linked = life.beside("linked");
    std::os::unix::fs::symlink("../work/.gemel", linked.join(".gemel")).unwrap();
    fs::write(git.join("index"), index(&["linked/.gemel"])).unwrap();
    for error in [discover(&linked).unwrap_err(), Repo::open(Arc::new(RealDisk::new()), &linked).unwrap_err()]
    {
        assert!(error.to_string().contains("\"linked/.gemel\""), "{error}");
    }
    fs::write(git.join("index"), index(&["work/.gemel/meta.json"])).unwrap();
    let error = discover(&linked).unwrap_err();
    assert!(error.to_string().contains("work/.gemel/meta.json"), "{error}");

    // Neither is one begun where Git put something.
    let fresh = life.beside("fresh");
    fs::write(git.join("index"), index(&["fresh/.gemel/packs"])).unwrap();
    let error = Repo::init(Arc::new(RealDisk::new()), &fresh, &InitOptions::default()).unwrap_err();
    assert_eq!(error.code(), Code::PolicyDenied);
    assert!(!fresh.join(".gemel").exists());
}

/// What Git should have as files, but are pipes, keeps nobody waiting.
#[test]
fn pipes_in_the_place_of_git() {
    let life = Life::new();
    let pipe = |path: &Path| {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
    };
    pipe(&life.root.join(".git"));
    assert!(discover(&life.root).is_ok());
    fs::remove_file(life.root.join(".git")).unwrap();
    fs::create_dir(life.root.join(".git")).unwrap();
    pipe(&life.root.join(".git/index"));
    pipe(&life.root.join(".git/sharedindex.0"));
    assert!(discover(&life.root).is_ok());
}

#[test]
fn a_store_of_the_published_program() {
    let life = Life::new();
    let old = life.beside("old");
    fs::create_dir_all(old.join(".gemel/objects")).unwrap();
    fs::write(old.join(".gemel/meta.json"), "{\n  \"counters\": {},\n  \"schema\": \"gemel.meta.v1\"\n}\n")
        .unwrap();
    let error = discover(&old).unwrap_err();
    assert!(matches!(error, RepoError::Store(StoreError::Legacy { .. })), "{error}");
    assert_eq!(error.code(), Code::InvalidArgument);
}
