//! The `becket` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    becket_cli::main()
}
