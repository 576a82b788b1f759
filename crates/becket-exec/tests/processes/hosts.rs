//! Embedding programs of a difficult kind, each a process of its own.

#![expect(unsafe_code, reason = "a bad host has to do what a bad host does")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use becket_exec::{
    Batch, Cancel, Custody, End, Keeper, KeeperError, LastWords, StartError, forget_last_words, keeper_main,
    run, set_last_words,
};

use crate::ancestry;
use crate::support::*;
use crate::{output, tests};

tests![
    one_that_ignores_sigchld,
    one_that_reaps_everything,
    one_with_everything_blocked_and_ignored,
    one_where_sigpipe_kills,
    one_without_standard_descriptors,
    one_without_room_for_what_it_started,
    one_of_two_gibibytes,
    one_that_comes_to_no_end_has_its_last_words,
];

/// Runs this program in a role and expects it to print `ok`.
fn expect_ok(role: &str) {
    let out = Command::new(myself()).arg(format!("role:{role}")).stdin(Stdio::null()).output().unwrap();
    assert_eq!(text(&out.stdout), "ok\n", "{}", text(&out.stderr));
}

fn one_that_ignores_sigchld() {
    expect_ok("ignore-chld");
}

fn one_that_reaps_everything() {
    expect_ok("reaper");
}

fn one_with_everything_blocked_and_ignored() {
    expect_ok("blocked");
}

fn one_where_sigpipe_kills() {
    expect_ok("sigpipe");
}

fn one_without_standard_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    let said = dir.path().join("said");
    let status = Command::new("/bin/sh")
        .args(["-c", "exec \"$0\" role:closed \"$1\" <&- >&- 2>&-"])
        .args([myself().as_os_str(), said.as_os_str()])
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(said).unwrap(), "ok");
}

/// What runs is watched to its end, though its descriptor has one of the standard numbers and there is no other.
fn one_without_room_for_what_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let said = dir.path().join("said");
    let status = Command::new("/bin/sh")
        .args(["-c", "exec \"$0\" role:full \"$1\" <&- >&- 2>&-"])
        .args([myself().as_os_str(), said.as_os_str()])
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(said).unwrap(), "ok");
}

fn one_of_two_gibibytes() {
    expect_ok("big");
}

/// What the program does in a role.
pub(crate) fn play(role: &str, args: &[String]) {
    match role {
        "keeper" => {
            let Err(error) = keeper_main();
            eprintln!("{error}");
        }
        "climb" => ancestry::climb(&args[0], &args[1], &args[2]),
        "many" => many(),
        "gibibyte" => output::play_gibibyte(),
        "forker" => forker(),
        "victim" => victim(&args[0], &args[1], args.get(2)),
        "ignore-chld" => ignore_chld(),
        "reaper" => reaper(),
        "blocked" => blocked(),
        "sigpipe" => sigpipe(),
        "closed" => closed(&args[0]),
        "full" => full(&args[0]),
        "big" => big(),
        "headless" => headless(args[0].clone()),
        "respawn" => respawn(args[0].parse().unwrap(), args[1] == "sessions", args[2].parse().unwrap()),
        "traced" => traced(&args[0]),
        "stopper" => stopper(&args[0]),
        "no-proc" => no_proc(),
        "last-words" => last_words(&args[0]),
        "shown" => shown(),
        other => panic!("no such role: {other}"),
    }
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn children() -> String {
    let me = std::process::id();
    std::fs::read_to_string(format!("/proc/self/task/{me}/children")).unwrap()
}

fn many() {
    let before = open_descriptors();
    {
        let mut forked = Custody::Keeper(Keeper::fork().unwrap());
        for custody in [&mut Custody::Group, &mut forked] {
            for round in 0..50 {
                let flood = sh("yes").timeout(ms(if round % 10 == 0 { 20 } else { 1 }));
                let ends =
                    run_all(custody, &[sh("sleep 0.001 & true"), sh("exit 2"), program("/none", &[]), flood]);
                assert!(matches!(ends[1].end, End::Exited(2)));
            }
        }
        let only_the_keeper = children();
        assert_eq!(only_the_keeper.split_whitespace().count(), 1, "{only_the_keeper}");
    }
    assert_eq!((open_descriptors(), children().as_str()), (before, ""));
    println!("ok");
}

/// Whether what a process holds in memory is shown to its own user: of this one, and of its keeper.
fn shown() {
    let mut custody = keeper();
    let keeper = text(&run_one(&mut custody, sh("echo $PPID")).stdout.head);
    let is_shown = |pid: &str| std::fs::File::open(format!("/proc/{}/maps", pid.trim())).is_ok();
    println!("{} {}", is_shown(&std::process::id().to_string()), is_shown(&keeper));
}

/// Whatever a program comes to, it says what it had ready to be said.
fn one_that_comes_to_no_end_has_its_last_words() {
    let run = |way: &str, before: &str| {
        // Who starts the tests in the background may have them ignore these two.
        let start = "exec env --default-signal=INT,QUIT";
        let script = format!("{before} {start} {} role:last-words {way}", myself().display());
        Command::new("/bin/sh").args(["-c", &script]).output().unwrap()
    };
    for (way, before) in [
        ("time", ""),
        ("time", "trap '' ALRM;"),
        ("abort", ""),
        ("stack", ""),
        ("memory", "ulimit -v 500000;"),
        ("processor", "ulimit -S -t 1;"),
        ("HUP", ""),
        ("INT", ""),
        ("QUIT", ""),
        ("TERM", ""),
        ("USR1", ""),
        ("USR2", ""),
        ("VTALRM", ""),
        ("PROF", ""),
        ("IO", ""),
        ("PWR", ""),
        ("HUP,TERM", "trap '' HUP;"),
    ] {
        let out = run(way, before);
        let said = (text(&out.stdout), text(&out.stderr).ends_with("refused\n"), out.status.code());
        assert_eq!(said, ("no\n".to_owned(), true, Some(7)), "{way} {before}: {}", text(&out.stderr));
    }
    assert_eq!(run("abort", "exec >/dev/full;").status.code(), Some(2), "nobody heard it");
    let out = run("forgotten", "ulimit -c 0;");
    assert_eq!((text(&out.stdout).as_str(), out.status.code()), ("", None));
    // What it says itself in the end is not torn by whoever still sends signals.
    let out = run("forgotten,TERM,TERM,INT", "");
    assert_eq!((text(&out.stdout).as_str(), out.status.code()), ("yes\n", Some(0)));
}

fn last_words(way: &str) {
    let words =
        LastWords { stdout: b"no\n".to_vec(), stderr: b"refused\n".to_vec(), exit: 7, exit_unheard: 2 };
    set_last_words(words, (way == "time").then(|| ms(50)));
    match way {
        "abort" => std::process::abort(),
        "forgotten" => {
            forget_last_words();
            std::process::abort();
        }
        "stack" => println!("{}", deeper(0)),
        "memory" => drop(std::hint::black_box(vec![1_u8; 1 << 30])),
        "time" | "processor" => loop {
            std::hint::spin_loop();
        },
        sent => {
            let sent = match sent.strip_prefix("forgotten,") {
                Some(sent) => {
                    forget_last_words();
                    sent
                }
                None => sent,
            };
            for signal in sent.split(',') {
                // Where it is to be ignored this goes on to the next one.
                let me = std::process::id().to_string();
                Command::new("kill").args([&format!("-{signal}"), &me]).status().unwrap();
            }
            println!("yes");
        }
    }
}

#[expect(unconditional_recursion, reason = "it uses the stack up")]
fn deeper(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    deeper(depth + 1) + frame[0]
}

/// `/proc` is not there, or is another space's.
fn no_proc() {
    assert!(matches!(Keeper::fork(), Err(KeeperError::NoProc)));
    assert!(matches!(Keeper::spawn("/bin/true".as_ref(), &[]), Err(KeeperError::NoProc)));
    // The weaker way goes on, and harms nobody.
    let ends = run_all(&mut Custody::Group, &[sh("sleep 60 & exec sleep 60").timeout(ms(50)), sh("exit 3")]);
    assert!(matches!(ends[0].end, End::TimedOut) && matches!(ends[1].end, End::Exited(3)), "{ends:?}");
    println!("ok");
}

/// Goes on without its first thread. Tells its number once that has ended.
fn headless(file: String) {
    std::thread::spawn(move || {
        let me = std::process::id();
        until("the first thread is gone", || {
            let stat = std::fs::read_to_string(format!("/proc/{me}/stat")).unwrap();
            stat.rsplit_once(") ").unwrap().1.starts_with('Z')
        });
        std::fs::write(file, me.to_string()).unwrap();
        std::thread::sleep(Duration::from_secs(60));
    });
    // SAFETY: ends this thread, which holds nothing that another one needs, without running its destructors.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
}

/// Chains of processes each of which forks its successor, after so many microseconds, and ends, in one session a chain or
/// one a link. What gets away ends by itself.
fn respawn(chains: u32, sessions: bool, pause: u32) {
    let end = Instant::now() + Duration::from_secs(if pause == 0 { 40 } else { 2 });
    for _ in 0..chains {
        // SAFETY: there is one thread, and the children make system calls only.
        unsafe {
            if libc::fork() != 0 {
                continue;
            }
            libc::setsid();
            for fd in 0..3 {
                libc::close(fd);
            }
            while Instant::now() < end {
                if pause > 0 {
                    libc::usleep(pause);
                }
                match libc::fork() {
                    0 if sessions => drop(libc::setsid()),
                    0 => {}
                    -1 => drop(libc::usleep(100)),
                    _ => libc::_exit(0),
                }
            }
            libc::_exit(0);
        }
    }
    std::thread::sleep(Duration::from_secs(60));
}

/// Ends with 2 while a child of its, in a session of its own, traces it and never asks how it ended, or, if told so, asks
/// a moment later.
fn traced(asks: &str) {
    // SAFETY: there is one thread; the child makes system calls only, on valid memory.
    unsafe {
        let (parent, mut told) = (libc::getpid(), [0; 2]);
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        libc::pipe(told.as_mut_ptr());
        if libc::fork() == 0 {
            libc::setsid();
            let traces = libc::ptrace(libc::PTRACE_SEIZE, parent, 0, 0) == 0;
            for fd in 0..3 {
                libc::close(fd);
            }
            libc::write(told[1], if traces { c"2" } else { c"9" }.as_ptr().cast(), 1);
            if asks == "asks" {
                libc::usleep(5_000);
                libc::waitpid(parent, std::ptr::null_mut(), libc::__WALL);
                libc::usleep(100_000);
                libc::_exit(0);
            }
            libc::sleep(60);
            libc::_exit(0);
        }
        let mut how = [0_u8];
        libc::read(told[0], how.as_mut_ptr().cast(), 1);
        libc::_exit(i32::from(how[0] - b'0'));
    }
}

/// Stops its keeper once when the keeper's caller has ended, and then does nothing.
fn stopper(file: &str) {
    let keeper = std::os::unix::process::parent_id();
    let stat = std::fs::read_to_string(format!("/proc/{keeper}/stat")).unwrap();
    let caller: i32 = stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().unwrap();
    // SAFETY: system calls on plain numbers and on one structure.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, caller, 0);
        std::fs::write(file, "ready").unwrap();
        let mut waits = libc::pollfd { fd: fd.try_into().unwrap(), events: libc::POLLIN, revents: 0 };
        libc::poll(&raw mut waits, 1, -1);
        libc::kill(keeper.cast_signed(), libc::SIGSTOP);
    }
    std::thread::sleep(Duration::from_secs(60));
}

fn forker() {
    let mut custody = Custody::Keeper(Keeper::fork().unwrap());
    let token = token();
    let jobs = [
        sh("cat; exit 5").stdin(*b"hello"),
        sh(&format!("(env -i setsid sleep {token} &); sleep 60")).timeout(ms(300)),
        sh("ps -o ppid= -p $$"),
    ];
    let ends = run_all(&mut custody, &jobs);
    assert!(matches!(ends[0].end, End::Exited(5)) && ends[0].stdout.head == b"hello");
    assert!(matches!(ends[1].end, End::TimedOut));
    assert_eq!(alive(&token), 0);
    let parent: u32 = text(&ends[2].stdout.head).trim().parse().unwrap();
    assert_ne!(parent, std::process::id());
    println!("ok");
}

/// Tells its keeper's number and runs jobs until it is killed.
fn victim(kind: &str, token: &str, script: Option<&String>) {
    let mut custody = match kind {
        "fork" => Custody::Keeper(Keeper::fork().unwrap()),
        _ => keeper(),
    };
    // A careless fork of the host holds all its descriptors, the lifeline too, when the host dies.
    // SAFETY: the child only sleeps and ends.
    unsafe {
        if kind == "fork" && libc::fork() == 0 {
            libc::sleep(60);
            libc::_exit(0);
        }
    }
    let ended = run_one(&mut custody, sh("echo $PPID"));
    print!("{}", text(&ended.stdout.head));
    std::io::Write::flush(&mut std::io::stdout()).unwrap();
    let usual = format!(
        "trap '' TERM; sleep {token} & setsid sleep {token} & (env -i setsid sleep {token} &)\nexec sleep {token}"
    );
    run_one(&mut custody, sh(script.unwrap_or(&usual)).timeout(Duration::from_secs(60)));
}

/// Whether the kernel tells how a process ended that somebody else has reaped: Linux 6.15 and later.
fn kernel_remembers() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap(), numbers.next().unwrap()) >= (6, 15)
}

/// Guards that say no, in a host that may take the answer away: no is never turned into yes.
fn assert_never_wrong(custody: &mut Custody, always: bool) {
    let begun = Instant::now();
    let mut lost = 0;
    let mut held = sh("sleep 60 & exit 4");
    held.limits.linger = ms(10);
    for _ in 0..40 {
        let slow = sh("sleep 0.01; exit 3");
        let jobs =
            [sh("echo no; exit 2"), slow, sh("kill -KILL $$"), held.clone(), program("/bin/true", &[])];
        for (ended, right) in run_all(custody, &jobs).iter().zip([Some(2), Some(3), None, Some(4), Some(0)]) {
            match (&ended.end, right) {
                (End::Exited(got), Some(right)) if *got == right => {}
                (End::Signalled(9), None) => {}
                (End::Lost, _) if !always => lost += 1,
                wrong => panic!("{wrong:?}"),
            }
        }
    }
    let token = token();
    let job = sh(&format!("setsid sleep {token} & sleep {token} & sleep {token}")).timeout(ms(300));
    assert!(matches!(run_one(custody, job).end, End::TimedOut));
    assert_gone(&token);
    assert!(begun.elapsed() < Duration::from_secs(50));
    eprintln!("{lost} of 200 lost");
}

fn ignore_chld() {
    // SAFETY: sets a disposition that runs no code.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let mut forked = Custody::Keeper(Keeper::fork().unwrap());
    assert_never_wrong(&mut forked, true);
    assert_never_wrong(&mut Custody::Group, kernel_remembers());
    let ended = run_one(&mut Custody::Group, sh("false & wait $!; exit $?"));
    assert!(matches!(ended.end, End::Exited(1)), "the job itself has its own children: {:?}", ended.end);
    println!("ok");
}

fn reaper() {
    let mut forked = Custody::Keeper(Keeper::fork().unwrap());
    std::thread::spawn(|| {
        loop {
            // SAFETY: a null status is allowed. That it takes what is not its own is the point.
            if unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } == -1 {
                std::thread::yield_now();
            }
        }
    });
    assert_never_wrong(&mut forked, true);
    assert_never_wrong(&mut Custody::Group, kernel_remembers());
    println!("ok");
}

fn blocked() {
    // SAFETY: valid sets and dispositions that run no code.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGTERM, libc::SIGCHLD, libc::SIGPIPE, libc::SIGTTOU]
        {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
    let mut forked = Custody::Keeper(Keeper::fork().unwrap());
    for custody in [&mut Custody::Group, &mut forked] {
        let ended = run_one(custody, sh("grep -E '^Sig(Blk|Ign)' /proc/self/status"));
        let said = text(&ended.stdout.head);
        assert_eq!(said, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
        let ended = run_one(custody, sh("sleep 60").timeout(ms(100)));
        assert!(matches!(ended.end, End::TimedOut) && ended.duration < Duration::from_secs(2));
    }
    println!("ok");
}

fn sigpipe() {
    // SAFETY: sets a disposition that runs no code.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let ended = run_one(&mut Custody::Group, sh("exec 0<&-; sleep 0.05; exit 2").stdin(vec![0; 3 << 20]));
    assert!(matches!(ended.end, End::Exited(2)));
    println!("ok");
}

fn closed(said: &str) {
    // The runtime opens /dev/null in their place; away with that, too.
    for fd in 0..3 {
        // SAFETY: nobody in this role uses them.
        unsafe { libc::close(fd) };
    }
    let mut forked = Custody::Keeper(Keeper::fork().unwrap());
    for custody in [&mut Custody::Group, &mut forked] {
        let ended = run_one(custody, sh("cat; echo err >&2; exit 2").stdin(*b"in"));
        assert!(matches!(ended.end, End::Exited(2)));
        assert!(ended.stdout.head == b"in" && ended.stderr.head == b"err\n");
    }
    std::fs::write(said, "ok").unwrap();
}

/// With every number of files that it may have open in use save the standard ones, at each moment of a start.
fn full(said: &str) {
    let cancel = Cancel::new().unwrap();
    let most = open_descriptors() + 12;
    let limit = libc::rlimit { rlim_cur: most as u64, rlim_max: most as u64 };
    // SAFETY: a valid structure.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    let mut filled = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        filled.push(file);
    }
    let (token, mut refused, mut ran) = (token(), 0, 0);
    while filled.pop().is_some() {
        for fd in 0..3 {
            // SAFETY: nobody in this role uses them.
            unsafe { libc::close(fd) };
        }
        let job = sh(&format!("sleep {token} & exit 2"));
        let ends = run(
            &mut Custody::Group,
            &[job],
            &Batch { at_once: 1, deadline: None, cancel: &cancel },
            |_, _| {},
        );
        match &ends[0].end {
            End::Exited(2) => ran += 1,
            End::NotStarted(StartError::TooManyFiles) => refused += 1,
            wrong => panic!("{wrong:?}"),
        }
        if filled.len() > 3 {
            assert_eq!(children(), "");
        }
    }
    std::fs::write(said, if refused > 0 && ran > 0 { "ok" } else { "all the same" }).unwrap();
}

/// The least that starting `true` takes, in a process that has `memory` in use: however busy the machine is, a copy of its
/// page tables takes tens of milliseconds each time.
fn big() {
    let fastest = |custody: &mut Custody| {
        (0..60).map(|_| run_one(custody, program("/bin/true", &[])).duration).min().unwrap()
    };
    let before = fastest(&mut Custody::Group);
    let memory = vec![1_u8; 2 << 30];
    let after = fastest(&mut Custody::Group);
    assert_eq!(memory[memory.len() - 1], 1);
    eprintln!("{before:?} before, {after:?} with 2 GiB");
    assert!(after < before + ms(8), "{before:?} before, {after:?} with 2 GiB");
    println!("ok");
}
