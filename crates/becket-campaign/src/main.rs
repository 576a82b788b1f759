//! Campaigns: many thousand times what happens rarely, and a count of what came of it.
//!
//! ```sh
//! cargo run --release -p becket-campaign -- kills
//! cargo run --release -p becket-campaign -- misbehaving
//! cargo run --release -p becket-campaign -- crowd
//! ```
//!
//! Each prints a table of figures and, as its last line, the same as JSON; the exit code is 1 if a figure is not what it
//! must be. docs/reliability.md says what each does and what came out.

mod agent;
mod census;
mod crowd;
mod figures;
mod journal;
mod kills;
mod misbehaving;
mod process;
mod stage;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use becket_e2e::Error;
use clap::{Parser, Subcommand};
use serde_json::json;

use crate::figures::Figures;

/// Campaigns against Becket: kills, hooks that misbehave, and crowds of events.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    campaign: Campaign,

    /// What the random choices begin with [default: another each time]
    #[arg(long, global = true)]
    seed: Option<u64>,
}

#[derive(Debug, Clone, Subcommand)]
enum Campaign {
    /// Kill the program at random moments, while it fires, while it takes an answer, while it is plugged in and out
    Kills {
        /// So many kills
        #[arg(long, default_value_t = 10_000)]
        count: u32,
    },
    /// Run hooks that do everything a hook must not do
    Misbehaving {
        /// So many hooks
        #[arg(long, default_value_t = 10_000)]
        count: u32,
    },
    /// Fire events all at once
    Crowd {
        /// So many events
        #[arg(long, default_value_t = 1_000)]
        events: u32,
        /// In so many sessions
        #[arg(long, default_value_t = 50)]
        sessions: u32,
    },
    /// All three, to their full counts
    All,
    /// An agent that embeds the engine: what `misbehaving` looks at from outside
    #[command(hide = true)]
    Agent(agent::Options),
    /// The keeper of that agent
    #[command(hide = true)]
    Keeper,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("becket-campaign: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<bool, Error> {
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    let campaigns = match arguments.campaign {
        // Before anything else: a keeper forks nothing of its own, and has one thread.
        Campaign::Keeper => {
            return Err(becket_exec::keeper_main().err().map_or("no keeper".into(), Into::into));
        }
        Campaign::Agent(options) => return agent::run(&options, seed).map(|()| true),
        Campaign::All => vec![
            Campaign::Kills { count: 10_000 },
            Campaign::Misbehaving { count: 10_000 },
            Campaign::Crowd { events: 1_000, sessions: 50 },
        ],
        one => vec![one],
    };
    let mut all = Vec::new();
    for campaign in campaigns {
        let start = Instant::now();
        say(&format!("{campaign:?}, seed {seed}"));
        let mut figures = match campaign {
            Campaign::Kills { count } => kills::run(count, seed)?,
            Campaign::Misbehaving { count } => misbehaving::run(count, seed)?,
            Campaign::Crowd { events, sessions } => crowd::run(events, sessions, seed)?,
            Campaign::All | Campaign::Agent(_) | Campaign::Keeper => continue,
        };
        figures.tell("seconds", start.elapsed().as_secs());
        figures.tell("seed", seed);
        print(&figures.table())?;
        all.push(figures);
    }
    let is_fine = all.iter().all(Figures::are_fine);
    let campaigns: Vec<_> = all.iter().map(Figures::json).collect();
    print(&format!("{}\n", json!({ "fine": is_fine, "campaigns": campaigns })))?;
    Ok(is_fine)
}

fn print(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())
}

/// Progress, and what a person should look at.
fn say(text: &str) {
    // There is nobody else to tell.
    let _ = writeln!(io::stderr(), "{text}");
}
