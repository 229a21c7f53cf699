//! Which changes a reconciliation adopts: per path, the first input wins; a change is adopted whole or not at all
//! (workflow, section 12). Pure: what the base holds is asked of [`Files`].

use crate::Result;
use crate::content::{Leaf, PathDelta};
use gemel_object::Gid;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The files that all inputs start from.
pub(super) trait Files {
    /// The file or link at a path.
    ///
    /// # Errors
    /// Those of the store.
    fn leaf(&mut self, path: &str) -> Result<Option<Leaf>>;
    /// All files below a path.
    ///
    /// # Errors
    /// Those of the store.
    fn below(&mut self, path: &str) -> Result<Vec<String>>;
}

/// A change and what it does to files.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) change: Gid,
    pub(super) deltas: Vec<PathDelta>,
}

/// An input: its changes in order of work.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Whether it was closed so that nothing of it is adopted.
    pub(super) barred: bool,
    pub(super) steps: Vec<Step>,
}

/// A path in dispute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dispute {
    /// The first changes of the owners.
    pub(super) owners: BTreeSet<Gid>,
    /// The changes rejected because of it.
    pub(super) rejected: BTreeSet<Gid>,
}

/// What was decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Adoption {
    /// In walk order.
    pub(super) adopted: Vec<Gid>,
    /// In walk order.
    pub(super) rejected: Vec<Gid>,
    /// By path.
    pub(super) disputes: BTreeMap<String, Dispute>,
    /// Rejected changes and the earlier rejected ones they build on, in walk order.
    pub(super) builds_on: Vec<(Gid, Gid)>,
    /// What the adopted changes make of the base.
    pub(super) edits: BTreeMap<String, Option<Leaf>>,
}

/// Decides over all changes of all inputs, in the order given.
///
/// # Errors
/// Those of the base.
pub(super) fn adopt(lines: &[Line], base: &mut dyn Files) -> Result<Adoption> {
    let mut walk = Walk { base, owners: HashMap::new(), found: Adoption::default() };
    let mut decided = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        // Paths of this input's rejected changes, with the first of them.
        let mut lost: HashMap<String, Gid> = HashMap::new();
        for step in &line.steps {
            if !decided.insert(step.change) {
                continue;
            }
            if !line.barred && walk.take(at, step, &lost)? {
                walk.found.adopted.push(step.change);
                for delta in &step.deltas {
                    walk.owners.entry(delta.path.clone()).or_insert((at, step.change));
                }
            } else {
                walk.found.rejected.push(step.change);
                for delta in &step.deltas {
                    lost.entry(delta.path.clone()).or_insert(step.change);
                }
            }
        }
    }
    Ok(walk.found)
}

struct Walk<'b> {
    base: &'b mut dyn Files,
    /// Input and first adopted change of each path.
    owners: HashMap<String, (usize, Gid)>,
    found: Adoption,
}

impl Walk<'_> {
    /// Applies a change if every rule allows it.
    fn take(&mut self, at: usize, step: &Step, lost: &HashMap<String, Gid>) -> Result<bool> {
        let mut disputed: Vec<(String, Option<Gid>)> = Vec::new();
        let mut builds_on: BTreeSet<Gid> = BTreeSet::new();
        for delta in &step.deltas {
            if let Some((owner, change)) = self.owners.get(&delta.path).copied()
                && owner != at
                && self.merged(&delta.path)? != delta.after
            {
                disputed.push((delta.path.clone(), Some(change)));
            }
            builds_on.extend(lost.get(&delta.path));
        }
        let mut undo = Vec::with_capacity(step.deltas.len());
        for delta in &step.deltas {
            undo.push((delta.path.clone(), self.found.edits.insert(delta.path.clone(), delta.after)));
        }
        for delta in step.deltas.iter().filter(|delta| delta.after.is_some()) {
            for (file, obstacle) in self.obstacles(&delta.path)? {
                match self.owners.get(&obstacle).copied() {
                    Some((owner, change)) if owner != at => disputed.push((file, Some(change))),
                    _ => match lost.get(&obstacle) {
                        Some(earlier) => drop(builds_on.insert(*earlier)),
                        None => disputed.push((file, None)),
                    },
                }
            }
        }
        if disputed.is_empty() && builds_on.is_empty() {
            return Ok(true);
        }
        for (path, before) in undo.into_iter().rev() {
            match before {
                Some(before) => drop(self.found.edits.insert(path, before)),
                None => drop(self.found.edits.remove(&path)),
            }
        }
        for (path, owner) in disputed {
            let dispute = self.found.disputes.entry(path).or_default();
            dispute.owners.extend(owner);
            dispute.rejected.insert(step.change);
        }
        self.found.builds_on.extend(builds_on.into_iter().map(|earlier| (step.change, earlier)));
        Ok(false)
    }

    /// What is at a path after the changes taken so far.
    fn merged(&mut self, path: &str) -> Result<Option<Leaf>> {
        match self.found.edits.get(path) {
            Some(leaf) => Ok(*leaf),
            None => self.base.leaf(path),
        }
    }

    /// Why a file cannot be at a path: the path that would be both file and directory, and the file that is there.
    fn obstacles(&mut self, path: &str) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        for (at, _) in path.match_indices('/') {
            let above = path.get(..at).unwrap_or_default();
            if self.merged(above)?.is_some() {
                found.push((above.to_owned(), above.to_owned()));
            }
        }
        let below = format!("{path}/");
        let new = self.found.edits.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
        let new = new.filter(|(_, leaf)| leaf.is_some()).map(|(path, _)| path.clone());
        let mut standing: BTreeSet<String> = new.collect();
        for old in self.base.below(path)? {
            if !self.found.edits.contains_key(&old) {
                standing.insert(old);
            }
        }
        found.extend(standing.into_iter().map(|file| (path.to_owned(), file)));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gemel_object::{Family, Mode};

    /// A base as a plain map.
    struct Plain(BTreeMap<String, Leaf>);

    impl Files for Plain {
        fn leaf(&mut self, path: &str) -> Result<Option<Leaf>> {
            Ok(self.0.get(path).copied())
        }
        fn below(&mut self, path: &str) -> Result<Vec<String>> {
            let below = format!("{path}/");
            Ok(self.0.keys().filter(|file| file.starts_with(&below)).cloned().collect())
        }
    }

    fn content(text: &str) -> Option<Leaf> {
        let byte = text.bytes().next()?;
        Some((Mode::File, Gid::new(Family::Blob, [byte; 32])))
    }

    fn change(n: u8) -> Gid {
        Gid::new(Family::Change, [n; 32])
    }

    /// `path=content` sets, `path=` removes; a line that begins with `!` is barred.
    fn line(first: u8, text: &str) -> Line {
        let barred = text.starts_with('!');
        let steps = text.trim_start_matches('!').split('|').zip(first..).map(|(edits, n)| Step {
            change: change(n),
            deltas: edits
                .split_whitespace()
                .filter_map(|edit| edit.split_once('='))
                .map(|(path, after)| PathDelta { path: path.to_owned(), before: None, after: content(after) })
                .collect(),
        });
        Line { barred, steps: steps.collect() }
    }

    fn plain(files: &str) -> BTreeMap<String, Leaf> {
        let files = files.split_whitespace().filter_map(|file| file.split_once('='));
        files.filter_map(|(path, text)| Some((path.to_owned(), content(text)?))).collect()
    }

    fn decide(base: &str, inputs: &[&str]) -> (Adoption, Vec<Line>) {
        let lines: Vec<Line> = inputs.iter().zip((1..).step_by(10)).map(|(text, n)| line(n, text)).collect();
        (adopt(&lines, &mut Plain(plain(base))).unwrap(), lines)
    }

    /// Inputs number their changes 1.., 11.., 21..; disputed paths and what builds on what.
    fn check(base: &str, inputs: &[&str], adopted: &[u8], disputes: &[&str], builds_on: &[(u8, u8)]) {
        let (found, lines) = decide(base, inputs);
        let ids: Vec<Gid> = adopted.iter().map(|n| change(*n)).collect();
        assert_eq!(found.adopted, ids, "{inputs:?}");
        let all = lines.iter().flat_map(|line| &line.steps).map(|step| step.change);
        assert_eq!(found.rejected, all.filter(|id| !ids.contains(id)).collect::<Vec<_>>(), "{inputs:?}");
        assert_eq!(found.disputes.keys().collect::<Vec<_>>(), disputes, "{inputs:?}");
        let pairs: Vec<(Gid, Gid)> = builds_on.iter().map(|(a, b)| (change(*a), change(*b))).collect();
        assert_eq!(found.builds_on, pairs, "{inputs:?}");
        // The result is the adopted deltas applied in order to the plain base.
        let (mut model, mut made) = (plain(base), plain(base));
        for step in lines.iter().flat_map(|line| &line.steps).filter(|step| ids.contains(&step.change)) {
            for delta in &step.deltas {
                set(&mut model, &delta.path, delta.after);
            }
        }
        for (path, leaf) in &found.edits {
            set(&mut made, path, *leaf);
        }
        assert_eq!(made, model, "{inputs:?}");
        for path in model.keys() {
            let below = format!("{path}/");
            assert!(!model.keys().any(|other| other.starts_with(&below)), "{path} is file and directory");
        }
    }

    fn set(files: &mut BTreeMap<String, Leaf>, path: &str, leaf: Option<Leaf>) {
        match leaf {
            Some(leaf) => drop(files.insert(path.to_owned(), leaf)),
            None => drop(files.remove(path)),
        }
    }

    #[test]
    fn the_first_input_wins_per_path_and_changes_are_whole() {
        check("x=0 y=0", &["x=l", "y=r"], &[1, 11], &[], &[]);
        check("x=0 y=0", &["x=l", "x=r y=r"], &[1], &["x"], &[]);
        check("x=0 y=0", &["x=r y=r", "x=l"], &[1], &["x"], &[]);
        check("x=0", &["x=l|x=m", "x=r"], &[1, 2], &["x"], &[]);
        check("x=0", &["a=1", "b=1|c=1", "d=1"], &[1, 11, 12, 21], &[], &[]);
    }

    /// (a): the same content is agreement, also the same deletion; against the content merged by then.
    #[test]
    fn agreement() {
        check("x=0", &["x=l", "x=l"], &[1, 11], &[], &[]);
        check("x=0", &["x=", "x="], &[1, 11], &[], &[]);
        check("x=0", &["x=l|x=m", "x=l"], &[1, 2], &["x"], &[]);
        check("x=0", &["x=l|x=m", "x=m"], &[1, 2, 11], &[], &[]);
        // Agreement takes no ownership: a later edit is against the owner.
        check("x=0", &["x=l", "x=l|x=r"], &[1, 11], &["x"], &[]);
    }

    /// (b): no path is both a file and a directory.
    #[test]
    fn files_against_directories() {
        check("", &["n=1", "n/x=1"], &[1], &["n"], &[]);
        check("", &["n/x=1", "n=1"], &[1], &["n"], &[]);
        check("d/a=0", &["d/b=1", "d/a= d=1"], &[1], &["d"], &[]);
        check("d/a=0", &["d/a= d=1", "d/b=1"], &[1], &["d"], &[]);
        check("d/a=0", &["d/a= d=1", "e=1"], &[1, 11], &[], &[]);
        check("n=0", &["n= n/x=1|n/y=1", "e=1"], &[1, 2, 11], &[], &[]);
        // A base in the way that nothing accounts for.
        check("n=0", &["e=1", "n/x=1"], &[1], &["n"], &[]);
    }

    /// (c): what builds on a rejected change of the same input falls with it.
    #[test]
    fn what_builds_on_rejected_changes() {
        check("x=0 y=0", &["x=l", "x=r y=r|y=s|z=1"], &[1, 13], &["x"], &[(12, 11)]);
        check("x=0 y=0", &["x=l", "x=r y=r|y=s q=1|q=2"], &[1], &["x"], &[(12, 11), (13, 12)]);
        // The directory came with the rejected change.
        check("x=0 n=0", &["x=l", "x=r n=|n/y=1"], &[1], &["x"], &[(12, 11)]);
        // Another input's rejected change is no base for anybody.
        check("x=0 y=0", &["x=l", "x=r y=r", "y=s"], &[1, 21], &["x"], &[]);
    }

    /// (d): nothing of an input that was given up; nor does it own anything.
    #[test]
    fn barred_inputs() {
        check("x=0", &["!x=l|y=1", "x=r"], &[11], &[], &[]);
        check("x=0", &["x=l", "!y=1"], &[1], &[], &[]);
    }

    /// Generated lines: the model of `check` holds whatever is adopted.
    #[test]
    fn generated_inputs_agree_with_a_plain_model() {
        let mut state = 11u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let paths = ["a", "b", "d", "d/a", "d/b", "e/f/g", "e/f"];
        for _ in 0..500 {
            let inputs: Vec<String> = (0..2 + next(2))
                .map(|_| {
                    let steps: Vec<String> = (0..1 + next(3))
                        .map(|_| {
                            let edits = (0..1 + next(2)).map(|_| {
                                let path = paths[usize::try_from(next(7)).unwrap()];
                                format!("{path}={}", ["", "1", "2"][usize::try_from(next(3)).unwrap()])
                            });
                            edits.collect::<Vec<_>>().join(" ")
                        })
                        .collect();
                    steps.join("|")
                })
                .collect();
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let (found, lines) = decide("a=0 d/a=0", &inputs);
            let (mut model, mut made) = (plain("a=0 d/a=0"), plain("a=0 d/a=0"));
            for step in lines.iter().flat_map(|line| &line.steps) {
                if found.adopted.contains(&step.change) {
                    step.deltas.iter().for_each(|delta| set(&mut model, &delta.path, delta.after));
                }
            }
            found.edits.iter().for_each(|(path, leaf)| set(&mut made, path, *leaf));
            assert_eq!(made, model, "{inputs:?}");
            let total: usize = lines.iter().map(|line| line.steps.len()).sum();
            assert_eq!(found.adopted.len() + found.rejected.len(), total, "{inputs:?}");
            for path in model.keys() {
                let below = format!("{path}/");
                let both = model.keys().any(|other| other.starts_with(&below));
                // One change that makes both at once is nobody's tree.
                assert!(!both, "{path} is file and directory: {inputs:?}");
            }
        }
    }
}
