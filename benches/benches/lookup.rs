//! Finding keys in the index of a pack: hits, misses, and building the index.

#![allow(clippy::unwrap_used, reason = "a bench that cannot run should stop")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gemel_benches::random_keys;
use gemel_packfmt::Key;
use gemel_packfmt::index::{Index, IndexBuilder, Place};
use std::hint::black_box;

fn place(ordinal: u32) -> Place {
    Place { offset: 16 + u64::from(ordinal) * 300, ordinal }
}

fn builder(keys: &[Key]) -> IndexBuilder {
    let objects = keys.iter().zip(0u32..).map(|(key, n)| (*key, place(n))).collect();
    IndexBuilder { objects, ..IndexBuilder::default() }
}

fn find(c: &mut Criterion) {
    let mut group = c.benchmark_group("id lookup");
    for count in [100_000, 1_000_000, 10_000_000] {
        let keys = random_keys(count, 1);
        let absent = random_keys(10_000, 2);
        let bytes = builder(&keys).build().unwrap();
        let index = Index::open(&bytes).unwrap();
        let mut asked = keys.iter().step_by(count / 10_000).cycle();
        group.bench_function(BenchmarkId::new("hit", count), |b| {
            b.iter(|| {
                let key = asked.next().unwrap();
                index.find(&bytes, black_box(key)).unwrap()
            });
        });
        let mut asked = absent.iter().cycle();
        group.bench_function(BenchmarkId::new("miss", count), |b| {
            b.iter(|| {
                let key = asked.next().unwrap();
                assert!(index.find(&bytes, black_box(key)).is_none());
            });
        });
    }
    group.finish();
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("index build");
    group.sample_size(10);
    for count in [10_000, 100_000] {
        let keys = random_keys(count, 1);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| builder(&keys).build().unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, find, build);
criterion_main!(benches);
