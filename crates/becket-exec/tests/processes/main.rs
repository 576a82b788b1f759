//! The runner against real processes.
//!
//! This program has no test harness, because it plays the other parts too: started with a role as its
//! first argument it is a keeper, or a host of a difficult kind.

#![expect(
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "all of this program is test"
)]

mod ancestry;
mod ends;
mod feeding;
mod hosts;
mod keeper;
mod output;
mod start;
mod support;
mod survivors;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

type Test = (&'static str, fn());

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(role) = args.first().and_then(|arg| arg.strip_prefix("role:")) {
        hosts::play(role, &args[1..]);
        return;
    }
    let tests: Vec<Test> = [
        ancestry::TESTS,
        ends::TESTS,
        feeding::TESTS,
        hosts::TESTS,
        keeper::TESTS,
        output::TESTS,
        start::TESTS,
        survivors::TESTS,
    ]
    .concat();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if has("--list") {
        if !has("--ignored") {
            tests.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return;
    }
    let wanted: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let chosen: Vec<Test> = tests
        .into_iter()
        .filter(|(name, _)| {
            wanted.is_empty()
                || wanted
                    .iter()
                    .any(|want| if has("--exact") { name == want } else { name.contains(want.as_str()) })
        })
        .collect();
    let failed = run_all(&chosen);
    println!("\ntest result: {} run, {} failed: {failed:?}", chosen.len(), failed.len());
    std::process::exit(i32::from(!failed.is_empty()));
}

/// Mostly waiting is done here, so a few at a time are fine on any machine.
fn run_all(tests: &[Test]) -> Vec<&'static str> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((name, test)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    let ok = catch_unwind(AssertUnwindSafe(test)).is_ok();
                    println!(
                        "test {name} ... {} ({:.2?})",
                        if ok { "ok" } else { "FAILED" },
                        begun.elapsed()
                    );
                    if !ok {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(*name);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Names tests by their module and function.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[(&str, fn())] = &[$((concat!(module_path!(), "::", stringify!($name)), $name)),*];
    };
}
