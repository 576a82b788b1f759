//! Ratios, each way interleaved with its floor; the slowest of eight calls at once; memory under a flood.
//!
//! `cargo bench -p becket-cli --bench bounds`

#![allow(
    missing_docs,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that a person runs"
)]

mod setting;

use std::time::{Duration, Instant};

use becket::{Cancel, Custodian, Event, Request};
use setting::{CALL, Setting, bare};

fn main() {
    setting::leave_library_path();
    whole_programs();
    // The directories that they ran in are gone.
    std::env::set_current_dir("/").unwrap();
    in_process();
    eight_calls_at_once();
    std::env::set_current_dir("/").unwrap();
    flood();
}

type Contender<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// Medians of several ways, each as a multiple of the first. Every round does one of each, so that a busy moment of
/// the machine hits all alike.
fn compare(title: &str, rounds: usize, mut contenders: Vec<Contender<'_>>) {
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for _ in 0..rounds {
        for ((_, run), times) in contenders.iter_mut().zip(&mut times) {
            let began = Instant::now();
            run();
            times.push(began.elapsed());
        }
    }
    println!("{title}, {rounds} rounds");
    let mut floor = None;
    for ((name, _), times) in contenders.iter().zip(&mut times) {
        times.sort();
        let median = times[times.len() / 2].as_secs_f64() * 1e3;
        println!("  {name:<44} {median:9.3} ms   {:6.3} x", median / *floor.get_or_insert(median));
    }
}

fn whole_programs() {
    let empty = Setting::new();
    let envelope = empty.envelope(CALL);
    let many: Vec<(String, String)> =
        (0..40).map(|n| (format!("Tool{n}|Other{n}"), format!("guard-{n}"))).collect();
    let hooks: Vec<(&str, &str, &str)> =
        many.iter().map(|(matcher, command)| ("PreToolUse", matcher.as_str(), command.as_str())).collect();
    let forty = Setting::new().hooks(&hooks);
    let one = Setting::new().hooks(&[("PreToolUse", "Bash", "true")]);
    let (for_forty, for_one) = (forty.envelope(CALL), one.envelope(CALL));
    // Of the three homes only the hooks differ.
    empty.enter();
    compare(
        "whole program",
        600,
        vec![
            ("true", Box::new(|| bare("/bin/true", &[]))),
            ("hook codex, no definition files", Box::new(|| empty.hook(&envelope))),
            ("hook codex, 40 hooks, none matching", Box::new(|| forty.hook(&for_forty))),
        ],
    );
    // What a hook written for one of these costs before its first line runs.
    compare(
        "whole programs of other kinds",
        40,
        vec![
            ("true", Box::new(|| bare("/bin/true", &[]))),
            ("hook codex, no definition files", Box::new(|| empty.hook(&envelope))),
            ("python3 -c pass", Box::new(|| bare("python3", &["-c", "pass"]))),
            ("node -e 0", Box::new(|| bare("node", &["-e", "0"]))),
        ],
    );
    compare(
        "whole program with one hook",
        400,
        vec![
            (
                "true, then sh -c true",
                Box::new(|| {
                    bare("/bin/true", &[]);
                    bare("/bin/sh", &["-c", "true"]);
                }),
            ),
            ("hook codex, one matching hook: true", Box::new(|| one.hook(&for_one))),
        ],
    );
}

fn in_process() {
    let setting = Setting::new().hooks(&[("PreToolUse", "Bash", "true")]);
    let (group, lasting) = (setting.engine(Custodian::Group), setting.lasting_engine());
    let event = Event::read(CALL.as_bytes(), None).unwrap();
    let cancel = Cancel::new().unwrap();
    let fire = |engine: &becket::Engine| {
        engine.fire(&Request { event: &event, workspace: None, mode: None, deadline: None, cancel: &cancel });
    };
    compare(
        "one command hook, in process",
        600,
        vec![
            ("sh -c true", Box::new(|| bare("/bin/sh", &["-c", "true"]))),
            ("fire, process group", Box::new(|| fire(&group))),
            ("fire, process group, session and journal", Box::new(|| fire(&lasting))),
        ],
    );
}

/// Eight tool calls of one session at once, each with one hook, whole programs.
fn eight_calls_at_once() {
    const ROUNDS: usize = 100;
    let setting = Setting::new().hooks(&[("PreToolUse", "Bash", "true")]);
    let envelope = setting.envelope(CALL);
    setting.enter();
    let timed = || {
        let began = Instant::now();
        setting.hook(&envelope);
        began.elapsed()
    };
    let mut alone: Vec<Duration> = (0..ROUNDS * 2).map(|_| timed()).collect();
    let mut together: Vec<Duration> = (0..ROUNDS)
        .flat_map(|_| {
            std::thread::scope(|scope| {
                let calls: Vec<_> = (0..8).map(|_| scope.spawn(timed)).collect();
                calls.into_iter().map(|call| call.join().unwrap()).collect::<Vec<_>>()
            })
        })
        .collect();
    alone.sort();
    together.sort();
    let p = |times: &[Duration], percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    println!("one call: p50 {:.2} ms, p99 {:.2} ms", p(&alone, 50), p(&alone, 99));
    println!(
        "eight at once: p50 {:.2} ms, p99 {:.2} ms; p99 / p50 of one = {:.2}",
        p(&together, 50),
        p(&together, 99),
        p(&together, 99) / p(&alone, 50)
    );
}

/// 1 GiB of output from one hook: how far memory grows.
fn flood() {
    let setting = Setting::new().hooks(&[("PostToolUse", "Bash", "head -c 1073741824 /dev/zero >&2")]);
    let engine = setting.engine(Custodian::Group);
    let text = CALL.replace("PreToolUse", "PostToolUse");
    let event = Event::read(text.as_bytes(), None).unwrap();
    let cancel = Cancel::new().unwrap();
    let before = peak();
    let began = Instant::now();
    engine.fire(&Request { event: &event, workspace: None, mode: None, deadline: None, cancel: &cancel });
    println!(
        "a flood of output (albedo ends it at 1 MiB): {:.0} ms, memory grew by {} KiB",
        began.elapsed().as_secs_f64() * 1e3,
        peak().saturating_sub(before)
    );
}

/// The most memory this process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
