//! The keeper itself: who may fork one, what its death and its caller's death mean, and the pool.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use becket_exec::{End, Keeper, KeeperError, Pool, keeper_main};

use crate::support::*;
use crate::tests;

tests![
    fork_is_refused_with_threads,
    other_programs_are_no_keepers,
    a_program_not_started_as_one_is_told,
    a_forked_keeper_does_everything,
    a_killed_caller_leaves_nothing,
    a_killed_caller_of_a_stopped_keeper_leaves_nothing,
    a_keeper_that_is_stopped_at_its_callers_end_goes_on,
    a_killed_keeper_means_lost,
    what_a_killed_keeper_was_to_sweep_goes_all_the_same,
    a_keeper_that_is_stopped_again_and_again_serves,
    a_keeper_holds_nothing_of_its_caller,
    a_keeper_shows_nobody_its_memory,
    without_its_own_proc_there_is_no_keeper,
    a_stray_term_does_not_end_a_keeper,
    a_pool_gives_back_and_replaces,
];

fn fork_is_refused_with_threads() {
    assert!(matches!(Keeper::fork(), Err(KeeperError::Threads(count)) if count > 1));
}

fn other_programs_are_no_keepers() {
    assert!(matches!(Keeper::spawn("/bin/true".as_ref(), &[]), Err(KeeperError::NotAKeeper)));
    assert!(matches!(Keeper::spawn("/no/such".as_ref(), &[]), Err(KeeperError::Start(_))));
}

fn a_program_not_started_as_one_is_told() {
    assert!(matches!(keeper_main(), Err(KeeperError::Threads(_))));
    let out = Command::new(myself()).arg("role:keeper").stdin(Stdio::null()).output().unwrap();
    assert!(text(&out.stderr).contains("not started as a keeper"), "{}", text(&out.stderr));
}

fn a_forked_keeper_does_everything() {
    let out = Command::new(myself()).arg("role:forker").output().unwrap();
    assert_eq!(text(&out.stdout), "ok\n", "{}", text(&out.stderr));
}

/// A host that has told its keeper's number and is now running a job that never ends.
fn host(kind: &str, token: &str) -> (Child, u32) {
    let mut child =
        Command::new(myself()).args(["role:victim", kind, token]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    until("everything runs", || alive(&format!("sleep\0{token}")) == 4);
    (child, line.trim().parse().unwrap())
}

fn a_killed_caller_leaves_nothing() {
    let ways = [("fork", "KILL"), ("spawn", "KILL"), ("fork", "TERM"), ("spawn", "INT")];
    for (kind, signal) in ways {
        let token = token();
        let (mut child, keeper) = host(kind, &token);
        let killed = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        child.wait().unwrap();
        until("all its jobs are gone", || alive(&format!("sleep\0{token}")) == 0);
        until("the keeper itself is gone", || {
            // A zombie, where nobody reaps orphans, has no arguments any more.
            std::fs::read(format!("/proc/{keeper}/cmdline")).unwrap_or_default().is_empty()
        });
        kill_all(&token);
    }
}

fn a_killed_caller_of_a_stopped_keeper_leaves_nothing() {
    for kind in ["fork", "spawn"] {
        let token = token();
        let (mut child, keeper) = host(kind, &token);
        let stopped = Command::new("kill").args(["-STOP", &keeper.to_string()]).status();
        assert!(stopped.unwrap().success());
        until("the keeper stands still", || {
            let stat = std::fs::read_to_string(format!("/proc/{keeper}/stat")).unwrap();
            stat.rsplit_once(") ").unwrap().1.starts_with('T')
        });
        child.kill().unwrap();
        child.wait().unwrap();
        until("all its jobs are gone", || alive(&format!("sleep\0{token}")) == 0);
        kill_all(&token);
    }
}

/// By whom, and whether before or after its caller has ended: nobody else is left who would tell it to go on.
fn a_keeper_that_is_stopped_at_its_callers_end_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..20 {
        let (token, file) = (token(), dir.path().join(number.to_string()));
        let script = format!("exec {} role:stopper {} {token}", myself().display(), file.display());
        let kind = if number % 2 == 0 { "fork" } else { "spawn" };
        let mut child = Command::new(myself())
            .args(["role:victim", kind, "none", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        until("it waits for the caller's end", || lines(&file) == 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_gone(&format!("{}\0{token}", file.display()));
        kill_all(&token);
    }
}

fn what_a_killed_keeper_was_to_sweep_goes_all_the_same() {
    let (mut custody, token) = (keeper(), token());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid").display().to_string();
    let mut leaves = sh(&format!(
        "setsid sh -c 'echo >{file}-left; exec sleep {token}' >/dev/null 2>&1 & \
         until [ -s {file}-left ]; do sleep 0.01; done; echo $$ >{file}"
    ));
    leaves.limits.end_everything = true;
    // The other job is told by its number: that is free once it was reaped.
    let kills = sh(&format!(
        "until [ -s {file} ]; do sleep 0.01; done; while kill -0 $(cat {file}) 2>/dev/null; do sleep 0.01; done; \
         kill -KILL $PPID; sleep {token}"
    ));
    let ends = run_all(&mut custody, &[leaves, kills]);
    assert!(matches!(ends[0].end, End::Exited(0)), "{ends:?}");
    assert!(matches!(ends[1].end, End::Lost), "{ends:?}");
    assert_gone(&token);
}

fn a_keeper_that_is_stopped_again_and_again_serves() {
    let mut custody = keeper();
    let stops = sh("i=0; while [ $i -lt 300000 ]; do kill -STOP $PPID; i=$((i + 1)); done; exit 3");
    // A request that no socket takes at once: the keeper may be stopped while it is sent, too.
    let mut large = sh("exit 3");
    large.env.extend((0..8).map(|number| (format!("LARGE_{number}").into(), "x".repeat(100_000).into())));
    let ends = run_all(&mut custody, &[stops, large.clone(), sh("exit 3"), large]);
    assert!(ends.iter().all(|ended| matches!(ended.end, End::Exited(3))), "{ends:?}");
    assert!(!keeper_pid(&mut custody).is_empty());
}

fn keeper_pid(custody: &mut becket_exec::Custody) -> String {
    text(&run_one(custody, sh("echo $PPID")).stdout.head).trim().to_owned()
}

fn a_killed_keeper_means_lost() {
    let (mut custody, token) = (keeper(), token());
    let pid = keeper_pid(&mut custody);
    let job = sh(&format!("setsid sleep {token} & exec sleep {token}"));
    let begun = Instant::now();
    let ends = std::thread::scope(|scope| {
        scope.spawn(|| {
            until("all are running", || alive(&format!("sleep\0{token}")) == 4);
            assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
        });
        run_all(&mut custody, &[job.clone(), job.clone()])
    });
    assert!(ends.iter().all(|ended| matches!(ended.end, End::Lost)), "{ends:?}");
    assert!(begun.elapsed() < Duration::from_secs(8));
    assert_gone(&token);
    let ended = run_one(&mut custody, sh("true"));
    assert!(matches!(ended.end, End::NotStarted(becket_exec::StartError::KeeperGone)), "{:?}", ended.end);
}

fn a_keeper_holds_nothing_of_its_caller() {
    let mut custody = keeper();
    let pid = keeper_pid(&mut custody);
    // Only root may look into it.
    if std::fs::read_dir(format!("/proc/{pid}/fd")).is_err() {
        return;
    }
    // The last job's descriptors are let go with the answer that it started.
    let mut fds: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .map(|fd| std::fs::read_link(fd.unwrap().path()).unwrap().display().to_string())
        .map(|target| target.split(':').next().unwrap().to_owned())
        .collect();
    fds.sort();
    assert_eq!(fds, ["/dev/null", "/dev/null", "/dev/null", "anon_inode", "socket"].map(ToOwned::to_owned));
    assert_eq!(std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap().to_str(), Some("/"));
}

/// So no job can hold it as a debugger does, which would outlast everything. Told as an ordinary user, for all belongs to
/// root where root asks.
fn a_keeper_shows_nobody_its_memory() {
    let out = Command::new("unshare")
        .args(["-U", "--map-user=1000", "--map-group=1000", myself().to_str().unwrap(), "role:shown"])
        .output()
        .unwrap();
    // Some systems let nobody make such a space.
    if !text(&out.stderr).contains("unshare") {
        assert_eq!(text(&out.stdout), "true false\n", "{}", text(&out.stderr));
    }
}

/// In a container of its own with the system's `/proc`, every number there is somebody else's.
fn without_its_own_proc_there_is_no_keeper() {
    for (spaces, command) in [("-rm", "mount -t tmpfs none /proc"), ("-rpf", "true")] {
        let command = format!("{command} && exec {} role:no-proc", myself().display());
        let out = Command::new("unshare").args([spaces, "/bin/sh", "-c", &command]).output().unwrap();
        // Some systems let nobody make such spaces.
        if !text(&out.stderr).contains("unshare") {
            assert_eq!(text(&out.stdout), "ok\n", "{}", text(&out.stderr));
        }
    }
}

fn a_stray_term_does_not_end_a_keeper() {
    let mut custody = keeper();
    let pid = keeper_pid(&mut custody);
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(keeper_pid(&mut custody), pid);
}

fn a_pool_gives_back_and_replaces() {
    let pool = Pool::new(myself(), vec!["role:keeper".into()], 2);
    let first = keeper_pid(&mut pool.lease().unwrap());
    assert_eq!(keeper_pid(&mut pool.lease().unwrap()), first, "given back");
    {
        let (mut one, mut two) = (pool.lease().unwrap(), pool.lease().unwrap());
        assert_ne!(keeper_pid(&mut one), keeper_pid(&mut two));
    }
    // Orphans that were killed with their group do not pile up as zombies.
    for _ in 0..5 {
        let mut lease = pool.lease().unwrap();
        run_one(&mut lease, sh("sleep 60 & sleep 60 & exit 0"));
        let pid = keeper_pid(&mut lease);
        drop(lease);
        until("no zombie is left", || {
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            children.unwrap_or_default().trim().is_empty()
        });
    }
    // One below which something stays is let go, with what stays.
    let token = token();
    let mut lease = pool.lease().unwrap();
    let pid = keeper_pid(&mut lease);
    run_one(&mut lease, sh(&format!("setsid sleep {token} >/dev/null 2>&1 & sleep 0.05")));
    drop(lease);
    let (mut one, mut two) = (pool.lease().unwrap(), pool.lease().unwrap());
    assert!(keeper_pid(&mut one) != pid && keeper_pid(&mut two) != pid);
    assert_eq!(alive(&token), 1);
    kill_all(&token);
    // A dead one is replaced.
    let dead = keeper_pid(&mut one);
    drop(one);
    assert!(Command::new("kill").args(["-KILL", &dead]).status().unwrap().success());
    until("it is dead", || {
        let stat = std::fs::read_to_string(format!("/proc/{dead}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('Z'))
    });
    let mut lease = pool.lease().unwrap();
    assert!(matches!(run_one(&mut lease, sh("exit 4")).end, End::Exited(4)));
}
