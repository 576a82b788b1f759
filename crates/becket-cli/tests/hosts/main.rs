//! The built program as agents call it: plugged in, then driven through the lines that were installed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod around;
mod doctor;
mod hook;
mod install;
mod large;
mod place;
mod starts;
