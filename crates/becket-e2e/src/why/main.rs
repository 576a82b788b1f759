//! The same agent, the same scripted session and the same hook: once in the agent's own hook engine, once through Becket.
//!
//! `cargo run -p becket-e2e --bin why [WORDS]` prints the tables of docs/why.md; with words, only the cases whose name
//! holds them.

mod cases;
mod guard;
mod stage;

use std::io::{self, Write as _};
use std::process::ExitCode;

use becket_e2e::{Agents, Dialect, Error, Host};

use crate::cases::CASES;
use crate::stage::{Side, Stage};

const SIDES: [Side; 3] = [Side::Own, Side::Becket(Dialect::Albedo), Side::Becket(Dialect::Celeste)];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nobody else to tell.
            let _ = writeln!(io::stderr(), "why: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let words = std::env::args().nth(1).unwrap_or_default();
    let agents = Agents::fetch().map_err(|why| why.0)?;
    let mut out = io::stdout();
    for host in [Host::Codex, Host::Gemini] {
        writeln!(out, "### {}\n", host.version())?;
        writeln!(out, "| case | its own engine | Becket, albedo's words | Becket, Celeste's words |")?;
        writeln!(out, "|---|---|---|---|")?;
        for case in CASES.iter().filter(|case| case.name.contains(&words)) {
            write!(out, "| {} |", case.name)?;
            for side in SIDES {
                let stage = Stage::new(&agents, host, side)?;
                let cell = stage.play(case).unwrap_or_else(|error| format!("could not be run: {error}"));
                write!(out, " {cell} |")?;
                out.flush()?;
            }
            writeln!(out)?;
        }
        writeln!(out)?;
    }
    Ok(())
}
