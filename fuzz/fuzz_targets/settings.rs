#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| becket_fuzz::settings(bytes));
