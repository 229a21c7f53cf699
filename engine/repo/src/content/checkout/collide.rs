//! Names that a file system takes for one: found by asking it, before anything is written (T-50).
//!
//! No table of letters is kept: which names are one differs between file systems and their versions. Only names that
//! could be one at all are tried, in a directory made for the purpose, and only where the file system is seen to fold
//! names.

use crate::content::disk::{self, Dir};
use crate::content::error::{ContentError, Result};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Names of one directory that some file system may take for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alike {
    /// The directory.
    pub(crate) dir: String,
    /// All its names.
    pub(crate) names: Vec<String>,
}

/// Whether names of one directory could be one somewhere: equal but for the case of ASCII letters, or not all ASCII.
pub(crate) fn may_collide<'n>(names: impl Iterator<Item = &'n str> + Clone) -> bool {
    let mut ascii = names.clone();
    if ascii.any(|name| !name.is_ascii()) {
        return names.count() > 1;
    }
    if !names.clone().any(|name| name.bytes().any(|byte| byte.is_ascii_uppercase())) {
        return false;
    }
    let mut folded: Vec<String> = names.map(str::to_ascii_lowercase).collect();
    folded.sort_unstable();
    folded.windows(2).any(|pair| pair[0] == pair[1])
}

/// Tells names apart, or does not.
pub(crate) trait Namer {
    /// Groups `names` by what they are to the file system: for each name that is an earlier one, its position and that
    /// of the earlier.
    ///
    /// # Errors
    /// `Io`.
    fn twins(&self, names: &[&str]) -> Result<Vec<(usize, usize)>>;
}

/// Pairs that a folding file system takes for one: case, composed and decomposed form, full case folding.
const PROBES: [[&str; 2]; 3] =
    [["gemel-a", "gemel-A"], ["caf\u{e9}", "cafe\u{301}"], ["stra\u{df}e", "STRASSE"]];

/// The paths among `alike` that `namer` does not tell apart.
///
/// # Errors
/// Those of `namer`.
pub(crate) fn collisions(namer: &dyn Namer, alike: &[Alike]) -> Result<Vec<String>> {
    if alike.is_empty() {
        return Ok(Vec::new());
    }
    let mut folds = false;
    for pair in &PROBES {
        folds |= !namer.twins(pair)?.is_empty();
    }
    let mut paths = BTreeSet::new();
    for Alike { dir, names } in alike.iter().filter(|_| folds) {
        let list: Vec<&str> = names.iter().map(String::as_str).collect();
        for (one, other) in namer.twins(&list)? {
            for position in [one, other] {
                let path =
                    disk::join(dir.as_bytes(), names.get(position).map_or(&b""[..], |name| name.as_bytes()));
                paths.insert(disk::text(&path));
            }
        }
    }
    Ok(paths.into_iter().collect())
}

/// Asks the file system that a directory lies on.
pub(crate) struct OnDisk<'a> {
    dir: Dir,
    path: &'a Path,
}

impl<'a> OnDisk<'a> {
    /// Asks where `target` is, or will be: the nearest directory that exists.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn near(target: &'a Path) -> Result<OnDisk<'a>> {
        let mut path = target;
        loop {
            match Dir::open_root(if path.as_os_str().is_empty() { Path::new(".") } else { path }) {
                Ok(dir) => return Ok(OnDisk { dir, path }),
                Err(error) if disk::is_absent(&error) => match path.parent() {
                    Some(parent) => path = parent,
                    None => return Err(ContentError::io("open", target)(error)),
                },
                Err(error) => return Err(ContentError::io("open", path)(error)),
            }
        }
    }

    fn try_names(&self, room: &Dir, names: &[&str]) -> io::Result<Vec<(usize, usize)>> {
        let mut made: Vec<(usize, u64)> = Vec::new();
        let mut twins = Vec::new();
        for (position, name) in names.iter().enumerate() {
            match room.create(name.as_bytes(), false) {
                Ok(_) => {
                    let ino = room.stat(name.as_bytes())?.map_or(0, |stat| stat.ino);
                    made.push((position, ino));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let ino = room.stat(name.as_bytes())?.map_or(0, |stat| stat.ino);
                    let earlier =
                        made.iter().find(|(_, of)| *of == ino).map_or(position, |(earlier, _)| *earlier);
                    twins.push((position, earlier));
                }
                Err(error) => {
                    made.iter().for_each(|(at, _)| drop(room.remove_file(names[*at].as_bytes())));
                    return Err(error);
                }
            }
        }
        for (position, _) in made {
            room.remove_file(names[position].as_bytes())?;
        }
        Ok(twins)
    }
}

impl Namer for OnDisk<'_> {
    fn twins(&self, names: &[&str]) -> Result<Vec<(usize, usize)>> {
        let wrap = |error| ContentError::io("probe names in", self.path)(error);
        let room = super::free_name(|name| self.dir.make_dir(name)).map_err(wrap)?.0;
        let tried = self.dir.beneath(&room).and_then(|dir| self.try_names(&dir, names));
        let removed = self.dir.remove_dir(&room);
        tried.and_then(|twins| removed.map(|()| twins)).map_err(wrap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system that folds case and knows one pair of forms.
    struct Folding;

    impl Namer for Folding {
        fn twins(&self, names: &[&str]) -> Result<Vec<(usize, usize)>> {
            let folded: Vec<_> =
                names.iter().map(|name| name.replace("e\u{301}", "\u{e9}").to_lowercase()).collect();
            let earlier = |at: usize| folded.iter().take(at).position(|name| *name == folded[at]);
            Ok((0..names.len()).filter_map(|at| Some((at, earlier(at)?))).collect())
        }
    }

    fn alike(dir: &str, names: &[&str]) -> Alike {
        Alike { dir: dir.to_owned(), names: names.iter().map(|&name| name.to_owned()).collect() }
    }

    /// Shows T-50.
    #[test]
    fn found_where_the_file_system_folds_and_only_there() {
        let list = [alike("", &["A", "a", "b"]), alike("d", &["caf\u{e9}", "cafe\u{301}", "x"])];
        assert_eq!(collisions(&Folding, &list).unwrap(), ["A", "a", "d/cafe\u{301}", "d/caf\u{e9}"]);
        let temp = tempfile::tempdir().unwrap();
        let absent = temp.path().join("not/yet");
        let here = OnDisk::near(&absent).unwrap();
        if here.twins(&["a", "A"]).unwrap().is_empty() {
            assert!(collisions(&here, &list).unwrap().is_empty());
        }
        assert_eq!(here.twins(&["b", "c", "b"]).unwrap(), [(2, 0)]);
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn suspicion() {
        let suspects = |names: &[&str]| may_collide(names.iter().copied());
        assert!(suspects(&["A", "a"]));
        assert!(suspects(&["stra\u{df}e", "strasse"]));
        assert!(!suspects(&["a", "b", "c"]));
        assert!(!suspects(&["README", "src"]));
        assert!(!suspects(&["\u{e9}"]));
    }
}
