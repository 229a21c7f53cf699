//! Looking at one directory.

use super::cache::{CachedDir, DirFlags, StatCache};
use super::is_racy;
use super::node::{Content, Leaves};
use super::recorded::{self, Beside};
use crate::content::capture::{Omission, OmissionReason};
use crate::content::checkout::TEMP_PREFIX;
use crate::content::delta::ObjectSource;
use crate::content::disk::{self, Dir, Hint, Kind, Listing, Stat};
use crate::content::error::{ContentError, Result};
use crate::content::ignore::{MAX_RULE_FILE, RuleDigest, RuleFile, RuleId, Rules};
use gemel_object::{Entry, Gid, Mode, is_path_segment};
use rayon::prelude::*;
use std::io;
use std::path::Path;

/// The file that rules are written in.
pub(super) const RULE_FILE: &[u8] = b".gitignore";
/// Directories with more entries than this are looked at by all threads together.
const WIDE: usize = 1024;

/// Whether `name` is never content, whatever it is and wherever (workflow, section 3.1). Where file systems take other
/// letter cases for the same name, these are the same directories.
pub(super) fn is_metadata(name: &[u8]) -> bool {
    let folds = cfg!(any(windows, target_vendor = "apple"));
    let is = |other: &[u8]| if folds { name.eq_ignore_ascii_case(other) } else { name == other };
    is(b".git") || is(b".gemel")
}

/// Whether `name` is that of something unfinished which a process of ours was killed over: nobody's work, unless it is
/// recorded.
fn is_leftover(name: &[u8]) -> bool {
    let serial = name.strip_prefix(TEMP_PREFIX.as_bytes());
    name == b".gemel-init"
        || serial.is_some_and(|serial| !serial.is_empty() && serial.iter().all(u8::is_ascii_hexdigit))
}

/// What is known of a directory before it is looked at.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Its name.
    pub(super) name: Vec<u8>,
    /// Its number in the stat cache.
    pub(super) cached: Option<usize>,
    /// The tree the recorded state has there.
    pub(super) recorded: Option<Gid>,
    /// Whether a rule ignores it.
    pub(super) ignored: bool,
    /// Whether no tree can hold its name or that of a directory above it.
    pub(super) unnameable: bool,
}

/// What looking at a directory gave.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) stat: Stat,
    pub(super) rules: RuleDigest,
    pub(super) flags: DirFlags,
    pub(super) content: Content,
    pub(super) children: Vec<Found>,
    pub(super) own_rules: Option<Vec<u8>>,
    pub(super) omitted: Vec<Omission>,
    pub(super) disturbed: bool,
    pub(super) observed_ns: i64,
}

/// How directories are looked at.
pub(super) struct Look<'a> {
    pub(super) root: &'a Dir,
    pub(super) root_path: &'a Path,
    pub(super) cache: Option<&'a StatCache>,
    /// Whether the lists of the cache may be used: they depend on what is recorded.
    pub(super) listings: bool,
    /// Whether the stats of the cache may be used.
    pub(super) stats: bool,
    pub(super) source: &'a dyn ObjectSource,
    /// Whether leftovers of stopped processes are shown.
    pub(super) leftovers: bool,
    /// Longest file that fits an object.
    pub(super) max_file: u64,
}

/// A file or link to be looked at more closely.
struct Wanted<'n> {
    name: &'n [u8],
    recorded: Option<Gid>,
}

/// A directory being looked at.
struct Site<'s> {
    dir: Dir,
    stat: Stat,
    path: &'s [u8],
    found: &'s Found,
    rules: &'s Rules,
    /// The rules that apply above its own.
    above: RuleId,
    cached: Option<CachedDir<'s>>,
}

impl Look<'_> {
    /// Looks at the directory `path`, of which `found` is known, where the rules `above` apply.
    pub(super) fn directory(&self, rules: &Rules, above: RuleId, found: &Found, path: &[u8]) -> Result<Seen> {
        let dir = match self.root.beneath(path) {
            Ok(dir) => dir,
            Err(error) if disk::is_absent(&error) => return Ok(Seen::gone()),
            Err(error) => return Err(self.failed("open", path, error)),
        };
        let stat = dir.stat_self().map_err(|error| self.failed("stat", path, error))?;
        let cached = found.cached.and_then(|number| Some(self.cache?.dir(number)));
        let site = Site { dir, stat, path, found, rules, above, cached };
        if let Some(seen) = self.as_cached(&site)? {
            return Ok(seen);
        }
        let read = recorded::read(self.source, found.recorded)?;
        let held = recorded::entries(read.as_ref())?;
        let mut seen = Seen::new(stat);
        seen.flags.ignored = found.ignored;
        if found.ignored {
            self.recorded_only(&site, &held, &mut seen)?;
        } else {
            self.listed(&site, &held, &mut seen)?;
        }
        seen.flags.unlisted |= seen.disturbed || seen.omitted.iter().any(|o| o.path.as_bytes() != path);
        Ok(seen)
    }

    /// The directory as the stat cache knows it, if its list is still true.
    fn as_cached(&self, site: &Site<'_>) -> Result<Option<Seen>> {
        let Some(((cached, number), found)) = site.cached.zip(site.found.cached).zip(Some(site.found)) else {
            return Ok(None);
        };
        let flags = cached.flags();
        let same_list = self.listings
            && !flags.unlisted
            && flags.ignored == found.ignored
            && cached.recorded() == found.recorded
            && self.unchanged(&Stat { size: site.stat.size, ..cached.stat() }, &site.stat);
        if !same_list {
            return Ok(None);
        }
        let mut seen = Seen::new(site.stat);
        seen.flags = flags;
        if !flags.ignored {
            seen.own_rules = if flags.has_rules { read_rules(&site.dir) } else { None };
            seen.rules = site.digest(seen.own_rules.as_deref());
            if seen.rules != cached.rules() {
                return Ok(None);
            }
        }
        if flags.nested {
            seen.omit(site.path, OmissionReason::NestedRepository);
        }
        match self.compared(site, &cached, &mut seen)? {
            Compared::Same => seen.content = Content::Cached(number),
            Compared::Differs(leaves) => seen.content = Content::Fresh(leaves),
            Compared::Otherwise => return Ok(None),
        }
        seen.children = cached.subdirs().map(|(number, sub)| found.below(number, &sub)).collect();
        Ok(Some(seen))
    }

    /// Compares the entries of a cached directory with what is there now.
    fn compared(&self, site: &Site<'_>, cached: &CachedDir<'_>, seen: &mut Seen) -> Result<Compared> {
        if cached.entries().len() < WIDE && self.is_same(site, cached, seen)? {
            return Ok(Compared::Same);
        }
        let names: Vec<&[u8]> = cached.entries().map(|entry| entry.name()).collect();
        let stats = self.stats_of(site, &names)?;
        stats.iter().flatten().for_each(|stat| seen.observe(stat));
        let (mut leaves, mut same) = (Leaves::default(), true);
        for (entry, stat) in cached.entries().zip(&stats) {
            match stat {
                Some(stat) if self.unchanged(&entry.stat(), stat) => {
                    leaves.push_known(entry.name(), *stat, entry.blob());
                }
                Some(stat) if stat.kind.is_leaf() && stat.size <= self.max_file => {
                    leaves.push_pending(entry.name(), *stat, Some(entry.blob()));
                    same = false;
                }
                _ => return Ok(Compared::Otherwise),
            }
        }
        Ok(if same { Compared::Same } else { Compared::Differs(leaves) })
    }

    /// Whether nothing differs, which is by far the commonest answer and worth a way without lists.
    fn is_same(&self, site: &Site<'_>, cached: &CachedDir<'_>, seen: &mut Seen) -> Result<bool> {
        for entry in cached.entries() {
            match self.stat_of(site, entry.name())? {
                Some(stat) if self.unchanged(&entry.stat(), &stat) => seen.observe(&stat),
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Lists a directory and applies the rules.
    fn listed(&self, site: &Site<'_>, held: &[Entry<'_>], seen: &mut Seen) -> Result<()> {
        let listing = site.dir.list().map_err(|error| self.failed("list", site.path, error))?;
        if !site.path.is_empty() && held.is_empty() && listing.contains(b".git") {
            seen.flags.nested = true;
            seen.rules = site.digest(None);
            seen.omit(site.path, OmissionReason::NestedRepository);
            return Ok(());
        }
        seen.flags.has_rules = listing.contains(RULE_FILE);
        seen.own_rules = if seen.flags.has_rules { read_rules(&site.dir) } else { None };
        seen.rules = site.digest(seen.own_rules.as_deref());
        let wanted = self.select(site, &listing, held, seen)?;
        self.leaves(site, &wanted, seen)
    }

    /// Decides which names are content; directories are noted to be looked at.
    fn select<'n>(
        &self,
        site: &Site<'_>,
        listing: &'n Listing,
        held: &[Entry<'_>],
        seen: &mut Seen,
    ) -> Result<Vec<Wanted<'n>>> {
        let own = seen.own_rules.as_deref().map(RuleFile::parse);
        let mut full = if site.path.is_empty() { Vec::new() } else { disk::join(site.path, b"") };
        let base_len = full.len();
        let mut wanted = Vec::new();
        let mut held = Beside::new(held.iter());
        let mut subdirs = Beside::new(site.cached.into_iter().flat_map(|cached| cached.subdirs()));
        for (name, hint) in listing.iter().filter(|(name, _)| !is_metadata(name)) {
            let held = held.find(name, |entry| entry.name.as_bytes());
            if site.path.is_empty() && name == RULE_FILE && held.is_none() {
                continue;
            }
            if held.is_none() && !self.leftovers && is_leftover(name) {
                // Whoever removes it must not take this list for the whole one.
                seen.flags.unlisted = true;
                continue;
            }
            let Some(hint) = self.settled(site, name, hint)? else {
                seen.disturbed = true;
                continue;
            };
            let is_dir = hint == Hint::Directory;
            let held =
                held.filter(|entry| (entry.mode == Mode::Directory) == is_dir).map(|entry| entry.target);
            full.truncate(base_len);
            full.extend_from_slice(name);
            let ignored = site.rules.ignores(site.above, own.as_ref(), &full, is_dir);
            if ignored && held.is_none() {
                continue;
            }
            match hint {
                Hint::Directory => {
                    let cached = subdirs.find(name, |(_, sub)| sub.name()).map(|(number, _)| number);
                    seen.children.push(site.found.child(name, cached, held, ignored));
                }
                Hint::Leaf => wanted.push(Wanted { name, recorded: held }),
                Hint::Other | Hint::Unknown => seen.omit(&full, OmissionReason::SpecialFile),
            }
        }
        Ok(wanted)
    }

    /// What a name is, asked for where the listing does not say.
    fn settled(&self, site: &Site<'_>, name: &[u8], hint: Hint) -> Result<Option<Hint>> {
        if hint != Hint::Unknown {
            return Ok(Some(hint));
        }
        Ok(self.stat_of(site, name)?.map(|stat| Hint::of(stat.kind)))
    }

    /// In an ignored directory only what is recorded is looked for.
    fn recorded_only(&self, site: &Site<'_>, held: &[Entry<'_>], seen: &mut Seen) -> Result<()> {
        let mut wanted = Vec::new();
        let mut subdirs = Beside::new(site.cached.into_iter().flat_map(|cached| cached.subdirs()));
        for entry in held.iter().filter(|entry| !is_metadata(entry.name.as_bytes())) {
            let name = entry.name.as_bytes();
            if entry.mode != Mode::Directory {
                wanted.push(Wanted { name, recorded: Some(entry.target) });
            } else if self.stat_of(site, name)?.is_some_and(|stat| stat.kind == Kind::Directory) {
                let cached = subdirs.find(name, |(_, sub)| sub.name()).map(|(number, _)| number);
                seen.children.push(site.found.child(name, cached, Some(entry.target), true));
            }
        }
        self.leaves(site, &wanted, seen)
    }

    /// Takes the stats of the files and links that are content, and finds out which of them have to be read.
    fn leaves(&self, site: &Site<'_>, wanted: &[Wanted<'_>], seen: &mut Seen) -> Result<()> {
        let names: Vec<&[u8]> = wanted.iter().map(|wanted| wanted.name).collect();
        let stats = self.stats_of(site, &names)?;
        let mut known = Beside::new(site.cached.into_iter().flat_map(|cached| cached.entries()));
        let mut leaves = Leaves::default();
        for (wanted, stat) in wanted.iter().zip(stats) {
            let name = wanted.name;
            let Some(stat) = stat.filter(|stat| stat.kind != Kind::Directory) else {
                // What is only looked for because it is recorded may be absent.
                seen.disturbed |= !site.found.ignored;
                continue;
            };
            seen.observe(&stat);
            if let Some(reason) = self.refusal(site, name, &stat) {
                seen.omit(&disk::join(site.path, name), reason);
                continue;
            }
            match known.find(name, |entry| entry.name()) {
                Some(entry) if self.unchanged(&entry.stat(), &stat) => {
                    leaves.push_known(name, stat, entry.blob());
                }
                _ => leaves.push_pending(name, stat, wanted.recorded),
            }
        }
        seen.content = Content::Fresh(leaves);
        Ok(())
    }

    /// Why no tree can hold something.
    fn refusal(&self, site: &Site<'_>, name: &[u8], stat: &Stat) -> Option<OmissionReason> {
        if stat.kind == Kind::Other {
            Some(OmissionReason::SpecialFile)
        } else if site.found.unnameable || !is_nameable(name) {
            Some(OmissionReason::InvalidName)
        } else {
            (stat.size > self.max_file).then_some(OmissionReason::TooLarge)
        }
    }

    /// Whether something is still what the cache knows, as far as times can tell.
    fn unchanged(&self, cached: &Stat, stat: &Stat) -> bool {
        self.stats && cached == stat && self.cache.is_some_and(|cache| !is_racy(stat, cache.horizon_ns()))
    }

    fn stats_of(&self, site: &Site<'_>, names: &[&[u8]]) -> Result<Vec<Option<Stat>>> {
        if names.len() < WIDE {
            names.iter().map(|name| self.stat_of(site, name)).collect()
        } else {
            names.par_iter().with_min_len(WIDE / 4).map(|name| self.stat_of(site, name)).collect()
        }
    }

    fn stat_of(&self, site: &Site<'_>, name: &[u8]) -> Result<Option<Stat>> {
        site.dir.stat(name).map_err(|error| self.failed("stat", &disk::join(site.path, name), error))
    }

    fn failed(&self, op: &'static str, path: &[u8], source: io::Error) -> ContentError {
        ContentError::Io { op, path: disk::shown(self.root_path, path), source }
    }
}

/// How a cached directory compares with what is there.
enum Compared {
    /// Nothing differs.
    Same,
    /// Some files have to be read.
    Differs(Leaves),
    /// Something is gone or of another kind: the directory changed since it was looked at, and is listed again.
    Otherwise,
}

impl Site<'_> {
    fn digest(&self, own: Option<&[u8]>) -> RuleDigest {
        own.map_or_else(|| self.rules.digest(self.above), |own| self.rules.extended(self.above, own))
    }
}

impl Found {
    fn child(&self, name: &[u8], cached: Option<usize>, recorded: Option<Gid>, ignored: bool) -> Found {
        let unnameable = self.unnameable || !is_nameable(name);
        Found { name: name.to_vec(), cached, recorded, ignored, unnameable }
    }

    fn below(&self, number: usize, sub: &CachedDir<'_>) -> Found {
        self.child(sub.name(), Some(number), sub.recorded(), sub.flags().ignored)
    }
}

impl Seen {
    fn new(stat: Stat) -> Seen {
        Seen {
            stat,
            rules: RuleDigest::default(),
            flags: DirFlags::default(),
            content: Content::Fresh(Leaves::default()),
            children: Vec::new(),
            own_rules: None,
            omitted: Vec::new(),
            disturbed: false,
            observed_ns: stat.ctime_ns,
        }
    }

    /// A directory that was there a moment ago.
    fn gone() -> Seen {
        let stat = Stat { kind: Kind::Directory, size: 0, mtime_ns: 0, ctime_ns: 0, ino: 0 };
        let mut seen = Seen::new(stat);
        seen.flags.unlisted = true;
        seen.disturbed = true;
        seen
    }

    fn omit(&mut self, path: &[u8], reason: OmissionReason) {
        self.omitted.push(Omission { path: disk::text(path), reason });
    }

    fn observe(&mut self, stat: &Stat) {
        self.observed_ns = self.observed_ns.max(stat.ctime_ns);
    }
}

/// Whether a tree can hold `name`: UTF-8 and one segment (object model, section 8).
fn is_nameable(name: &[u8]) -> bool {
    is_path_segment(name) && std::str::from_utf8(name).is_ok()
}

/// The rules in a directory. Links are not followed and giants are ignored, as Git does; what cannot be read holds
/// no rules.
fn read_rules(dir: &Dir) -> Option<Vec<u8>> {
    read_small(dir, RULE_FILE)
}

fn read_small(dir: &Dir, name: &[u8]) -> Option<Vec<u8>> {
    let mut file = dir.open_file(name).ok()?;
    let stat = file.stat().ok()?;
    if !matches!(stat.kind, Kind::File | Kind::Executable) || stat.size > MAX_RULE_FILE {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stat.size).ok()? + 1);
    file.fill(&mut bytes).ok()?;
    Some(bytes)
}

/// The rules of `.git/info/exclude`, where `root` is a Git worktree; for a linked worktree those of the repository it
/// belongs to.
pub(super) fn exclude_rules(root: &Dir, root_path: &Path) -> Option<Vec<u8>> {
    if let Ok(info) = Dir::open_root(&root_path.join(".git/info")) {
        return read_small(&info, b"exclude");
    }
    let pointer = read_small(root, b".git")?;
    let git_dir = std::str::from_utf8(pointer.strip_prefix(b"gitdir:")?).ok()?.trim();
    let git_dir = root_path.join(git_dir);
    let common = Dir::open_root(&git_dir).ok().and_then(|dir| read_small(&dir, b"commondir"));
    let common = match common {
        Some(path) => git_dir.join(std::str::from_utf8(&path).ok()?.trim()),
        None => git_dir,
    };
    read_small(&Dir::open_root(&common.join("info")).ok()?, b"exclude")
}
