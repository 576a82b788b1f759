//! The `becket` program, entered the way the C library enters programs.
//!
//! What the standard library does before a Rust `main` (it reads the process's whole memory map, to tell an overflow of
//! the stack from other faults) takes a tenth of the time in which a process starts and ends, and an agent waits for that
//! on every event. [`becket::begin_program`] does the part of it that is needed.

#![no_main]
#![expect(unsafe_code, reason = "the name by which the C library calls the program's entry")]

use std::ffi::{c_char, c_int};

/// The entry point. The arguments are had from the standard library, which keeps them from before this.
// Sound: no other `main` is linked, and this one has C's signature.
#[unsafe(no_mangle)]
extern "C" fn main(_count: c_int, _arguments: *const *const c_char) -> c_int {
    u8::from(becket_cli::main()).into()
}
