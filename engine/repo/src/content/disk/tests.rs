use super::{Hint, Kind, Stat, is_absent, join, text};
use std::io::Write;

/// The same small story for both ways of reaching a directory.
macro_rules! story {
    ($name:ident, $disk:path) => {
        #[test]
        fn $name() {
            use $disk as disk;
            let temp = tempfile::tempdir().unwrap();
            let root = disk::Dir::open_root(temp.path()).unwrap();
            root.make_dir(b"d").unwrap();
            assert!(root.make_dir(b"d").is_err());
            let dir = root.beneath(b"d").unwrap();
            dir.create(b"f", false).unwrap().write_all(b"hello").unwrap();
            assert_eq!(dir.create(b"f", false).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
            let Stat { kind, size, .. } = dir.stat(b"f").unwrap().unwrap();
            assert_eq!((kind, size), (Kind::File, 5));
            assert_eq!(dir.stat(b"g").unwrap(), None);

            let mut file = dir.open_file(b"f").unwrap();
            let mut buf = Vec::with_capacity(64);
            assert!(file.fill(&mut buf).unwrap());
            assert_eq!(buf, b"hello");
            assert_eq!(file.stat().unwrap().size, 5);

            assert_eq!(disk::stat_file(&dir.create(b"x", true).unwrap()).unwrap().size, 0);
            let file = dir.create(b"y", true).unwrap();
            let _stripped: bool = disk::is_stripped(&file).unwrap();
            disk::settle_mode(&file, false).unwrap();
            assert_eq!(dir.stat(b"y").unwrap().unwrap().kind, Kind::File);
            dir.symlink(b"target", b"link").unwrap();
            assert_eq!(dir.stat(b"link").unwrap().unwrap().size, 6);
            for name in [&b"x"[..], b"y", b"link"] {
                dir.remove_file(name).unwrap();
            }
            let (time, device) = disk::change_time_of(temp.path()).unwrap();
            assert!(time > 0 && device == root.device().unwrap());
            assert_eq!(root.stat_self().unwrap().kind, Kind::Directory);

            dir.rename_new(b"f", b"g").unwrap();
            dir.create(b"f", false).unwrap();
            assert_eq!(dir.rename_new(b"f", b"g").unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
            dir.rename_over(b"f", b"g").unwrap();
            let names: Vec<_> = root.list().unwrap().iter().map(|(n, k)| (n.to_vec(), k)).collect();
            assert_eq!(names, [(b"d".to_vec(), Hint::Directory)]);
            assert!(root.remove_dir(b"d").is_err());
            dir.remove_file(b"g").unwrap();
            root.remove_dir(b"d").unwrap();
            assert!(is_absent(&root.beneath(b"d/e").unwrap_err()));
        }
    };
}

story!(portable, super::portable);
#[cfg(unix)]
story!(unix, super::unix);

#[cfg(unix)]
#[test]
fn no_component_is_followed() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(temp.path().join("real/deep")).unwrap();
    std::os::unix::fs::symlink("real", temp.path().join("link")).unwrap();
    std::fs::write(temp.path().join("real/f"), b"x").unwrap();
    std::os::unix::fs::symlink("f", temp.path().join("real/l")).unwrap();
    let by_fd = super::unix::Dir::open_root(temp.path()).unwrap();
    let by_path = super::portable::Dir::open_root(temp.path()).unwrap();
    for rel in [&b"link"[..], b"link/deep", b"real/f", b"real/f/x", b"absent"] {
        assert!(is_absent(&by_fd.beneath(rel).unwrap_err()), "{}", text(rel));
        assert!(is_absent(&by_path.beneath(rel).unwrap_err()), "{}", text(rel));
    }
    assert!(by_fd.beneath(b"real").unwrap().open_file(b"l").is_err());
    assert!(by_path.beneath(b"real").unwrap().open_file(b"l").is_err());
    assert_eq!(by_fd.beneath(b"real").unwrap().read_link(b"l").unwrap(), b"f");
    assert_eq!(by_path.beneath(b"real").unwrap().read_link(b"l").unwrap(), b"f");
}

#[cfg(unix)]
#[test]
fn paths_longer_than_a_call_takes() {
    let temp = tempfile::tempdir().unwrap();
    let root = super::Dir::open_root(temp.path()).unwrap();
    let name = [b'n'; 200];
    let mut rel = Vec::new();
    for _ in 0..100 {
        root.beneath(&rel).unwrap().make_dir(&name).unwrap();
        rel = join(&rel, &name);
    }
    assert_eq!(rel.len(), 20_099);
    assert_eq!(root.beneath(&rel).unwrap().list().unwrap().iter().count(), 0);
}
