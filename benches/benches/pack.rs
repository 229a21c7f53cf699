//! A pack written and read: the files of a small monorepo, with and without a base to be compressed against.

#![allow(clippy::unwrap_used, reason = "a bench that cannot run should stop")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use gemel_benches::Sources;
use gemel_object::Gid;
use gemel_store::vfs::real::RealDisk;
use gemel_store::{NewObject, Store};
use std::hint::black_box;
use std::sync::Arc;
use tempfile::TempDir;

const FILES: usize = 2000;

fn empty() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::init(Arc::new(RealDisk::new()), &dir.path().join(".gemel")).unwrap();
    (dir, store)
}

fn fill(store: &Store, objects: &[NewObject]) {
    let writer = store.writer().unwrap();
    for object in objects {
        writer.put(object.clone()).unwrap();
    }
    writer.commit().unwrap();
}

fn write(c: &mut Criterion) {
    let sources = Sources::new(FILES, 1).unwrap();
    let mut group = c.benchmark_group("pack write");
    group.sample_size(10).throughput(Throughput::Bytes(sources.bytes()));
    group.bench_function("full", |b| {
        b.iter_batched(
            empty,
            |(dir, store)| {
                fill(&store, &sources.first);
                (dir, store)
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("delta", |b| {
        let begin = || {
            let (dir, store) = empty();
            fill(&store, &sources.first);
            (dir, store)
        };
        b.iter_batched(
            begin,
            |(dir, store)| {
                fill(&store, &sources.second);
                (dir, store)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn read(c: &mut Criterion) {
    let sources = Sources::new(FILES, 1).unwrap();
    let (_dir, store) = empty();
    fill(&store, &sources.first);
    fill(&store, &sources.second);
    let mut group = c.benchmark_group("pack read");
    for (name, objects) in [("full", &sources.first), ("delta", &sources.second)] {
        let ids: Vec<Gid> = objects.iter().map(|object| object.id).collect();
        let mut asked = ids.iter().cycle();
        group.bench_function(name, |b| b.iter(|| store.read(black_box(asked.next().unwrap())).unwrap()));
    }
    group.finish();
}

criterion_group!(benches, write, read);
criterion_main!(benches);
