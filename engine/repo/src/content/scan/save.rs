//! Keeping what a walk found for the next one.

use super::cache::{CacheWriter, DirRecord, StatCache};
use super::{CachedDir, Content, DirFlags, Node, Scan, is_racy};
use crate::content::disk::Stat;
use gemel_store::Store;

/// The stat cache called `name`, if it is whole.
pub(crate) fn load(store: &Store, name: Option<&str>) -> Option<StatCache> {
    StatCache::open(store.cache_read(name?)?)
}

impl Scan {
    /// Whether a cache written now would tell the next walk more than the one used.
    pub(crate) fn learnt(&self) -> bool {
        let Some(cache) = &self.cache else { return true };
        cache.recorded() != self.recorded || self.nodes.iter().any(|node| self.differs(node))
    }

    fn differs(&self, node: &Node) -> bool {
        let Some(cached) = node.cached.and_then(|number| self.cached(number)) else { return true };
        let Content::Fresh(leaves) = &node.content else { return false };
        let same_dir = Stat { size: node.stat.size, ..cached.stat() } == node.stat
            && cached.flags() == self.flags_of(node)
            && (cached.rules(), cached.tree(), cached.recorded()) == (node.rules, node.tree, node.recorded)
            && cached.entries().len() == leaves.items().iter().filter(|leaf| leaf.settled).count();
        // What was too late to be trusted and still is teaches nothing.
        let settled_since = |stat: &Stat| !is_racy(stat, self.horizon_ns) && self.was_racy(stat);
        !same_dir
            || settled_since(&node.stat)
            || leaves.items().iter().any(|leaf| settled_since(&leaf.stat))
            || !cached.entries().zip(leaves.items()).all(|(entry, leaf)| entry.stat() == leaf.stat)
    }

    fn was_racy(&self, stat: &Stat) -> bool {
        self.cache.as_ref().is_none_or(|cache| is_racy(stat, cache.horizon_ns()))
    }

    /// A list with something missing cannot stand for its directory.
    fn flags_of(&self, node: &Node) -> DirFlags {
        let whole = match &node.content {
            Content::Cached(_) => true,
            Content::Fresh(leaves) => leaves.items().iter().all(|leaf| leaf.settled && leaf.blob.is_some()),
        };
        DirFlags { unlisted: node.flags.unlisted || !whole, ..node.flags }
    }

    /// The bytes of a stat cache. With `captured` the trees found are taken as the recorded ones from now on: what is
    /// content does not change by becoming recorded. `None`: more than the format holds.
    pub(crate) fn to_cache(&self, captured: bool) -> Option<Vec<u8>> {
        let recorded_of = |node: &Node| if captured { node.tree } else { node.recorded };
        let mut writer = CacheWriter::new();
        for node in &self.nodes {
            let entries = match &node.content {
                Content::Cached(number) => self.copy(*number, &mut writer)?,
                Content::Fresh(leaves) => {
                    let mut entries = 0;
                    for leaf in leaves.items().iter().filter(|leaf| leaf.settled) {
                        if let Some(blob) = &leaf.blob {
                            writer.entry(leaves.name(leaf), &leaf.stat, blob)?;
                            entries += 1;
                        }
                    }
                    entries
                }
            };
            writer.dir(&DirRecord {
                name: &node.name,
                stat: node.stat,
                rules: node.rules,
                tree: node.tree,
                recorded: recorded_of(node),
                flags: self.flags_of(node),
                entries,
                children: node.children.len(),
            })?;
        }
        let recorded = self.nodes.first().and_then(recorded_of);
        writer.finish(self.horizon_ns, self.observed_ns, recorded)
    }

    fn copy(&self, number: usize, writer: &mut CacheWriter) -> Option<usize> {
        let dir: CachedDir<'_> = self.cached(number)?;
        for entry in dir.entries() {
            writer.entry(entry.name(), &entry.stat(), &entry.blob())?;
        }
        Some(dir.entries().len())
    }

    /// Replaces the stat cache. It is derived: failing to write it costs the next command time and nothing else.
    pub(crate) fn save(&self, store: &Store, name: Option<&str>, captured: bool) {
        if let Some((name, bytes)) = name.zip(self.to_cache(captured)) {
            let _ = store.cache_write(name, &bytes);
        }
    }
}
