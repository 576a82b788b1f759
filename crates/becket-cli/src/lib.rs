//! The `becket` program: its commands, as a library.

mod args;
mod commands;
mod difference;
mod input;
mod output;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

pub use args::Cli;

/// Runs the program with the process's own arguments.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    // A panic must not look like a verdict: it is an error like any other, and nothing was judged.
    match catch_unwind(AssertUnwindSafe(|| commands::run(&cli))) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            output::error(&error);
            ExitCode::FAILURE
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
    let verbs: Vec<String> =
        Cli::command().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let verb = std::env::args().skip(1).find(|argument| verbs.contains(argument));
    let judges = verb.is_some_and(|verb| verb == "fire");
    ExitCode::from(if judges { 1 } else { 2 })
}
