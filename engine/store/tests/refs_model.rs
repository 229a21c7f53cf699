//! Random transactions against a map, reopened in between, with folds, compactions and rotations forced (REF-04).
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod refs_support;

use gemel_object::Family;
use gemel_store::refs::{self, RefOptions};
use gemel_store::{RefValue, RefsMark};
use proptest::prelude::*;
use refs_support::*;

type Edits = Vec<(String, Option<RefValue>)>;

fn value_for(name: &str, n: u64) -> RefValue {
    if name.starts_with("local/") {
        RefValue::Record(vec![n as u8; (n % 700) as usize])
    } else {
        RefValue::Id(change(n))
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("refs/head".to_owned()),
        (1u64..60).prop_map(|n| format!("refs/names/C{n}")),
        (1u64..20).prop_map(|n| format!("refs/names/a/very/long/prefix/that/is/shared/by/many/names/{n}")),
        (1u64..20).prop_map(|n| format!("local/records/{n}")),
        "refs/names/[aé日]{1,12}",
    ]
}

fn edits() -> impl Strategy<Value = Edits> {
    let edit = || {
        (name(), any::<Option<u64>>()).prop_map(|(name, n)| (name.clone(), n.map(|n| value_for(&name, n))))
    };
    prop_oneof![5 => prop::collection::vec(edit(), 1..4), 1 => prop::collection::vec(edit(), 1..60)]
}

fn options() -> impl Strategy<Value = RefOptions> {
    (1usize..6, 100u64..2000, 256usize..600, 2u64..5, 200usize..2000, 0u64..3000, 0usize..3).prop_map(
        |(tail_records, tail_bytes, block_bytes, growth, bulk_bytes, journal_bytes, journals_kept)| {
            RefOptions {
                tail_bytes,
                tail_records,
                bulk_bytes,
                block_bytes,
                growth,
                journal_bytes,
                journals_kept,
            }
        },
    )
}

/// Largest number of `refs/names/C…` ever set.
fn largest(history: &[Edits]) -> u64 {
    let numbers =
        history.iter().flatten().filter_map(|(name, _)| name.strip_prefix("refs/names/C")?.parse().ok());
    numbers.max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn behaves_like_a_map(options in options(), history in prop::collection::vec(edits(), 1..30)) {
        let disk = fresh();
        let mut model = Model::new();
        let mut marks = Vec::new();
        for (n, edits) in history.iter().enumerate() {
            let before = refs::open(&vfs(&disk), dir()).unwrap();
            let mark = before.mark();
            prop_assert_eq!(RefsMark::from_bytes(&mark.to_bytes()), Some(mark.clone()));
            marks.push((mark, model.clone()));
            let held: Vec<_> = before.scan("").unwrap().map(|(name, v)| (name, v.unwrap())).collect();
            commit(&disk, options, edits).unwrap();
            // An open view does not move, whatever was folded and removed under it.
            let again: Vec<_> = before.scan("").unwrap().map(|(name, v)| (name, v.unwrap())).collect();
            prop_assert_eq!(held, again);
            apply(&mut model, edits);
            let all = read_checked(&disk, &format!("after transaction {n}"));
            prop_assert_eq!(&all, &model);
        }
        let refs = refs::open(&vfs(&disk), dir()).unwrap();
        for (mark, then) in marks {
            let since: Model = refs
                .since(&mark)
                .into_iter()
                .filter_map(|(name, value)| Some((name, value.unwrap()?)))
                .collect();
            prop_assert!(since.iter().all(|(name, value)| model.get(name) == Some(value)));
            for (name, value) in &model {
                prop_assert!(then.get(name) == Some(value) || since.contains_key(name), "{name} is left out");
            }
        }
        for (name, _) in history.iter().flatten() {
            prop_assert_eq!(refs.value(name).unwrap(), model.get(name).cloned(), "{}", name);
        }
        for prefix in ["refs/", "refs/names/C", "refs/names/C1", "local/", "refs/names/a/", "refs/z", "a"] {
            let found: Vec<String> = refs.scan(prefix).unwrap().map(|(name, _)| name).collect();
            let expected: Vec<String> = model.keys().filter(|k| k.starts_with(prefix)).cloned().collect();
            prop_assert_eq!(found, expected, "{}", prefix);
        }
        let number = refs.max_number("refs/names", "C").unwrap();
        prop_assert!(number <= largest(&history));
        // Every number that still stands is covered; one that was set and removed may be.
        let standing = model.keys().filter_map(|k| k.strip_prefix("refs/names/C")?.parse().ok()).max().unwrap_or(0);
        prop_assert!(number >= standing, "{} {}", number, standing);
        // Nothing is left lying about, and transactions are numbered without gaps.
        let report = refs::verify(&vfs(&disk), dir()).unwrap();
        prop_assert_eq!(report.findings, vec![]);
        let entries = refs::journal_entries(&vfs(&disk), dir(), usize::MAX).unwrap();
        let last = refs.sequence();
        prop_assert!(entries.iter().zip(0..).all(|(e, i)| e.sequence == last - i));
    }
}

/// Shows REF-03.
#[test]
fn journal_tells_old_and_new() {
    let disk = fresh();
    commit(&disk, RefOptions::default(), &step(1)).unwrap();
    commit(&disk, RefOptions::default(), &[("refs/head".to_owned(), Some(RefValue::Id(change(2))))]).unwrap();
    commit(&disk, TINY, &bulk(1)).unwrap();
    commit(&disk, RefOptions::default(), &[("refs/head".to_owned(), None)]).unwrap();
    let entries = refs::journal_entries(&vfs(&disk), dir(), 3).unwrap();
    let sequences: Vec<_> = entries.iter().map(|e| (e.sequence, e.edit_count, e.edits.len())).collect();
    assert_eq!(sequences[0], (4, 1, 1));
    assert_eq!((sequences[1].0, sequences[1].1), (3, 40));
    assert_eq!(sequences[2], (2, 1, 1));
    let edit = &entries[2].edits[0];
    assert_eq!(edit.name, "refs/head");
    assert_eq!(edit.old, refs::JournalValue::Id(change(1)));
    assert_eq!(edit.new, refs::JournalValue::Id(change(2)));
    assert_eq!(entries[0].edits[0].new, refs::JournalValue::Absent);
    assert_eq!((entries[0].command.as_str(), entries[0].time_ms), ("test", 7));
}

/// Syncs are what a commit costs: one for a small transaction, four for one that writes a table.
#[test]
fn syncs_per_transaction() {
    let disk = fresh();
    let options = RefOptions::default();
    let cost = |edits: &Edits| {
        let before = disk.syncs().total();
        commit(&disk, options, edits).unwrap();
        disk.syncs().total() - before
    };
    assert_eq!(cost(&step(1)), 1);
    assert_eq!(cost(&step(1)), 0, "nothing to change");
    let many: Edits = (0..100_000)
        .map(|i| {
            (format!("refs/mappings/import/git_commit/{i:040}"), Some(RefValue::Id(id(Family::Mapping, i))))
        })
        .collect();
    assert_eq!(cost(&many), 4);
    let costs: Vec<usize> = (2..600).map(|n| cost(&step(n))).collect();
    assert!(costs.iter().all(|c| matches!(c, 1 | 4)), "{costs:?}");
    assert_eq!(costs.iter().filter(|c| **c == 4).count(), 2);
    assert_eq!(refs::open(&vfs(&disk), dir()).unwrap().max_number("refs/names", "C").unwrap(), 599);
    assert!(disk.files().len() < 8, "{:?}", disk.files().keys());
}

/// Bulk transactions in a row keep the audit whole, though their records wait for a journal append.
#[test]
fn bulk_after_bulk_keeps_the_audit() {
    let disk = fresh();
    for n in 0..150 {
        commit(&disk, TINY, &bulk(n)).unwrap();
    }
    let options = RefOptions { journals_kept: 100, ..TINY };
    let entries = refs::journal_entries(&vfs(&disk), dir(), 1000).unwrap();
    assert_eq!(entries.first().map(|e| e.sequence), Some(150));
    commit(&disk, options, &step(1)).unwrap();
    read_checked(&disk, "after");
}
