//! Decoding and validating objects: the pinned vectors, and trees of growing width.

#![allow(clippy::unwrap_used, reason = "a bench that cannot run should stop")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gemel_object::{Family, Gid, Limits, Object, blob_envelope};
use gemel_tools::vectors::unhex;
use std::fs;
use std::hint::black_box;
use std::path::Path;

/// Envelopes of all pinned vectors.
fn vectors() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/object");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".gce.hex"));
    paths.sort();
    paths.iter().map(|path| unhex(&fs::read_to_string(path).unwrap()).unwrap()).collect()
}

fn decode(c: &mut Criterion) {
    let vectors = vectors();
    let mut group = c.benchmark_group("object decode");
    group.throughput(Throughput::Elements(vectors.len() as u64));
    group.bench_function("pinned vectors", |b| {
        b.iter(|| {
            vectors
                .iter()
                .map(|bytes| Object::decode(black_box(bytes), &Limits::DEFAULT).unwrap().family().code())
                .max()
        });
    });
    for width in [10, 100, 1000] {
        let bytes = gemel_benches::tree(width).unwrap();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_with_input(BenchmarkId::new("tree", width), &bytes, |b, bytes| {
            b.iter(|| Object::decode(black_box(bytes), &Limits::DEFAULT).unwrap());
        });
    }
    group.finish();
}

fn hash(c: &mut Criterion) {
    let mut group = c.benchmark_group("identity");
    for size in [200, 4096, 1 << 20] {
        let bytes = blob_envelope(&vec![7; size], &Limits::DEFAULT).unwrap().bytes;
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &bytes, |b, bytes| {
            b.iter(|| Gid::of_envelope(Family::Blob, black_box(bytes)));
        });
    }
    group.finish();
}

criterion_group!(benches, decode, hash);
criterion_main!(benches);
