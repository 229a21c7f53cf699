//! A long file passes through in little memory, both ways. Alone in its process, which is what is measured.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod content_support;

use content_support::*;
use std::fs;
use std::io::{Read, Write};

const MIB: usize = 1 << 20;
const LENGTH: usize = 160;
/// Far below the length of the file.
const ALLOWED: usize = 96;

/// Most memory this process has had, in MiB.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}

/// A block that does not compress and differs from all others.
fn block(number: usize) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&number.to_le_bytes());
    let mut bytes = vec![0; MIB];
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

#[test]
fn a_long_file_goes_in_and_comes_out() {
    let mut work = Work::new();
    let mut file = fs::File::create(work.path("long")).unwrap();
    (0..LENGTH).for_each(|number| file.write_all(&block(number)).unwrap());
    drop(file);
    let before = peak();
    let state = work.capture().state;
    assert!(peak() < before + ALLOWED, "{} MiB in, {before} before", peak());
    assert!(work.changes().is_empty());
    let target = work.temp.path().join("target");
    work.checkout(&work.checkout_request(&target, state)).unwrap();
    assert!(peak() < before + ALLOWED, "{} MiB out, {before} before", peak());
    let mut file = fs::File::open(target.join("long")).unwrap();
    let mut bytes = vec![0; MIB];
    for number in 0..LENGTH {
        file.read_exact(&mut bytes).unwrap();
        assert!(bytes == block(number), "block {number}");
    }
    assert_eq!(file.read(&mut bytes).unwrap(), 0);
}
