//! An agent that embeds the engine, as one written in Rust would: one process that lives long and fires many events, several
//! at a time. `misbehaving` starts it and looks at it from outside, between its batches.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use std::{env, thread};

use becket::core::outcome::{Outcome, Status};
use becket::{Cancel, Custodian, Engine, Event, Options as Opening, Request};
use becket_e2e::Error;
use becket_exec::Pool;
use camino::Utf8PathBuf;
use clap::Args;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::misbehaving::kinds::{Ends, Kind};
use crate::misbehaving::scene;

/// Options of the agent.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// The settings file
    #[arg(long)]
    config: Utf8PathBuf,
    /// Where the work is
    #[arg(long)]
    project: Utf8PathBuf,
    /// Whether keepers hold the hooks' processes; without, this process does
    #[arg(long)]
    keepers: bool,
    /// So many events at a time
    #[arg(long)]
    threads: u32,
}

/// What came of a batch.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Runs by their status.
    runs: BTreeMap<String, u64>,
    /// Runs by their kind.
    kinds: BTreeMap<&'static str, u64>,
    lost: u64,
    uncut: u64,
    faults: Vec<String>,
    /// Of each event, in milliseconds.
    times: Vec<f64>,
}

/// Fires as many events as each line of standard input asks for, and answers each line with one.
pub(crate) fn run(options: &Options, seed: u64) -> Result<(), Error> {
    let custodian = if options.keepers {
        let keeper = vec!["keeper".into()];
        Custodian::Pool(Pool::new(env::current_exe()?, keeper, options.threads as usize))
    } else {
        Custodian::Group
    };
    let engine = Engine::open(Opening {
        config: Some(options.config.clone()),
        environment: env::vars_os().collect(),
        directory: options.project.clone(),
        custodian,
        ..Opening::default()
    })?;
    let mut rng = Rng::with_seed(seed);
    for line in io::stdin().lock().lines() {
        let events: u32 = line?.trim().parse()?;
        let batch = fire(&engine, options, events, &mut rng)?;
        writeln!(io::stdout(), "{}", batch.json())?;
    }
    Ok(())
}

fn fire(engine: &Engine, options: &Options, events: u32, rng: &mut Rng) -> Result<Batch, Error> {
    let left = AtomicU32::new(events);
    let batch = Mutex::new(Batch::default());
    let seeds: Vec<u64> = (0..options.threads).map(|_| rng.u64(..)).collect();
    let work = |seed: u64| -> Result<(), Error> {
        let mut rng = Rng::with_seed(seed);
        let take =
            || left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        while take() {
            let envelope = scene::envelope(&options.project, &mut rng);
            let event = Event::read(envelope.to_string().as_bytes(), None)?;
            let start = Instant::now();
            let request = Request {
                event: &event,
                workspace: None,
                mode: None,
                deadline: None,
                cancel: &Cancel::new()?,
            };
            let outcome = engine.fire(&request);
            let took = start.elapsed().as_secs_f64() * 1e3;
            batch.lock().map_err(|_| "a thread has panicked")?.add(&outcome, took);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = seeds.iter().map(|seed| scope.spawn(|| work(*seed))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread has panicked")?)
    })?;
    Ok(batch.into_inner().map_err(|_| "a thread has panicked")?)
}

impl Batch {
    pub(crate) fn add(&mut self, outcome: &Outcome, took: f64) {
        self.times.push(took);
        for run in outcome.runs.iter().filter(|run| run.status != Status::Skipped) {
            let status = json!(run.status);
            *self.runs.entry(status.as_str().unwrap_or_default().to_owned()).or_default() += 1;
            let kind = Kind::of(&run.command);
            *self.kinds.entry(kind.map_or("unknown", |kind| kind.name)).or_default() += 1;
            let ends = kind.map(|kind| kind.ends);
            let is_lost = run.status == Status::Lost;
            // What never ends by itself has run out of its time, and nothing else can have come of it.
            let is_uncut = ends.is_none() || ends == Some(Ends::Never) && run.status != Status::TimedOut;
            self.lost += u64::from(is_lost);
            self.uncut += u64::from(is_uncut && !is_lost);
            if is_lost || is_uncut {
                self.faults.push(format!("{:?} {} {:?}", run.status, run.detail, run.command));
            }
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "runs": self.runs, "kinds": self.kinds, "lost": self.lost, "uncut": self.uncut, "faults": self.faults,
            "times": self.times,
        })
    }
}
