//! Snapshots of a small monorepo: the first, one with nothing changed, one after edits.

#![allow(clippy::unwrap_used, reason = "a bench that cannot run should stop")]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use gemel_repo::facts::Silent;
use gemel_repo::history::{SnapshotOptions, snapshot};
use gemel_repo::{InitOptions, Repo};
use gemel_store::vfs::real::RealDisk;
use gemel_tools::corpus;
use std::sync::Arc;
use tempfile::TempDir;

const FILES: usize = 1000;

fn fresh() -> (TempDir, Repo) {
    let dir = tempfile::tempdir().unwrap();
    corpus::generate(dir.path(), FILES, 1).unwrap();
    let made = Repo::init(Arc::new(RealDisk::new()), dir.path(), &InitOptions::default()).unwrap();
    (dir, made.repo)
}

fn take(repo: &Repo) {
    snapshot(repo, &SnapshotOptions::default(), &Silent).unwrap();
}

fn snapshots(c: &mut Criterion) {
    let mut group = c.benchmark_group("snapshot of 1000 files");
    group.sample_size(10);
    group.bench_function("first", |b| {
        b.iter_batched(
            fresh,
            |(dir, repo)| {
                take(&repo);
                (dir, repo)
            },
            BatchSize::PerIteration,
        );
    });
    let (_dir, repo) = fresh();
    take(&repo);
    group.bench_function("nothing changed", |b| b.iter(|| take(&repo)));
    group.bench_function("after 20 edits", |b| {
        let mut seed = 0;
        let edit = || {
            seed += 1;
            corpus::edit(repo.root(), 20, seed).unwrap();
        };
        b.iter_batched(edit, |()| take(&repo), BatchSize::PerIteration);
    });
    group.finish();
}

criterion_group!(benches, snapshots);
criterion_main!(benches);
