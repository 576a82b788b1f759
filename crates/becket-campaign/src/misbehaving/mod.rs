//! Hooks do what they must not do, and nothing may be left of them: no process, no zombie, no descriptor, no memory.
//!
//! They run in an agent of our own that lives long ([`crate::agent`]), below this process, to which every orphan comes that
//! the agent or its keepers let go: so whatever is left is found among the processes below, whatever it did to its name
//! and environment.

pub(crate) mod kinds;
pub(crate) mod scene;

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use becket_e2e::Error;
use fastrand::Rng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getpid};
use serde_json::Value;

use crate::census::{self, Holdings, Seen};
use crate::figures::{Figures, spread};
use crate::process::Process;
use crate::say;
use crate::stage::{LONGEST, Stage};
use kinds::ESCAPES;
use scene::{MODES, Mode};

/// Events at a time.
const THREADS: u32 = 6;
/// Events between two looks.
const BATCH: u32 = 40;
/// Batches before what the agent holds is what it should always hold; in a short run one must do.
const WARM_UP: u32 = 2;
/// With so many hooks of a mode a run is no longer short.
const SHORT: u64 = 200;
/// What was ended is gone within this time.
const GONE: Duration = Duration::from_secs(10);
/// A batch may not take longer.
const PATIENCE: Duration = Duration::from_secs(180);
/// No event may: its hooks have a second at most, and are then given two to be gone.
const LONGEST_EVENT: f64 = 15_000.0;
/// Growth of resident memory that counts as none, in KiB.
const MOST_GROWTH: u64 = 16 << 10;
/// The program's share of all hooks, in a hundred.
const PROGRAMS: u32 = 10;
/// Programs at a time.
const PROGRAMS_AT_ONCE: usize = 4;

const LEFT: &str = "processes left";
const ZOMBIES: &str = "zombies";
const OUTSIDE: &str = "processes with our words that are not below us";
const LOST: &str = "runs lost";
const UNCUT: &str = "hooks that never end and were not cut";
const SLOW: &str = "events that took longer than 15 s";

pub(crate) fn run(count: u32, seed: u64) -> Result<Figures, Error> {
    census::adopt_orphans()?;
    let mut rng = Rng::with_seed(seed);
    let mut figures = Figures::new("misbehaving");
    for name in ["hooks", "… that passed", "… that failed", "… that ran out of their time", "kinds of hooks"]
    {
        figures.tell(name, 0);
    }
    let mut kinds = BTreeMap::new();
    let total = |share: u32| (u64::from(count) * u64::from(share)).div_ceil(100);
    for mode in MODES {
        let mut look = Look::new(*mode, mode.name, &mut figures);
        look.agent(total(mode.share), &mut rng)?;
        add(&mut kinds, look.kinds);
    }
    let mode = Mode { name: "program", share: PROGRAMS, keepers: true, everything_ends: false };
    let mut look = Look::new(mode, "program", &mut figures);
    look.programs(total(PROGRAMS), &mut rng)?;
    add(&mut kinds, look.kinds);
    figures.tell("kinds of hooks", kinds.len());
    figures.tell("hooks of the rarest kind", kinds.values().min().copied().unwrap_or(0));
    Ok(figures)
}

fn add(all: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    for (kind, count) in more {
        *all.entry(kind).or_default() += count;
    }
}

/// One mode, looked at.
struct Look<'a> {
    mode: Mode,
    prefix: &'a str,
    figures: &'a mut Figures,
    hooks: u64,
    kinds: BTreeMap<String, u64>,
    times: Vec<f64>,
}

impl<'a> Look<'a> {
    fn new(mode: Mode, prefix: &'a str, figures: &'a mut Figures) -> Self {
        let look = Self { mode, prefix, figures, hooks: 0, kinds: BTreeMap::new(), times: Vec::new() };
        let names = [LEFT, ZOMBIES, OUTSIDE, LOST, UNCUT, SLOW].map(|name| look.name(name));
        look.figures.must_be_zero(&names.each_ref().map(String::as_str));
        look
    }

    fn name(&self, figure: &str) -> String {
        format!("{}: {figure}", self.prefix)
    }

    /// Hooks in an agent that embeds the engine.
    fn agent(&mut self, count: u64, rng: &mut Rng) -> Result<(), Error> {
        let (stage, config) = scene::set(self.mode, rng)?;
        let mut agent = Agent::start(&stage, self.mode, config.as_str(), rng.u64(..))?;
        let mut first = Holdings::default();
        let mut most = Holdings::default();
        let (mut first_keeper, mut keeper) = (Holdings::default(), Holdings::default());
        let mut batches = 0;
        let warm_up = if count < SHORT { 1 } else { WARM_UP };
        while self.hooks < count || batches <= warm_up {
            // Six or seven hooks an event.
            let wanted = u32::try_from(count.saturating_sub(self.hooks) / 6 + 1).unwrap_or(BATCH);
            let before = self.hooks;
            let answer = agent.fire(wanted.min(BATCH))?;
            self.heard(&answer);
            self.census(Some(&agent), &stage);
            // Where no hook came to run, nothing is warm yet.
            batches += u32::from(self.hooks > before);
            let now = Holdings::of(agent.pid());
            let keepers: Vec<Holdings> =
                census::children(agent.pid()).into_iter().map(Holdings::of).collect();
            let descriptors = keepers.iter().map(|keeper| keeper.descriptors).max().unwrap_or(0);
            let kib = keepers.iter().map(|keeper| keeper.kib).max().unwrap_or(0);
            keeper = Holdings { descriptors, kib, ..keeper };
            if batches == warm_up {
                (first, first_keeper) = (now, keeper);
            }
            most.descriptors = most.descriptors.max(if batches > warm_up { now.descriptors } else { 0 });
            most.threads = most.threads.max(if batches > warm_up { now.threads } else { 0 });
            most.kib = now.kib;
            say(&format!("{}: {} of {count} hooks, {now:?}", self.prefix, self.hooks));
        }
        let grown = |now: u64, before: u64| now.saturating_sub(before);
        let descriptors = grown(most.descriptors, first.descriptors);
        let threads = grown(most.threads, first.threads);
        let kib = grown(most.kib, first.kib);
        self.figures.at_most(&self.name("descriptors more than after the warm-up"), descriptors, 0);
        self.figures.at_most(&self.name("threads more"), threads, 0);
        self.figures.at_most(&self.name("KiB of memory more"), kib, MOST_GROWTH);
        self.figures.tell(&self.name("KiB of memory after the warm-up"), first.kib);
        if self.mode.keepers {
            let descriptors = grown(keeper.descriptors, first_keeper.descriptors);
            let kib = grown(keeper.kib, first_keeper.kib);
            self.figures.at_most(&self.name("descriptors more in a keeper"), descriptors, 0);
            self.figures.at_most(&self.name("KiB of memory more in a keeper"), kib, MOST_GROWTH);
        }
        agent.end()?;
        self.census(None, &stage);
        self.end();
        Ok(())
    }

    /// Hooks below the program, as agents run it that know nothing of the library.
    fn programs(&mut self, count: u64, rng: &mut Rng) -> Result<(), Error> {
        let (stage, _) = scene::set(self.mode, rng)?;
        let mut running: VecDeque<Process> = VecDeque::new();
        while self.hooks < count || !running.is_empty() {
            if self.hooks < count && running.len() < PROGRAMS_AT_ONCE {
                let mut envelope = scene::envelope(&stage.project(), rng);
                // What no pipe takes unread is for the agents above.
                if let Some(content) = envelope.pointer_mut("/tool_input/content") {
                    *content = "x".into();
                }
                running.push_back(Process::start(
                    &mut stage.becket(&["fire"]),
                    envelope.to_string().as_bytes(),
                )?);
                continue;
            }
            let Some(process) = running.pop_front() else { continue };
            let ran = process.finish(LONGEST)?;
            let outcome = serde_json::from_str(&ran.stdout);
            let Ok(outcome) = outcome else {
                self.figures.count(&self.name(LOST), || ran.words());
                continue;
            };
            let mut batch = crate::agent::Batch::default();
            batch.add(&outcome, ran.took.as_secs_f64() * 1e3);
            self.heard(&batch.json());
        }
        self.census(None, &stage);
        self.end();
        Ok(())
    }

    /// What a batch of events came to.
    fn heard(&mut self, answer: &Value) {
        for (status, count) in answer["runs"].as_object().into_iter().flatten() {
            let count = count.as_u64().unwrap_or(0);
            self.hooks += count;
            self.figures.add("hooks", count);
            let status = if status == "timed_out" { "ran out of their time" } else { status };
            self.figures.add(&format!("… that {status}"), count);
        }
        for (kind, count) in answer["kinds"].as_object().into_iter().flatten() {
            *self.kinds.entry(kind.clone()).or_default() += count.as_u64().unwrap_or(0);
        }
        let faults = answer["faults"].to_string();
        for (name, key) in [(LOST, "lost"), (UNCUT, "uncut")] {
            for _ in 0..answer[key].as_u64().unwrap_or(0) {
                self.figures.count(&self.name(name), || faults.clone());
            }
        }
        for time in answer["times"].as_array().into_iter().flatten().filter_map(Value::as_f64) {
            if time > LONGEST_EVENT {
                self.figures.count(&self.name(SLOW), || format!("{time} ms"));
            }
            self.times.push(time);
        }
    }

    /// Who is left, once what was ended has had its moment.
    fn census(&mut self, agent: Option<&Agent>, stage: &Stage) {
        let own: Vec<Pid> = agent.map(Agent::pid).into_iter().collect();
        let keeps = |seen: &Seen| {
            own.contains(&seen.pid)
                || own.iter().any(|agent| seen.is_child_of(*agent)) && seen.words().ends_with(" keeper")
        };
        let below_keepers = self.mode.keepers;
        let may_escape = |seen: &Seen| {
            !below_keepers && !seen.is_zombie && seen.words().ends_with(&format!("linger {ESCAPES}"))
        };
        let until = Instant::now() + GONE;
        let left = loop {
            census::bury_orphans(&own);
            let left: Vec<Seen> = census::below(getpid()).into_iter().filter(|seen| !keeps(seen)).collect();
            // Nothing ends what may escape: there is nothing to wait for.
            if left.iter().all(may_escape) || Instant::now() > until {
                break left;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let (zombies, alive): (Vec<_>, Vec<_>) = left.into_iter().partition(|seen| seen.is_zombie);
        for seen in &zombies {
            self.figures.count(&self.name(ZOMBIES), || seen.words());
        }
        for seen in &alive {
            if may_escape(seen) {
                self.figures.add(&self.name("escaped from groups, which do not promise to find it"), 1);
            } else {
                self.figures.count(&self.name(LEFT), || seen.words());
            }
        }
        census::end(&alive, &own);
        for seen in census::carrying(stage.root().as_str()) {
            if !keeps(&seen) {
                self.figures.count(&self.name(OUTSIDE), || seen.words());
            }
        }
    }

    fn end(&mut self) {
        if !self.mode.keepers {
            let disguised = self.kinds.iter().filter(|(kind, _)| kind.ends_with("disguise"));
            let disguised: u64 = disguised.map(|(_, count)| count).sum();
            self.figures.tell(&self.name("hooks that tried to escape so"), disguised);
        }
        let spread = spread(&mut self.times);
        self.figures.tell(&self.name("one event, ms (median / p99 / longest)"), spread);
    }
}

/// The agent, as its caller sees it.
struct Agent {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Agent {
    fn start(stage: &Stage, mode: Mode, config: &str, seed: u64) -> Result<Self, Error> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["agent", "--config", config, "--project", stage.project().as_str()]);
        command.args(["--threads", &THREADS.to_string(), "--seed", &seed.to_string()]);
        command.args(mode.keepers.then_some("--keepers"));
        command.current_dir(stage.project()).env_clear().envs(stage.environment());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout) = (child.stdin.take().ok_or("no pipe")?, child.stdout.take().ok_or("no pipe")?);
        Ok(Self { child, stdin, stdout: BufReader::new(stdout) })
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Lets it fire so many events; answers what came of them.
    fn fire(&mut self, events: u32) -> Result<Value, Error> {
        writeln!(self.stdin, "{events}")?;
        let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        let mut fds = [PollFd::new(self.stdout.get_ref(), PollFlags::IN)];
        if rustix::io::retry_on_intr(|| poll(&mut fds, Some(&patience)))? == 0 {
            return Err(format!("the agent has not answered within {} s", PATIENCE.as_secs()).into());
        }
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        serde_json::from_str(&line).map_err(|error| format!("the agent has said {line:?}: {error}").into())
    }

    /// Lets it end.
    fn end(self) -> Result<(), Error> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        let status = child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the agent has ended with {status}").into()) }
    }
}
