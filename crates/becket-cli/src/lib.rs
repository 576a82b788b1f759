//! The `becket` program: its commands, as a library.

mod args;
mod commands;
mod difference;
mod exit;
mod input;
mod output;

pub use args::Cli;
pub use exit::ExitCode;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the program with the process's own arguments.
pub fn main() -> ExitCode {
    becket::begin_program();
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    // A panic must not look like a verdict: it is an error like any other, and nothing was judged.
    match catch_unwind(AssertUnwindSafe(|| commands::run(&cli))) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            output::error(&error);
            error.exit()
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// Help goes to stdout and is fine. Of `fire` bad usage is exit code 1, for there 2 means that a hook blocked.
fn usage(error: &clap::Error) -> ExitCode {
    drop(error.print());
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let arguments = || std::env::args_os().skip(1);
    // Of `hook` 2 is a denial: right where leave is asked for, and at an end a reason to go on for ever.
    let not_judged = match verb(arguments()).as_deref() {
        Some("fire") => true,
        Some("hook") => commands::hook_tells(arguments()),
        _ => false,
    };
    ExitCode::from(if not_judged { 1 } else { 2 })
}

/// The verb among these arguments. They are wrong somewhere, so clap cannot tell.
fn verb(mut arguments: impl Iterator<Item = OsString>) -> Option<String> {
    while let Some(argument) = arguments.next() {
        match argument.to_string_lossy().as_ref() {
            "--workspace" | "--dialect" | "--profile" | "--config" => drop(arguments.next()),
            option if option.starts_with('-') => {}
            verb => return Some(verb.to_owned()),
        }
    }
    None
}
