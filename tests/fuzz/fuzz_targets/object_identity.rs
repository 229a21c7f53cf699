#![no_main]

#[allow(dead_code, reason = "each target calls one of the entries")]
#[path = "../entry/object.rs"]
mod object;

libfuzzer_sys::fuzz_target!(|data: &[u8]| object::identity(data));
