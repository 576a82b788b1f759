//! Events that all come at once, in a few sessions: each must get the verdict that it would get alone, and nothing of
//! what a session or the journal must know may be lost.

mod check;
mod event;

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::ChildStdin;
use std::time::{Duration, Instant};

use becket_e2e::Error;
use fastrand::Rng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, setrlimit};
use serde_json::json;

use crate::census;
use crate::figures::{Figures, spread};
use crate::process::Process;
use crate::say;
use crate::stage::{LONGEST, Stage};
use event::{Event, Way};

/// So long may all of them take together; what is left then is killed and counted.
const PATIENCE: Duration = Duration::from_secs(120);
/// The program waits ten seconds for its input.
const MOST_WAITING: Duration = Duration::from_secs(9);
/// Hooks that have ended are gone within this time.
const GONE: Duration = Duration::from_secs(10);
/// Events one after the other, to see what one takes alone.
const ALONE: u32 = 30;

pub(crate) fn run(events: u32, sessions: u32, seed: u64) -> Result<Figures, Error> {
    census::adopt_orphans()?;
    open_as_many_as_allowed()?;
    let stage = stage()?;
    let mut figures = Figures::new("crowd");
    figures.must_be_zero(check::FAULTS);
    let mut alone = Vec::new();
    for number in 0..ALONE {
        let event = Event::of(events + number, "alone", Way::Allowed);
        let ran =
            Process::start(&mut event.command(&stage), event.envelope(&stage).as_bytes())?.finish(LONGEST)?;
        alone.push(ran.took.as_secs_f64() * 1e3);
    }
    let mut crowd = Vec::new();
    for number in 0..events {
        let session = number % sessions.max(1);
        let way = Way::of(session, number / sessions.max(1));
        crowd.push(Event::of(number, &format!("session-{session}"), way));
    }
    Rng::with_seed(seed).shuffle(&mut crowd);

    // All are there and lack only the last byte of their input before the first gets that.
    let began = Instant::now();
    let (mut waiting, mut pipes) = (Vec::new(), Vec::new());
    let mut group = 0;
    for event in &crowd {
        let envelope = event.envelope(&stage);
        let all_but_one = &envelope.as_bytes()[..envelope.len() - 1];
        let (process, pipe) = Process::waiting(event.command(&stage).process_group(group), all_but_one)?;
        group = if group == 0 { process.pid().as_raw_nonzero().get() } else { group };
        waiting.push(process);
        pipes.extend(pipe);
    }
    say(&format!("{events} processes wait after {:.1} s", began.elapsed().as_secs_f64()));
    if began.elapsed() > MOST_WAITING {
        return Err(
            "the first of them have waited too long: fewer events are all that this machine can start".into(),
        );
    }
    let start = at_once(pipes, group)?;
    let ends = ends(&waiting, start + PATIENCE)?;
    let took = start.elapsed();
    let mut ran = Vec::new();
    for process in waiting {
        ran.push(process.finish(Duration::ZERO)?);
    }

    let left = census::left(&[], GONE);
    for seen in &left {
        figures.count(check::LEFT, || seen.words());
    }
    census::end(&left, &[]);
    check::verdicts(&mut figures, &crowd, &ran);
    check::sessions(&mut figures, &stage, &crowd, &ran)?;
    check::journal(&mut figures, &stage, &crowd, &ran)?;
    figures.tell("events", events);
    figures.tell("sessions", sessions);
    figures.tell("all had answered after, ms", format!("{:.0}", took.as_secs_f64() * 1e3));
    let mut times: Vec<f64> = ends.iter().map(|end| end.duration_since(start).as_secs_f64() * 1e3).collect();
    figures.tell("one event among all, ms (median / p99 / longest)", spread(&mut times));
    figures.tell("one event alone, ms (median / p99 / longest)", spread(&mut alone));
    Ok(figures)
}

/// Gives all of them the last byte in one moment; answers when. One after the other would take as long as those need that
/// are fed first: so they all stand still meanwhile.
fn at_once(pipes: Vec<ChildStdin>, group: i32) -> Result<Instant, Error> {
    let group = Pid::from_raw(group).ok_or("there is nobody to feed")?;
    kill_process_group(group, Signal::STOP)?;
    for mut pipe in pipes {
        pipe.write_all(b"}")?;
    }
    let start = Instant::now();
    kill_process_group(group, Signal::CONT)?;
    Ok(start)
}

/// When each of them ended; those that have not by then count as ended then.
fn ends(processes: &[Process], until: Instant) -> Result<Vec<Instant>, Error> {
    let mut ends: Vec<Option<Instant>> = vec![None; processes.len()];
    loop {
        let open: Vec<usize> = (0..ends.len()).filter(|at| ends[*at].is_none()).collect();
        let left = until.saturating_duration_since(Instant::now());
        if open.is_empty() || left.is_zero() {
            let now = Instant::now();
            return Ok(ends.into_iter().map(|end| end.unwrap_or(now)).collect());
        }
        let mut fds: Vec<PollFd<'_>> =
            open.iter().map(|at| PollFd::new(processes[*at].watched(), PollFlags::IN)).collect();
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut fds, Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let now = Instant::now();
        for (at, fd) in open.iter().zip(&fds) {
            if !fd.revents().is_empty() {
                ends[*at] = Some(now);
            }
        }
    }
}

/// Each process costs four descriptors here.
fn open_as_many_as_allowed() -> Result<(), Error> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}

/// Guards of all three dialects, checks at the end, and two sources that nobody has approved, of which each session is
/// told once.
fn stage() -> Result<Stage, Error> {
    let stage = Stage::new()?;
    let entry = |command: &str| json!([{"hooks": [{"type": "command", "command": command, "timeout": 100}]}]);
    let own = json!({"hooks": {
        "PreToolUse": entry(&Stage::guard("PreToolUse", "forbidden")),
        "UserPromptSubmit": entry(&Stage::guard("UserPromptSubmit", "forbidden")),
        "PostToolUse": entry(&Stage::guard("PostToolUse", "forbidden")),
        "Stop": entry("echo 'not done yet' >&2; exit 2"),
    }});
    stage.write("home/.albedo/hooks.json", &own.to_string())?;
    let unread = json!({"hooks": {"PreToolUse": entry("exit 2")}});
    stage.write(stage.albedo(&stage.project()).join("hooks.json"), &unread.to_string())?;
    let barred = r#"if grep -q barred; then echo '{"decision":"deny","reason":"no"}'; fi"#;
    let celeste = json!({"hooks": [
        {"event": "PreToolUse", "command": barred, "timeout": 100},
        {"event": "PostToolUse", "command": "cat >/dev/null", "timeout": 100},
    ]});
    stage.write("project/.celeste/hooks.json", &celeste.to_string())?;
    stage.write("project/.grimoire", "## Hooks\n\n### PreToolUse\n- bash: exit 1\n")?;
    let banned = r#"c=$SHADOW_HOOK_COMMAND; case $c in *banned*) echo no; exit 1;; esac"#;
    let gate = json!({"name": "gate", "events": ["before_command"], "command": banned, "timeout_sec": 100});
    stage.write("project/.shadowcode/hooks/gate.json", &gate.to_string())?;
    let edit = json!({"name": "edit", "events": ["after_edit"], "command": "true", "timeout_sec": 100});
    stage.write("project/.shadowcode/hooks/edit.json", &edit.to_string())?;
    stage.must(&["trust"])?;
    for (path, standing, hash) in stage.sources()? {
        let is_wanted = path.ends_with(".celeste/hooks.json") || path.contains("/.shadowcode/");
        if is_wanted && standing == "untrusted" {
            stage.must(&["approve", &path, "--hash", &hash])?;
        }
    }
    Ok(stage)
}
