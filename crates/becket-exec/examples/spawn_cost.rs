//! What the runner adds to starting a process and waiting for it, measured side by side.
//!
//! `cargo run --release -p becket-exec --example spawn_cost`
//!
//! Prints medians. Every round does one of each, so that a busy moment of the machine hits all alike.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement for a person to read")]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_exec::{Batch, Cancel, Custody, Job, Keep, Keeper, Limits, Overflow, Pool, keeper_main, run};

fn job(program: &str, args: &[&str], stdin: &Arc<Vec<u8>>) -> Job {
    let keep = Keep { head: 1 << 20, tail: 0, overflow: Overflow::Drain };
    Job {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        dir: std::env::current_dir().unwrap(),
        env: std::env::vars_os().collect(),
        stdin: Arc::clone(stdin),
        enough: None,
        limits: Limits {
            timeout: Duration::from_secs(30),
            grace: Duration::from_millis(200),
            linger: Duration::from_millis(200),
            stdout: keep,
            stderr: keep,
            end_everything: false,
        },
    }
}

fn runner(custody: &mut Custody, jobs: &[Job]) {
    let cancel = Cancel::new().unwrap();
    run(custody, jobs, &Batch { at_once: 8, deadline: None, cancel: &cancel }, |_, ended| {
        assert!(matches!(ended.end, becket_exec::End::Exited(0)), "{ended:?}");
    });
}

/// The floor: started and waited for, its streams inherited.
fn bare(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn bare_at_once(program: &str, args: &[&str], count: usize) {
    let mut children: Vec<_> = (0..count).map(|_| bare(program, args).spawn().unwrap()).collect();
    for child in &mut children {
        child.wait().unwrap();
    }
}

/// Three `cat` side by side, each fed and drained by threads of its own.
fn bare_cats(payload: &[u8]) {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut cat =
                    Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
                let mut stdin = cat.stdin.take().unwrap();
                scope.spawn(move || stdin.write_all(payload).unwrap());
                let mut stdout = cat.stdout.take().unwrap();
                let (mut buffer, mut total) = (vec![0; 64 * 1024], 0);
                loop {
                    let count = stdout.read(&mut buffer).unwrap();
                    total += count;
                    if count == 0 {
                        break;
                    }
                }
                assert_eq!(total, payload.len());
                cat.wait().unwrap();
            });
        }
    });
}

type Contender<'a> = (&'a str, Box<dyn FnMut() + 'a>);

fn compare(title: &str, rounds: usize, mut contenders: Vec<Contender<'_>>) {
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for _ in 0..rounds {
        for ((_, measure), times) in contenders.iter_mut().zip(&mut times) {
            let begun = Instant::now();
            measure();
            times.push(begun.elapsed());
        }
    }
    println!("{title}, {rounds} rounds");
    let mut floor = None;
    for ((name, _), times) in contenders.iter().zip(&mut times) {
        times.sort();
        let median = times[times.len() / 2].as_secs_f64() * 1e3;
        let floor = *floor.get_or_insert(median);
        println!("  {name:<16} {median:9.3} ms   {:5.3} x", median / floor);
    }
}

fn main() {
    let mut args = std::env::args_os();
    let myself = PathBuf::from(args.next().unwrap());
    if args.next().is_some_and(|arg| arg == "keeper") {
        let Err(error) = keeper_main();
        println!("{error}");
        return;
    }
    let mut forked = Custody::Keeper(Keeper::fork().unwrap());
    let pool = Pool::new(myself, vec!["keeper".into()], 1);
    let nothing: Arc<Vec<u8>> = Arc::default();

    let one = [job("/bin/true", &[], &nothing)];
    let resident = || runner(&mut pool.lease().unwrap(), &one);
    compare(
        "one true",
        1000,
        vec![
            ("bare", Box::new(|| bare_at_once("/bin/true", &[], 1))),
            (
                "bare, captured",
                Box::new(|| drop(bare("/bin/true", &[]).stdout(Stdio::piped()).output().unwrap())),
            ),
            ("group", Box::new(|| runner(&mut Custody::Group, &one))),
            ("resident keeper", Box::new(resident)),
            ("forked keeper", Box::new(|| runner(&mut forked, &one))),
        ],
    );

    let eight = vec![job("/bin/sleep", &["0.05"], &nothing); 8];
    compare(
        "eight sleeps of 50 ms at once",
        20,
        vec![
            ("bare", Box::new(|| bare_at_once("/bin/sleep", &["0.05"], 8))),
            ("group", Box::new(|| runner(&mut Custody::Group, &eight))),
            ("resident keeper", Box::new(|| runner(&mut pool.lease().unwrap(), &eight))),
        ],
    );

    let payload: Arc<Vec<u8>> = vec![b'x'; 10_000_000].into();
    let cats = vec![job("/bin/cat", &[], &payload); 3];
    compare(
        "10 MB through three cats",
        30,
        vec![
            ("bare", Box::new(|| bare_cats(&payload))),
            ("group", Box::new(|| runner(&mut Custody::Group, &cats))),
            ("resident keeper", Box::new(|| runner(&mut pool.lease().unwrap(), &cats))),
        ],
    );
}
