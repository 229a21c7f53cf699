#![no_main]

#[allow(dead_code, reason = "each target calls one of the entries")]
#[path = "../entry/store.rs"]
mod store;

libfuzzer_sys::fuzz_target!(|data: &[u8]| store::journal(data));
